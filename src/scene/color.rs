//! Luminance of colors.

use glam::Vec3;

/// Returns the relative luminance of a linear Rec. 709 color, used as the measure of importance.
#[inline]
pub fn luminance(color: Vec3) -> f32 {
    color.dot(Vec3::new(0.2126, 0.7152, 0.0722))
}
