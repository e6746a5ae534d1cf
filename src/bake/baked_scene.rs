//! Reads a finished bake again and answers its irradiance at points.

use std::path::Path;

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::geometry::{Hit, Triangle};
use crate::lightmap::files::{Level, LevelError};
use crate::lightmap::{Layout, Page, irradiance_at};
use crate::pathtrace::Receiver;
use crate::scene::{self, Scene, Sides};

/// A baked level together with its scene.
pub struct BakedScene<'a> {
    scene: &'a Scene,
    layout: Layout,
    pages: Vec<Page>,
    /// True while the scene is the one that was baked.
    pub is_current: bool,
    /// Estimated relative error of the whole scene: the RMS error of irradiance over its mean.
    pub error: f32,
}

impl<'a> BakedScene<'a> {
    /// Reads a level of a scene from a folder.
    ///
    /// # Errors
    /// When the folder holds no complete level, or one of other meshes.
    pub fn read(folder: &Path, scene: &'a Scene) -> Result<Self, LevelError> {
        Level::read_with(folder, |level| {
            let layout = level.layout(folder, scene)?;
            let pages = (0..level.pages.len()).map(|page| level.read_page(folder, page)).collect::<Result<_, _>>()?;
            let is_current = level.content_hash == scene::hash(scene).to_string();
            Ok(Self { scene, layout, pages, is_current, error: level.error })
        })
    }

    /// Returns the irradiance, in lux, at the nearest surface point that faces the same way as each receiver. `None`
    /// where there is no such point.
    pub fn irradiance_at(&self, receivers: &[Receiver]) -> Vec<Option<Vec3>> {
        receivers.par_iter().map(|receiver| self.irradiance_of(&self.nearest(receiver)?)).collect()
    }

    /// Returns the irradiance, in lux, at a ray's hit, filtered as Bevy filters lightmaps. `None` on a surface without
    /// texels.
    pub fn irradiance_of(&self, hit: &Hit) -> Option<Vec3> {
        irradiance_at(&self.layout, &self.pages, hit)
    }

    /// Returns the nearest point of a surface with texels. Its `t` is the distance in meters.
    fn nearest(&self, receiver: &Receiver) -> Option<Hit> {
        let mut best: Option<Hit> = None;
        for surface in self.scene.surface_ids().filter(|&id| self.layout.placement(id).is_some()) {
            let two_sided = self.scene.surface(surface).sides == Sides::Both;
            for triangle in 0..self.scene.mesh_of(surface).triangles.len() as u32 {
                let facing = self.scene.geometric_normal(surface, triangle).dot(receiver.normal);
                if facing == 0.0 || (facing < 0.0 && !two_sided) {
                    continue;
                }
                let corners = self.scene.triangle(surface, triangle);
                let barycentric = nearest_on_triangle(&corners, receiver.position);
                let t = corners.at(barycentric).distance(receiver.position);
                if best.is_none_or(|best| t < best.t) {
                    best = Some(Hit { t, surface, triangle, barycentric, back: facing < 0.0, filter: Vec3::ONE });
                }
            }
        }
        best
    }
}

/// Returns the weights of the second and third corner for the point of a triangle that is nearest to `point` (Ericson
/// 2005, *Real-Time Collision Detection*, 5.1.5).
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
}
