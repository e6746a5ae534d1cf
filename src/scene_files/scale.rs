//! Conversion of files in other units than meters.

use glam::{Affine3A, Vec3};

use super::Parsed;
use crate::scene::{LightKind, Projection};

/// Multiplies all lengths of a scene.
///
/// Intensities (cd), illuminances (lux), radiances (cd/m2), and texels per meter do not change.
pub fn apply(parsed: &mut Parsed, factor: f32) {
    let scaling = Affine3A::from_scale(Vec3::splat(factor));
    for surface in &mut parsed.scene.surfaces {
        surface.to_world = scaling * surface.to_world;
    }
    for light in &mut parsed.scene.lights {
        match &mut light.kind {
            LightKind::Point { position, radius, range, .. } | LightKind::Spot { position, radius, range, .. } => {
                *position *= factor;
                *radius *= factor;
                *range *= factor;
            }
            LightKind::Rectangle { center, half_width, half_height, .. } => {
                [center, half_width, half_height].into_iter().for_each(|length| *length *= factor);
            }
            LightKind::Directional { .. } => {}
        }
    }
    for glass in parsed.scene.materials.iter_mut().filter_map(|material| material.glass.as_mut()) {
        glass.absorption /= factor;
    }
    for camera in &mut parsed.cameras {
        camera.position *= factor;
        if let Projection::Orthographic { height } = &mut camera.projection {
            *height *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::scene::Problem;
    use crate::scene_files::{SceneOptions, load, load_with};

    #[test]
    fn a_room_in_millimeters_is_told_with_its_factor_and_is_four_meters_wide_by_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("room.obj");
        let corners = "v 0 0 0\nv 4000 0 0\nv 4000 3000 0\nv 0 3000 0\nv 0 0 4000\nv 4000 0 4000\nv 4000 3000 4000\n";
        std::fs::write(&file, format!("{corners}f 1 2 3 4\nf 2 6 7 3\nf 1 5 6 2\n")).unwrap();
        let name = file.display().to_string();
        let absurd = |problem: &&Problem| matches!(problem, Problem::AbsurdSize { .. });
        let warnings = load(&name).unwrap().warnings;
        let sentence = warnings.iter().find(absurd).unwrap().to_string();
        assert!(sentence.contains("--scale 0.001") && sentence.contains("6.4 m"), "{sentence}");
        let options = SceneOptions { scale: Some(0.001), ..SceneOptions::default() };
        let loaded = load_with(&name, &options).unwrap();
        assert!(!loaded.warnings.iter().any(|problem| absurd(&problem)));
        let size = loaded.scene.bounds().max - loaded.scene.bounds().min;
        assert!((size - glam::Vec3::new(4.0, 3.0, 4.0)).length() < 1e-3, "{size}");
    }
}
