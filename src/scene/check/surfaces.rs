//! Where surfaces stand and what they are called.

use std::collections::HashSet;

use glam::{Affine3A, Vec3A};

use crate::scene::{Problem, Role, Scene, Surface, SurfaceKey};

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
    // Flat is fine, a wall may be scaled to no thickness; a line or a point cannot be seen.
    let m = surface.to_world.matrix3;
    let planes = [m.x_axis.cross(m.y_axis), m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis)];
    if planes == [Vec3A::ZERO; 3] && surface.is_in_bake() {
        problems.push(Problem::FlattenedSurface { surface: surface.key.clone() });
        surface.role = Role::Excluded;
    }
}

/// Gives a number to each surface whose key an earlier one already has.
fn tell_apart(surfaces: &mut [Surface], problems: &mut Vec<Problem>) {
    let mut known: HashSet<SurfaceKey> = HashSet::with_capacity(surfaces.len());
    for surface in surfaces {
        let key = surface.key.clone();
        let mut number = 2;
        while !known.insert(surface.key.clone()) {
            surface.key = SurfaceKey(format!("{key}~{number}"));
            number += 1;
        }
        if surface.key != key {
            problems.push(Problem::AmbiguousKey { key, used: surface.key.clone() });
        }
    }
}
