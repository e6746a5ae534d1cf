//! Size estimates and feasibility checks of layouts.

use super::{Layout, LayoutError, LayoutSettings, PageSize};
use crate::geometry::SurfaceId;
use crate::scene::{Role, Scene};

/// Maximum number of texels: 64 pages of 2048 x 2048, about 10 GiB of elements.
pub(super) const MAX_TEXELS: f64 = (1u64 << 28) as f64;

/// Texels per meter below which products of areas in texels underflow.
const MIN_DENSITY: f32 = 1e-9;

impl Layout {
    /// Estimates the number of texels of a scene's layout if both sides of surfaces share texels. Memory grows with
    /// this number. Cheap.
    pub fn texel_estimate(scene: &Scene, settings: &LayoutSettings) -> u64 {
        texels_by_surface(scene, settings, &|_| false).map(|(_, texels)| texels).sum::<f64>() as u64
    }
}

/// Rejects settings and scenes that no layout can satisfy.
pub(super) fn check(
    scene: &Scene,
    settings: &LayoutSettings,
    two_sided: &impl Fn(SurfaceId) -> bool,
) -> Result<(), LayoutError> {
    let sound = |density: f32| density.is_finite() && density >= MIN_DENSITY;
    if !sound(settings.texels_per_meter) {
        return Err(LayoutError::Density(settings.texels_per_meter));
    }
    if settings.padding < 2 {
        return Err(LayoutError::Padding(settings.padding));
    }
    if settings.page_size < (16 * settings.padding).max(64) || settings.page_size > PageSize::LARGEST_EDGE {
        return Err(LayoutError::PageSize(settings.page_size));
    }
    let of_surface = |id: &SurfaceId| settings.texels_per_meter * scene.surface(*id).density_scale;
    if let Some(surface) = static_surfaces(scene).find(|id| !sound(of_surface(id))) {
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
        texels_per_meter: settings.texels_per_meter,
        texels,
        remedy: rounded_down(f64::from(settings.texels_per_meter) * (MAX_TEXELS / texels).sqrt()),
        largest: largest.map(|(id, _)| scene.surface(id).key.to_string()).unwrap_or_default(),
    })
}

/// Rounds a positive number down to three digits, so that a density proposed by a message fits.
pub(crate) fn rounded_down(number: f64) -> f64 {
    let unit = 10f64.powi(2 - libm::log10(number).floor() as i32);
    // Integer powers of ten are exact, so that only those digits are printed.
    if unit >= 1.0 { (number * unit).floor() / unit } else { (number * unit).floor() * unit.recip().round() }
}

pub(super) fn static_surfaces(scene: &Scene) -> impl Iterator<Item = SurfaceId> {
    scene.surface_ids().filter(|id| scene.surface(*id).role == Role::Static)
}

/// Returns the world-space area of a surface in square meters. Triangles with a non-finite area are ignored.
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
        let density = f64::from(settings.texels_per_meter * scene.surface(id).density_scale);
        let sides = if two_sided(id) { 2.0 } else { 1.0 };
        (id, area(scene, id) * sides * density * density)
    })
}
