//! Guarantees of filtering.

use glam::Vec3;

use super::*;
use crate::accel::BruteForce;
use crate::lightmap::fixtures::{Fixture, merged, quad};
use crate::lightmap::{ElementId, Elements, Page, Texel, pages};
use crate::progress::Unmonitored;
use crate::scene::Sides;

fn build(fixture: &Fixture) -> Elements {
    let world = BruteForce::new(&fixture.scene);
    Elements::build(&fixture.scene, &fixture.layout, &world, &Unmonitored).expect("nobody cancels")
}

/// Paints pages with irradiance / pi and a visible fraction for each element.
fn painted(fixture: &Fixture, elements: &Elements, paint: impl Fn(ElementId) -> (Vec3, f32)) -> Vec<Page> {
    let (values, valid): (Vec<Vec3>, Vec<f32>) =
        elements.ids().map(paint).map(|(value, valid)| (value * core::f32::consts::PI, valid)).unzip();
    pages(&fixture.layout, elements, &values, &valid)
}

fn stitched(fixture: &Fixture, elements: &Elements, pages: &mut [Page]) -> Stitched {
    stitched_within(usize::MAX, fixture, elements, pages)
}

fn stitched_within(max_pairs: usize, fixture: &Fixture, elements: &Elements, pages: &mut [Page]) -> Stitched {
    let world = BruteForce::new(&fixture.scene);
    let stitched = stitch(pages, &fixture.scene, &fixture.layout, elements, &world, max_pairs, &Unmonitored);
    stitched.expect("nobody stops it")
}

/// Builds square floors of 16 by 16 texels, one meter wide, with fronts up.
fn floors(corners: &[Vec3]) -> Fixture {
    let mut fixture = Fixture::default();
    for corner in corners {
        fixture.add(quad(*corner, Vec3::X, Vec3::NEG_Z), Sides::Front, [16, 16]);
    }
    fixture
}

fn close(a: Vec3, b: Vec3) -> bool {
    (a - b).abs().max_element() < 1e-5
}

#[test]
fn dilation_fills_the_surroundings_of_each_chart_with_its_own_color_only() {
    let parts = [0.0, 1.0, 2.0].map(|x| quad(Vec3::X * x, Vec3::X, Vec3::NEG_Z));
    let (mesh, charts) = merged(&parts);
    let mut fixture = Fixture::default();
    fixture.add_charts(mesh, charts, Sides::Front, [48, 16]);
    let elements = build(&fixture);
    let colors = [Vec3::X, Vec3::Y, Vec3::Z];
    let color = |x: usize| colors[x / 16];
    let mut pages = painted(&fixture, &elements, |id| (color(usize::from(elements.texel[id.index()].x)), 1.0));
    let covered = pages[0].texels.iter().filter(|texel| **texel != Vec3::ZERO).count();
    assert_eq!(covered, 3 * 12 * 12);
    dilate(&mut pages, &fixture.layout, &elements, 1);
    assert_eq!(pages[0].texels.iter().filter(|texel| **texel != Vec3::ZERO).count(), 3 * 14 * 14);
    dilate(&mut pages, &fixture.layout, &elements, 5);
    for (texel, value) in pages[0].texels.iter().enumerate() {
        assert!(close(*value, color(texel % 48)), "{texel}: {value}");
    }
}

/// Returns the gap between two charts with edges of `edge` texels. Also returns the largest share of one chart's light
/// that bicubic filtering shows on the other.
fn light_of_the_neighbor(edge: u32) -> (u32, f32) {
    let parts = [0.0, 1.0].map(|x| quad(Vec3::X * x, Vec3::X, Vec3::NEG_Z));
    let (mesh, charts) = merged(&parts);
    let mut fixture = Fixture::default();
    // Charts cover three quarters of the rectangle.
    fixture.add_charts(mesh, charts, Sides::Front, [2 * edge * 4 / 3, edge * 4 / 3]);
    let elements = build(&fixture);
    let half = edge * 4 / 3;
    let mut pages = painted(&fixture, &elements, |id| {
        (Vec3::splat(if u32::from(elements.texel[id.index()].x) < half { 48.0 } else { 0.0 }), 1.0)
    });
    let gap = edge / 3;
    dilate(&mut pages, &fixture.layout, &elements, gap);
    let start = half + gap / 2;
    let spots = (0..=8 * edge).flat_map(|x| (0..=8 * edge).map(move |y| [x, y]));
    let spots = spots.map(|[x, y]| glam::Vec2::new(start as f32 + x as f32 / 8.0, (gap / 2) as f32 + y as f32 / 8.0));
    (gap, spots.map(|spot| pages[0].filtered_bicubic(spot).x / 48.0).fold(0.0, f32::max))
}

#[test]
fn bicubic_filtering_shows_light_of_a_neighbor_below_a_padding_of_four_texels_and_none_from_there_on() {
    use crate::lightmap::LayoutSettings;
    assert_eq!(light_of_the_neighbor(3 * LayoutSettings::BICUBIC_PADDING), (4, 0.0));
    let (gap, share) = light_of_the_neighbor(6);
    // At the chart's edge, the second texel beyond it has a weight of 1 / 48.
    assert!(gap == 2 && (share * 48.0 - 1.0).abs() < 1e-4, "{gap}: {share}");
}

#[test]
fn buried_texels_take_the_value_of_the_nearest_visible_ones_of_their_chart() {
    let fixture = floors(&[Vec3::ZERO, Vec3::X * 4.0]);
    let elements = build(&fixture);
    // A wall seven texels thick stands on the first floor. Red light is on one side, green on the other. The second
    // floor is fully buried.
    let mut pages =
        painted(&fixture, &elements, |id| match (elements.texel[id.index()].page, elements.texel[id.index()].x) {
            (0, 0..4) => (Vec3::X, 1.0),
            (0, 4..11) | (1, _) => (Vec3::ONE * 9.0, 0.0),
            _ => (Vec3::Y, 1.0),
        });
    dilate(&mut pages, &fixture.layout, &elements, 2);
    for y in 0..16 {
        for x in 0..16 {
            let value = pages[0].texels[pages[0].index(x, y)];
            match x {
                ..7 => assert!(close(value, Vec3::X), "{x}: {value}"),
                7 => assert!((value.x - 0.5).abs() < 1e-5 && (value.y - 0.5).abs() < 1e-5),
                8.. => assert!(close(value, Vec3::Y), "{x}: {value}"),
            }
        }
    }
    assert!(pages[1].texels.iter().all(|texel| *texel == Vec3::ZERO));
}

#[test]
fn light_that_falls_off_towards_a_wall_does_so_to_the_end() {
    let fixture = floors(&[Vec3::ZERO]);
    let elements = build(&fixture);
    // The texels of a row have their indices as values, and the last five are buried.
    let mut pages = painted(&fixture, &elements, |id| {
        let x = elements.texel[id.index()].x;
        (Vec3::splat(f32::from(x + 1)), if x < 11 { 1.0 } else { 0.0 })
    });
    dilate(&mut pages, &fixture.layout, &elements, 0);
    let row = &pages[0].texels[pages[0].index(0, 8)..][..16];
    assert!(close(row[10], Vec3::splat(11.0)) && close(row[11], Vec3::splat(12.0)), "{row:?}");
    assert!(row[12..].iter().all(|value| close(*value, row[11])), "{row:?}");
}

#[test]
fn light_does_not_go_on_beyond_the_edge_of_a_shadow() {
    let fixture = floors(&[Vec3::ZERO]);
    let elements = build(&fixture);
    for edge in [9, 10, 11] {
        let mut pages = painted(&fixture, &elements, |id| {
            let x = elements.texel[id.index()].x;
            (Vec3::splat(if x < edge { 1.0 } else { 100.0 }), if x < 12 { 1.0 } else { 0.0 })
        });
        dilate(&mut pages, &fixture.layout, &elements, 0);
        assert!(pages[0].texels.iter().all(|value| (1.0..=100.001).contains(&value.x)));
    }
}

#[test]
fn no_light_comes_through_a_wall_one_texel_thick() {
    let fixture = floors(&[Vec3::ZERO]);
    let elements = build(&fixture);
    // Light up to the middle of column 4, then the wall up to the end of column 5, then a dark room.
    let mut pages = painted(&fixture, &elements, |id| match elements.texel[id.index()].x {
        0..4 => (Vec3::ONE, 1.0),
        4 => (Vec3::ONE, 0.5),
        5 => (Vec3::ZERO, 0.0),
        _ => (Vec3::splat(1e-3), 1.0),
    });
    dilate(&mut pages, &fixture.layout, &elements, 2);
    assert!(close(pages[0].texels[5], Vec3::splat(1e-3)), "{}", pages[0].texels[5]);
    assert_eq!(pages[0].texels[4], Vec3::ONE);
}

#[test]
fn a_step_between_floors_that_continue_each_other_is_closed() {
    let fixture = floors(&[Vec3::ZERO, Vec3::X]);
    let elements = build(&fixture);
    let mut pages = painted(&fixture, &elements, |id| (Vec3::splat(1.0 + elements.texel[id.index()].page as f32), 1.0));
    let found = stitched(&fixture, &elements, &mut pages);
    assert_eq!(found.pairs, 64);
    assert!((found.before - 1.0).abs() < 1e-5);
    assert!(found.after < 0.01, "{found:?}");
    // Only the texels at the seam have changed, to the mean.
    assert!((pages[0].texels[15].x - 1.5).abs() < 0.02 && (pages[1].texels[0].x - 1.5).abs() < 0.02);
    assert_eq!((pages[0].texels[14].x, pages[1].texels[1].x), (1.0, 2.0));
}

/// Builds two square charts of one surface that continue each other, with room for `padding` texels around each.
fn two_charts(padding: u32) -> (Fixture, Elements) {
    let parts = [0.0, 1.0].map(|x| quad(Vec3::X * x, Vec3::X, Vec3::NEG_Z));
    let (mesh, charts) = merged(&parts);
    let mut fixture = Fixture::default();
    fixture.add_charts(mesh, charts, Sides::Front, [64, 32]);
    fixture.layout.padding = padding;
    let elements = build(&fixture);
    (fixture, elements)
}

#[test]
fn a_seam_is_closed_for_bicubic_filtering_where_the_padding_allows_it_and_for_bilinear_filtering_elsewhere() {
    use crate::lightmap::LayoutSettings;
    use glam::Vec2;
    // Charts of 24 x 24 texels begin four texels from the left. Their common edge is the right one of the first.
    let ends = |along: f32| [28.0, 36.0].map(|x| Vec2::new(x, 4.0 + 24.0 * along));
    for (padding, is_bicubic) in [(LayoutSettings::BICUBIC_PADDING, true), (2, false)] {
        let (fixture, elements) = two_charts(padding);
        // Each has a gradient along the seam, and another brightness.
        let mut pages = painted(&fixture, &elements, |id| {
            let Texel { x, y, .. } = elements.texel[id.index()];
            (Vec3::splat((if x < 32 { 10.0 } else { 12.0 }) + 0.1 * f32::from(y)), 1.0)
        });
        dilate(&mut pages, &fixture.layout, &elements, 4);
        let found = stitched(&fixture, &elements, &mut pages);
        assert!(found.pairs > 0 && (found.before - 2.0).abs() < 1e-3 && found.after < 0.02, "{found:?}");
        let worst = |filtered: fn(&Page, Vec2) -> Vec3| {
            let step = |along: f32| {
                let [a, b] = ends(along).map(|spot| filtered(&pages[0], spot).x);
                (a - b).abs()
            };
            (1..100).map(|point| step(point as f32 / 100.0)).fold(0.0, f32::max)
        };
        let [bilinear, bicubic] = [worst(Page::filtered), worst(Page::filtered_bicubic)];
        let (closed, open) = if is_bicubic { (bicubic, bilinear) } else { (bilinear, bicubic) };
        assert!(closed < 0.05 && open > closed, "padding {padding}: bilinear {bilinear}, bicubic {bicubic}");
    }
}

#[test]
fn a_step_between_charts_of_one_surface_is_closed() {
    let parts = [0.0, 1.0].map(|x| quad(Vec3::X * x, Vec3::X, Vec3::NEG_Z));
    let (mesh, charts) = merged(&parts);
    let mut fixture = Fixture::default();
    fixture.add_charts(mesh, charts, Sides::Front, [32, 16]);
    let elements = build(&fixture);
    let mut pages = painted(&fixture, &elements, |id| {
        (Vec3::new(1.0, 2.0, 3.0) * if elements.texel[id.index()].x < 16 { 1.0 } else { 1.2 }, 1.0)
    });
    dilate(&mut pages, &fixture.layout, &elements, 2);
    let found = stitched(&fixture, &elements, &mut pages);
    assert!(found.pairs > 0 && found.after < 0.01 * found.before, "{found:?}");
}

#[test]
fn floors_of_different_size_that_share_part_of_an_edge_are_stitched_along_it() {
    let mut fixture = floors(&[Vec3::ZERO]);
    fixture.add(quad(Vec3::new(1.0, 0.0, 0.7), Vec3::X * 2.0, Vec3::NEG_Z * 2.0), Sides::Front, [11, 11]);
    let elements = build(&fixture);
    let mut pages = painted(&fixture, &elements, |id| (Vec3::splat(1.0 + elements.texel[id.index()].page as f32), 1.0));
    let found = stitched(&fixture, &elements, &mut pages);
    assert!(found.pairs > 40 && found.after < 0.02, "{found:?}");
}

#[test]
fn equal_floors_are_left_as_they_are_to_the_last_bit() {
    let fixture = floors(&[Vec3::ZERO, Vec3::X, Vec3::NEG_Z]);
    let elements = build(&fixture);
    let mut pages = painted(&fixture, &elements, |_| (Vec3::new(0.1, 123.4, 1e-6), 1.0));
    let before = pages.clone();
    assert!(stitched(&fixture, &elements, &mut pages).pairs > 0);
    assert_eq!(pages, before);
}

#[test]
fn seams_beyond_the_limit_stay_and_are_reported() {
    let fixture = floors(&[Vec3::ZERO, Vec3::X]);
    let elements = build(&fixture);
    let paint = || painted(&fixture, &elements, |id| (Vec3::splat(1.0 + elements.texel[id.index()].page as f32), 1.0));
    let (mut whole, mut part, mut none) = (paint(), paint(), paint());
    let all = stitched(&fixture, &elements, &mut whole);
    let exact = stitched_within(all.pairs, &fixture, &elements, &mut part);
    assert!(all.pairs > 4 && exact == all && part == whole, "{all:?}");
    let some = stitched_within(all.pairs - 1, &fixture, &elements, &mut paint());
    assert!(some.is_partial && some.pairs == all.pairs - 1, "{some:?}");
    assert!(stitched_within(0, &fixture, &elements, &mut none).is_partial);
    assert_eq!(none, paint());
}

#[test]
fn floors_are_not_stitched_through_a_wall_or_around_a_corner() {
    let mut walled = floors(&[Vec3::ZERO, Vec3::X]);
    walled.add(quad(Vec3::X, Vec3::Y, Vec3::NEG_Z), Sides::Front, [4, 4]);
    let mut corner = floors(&[Vec3::ZERO]);
    corner.add(quad(Vec3::X, Vec3::Y, Vec3::NEG_Z), Sides::Front, [16, 16]);
    for fixture in [walled, corner] {
        let elements = build(&fixture);
        let mut pages =
            painted(&fixture, &elements, |id| (Vec3::splat(1.0 + elements.texel[id.index()].page as f32), 1.0));
        let before = pages.clone();
        assert_eq!(stitched(&fixture, &elements, &mut pages).pairs, 0);
        assert_eq!(pages, before);
    }
}

#[test]
fn floors_in_the_very_same_place_agree_by_few_pairs_each() {
    let count = 100;
    let fixture = floors(&vec![Vec3::ZERO; count]);
    let elements = build(&fixture);
    let gray = |id: ElementId| Vec3::splat(elements.surface(id).index() as f32 / count as f32);
    let mut pages = painted(&fixture, &elements, |id| (gray(id), 1.0));
    let Stitched { pairs, before, after, .. } = stitched(&fixture, &elements, &mut pages);
    // Four edges, two points per texel, and eight of the ninety-nine others at each point.
    assert!((count..=count * 4 * 32 * 8).contains(&pairs), "{pairs}");
    assert!(after < 0.02 * before, "{before} {after}");
}
