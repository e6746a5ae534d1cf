//! How much memory a bake will need, and how much it had.

use crate::scene::{Role, Scene, Sides};

use super::{BakeError, BakeSettings};

/// What one element costs on the way through a bake: its own properties, footprint, accumulators, solution, and the
/// fewest stored hits.
const BYTES_PER_ELEMENT: f64 = 400.0;
/// What a triangle costs: tree, world-space copy, unwrapped vertices.
const BYTES_PER_TRIANGLE: f64 = 600.0;
/// A texel of a page costs its floats twice, and charts fill about 70 % of a page.
const BYTES_PER_TEXEL: f64 = 24.0 / 0.7;

/// What a bake will need at least, estimated from areas before anything is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Elements.
    pub elements: f64,
    /// Area of all surfaces that own lightmap texels, square metres.
    pub area: f64,
    /// Bytes.
    pub bytes: f64,
}

impl MemoryEstimate {
    /// Estimates what baking a scene takes.
    pub fn new(scene: &Scene, settings: &BakeSettings) -> Self {
        let density = f64::from(settings.layout.texels_per_metre);
        let mut estimate = Self { elements: 0.0, area: 0.0, bytes: 0.0 };
        for id in scene.surface_ids() {
            let surface = scene.surface(id);
            if surface.role != Role::Static {
                continue;
            }
            let triangles = scene.mesh_of(id).triangles.len() as u32;
            let area: f64 = (0..triangles).map(|triangle| f64::from(scene.triangle(id, triangle).area())).sum();
            // Which sides will have elements, and texels of their own, is not known before the tree is built.
            let sides = if surface.sides == Sides::Both { 2.0 } else { 1.0 };
            estimate.area += area;
            estimate.elements += area * sides * (density * f64::from(surface.density_scale)).powi(2);
        }
        estimate.bytes = estimate.elements * (BYTES_PER_ELEMENT + BYTES_PER_TEXEL)
            + scene.triangle_count() as f64 * BYTES_PER_TRIANGLE;
        estimate
    }

    /// Refuses a bake that needs more than it may use.
    pub fn check(&self, settings: &BakeSettings) -> Result<(), BakeError> {
        let needed_mib = self.bytes / MIB;
        let allowed_mib = f64::from(settings.solver.memory_mib);
        if needed_mib <= allowed_mib {
            return Ok(());
        }
        let density = f64::from(settings.layout.texels_per_metre);
        Err(BakeError::TooMuchMemory {
            elements: self.elements,
            area: self.area,
            density,
            needed_mib: needed_mib.ceil(),
            allowed_mib,
            fitting_density: density * (0.95 * allowed_mib / needed_mib).sqrt(),
        })
    }
}

const MIB: f64 = 1024.0 * 1024.0;

/// The most memory that this process ever held, bytes; zero where the system does not tell.
pub fn peak_memory_bytes() -> u64 {
    std::fs::read_to_string("/proc/self/status").ok().and_then(|status| peak_in_status(&status)).unwrap_or(0)
}

/// Reads the high-water mark out of Linux' `/proc/self/status`.
fn peak_in_status(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use glam::{Affine3A, Vec3};

    use super::*;
    use crate::scene::{Material, MaterialId, MeshData, MeshId, Surface, SurfaceKey};

    /// A square in the ground plane with edges of `edge` metres.
    fn square(edge: f32) -> Scene {
        let mesh = MeshData {
            positions: vec![Vec3::ZERO, Vec3::Z, Vec3::X, Vec3::new(1.0, 0.0, 1.0)],
            triangles: vec![[0, 1, 2], [2, 1, 3]],
            ..MeshData::default()
        };
        let mut surface = Surface::new(SurfaceKey("square".into()), MeshId(0), MaterialId(0));
        surface.to_world = Affine3A::from_scale(Vec3::splat(edge));
        Scene {
            meshes: vec![Arc::new(mesh)],
            surfaces: vec![surface],
            materials: vec![Material::default()],
            ..Scene::default()
        }
    }

    fn at_density(texels_per_metre: f32) -> BakeSettings {
        let mut settings = BakeSettings::default();
        settings.layout.texels_per_metre = texels_per_metre;
        settings
    }

    #[test]
    fn a_square_metre_has_the_square_of_the_density_in_elements() {
        let estimate = MemoryEstimate::new(&square(3.0), &at_density(10.0));
        assert!((estimate.area - 9.0).abs() < 1e-6);
        assert!((estimate.elements - 900.0).abs() < 1e-3);
    }

    #[test]
    fn a_surface_with_two_sides_is_counted_as_two() {
        let mut scene = square(3.0);
        let one = MemoryEstimate::new(&scene, &at_density(10.0));
        scene.surfaces[0].sides = Sides::Both;
        let both = MemoryEstimate::new(&scene, &at_density(10.0));
        // 900 texels with an element each; two triangles, which 1.2 kB are for.
        assert!((both.elements - 1800.0).abs() < 1e-3);
        assert!((both.bytes - 1200.0 - 2.0 * (one.bytes - 1200.0)).abs() < 1e-3);
        assert_eq!(both.area, one.area);
    }

    #[test]
    fn a_ten_kilometre_scene_at_a_hundred_texels_a_metre_is_refused_with_the_numbers() {
        let settings = at_density(100.0);
        let refusal = MemoryEstimate::new(&square(10_000.0), &settings).check(&settings).unwrap_err().to_string();
        assert!(refusal.contains("1000000000000 elements") && refusal.contains("4096 MiB"), "{refusal}");
        assert!(refusal.contains("--density"), "{refusal}");
    }

    #[test]
    fn the_density_that_the_refusal_names_is_accepted() {
        let scene = square(10_000.0);
        let settings = at_density(100.0);
        let Err(BakeError::TooMuchMemory { fitting_density, .. }) =
            MemoryEstimate::new(&scene, &settings).check(&settings)
        else {
            panic!("refused for memory")
        };
        let settings = at_density(fitting_density as f32);
        assert!(MemoryEstimate::new(&scene, &settings).check(&settings).is_ok());
    }

    #[test]
    fn the_peak_is_read_in_bytes() {
        assert_eq!(peak_in_status("Name:\tbake\nVmHWM:\t    2048 kB\nThreads:\t1\n"), Some(2 * 1024 * 1024));
        assert_eq!(peak_in_status("nothing here"), None);
    }
}
