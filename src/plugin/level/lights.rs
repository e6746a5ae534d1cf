//! Baked lights among the lights of the app.
//!
//! A level lists the names and places of its lights. A light of the app is one of them if it has the same name, the same
//! place, or both. Only such lights are marked as baked: [`BakedLight`].

use std::collections::{HashMap, HashSet};

use bevy::light::{
    DirectionalLight, EnvironmentMapLight, GeneratedEnvironmentMapLight, PointLight, RectLight, Skybox, SpotLight,
};
use bevy::prelude::*;

use super::shown::{FoundEntity, ShownLevel};
use crate::lightmap::files::LevelLight;
use crate::plugin::state::{Baked, BakedLight, LevelFrame, LevelPlaces, LitLights};
use crate::plugin::sync::{FoundLight, LoadingAssets, SceneReader, SceneStatus, list_names};
use crate::plugin::write_back::{add_marks, remove_marks};
use crate::scene::LightPlace;

/// Maximum distance of places that count as equal: in meters, or of unit vectors.
pub const NEAR: f32 = 0.01;

/// Warns about baked lights that were not found, and about lights of a level that were not baked. It waits until the
/// level is there.
pub fn report(
    mut levels: Query<(Entity, &mut ShownLevel)>,
    reader: SceneReader,
    loading: LoadingAssets,
    parents: Query<&ChildOf>,
    surfaces: Query<(Entity, &Baked)>,
    marked: Query<Entity, With<BakedLight>>,
) {
    let waits = |level: &ShownLevel| level.lights.is_attached && !level.lights.has_reported;
    if !levels.iter().any(|(_, level)| waits(level)) || loading.count().is_loading() {
        return;
    }
    let of_any: HashSet<Entity> = levels.iter().flat_map(|(_, level)| level.lights.entities()).collect();
    let root = |entity| parents.iter_ancestors(entity).last();
    for (entity, mut level) in levels.iter_mut().filter(|(_, level)| waits(level)) {
        let of_level = surfaces.iter().filter(|(_, baked)| baked.level == entity);
        let of_level: Vec<Entity> = of_level.map(|(surface, _)| surface).collect();
        if of_level.is_empty() {
            continue;
        }
        let lights = &mut level.lights;
        lights.has_reported = true;
        let missing = lights.baked.iter().zip(&lights.found).filter(|(_, found)| found.is_none());
        let missing: Vec<&str> = missing.map(|(light, _)| name(light)).collect();
        let is_found = |light: &Entity| of_any.contains(light) || lights.cameras.contains(light);
        let marked_by_app = marked.iter().filter(|light| !is_found(light)).count();
        if let Some(names) = list_names(&missing).filter(|_| marked_by_app < missing.len()) {
            warn!("baked lights are not in the app: {names}; give lights their names, or a `BakedLight`");
        }
        let roots: HashSet<Entity> = of_level.into_iter().filter_map(root).collect();
        let is_new = |light: &FoundLight| {
            !light.is_hidden
                && !light.is_animated
                && !of_any.contains(&light.entity)
                && !marked.contains(light.entity)
                && root(light.entity).is_some_and(|root| roots.contains(&root))
        };
        let of_app = reader.lights(&LevelFrame::default());
        let added: Vec<&str> = of_app.iter().filter(|light| is_new(light)).map(|light| light.name.as_str()).collect();
        if let Some(names) = list_names(&added) {
            warn!("lights of the level are not in its lightmaps: {names}; bake it again to add them");
        }
    }
}

type NewLight = Or<(
    Added<PointLight>,
    Added<SpotLight>,
    Added<DirectionalLight>,
    Added<RectLight>,
    Added<Skybox>,
    Added<EnvironmentMapLight>,
    Added<GeneratedEnvironmentMapLight>,
)>;

/// Run condition: lights were added since the previous frame, while a level is shown.
pub fn any_added(levels: Query<&ShownLevel>, added: Query<(), NewLight>) -> bool {
    !added.is_empty() && levels.iter().any(|level| level.lights.is_attached)
}

/// Finds more lights of the levels.
pub fn follow(mut commands: Commands) {
    commands.run_system_cached(mark);
}

/// Finds lights of the shown levels and marks them. Lights that were found before keep their marks, or stay without one if
/// the app has removed it. A light below the entity of a level belongs to that level alone.
pub fn mark(
    mut commands: Commands,
    mut levels: Query<(Entity, &mut ShownLevel, &LitLights, &LevelFrame)>,
    reader: SceneReader,
    places: LevelPlaces,
    mut status: ResMut<SceneStatus>,
) {
    for (level, mut shown, lit, frame) in &mut levels {
        let lights = &mut shown.lights;
        if !lights.is_attached {
            continue;
        }
        let mut of_app = reader.lights(frame);
        of_app.retain(|light| !places.is_elsewhere(light.entity, level));
        let living: HashSet<Entity> = of_app.iter().map(|light| light.entity).collect();
        let before = lights.entities();
        for found in &mut lights.found {
            *found = found.filter(|found| living.contains(&found.entity) && found.is_at_place);
        }
        let known = lights.entities();
        of_app.retain(|light| !known.contains(&light.entity));
        let free: Vec<usize> = (0..lights.found.len()).filter(|&index| lights.found[index].is_none()).collect();
        let baked: Vec<&LevelLight> = free.iter().map(|&index| &lights.baked[index]).collect();
        for (index, found) in free.into_iter().zip(find(&baked, &of_app)) {
            lights.found[index] = found;
        }
        let now = lights.entities();
        let mut new: Vec<Entity> = now.difference(&before).copied().collect();
        let replaced: Vec<Entity> = before.difference(&now).copied().collect();
        status.take_for_unchanged(new.iter().copied());
        if lights.has_sky {
            new.extend(reader.lit_cameras().filter(|camera| lights.cameras.insert(*camera)));
        }
        if lit.is_direct {
            let lit = LitLights { ambient: lights.has_sky && reader.has_baked_ambient(), ..*lit };
            commands.queue(move |world: &mut World| {
                remove_marks(world, level, &replaced);
                add_marks(world, level, lit, &new);
            });
        }
    }
}

/// Returns the entity of each baked light. Lights with both the same name and place come first, then those with the same
/// place, and then those with the same name.
fn find(baked: &[&LevelLight], of_app: &[FoundLight]) -> Vec<Option<FoundEntity>> {
    let mut matches = Matches { found: vec![None; baked.len()], is_taken: vec![false; of_app.len()] };
    let mut by_cell: HashMap<(bool, [i64; 3]), Vec<usize>> = HashMap::new();
    let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, light) in baked.iter().enumerate() {
        by_name.entry(name(light)).or_default().push(index);
        if let Some(place) = light.place {
            by_cell.entry(cell(place)).or_default().push(index);
        }
    }
    for needs_name in [true, false] {
        for (index, light) in of_app.iter().enumerate() {
            let place = light.kind.place();
            let near = neighbors(place).into_iter().filter_map(|cell| by_cell.get(&cell)).flatten().copied();
            let fits = |&other: &usize| {
                distance(baked[other].place, place).is_some_and(|distance| distance <= NEAR)
                    && (!needs_name || name(baked[other]) == light.name)
            };
            matches.join(near.filter(fits), index, FoundEntity { entity: light.entity, is_at_place: true });
        }
    }
    let mut pairs: Vec<(f32, usize, usize)> = Vec::new();
    for (index, light) in of_app.iter().enumerate().filter(|(index, _)| !matches.is_taken[*index]) {
        let place = light.kind.place();
        // A lamp without a name is known by its place alone.
        let is_named = light.name != light.kind.name() || matches!(place, LightPlace::Direction(_));
        for &other in by_name.get(light.name.as_str()).into_iter().flatten().filter(|_| is_named) {
            let apart = if baked[other].place.is_none() { Some(0.0) } else { distance(baked[other].place, place) };
            pairs.extend(apart.map(|apart| (apart, other, index)));
        }
    }
    pairs.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    for (_, other, index) in pairs {
        let found = FoundEntity { entity: of_app[index].entity, is_at_place: false };
        matches.join(core::iter::once(other), index, found);
    }
    matches.found
}

/// Baked lights and lights of the app that belong together.
struct Matches {
    /// Entity of each baked light.
    found: Vec<Option<FoundEntity>>,
    /// True for each light of the app that is a baked one.
    is_taken: Vec<bool>,
}

impl Matches {
    /// Assigns a light of the app to the first free candidate.
    fn join(&mut self, mut candidates: impl Iterator<Item = usize>, index: usize, found: FoundEntity) {
        if !self.is_taken[index]
            && let Some(other) = candidates.find(|&other| self.found[other].is_none())
        {
            self.found[other] = Some(found);
            self.is_taken[index] = true;
        }
    }
}

/// Returns the name of a baked light. Earlier versions wrote quotes around it.
fn name(light: &LevelLight) -> &str {
    light.key.trim_matches('\'')
}

/// Returns the cell of a grid of places, and true for directions.
fn cell(place: LightPlace) -> (bool, [i64; 3]) {
    let (is_direction, place) = match place {
        LightPlace::Position(place) => (false, place),
        LightPlace::Direction(place) => (true, place),
    };
    (is_direction, place.map(|coordinate| (coordinate / NEAR).floor() as i64))
}

/// Returns the cell of a place and the 26 cells around it.
fn neighbors(place: LightPlace) -> Vec<(bool, [i64; 3])> {
    let (is_direction, [x, y, z]) = cell(place);
    let offsets = |index: i64| [index % 3 - 1, index / 3 % 3 - 1, index / 9 - 1];
    (0..27).map(offsets).map(|[i, j, k]| (is_direction, [x + i, y + j, z + k])).collect()
}

/// Returns the distance of two places of one kind.
fn distance(a: Option<LightPlace>, b: LightPlace) -> Option<f32> {
    match (a?, b) {
        (LightPlace::Position(a), LightPlace::Position(b)) | (LightPlace::Direction(a), LightPlace::Direction(b)) => {
            Some(Vec3::from(a).distance(Vec3::from(b)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Hash, LightKind};

    fn baked(name: &str, place: Option<LightPlace>) -> LevelLight {
        LevelLight { key: name.to_owned(), place, light: Hash([0; 32]) }
    }

    fn lamp(number: u32, name: &str, position: Vec3) -> FoundLight {
        let kind = LightKind::Point { position, intensity: Vec3::ONE, radius: 0.0, range: f32::INFINITY };
        let entity = Entity::from_raw_u32(number).unwrap();
        FoundLight { entity, name: name.to_owned(), kind, is_hidden: false, is_animated: false }
    }

    fn at(x: f32) -> Option<LightPlace> {
        Some(LightPlace::Position([x, 0.0, 0.0]))
    }

    /// Returns the number of the entity of each baked light.
    fn found(baked: &[LevelLight], of_app: &[FoundLight]) -> Vec<Option<u32>> {
        find(&baked.iter().collect::<Vec<_>>(), of_app)
            .into_iter()
            .map(|found| found.map(|found| found.entity.index_u32()))
            .collect()
    }

    #[test]
    fn lights_are_known_by_name_and_place_then_by_place_then_by_name() {
        let baked = [baked("a", at(0.0)), baked("a", at(5.0)), baked("b", at(9.0)), baked("c", at(20.0))];
        let of_app = [
            lamp(0, "c", Vec3::X * 70.0),
            lamp(1, "a", Vec3::X * 5.001),
            lamp(2, "other", Vec3::X * 9.0),
            lamp(3, "a", Vec3::X * 3.0),
            lamp(4, "a", Vec3::X * 0.5),
        ];
        assert_eq!(found(&baked, &of_app), [Some(4), Some(1), Some(2), Some(0)]);
    }

    #[test]
    fn a_lamp_without_a_name_is_known_by_its_place_alone() {
        let baked = [baked("point light", at(0.0)), baked("point light", at(5.0))];
        let of_app = [lamp(0, "point light", Vec3::X * 0.005), lamp(1, "point light", Vec3::X * 4.0)];
        assert_eq!(found(&baked, &of_app), [Some(0), None]);
    }

    #[test]
    fn a_light_of_an_earlier_level_is_known_by_its_name() {
        assert_eq!(found(&[baked("'lamp'", None)], &[lamp(7, "lamp", Vec3::X)]), [Some(7)]);
    }
}
