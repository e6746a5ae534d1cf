//! How much memory a bake will need, and how much it had.

use crate::geometry::SurfaceId;
use crate::radiosity::{Accumulators, Method, SolverSettings};
use crate::scene::{Role, Scene, Texels};

use super::{BakeError, BakeSettings};

/// What one element costs besides the solver's sums: its own properties, footprint and solution, what solving works with
/// on the way, and its texel.
const BYTES_PER_ELEMENT: f64 = 400.0;
/// What a triangle costs: tree, world-space copy, unwrapped vertices.
const BYTES_PER_TRIANGLE: f64 = 550.0;
/// Elements that a triangle has beyond its area, in lengths of the edge of a square as large: charts end within texels, and
/// other geometry cuts texels into several elements.
const EDGE_ELEMENTS: f64 = 1.3;
/// Rays of either half of an element whose hits are stored where an error of `USUAL_ERROR` is asked for. The square of the
/// error shrinks with their number. Scenes differ: it may be half or twice as many.
const USUAL_RAYS: f64 = 20.0;
const USUAL_ERROR: f64 = 0.05;
/// What a pair of patches costs while bounces between them are summed up for three channels, and what the form factor from an
/// element to a patch costs.
const BYTES_PER_EXCHANGE: f64 = 44.0;
const BYTES_PER_VIEW: f64 = 2.0;
/// What progressive refinement keeps of an element besides: its light and number, and where it looks from. Of the latter a
/// solver that works in subscenes needs only those of one of them at a time, and keeps others as long as they fit into a
/// part of the memory.
const BYTES_PER_LIGHT: f64 = 60.0;
const BYTES_PER_OUTLOOK: f64 = 240.0;
const OUTLOOKS_SHARE: f64 = 1.0 / 8.0;
/// What subscenes cost: of each element its number in its own, and each of them its geometry, cut off, and its trees.
const BYTES_PER_OWN_NUMBER: f64 = 26.0;
const BYTES_PER_SUBSCENE: f64 = 1.2e6;
/// Numbers of subscenes that a refusal proposes.
const PROPOSED_SUBSCENES: [u32; 3] = [4, 16, 64];
/// The solver does without stored hits where there is no room for so many.
const FEWEST_RAYS: f64 = 16.0;

/// What a bake will need, estimated from areas before anything but the tree is built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryEstimate {
    /// Elements.
    pub elements: f64,
    /// Area of all surfaces that own lightmap texels, square metres.
    pub area: f64,
    /// Bytes.
    pub bytes: f64,
    /// Bytes without which it cannot be done at all.
    pub least_bytes: f64,
    /// Those of the elements that triangles have beyond their area.
    edge_elements: f64,
    /// Bytes that the density does not change.
    fixed_bytes: f64,
}

impl MemoryEstimate {
    /// Estimates what baking a scene takes. `two_sided` says which surfaces have texels for each side.
    pub fn new(scene: &Scene, settings: &BakeSettings, two_sided: impl Fn(SurfaceId) -> bool) -> Self {
        let (mut area, mut elements, mut edge_elements) = (0.0, 0.0, 0.0);
        for id in scene.surface_ids().filter(|&id| scene.surface(id).role == Role::Static) {
            let density = f64::from(settings.layout.texels_per_metre * scene.surface(id).density_scale);
            let sides = if two_sided(id) { 2.0 } else { 1.0 };
            for triangle in 0..scene.mesh_of(id).triangles.len() as u32 {
                let of_triangle = f64::from(scene.triangle(id, triangle).area());
                let beyond = EDGE_ELEMENTS * of_triangle.sqrt() * density;
                area += of_triangle;
                elements += sides * (of_triangle * density * density + beyond);
                edge_elements += sides * beyond;
            }
        }
        let fixed_bytes = scene.triangle_count() as f64 * BYTES_PER_TRIANGLE + bytes_of_textures(scene);
        let usual = USUAL_RAYS * (USUAL_ERROR / f64::from(settings.solver.error)).max(1.0).powi(2);
        let bytes = |rays: f64| {
            let sums = Accumulators::bytes_per_element(stored_rays(rays, &settings.solver, elements));
            let refined = bytes_of_refinement(&settings.solver, elements, subscenes_of(&settings.solver));
            fixed_bytes + elements * (BYTES_PER_ELEMENT + sums) + refined
        };
        Self { elements, area, bytes: bytes(usual), least_bytes: bytes(FEWEST_RAYS), edge_elements, fixed_bytes }
    }

    /// Refuses a bake that needs more than it may use.
    pub fn check(&self, settings: &BakeSettings) -> Result<(), BakeError> {
        let allowed_mib = f64::from(settings.solver.memory_mib);
        if self.least_bytes <= allowed_mib * MIB {
            return Ok(());
        }
        let needed_mib = (self.least_bytes / MIB).ceil();
        match (subscenes_of(&settings.solver), self.fitting_subscenes(settings)) {
            (None, Some(subscenes)) => {
                return Err(BakeError::WholeTooLarge { elements: self.elements, needed_mib, allowed_mib, subscenes });
            }
            (Some(asked), Some(fitting)) => {
                return Err(BakeError::TooManySubscenes { asked, needed_mib, allowed_mib, fitting });
            }
            (_, None) => {}
        }
        let density = f64::from(settings.layout.texels_per_metre);
        Err(BakeError::TooMuchMemory {
            elements: self.elements,
            area: self.area,
            density,
            needed_mib,
            allowed_mib,
            fitting_density: density * self.fitting_scale(&settings.solver),
        })
    }

    /// In how many subscenes a bake would do with its memory that does not at once, or in more of them.
    fn fitting_subscenes(&self, settings: &BakeSettings) -> Option<u32> {
        let SolverSettings { method: Method::Progressive, memory_mib, .. } = settings.solver else {
            return None;
        };
        let asked = subscenes_of(&settings.solver);
        let refined = |subscenes| bytes_of_refinement(&settings.solver, self.elements, subscenes);
        let saved = |subscenes: u32| refined(asked) - refined(Some(subscenes));
        let fits = |subscenes: &u32| self.least_bytes - saved(*subscenes) <= f64::from(memory_mib) * MIB;
        match asked {
            None => PROPOSED_SUBSCENES.into_iter().find(fits),
            Some(asked) => PROPOSED_SUBSCENES.into_iter().rev().filter(|count| *count < asked).find(fits),
        }
    }

    /// What to multiply the density with so that nineteen twentieths of what is allowed are enough; zero where nothing is.
    fn fitting_scale(&self, settings: &SolverSettings) -> f64 {
        let allowed = f64::from(settings.memory_mib) * MIB;
        let Refined { fixed, each } = Refined::new(settings, subscenes_of(settings));
        let bytes_of_element = BYTES_PER_ELEMENT + Accumulators::bytes_per_element(FEWEST_RAYS) + each;
        let elements = (0.95 * allowed - self.fixed_bytes - fixed).max(0.0) / bytes_of_element;
        // Elements on areas grow with the square of the scale, those at edges with the scale.
        let (areas, edges) = (self.elements - self.edge_elements, self.edge_elements);
        2.0 * elements / (edges + (edges * edges + 4.0 * areas * elements).sqrt())
    }
}

/// How many subscenes a scene is worked on in; `None` where it is worked on at once.
fn subscenes_of(settings: &SolverSettings) -> Option<u32> {
    settings.subscenes.map(|subscenes| subscenes.partition.count)
}

/// What progressive refinement takes at most: so many bytes, and so many of each element.
struct Refined {
    fixed: f64,
    each: f64,
}

impl Refined {
    fn new(settings: &SolverSettings, subscenes: Option<u32>) -> Self {
        match (settings.method, subscenes.map(|count| f64::from(count.max(1)))) {
            (Method::Progressive, None) => Self { fixed: 0.0, each: BYTES_PER_LIGHT + BYTES_PER_OUTLOOK },
            (Method::Progressive, Some(count)) => Self {
                fixed: count * BYTES_PER_SUBSCENE + OUTLOOKS_SHARE * f64::from(settings.memory_mib) * MIB,
                each: BYTES_PER_LIGHT + BYTES_PER_OWN_NUMBER + BYTES_PER_OUTLOOK / count,
            },
            _ => Self { fixed: 0.0, each: 0.0 },
        }
    }
}

/// What elements cost while light is shot.
fn bytes_of_refinement(settings: &SolverSettings, elements: f64, subscenes: Option<u32>) -> f64 {
    let Refined { fixed, each } = Refined::new(settings, subscenes);
    let all_kept = subscenes.map_or(f64::INFINITY, |count| {
        let of_elements = BYTES_PER_LIGHT + BYTES_PER_OWN_NUMBER + BYTES_PER_OUTLOOK;
        f64::from(count) * BYTES_PER_SUBSCENE + elements * of_elements
    });
    (fixed + elements * each).min(all_kept)
}

/// How many rays of each half of an element have their hits stored, where there should be so many: as many as fit into
/// half of the memory.
fn stored_rays(wanted: f64, settings: &SolverSettings, elements: f64) -> f64 {
    let bytes_of_hit = Accumulators::bytes_per_element(1.0) - Accumulators::bytes_per_element(0.0);
    let storable = 0.5 * f64::from(settings.memory_mib) * MIB / (elements * bytes_of_hit);
    if settings.method == Method::Gather && storable >= FEWEST_RAYS { wanted.min(storable) } else { 0.0 }
}

fn bytes_of_textures(scene: &Scene) -> f64 {
    let bytes = |texels: &Texels| match texels {
        Texels::Srgb8(texels) | Texels::Linear8(texels) => size_of_val(texels.as_slice()),
        Texels::Float(texels) => size_of_val(texels.as_slice()),
    };
    scene.textures.iter().map(|texture| bytes(&texture.texels) as f64).sum()
}

const MIB: f64 = 1024.0 * 1024.0;

/// The most patches that relighting so many elements can be precomputed for within half of the memory.
pub(super) fn most_patches(elements: usize, memory_mib: u32) -> usize {
    let (elements, allowed) = (elements as f64, 0.5 * f64::from(memory_mib) * MIB);
    // What pairs of patches and pairs of an element and a patch take together is a quadratic in the number of patches.
    let half = 0.5 * BYTES_PER_VIEW * elements;
    (((half * half + BYTES_PER_EXCHANGE * allowed).sqrt() - half) / BYTES_PER_EXCHANGE) as usize
}

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
    use crate::partition::{PartitionKind, PartitionSettings};
    use crate::radiosity::SubsceneSettings;
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
    fn a_square_metre_has_the_square_of_the_density_in_elements_and_some_at_edges() {
        let estimate = MemoryEstimate::new(&square(3.0), &at_density(10.0), |_| false);
        assert!((estimate.area - 9.0).abs() < 1e-6);
        // Two triangles, each as large as a square of 21.2 texels.
        let edges = EDGE_ELEMENTS * 2.0 * 450.0f64.sqrt();
        assert!((estimate.elements - 900.0 - edges).abs() < 1e-3);
    }

    #[test]
    fn a_surface_with_two_sides_is_counted_as_two() {
        let [one, both] =
            [false, true].map(|two_sided| MemoryEstimate::new(&square(3.0), &at_density(10.0), |_| two_sided));
        let triangles = 2.0 * BYTES_PER_TRIANGLE;
        assert!((both.elements - 2.0 * one.elements).abs() < 1e-3);
        assert!((both.bytes - triangles - 2.0 * (one.bytes - triangles)).abs() < 1e-3);
        assert_eq!(both.area, one.area);
    }

    #[test]
    fn a_smaller_error_takes_more_memory_until_hits_fill_half_of_what_is_allowed() {
        let bytes = |error: f32, memory_mib: u32| {
            let mut settings = at_density(100.0);
            settings.solver = SolverSettings { error, memory_mib, ..settings.solver };
            MemoryEstimate::new(&square(10.0), &settings, |_| false).bytes
        };
        assert!(bytes(0.01, 4096) > 1.5 * bytes(0.05, 4096));
        let growth = bytes(1e-4, 4096) - bytes(1e-4, 2048);
        assert!((growth / (1024.0 * MIB) - 1.0).abs() < 1e-6, "{growth}");
    }

    #[test]
    fn a_ten_kilometre_scene_at_a_hundred_texels_a_metre_is_refused_with_the_numbers() {
        let settings = at_density(100.0);
        let refusal =
            MemoryEstimate::new(&square(10_000.0), &settings, |_| false).check(&settings).unwrap_err().to_string();
        assert!(refusal.contains("elements") && refusal.contains("4096 MiB"), "{refusal}");
        assert!(refusal.contains("--density"), "{refusal}");
    }

    #[test]
    fn what_is_too_large_to_be_refined_at_once_is_proposed_in_subscenes_as_far_as_these_save() {
        let with_memory = |memory_mib: u32, subscenes: Option<u32>| {
            let mut settings = at_density(100.0);
            let cut = |count| SubsceneSettings {
                partition: PartitionSettings { kind: PartitionKind::Uniform, count, ..PartitionSettings::default() },
                ..SubsceneSettings::default()
            };
            settings.solver = SolverSettings {
                method: Method::Progressive,
                memory_mib,
                subscenes: subscenes.map(cut),
                ..settings.solver
            };
            let estimate = MemoryEstimate::new(&square(10.0), &settings, |_| false);
            (estimate.bytes, estimate.check(&settings).map_err(|refusal| refusal.to_string()))
        };
        let whole = (with_memory(4096, None).0 / MIB) as u32;
        assert!(with_memory(whole + 1, None).1.is_ok());
        // A million places to look from are 229 MiB, of which an eighth of the memory is kept, and one in sixteen is at
        // work; numbers and trees take 46 MiB.
        let saved = 240.0 * 1.0e6 * (1.0 - 1.0 / 16.0) / MIB - f64::from(whole) / 8.0 - 46.0;
        assert!((40.0..100.0).contains(&saved), "{saved} of {whole} MiB");
        let fits = whole - (0.8 * saved) as u32;
        let refusal = with_memory(fits, None).1.unwrap_err();
        assert!(refusal.contains("--subscenes 16") && !refusal.contains('\n'), "{refusal}");
        assert!(with_memory(fits, Some(16)).1.is_ok());
        let refusal = with_memory(whole - (1.5 * saved) as u32, None).1.unwrap_err();
        assert!(!refusal.contains("--subscenes") && refusal.contains("--density"), "{refusal}");
    }

    #[test]
    fn more_subscenes_than_there_is_memory_for_are_refused_with_a_number_that_fits() {
        let check = |count| {
            let mut settings = at_density(1.0);
            let partition = PartitionSettings { kind: PartitionKind::Uniform, count, ..PartitionSettings::default() };
            settings.solver = SolverSettings {
                method: Method::Progressive,
                subscenes: Some(SubsceneSettings { partition, ..SubsceneSettings::default() }),
                ..settings.solver
            };
            MemoryEstimate::new(&square(10.0), &settings, |_| false).check(&settings)
        };
        let refusal = check(4_000).unwrap_err().to_string();
        assert!(refusal.starts_with("4000 subscenes") && refusal.contains("--subscenes 64"), "{refusal}");
        assert!(check(64).is_ok());
    }

    #[test]
    fn subscenes_take_more_than_the_whole_where_there_is_memory_for_all() {
        let bytes = |subscenes| {
            let settings = SolverSettings { method: Method::Progressive, ..SolverSettings::default() };
            bytes_of_refinement(&settings, 305_040.0, subscenes)
        };
        // As measured: 27 MB more in 16 subscenes.
        assert!(((bytes(Some(16)) - bytes(None)) / 27e6 - 1.0).abs() < 0.02);
    }

    #[test]
    fn the_density_that_the_refusal_names_is_accepted() {
        let scene = square(10_000.0);
        let settings = at_density(100.0);
        let Err(BakeError::TooMuchMemory { fitting_density, .. }) =
            MemoryEstimate::new(&scene, &settings, |_| false).check(&settings)
        else {
            panic!("refused for memory")
        };
        let settings = at_density(fitting_density as f32);
        assert!(MemoryEstimate::new(&scene, &settings, |_| false).check(&settings).is_ok());
    }

    #[test]
    fn as_many_patches_are_allowed_as_half_of_the_memory_holds() {
        for (elements, memory_mib) in [(1_000, 64), (200_000, 4096), (5_000_000, 1024)] {
            let patches = most_patches(elements, memory_mib) as f64;
            let bytes = patches * (patches * BYTES_PER_EXCHANGE + elements as f64 * BYTES_PER_VIEW);
            assert!((bytes / (0.5 * f64::from(memory_mib) * MIB) - 1.0).abs() < 0.02, "{patches}");
        }
    }

    #[test]
    fn the_peak_is_read_in_bytes() {
        assert_eq!(peak_in_status("Name:\tbake\nVmHWM:\t    2048 kB\nThreads:\t1\n"), Some(2 * 1024 * 1024));
        assert_eq!(peak_in_status("nothing here"), None);
    }
}
