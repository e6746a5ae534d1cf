//! Light of texels on the elements of subscenes, and back.
//!
//! Both divide the same surfaces, in different ways. Points of each texel say which elements it shares.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, SurfaceId};
use crate::lightmap::{ElementId, Elements, SurfacePoint};
use crate::partition::CellTracer;
use crate::radiosity::Solution;
use crate::radiosity::subscenes::SubsceneElements;
use crate::scene::Scene;

/// Number of points of each texel's element.
const POINTS: usize = 8;

/// Elements of subscenes that texels share.
pub struct Overlap {
    /// Element of subscenes at each point of each texel's element; `None` where it has none.
    at: Vec<[Option<u32>; POINTS]>,
    /// Visible area of each element of subscenes, in square meters.
    visible_area: Vec<f32>,
}

impl Overlap {
    /// Finds what texels share, and gives elements the light that texels reflect as power to be shot. `shown` is the
    /// exposed area fraction of each texel's element.
    ///
    /// Elements that texels share also take their mean reflectance. Rays that start in hidden parts of an element are
    /// absorbed. All others therefore carry more light, and the reflectance is greater by as much, up to one. Unmapped
    /// surfaces have nothing to shoot, because direct light that they reflect has already reached the texels.
    pub fn new(
        scene: &Scene,
        elements: &Elements,
        tracer: &CellTracer,
        lit: &Solution,
        shown: &[f32],
    ) -> (Self, SubsceneElements) {
        let mut subscenes = SubsceneElements::new(scene, tracer);
        let places = Places { scene, elements, tracer };
        let at: Vec<_> = (0..elements.len()).into_par_iter().with_min_len(64).map(|texel| places.of(texel)).collect();
        let mut power = vec![Vec3::ZERO; subscenes.len()];
        let mut shares = vec![Share::default(); subscenes.len()];
        for (texel, points) in at.iter().enumerate() {
            let reflectance = elements.reflectance[texel];
            let area = elements.area[texel] / points.iter().flatten().count().max(1) as f32;
            let visible = area * lit.visible_fraction[texel];
            let reflected = reflectance * (lit.direct[texel] + lit.indirect[texel]) * (visible * shown[texel]);
            for &element in points.iter().flatten() {
                power[element as usize] += reflected;
                let share = &mut shares[element as usize];
                share.area += area;
                share.visible += visible;
                share.reflectance += reflectance * area;
            }
        }
        let mut visible_area = subscenes.area.clone();
        for (element, share) in shares.iter().enumerate().filter(|(_, share)| share.area > 0.0) {
            visible_area[element] *= share.visible / share.area;
            let scale = if share.visible > 0.0 { 1.0 / share.visible } else { 0.0 };
            power[element] *= share.area * scale;
            subscenes.reflectance[element] = (share.reflectance * scale).min(Vec3::ONE);
        }
        subscenes.emit(power);
        (Self { at, visible_area }, subscenes)
    }

    /// Returns the irradiance of each texel's element, in lux, from the power that arrived at elements of subscenes, in
    /// lumens.
    pub fn irradiance(&self, received: &[Vec3]) -> Vec<Vec3> {
        let of = |element: u32| {
            let area = self.visible_area[element as usize];
            if area > 0.0 { received[element as usize] / area } else { Vec3::ZERO }
        };
        let mean = |points: &[Option<u32>; POINTS]| {
            let count = points.iter().flatten().count().max(1) as f32;
            points.iter().flatten().map(|&element| of(element)).sum::<Vec3>() / count
        };
        self.at.par_iter().map(mean).collect()
    }
}

/// Sums over the points of texels in one element of subscenes.
#[derive(Clone, Copy, Default)]
struct Share {
    /// Area in square meters.
    area: f32,
    /// Visible part of the area.
    visible: f32,
    /// Reflectance times area.
    reflectance: Vec3,
}

/// Search for the elements of subscenes at points of texels.
struct Places<'a> {
    scene: &'a Scene,
    elements: &'a Elements,
    tracer: &'a CellTracer,
}

impl Places<'_> {
    fn of(&self, texel: usize) -> [Option<u32>; POINTS] {
        let id = ElementId::from_index(texel);
        let (surface, back) = (self.elements.surface(id), self.elements.back[texel]);
        let (sampler, numbers) = (self.elements.sampler(self.scene, id), OwenSobol::new(0));
        core::array::from_fn(|index| {
            let [u, v, ..] = numbers.point(index as u32);
            self.at(surface, back, &sampler.sample(Vec2::new(u, v)))
        })
    }

    /// Returns the element at a point of a surface's side. Of several surfaces in one place, it is on that which rays
    /// meet.
    fn at(&self, surface: SurfaceId, back: bool, point: &SurfacePoint) -> Option<u32> {
        let (above, on) = (point.origin(), point.position);
        let (hit, _) = self.tracer.closest(&Ray::between(above, on - (above - on)));
        let met = hit.and_then(|hit| self.tracer.element_at(&hit));
        // A ray from just above misses coarse surfaces that lie a little higher than a curved mesh.
        met.or_else(|| self.tracer.element_on(self.scene, (surface, point.triangle), point.barycentric, back))
    }
}
