//! What there is of a scene that memory grows with.

use crate::geometry::SurfaceId;
use crate::lightmap::Layout;
use crate::scene::{Role, Scene, Sky, Texels};

use crate::bake::BakeSettings;

/// Elements that a triangle has beyond its area, in lengths of the edge of a square as large: charts end within texels, and
/// other geometry cuts texels into several elements.
pub(super) const EDGE_ELEMENTS: f64 = 1.3;

/// Bytes of a sky and its table, in bytes of its texels.
const SKY_AND_TABLE: f64 = 1.5;

/// What memory grows with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amounts {
    /// Area of all surfaces that own texels, square metres.
    pub area: f64,
    /// Elements that grow with the square of the density.
    pub(super) on_areas: f64,
    /// Elements beyond those, which grow with the density.
    pub(super) at_edges: f64,
    /// Charts, as far as they are known: each has an element at whatever density.
    pub(super) charts: f64,
    /// Triangles of all surfaces.
    pub triangles: f64,
    /// Vertices of surfaces that own texels.
    pub vertices: f64,
    /// Bytes of textures and of the sky.
    pub of_textures: f64,
}

impl Amounts {
    /// What areas tell before there are charts. `two_sided` says which surfaces have texels for each side.
    pub fn expected(scene: &Scene, settings: &BakeSettings, two_sided: impl Fn(SurfaceId) -> bool) -> Self {
        let (triangles, of_textures) = (scene.triangle_count() as f64, bytes_of_textures(scene));
        let mut amounts = Self { triangles, of_textures, ..Self::default() };
        for id in scene.surface_ids().filter(|&id| scene.surface(id).role == Role::Static) {
            let density = f64::from(settings.layout.texels_per_metre * scene.surface(id).density_scale);
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

    /// The same once charts are laid out and cut into so many elements.
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
            ..self
        }
    }

    /// The same with so many elements.
    pub fn of_elements(self, elements: f64) -> Self {
        Self { on_areas: elements, at_edges: 0.0, ..self }
    }

    /// Elements.
    pub fn elements(&self) -> f64 {
        self.on_areas + self.at_edges
    }

    /// What to multiply the density with so that there are no more elements than so many; `None` where there always are.
    pub fn scale_for(&self, elements: f64) -> Option<f64> {
        // As the density falls to nothing, those at edges fall to one of each chart.
        let (square, linear) = (self.on_areas, (self.at_edges - self.charts).max(0.0));
        let free = elements - self.charts;
        let scale = 2.0 * free / (linear + (linear * linear + 4.0 * square * free.max(0.0)).sqrt());
        (free >= 1.0 && scale.is_finite()).then_some(scale)
    }
}

/// Bytes of textures and of the sky.
pub(super) fn bytes_of_textures(scene: &Scene) -> f64 {
    let bytes = |texels: &Texels| match texels {
        Texels::Srgb8(texels) | Texels::Linear8(texels) => size_of_val(texels.as_slice()),
        Texels::Float(texels) => size_of_val(texels.as_slice()),
    };
    let of_sky = match &scene.sky {
        // Besides its texels there is a table to choose directions by.
        Sky::Map(map) => bytes(&map.picture.texels) as f64 * SKY_AND_TABLE,
        Sky::Dark | Sky::Uniform(_) => 0.0,
    };
    of_sky + scene.textures.iter().map(|texture| bytes(&texture.texels) as f64).sum::<f64>()
}
