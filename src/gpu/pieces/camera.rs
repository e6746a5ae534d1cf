//! Tests of camera functions: rays of pixels, and projection of points.

use glam::{UVec2, Vec3, Vec4};

use super::{Pieces, assert_alike, numbers};
use crate::pathtrace::{Lens, PixelFilter, View};
use crate::scene::{Camera, Projection, Scene};

const COUNT: u32 = 2048;

/// Returns a pinhole, a lens and an orthographic camera, with either filter.
fn views() -> [View; 3] {
    let camera = Camera::looking_at(Vec3::new(1.0, 2.0, 3.0), Vec3::new(-0.5, 0.2, -1.0), 0.8).unwrap();
    let pinhole = View { camera, size: UVec2::new(40, 30), lens: None, filter: PixelFilter::Tent };
    let lens = View { lens: Some(Lens { radius: 0.1, focus: 2.5 }), filter: PixelFilter::Box, ..pinhole.clone() };
    let parallel = Camera { projection: Projection::Orthographic { height: 4.0 }, ..pinhole.camera.clone() };
    [pinhole.clone(), lens, View { camera: parallel, ..pinhole }]
}

#[test]
fn pixels_have_the_same_rays() {
    let answer = "fn answer(asked: Rows) -> Rows {
        let ray = camera_ray(vec2<u32>(asked[1].xy), asked[0]);
        return Rows(vec4(ray.origin, 0.0), vec4(ray.direction, 0.0));
    }";
    for view in views() {
        let Some(pieces) = Pieces::new(Scene::default(), view) else { return };
        let view = &pieces.view;
        let asked =
            || (0..COUNT).map(|index| UVec2::new(index % view.size.x, index / 40 % view.size.y)).zip(numbers(1, COUNT));
        let questions: Vec<_> = asked().map(|(pixel, u)| [u.into(), pixel.as_vec2().extend(0.0).extend(0.0)]).collect();
        let expected = asked().map(|(pixel, u)| {
            let ray = view.ray(pixel, u);
            [ray.origin, ray.direction].map(|vector| vector.extend(0.0))
        });
        assert_alike("rays", &pieces.answers(answer, &questions), expected, 2e-6, 0);
    }
}

#[test]
fn points_are_seen_at_the_same_places_and_shared_among_the_same_pixels() {
    let answer = "fn answer(asked: Rows) -> Rows {
        let sight = sight_of(asked[0].xyz, asked[1].xy);
        let shares = shares_at(sight.place);
        var parts = vec4(0.0);
        var pixels = vec4(0.0);
        for (var pixel = 0u; pixel < 4u; pixel++) {
            parts[pixel] = share_of(shares, pixel);
            if parts[pixel] > 0.0 {
                pixels[pixel] = f32(pixel_of(shares, pixel));
            }
        }
        // Light at an edge of two pixels may count to either by a rounding: what it counts to is asked as one number.
        let is_seen = sight.importance > 0.0;
        let seen = vec4(sight.place, sight.importance * 1e-3, dot(parts, pixels));
        return Rows(select(vec4(0.0), seen, is_seen), select(vec4(0.0), vec4(sight.origin, dot(parts, vec4(1.0))), is_seen));
    }";
    for view in views() {
        let Some(pieces) = Pieces::new(Scene::default(), view) else { return };
        let view = &pieces.view;
        let asked = || {
            numbers(2, COUNT)
                .zip(numbers(3, COUNT))
                .map(|([x, y, z, lens], [other, ..])| (8.0 * Vec3::new(x, y, z) - 4.0, [lens, other]))
        };
        let questions: Vec<_> = asked().map(|(point, [a, b])| [point.extend(0.0), Vec4::new(a, b, 0.0, 0.0)]).collect();
        let mut seen = 0;
        let expected: Vec<_> = asked()
            .map(|(point, on_lens)| {
                let Some(sight) = view.sight(point, on_lens) else { return [Vec4::ZERO; 2] };
                let shares: Vec<_> = view.shares(sight.place).collect();
                seen += usize::from(!shares.is_empty());
                let pixels: f32 = shares.iter().map(|(pixel, share)| *pixel as f32 * share).sum();
                let share: f32 = shares.iter().map(|(_, share)| share).sum();
                [sight.place.extend(1e-3 * sight.importance).extend(pixels), sight.origin.extend(share)]
            })
            .collect();
        assert!(seen > 100, "{seen} are in the picture");
        assert_alike("places", &pieces.answers(answer, &questions), expected, 1e-4, 4);
    }
}
