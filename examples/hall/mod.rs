//! Shared code of examples with the baked `assets/level.glb`, in a native app and in a browser: its camera, its shadow
//! map, its brightest lamp and a quick bake. So their pictures and pages can be compared.

use bevy::light::CascadeShadowConfigBuilder;
use bevy::pbr::Lightmap;
use bevy::prelude::*;
use bevy_radiosity::prelude::*;

mod view;

pub use view::*;

/// Frames without an update after which relighting is at rest.
const QUIET_FRAMES: u32 = 3;

/// Enables the shadow map of the sun, whose highlights would pass through walls. Files do not say which lights cast
/// shadows. WebGL2 allows one cascade, which is coarse unless it is short.
pub fn cast_shadows(mut commands: Commands, mut suns: Query<(Entity, &mut DirectionalLight), Added<DirectionalLight>>) {
    for (entity, mut sun) in &mut suns {
        sun.shadow_maps_enabled = true;
        let cascade = CascadeShadowConfigBuilder { num_cascades: 1, maximum_distance: 30.0, ..default() };
        commands.entity(entity).insert(cascade.build());
    }
}

/// Brightest lamp of the level, which can be switched.
#[derive(Resource)]
pub struct Lamp {
    pub is_on: bool,
    /// The lamp and its intensity, while it is off.
    off: Option<(Entity, f32)>,
}

impl Default for Lamp {
    fn default() -> Self {
        Self { is_on: true, off: None }
    }
}

/// Switches the lamp. Of lamps that are equally bright, it is the last by name: entities have no certain order.
pub fn switch_lamp(mut lamp: ResMut<Lamp>, mut lights: Query<(Entity, &mut PointLight, &Name)>) {
    match (lamp.is_on, lamp.off) {
        (true, Some((entity, intensity))) => {
            if let Ok((_, mut light, _)) = lights.get_mut(entity) {
                light.intensity = intensity;
            }
            lamp.off = None;
        }
        (false, None) => {
            let brightest = lights.iter_mut().max_by(|(_, one, name), (_, other, other_name)| {
                one.intensity.total_cmp(&other.intensity).then_with(|| name.cmp(other_name))
            });
            lamp.off = brightest.map(|(entity, mut light, _)| (entity, core::mem::take(&mut light.intensity)));
        }
        _ => {}
    }
}

/// Frames since the last update of relighting.
#[derive(Resource, Default)]
pub struct Quiet {
    updates: u64,
    frames: u32,
}

/// Counts frames without an update.
pub fn count_quiet_frames(mut quiet: ResMut<Quiet>, levels: Query<&RelightStatus>) {
    let updates = levels.iter().map(|status| status.updates).sum();
    let frames = if updates == quiet.updates { quiet.frames.saturating_add(1) } else { 0 };
    *quiet = Quiet { updates, frames };
}

impl Quiet {
    /// Returns true when lightmaps show all changes of lights.
    pub fn is_at_rest(&self, status: &RelightStatus) -> bool {
        let is_done = status.waiting == 0 && !status.is_refining;
        self.frames >= QUIET_FRAMES && status.is_active && status.updates > 0 && is_done
    }
}

/// Returns the units of the level's shining surfaces, which are those of glTF files.
pub fn scene_settings() -> SceneSettings {
    SceneSettings { emissive_units: EmissiveUnits::Nits, ..default() }
}

/// Returns a coarse bake of the level. Graphics cards would round differently.
pub fn quick_bake() -> Bake {
    let mut settings = BakeSettings { device: DeviceChoice::Cpu, ..default() };
    settings.layout.texels_per_meter = 1.0;
    settings.solver.error = 0.2;
    Bake { settings, ..default() }
}

/// Returns a number that differs where any byte of the shown pages does (FNV-1a).
pub fn hash_of_pages(lightmaps: &Query<&Lightmap>, images: &Assets<Image>) -> u64 {
    let mut pages: Vec<_> = lightmaps.iter().map(|lightmap| lightmap.image.id()).collect();
    pages.sort_unstable();
    pages.dedup();
    let bytes = pages.into_iter().filter_map(|page| images.get(page)?.data.as_ref()).flatten();
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
