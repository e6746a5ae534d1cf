//! Reading a bake again: what its lightmaps say at a point.

use std::f32::consts::PI;
use std::path::Path;

use glam::{UVec2, Vec2, Vec3};
use rayon::prelude::*;

use crate::geometry::{SurfaceId, Triangle};
use crate::lightmap::files::{Level, LevelError};
use crate::lightmap::{Layout, Page};
use crate::pathtrace::Receiver;
use crate::scene::{self, Scene, Sides};

/// A baked level together with its scene.
pub struct Baked<'a> {
    scene: &'a Scene,
    layout: Layout,
    pages: Vec<Page>,
    /// False when the scene has changed since it was baked.
    pub is_current: bool,
}

/// A point of a surface that owns texels.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    surface: SurfaceId,
    triangle: u32,
    barycentric: Vec2,
    back: bool,
}

impl<'a> Baked<'a> {
    /// Reads a level of a scene from a folder.
    ///
    /// # Errors
    /// When the folder holds no whole level, or one of other meshes.
    pub fn read(folder: &Path, scene: &'a Scene) -> Result<Self, LevelError> {
        let level = Level::read(folder)?;
        let layout = level.layout(folder, scene)?;
        let pages = (0..level.pages.len()).map(|page| level.read_page(folder, page)).collect::<Result<_, _>>()?;
        let is_current = level.content_hash == scene::hash(scene).to_string();
        Ok(Self { scene, layout, pages, is_current })
    }

    /// Irradiance in lux at the point of a surface nearest to each receiver, among those that face its way; `None`
    /// where there is none.
    pub fn irradiance_at(&self, receivers: &[Receiver]) -> Vec<Option<Vec3>> {
        receivers.par_iter().map(|receiver| Some(self.sample(self.nearest(receiver)?))).collect()
    }

    fn nearest(&self, receiver: &Receiver) -> Option<Place> {
        let mut best: Option<(f32, Place)> = None;
        for surface in self.scene.surface_ids().filter(|&id| self.layout.placement(id).is_some()) {
            let two_sided = self.scene.surface(surface).sides == Sides::Both;
            for triangle in 0..self.scene.mesh_of(surface).triangles.len() as u32 {
                let facing = self.scene.geometric_normal(surface, triangle).dot(receiver.normal);
                if facing == 0.0 || (facing < 0.0 && !two_sided) {
                    continue;
                }
                let corners = self.scene.triangle(surface, triangle);
                let barycentric = nearest_on_triangle(&corners, receiver.position);
                let distance = corners.at(barycentric).distance_squared(receiver.position);
                if best.is_none_or(|(nearest, _)| distance < nearest) {
                    best = Some((distance, Place { surface, triangle, barycentric, back: facing < 0.0 }));
                }
            }
        }
        best.map(|(_, place)| place)
    }

    /// Irradiance at a place, bilinear between texels as Bevy samples them.
    fn sample(&self, place: Place) -> Vec3 {
        let Some(placement) = self.layout.placement(place.surface) else {
            return Vec3::ZERO;
        };
        let unwrap = &placement.unwrap;
        let (triangle, barycentric) = if place.back && unwrap.is_two_sided() {
            // Backs have their corners in reverse order.
            (unwrap.reversed_from + place.triangle, Vec2::new(place.barycentric.y, place.barycentric.x))
        } else {
            (place.triangle, place.barycentric)
        };
        let uv = unwrap.mesh.interpolate_uv(&unwrap.mesh.uv1, triangle, barycentric).unwrap_or_default();
        let rectangle = placement.rectangle;
        let size = Vec2::new(rectangle.width as f32, rectangle.height as f32);
        let corner = Vec2::new(rectangle.x as f32, rectangle.y as f32);
        bilinear(&self.pages[placement.page as usize], corner + uv * size) * PI
    }
}

/// A page's value at a position in texels from its top left corner.
fn bilinear(page: &Page, position: Vec2) -> Vec3 {
    let position = (position - 0.5).max(Vec2::ZERO);
    let corner = position.floor();
    let blend = position - corner;
    let last = UVec2::new(page.width - 1, page.height - 1);
    let texel = |offset: UVec2| {
        let at = (corner.as_uvec2() + offset).min(last);
        page.texels[page.index(at.x, at.y)]
    };
    let top = texel(UVec2::ZERO).lerp(texel(UVec2::X), blend.x);
    let bottom = texel(UVec2::Y).lerp(texel(UVec2::ONE), blend.x);
    top.lerp(bottom, blend.y)
}

/// Weights of the second and third corner of the point of a triangle that is nearest to `point` (Ericson 2005, *Real-Time
/// Collision Detection*, 5.1.5).
fn nearest_on_triangle(triangle: &Triangle, point: Vec3) -> Vec2 {
    let [a, b, c] = triangle.corners;
    let (ab, ac) = (b - a, c - a);
    let (d1, d2) = (ab.dot(point - a), ac.dot(point - a));
    let (d3, d4) = (ab.dot(point - b), ac.dot(point - b));
    let (d5, d6) = (ab.dot(point - c), ac.dot(point - c));
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    if d1 <= 0.0 && d2 <= 0.0 {
        Vec2::ZERO
    } else if d3 >= 0.0 && d4 <= d3 {
        Vec2::X
    } else if d6 >= 0.0 && d5 <= d6 {
        Vec2::Y
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        Vec2::new(d1 / (d1 - d3), 0.0)
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        Vec2::new(0.0, d2 / (d2 - d6))
    } else if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        let along = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        Vec2::new(1.0 - along, along)
    } else {
        Vec2::new(vb, vc) / (va + vb + vc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::OwenSobol;
    use crate::lightmap::PageSize;

    #[test]
    fn no_point_of_a_triangle_is_nearer_than_the_nearest() {
        let triangle = Triangle::new(Vec3::new(0.2, 0.1, 0.0), Vec3::new(1.5, 0.3, 0.4), Vec3::new(0.4, 1.2, -0.3));
        let points = OwenSobol::new(4);
        for index in 0..200 {
            let [x, y, z, _] = points.point(index);
            let point = Vec3::new(x, y, z) * 4.0 - 2.0;
            let nearest = nearest_on_triangle(&triangle, point);
            assert!(nearest.min_element() >= -1e-6 && nearest.element_sum() <= 1.0 + 1e-6, "{nearest}");
            let distance = triangle.at(nearest).distance(point);
            for step in 0..400 {
                let [u, v, ..] = points.point(1000 + step);
                let other = if u + v > 1.0 { Vec2::new(1.0 - u, 1.0 - v) } else { Vec2::new(u, v) };
                assert!(triangle.at(other).distance(point) >= distance - 1e-5);
            }
        }
    }

    #[test]
    fn between_two_texels_lies_their_mean() {
        let mut page = Page::new(PageSize { width: 2, height: 1 });
        page.texels = vec![Vec3::ZERO, Vec3::splat(4.0)];
        assert_eq!(bilinear(&page, Vec2::new(0.5, 0.5)), Vec3::ZERO);
        assert_eq!(bilinear(&page, Vec2::new(1.0, 0.5)), Vec3::splat(2.0));
        assert_eq!(bilinear(&page, Vec2::new(2.0, 0.9)), Vec3::splat(4.0), "the edge goes on beyond the page");
    }
}
