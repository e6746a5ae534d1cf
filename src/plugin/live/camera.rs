//! Conversion of Bevy's cameras for the path tracer.

use bevy::math::{Mat4, UVec2, Vec2, Vec3, Vec4Swizzles};
use bevy::prelude::GlobalTransform;

use crate::pathtrace::{PixelFilter, View};
use crate::scene::{Camera, Projection};

/// Returns the view of a camera for an image of `size` pixels.
///
/// `None` for other projections than orthographic and centered perspective ones, for non-finite values and for empty
/// images.
pub fn view_of(clip_from_view: &Mat4, world_from_view: &GlobalTransform, size: UVec2) -> Option<View> {
    let to_world = world_from_view.affine();
    if !clip_from_view.is_finite() || !to_world.is_finite() || size.min_element() == 0 {
        return None;
    }
    let [width, height] = [clip_from_view.x_axis.x, clip_from_view.y_axis.y];
    let (aside, depth, place) = (clip_from_view.z_axis.xy(), clip_from_view.z_axis, clip_from_view.w_axis);
    if !(width > 0.0 && height > 0.0) || aside != Vec2::ZERO {
        return None;
    }
    let axes = to_world.matrix3;
    let (projection, origin) = match (depth.w, place.w) {
        (-1.0, 0.0) => (Projection::Perspective { vertical_fov: 2.0 * libm::atanf(1.0 / height) }, Vec3::ZERO),
        (0.0, 1.0) => {
            // Rays start at the near plane. Without a far plane its distance cannot be recovered.
            let near = (place.z - 1.0) / depth.z;
            let near = if near.is_finite() { near } else { 0.0 };
            let height_in_world = 2.0 / height * axes.y_axis.length();
            (
                Projection::Orthographic { height: height_in_world },
                Vec3::new(-place.x / width, -place.y / height, -near),
            )
        }
        _ => return None,
    };
    // Rounding to whole pixels changes the aspect ratio of small images.
    let mut stretch = height / width * (size.y as f32 / size.x as f32);
    if matches!(projection, Projection::Orthographic { .. }) {
        stretch *= axes.x_axis.length() / axes.y_axis.length();
    }
    let camera = Camera {
        name: String::new(),
        position: to_world.transform_point3(origin),
        forward: (-axes.z_axis).try_normalize()?.into(),
        right: (axes.x_axis.try_normalize()? * stretch).into(),
        up: axes.y_axis.try_normalize()?.into(),
        projection,
    };
    Some(View { camera, size, lens: None, filter: PixelFilter::default() })
}

#[cfg(test)]
mod tests {
    use bevy::camera::ScalingMode;
    use bevy::camera::{CameraProjection, OrthographicProjection, PerspectiveProjection, SubCameraView};
    use bevy::math::Rect;
    use bevy::prelude::Transform;

    use super::*;
    use crate::geometry::Ray;

    fn camera() -> PerspectiveProjection {
        PerspectiveProjection { fov: 0.8, aspect_ratio: 1.6, ..Default::default() }
    }

    fn ray(view: &View, place: Vec2) -> Ray {
        // A box filter samples the center of a pixel at 0.5.
        let view = View { filter: PixelFilter::Box, ..view.clone() };
        let pixel = (place * view.size.as_vec2()).as_uvec2();
        view.ray(pixel, [0.5, 0.5, 0.0, 0.0])
    }

    /// Asserts that rays agree with Bevy's projection.
    fn assert_draws_alike(clip_from_view: &Mat4, place: Transform) {
        let clip_from_world = clip_from_view * place.to_matrix().inverse();
        // The second size has another aspect ratio than the camera.
        for size in [UVec2::new(320, 200), UVec2::new(40, 23)] {
            let view = view_of(clip_from_view, &place.into(), size).unwrap();
            for place in [(0.1, 0.1), (0.5, 0.5), (0.93, 0.71)].map(Vec2::from) {
                let pixel = (place * size.as_vec2()).floor() + 0.5;
                let expected = (pixel / size.as_vec2() * 2.0 - 1.0) * Vec2::new(1.0, -1.0);
                let clip = clip_from_world * ray(&view, place).at(5.0).extend(1.0);
                let seen = clip.xy() / clip.w;
                assert!((seen - expected).length() < 1e-5, "{seen} instead of {expected}");
            }
        }
    }

    #[test]
    fn a_ray_goes_where_bevy_draws_its_pixel() {
        let place = Transform::from_xyz(1.0, 2.0, 3.0).looking_at(Vec3::new(-2.0, 0.5, 0.0), Vec3::Y);
        assert_draws_alike(&camera().get_clip_from_view(), place);
        let mut parallel = OrthographicProjection {
            near: -2.0,
            viewport_origin: Vec2::new(0.3, 0.9),
            scaling_mode: ScalingMode::FixedVertical { viewport_height: 6.0 },
            ..OrthographicProjection::default_3d()
        };
        parallel.update(16.0, 10.0);
        let clip_from_view = parallel.get_clip_from_view();
        assert_draws_alike(&clip_from_view, place);
        assert_draws_alike(&clip_from_view, place.with_scale(Vec3::new(0.5, 2.0, 3.0)));
        // Rays start at the near plane, which lies behind the camera.
        let view = view_of(&clip_from_view, &place.into(), UVec2::splat(4)).unwrap();
        let ahead = (view.camera.position - place.translation).dot(*place.forward());
        assert!((ahead + 2.0).abs() < 1e-3, "{ahead}");
    }

    #[test]
    fn cameras_that_cannot_be_traced_are_refused() {
        let at = GlobalTransform::IDENTITY;
        let size = UVec2::splat(8);
        let mut part = camera();
        let sub_view = SubCameraView { full_size: UVec2::splat(8), offset: Vec2::ZERO, size: UVec2::splat(4) };
        let off_center = part.get_clip_from_view_for_sub(&sub_view);
        part.update(8.0, 8.0);
        let straight = part.get_clip_from_view();
        assert!(view_of(&straight, &at, size).is_some());
        let empty = OrthographicProjection { area: Rect::default(), ..OrthographicProjection::default_3d() };
        assert!(view_of(&empty.get_clip_from_view(), &at, size).is_none());
        assert!(view_of(&off_center, &at, size).is_none());
        assert!(view_of(&straight, &at, UVec2::new(0, 8)).is_none());
        let nowhere = GlobalTransform::from_xyz(f32::NAN, 0.0, 0.0);
        assert!(view_of(&straight, &nowhere, size).is_none());
        let flat = Transform::from_scale(Vec3::new(1.0, 1.0, 0.0)).into();
        assert!(view_of(&straight, &flat, size).is_none());
    }
}
