//! Match of the lights of the running game to tracked lights.

use std::collections::{BTreeMap, HashSet};

use glam::Vec3;

use super::lights::{Emitter, LiveLight, LivePanel, Shape, baked_lights, plain};
use super::tracked_light::TrackedLight;
use crate::geometry::SurfaceId;
use crate::scene::Scene;
use crate::scene::check::{fault_of_light, fault_of_strength};

/// Knowledge about tracked lights that outlasts one match.
pub struct Matching {
    /// Index of the light of each surface.
    panels: BTreeMap<SurfaceId, usize>,
    /// Lights that a warning has named.
    warned: HashSet<u64>,
}

impl Matching {
    /// Starts with all lights of a scene as baked. Returns them too: lamps in the order of the scene, then panels.
    pub fn new(scene: &Scene) -> (Self, Vec<TrackedLight>) {
        let baked = baked_lights(scene);
        let panel = |(index, (_, emitter)): (usize, &(String, Emitter))| match emitter.shape {
            Shape::Panel(surface) => Some((surface, index)),
            Shape::Lamp(_) => None,
        };
        let panels = baked.iter().enumerate().filter_map(panel).collect();
        let tracked = baked.iter().map(|(name, emitter)| TrackedLight::baked(name, *emitter)).collect();
        (Self { panels, warned: HashSet::new() }, tracked)
    }

    /// Gives tracked lights the current states of live lights and panels. Returns true when a state is new, and a
    /// warning for each light that cannot be relit, once per light.
    pub fn set(
        &mut self,
        tracked: &mut Vec<TrackedLight>,
        lights: &[LiveLight],
        panels: &[LivePanel],
        scene: &Scene,
    ) -> (bool, Vec<String>) {
        let (mut is_new, mut warnings) = (false, Vec::new());
        let mut living: HashSet<u64> = HashSet::new();
        for LiveLight { id, light, is_excluded } in lights {
            living.insert(*id);
            if let Some(fault) = fault_of_light(&light.kind).filter(|_| !is_excluded) {
                self.warn(*id, &light.name, fault, &mut warnings);
                continue;
            }
            let now = Emitter::lamp(light.kind);
            let known = tracked.iter().position(|tracked| tracked.entity == Some(*id));
            match known.or_else(|| adopt(tracked, *id, &light.name, &now)) {
                Some(index) => is_new |= tracked[index].follow(now, *is_excluded),
                None if *is_excluded => {}
                None => {
                    tracked.push(TrackedLight::added(&light.name, Some(*id), now));
                    is_new = true;
                }
            }
        }
        for gone in tracked.iter_mut().filter(|light| light.entity.is_some_and(|id| !living.contains(&id))) {
            is_new |= gone.leave();
        }
        tracked.retain(|light| light.baked_emitter().is_some() || light.entity.is_some());
        for panel in panels {
            let name = &scene.surface(panel.surface).key.0;
            if let Some(fault) = fault_of_strength(panel.emission) {
                self.warn(u64::MAX - u64::from(panel.surface.0), name, fault, &mut warnings);
                continue;
            }
            let now = Emitter::panel(*panel);
            is_new |= self.panel_light(tracked, panel.surface, name).follow(now, false);
        }
        (is_new, warnings)
    }

    fn warn(&mut self, id: u64, name: &str, fault: &str, warnings: &mut Vec<String>) {
        if self.warned.insert(id) {
            warnings.push(format!("light '{}' cannot be followed: {fault}; it stays as it was", plain(name)));
        }
    }

    /// Returns the tracked light of a surface. A surface that was not emissive gets a new entry.
    fn panel_light<'a>(
        &mut self,
        lights: &'a mut Vec<TrackedLight>,
        surface: SurfaceId,
        name: &str,
    ) -> &'a mut TrackedLight {
        let index = *self.panels.entry(surface).or_insert_with(|| {
            let dark = Emitter::panel(LivePanel { surface, emission: Vec3::ZERO });
            // Added lights come after all baked ones, since they are removed again.
            let place = lights.iter().position(|light| light.baked_emitter().is_none()).unwrap_or(lights.len());
            lights.insert(place, TrackedLight::baked(name, dark));
            place
        });
        &mut lights[index]
    }
}

/// Binds a light seen for the first time to the baked light that matches. Returns its index.
///
/// A light with nearly the same parameters matches, by name if there are several, as the file has them or as Bevy's glTF
/// loader spawns them. Otherwise a light of the same kind and name matches, if it is the only one.
fn adopt(lights: &mut [TrackedLight], id: u64, name: &str, now: &Emitter) -> Option<usize> {
    let free = || {
        let free = lights.iter().enumerate().filter(|(_, light)| light.entity.is_none());
        free.filter_map(|(index, light)| Some((index, plain(&light.name) == plain(name), light.baked_emitter()?)))
    };
    let same = || free().filter(|(.., baked)| baked.is_nearly(now) || baked.is_nearly(&now.in_file(baked)));
    let named = || free().filter(|(_, has_name, baked)| *has_name && baked.is_alike(now));
    let found = same().find(|(_, has_name, _)| *has_name).or_else(|| same().next());
    let (index, ..) = found.or_else(|| named().next().filter(|_| named().count() == 1))?;
    lights[index].entity = Some(id);
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relight::tracked_light::LightState;
    use crate::scene::{Light, LightKind};

    fn lamp(intensity: Vec3, range: f32) -> LightKind {
        LightKind::Point { position: Vec3::Y, intensity, radius: 0.0, range }
    }

    /// Returns the strength of the tracked light after a light was seen in each state, and true if it differs from the bake.
    fn seen(states: &[LightKind]) -> (Vec3, bool) {
        let file = Light { name: "lamp".to_owned(), kind: lamp(100.0 * Vec3::new(1.0, 0.5, 0.25), f32::INFINITY) };
        let scene = Scene { lights: vec![file], ..Scene::default() };
        let (mut matching, mut tracked) = Matching::new(&scene);
        for &kind in states {
            let live = LiveLight { id: 1, light: Light { name: "lamp".to_owned(), kind }, is_excluded: false };
            matching.set(&mut tracked, &[live], &[], &scene);
        }
        assert_eq!((tracked.len(), tracked[0].state), (1, LightState::Baked));
        (tracked[0].current().strength, tracked[0].baked_emitter() != Some(tracked[0].current()))
    }

    #[test]
    fn a_light_that_dims_has_not_moved_by_rounding() {
        let file = 100.0 * Vec3::new(1.0, 0.5, 0.25);
        let scene = Scene {
            lights: vec![Light { name: "lamp".to_owned(), kind: lamp(file, f32::INFINITY) }],
            ..Scene::default()
        };
        let loaded = 100.0 * Vec3::new(1.0, 0.214_041, 0.050_876);
        for (strength, range) in [(file, f32::INFINITY), (loaded, 20.0)] {
            let (mut matching, mut tracked) = Matching::new(&scene);
            for factor in [1.0, 0.5] {
                let position = Vec3::Y * 1.000_01;
                let kind = LightKind::Point { position, intensity: factor * strength, radius: 0.0, range };
                let live = LiveLight { id: 1, light: Light { name: "lamp".to_owned(), kind }, is_excluded: false };
                matching.set(&mut tracked, &[live], &[], &scene);
            }
            assert!(!tracked[0].has_moved() && tracked[0].current().strength.abs_diff_eq(0.5 * file, 0.01));
        }
    }

    #[test]
    fn a_light_as_bevys_gltf_loader_spawns_it_is_the_one_of_the_file() {
        // `Color::srgb(1.0, 0.5, 0.25)` is (1, 0.2140, 0.0509) in linear colors.
        let loaded = |factor: f32| lamp(factor * 100.0 * Vec3::new(1.0, 0.214_041, 0.050_876), 20.0);
        let file = 100.0 * Vec3::new(1.0, 0.5, 0.25);
        assert_eq!(seen(&[loaded(1.0)]), (file, false));
        let (dimmed, differs) = seen(&[loaded(1.0), loaded(0.5)]);
        assert!(differs && dimmed.abs_diff_eq(0.5 * file, 0.01), "{dimmed}");
        assert_eq!(seen(&[loaded(1.0), loaded(0.0), loaded(1.0)]), (file, false));
        assert_eq!(seen(&[loaded(0.0), loaded(1.0)]), (file, false), "also one that was off at first");
        assert_eq!(seen(&[lamp(file, f32::INFINITY)]), (file, false), "so is the light as the file has it");
        let (white, differs) = seen(&[loaded(1.0), lamp(Vec3::splat(100.0), 20.0)]);
        assert!(differs && white.abs_diff_eq(Vec3::splat(100.0), 0.01), "{white}");
    }
}
