//! Amounts of a scene that its memory grows with: areas, elements, triangles, bytes of textures.

use std::sync::Arc;

use crate::geometry::SurfaceId;
use crate::lightmap::Layout;
use crate::scene::{Role, Scene, Sky, Texture};

use crate::bake::{BakeSettings, contributions};

/// Elements of a triangle at its edges, in edge lengths of a square of equal area, measured in texels. Charts end
/// within texels, and other geometry cuts texels into several elements.
pub(super) const EDGE_ELEMENTS: f64 = 1.3;

/// Bytes of a sky with its sampling table, relative to the bytes of its texels.
const SKY_AND_TABLE: f64 = 1.5;

/// Bytes of a texture's mip chain, which holds floats, relative to the bytes of its texels.
const COARSER_PER_TEXEL: f64 = 1.1;

/// Amounts that memory grows with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amounts {
    /// Area of all surfaces that own texels, square meters.
    pub area: f64,
    /// Number of elements that grows with the square of the density.
    pub(super) on_areas: f64,
    /// Number of further elements that grows with the density.
    pub(super) at_edges: f64,
    /// Number of charts, if known. Each has an element at any density.
    pub(super) charts: f64,
    /// Number of triangles of all surfaces.
    pub triangles: f64,
    /// Number of vertices of surfaces that own texels.
    pub vertices: f64,
    /// Bytes of textures and of the sky.
    pub of_textures: f64,
    /// Bytes of the irradiance volume.
    pub of_volume: f64,
    /// Number of contributions of lights that relighting keeps.
    pub contributions: f64,
    /// Number of texels of all pages, if known.
    pub page_texels: f64,
}

impl Amounts {
    /// Estimates the amounts from areas, before there are charts. `two_sided` tells the surfaces with texels for each
    /// side.
    pub fn expected(scene: &Scene, settings: &BakeSettings, two_sided: impl Fn(SurfaceId) -> bool) -> Self {
        let (triangles, of_textures) = (scene.triangle_count() as f64, bytes_of_textures(scene));
        let of_volume = settings.volume.map_or(0, |volume| volume.bytes(scene)) as f64;
        let contributions = settings.relight.map_or(0, |_| contributions::count(scene)) as f64;
        let mut amounts = Self { triangles, of_textures, of_volume, contributions, ..Self::default() };
        for id in scene.surface_ids().filter(|&id| scene.surface(id).role == Role::Static) {
            let density = f64::from(settings.layout.texels_per_meter * scene.surface(id).density_scale);
            let sides = if two_sided(id) { 2.0 } else { 1.0 };
            let mesh = scene.mesh_of(id);
            amounts.vertices += mesh.positions.len() as f64;
            for triangle in 0..mesh.triangles.len() as u32 {
                let area = f64::from(scene.triangle(id, triangle).area());
                amounts.area += area;
                amounts.on_areas += sides * area * density * density;
                amounts.at_edges += sides * EDGE_ELEMENTS * area.sqrt() * density;
            }
        }
        amounts
    }

    /// Returns the amounts once charts are laid out and divided into `elements`.
    pub fn counted(self, layout: &Layout, elements: usize) -> Self {
        let (mut vertices, mut charts) = (0, 0);
        for placement in layout.placements.iter().flatten() {
            vertices += placement.unwrap.mesh.positions.len();
            charts += placement.unwrap.chart_count();
        }
        let on_areas = self.on_areas.min(elements as f64);
        Self {
            on_areas,
            at_edges: elements as f64 - on_areas,
            charts: charts as f64,
            vertices: vertices as f64,
            page_texels: layout.pages.iter().map(|page| f64::from(page.width) * f64::from(page.height)).sum(),
            ..self
        }
    }

    /// Returns the amounts with another number of elements.
    pub fn of_elements(self, elements: f64) -> Self {
        Self { on_areas: elements, at_edges: 0.0, ..self }
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> f64 {
        self.on_areas + self.at_edges
    }

    /// Returns the factor for the density at which there are at most `elements` elements. `None` where any density has
    /// more.
    pub fn scale_for(&self, elements: f64) -> Option<f64> {
        // As the density falls to zero, the elements at edges fall to one per chart.
        let (square, linear) = (self.on_areas, (self.at_edges - self.charts).max(0.0));
        let free = elements - self.charts;
        let scale = 2.0 * free / (linear + (linear * linear + 4.0 * square * free.max(0.0)).sqrt());
        (free >= 1.0 && scale.is_finite()).then_some(scale)
    }
}

/// Returns the bytes of all textures and of the sky.
pub(super) fn bytes_of_textures(scene: &Scene) -> f64 {
    let of_sky = match &scene.sky {
        // A sky has a table for sampling directions besides its texels.
        Sky::Map(map) => map.texture.texels.bytes() as f64 * SKY_AND_TABLE,
        Sky::Dark | Sky::Uniform(_) => 0.0,
    };
    let of_texture = |texture: &Arc<Texture>| {
        let texels = f64::from(texture.width) * f64::from(texture.height);
        texture.texels.bytes() as f64 + texels * COARSER_PER_TEXEL
    };
    of_sky + scene.textures.iter().map(of_texture).sum::<f64>()
}
