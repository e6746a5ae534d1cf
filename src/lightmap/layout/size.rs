//! How many texels a layout will have, and whether it can be made at all.

use super::{Layout, LayoutError, LayoutSettings};
use crate::geometry::SurfaceId;
use crate::scene::{Role, Scene};

/// More texels than this are refused: 64 pages of 2048 x 2048, about 10 GiB of elements.
pub(super) const MAX_TEXELS: f64 = (1u64 << 28) as f64;

/// Texels per metre below which products of areas in texels vanish.
const LEAST_DENSITY: f32 = 1e-9;

/// Largest edge of a page that devices can be expected to take.
const MAX_PAGE_SIZE: u32 = 16_384;

impl Layout {
    /// How many texels a layout of the scene will own, about, where both sides of surfaces share them: what memory grows
    /// with. Cheap.
    pub fn texel_estimate(scene: &Scene, settings: &LayoutSettings) -> u64 {
        texels_by_surface(scene, settings, &|_| false).map(|(_, texels)| texels).sum::<f64>() as u64
    }
}

/// Refuses what no layout can be made of.
pub(super) fn check(
    scene: &Scene,
    settings: &LayoutSettings,
    two_sided: &impl Fn(SurfaceId) -> bool,
) -> Result<(), LayoutError> {
    let sound = |density: f32| density.is_finite() && density >= LEAST_DENSITY;
    if !sound(settings.texels_per_metre) {
        return Err(LayoutError::Density(settings.texels_per_metre));
    }
    if settings.padding < 2 {
        return Err(LayoutError::Padding(settings.padding));
    }
    if settings.page_size < (16 * settings.padding).max(64) || settings.page_size > MAX_PAGE_SIZE {
        return Err(LayoutError::PageSize(settings.page_size));
    }
    let of_surface = |id: &SurfaceId| settings.texels_per_metre * scene.surface(*id).density_scale;
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
        texels_per_metre: settings.texels_per_metre,
        texels,
        remedy: rounded_down(f64::from(settings.texels_per_metre) * (MAX_TEXELS / texels).sqrt()),
        largest: largest.map(|(id, _)| scene.surface(id).key.to_string()).unwrap_or_default(),
    })
}

/// The first three digits of a positive number, so that what a message proposes fits.
pub(crate) fn rounded_down(number: f64) -> f64 {
    let unit = 10f64.powi(2 - number.log10().floor() as i32);
    // Powers of ten are exact where they are whole, so that nothing but those digits is printed.
    if unit >= 1.0 { (number * unit).floor() / unit } else { (number * unit).floor() * unit.recip().round() }
}

pub(super) fn static_surfaces(scene: &Scene) -> impl Iterator<Item = SurfaceId> {
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
