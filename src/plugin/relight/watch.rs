//! Lights, panels and colours as they are now.

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
use crate::relight::{LiveLight, LivePanel, Paint, switched_off};
use crate::scene::Light;

/// How far a base colour may be from the baked one that it once was: what ways through files make of it.
const ROUNDING: f32 = 1e-3;

/// What may be other than when it was last looked at.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct Changes {
    pub lights: bool,
    pub materials: bool,
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

pub fn materials(
    mut changes: ResMut<Changes>,
    changed: Query<(), (With<Baked>, Or<(Changed<Baked>, Changed<MeshMaterial3d<StandardMaterial>>)>)>,
    mut materials: MessageReader<AssetEvent<StandardMaterial>>,
    settings: Res<SceneSettings>,
) {
    let modified = materials.read().filter(|event| matches!(event, AssetEvent::Modified { .. })).count();
    if modified > 0 || !changed.is_empty() || settings.is_changed() {
        changes.materials = true;
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

/// Which entity shows which surface, and what its material was at first.
#[derive(Default)]
pub struct Surfaces {
    surfaces: HashMap<(usize, [u32; 4]), SurfaceId>,
    /// Emission when it was first seen, for levels whose units may be others than this world's.
    first: HashMap<SurfaceId, Vec3>,
    baked: HashMap<SurfaceId, Look>,
    has_own_units: bool,
}

/// What counts of a surface's material, but for its pictures.
#[derive(Clone, Copy, Debug)]
struct Look {
    /// cd/m2.
    emission: Vec3,
    /// Base colour, linear.
    color: Vec3,
}

impl Look {
    fn of(material: &StandardMaterial, settings: &SceneSettings) -> Self {
        Self {
            emission: material.emissive.to_vec3() * emission_factor(settings, material.emissive_exposure_weight),
            color: material.base_color.to_linear().to_vec3(),
        }
    }
}

impl Surfaces {
    pub fn new(level: &RelightLevel) -> Self {
        let scene = &level.level.scene;
        let surfaces = level.places.iter().map(|&(page, rect, surface)| ((page, bits(rect)), surface)).collect();
        let baked = |id: SurfaceId| {
            let material = scene.material_of(id);
            (id, Look { emission: material.emission, color: material.base_color.truncate() })
        };
        let baked = scene.surface_ids().map(baked).collect();
        Self { surfaces, first: HashMap::new(), baked, has_own_units: level.has_own_units }
    }

    /// All panels that shine, or shone when they were baked or seen first, and all surfaces of another colour than baked.
    pub fn read(
        &mut self,
        entities: &Query<(&Baked, &MeshMaterial3d<StandardMaterial>)>,
        materials: &Assets<StandardMaterial>,
        settings: &SceneSettings,
        pages: &Pages,
    ) -> (Vec<LivePanel>, Vec<Paint>) {
        let page_of: HashMap<AssetId<Image>, usize> =
            pages.0.iter().enumerate().map(|(index, page)| (page.id(), index)).collect();
        let mut found: Vec<(SurfaceId, Look, Look)> = Vec::new();
        for (baked, shown) in entities {
            let place = page_of.get(&baked.image.id()).map(|page| (*page, bits(baked.uv_rect)));
            let Some(&surface) = place.and_then(|place| self.surfaces.get(&place)) else {
                continue;
            };
            let Some(material) = materials.get(baked.original_material(&shown.0)) else {
                continue;
            };
            let (before, now) = self.in_baked_units(surface, Look::of(material, settings));
            found.push((surface, before, now));
        }
        found.sort_by_key(|(surface, ..)| *surface);
        found.dedup_by_key(|(surface, ..)| *surface);
        let shines = |look: &Look| look.emission != Vec3::ZERO;
        let panels = found.iter().filter(|(_, before, now)| shines(before) || shines(now));
        let panels = panels.map(|(surface, _, now)| LivePanel { surface: *surface, emission: now.emission }).collect();
        let is_same = |before: Vec3, now: Vec3| now.is_finite() && now.min(Vec3::ONE).abs_diff_eq(before, ROUNDING);
        let paints = found.iter().filter(|(_, before, now)| !is_same(before.color, now.color));
        (panels, paints.map(|(surface, _, now)| Paint { surface: *surface, color: now.color }).collect())
    }

    /// What a surface looked like when it was baked, and what it looks like now.
    fn in_baked_units(&mut self, surface: SurfaceId, now: Look) -> (Look, Look) {
        let baked = self.baked[&surface];
        if self.has_own_units {
            return (baked, now);
        }
        let first = *self.first.entry(surface).or_insert(now.emission);
        (baked, Look { emission: in_units_of(baked.emission, first, now.emission), ..now })
    }
}

/// What something emits whose emission was first seen in some units, in those that it was baked in.
fn in_units_of(baked: Vec3, first: Vec3, now: Vec3) -> Vec3 {
    if baked == Vec3::ZERO {
        now
    } else if first == Vec3::ZERO {
        baked
    } else {
        now * (baked.length() / first.length())
    }
}

fn bits(rect: Rect) -> [u32; 4] {
    [rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(f32::to_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A surface of a file that was baked in units ten times as large as the world's, and what it looks like.
    fn seen(baked: Look, looks: [Look; 2]) -> Look {
        let surface = SurfaceId::from_index(0);
        let mut surfaces = Surfaces { baked: [(surface, baked)].into(), ..Surfaces::default() };
        looks.map(|look| surfaces.in_baked_units(surface, look).1)[1]
    }

    #[test]
    fn a_panel_of_a_file_takes_any_colour_in_the_units_of_the_file() {
        let [red, green] = [Vec3::X, Vec3::Y].map(|emission| Look { emission: 10.0 * emission, color: Vec3::ONE });
        let in_other_units = |look: Look| Look { emission: 0.1 * look.emission, ..look };
        let now = seen(red, [red, green].map(in_other_units));
        assert!(now.emission.abs_diff_eq(green.emission, 1e-5), "{now:?}");
        let dark = Look { emission: Vec3::ZERO, ..red };
        assert_eq!(seen(red, [in_other_units(red), dark]).emission, Vec3::ZERO);
        assert_eq!(seen(red, [dark, dark]).emission, red.emission, "whose units are not known yet");
    }

    #[test]
    fn a_colour_is_what_it_is_whatever_it_was_first() {
        let of = |color: Vec3| Look { emission: Vec3::ZERO, color };
        assert_eq!(seen(of(Vec3::X), [of(Vec3::X), of(Vec3::Y)]).color, Vec3::Y);
        assert_eq!(seen(of(Vec3::ZERO), [of(Vec3::ONE); 2]).color, Vec3::ONE);
    }
}
