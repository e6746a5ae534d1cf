//! Points of luminous surfaces, uniform over their area.

use glam::{Vec2, Vec3};

use super::{Distribution, Emitter, LightSampler};
use crate::geometry::sampling::uniform_triangle;

/// Point of a luminous surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LightPoint {
    /// Position just above the surface, in world space.
    pub position: Vec3,
    /// Unit normal of the side that emits.
    pub normal: Vec3,
    /// Emitted radiance, in cd/m2.
    pub radiance: Vec3,
}

/// Sampler of points on all luminous surfaces of a scene, uniform over their area, however bright they are.
///
/// Lights without a surface are left out: points, spots, suns and skies. Paths of the published method of directions
/// (Romano 2011, section 3.3.2) start at such points. [`EmissionSampler`](super::EmissionSampler) prefers bright
/// surfaces instead.
pub struct LightAreaSampler<'a> {
    lights: &'a LightSampler<'a>,
    pieces: Vec<Piece>,
    by_area: Distribution,
}

/// Rectangle, or one side of a triangle.
struct Piece {
    emitter: usize,
    /// Triangle of an emissive surface.
    triangle: u32,
    is_back: bool,
    /// Area, in square meters.
    area: f32,
}

impl<'a> LightAreaSampler<'a> {
    /// Lists the surfaces of `lights`.
    pub fn new(lights: &'a LightSampler<'a>) -> Self {
        let mut pieces = Vec::new();
        for (emitter, kind) in lights.emitters.iter().enumerate() {
            match kind {
                Emitter::Rectangle(rectangle) => {
                    pieces.push(Piece { emitter, triangle: 0, is_back: false, area: rectangle.area() });
                }
                Emitter::Surface(surface) => {
                    pieces.extend(surface.sides().map(|(triangle, is_back, area)| Piece {
                        emitter,
                        triangle,
                        is_back,
                        area,
                    }));
                }
                Emitter::Lamp(_) | Emitter::Environment(_) => {}
            }
        }
        let by_area = Distribution::new(pieces.iter().map(|piece| piece.area));
        Self { lights, pieces, by_area }
    }

    /// Returns true if no light of the scene has a surface.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Samples a point by three numbers in `[0, 1)`; `None` if no light has a surface.
    pub fn sample(&self, choice: f32, u: Vec2) -> Option<LightPoint> {
        if self.is_empty() {
            return None;
        }
        let piece = &self.pieces[self.by_area.sample(choice).index];
        match &self.lights.emitters[piece.emitter] {
            Emitter::Rectangle(light) => {
                let position = light.corner + light.width * u.x + light.height * u.y;
                Some(LightPoint { position, normal: light.normal, radiance: light.radiance })
            }
            Emitter::Surface(surface) => {
                Some(surface.point(self.lights.scene, piece.triangle, piece.is_back, uniform_triangle(u)))
            }
            Emitter::Lamp(_) | Emitter::Environment(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::sobol::OwenSobol;
    use crate::scene::{Light, LightKind, Scene};

    fn rectangle(half_edge: f32, radiance: f32) -> Light {
        let kind = LightKind::Rectangle {
            center: Vec3::Y * radiance,
            half_width: Vec3::X * half_edge,
            half_height: Vec3::Z * half_edge,
            normal: Vec3::NEG_Y,
            radiance: Vec3::splat(radiance),
        };
        Light { name: "lamp".into(), kind }
    }

    #[test]
    fn points_are_as_many_as_the_area_and_not_as_the_brightness_says() {
        // Areas of 1 and 4 m2; the smaller one is a hundred times as bright.
        let scene = Scene { lights: vec![rectangle(0.5, 100.0), rectangle(1.0, 1.0)], ..Scene::default() };
        let lights = LightSampler::new(&scene);
        let sampler = LightAreaSampler::new(&lights);
        let points = OwenSobol::new(1);
        let found = (0..4096).filter_map(|index| {
            let [choice, x, y, _] = points.point(index);
            sampler.sample(choice, Vec2::new(x, y))
        });
        let found: Vec<LightPoint> = found.collect();
        let of_small = found.iter().filter(|point| point.radiance.x > 50.0).count();
        assert_eq!(found.len(), 4096);
        assert!((of_small as f32 / 4096.0 - 0.2).abs() < 0.002, "{of_small}");
        // The mean of |x| over a square of half edge 1 is a half.
        let large: Vec<f32> =
            found.iter().filter(|point| point.radiance.x < 50.0).map(|it| it.position.x.abs()).collect();
        assert!((large.iter().sum::<f32>() / large.len() as f32 - 0.5).abs() < 0.01);
    }

    #[test]
    fn lights_without_a_surface_have_no_points() {
        let kind = LightKind::Point { position: Vec3::ZERO, intensity: Vec3::ONE, radius: 0.0, range: f32::INFINITY };
        let scene = Scene { lights: vec![Light { name: "bulb".into(), kind }], ..Scene::default() };
        let lights = LightSampler::new(&scene);
        assert_eq!(LightAreaSampler::new(&lights).sample(0.5, Vec2::ZERO), None);
    }
}
