//! Where each surface's texels lie.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use glam::{DMat3, DVec3, Vec2, Vec2Swizzles};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::pack::pack_pages;
use super::unwrap::{Outcome, Request, Uv1Problem, unwrap};
use crate::geometry::SurfaceId;
use crate::progress::{Cancelled, Monitor};
use crate::scene::{Material, MeshData, Role, Scene, Surface, UvChannel};

/// More texels than this are refused: 64 pages of 2048 x 2048, about 10 GiB of elements.
const MAX_TEXELS: f64 = (1u64 << 28) as f64;

/// Largest edge of a page that devices can be expected to take.
const MAX_PAGE_SIZE: u32 = 16_384;

/// Instances of a mesh share one unwrap when their scales differ by less than this factor.
const SIMILAR_SCALE: f64 = 1.06;

/// How finely surfaces are covered with texels, and on what pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayoutSettings {
    /// Texels per metre of surface. More shows finer shadows at a quadratic cost in time, memory and file size.
    pub texels_per_metre: f32,
    /// Edge of a page in texels. Larger pages mean fewer textures; 2048 works on every device.
    pub page_size: u32,
    /// Empty texels between any two charts, at least 2, so that filtering never reads a neighbour. Bicubic filtering
    /// asks for 4; more costs space on the pages.
    pub padding: u32,
}

impl Default for LayoutSettings {
    fn default() -> Self {
        Self { texels_per_metre: 16.0, page_size: 2048, padding: 2 }
    }
}

/// Why no layout could be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// The density is zero, negative or not a number.
    #[error("{0} texels per metre is no density: give a number above zero, such as 16")]
    Density(f32),
    /// A surface's factor on the density is zero, negative or not a number.
    #[error("surface \"{surface}\" scales its texel density by {scale}: give a number above zero, 1 keeps the density")]
    DensityScale {
        /// The surface's key.
        surface: String,
        /// Its factor.
        scale: f32,
    },
    /// Filtering would mix charts.
    #[error("a padding of {0} texels mixes charts when they are filtered: give at least 2")]
    Padding(u32),
    /// The page is smaller than a chart and its padding, or larger than a texture may be.
    #[error("pages of {0} x {0} texels cannot be used: give 64 to 16384, such as 2048")]
    PageSize(u32),
    /// The scene would need an absurd number of texels.
    #[error(
        "{area:.0} m2 of surface at {texels_per_metre} texels per metre are {texels:.3e} texels, more than the {MAX_TEXELS:.3e} \
         that can be baked: lower the density to {remedy:.3} texels per metre, or exclude \"{largest}\", the largest surface"
    )]
    TooManyTexels {
        /// Surface area that owns texels, in square metres.
        area: f64,
        /// The density asked for.
        texels_per_metre: f32,
        /// Texels that this takes.
        texels: f64,
        /// The density that would just do.
        remedy: f64,
        /// Key of the surface with the most texels.
        largest: String,
    },
    /// The work was asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// What a layout did that was not asked for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutWarning {
    /// A surface does not fit a page at its density.
    #[error(
        "surface \"{surface}\" does not fit a page at {asked:.3} texels per metre and got {given:.3}: use larger pages or split it"
    )]
    DensityLowered {
        /// The surface's key.
        surface: String,
        /// Texels per metre asked for.
        asked: f32,
        /// Texels per metre that fit.
        given: f32,
    },
    /// A mesh's second coordinates were replaced by new ones.
    #[error("the second texture coordinates of mesh \"{mesh}\" {problem}: its lightmap got new ones")]
    Uv1Replaced {
        /// The mesh's name.
        mesh: String,
        /// What is wrong with them.
        problem: Uv1Problem,
    },
    /// A mesh's second coordinates serve a texture of its material, so that none are left for a lightmap.
    #[error(
        "surface \"{surface}\" gets no lightmap: a texture of its material reads the second texture coordinates, and \
         they {problem}; let the texture read the first ones"
    )]
    Uv1Taken {
        /// The surface's key.
        surface: String,
        /// What keeps them from serving the lightmap too.
        problem: Uv1Problem,
    },
    /// A surface without area owns no texels.
    #[error("surface \"{surface}\" has no triangle with an area and gets no lightmap")]
    NoArea {
        /// The surface's key.
        surface: String,
    },
}

/// A rectangle of texels on a page: `x .. x + width`, `y .. y + height`, rows from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rectangle {
    /// Leftmost column.
    pub x: u32,
    /// Topmost row.
    pub y: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// Size of a page in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageSize {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// A mesh with lightmap coordinates, shared by all surfaces that show it at one resolution.
#[derive(Clone, Debug, PartialEq)]
pub struct Unwrap {
    /// The mesh, its triangles in the original order, its vertices split where charts part; `uv1` fills the unit
    /// square of the surface's rectangle: `uv1 * (width, height)` are texels from its top left corner, whole numbers
    /// where a chart's edge lies on a texel border.
    pub mesh: MeshData,
    /// For each vertex of `mesh`, the vertex of the scene's mesh that it was.
    pub source_vertices: Vec<u32>,
    /// Which chart each triangle belongs to; [`Unwrap::NO_CHART`] for one without area, whose corners lie on one spot.
    pub charts: Vec<u32>,
    /// Columns of the rectangle that it wants.
    pub width: u32,
    /// Rows of the rectangle that it wants.
    pub height: u32,
    /// Triangles of the scene's mesh. Where each side of the surface has texels of its own, as many follow in `mesh`:
    /// triangle `reversed_from + n` is the back of triangle `n`, its corners in reverse order (first, third, second)
    /// and its normals negated. Otherwise `mesh` ends here.
    pub reversed_from: u32,
}

impl Unwrap {
    /// The chart of triangles that own no texels.
    pub const NO_CHART: u32 = u32::MAX;

    /// True when the backs of triangles have texels of their own.
    pub fn is_two_sided(&self) -> bool {
        self.mesh.triangles.len() > self.reversed_from as usize
    }

    /// The triangle of `mesh` that shows a side of a triangle of the scene's mesh, and the weights of its second and
    /// third corner at a point.
    pub fn drawn(&self, triangle: u32, barycentric: Vec2, back: bool) -> (u32, Vec2) {
        if back && self.is_two_sided() {
            (triangle + self.reversed_from, barycentric.yx())
        } else {
            (triangle, barycentric)
        }
    }

    /// The triangle of the scene's mesh that a triangle of `mesh` was, the weights of its second and third corner, and
    /// whether its back is shown; the inverse of [`Unwrap::drawn`].
    pub fn in_scene(&self, triangle: u32, barycentric: Vec2) -> (u32, Vec2, bool) {
        if triangle >= self.reversed_from {
            (triangle - self.reversed_from, barycentric.yx(), true)
        } else {
            (triangle, barycentric, false)
        }
    }
}

/// Where a surface's texels lie.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The mesh that the surface is drawn with from now on.
    pub unwrap: Arc<Unwrap>,
    /// Which page.
    pub page: u32,
    /// Where on the page.
    pub rectangle: Rectangle,
}

/// All rectangles of a bake.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// One a surface of the scene, `None` for those that own no texels.
    pub placements: Vec<Option<Placement>>,
    /// Sizes of the pages.
    pub pages: Vec<PageSize>,
}

impl Layout {
    /// Unwraps all static surfaces and packs their rectangles on pages; both sides of a surface share texels.
    pub fn build(
        scene: &Scene,
        settings: &LayoutSettings,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Vec<LayoutWarning>), LayoutError> {
        Self::build_with_sides(scene, settings, |_| false, monitor)
    }

    /// [`Layout::build`] where the sides of surfaces that `two_sided` names have texels of their own.
    pub fn build_with_sides(
        scene: &Scene,
        settings: &LayoutSettings,
        two_sided: impl Fn(SurfaceId) -> bool,
        monitor: &dyn Monitor,
    ) -> Result<(Self, Vec<LayoutWarning>), LayoutError> {
        check(scene, settings, &two_sided)?;
        let classes = resolution_classes(scene, settings, &two_sided);
        let done = AtomicUsize::new(0);
        let unwraps: Vec<Result<Fitted, Cancelled>> = (classes.par_iter())
            .map(|class| {
                monitor.check()?;
                let fitted = class.unwrap(settings);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                monitor.progress(done as f32 / classes.len() as f32);
                Ok(fitted)
            })
            .collect();
        let mut unwrap_of: Vec<Option<Arc<Unwrap>>> = vec![None; scene.surfaces.len()];
        let mut warnings = Vec::new();
        for (class, fitted) in classes.iter().zip(unwraps) {
            let Fitted { outcome, shrunk } = fitted?;
            class.warn(scene, settings, &outcome, shrunk, &mut warnings);
            let unwrap = outcome.unwrap.map(Arc::new);
            for &surface in &class.surfaces {
                unwrap_of[surface.index()].clone_from(&unwrap);
            }
        }
        Ok((pack_pages(unwrap_of, settings.page_size, settings.padding), warnings))
    }

    /// How many texels a layout of the scene will own, about, where both sides of surfaces share them: what memory grows
    /// with. Cheap.
    pub fn texel_estimate(scene: &Scene, settings: &LayoutSettings) -> u64 {
        texels_by_surface(scene, settings, &|_| false).map(|(_, texels)| texels).sum::<f64>() as u64
    }

    /// Where a surface's texels lie, `None` when it owns none.
    pub fn placement(&self, surface: SurfaceId) -> Option<&Placement> {
        self.placements.get(surface.index())?.as_ref()
    }
}

fn check(scene: &Scene, settings: &LayoutSettings, two_sided: &impl Fn(SurfaceId) -> bool) -> Result<(), LayoutError> {
    let sound = |density: f32| density.is_finite() && density > 0.0;
    if !sound(settings.texels_per_metre) {
        return Err(LayoutError::Density(settings.texels_per_metre));
    }
    if settings.padding < 2 {
        return Err(LayoutError::Padding(settings.padding));
    }
    if settings.page_size < (16 * settings.padding).max(64) || settings.page_size > MAX_PAGE_SIZE {
        return Err(LayoutError::PageSize(settings.page_size));
    }
    if let Some(surface) = static_surfaces(scene).find(|id| !sound(scene.surface(*id).density_scale)) {
        let surface = scene.surface(surface);
        return Err(LayoutError::DensityScale { surface: surface.key.to_string(), scale: surface.density_scale });
    }
    let texels: f64 = texels_by_surface(scene, settings, two_sided).map(|(_, texels)| texels).sum();
    if texels <= MAX_TEXELS {
        return Ok(());
    }
    let largest = texels_by_surface(scene, settings, two_sided).max_by(|a, b| a.1.total_cmp(&b.1));
    Err(LayoutError::TooManyTexels {
        area: static_surfaces(scene).map(|id| area(scene, id)).sum(),
        texels_per_metre: settings.texels_per_metre,
        texels,
        remedy: f64::from(settings.texels_per_metre) * (MAX_TEXELS / texels).sqrt(),
        largest: largest.map(|(id, _)| scene.surface(id).key.to_string()).unwrap_or_default(),
    })
}

fn static_surfaces(scene: &Scene) -> impl Iterator<Item = SurfaceId> {
    scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Static)
}

/// World area of a surface in square metres; triangles that are not finite count nothing.
fn area(scene: &Scene, id: SurfaceId) -> f64 {
    let areas = (0..scene.mesh_of(id).triangles.len() as u32).map(|triangle| scene.triangle(id, triangle).area());
    areas.filter(|area| area.is_finite()).map(f64::from).sum()
}

fn texels_by_surface(
    scene: &Scene,
    settings: &LayoutSettings,
    two_sided: &impl Fn(SurfaceId) -> bool,
) -> impl Iterator<Item = (SurfaceId, f64)> {
    static_surfaces(scene).map(|id| {
        let density = f64::from(settings.texels_per_metre * scene.surface(id).density_scale);
        let sides = if two_sided(id) { 2.0 } else { 1.0 };
        (id, area(scene, id) * sides * density * density)
    })
}

/// Surfaces that show the same mesh at the same resolution.
struct ResolutionClass<'a> {
    mesh: &'a MeshData,
    /// From the mesh's space to texels, up to a rotation.
    to_texels: DMat3,
    two_sided: bool,
    uv1_is_read: bool,
    surfaces: Vec<SurfaceId>,
}

/// An unwrap that fits a page.
struct Fitted {
    outcome: Outcome,
    /// What remained of the density.
    shrunk: f64,
}

impl ResolutionClass<'_> {
    fn unwrap(&self, settings: &LayoutSettings) -> Fitted {
        let mut shrunk = 1.0;
        loop {
            let outcome = unwrap(&Request {
                mesh: self.mesh,
                to_texels: self.to_texels * shrunk,
                padding: settings.padding,
                page_size: settings.page_size,
                two_sided: self.two_sided,
                uv1_is_read: self.uv1_is_read,
            });
            if outcome.longest_edge <= settings.page_size {
                return Fitted { outcome, shrunk };
            }
            // Padding does not shrink, so the step is a little longer than proportion says.
            shrunk *= (0.99 * f64::from(settings.page_size) / f64::from(outcome.longest_edge)).max(0.01);
        }
    }

    fn warn(
        &self,
        scene: &Scene,
        settings: &LayoutSettings,
        outcome: &Outcome,
        shrunk: f64,
        warnings: &mut Vec<LayoutWarning>,
    ) {
        if let (Some(_), Some(problem)) = (&outcome.unwrap, outcome.problem) {
            let warning = LayoutWarning::Uv1Replaced { mesh: self.mesh.name.clone(), problem };
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        for &id in &self.surfaces {
            let surface = scene.surface(id).key.to_string();
            match (&outcome.unwrap, outcome.problem) {
                (None, Some(problem)) => warnings.push(LayoutWarning::Uv1Taken { surface, problem }),
                (None, None) => warnings.push(LayoutWarning::NoArea { surface }),
                (Some(_), _) if shrunk < 1.0 => {
                    let asked = settings.texels_per_metre * scene.surface(id).density_scale;
                    warnings.push(LayoutWarning::DensityLowered { surface, asked, given: asked * shrunk as f32 });
                }
                _ => {}
            }
        }
    }
}

/// Groups static surfaces by what their unwrap depends on. A class takes the exact scale of its first surface.
fn resolution_classes<'a>(
    scene: &'a Scene,
    settings: &LayoutSettings,
    two_sided: &impl Fn(SurfaceId) -> bool,
) -> Vec<ResolutionClass<'a>> {
    let content: Vec<[u8; 32]> = scene.meshes.par_iter().map(|mesh| content_hash(mesh)).collect();
    let mut classes: Vec<ResolutionClass> = Vec::new();
    let mut known: HashMap<([u8; 32], bool, bool), Vec<usize>> = HashMap::new();
    for id in static_surfaces(scene) {
        let surface = scene.surface(id);
        let density = f64::from(settings.texels_per_metre) * f64::from(surface.density_scale);
        let to_texels = shape_of(surface) * density;
        let two_sided = two_sided(id);
        let uv1_is_read = reads_uv1(scene.material_of(id));
        let candidates = known.entry((content[surface.mesh.index()], two_sided, uv1_is_read)).or_default();
        if let Some(&class) = candidates.iter().find(|class| are_similar(classes[**class].to_texels, to_texels)) {
            classes[class].surfaces.push(id);
        } else {
            candidates.push(classes.len());
            let (mesh, surfaces) = (scene.mesh_of(id), vec![id]);
            classes.push(ResolutionClass { mesh, to_texels, two_sided, uv1_is_read, surfaces });
        }
    }
    classes
}

fn reads_uv1(material: &Material) -> bool {
    [material.base_color_texture, material.metallic_texture, material.emission_texture]
        .iter()
        .flatten()
        .any(|texture| texture.channel == UvChannel::Uv1)
}

fn are_similar(one: DMat3, other: DMat3) -> bool {
    let diagonal = |m: DMat3| DVec3::new(m.x_axis.x, m.y_axis.y, m.z_axis.z);
    let (one_scale, other_scale) = (diagonal(one), diagonal(other));
    let tolerance = (SIMILAR_SCALE - 1.0) * one_scale.max(other_scale);
    let shears_agree = (one - other).to_cols_array().map(f64::abs).into_iter().all(|d| d <= tolerance.max_element());
    (one_scale - other_scale).abs().cmple(tolerance).all() && shears_agree
}

/// The linear part of a surface's transform without its rotation: the upper triangular factor of its QR decomposition,
/// by Gram and Schmidt. It keeps all lengths and angles.
fn shape_of(surface: &Surface) -> DMat3 {
    let m = surface.to_world.matrix3;
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis].map(|axis| glam::Vec3::from(axis).as_dvec3());
    let first = x.normalize_or_zero();
    let second_part = y - first * first.dot(y);
    let second = second_part.normalize_or_zero();
    let third_part = z - first * first.dot(z) - second * second.dot(z);
    DMat3::from_cols(
        DVec3::new(x.length(), 0.0, 0.0),
        DVec3::new(first.dot(y), second_part.length(), 0.0),
        DVec3::new(first.dot(z), second.dot(z), third_part.length()),
    )
}

/// Hash of everything of a mesh but its name.
fn content_hash(mesh: &MeshData) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let arrays: [&[u8]; 5] = [
        bytemuck::cast_slice(&mesh.positions),
        bytemuck::cast_slice(&mesh.normals),
        bytemuck::cast_slice(&mesh.uv0),
        bytemuck::cast_slice(&mesh.uv1),
        bytemuck::cast_slice(&mesh.triangles),
    ];
    for array in arrays {
        hasher.update(&array.len().to_le_bytes());
        hasher.update(array);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use glam::{Affine3A, Quat, Vec3};

    use super::*;
    use crate::lightmap::fixtures::quad;
    use crate::progress::Unmonitored;
    use crate::scene::{MaterialId, MeshId, Role, SurfaceKey};

    /// Walls of one by one metre, scaled.
    fn walls(scales: &[f32]) -> Scene {
        let mut mesh = quad(Vec3::ZERO, Vec3::X, Vec3::Y);
        mesh.uv1.clear();
        let mut scene =
            Scene { meshes: vec![Arc::new(mesh)], materials: vec![Material::default()], ..Scene::default() };
        for (number, scale) in scales.iter().enumerate() {
            let mut surface = Surface::new(SurfaceKey(format!("wall {number}")), MeshId(0), MaterialId(0));
            let rotation = Quat::from_rotation_y(number as f32);
            surface.to_world = Affine3A::from_scale_rotation_translation(Vec3::splat(*scale), rotation, Vec3::X);
            scene.surfaces.push(surface);
        }
        scene
    }

    fn settings(texels_per_metre: f32) -> LayoutSettings {
        LayoutSettings { texels_per_metre, ..LayoutSettings::default() }
    }

    fn build(scene: &Scene, settings: &LayoutSettings) -> Result<(Layout, Vec<LayoutWarning>), LayoutError> {
        Layout::build(scene, settings, &Unmonitored)
    }

    #[test]
    fn instances_at_one_scale_share_an_unwrap_and_own_rectangles_apart() {
        let (layout, warnings) = build(&walls(&[2.0, 2.0, 2.02, 4.0]), &settings(32.0)).expect("a sound scene");
        assert!(warnings.is_empty());
        let placements: Vec<&Placement> = layout.placements.iter().flatten().collect();
        let sizes: Vec<u32> = placements.iter().map(|placement| placement.rectangle.width).collect();
        assert_eq!(sizes, [64, 64, 64, 128]);
        assert!(Arc::ptr_eq(&placements[0].unwrap, &placements[2].unwrap));
        assert_eq!(layout.pages.len(), 1);
        for (index, one) in placements.iter().enumerate() {
            for other in &placements[index + 1..] {
                let (one, other) = (one.rectangle, other.rectangle);
                let apart = |a: u32, length: u32, b: u32| a + length + 2 <= b;
                assert!(
                    apart(one.x, one.width, other.x)
                        || apart(other.x, other.width, one.x)
                        || apart(one.y, one.height, other.y)
                        || apart(other.y, other.height, one.y)
                );
            }
        }
    }

    #[test]
    fn equal_meshes_are_unwrapped_once_whatever_they_are_called() {
        let mut scene = walls(&[1.0, 1.0]);
        let copy = MeshData { name: "copy".into(), ..(*scene.meshes[0]).clone() };
        scene.meshes.push(Arc::new(copy));
        scene.surfaces[1].mesh = MeshId(1);
        let (layout, _) = build(&scene, &settings(16.0)).expect("a sound scene");
        let [Some(one), Some(other)] = &layout.placements[..] else { panic!("both walls have texels") };
        assert!(Arc::ptr_eq(&one.unwrap, &other.unwrap));
    }

    #[test]
    fn only_static_surfaces_own_texels() {
        let mut scene = walls(&[1.0; 4]);
        for (surface, role) in
            scene.surfaces.iter_mut().zip([Role::Static, Role::Occluder, Role::Mover, Role::Excluded])
        {
            surface.role = role;
        }
        let (layout, _) = build(&scene, &settings(16.0)).expect("a sound scene");
        let owned: Vec<bool> = layout.placements.iter().map(Option::is_some).collect();
        assert_eq!(owned, [true, false, false, false]);
    }

    #[test]
    fn what_does_not_fit_a_page_gets_another_page_or_a_lower_density_and_a_warning() {
        let settings = LayoutSettings { page_size: 64, ..settings(32.0) };
        let (layout, warnings) = build(&walls(&[2.0, 4.0, 2.0]), &settings).expect("a sound scene");
        assert_eq!(layout.pages.len(), 3);
        let [LayoutWarning::DensityLowered { surface, asked: 32.0, given }] = &warnings[..] else {
            panic!("{warnings:?}")
        };
        assert!(surface == "wall 1" && (15.0..=16.0).contains(given));
    }

    #[test]
    fn the_last_page_is_no_larger_than_its_rectangles_need() {
        let (layout, _) = build(&walls(&[2.0]), &settings(32.0)).expect("a sound scene");
        assert_eq!(layout.pages, [PageSize { width: 64, height: 64 }]);
    }

    #[test]
    fn densities_that_mean_nothing_are_refused() {
        for density in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            assert!(matches!(build(&walls(&[1.0]), &settings(density)), Err(LayoutError::Density(_))));
            let mut scene = walls(&[1.0]);
            scene.surfaces[0].density_scale = density;
            let error = build(&scene, &settings(16.0)).map(|_| ()).unwrap_err();
            assert!(error.to_string().contains("\"wall 0\""));
        }
    }

    #[test]
    fn ten_kilometres_at_a_hundred_texels_a_metre_are_refused_with_the_numbers_and_a_remedy() {
        let error = build(&walls(&[10_000.0]), &settings(100.0)).map(|_| ()).unwrap_err();
        let LayoutError::TooManyTexels { texels, remedy, .. } = error else { panic!("{error}") };
        assert!((texels / 1e12 - 1.0).abs() < 1e-3);
        assert!(Layout::texel_estimate(&walls(&[10_000.0]), &settings(remedy as f32 * 0.999)) <= 1 << 28);
    }

    #[test]
    fn the_estimate_and_the_statistics_agree_on_a_plain_wall() {
        let scene = walls(&[2.0, 2.0]);
        assert_eq!(Layout::texel_estimate(&scene, &settings(32.0)), 2 * 64 * 64);
        let (layout, _) = build(&scene, &settings(32.0)).expect("a sound scene");
        let statistics = layout.statistics(&scene, 32.0);
        assert_eq!((statistics.charts, statistics.covered), (2, 2 * 64 * 64));
        assert!((statistics.stretch - 1.0).abs() < 1e-4);
    }

    #[test]
    fn threads_do_not_change_the_layout() {
        let mut scene = walls(&[1.0, 2.0, 3.3, 0.4, 7.0]);
        scene.meshes[0] = Arc::new(MeshData { uv1: Vec::new(), ..crate::lightmap::fixtures::ball(1.0, 24, 12) });
        let with_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let (layout, _) = pool.install(|| build(&scene, &settings(12.0))).expect("a sound scene");
            let unwraps = layout.placements.iter().flatten();
            unwraps.map(|placed| (placed.page, placed.rectangle, (*placed.unwrap).clone())).collect::<Vec<_>>()
        };
        assert_eq!(with_threads(1), with_threads(4));
    }

    #[test]
    fn a_cancelled_layout_says_so() {
        struct Impatient;
        impl Monitor for Impatient {
            fn progress(&self, _fraction: f32) {}
            fn is_cancelled(&self) -> bool {
                true
            }
        }
        let result = Layout::build(&walls(&[1.0]), &settings(16.0), &Impatient);
        assert!(matches!(result, Err(LayoutError::Cancelled(_))));
    }
}
