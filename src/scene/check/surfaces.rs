//! Checks of transforms, densities and names of surfaces.

use std::collections::HashMap;

use glam::{Affine3A, Vec3A};

use crate::scene::{Problem, Role, Scene, Surface, SurfaceKey, shorten};

/// Repairs all surfaces.
pub fn repair(scene: &mut Scene, problems: &mut Vec<Problem>) {
    for surface in &mut scene.surfaces {
        repair_transform(surface, problems);
        if !(surface.density_scale > 0.0 && surface.density_scale.is_finite()) {
            problems.push(Problem::UnusableDensity { surface: surface.key.clone() });
            surface.density_scale = 1.0;
        }
    }
    tell_apart(&mut scene.surfaces, problems);
}

fn repair_transform(surface: &mut Surface, problems: &mut Vec<Problem>) {
    if !surface.to_world.is_finite() {
        problems.push(Problem::NonFiniteTransform { surface: surface.key.to_string() });
        surface.to_world = Affine3A::IDENTITY;
        surface.role = Role::Excluded;
        return;
    }
    // A wall may be scaled to zero thickness, but a line or a point is invisible.
    let m = surface.to_world.matrix3;
    let planes = [m.x_axis.cross(m.y_axis), m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis)];
    if planes == [Vec3A::ZERO; 3] && surface.is_in_bake() {
        problems.push(Problem::FlattenedSurface { surface: surface.key.clone() });
        surface.role = Role::Excluded;
    }
}

/// Shortens keys, and numbers surfaces whose key is already taken.
fn tell_apart(surfaces: &mut [Surface], problems: &mut Vec<Problem>) {
    let keys: Vec<SurfaceKey> = surfaces.iter().map(|surface| surface.key.clone()).collect();
    let mut unique = UniqueKeys::default();
    for (surface, key) in surfaces.iter_mut().zip(shorten(&keys)) {
        surface.key = unique.claim(&key);
    }
    problems.extend(unique.problem());
}

/// Allocator of unique keys: numbers the repeated ones.
#[derive(Debug, Default)]
pub struct UniqueKeys {
    /// Number of the next duplicate, for each claimed key.
    next: HashMap<SurfaceKey, usize>,
    /// First key that was numbered, and its replacement.
    first: Option<(SurfaceKey, SurfaceKey)>,
    numbered: usize,
}

impl UniqueKeys {
    /// Returns the key itself the first time, and a numbered key afterwards.
    pub fn claim(&mut self, key: &SurfaceKey) -> SurfaceKey {
        let Some(mut number) = self.next.get(key).copied() else {
            self.next.insert(key.clone(), 2);
            return key.clone();
        };
        let mut unique = key.numbered(number);
        while self.next.contains_key(&unique) {
            number += 1;
            unique = key.numbered(number);
        }
        self.next.insert(key.clone(), number + 1);
        self.next.insert(unique.clone(), 2);
        self.numbered += 1;
        self.first.get_or_insert_with(|| (key.clone(), unique.clone()));
        unique
    }

    /// Returns one problem for all numbered keys.
    pub fn problem(self) -> Option<Problem> {
        let (key, used) = self.first?;
        Some(Problem::AmbiguousKey { key, used, more: self.numbered - 1 })
    }
}
