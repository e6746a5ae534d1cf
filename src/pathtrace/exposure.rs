//! How bright a picture is: Bevy's exposure, and a light meter that finds one.

use glam::Vec2;

use crate::geometry::Ray;
use crate::scene::Camera;

/// How much light a camera lets in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exposure {
    /// Exposure value at ISO 100; a higher one makes the picture darker.
    pub ev100: f32,
}

impl Exposure {
    /// What radiance in cd/m2 is multiplied with, as Bevy does it.
    pub fn factor(self) -> f32 {
        (-self.ev100).exp2() / 1.2
    }

    /// The exposure under which a luminance in cd/m2 is middle grey: 12.5 is the constant of reflected-light meters
    /// (ISO 2720).
    pub fn of_middle_grey(luminance: f32) -> Self {
        Self { ev100: (luminance * 100.0 / 12.5).log2() }
    }
}

/// Rays to each side of the picture's middle that the light meter looks along.
const METER_RAYS: i32 = 8;
/// Width of the part of a picture that is metered, over its height.
const ASPECT: f32 = 16.0 / 9.0;

/// The exposure under which what a camera sees is middle grey on average, given the luminance in cd/m2 along rays; `None`
/// where it sees nothing that is not black.
pub fn meter(camera: &Camera, luminance_along: impl Fn(&Ray) -> Option<f32>) -> Option<Exposure> {
    let steps = || (-METER_RAYS..=METER_RAYS).map(|step| step as f32 / METER_RAYS as f32);
    let (mut sum, mut count) = (0.0f32, 0.0f32);
    for place in steps().flat_map(|y| steps().map(move |x| Vec2::new(x * ASPECT, y))) {
        let ray = camera.sight_line(place);
        if let Some(luminance) = luminance_along(&ray).filter(|luminance| *luminance > 0.0) {
            sum += luminance.ln();
            count += 1.0;
        }
    }
    (count > 0.0).then(|| Exposure::of_middle_grey((sum / count).exp()))
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    #[test]
    fn a_wall_of_one_luminance_is_metered_as_a_photographer_would() {
        let camera = Camera::looking_at(Vec3::ZERO, Vec3::NEG_Z, 1.0).unwrap();
        // 4096 cd/m2 is a sunlit scene: EV 15.
        let exposure = meter(&camera, |_| Some(4096.0)).unwrap();
        assert!((exposure.ev100 - 15.0).abs() < 1e-4, "{exposure:?}");
        assert!((exposure.factor() * 4096.0 - 0.125 / 1.2).abs() < 1e-5);
        let half = meter(&camera, |ray| (ray.direction.x < 0.0).then_some(4096.0)).unwrap();
        assert!((half.ev100 - exposure.ev100).abs() < 1e-4, "where nothing is seen, nothing is metered");
        assert_eq!(meter(&camera, |_| Some(0.0)), None);
    }
}
