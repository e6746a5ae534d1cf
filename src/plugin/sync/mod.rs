//! Reads the Bevy world into a [`Scene`](crate::scene::Scene), and watches what changes in it.
//!
//! Reading happens when a bake or a live view asks for it: meshes and pictures come into the `AssetCache` a few a frame,
//! so that the game keeps its frame rate, and `SceneReader::assemble` puts the scene together in one frame. Later
//! readings read only what has changed; [`SceneStatus`] says what that is and what it took.

mod cache;
mod changes;
#[cfg(feature = "gltf")]
mod extras;
#[cfg(feature = "gltf")]
mod file_nodes;
mod key;
mod lights;
mod movers;
mod read;
mod reading;
mod status;

use bevy::asset::AssetEventSystems;
use bevy::light::{DirectionalLight, PointLight, RectLight, SpotLight};
use bevy::pbr::StandardMaterial;
use bevy::prelude::*;

use super::components::*;
use super::write_back::{Baked, BakedLight, Pages};
pub use cache::AssetCache;
pub use changes::{AssetChanges, SurfaceChanges};
pub use key::Names;
pub use lights::LightChanges;
pub(in crate::plugin) use movers::RestPose;
pub use movers::{Moved, can_stand};
pub use read::{Needed, Purpose, SceneReader, WorldScene};
pub use reading::WorldReading;
pub use status::{LiveMove, LiveRebuild, SceneCounts, SceneRead, SceneStatus};

/// Watches the Bevy world for what a bake should know.
pub struct SceneSyncPlugin;

impl Plugin for SceneSyncPlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<BakeExclude>()
            .register_type::<BakeOccluder>()
            .register_type::<BakeMover>()
            .register_type::<BakeStatic>()
            .register_type::<BakeResolution>()
            .register_type::<BakeTint>()
            .register_type::<BakeId>()
            .register_type::<Moved>()
            .register_type::<SceneSettings>()
            .register_type::<SceneStatus>()
            .init_resource::<SceneSettings>()
            .init_resource::<SceneStatus>()
            .init_resource::<AssetCache>()
            .add_systems(PostUpdate, (movers::note_movement, movers::settle).chain().after(TransformSystems::Propagate))
            .add_systems(Last, (watch_assets, watch_surfaces, watch_lights).after(AssetEventSystems));
    }

    #[cfg(feature = "gltf")]
    fn finish(&self, app: &mut App) {
        file_nodes::mark_nodes(app);
    }
}

fn watch_assets(
    mut status: ResMut<SceneStatus>,
    mut cache: ResMut<AssetCache>,
    mut meshes: MessageReader<AssetEvent<Mesh>>,
    mut images: MessageReader<AssetEvent<Image>>,
    mut materials: MessageReader<AssetEvent<StandardMaterial>>,
    pages: Option<Res<Pages>>,
) {
    let mut changed = status.changed;
    let is_own = |id: AssetId<Image>| pages.as_ref().is_some_and(|pages| pages.0.iter().any(|page| page.id() == id));
    for event in meshes.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Removed { id } = event {
            changed.meshes += usize::from(cache.forget_mesh(*id));
        }
    }
    for event in images.read() {
        if let AssetEvent::Modified { id } | AssetEvent::Removed { id } = event {
            changed.textures += usize::from(cache.forget_texture(*id) && !is_own(*id));
        }
    }
    changed.materials += materials.read().filter(|event| matches!(event, AssetEvent::Modified { .. })).count();
    status.set_if_neq_changed(changed);
}

fn watch_surfaces(
    mut status: ResMut<SceneStatus>,
    surfaces: Query<
        (Ref<Mesh3d>, Ref<GlobalTransform>, Option<&Baked>),
        (Or<(Changed<Mesh3d>, Changed<GlobalTransform>)>, Without<Moved>, Without<BakeExclude>),
    >,
    mut removed: RemovedComponents<Mesh3d>,
) {
    let is_change = |(mesh, transform, baked): &(Ref<Mesh3d>, Ref<GlobalTransform>, Option<&Baked>)| {
        let is_own = baked.is_some_and(|baked| baked.mesh == mesh.0);
        transform.is_changed() || (mesh.is_changed() && !is_own)
    };
    let mut changed = status.changed;
    changed.surfaces += surfaces.iter().filter(is_change).count() + removed.read().count();
    status.set_if_neq_changed(changed);
}

type AnyLightChanged = Or<(
    Changed<PointLight>,
    Changed<SpotLight>,
    Changed<DirectionalLight>,
    Changed<RectLight>,
    (Changed<GlobalTransform>, Or<(With<PointLight>, With<SpotLight>, With<DirectionalLight>, With<RectLight>)>),
)>;

fn watch_lights(mut status: ResMut<SceneStatus>, lights: Query<Option<Ref<BakedLight>>, AnyLightChanged>) {
    let is_own = |mark: &Option<Ref<BakedLight>>| mark.as_ref().is_some_and(|mark| mark.is_changed());
    let mut changed = status.changed;
    changed.lights += lights.iter().filter(|mark| !is_own(mark)).count();
    status.set_if_neq_changed(changed);
}

/// Writes the counts only when they differ, so that change detection on the resource means something.
trait SetChanged {
    fn set_if_neq_changed(&mut self, changed: SceneCounts);
}

impl SetChanged for ResMut<'_, SceneStatus> {
    fn set_if_neq_changed(&mut self, changed: SceneCounts) {
        if self.changed != changed {
            self.changed = changed;
        }
    }
}
