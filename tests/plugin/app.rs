//! Test apps without a window, and helpers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bevy::app::PluginGroupBuilder;
use bevy::asset::UnapprovedPathMode;
use bevy::asset::io::AssetSourceBuilder;
use bevy::asset::io::memory::{Dir, MemoryAssetReader};
use bevy::camera::{Hdr, RenderTarget};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy::render::RenderApp;
use bevy::render::pipelined_rendering::PipelinedRenderingPlugin;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::renderer::{RenderDevice, RenderInstance};
use bevy::render::settings::WgpuSettings;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy_radiosity::bake::BakeSettings;
use bevy_radiosity::plugin::{Baked, BakedLevelLoaded, BakedLevelShown, BatchTimes};
use bevy_radiosity::prelude::*;

use crate::headless::{add_default_plugins, finish};
use crate::skip::skip_without_gpu;

/// Result of the most recent bake.
#[derive(Resource, Clone, Default)]
pub struct Ended(pub Option<Result<BatchTimes, String>>);

/// Baked level that was read last.
#[derive(Resource, Clone, Copy, Default)]
pub struct Level {
    pub loaded: Option<BakedLevelLoaded>,
    /// Reported number of surfaces that show its lightmaps.
    pub shown: Option<usize>,
}

/// Files in memory, which an app loads from `memory://`.
#[derive(Resource, Clone, Default)]
pub struct Memory(pub Dir);

/// Creates an app without a renderer.
pub fn create_world_app() -> App {
    create_app(WgpuSettings { backends: None, ..default() })
}

/// Creates an app without a renderer, with some of the plugins.
pub fn create_world_app_with(plugins: PluginGroupBuilder) -> App {
    create_app_of(WgpuSettings { backends: None, ..default() }, &assets(), plugins)
}

/// Creates an app without a renderer, with another asset folder.
pub fn create_world_app_of(folder: &Path) -> App {
    create_app_of(WgpuSettings { backends: None, ..default() }, folder, RadiosityPlugins.build())
}

/// Creates an app with a renderer, or returns `None` on a machine without a graphics adapter.
pub fn create_drawing_app() -> Option<App> {
    static HAS_ADAPTER: OnceLock<bool> = OnceLock::new();
    let has_adapter =
        *HAS_ADAPTER.get_or_init(|| std::panic::catch_unwind(|| drop(create_app(WgpuSettings::default()))).is_ok());
    if !has_adapter {
        skip_without_gpu("the renderer finds none");
        return None;
    }
    Some(create_app(WgpuSettings::default()))
}

pub fn create_app(settings: WgpuSettings) -> App {
    create_app_of(settings, &assets(), RadiosityPlugins.build())
}

fn assets() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
}

fn create_app_of(settings: WgpuSettings, assets: &Path, radiosity: PluginGroupBuilder) -> App {
    let mut app = App::new();
    let memory = Memory::default();
    let root = memory.0.clone();
    let source = AssetSourceBuilder::new(move || Box::new(MemoryAssetReader { root: root.clone() }));
    app.insert_resource(memory).register_asset_source("memory", source);
    add_default_plugins(&mut app, settings, |plugins| {
        plugins
            .set(AssetPlugin {
                file_path: assets.to_string_lossy().into_owned(),
                // Bakes are in temporary folders.
                unapproved_path_mode: UnapprovedPathMode::Allow,
                ..default()
            })
            .disable::<PipelinedRenderingPlugin>()
    });
    app.add_plugins(radiosity)
        .init_resource::<Ended>()
        .init_resource::<Level>()
        .insert_resource(GlobalAmbientLight::NONE)
        .add_observer(|done: On<BakeFinished>, mut ended: ResMut<Ended>| ended.0 = Some(Ok(done.times)))
        .add_observer(|read: On<BakedLevelLoaded>, mut level: ResMut<Level>| {
            *level = Level { loaded: Some(*read), shown: None };
        })
        .add_observer(|read: On<BakedLevelShown>, mut level: ResMut<Level>| level.shown = Some(read.surfaces))
        .add_observer(|failed: On<BakeFailed>, mut ended: ResMut<Ended>| ended.0 = Some(Err(failed.error.to_string())));
    finish(&mut app);
    app
}

/// Runs one frame.
///
/// # Panics
///
/// Panics when the renderer has given up, as it does after any validation error.
pub fn tick_app(app: &mut App) {
    app.update();
    assert_eq!(app.should_exit(), None, "the renderer gave up");
}

/// Runs several frames.
pub fn tick_app_times(app: &mut App, frames: usize) {
    (0..frames).for_each(|_| tick_app(app));
}

/// Runs frames until a condition holds, for at most 240 s.
pub fn tick_app_until(app: &mut App, what: &str, mut holds: impl FnMut(&mut App) -> bool) {
    let started = Instant::now();
    while !holds(app) {
        assert!(started.elapsed() < Duration::from_secs(240), "waited in vain for {what}");
        tick_app(app);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs frames until all surfaces with lightmaps in a baked level are reported as shown. A busy machine takes many
/// frames.
pub fn tick_app_until_lit(app: &mut App) {
    tick_app_until(app, "the level's light", |app| {
        let Level { loaded, shown } = *app.world().resource::<Level>();
        loaded.is_some_and(|loaded| shown == Some(loaded.surfaces))
    });
    let lit = app.world_mut().query::<&Baked>().iter(app.world()).count();
    assert_eq!(app.world().resource::<Level>().shown, Some(lit), "all that have light are said to");
}

/// Returns the component that shows the level of a folder.
pub fn baked_level(app: &App, folder: impl AsRef<Path>) -> BakedLevel {
    BakedLevel::new(app.world().resource::<AssetServer>().load(folder.as_ref().join("level.ron")))
}

/// Spawns an entity that shows the level of a folder.
pub fn spawn_baked_level(app: &mut App, folder: impl AsRef<Path>) -> Entity {
    let level = baked_level(app, folder);
    app.world_mut().spawn(level).id()
}

/// Returns a coarse, quick bake for tests that are not about the light itself.
pub fn quick_bake() -> Bake {
    let mut settings = BakeSettings::default();
    settings.layout.texels_per_meter = 4.0;
    settings.layout.page_size = 256;
    settings.solver.error = 0.2;
    settings.volume = None;
    // Whatever the machine has, the result is the same.
    settings.device = DeviceChoice::Cpu;
    Bake { settings, threads: Some(1), ..default() }
}

/// Bakes and waits for the end.
pub fn bake(app: &mut App, bake: Bake) -> Result<BatchTimes, String> {
    app.world_mut().resource_mut::<Ended>().0 = None;
    app.world_mut().trigger(bake);
    tick_app_until(app, "the bake", |app| app.world().resource::<Ended>().0.is_some());
    app.world().resource::<Ended>().0.clone().expect("just waited for")
}

/// Spawns a square floor of `size` meters in the ground plane. A lamp of `candela` cd is 2 m above its center.
pub fn spawn_lit_floor(app: &mut App, size: f32, candela: f32) -> (Entity, Entity) {
    let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(Plane3d::default().mesh().size(size, size));
    let material = spawn_material(app, Color::linear_rgb(0.5, 0.5, 0.5));
    let floor = app.world_mut().spawn((Name::new("floor"), Mesh3d(mesh), MeshMaterial3d(material))).id();
    let lamp = PointLight { intensity: candela * 4.0 * core::f32::consts::PI, range: 1000.0, ..default() };
    let lamp = app.world_mut().spawn((Name::new("lamp"), lamp, Transform::from_xyz(0.0, 2.0, 0.0))).id();
    (floor, lamp)
}

/// Spawns a wall 2 m behind the center of the floor. Light between both is noisy, so that a small error takes minutes.
pub fn spawn_wall(app: &mut App) {
    let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(Plane3d::new(Vec3::Z, Vec2::ONE));
    let material = spawn_material(app, Color::linear_rgb(0.5, 0.5, 0.5));
    let place = Transform::from_xyz(0.0, 1.0, -2.0);
    app.world_mut().spawn((Name::new("wall"), Mesh3d(mesh), MeshMaterial3d(material), place));
}

/// Adds a diffuse material: Bevy would add its own specular reflections to the lightmap.
pub fn spawn_material(app: &mut App, base_color: Color) -> Handle<StandardMaterial> {
    let material = StandardMaterial { base_color, perceptual_roughness: 1.0, reflectance: 0.0, ..default() };
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(material)
}

/// Spawns a camera and its render target, which is linear, without tone mapping.
pub fn spawn_camera(app: &mut App, from: Vec3, to: Vec3) -> Handle<Image> {
    let mut picture = Image::new_target_texture(64, 64, TextureFormat::Rgba16Float, None);
    picture.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    let picture = app.world_mut().resource_mut::<Assets<Image>>().add(picture);
    app.world_mut().spawn((
        Camera3d::default(),
        Camera { clear_color: ClearColorConfig::Custom(Color::BLACK), ..default() },
        RenderTarget::Image(picture.clone().into()),
        Hdr,
        Msaa::Off,
        Tonemapping::None,
        Transform::from_translation(from).looking_at(to, Vec3::X),
    ));
    picture
}

/// Waits until the linear color at the center of an image is as expected. Bevy uploads meshes, compiles pipelines and
/// sorts lights over several frames, more of them on a busy machine.
pub fn assert_shows(app: &mut App, picture: &Handle<Image>, what: &str, expected: impl Fn(Vec3) -> bool) {
    let started = Instant::now();
    loop {
        tick_app_times(app, 3);
        let seen = middle_of(app, picture);
        if expected(seen) {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{what}: {seen} is seen");
    }
}

/// Waits until the red channel at the center of an image is `expected`, within a relative tolerance.
pub fn assert_red(app: &mut App, picture: &Handle<Image>, expected: f32, tolerance: f32) {
    let what = format!("red should be {expected}");
    assert_shows(app, picture, &what, |seen| (seen.x - expected).abs() <= tolerance * expected);
}

fn middle_of(app: &mut App, picture: &Handle<Image>) -> Vec3 {
    let image = picture_of(app, picture);
    color_at(&image, image.size() / 2)
}

/// Returns the rendered image of a camera.
pub fn picture_of(app: &mut App, picture: &Handle<Image>) -> Image {
    let seen: Arc<Mutex<Option<Image>>> = Arc::default();
    let slot = Arc::clone(&seen);
    app.world_mut().spawn(Screenshot::image(picture.clone())).observe(move |captured: On<ScreenshotCaptured>| {
        *slot.lock().unwrap() = Some(captured.image.clone());
    });
    tick_app_until(app, "the picture", |_| seen.lock().unwrap().is_some());
    seen.lock().unwrap().take().expect("just waited for")
}

/// Returns the linear color of a pixel.
pub fn color_at(image: &Image, pixel: UVec2) -> Vec3 {
    image.get_color_at(pixel.x, pixel.y).expect("a readable picture").to_linear().to_vec3()
}

/// Returns Bevy's default exposure factor, from cd/m2 to the drawn value.
pub fn exposure() -> f32 {
    bevy::camera::Exposure::default().exposure()
}

/// Objects of the renderer's device that the app holds, and its memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Graphics {
    pub buffers: usize,
    pub textures: usize,
    pub compute_pipelines: usize,
    pub render_pipelines: usize,
    pub query_sets: usize,
    /// Bytes of buffers and textures, and of the blocks that they are in. Zero where the device does not say.
    pub used: u64,
    pub reserved: u64,
}

/// Counts the objects of the renderer's device. `None` without a renderer.
pub fn graphics(app: &App) -> Option<Graphics> {
    let world = app.get_sub_app(RenderApp)?.world();
    let held = world.get_resource::<RenderInstance>()?.generate_report()?.hub;
    let memory = world.get_resource::<RenderDevice>()?.wgpu_device().generate_allocator_report();
    Some(Graphics {
        buffers: held.buffers.num_kept_from_user,
        textures: held.textures.num_kept_from_user,
        compute_pipelines: held.compute_pipelines.num_kept_from_user,
        render_pipelines: held.render_pipelines.num_kept_from_user,
        query_sets: held.query_sets.num_kept_from_user,
        used: memory.as_ref().map_or(0, |memory| memory.total_allocated_bytes),
        reserved: memory.as_ref().map_or(0, |memory| memory.total_reserved_bytes),
    })
}

/// Template of a glTF file with horizontal squares of 1 m (mesh 0) and a lamp (light 0). The mesh has positions only.
const SQUARES: &str = r#"{
  "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": ROOTS}],
  "extensionsUsed": ["KHR_lights_punctual"],
  "extensions": {"KHR_lights_punctual": {"lights": [{"type": "point", "intensity": CANDELA}]}},
  "nodes": NODES,
  "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.5, 0.5, 1], "metallicFactor": 0}}],
  "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
  "accessors": [
    {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [-0.5, 0, -0.5], "max": [0.5, 0, 0.5]},
    {"bufferView": 1, "componentType": 5123, "count": 6, "type": "SCALAR"}
  ],
  "bufferViews": [{"buffer": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 12}],
  "buffers": [{"byteLength": 60, "uri": "data:application/octet-stream;base64,AAAAvwAAAAAAAAC/AAAAPwAAAAAAAAC/AAAAPwAAAAAAAAA/AAAAvwAAAAAAAAA/AAADAAIAAAACAAEA"}]
}"#;

/// Returns a glTF file of squares and lamps. `roots` are the node indices in the scene.
pub fn file_of_squares(roots: &str, nodes: &str, candela: u32) -> String {
    SQUARES.replace("ROOTS", roots).replace("NODES", nodes).replace("CANDELA", &candela.to_string())
}
