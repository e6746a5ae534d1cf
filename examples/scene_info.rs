//! Example: prints a file as the baker reads it: surfaces and roles, materials, lights, cameras and warnings.
//!
//! ```text
//! cargo run --release --no-default-features --example scene_info [FILE]
//! ```

use std::collections::BTreeMap;
use std::error::Error;

use bevy_radiosity::scene::{LightKind, Scene};
use bevy_radiosity::scene_files::load;

fn main() -> Result<(), Box<dyn Error>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/level.glb").to_owned();
    let file = std::env::args().nth(1).unwrap_or(default);
    let loaded = load(&file)?;
    let scene = &loaded.scene;
    let size = scene.bounds().max - scene.bounds().min;
    println!("{file}");
    println!("  {:.1} x {:.1} x {:.1} m", size.x, size.y, size.z);
    println!(
        "  {} surfaces show {} meshes: {} triangles",
        scene.surfaces.len(),
        scene.meshes.len(),
        scene.triangle_count()
    );
    for (role, (count, area)) in roles(scene) {
        println!("    {count} {role}, {area:.1} m2");
    }
    println!("  {} materials, {} textures", scene.materials.len(), scene.textures.len());
    for id in scene.surface_ids().filter(|&id| scene.material_of(id).is_emissive()) {
        println!("    {} emits {:.0} cd/m2", scene.surface(id).key, scene.material_of(id).emission);
    }
    for light in &scene.lights {
        println!("  light '{}': {}", light.name, describe(&light.kind));
    }
    for camera in &loaded.cameras {
        println!("  camera '{}' at {:.2}", camera.name, camera.position);
    }
    for warning in &loaded.warnings {
        println!("  warning: {warning}");
    }
    Ok(())
}

/// Returns the number and area of the surfaces of each role.
fn roles(scene: &Scene) -> BTreeMap<String, (usize, f32)> {
    let mut roles = BTreeMap::new();
    for id in scene.surface_ids() {
        let (count, area) = roles.entry(format!("{:?}", scene.surface(id).role).to_lowercase()).or_insert((0, 0.0));
        *count += 1;
        *area += (0..scene.mesh_of(id).triangles.len() as u32)
            .map(|triangle| scene.triangle(id, triangle).area())
            .sum::<f32>();
    }
    roles
}

fn describe(kind: &LightKind) -> String {
    match kind {
        LightKind::Point { intensity, radius, .. } => {
            format!("a point of {:.0} cd, radius {radius} m", intensity.max_element())
        }
        LightKind::Spot { intensity, outer_angle, .. } => {
            format!("a spot of {:.0} cd within {:.0} degrees", intensity.max_element(), outer_angle.to_degrees())
        }
        LightKind::Directional { illuminance, angular_diameter, .. } => format!(
            "a sun of {:.0} lux whose disc spans {:.2} degrees",
            illuminance.max_element(),
            angular_diameter.to_degrees()
        ),
        LightKind::Rectangle { radiance, .. } => format!("a rectangle of {:.0} cd/m2", radiance.max_element()),
    }
}
