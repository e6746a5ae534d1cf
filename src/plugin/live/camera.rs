//! Bevy's cameras as those of the tracer.

use bevy::math::{Mat4, UVec2};
use bevy::prelude::GlobalTransform;

use crate::pathtrace::{PixelFilter, View};
use crate::scene::Camera;

/// The view of a camera that draws a picture of `size` pixels.
///
/// `None` where the camera has no perspective, looks past the middle of its picture, or stands nowhere.
pub fn view_of(clip_from_view: &Mat4, world_from_view: &GlobalTransform, size: UVec2) -> Option<View> {
    let (width, height) = (clip_from_view.x_axis.x, clip_from_view.y_axis.y);
    let is_perspective = clip_from_view.z_axis.w == -1.0 && clip_from_view.w_axis.w == 0.0;
    let is_centred = clip_from_view.z_axis.x == 0.0 && clip_from_view.z_axis.y == 0.0;
    let to_world = world_from_view.affine();
    let sees = is_perspective && is_centred && width > 0.0 && height > 0.0 && width.is_finite() && height.is_finite();
    if !sees || !to_world.is_finite() || size.min_element() == 0 {
        return None;
    }
    // A picture of few pixels has not quite the shape of what it shows.
    let stretch = height / width * (size.y as f32 / size.x as f32);
    let camera = Camera {
        name: String::new(),
        position: to_world.translation.into(),
        forward: (-to_world.matrix3.z_axis).try_normalize()?.into(),
        right: (to_world.matrix3.x_axis.try_normalize()? * stretch).into(),
        up: to_world.matrix3.y_axis.try_normalize()?.into(),
        vertical_fov: 2.0 * (1.0 / height).atan(),
    };
    Some(View { camera, size, lens: None, filter: PixelFilter::default() })
}

#[cfg(test)]
mod tests {
    use bevy::camera::{CameraProjection, OrthographicProjection, PerspectiveProjection, SubCameraView};
    use bevy::math::Vec3;
    use bevy::prelude::Transform;

    use super::*;

    fn camera() -> PerspectiveProjection {
        PerspectiveProjection { fov: 0.8, aspect_ratio: 1.6, ..Default::default() }
    }

    fn ray(view: &View, place: bevy::math::Vec2) -> Vec3 {
        // The middle of a pixel is where half of the box lies.
        let view = View { filter: PixelFilter::Box, ..view.clone() };
        let pixel = (place * view.size.as_vec2()).as_uvec2();
        view.ray(pixel, [0.5, 0.5, 0.0, 0.0]).direction
    }

    #[test]
    fn a_ray_goes_where_bevy_draws_its_pixel() {
        let place = Transform::from_xyz(1.0, 2.0, 3.0).looking_at(Vec3::new(-2.0, 0.5, 0.0), Vec3::Y);
        let clip_from_view = camera().get_clip_from_view();
        let clip_from_world = clip_from_view * place.to_matrix().inverse();
        // The second has other proportions than what it shows.
        for size in [UVec2::new(320, 200), UVec2::new(40, 23)] {
            let view = view_of(&clip_from_view, &place.into(), size).unwrap();
            for place in [(0.1, 0.1), (0.5, 0.5), (0.93, 0.71)].map(bevy::math::Vec2::from) {
                let pixel = (place * size.as_vec2()).floor() + 0.5;
                let expected = (pixel / size.as_vec2() * 2.0 - 1.0) * bevy::math::Vec2::new(1.0, -1.0);
                let clip = clip_from_world * (view.camera.position + 5.0 * ray(&view, place)).extend(1.0);
                let seen = clip.truncate().truncate() / clip.w;
                assert!((seen - expected).length() < 1e-5, "{seen} instead of {expected}");
            }
        }
    }

    #[test]
    fn cameras_that_cannot_be_traced_are_refused() {
        let at = GlobalTransform::IDENTITY;
        let size = UVec2::splat(8);
        let mut part = camera();
        let sub_view =
            SubCameraView { full_size: UVec2::splat(8), offset: bevy::math::Vec2::ZERO, size: UVec2::splat(4) };
        let off_centre = part.get_clip_from_view_for_sub(&sub_view);
        part.update(8.0, 8.0);
        let straight = part.get_clip_from_view();
        let orthographic = OrthographicProjection::default_3d().get_clip_from_view();
        assert!(view_of(&straight, &at, size).is_some());
        assert!(view_of(&orthographic, &at, size).is_none());
        assert!(view_of(&off_centre, &at, size).is_none());
        assert!(view_of(&straight, &at, UVec2::new(0, 8)).is_none());
        let nowhere = GlobalTransform::from_xyz(f32::NAN, 0.0, 0.0);
        assert!(view_of(&straight, &nowhere, size).is_none());
        let flat = Transform::from_scale(Vec3::new(1.0, 1.0, 0.0)).into();
        assert!(view_of(&straight, &flat, size).is_none());
    }
}
