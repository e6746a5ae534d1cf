//! How much memory a bake will need, and how much it had.

use crate::geometry::SurfaceId;
use crate::radiosity::{Accumulators, MOST_PATCHES, Method, SolverSettings};
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
/// solver that works in subscenes needs only those of one of them at a time.
const BYTES_PER_LIGHT: f64 = 60.0;
const BYTES_PER_OUTLOOK: f64 = 240.0;
/// What it keeps where there is room: form factors between each patch and the elements that see it, about two in five, and
/// outlooks of subscenes that are not at work. All of that together may have a quarter of the memory.
const BYTES_PER_LINK: f64 = 16.0;
const BYTES_PER_FORM_FACTOR: f64 = 4.0;
const SEEN: f64 = 0.4;
const KEPT_SHARE: f64 = 0.25;
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
    /// Bytes without which it is not begun.
    pub least_bytes: f64,
    /// Those of the elements that triangles have beyond their area.
    edge_elements: f64,
    /// Bytes that the density does not change.
    fixed_bytes: f64,
    /// What of the least bytes is kept only for the sake of speed.
    kept: Kept,
}

/// What a solver keeps as far as its share of the memory goes, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Kept {
    /// Were there memory for all of it.
    wanted: f64,
    /// As the memory is.
    had: f64,
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
        let refined = Refined::new(&settings.solver, elements, subscenes_of(&settings.solver));
        let bytes = |rays: f64| {
            let sums = Accumulators::bytes_per_element(stored_rays(rays, &settings.solver, elements));
            fixed_bytes + elements * (BYTES_PER_ELEMENT + sums) + refined.bytes()
        };
        let (kept, [bytes, least_bytes]) = (refined.kept, [usual, FEWEST_RAYS].map(bytes));
        Self { elements, area, bytes, least_bytes, edge_elements, fixed_bytes, kept }
    }

    /// Refuses a bake that needs more than it may use.
    pub fn check(&self, settings: &BakeSettings) -> Result<(), BakeError> {
        let allowed_mib = f64::from(settings.solver.memory_mib);
        if self.least_bytes <= allowed_mib * MIB {
            return Ok(());
        }
        let needed_mib = (self.needed_bytes() / MIB).ceil();
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

    /// How much memory would do: with more of it, more is kept.
    fn needed_bytes(&self) -> f64 {
        let without = self.least_bytes - self.kept.had;
        (without / (1.0 - KEPT_SHARE)).min(without + self.kept.wanted)
    }

    /// In how many subscenes a bake would do with its memory that does not at once, or in more of them.
    fn fitting_subscenes(&self, settings: &BakeSettings) -> Option<u32> {
        let SolverSettings { method: Method::Progressive, memory_mib, .. } = settings.solver else {
            return None;
        };
        let asked = subscenes_of(&settings.solver);
        let refined = |subscenes| Refined::new(&settings.solver, self.elements, subscenes).bytes();
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
        let [none, one] = [0.0, 1.0].map(|elements| Refined::new(settings, elements, subscenes_of(settings)).least);
        let kept = if settings.method == Method::Progressive { KEPT_SHARE * allowed } else { 0.0 };
        let bytes_of_element = BYTES_PER_ELEMENT + Accumulators::bytes_per_element(FEWEST_RAYS) + one - none;
        let elements = (0.95 * allowed - self.fixed_bytes - none - kept).max(0.0) / bytes_of_element;
        // Elements on areas grow with the square of the scale, those at edges with the scale.
        let (areas, edges) = (self.elements - self.edge_elements, self.edge_elements);
        2.0 * elements / (edges + (edges * edges + 4.0 * areas * elements).sqrt())
    }
}

/// How many subscenes a scene is worked on in; `None` where it is worked on at once.
fn subscenes_of(settings: &SolverSettings) -> Option<u32> {
    settings.subscenes.map(|subscenes| subscenes.partition.count)
}

/// What progressive refinement takes, bytes.
struct Refined {
    /// What it cannot do without.
    least: f64,
    kept: Kept,
}

impl Refined {
    fn new(settings: &SolverSettings, elements: f64, subscenes: Option<u32>) -> Self {
        if settings.method != Method::Progressive {
            return Self { least: 0.0, kept: Kept::default() };
        }
        let patches = elements.min(MOST_PATCHES as f64);
        let form_factors = SEEN * patches * (BYTES_PER_LINK * patches + BYTES_PER_FORM_FACTOR * elements);
        let (lights, outlooks) = (elements * BYTES_PER_LIGHT, elements * BYTES_PER_OUTLOOK);
        let (least, wanted) = match subscenes.map(|count| f64::from(count.max(1))) {
            None => (lights + outlooks, form_factors),
            Some(count) => {
                let own = elements * BYTES_PER_OWN_NUMBER + count * BYTES_PER_SUBSCENE;
                let at_work = outlooks / count;
                (lights + own + at_work, form_factors + outlooks - at_work)
            }
        };
        let had = wanted.min(KEPT_SHARE * f64::from(settings.memory_mib) * MIB);
        Self { least, kept: Kept { wanted, had } }
    }

    fn bytes(&self) -> f64 {
        self.least + self.kept.had
    }
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
            estimate.check(&settings).map_err(|refusal| refusal.to_string())
        };
        let smallest = |subscenes| (1..4096).find(|&memory| with_memory(memory, subscenes).is_ok()).unwrap();
        let (whole, cut) = (smallest(None), smallest(Some(16)));
        // A million places to look from are 229 MiB, of which one in sixteen is at work; numbers and trees take 43 MiB. A
        // quarter of the memory is for what is kept.
        let saved = (240.0 * 1.0e6 * (1.0 - 1.0 / 16.0) / MIB - 43.0) / 0.75;
        assert!((f64::from(whole - cut) / saved - 1.0).abs() < 0.03, "{whole} and {cut} MiB, {saved}");
        let refusal = with_memory(whole - 1, None).unwrap_err();
        assert!(refusal.contains(&format!("{whole} MiB")), "{refusal}");
        let refusal = with_memory(cut, None).unwrap_err();
        assert!(refusal.contains("--subscenes 16") && !refusal.contains('\n'), "{refusal}");
        assert!(with_memory(cut, Some(16)).is_ok());
        let refusal = with_memory(cut - 40, None).unwrap_err();
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
            let settings =
                SolverSettings { method: Method::Progressive, memory_mib: 16_384, ..SolverSettings::default() };
            Refined::new(&settings, 305_040.0, subscenes).bytes()
        };
        // As measured: 27 MB more in 16 subscenes.
        assert!(((bytes(Some(16)) - bytes(None)) / 27e6 - 1.0).abs() < 0.02);
    }

    #[test]
    fn what_form_factors_take_that_are_kept_is_expected_up_to_a_quarter_of_the_memory() {
        let bytes = |method, memory_mib| {
            let mut settings = at_density(10.0);
            settings.solver = SolverSettings { method, memory_mib, ..settings.solver };
            MemoryEstimate::new(&square(10.0), &settings, |_| false).bytes
        };
        let more = |memory_mib| bytes(Method::Progressive, memory_mib) - bytes(Method::Path, memory_mib);
        // Some ten thousand elements, 300 bytes each; two in five of their form factors to 2,048 patches, and links of those.
        let elements = 10_000.0 + EDGE_ELEMENTS * 2.0 * 5_000.0f64.sqrt();
        let all = 0.4 * 2048.0 * (16.0 * 2048.0 + 4.0 * elements);
        assert!(((more(4096) - 300.0 * elements) / all - 1.0).abs() < 1e-6);
        assert!(((more(64) - 300.0 * elements) / (16.0 * MIB) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_density_that_the_refusal_names_is_accepted() {
        let scene = square(10_000.0);
        for method in [Method::Gather, Method::Progressive] {
            let at_density = |texels_per_metre| {
                let mut settings = at_density(texels_per_metre);
                settings.solver.method = method;
                settings
            };
            let settings = at_density(100.0);
            let Err(BakeError::TooMuchMemory { fitting_density, .. }) =
                MemoryEstimate::new(&scene, &settings, |_| false).check(&settings)
            else {
                panic!("refused for memory")
            };
            let settings = at_density(fitting_density as f32);
            assert!(MemoryEstimate::new(&scene, &settings, |_| false).check(&settings).is_ok());
        }
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
