//! Soak: an app that does everything that the plugins know, in random order, and keeps nothing in the end.

use std::path::PathBuf;
use std::time::Duration;

use bevy::ecs::entity_disabling::Disabled;
use bevy::ecs::query::Allow;
use bevy::ecs::resource::IsResource;
use bevy::ecs::system::SystemIdMarker;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy_radiosity::partition::PartitionSettings;
use bevy_radiosity::pathtrace::VolumeSettings;
use bevy_radiosity::plugin::{BakedLight, PartitionCells};
use bevy_radiosity::prelude::*;

use crate::app::*;
use crate::said::{listen, said};

/// Maximum number of surfaces, lights and levels.
const MOST: usize = 10;

/// Sequence of random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % count as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// Returns a multiple of 0.5 m in each direction.
    fn place(&mut self) -> Vec3 {
        let [x, y, z] = [9, 5, 9].map(|count| self.below(count) as f32 * 0.5);
        Vec3::new(x - 2.0, y, z - 2.0)
    }

    fn choose<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }

    fn take<T>(&mut self, of: &mut Vec<T>) -> Option<T> {
        (!of.is_empty()).then(|| of.swap_remove(self.below(of.len())))
    }
}

/// Counts of bakes, levels and frames that have come to their end.
#[derive(Resource, Clone, Copy, Debug, Default)]
struct Done {
    bakes: usize,
    failed_bakes: usize,
    levels: usize,
    /// Frames in which lightmaps followed their lights.
    relit_frames: usize,
    drawn_frames: usize,
}

fn count_frames(mut done: ResMut<Done>, relight: Query<&RelightStatus>, views: Query<&LiveViewStatus>) {
    done.relit_frames += usize::from(relight.iter().any(|status| status.is_active));
    done.drawn_frames += usize::from(views.iter().any(|view| view.samples > 0));
}

/// App, and what it has spawned.
struct Soak {
    app: App,
    random: Random,
    meshes: Vec<Handle<Mesh>>,
    materials: Vec<Handle<StandardMaterial>>,
    /// Folders of saved bakes.
    saved: Vec<PathBuf>,
    picture: Option<Handle<Image>>,
    surfaces: Vec<Entity>,
    lights: Vec<Entity>,
    levels: Vec<Entity>,
    view: Option<Entity>,
}

/// Numbers of entities and assets: entities of the main world and of the render world, meshes, images and materials.
type Counts = [usize; 5];

impl Soak {
    fn new(mut app: App, seed: u64, saved: Vec<PathBuf>) -> Self {
        let draws = app.get_sub_app(RenderApp).is_some();
        app.init_resource::<Done>()
            .add_systems(Last, count_frames)
            .add_observer(|_: On<BakeFinished>, mut done: ResMut<Done>| done.bakes += 1)
            .add_observer(|_: On<BakeFailed>, mut done: ResMut<Done>| done.failed_bakes += 1)
            .add_observer(|_: On<BakedLevelShown>, mut done: ResMut<Done>| done.levels += 1);
        let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
        let shapes = [
            Mesh::from(Plane3d::default().mesh().size(2.0, 2.0)),
            Plane3d::new(Vec3::Z, Vec2::ONE).into(),
            Cuboid::from_length(0.5).into(),
        ];
        let meshes = shapes.map(|mesh| meshes.add(mesh)).into();
        let materials = [Color::WHITE, Color::linear_rgb(0.5, 0.1, 0.1)].map(|color| spawn_material(&mut app, color));
        let picture = draws.then(|| spawn_camera(&mut app, Vec3::new(1.0, 4.0, 4.0), Vec3::ZERO));
        Self {
            app,
            random: Random(seed),
            meshes,
            materials: materials.into(),
            saved,
            picture,
            surfaces: Vec::new(),
            lights: Vec::new(),
            levels: Vec::new(),
            view: None,
        }
    }

    /// Runs frames, with an action in one of three.
    fn run(&mut self, frames: usize) {
        for _ in 0..frames {
            if self.random.chance(3) {
                let action = self.random.below(ACTIONS.len());
                ACTIONS[action](self);
            }
            self.app.update();
            if let Some(exit) = self.app.should_exit() {
                let messages = said(&[]);
                panic!(
                    "the renderer gave up: {exit:?}; its last messages: {:#?}",
                    &messages[messages.len().saturating_sub(9)..]
                );
            }
            // As long as a short frame, so that threads finish their work.
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Despawns everything and resets all settings. Waits until that is done.
    fn clear(&mut self) -> Counts {
        let spawned = self.surfaces.drain(..).chain(self.lights.drain(..)).chain(self.levels.drain(..));
        for entity in spawned.chain(self.view.take()).collect::<Vec<_>>() {
            self.app.world_mut().despawn(entity);
        }
        let world = self.app.world_mut();
        world.trigger(CancelBake);
        world.trigger(RemoveLightmaps);
        world.remove_resource::<Relight>();
        world.insert_resource(Lightmaps::default());
        world.insert_resource(LightmapOverlay::Off);
        world.resource_mut::<PartitionCells>().wanted = None;
        tick_app_until(&mut self.app, "the end of the bake", |app| !app.world().resource::<BakeProgress>().is_baking());
        // A bake may have been shown meanwhile.
        self.app.world_mut().trigger(RemoveLightmaps);
        tick_app_times(&mut self.app, 20);
        self.counts()
    }

    fn counts(&mut self) -> Counts {
        // Systems and resources are entities too, and some come with the first level or view.
        type OfApp = (Without<IsResource>, Without<SystemIdMarker>, Allow<Disabled>);
        let count = |world: &mut World| world.query_filtered::<Entity, OfApp>().iter(world).count();
        let drawn = self.app.get_sub_app_mut(RenderApp).map_or(0, |render| count(render.world_mut()));
        let world = self.app.world_mut();
        [
            count(world),
            drawn,
            world.resource::<Assets<Mesh>>().len(),
            world.resource::<Assets<Image>>().len(),
            world.resource::<Assets<StandardMaterial>>().len(),
        ]
    }

    fn surface(&mut self) -> Option<Entity> {
        self.random.choose(&self.surfaces)
    }

    fn mesh(&mut self) -> Mesh3d {
        Mesh3d(self.meshes[self.random.below(self.meshes.len())].clone())
    }

    /// Returns a shared material, or one of its own.
    fn material(&mut self) -> MeshMaterial3d<StandardMaterial> {
        let material = match self.random.choose(&[0, 1, 2]) {
            Some(shared @ 0..2) => self.materials[shared].clone(),
            _ => spawn_material(&mut self.app, Color::linear_rgb(0.1, 0.5, 0.1)),
        };
        MeshMaterial3d(material)
    }
}

type Action = fn(&mut Soak);

const ACTIONS: [Action; 24] = [
    spawn_surface,
    spawn_surface,
    spawn_light,
    spawn_light,
    start_bake,
    start_bake,
    cancel_bake,
    |soak| _ = soak.random.take(&mut soak.surfaces).map(|surface| soak.app.world_mut().despawn(surface)),
    |soak| _ = soak.random.take(&mut soak.lights).map(|light| soak.app.world_mut().despawn(light)),
    move_surface,
    exchange_mesh,
    exchange_material,
    recolor,
    edit_mesh,
    hide_surface,
    change_light,
    change_light,
    mark_light,
    |soak| {
        let mut lightmaps = soak.app.world_mut().resource_mut::<Lightmaps>();
        lightmaps.enabled = !lightmaps.enabled;
    },
    switch_relighting,
    |soak| soak.app.world_mut().trigger(RemoveLightmaps),
    switch_level,
    switch_debug_view,
    switch_view,
];

fn spawn_surface(soak: &mut Soak) {
    if soak.surfaces.len() == MOST {
        return;
    }
    let place = Transform::from_translation(soak.random.place());
    let surface = (soak.mesh(), soak.material(), place);
    let mut entity = soak.app.world_mut().spawn(surface);
    match soak.random.below(6) {
        0 => _ = entity.insert(RelightDoor),
        1 => _ = entity.insert(BakeRole::Mover),
        2 => _ = entity.insert(BakeRole::Excluded),
        // As in the saved bakes.
        _ => _ = entity.insert(Name::new("floor")),
    }
    soak.surfaces.push(entity.id());
}

fn spawn_light(soak: &mut Soak) {
    if soak.lights.len() == MOST {
        return;
    }
    let place = Transform::from_translation(soak.random.place() + Vec3::Y).looking_at(Vec3::ZERO, Vec3::X);
    let kind = soak.random.below(4);
    let has_shadows = soak.random.chance(2);
    let mut entity = soak.app.world_mut().spawn(place);
    match kind {
        0 => entity.insert(SpotLight { shadow_maps_enabled: has_shadows, ..default() }),
        1 => entity.insert(DirectionalLight { shadow_maps_enabled: has_shadows, ..default() }),
        _ => entity.insert((Name::new("lamp"), PointLight { shadow_maps_enabled: has_shadows, ..default() })),
    };
    soak.lights.push(entity.id());
}

fn start_bake(soak: &mut Soak) {
    let random = &mut soak.random;
    let mut bake = quick_bake();
    bake.preview = random.chance(3);
    bake.settings.volume = random.chance(2).then(VolumeSettings::default);
    bake.settings.relight = (!random.chance(3)).then_some(RelightPatches(16));
    bake.settings.solver.content = if random.chance(2) { Content::Full } else { Content::Indirect };
    soak.app.world_mut().trigger(bake);
}

fn cancel_bake(soak: &mut Soak) {
    if soak.random.chance(2) {
        soak.app.world_mut().trigger(CancelBake);
    }
}

fn move_surface(soak: &mut Soak) {
    let place = soak.random.place();
    if let Some(surface) = soak.surface() {
        soak.app.world_mut().get_mut::<Transform>(surface).unwrap().translation = place;
    }
}

fn exchange_mesh(soak: &mut Soak) {
    let mesh = soak.mesh();
    if let Some(surface) = soak.surface() {
        soak.app.world_mut().entity_mut(surface).insert(mesh);
    }
}

fn exchange_material(soak: &mut Soak) {
    let material = soak.material();
    if let Some(surface) = soak.surface() {
        soak.app.world_mut().entity_mut(surface).insert(material);
    }
}

/// Changes the color and the emission of a shared material in its place.
fn recolor(soak: &mut Soak) {
    let [color, emission] = [5, 3].map(|count| soak.random.below(count) as f32);
    let material = soak.random.below(2);
    let mut materials = soak.app.world_mut().resource_mut::<Assets<StandardMaterial>>();
    let mut material = materials.get_mut(&soak.materials[material]).unwrap();
    material.base_color = Color::linear_rgb(0.2 * color, 0.5, 0.5);
    material.emissive = LinearRgba::rgb(emission, emission, emission);
}

/// Loads a shared mesh anew: of the same shape, or of another one.
fn edit_mesh(soak: &mut Soak) {
    let is_other_shape = soak.random.chance(4);
    let mesh = if is_other_shape { Cuboid::from_length(0.7).into() } else { Cuboid::from_length(0.5).into() };
    let id = soak.meshes[2].id();
    soak.app.world_mut().resource_mut::<Assets<Mesh>>().insert(id, mesh).unwrap();
}

fn hide_surface(soak: &mut Soak) {
    let is_hidden = soak.random.chance(2);
    if let Some(surface) = soak.surface() {
        let visibility = if is_hidden { Visibility::Hidden } else { Visibility::Inherited };
        soak.app.world_mut().entity_mut(surface).insert(visibility);
    }
}

fn change_light(soak: &mut Soak) {
    let (place, strength) = (soak.random.place() + Vec3::Y, soak.random.below(4) as f32);
    let moves = soak.random.chance(2);
    let Some(light) = soak.random.choose(&soak.lights) else {
        return;
    };
    let mut light = soak.app.world_mut().entity_mut(light);
    if moves {
        light.get_mut::<Transform>().unwrap().translation = place;
    }
    if let Some(mut light) = light.get_mut::<PointLight>() {
        light.intensity = strength * 1e4;
    }
    if let Some(mut light) = light.get_mut::<DirectionalLight>() {
        light.illuminance = strength * 1e3;
    }
}

/// Marks or unmarks a light as baked, as an app may do, or excludes it from relighting.
fn mark_light(soak: &mut Soak) {
    let choice = soak.random.below(4);
    if let Some(light) = soak.random.choose(&soak.lights) {
        let mut light = soak.app.world_mut().entity_mut(light);
        match choice {
            0 => light.insert(BakedLight),
            1 => light.remove::<BakedLight>(),
            2 => light.insert(RelightExclude),
            _ => light.remove::<RelightExclude>(),
        };
    }
}

fn switch_relighting(soak: &mut Soak) {
    let (enabled, is_removed) = (!soak.random.chance(3), soak.random.chance(4));
    if is_removed {
        soak.app.world_mut().remove_resource::<Relight>();
    } else {
        soak.app.insert_resource(Relight { enabled, ..default() });
    }
}

/// Shows a saved bake, or despawns one.
fn switch_level(soak: &mut Soak) {
    if soak.levels.len() < 2 && soak.random.chance(2) {
        let folder = &soak.saved[soak.random.below(soak.saved.len())];
        soak.levels.push(spawn_baked_level(&mut soak.app, folder));
    } else if let Some(level) = soak.random.take(&mut soak.levels) {
        soak.app.world_mut().despawn(level);
    }
}

fn switch_debug_view(soak: &mut Soak) {
    use LightmapOverlay::{Charts, Off, Texels, Validity};
    let overlay = soak.random.choose(&[Off, Texels, Charts, Validity]).unwrap();
    let is_cut = soak.random.chance(2);
    soak.app.insert_resource(overlay);
    let settings = is_cut.then(PartitionSettings::default);
    soak.app.world_mut().resource_mut::<PartitionCells>().wanted = settings;
}

/// Spawns, switches or despawns a live view, if there is a renderer.
fn switch_view(soak: &mut Soak) {
    let Some(picture) = &soak.picture else {
        return;
    };
    let live = LiveView { enabled: !soak.random.chance(3), ends_at_lightmaps: soak.random.chance(2), ..default() };
    match soak.view {
        None => {
            let camera = (Camera3d::default(), bevy::camera::RenderTarget::Image(picture.clone().into()), live);
            let order = Camera { order: 1, ..default() };
            soak.view = Some(soak.app.world_mut().spawn((camera, order, Msaa::Off)).id());
        }
        Some(view) if soak.random.chance(3) => {
            soak.app.world_mut().despawn(view);
            soak.view = None;
        }
        Some(view) => _ = soak.app.world_mut().entity_mut(view).insert(live),
    }
}

/// Returns the resident memory, in MB. `None` where the system does not say.
fn memory() -> Option<f64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split_whitespace().nth(1)?.parse::<f64>().ok()? * 4096e-6)
}

/// Bakes two levels, and soaks an app in rounds of `frames`. Each round must end with as many entities and assets as there
/// were before the first one. Returns the counts of ended work.
fn soak(app: App, seed: u64, rounds: usize, frames: usize) -> Done {
    listen();
    let folder = tempfile::tempdir().unwrap();
    let saved = [2.0, 3.0].map(|size| {
        let folder = folder.path().join(size.to_string());
        let mut app = create_world_app();
        spawn_lit_floor(&mut app, size, 100.0);
        bake(&mut app, Bake { folder: Some(folder.clone()), ..quick_bake() }).unwrap();
        folder
    });
    let mut soak = Soak::new(app, seed, saved.into());
    let first = soak.clear();
    for round in 0..rounds {
        soak.run(frames);
        let counts = soak.clear();
        let done = *soak.app.world().resource::<Done>();
        println!("round {round}: {counts:?}, {:.0} MB, {done:?}", memory().unwrap_or_default());
        graphics(&soak.app).iter().for_each(|graphics| println!("  {graphics:?}"));
        assert_eq!(counts, first, "entities, entities drawn, meshes, images and materials after round {round}");
    }
    *soak.app.world().resource::<Done>()
}

/// Soaks an app for ten thousand frames, by the seed that `SEED` names. In a short soak, it depends on the machine which
/// work comes to its end.
fn soak_long(app: App) {
    let seed = std::env::var("SEED").map_or(3, |seed| seed.parse().unwrap());
    let done = soak(app, seed, 20, 500);
    assert!(done.bakes > 0 && done.levels > 1 && done.relit_frames > 0, "{done:?}");
}

#[test]
fn an_app_that_does_everything_in_random_order_keeps_nothing() {
    soak(create_world_app(), 1, 3, 150);
}

#[test]
fn a_drawing_app_that_does_everything_in_random_order_keeps_nothing() {
    if let Some(app) = create_drawing_app() {
        soak(app, 2, 1, 60);
    }
}

#[test]
#[ignore = "takes minutes; for docs/validation/soak.md"]
fn ten_thousand_frames() {
    soak_long(create_world_app());
}

#[test]
#[ignore = "takes minutes; for docs/validation/soak.md"]
fn ten_thousand_drawn_frames() {
    soak_long(create_drawing_app().expect("a graphics adapter"));
}
