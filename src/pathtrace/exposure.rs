//! Exposure of a picture: Bevy's exposure values, and a light meter.

use glam::Vec2;

use super::Integrator;
use crate::geometry::Ray;
use crate::geometry::sobol::hash2;
use crate::scene::{Camera, luminance};

/// Exposure of a camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposure {
    /// Exposure value at ISO 100. Higher values make the picture darker.
    pub ev100: f32,
}

impl Exposure {
    /// Returns the factor from radiance in cd/m2 to exposed color, equal to Bevy's.
    pub fn factor(self) -> f32 {
        libm::exp2f(-self.ev100) / 1.2
    }

    /// Returns the exposure that makes a luminance in cd/m2 middle gray. The constant of reflected-light meters is 12.5
    /// (ISO 2720).
    pub fn of_middle_gray(luminance: f32) -> Self {
        Self { ev100: libm::log2(f64::from(luminance * 100.0 / 12.5)) as f32 }
    }
}

/// Number of rays from the center of the picture to each edge of the metered grid.
const METER_RAYS: i32 = 8;
/// Aspect ratio of the metered part of a picture, and of previews.
pub(crate) const ASPECT: f32 = 16.0 / 9.0;

/// Returns the exposure that makes the average of a view middle gray. `luminance_along` gives the luminance of a ray in
/// cd/m2. Returns `None` if all rays are black.
pub fn meter(camera: &Camera, luminance_along: impl Fn(&Ray) -> Option<f32>) -> Option<Exposure> {
    let steps = || (-METER_RAYS..=METER_RAYS).map(|step| step as f32 / METER_RAYS as f32);
    let (mut sum, mut count) = (0.0f32, 0.0f32);
    for place in steps().flat_map(|y| steps().map(move |x| Vec2::new(x * ASPECT, y))) {
        let ray = camera.sight_line(place);
        if let Some(luminance) = luminance_along(&ray).filter(|luminance| *luminance > 0.0) {
            sum += libm::log(f64::from(luminance)) as f32;
            count += 1.0;
        }
    }
    (count > 0.0).then(|| Exposure::of_middle_gray(libm::exp(f64::from(sum / count)) as f32))
}

/// Default exposure of Bevy, for pictures without lit surfaces.
const DEFAULT_EXPOSURE: Exposure = Exposure { ev100: 9.7 };

/// Returns the exposure that makes the average of the surfaces in view middle gray. Each ray of the light meter averages
/// the given number of samples.
pub fn metered(tracer: &dyn Integrator, camera: &Camera, samples: u32) -> Exposure {
    let found = meter(camera, |ray| {
        let seed = hash2(ray.direction.x.to_bits(), ray.direction.y.to_bits());
        let (mut sum, mut is_surface) = (0.0, false);
        for sample in 0..samples {
            let seen = tracer.trace(ray, sample, seed);
            sum += luminance(seen.radiance);
            is_surface |= seen.surface.is_some();
        }
        is_surface.then_some(sum / samples as f32)
    });
    found.unwrap_or(DEFAULT_EXPOSURE)
}

/// Returns the exposure that makes the average of a picture's lit pixels middle gray. For pictures that show something
/// else than the radiance of the scene.
#[cfg(feature = "cli")]
pub(crate) fn metered_film(film: &super::Film) -> Exposure {
    let luminances = film.pixels().iter().map(|pixel| luminance(pixel.radiance)).filter(|&luminance| luminance > 0.0);
    let (sum, count) = luminances.fold((0.0, 0u32), |(sum, count), it| (sum + libm::log(f64::from(it)), count + 1));
    if count == 0 { DEFAULT_EXPOSURE } else { Exposure::of_middle_gray(libm::exp(sum / f64::from(count)) as f32) }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    #[test]
    fn a_wall_of_one_luminance_is_metered_as_a_photographer_would() {
        let camera = Camera::looking_at(Vec3::ZERO, Vec3::NEG_Z, 1.0).unwrap();
        // A sunlit scene has 4096 cd/m2: EV 15.
        let exposure = meter(&camera, |_| Some(4096.0)).unwrap();
        assert!((exposure.ev100 - 15.0).abs() < 1e-4, "{exposure:?}");
        assert!((exposure.factor() * 4096.0 - 0.125 / 1.2).abs() < 1e-5);
        let half = meter(&camera, |ray| (ray.direction.x < 0.0).then_some(4096.0)).unwrap();
        assert!((half.ev100 - exposure.ev100).abs() < 1e-4, "where nothing is seen, nothing is metered");
        assert_eq!(meter(&camera, |_| Some(0.0)), None);
    }
}
