//! Lights and panels as they are now.

use std::collections::HashMap;

use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::RelightExclude;
use super::origin::RelightLevel;
use crate::geometry::SurfaceId;
use crate::plugin::components::SceneSettings;
use crate::plugin::convert::emission_factor;
use crate::plugin::sync::{LightChanges, SceneReader};
use crate::plugin::write_back::{Baked, Pages};
use crate::relight::{LiveLight, LivePanel, switched_off};
use crate::scene::Light;

/// What may be other than when it was last looked at.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Changes {
    pub lights: bool,
    pub panels: bool,
}

pub fn lights(
    mut changes: ResMut<Changes>,
    mut lights: LightChanges,
    excluded: Query<(), Added<RelightExclude>>,
    mut included: RemovedComponents<RelightExclude>,
) {
    let is_other_set = included.read().count() > 0 || !excluded.is_empty();
    if lights.any() || is_other_set {
        changes.lights = true;
    }
}

pub fn panels(
    mut changes: ResMut<Changes>,
    changed: Query<(), (With<Baked>, Changed<MeshMaterial3d<StandardMaterial>>)>,
    mut materials: MessageReader<AssetEvent<StandardMaterial>>,
    settings: Res<SceneSettings>,
) {
    let modified = materials.read().filter(|event| matches!(event, AssetEvent::Modified { .. })).count();
    if modified > 0 || !changed.is_empty() || settings.is_changed() {
        changes.panels = true;
    }
}

/// All lights of the world.
pub fn read_lights(
    reader: &SceneReader,
    excluded: &Query<(), With<RelightExclude>>,
    parents: &Query<&ChildOf>,
) -> Vec<LiveLight> {
    let mut found: Vec<LiveLight> = reader
        .lights()
        .into_iter()
        .map(|found| {
            let kind = if found.is_hidden { switched_off(found.kind) } else { found.kind };
            let mut lineage = core::iter::once(found.entity).chain(parents.iter_ancestors(found.entity));
            LiveLight {
                id: found.entity.to_bits(),
                light: Light { name: found.name, kind },
                is_excluded: lineage.any(|entity| excluded.contains(entity)),
            }
        })
        .collect();
    found.sort_by(|a, b| a.light.name.cmp(&b.light.name).then(a.id.cmp(&b.id)));
    found
}

/// Which entity shows which surface, and what its material emitted at first.
#[derive(Default)]
pub struct Panels {
    surfaces: HashMap<(usize, [u32; 4]), SurfaceId>,
    /// Emission when it was first seen, for levels whose units may be others than this world's.
    first: HashMap<SurfaceId, Vec3>,
    baked: HashMap<SurfaceId, Vec3>,
    has_own_units: bool,
}

impl Panels {
    pub fn new(level: &RelightLevel) -> Self {
        let scene = &level.level.scene;
        let surfaces = level.places.iter().map(|&(page, rect, surface)| ((page, bits(rect)), surface)).collect();
        let baked = scene.surface_ids().map(|id| (id, scene.material_of(id).emission)).collect();
        Self { surfaces, first: HashMap::new(), baked, has_own_units: level.has_own_units }
    }

    /// All panels that shine, or shone when they were baked or seen first.
    pub fn read(
        &mut self,
        entities: &Query<(&Baked, &MeshMaterial3d<StandardMaterial>)>,
        materials: &Assets<StandardMaterial>,
        settings: &SceneSettings,
        pages: &Pages,
    ) -> Vec<LivePanel> {
        let page_of: HashMap<AssetId<Image>, usize> =
            pages.0.iter().enumerate().map(|(index, page)| (page.id(), index)).collect();
        let mut found: Vec<LivePanel> = Vec::new();
        for (baked, shown) in entities {
            let place = page_of.get(&baked.image.id()).map(|page| (*page, bits(baked.uv_rect)));
            let Some(&surface) = place.and_then(|place| self.surfaces.get(&place)) else {
                continue;
            };
            let Some(material) = materials.get(baked.original_material(&shown.0)) else {
                continue;
            };
            let now = material.emissive.to_vec3() * emission_factor(settings, material.emissive_exposure_weight);
            let emission = self.in_baked_units(surface, now);
            if emission != Vec3::ZERO || self.baked.get(&surface).is_some_and(|baked| *baked != Vec3::ZERO) {
                found.push(LivePanel { surface, emission });
            }
        }
        found.sort_by_key(|panel| panel.surface);
        found.dedup_by_key(|panel| panel.surface);
        found
    }

    fn in_baked_units(&mut self, surface: SurfaceId, now: Vec3) -> Vec3 {
        let baked = self.baked.get(&surface).copied().unwrap_or_default();
        if self.has_own_units || baked == Vec3::ZERO {
            return now;
        }
        let first = *self.first.entry(surface).or_insert(now);
        let channel = |baked: f32, first: f32, now: f32| if first > 0.0 { baked * (now / first) } else { baked };
        Vec3::new(channel(baked.x, first.x, now.x), channel(baked.y, first.y, now.y), channel(baked.z, first.z, now.z))
    }
}

fn bits(rect: Rect) -> [u32; 4] {
    [rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(f32::to_bits)
}
