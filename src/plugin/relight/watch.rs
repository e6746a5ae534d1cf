//! Current lights, panels and colors.

use std::collections::{BTreeMap, HashMap};

use bevy::ecs::system::SystemParam;
use bevy::pbr::{MeshMaterial3d, StandardMaterial};
use bevy::prelude::*;

use super::settings::RelightExclude;
use crate::geometry::SurfaceId;
use crate::plugin::components::{BakeRole, SceneSettings};
use crate::plugin::convert::emission_of;
use crate::plugin::state::{Baked, LevelFrame, LevelPlaces, Pages, RelightLevel, ShownMaterial};
use crate::plugin::sync::{LightChanges, SceneReader};
use crate::plugin::ticks::any_changed;
use crate::relight::{LiveLight, LivePanel, Paint, switched_off};
use crate::scene::Light;

/// Tolerance for matching a base color to its baked value. It covers rounding by files.
const ROUNDING: f32 = 1e-3;

/// True if lights or materials may have changed since the last read.
#[derive(Resource, Clone, Copy, Debug, Default)]
pub struct HasChanges(pub bool);

/// Changes of which lights are relit.
#[derive(SystemParam)]
pub struct SelectionChanges<'w, 's> {
    excluded: Query<'w, 's, (), Added<RelightExclude>>,
    included: RemovedComponents<'w, 's, RelightExclude>,
    roles: Query<'w, 's, Ref<'static, BakeRole>>,
    unassigned: RemovedComponents<'w, 's, BakeRole>,
}

/// Changes of the materials of surfaces.
#[derive(SystemParam)]
pub struct MaterialChanges<'w, 's> {
    shown: Query<'w, 's, Ref<'static, MeshMaterial3d<StandardMaterial>>, With<Baked>>,
    assets: MessageReader<'w, 's, AssetEvent<StandardMaterial>>,
}

/// Run condition: lights, materials, settings or the level may have changed since the previous frame.
pub fn any(
    mut lights: LightChanges,
    mut selection: SelectionChanges,
    mut materials: MaterialChanges,
    frames: Query<(), Changed<LevelFrame>>,
    settings: Res<SceneSettings>,
) -> bool {
    // Each part forgets what it has reported, so all are asked.
    [lights.any(), selection.any(), materials.any(), !frames.is_empty(), settings.is_changed()].contains(&true)
}

impl SelectionChanges<'_, '_> {
    fn any(&mut self) -> bool {
        let removed = self.included.read().count() + self.unassigned.read().count();
        removed > 0 || !self.excluded.is_empty() || any_changed(&self.roles)
    }
}

impl MaterialChanges<'_, '_> {
    fn any(&mut self) -> bool {
        let is_other = |event: &&AssetEvent<_>| matches!(event, AssetEvent::Added { .. } | AssetEvent::Modified { .. });
        self.assets.read().filter(is_other).count() > 0 || any_changed(&self.shown)
    }
}

/// Notes changes until they are read.
pub fn note(mut changes: ResMut<HasChanges>) {
    changes.0 = true;
}

/// Lights of the world.
#[derive(SystemParam)]
pub struct LightReader<'w, 's> {
    reader: SceneReader<'w, 's>,
    excluded: Query<'w, 's, (), With<RelightExclude>>,
    parents: Query<'w, 's, &'static ChildOf>,
    places: LevelPlaces<'w, 's>,
}

impl LightReader<'_, '_> {
    /// Returns all lights that may light a level, at their places in it. Those of other levels do not.
    pub fn read(&self, level: Entity, frame: &LevelFrame) -> Vec<LiveLight> {
        let Self { reader, excluded, parents, places } = self;
        let mut found: Vec<LiveLight> = reader
            .lights(frame)
            .into_iter()
            .filter(|found| !places.is_elsewhere(found.entity, level))
            .map(|found| {
                let kind = if found.is_hidden { switched_off(found.kind) } else { found.kind };
                let mut lineage = core::iter::once(found.entity).chain(parents.iter_ancestors(found.entity));
                // A lamp without a name is known by its place alone.
                let is_named = found.name != kind.name();
                let name = if is_named { found.name } else { format!("{} {}", found.name, found.entity) };
                LiveLight {
                    id: found.entity.to_bits(),
                    light: Light { name, kind },
                    is_excluded: lineage.any(|entity| excluded.contains(entity)),
                }
            })
            .collect();
        found.sort_by(|a, b| a.light.name.cmp(&b.light.name).then(a.id.cmp(&b.id)));
        found
    }
}

/// Mapping from page rectangles to surfaces, and their initial materials.
#[derive(Default)]
pub struct Surfaces {
    surfaces: HashMap<(usize, [u32; 4]), SurfaceId>,
    /// First non-zero emission of each surface, for levels in other units than this world's.
    first: HashMap<SurfaceId, Vec3>,
    baked: HashMap<SurfaceId, MaterialState>,
    /// Colors that differ from the bake. A surface that is not visible keeps its entry.
    painted: BTreeMap<SurfaceId, Vec3>,
    has_own_units: bool,
}

/// Relevant factors of a material, without textures.
#[derive(Clone, Copy, Debug)]
struct MaterialState {
    /// Emission, in cd/m2.
    emission: Vec3,
    /// Base color, linear.
    color: Vec3,
}

impl MaterialState {
    fn of(material: &StandardMaterial, settings: &SceneSettings) -> Self {
        Self { emission: emission_of(material, settings), color: material.base_color.to_linear().to_vec3() }
    }
}

impl Surfaces {
    pub fn new(level: &RelightLevel) -> Self {
        let scene = &level.level.scene;
        let surfaces = level.places.iter().map(|&(page, rect, surface)| ((page, bits(rect)), surface)).collect();
        let baked = |id: SurfaceId| {
            let material = scene.material_of(id);
            (id, MaterialState { emission: material.emission, color: material.base_color.truncate() })
        };
        let baked = scene.surface_ids().map(baked).collect();
        Self { surfaces, baked, has_own_units: level.has_own_units, ..Self::default() }
    }

    /// Returns all panels that emit light now or did at bake time, and all surfaces with another color than baked.
    pub fn read(
        &mut self,
        entities: &Query<(&Baked, ShownMaterial)>,
        materials: &Assets<StandardMaterial>,
        settings: &SceneSettings,
        pages: &Pages,
    ) -> (Vec<LivePanel>, Vec<Paint>) {
        let page_of: HashMap<AssetId<Image>, usize> =
            pages.images.iter().enumerate().map(|(index, page)| (page.id(), index)).collect();
        let mut found: Vec<(SurfaceId, MaterialState, MaterialState)> = Vec::new();
        for (baked, shown) in entities {
            let place = page_of.get(&baked.image.id()).map(|page| (*page, bits(baked.uv_rect)));
            let Some(&surface) = place.and_then(|place| self.surfaces.get(&place)) else {
                continue;
            };
            let Some(material) = materials.get(shown.original()) else {
                continue;
            };
            let (before, now) = self.in_baked_units(surface, MaterialState::of(material, settings));
            found.push((surface, before, now));
        }
        found.sort_by_key(|(surface, ..)| *surface);
        found.dedup_by_key(|(surface, ..)| *surface);
        let shines = |state: &MaterialState| state.emission != Vec3::ZERO;
        let panels = found.iter().filter(|(_, before, now)| shines(before) || shines(now));
        let panels = panels.map(|(surface, _, now)| LivePanel { surface: *surface, emission: now.emission }).collect();
        found.iter().for_each(|(surface, before, now)| self.see_color(*surface, before.color, now.color));
        let paints = self.painted.iter().map(|(&surface, &color)| Paint { surface, color });
        (panels, paints.collect())
    }

    /// Updates the entry of a surface's base color. A non-finite color changes nothing.
    fn see_color(&mut self, surface: SurfaceId, baked: Vec3, now: Vec3) {
        if now.clamp(Vec3::ZERO, Vec3::ONE).abs_diff_eq(baked, ROUNDING) {
            self.painted.remove(&surface);
        } else if now.is_finite() {
            self.painted.insert(surface, now);
        }
    }

    /// Returns the baked material of a surface and its current one, in the units of the bake.
    fn in_baked_units(&mut self, surface: SurfaceId, now: MaterialState) -> (MaterialState, MaterialState) {
        let baked = self.baked[&surface];
        if self.has_own_units {
            return (baked, now);
        }
        let emission = if baked.emission == Vec3::ZERO {
            now.emission
        } else if now.emission.is_finite() && now.emission != Vec3::ZERO {
            let first = self.first.entry(surface).or_insert(now.emission);
            now.emission * (baked.emission.length() / first.length())
        } else if now.emission == Vec3::ZERO && !self.first.contains_key(&surface) {
            // The world's own materials may lack emission.
            baked.emission
        } else {
            now.emission
        };
        (baked, MaterialState { emission, ..now })
    }
}

fn bits(rect: Rect) -> [u32; 4] {
    [rect.min.x, rect.min.y, rect.max.x, rect.max.y].map(f32::to_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the final material of a surface whose file was baked in units ten times as large as the world's.
    fn seen<const TIMES: usize>(baked: MaterialState, states: [MaterialState; TIMES]) -> MaterialState {
        let surface = SurfaceId::from_index(0);
        let mut surfaces = Surfaces { baked: [(surface, baked)].into(), ..Surfaces::default() };
        states.map(|state| surfaces.in_baked_units(surface, state).1)[TIMES - 1]
    }

    #[test]
    fn a_panel_of_a_file_takes_any_color_in_the_units_of_the_file() {
        let [red, green] =
            [Vec3::X, Vec3::Y].map(|emission| MaterialState { emission: 10.0 * emission, color: Vec3::ONE });
        let in_other_units = |state: MaterialState| MaterialState { emission: 0.1 * state.emission, ..state };
        let now = seen(red, [red, green].map(in_other_units));
        assert!(now.emission.abs_diff_eq(green.emission, 1e-5), "{now:?}");
        let dark = MaterialState { emission: Vec3::ZERO, ..red };
        assert_eq!(seen(red, [in_other_units(red), dark]).emission, Vec3::ZERO);
        assert_eq!(seen(red, [dark, dark]).emission, red.emission, "whose units are not known yet");
        assert_eq!(seen(red, [dark, in_other_units(red)]).emission, red.emission);
        assert_eq!(seen(red, [dark, in_other_units(red), dark]).emission, Vec3::ZERO);
        let faulty = MaterialState { emission: Vec3::NAN, ..red };
        assert!(seen(red, [faulty]).emission.is_nan(), "which is said, and changes nothing");
        assert_eq!(seen(red, [faulty, in_other_units(red)]).emission, red.emission);
    }

    #[test]
    fn a_color_stays_known_while_its_surface_is_not_seen_or_has_none() {
        let surface = SurfaceId::from_index(0);
        let mut surfaces = Surfaces::default();
        let mut see = |now: Vec3| {
            surfaces.see_color(surface, Vec3::ONE, now);
            surfaces.painted.get(&surface).copied()
        };
        assert_eq!(see(Vec3::NAN), None);
        assert_eq!(see(2.0 * Vec3::ONE), None, "more than one counts as one");
        assert_eq!(see(Vec3::X), Some(Vec3::X));
        assert_eq!(see(Vec3::NAN), Some(Vec3::X));
        assert_eq!(see(Vec3::ONE), None);
    }

    #[test]
    fn a_color_is_what_it_is_whatever_it_was_first() {
        let of = |color: Vec3| MaterialState { emission: Vec3::ZERO, color };
        assert_eq!(seen(of(Vec3::X), [of(Vec3::X), of(Vec3::Y)]).color, Vec3::Y);
        assert_eq!(seen(of(Vec3::ZERO), [of(Vec3::ONE); 2]).color, Vec3::ONE);
    }
}
