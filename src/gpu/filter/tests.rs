use glam::{UVec2, Vec3};

use super::twin::{Lit, Seen};
use super::*;
use crate::geometry::sobol::{hash2, unit_float};
use crate::gpu::context::test_device;
use crate::pathtrace::{Film, Pixel, PixelFilter};
use crate::scene::{Camera, Projection};

const SIZE: UVec2 = UVec2::new(64, 48);

/// Returns a camera that looks along -Z from a point on the x axis.
fn view_from(x: f32) -> View {
    let camera = Camera::looking_at(Vec3::X * x, Vec3::new(x, 0.0, -1.0), 1.0).unwrap();
    View { camera, size: SIZE, lens: None, filter: PixelFilter::Box }
}

/// Colorful wall at a distance of three meters, with a board on the left at a distance of two.
struct World {
    light_of_wall: f32,
    light_of_board: f32,
    /// Maximum relative deviation of samples from the mean.
    noise: f32,
    samples: u32,
}

const QUIET: World = World { light_of_wall: 5.0, light_of_board: 5.0, noise: 0.0, samples: 1 };

impl World {
    fn film(&self, view: &View, seed: u32) -> (Film, Vec<Option<u32>>) {
        let pixels = (0..SIZE.y).flat_map(|y| (0..SIZE.x).map(move |x| UVec2::new(x, y)));
        let seen = pixels.enumerate().map(|(index, pixel)| {
            let ray = view.ray(pixel, [0.5, 0.5, 0.0, 0.0]);
            let at = |z: f32| ray.at(z / ray.direction.z);
            let (position, surface) = if at(-2.0).x < -0.2 { (at(-2.0), 0) } else { (at(-3.0), 1) };
            let part = |axis: f32| 0.5 + 0.4 * (7.0 * axis).sin();
            let albedo = Vec3::new(part(position.x), part(position.y), 0.3);
            let light = [self.light_of_board, self.light_of_wall][surface as usize];
            let off = (2.0 * unit_float(hash2(seed, index as u32)) - 1.0) * self.noise;
            let radiance = albedo * light * (1.0 + off);
            let squares = if self.samples > 1 { (radiance * off).powf(2.0) } else { Vec3::ZERO };
            let depth = position.distance(ray.origin);
            let pixel = Pixel { samples: self.samples, radiance, squares, albedo, normal: Vec3::Z, depth };
            (pixel, Some(surface))
        });
        let (pixels, surfaces) = seen.unzip();
        (Film::from_pixels(SIZE, pixels), surfaces)
    }
}

fn filtered(film: &Film, surfaces: &[Option<u32>], view: &View) -> Vec<Vec3> {
    let seen = Seen { film, surfaces, view };
    let (lit, rough) = seen.gather(None);
    seen.picture(&lit, rough)
}

fn largest_difference(a: impl IntoIterator<Item = Vec3>, b: impl IntoIterator<Item = Vec3>) -> f32 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).length() / b.length().max(1e-3)).fold(0.0, f32::max)
}

fn radiances(film: &Film) -> impl Iterator<Item = Vec3> {
    film.pixels().iter().map(|pixel| pixel.radiance)
}

#[test]
fn constant_light_stays_as_it_is_whatever_the_surfaces_colors() {
    let view = view_from(0.0);
    let (film, surfaces) = QUIET.film(&view, 0);
    let off = largest_difference(filtered(&film, &surfaces, &view), radiances(&film));
    assert!(off < 1e-4, "{off}");
}

#[test]
fn noise_goes_and_energy_stays() {
    let view = view_from(0.0);
    let (film, surfaces) = World { noise: 1.0, ..QUIET }.film(&view, 1);
    let (truth, _) = QUIET.film(&view, 0);
    let smooth = filtered(&film, &surfaces, &view);
    let mean = |picture: &[Vec3]| picture.iter().sum::<Vec3>() / picture.len() as f32;
    let rough: Vec<Vec3> = radiances(&film).collect();
    let kept = mean(&smooth) / mean(&rough);
    assert!((kept - 1.0).abs().max_element() < 0.01, "{kept}");
    let error = |picture: &[Vec3]| {
        let squares = picture.iter().zip(radiances(&truth)).map(|(a, b)| ((*a - b) / b).length_squared());
        (squares.sum::<f32>() / picture.len() as f32).sqrt()
    };
    assert!(error(&smooth) < 0.15 * error(&rough), "{} of {}", error(&smooth), error(&rough));
}

#[test]
fn a_speck_that_nothing_else_explains_goes_and_light_that_few_samples_find_stays() {
    let view = view_from(0.0);
    let (quiet, surfaces) = QUIET.film(&view, 0);
    let brightened = |part: &dyn Fn(usize) -> f32| {
        let pixels = quiet.pixels().iter().enumerate();
        let pixels = pixels.map(|(index, pixel)| Pixel { radiance: pixel.radiance * part(index), ..*pixel });
        Film::from_pixels(SIZE, pixels.collect())
    };
    let middle = (SIZE.y / 2 * SIZE.x + SIZE.x / 2) as usize;
    let speck = brightened(&|index| if index == middle { 1000.0 } else { 1.0 });
    let off = largest_difference(filtered(&speck, &surfaces, &view), radiances(&quiet));
    assert!(off < 0.01, "{off}");
    let sparse = brightened(&|index| if hash2(5, index as u32).is_multiple_of(2) { 2.0 } else { 0.0 });
    let sum =
        |picture: &mut dyn Iterator<Item = Vec3>| picture.map(|light| f64::from(light.element_sum())).sum::<f64>();
    let kept = sum(&mut filtered(&sparse, &surfaces, &view).into_iter()) / sum(&mut radiances(&sparse));
    assert!(kept > 0.9, "{kept}");
}

#[test]
fn light_does_not_cross_the_edges_of_surfaces() {
    let view = view_from(0.0);
    let (film, surfaces) = World { light_of_wall: 1.0, light_of_board: 100.0, ..QUIET }.film(&view, 0);
    let off = largest_difference(filtered(&film, &surfaces, &view), radiances(&film));
    assert!(off < 1e-4, "{off}");
}

#[test]
fn a_moved_camera_remembers_what_it_saw_and_nothing_of_what_was_hidden() {
    let (first, second) = (view_from(0.0), view_from(0.4));
    let world = World { noise: 0.5, ..QUIET };
    let (film, surfaces) = world.film(&first, 1);
    let (before, _) = Seen { film: &film, surfaces: &surfaces, view: &first }.gather(None);
    let (film, surfaces) = world.film(&second, 2);
    let (lit, _) = Seen { film: &film, surfaces: &surfaces, view: &second }.gather(Some((&first, &before)));
    let samples_at = |x: f32, distance: f32| {
        let place = (x - second.camera.position.x) / (distance * second.camera.half_height());
        let column = (place * SIZE.y as f32 + SIZE.x as f32) * 0.5;
        lit[(SIZE.y / 2 * SIZE.x) as usize + column as usize].samples
    };
    assert_eq!(samples_at(-0.5, 2.0), 2.0, "the board");
    assert_eq!(samples_at(0.5, 3.0), 2.0, "the wall");
    // The board's edge at -0.2 hid the wall up to -0.3 from the first camera, and up to -0.5 from the second.
    assert_eq!(samples_at(-0.4, 3.0), 1.0, "the wall behind the board");
    // The first camera's picture ended at 2.18.
    assert_eq!(samples_at(2.4, 3.0), 1.0, "the wall beyond the picture");
}

#[test]
fn a_film_of_many_samples_is_shown_as_it_is() {
    let view = view_from(0.0);
    let (film, surfaces) = World { noise: 0.5, samples: 64, ..QUIET }.film(&view, 1);
    assert_eq!(largest_difference(filtered(&film, &surfaces, &view), radiances(&film)), 0.0);
    assert!(!is_worth_filtering(64) && is_worth_filtering(63));
}

#[test]
fn the_device_filters_as_the_cpu_does() {
    assert_filters_alike(view_from(0.0), view_from(0.2));
    let parallel = |mut view: View| {
        view.camera.projection = Projection::Orthographic { height: 3.0 };
        view
    };
    assert_filters_alike(parallel(view_from(0.0)), parallel(view_from(0.2)));
    assert_filters_alike(view_from(0.0), parallel(view_from(0.2)));
}

/// Compares three consecutive pictures of two views with the CPU reference.
fn assert_filters_alike(first: View, second: View) {
    let Some(gpu) = test_device() else { return };
    let filter = PictureFilter::new(&gpu);
    let mut picture = FilteredPicture::new(&gpu, first.clone()).unwrap();
    let mut before: Option<(View, Vec<Lit>)> = None;
    for (view, samples) in [(first, 1), (second.clone(), 1), (second.clone(), 8)] {
        let (film, surfaces) = World { noise: 0.8, samples, light_of_board: 20.0, ..QUIET }.film(&view, samples);
        let seen = Seen { film: &film, surfaces: &surfaces, view: &view };
        let (lit, rough) = seen.gather(before.as_ref().map(|(view, lit)| (view, &lit[..])));
        let expected = seen.picture(&lit, rough);

        let on_device = GpuFilm::with_pixels(&gpu, &film, &surfaces).unwrap();
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        filter.record(&gpu, &mut encoder, &on_device, &mut picture, samples);
        gpu.queue.submit([encoder.finish()]);
        let found: Vec<[f32; 4]> = gpu.read(picture.picture().unwrap(), expected.len()).unwrap();
        let found: Vec<Vec3> = found.iter().map(|&[red, green, blue, _]| Vec3::new(red, green, blue)).collect();
        let off = largest_difference(found, expected);
        assert!(off < 2e-3, "{off} with {samples} samples");
        picture.begin(&gpu, second.clone(), true).unwrap();
        before = Some((view, lit));
    }
}

#[test]
fn pictures_may_change_their_size() {
    let Some(gpu) = test_device() else { return };
    let filter = PictureFilter::new(&gpu);
    let mut picture = FilteredPicture::new(&gpu, view_from(0.0)).unwrap();
    for size in [SIZE, SIZE / 8, UVec2::ONE, SIZE, SIZE] {
        let view = View { size, ..view_from(0.1) };
        picture.begin(&gpu, view, false).unwrap();
        assert!(picture.picture().is_none());
        let film = GpuFilm::new(&gpu, size).unwrap();
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        filter.record(&gpu, &mut encoder, &film, &mut picture, 1);
        gpu.queue.submit([encoder.finish()]);
        gpu.wait().unwrap();
        assert!(picture.picture().is_some() && picture.size() == size);
    }
}
