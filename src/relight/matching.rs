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
                Some(index) => is_new |= tracked[index].set(now, *is_excluded),
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
            let light = self.panel_light(tracked, panel.surface, name);
            let baked = light.baked_emitter().copied().filter(|baked| baked.is_nearly(&now));
            is_new |= light.set(baked.unwrap_or(now), false);
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
/// A light with nearly the same parameters matches, by name if there are several. Otherwise a light of the same kind
/// and name matches, if it is the only one.
fn adopt(lights: &mut [TrackedLight], id: u64, name: &str, now: &Emitter) -> Option<usize> {
    let free = || {
        let free = lights.iter().enumerate().filter(|(_, light)| light.entity.is_none());
        free.filter_map(|(index, light)| Some((index, plain(&light.name) == plain(name), light.baked_emitter()?)))
    };
    let same = || free().filter(|(.., baked)| baked.is_nearly(now));
    let named = || free().filter(|(_, has_name, baked)| *has_name && baked.is_alike(now));
    let found = same().find(|(_, has_name, _)| *has_name).or_else(|| same().next());
    let (index, ..) = found.or_else(|| named().next().filter(|_| named().count() == 1))?;
    lights[index].adopt(id, now);
    Some(index)
}
