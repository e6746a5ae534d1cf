//! Steps across the seams of a level, for both filters of Bevy: `cargo bench --no-default-features --bench seams`.
//!
//! Bakes `assets/level.glb` without stitching, then stitches its pages for each filter and reads them by both.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use bevy_radiosity::bake::{self, BakeOutput, BakeSettings, Unobserved};
use bevy_radiosity::lightmap::{LayoutSettings, Page, filter};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::{DeviceChoice, scene_files};
use glam::{IVec3, Vec2, Vec3};

/// Cosine of ten degrees.
const STRAIGHT: f32 = 0.984_807_7;

/// Point of a page, in texels.
type Place = (usize, Vec2);

/// Edge of a chart, its ends in a fixed order.
struct Edge {
    /// Index of the surface, and the chart.
    chart: (usize, u32),
    normal: Vec3,
    places: [Place; 2],
}

/// Returns pairs of places that show one point: on edges that two charts share, of one surface or of two, within ten
/// degrees. There is one for each texel along an edge. Places without light of their own are left out.
fn seam_points(baked: &BakeOutput) -> Vec<[Place; 2]> {
    let mut edges: HashMap<[IVec3; 2], Vec<Edge>> = HashMap::new();
    for surface in baked.scene.surface_ids() {
        let Some(placement) = baked.layout.placement(surface) else { continue };
        let mesh = &placement.unwrap.mesh;
        let size = Vec2::new(placement.rectangle.width as f32, placement.rectangle.height as f32);
        let corner = Vec2::new(placement.rectangle.x as f32, placement.rectangle.y as f32);
        let at = |vertex: u32| baked.scene.surface(surface).to_world.transform_point3(mesh.positions[vertex as usize]);
        let front = &mesh.triangles[..placement.unwrap.reversed_from as usize];
        for (triangle, &chart) in front.iter().zip(&placement.unwrap.charts) {
            let [a, b, c] = triangle.map(at);
            let normal = (b - a).cross(c - a).normalize_or_zero();
            for side in 0..3 {
                let mut ends = [triangle[side], triangle[(side + 1) % 3]];
                let key = |vertex: u32| (at(vertex) * 1000.0).round().as_ivec3();
                if key(ends[1]).to_array() < key(ends[0]).to_array() {
                    ends.reverse();
                }
                let place = |vertex: u32| (placement.page as usize, corner + mesh.uv1[vertex as usize] * size);
                let edge = Edge { chart: (surface.index(), chart), normal, places: ends.map(place) };
                edges.entry(ends.map(key)).or_default().push(edge);
            }
        }
    }
    let mut points = Vec::new();
    for edge in edges.values() {
        let [a, b] = &edge[..] else { continue };
        if a.chart == b.chart || a.normal.dot(b.normal) < STRAIGHT {
            continue;
        }
        let count = a.places[0].1.distance(a.places[1].1).ceil().max(1.0) as usize;
        let along = |point: usize| (point as f32 + 0.5) / count as f32;
        let pair = |along: f32| [a, b].map(|edge| (edge.places[0].0, edge.places[0].1.lerp(edge.places[1].1, along)));
        let is_lit = |pair: &[Place; 2]| pair.iter().all(|place| is_lit(&baked.pages, *place));
        points.extend((0..count).map(|point| pair(along(point))).filter(is_lit));
    }
    points
}

/// Returns true if any of the four texels around a point has light of its own.
fn is_lit(pages: &[Page], (page, spot): Place) -> bool {
    let page = &pages[page];
    let texel = |offset: Vec2| {
        let [x, y] = (spot + offset).max(Vec2::ZERO).as_uvec2().to_array();
        page.validity[page.index(x.min(page.width - 1), y.min(page.height - 1))] > 0.0
    };
    [(-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5), (0.5, 0.5)].into_iter().any(|(x, y)| texel(Vec2::new(x, y)))
}

/// Returns the root mean square of steps across seams, over the mean of all values there.
fn step(points: &[[Place; 2]], pages: &[Page], filtered: fn(&Page, Vec2) -> Vec3) -> f64 {
    let [mut squares, mut values] = [0.0; 2];
    for point in points {
        let [a, b] = point.map(|(page, spot)| filtered(&pages[page], spot));
        squares += f64::from((a - b).length_squared()) / 3.0;
        values += f64::from((a + b).element_sum()) / 6.0;
    }
    (squares * points.len() as f64).sqrt() / values
}

fn main() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/level.glb");
    let scene = scene_files::load(path.to_str().expect("a path of plain letters")).expect("a level").scene;
    for padding in [2, LayoutSettings::BICUBIC_PADDING] {
        let mut settings = BakeSettings::default();
        settings.layout.texels_per_meter = 4.0;
        settings.layout.padding = padding;
        settings.solver.error = 0.1;
        settings.volume = None;
        settings.device = DeviceChoice::Cpu;
        settings.filter.stitch_seams = false;
        let baked = bake::run(scene.clone(), &settings, &Unobserved).expect("a bake");
        let points = seam_points(&baked);
        let print = |what: &str, pages: &[Page], time: Duration| {
            let steps = [Page::filtered, Page::filtered_bicubic].map(|filtered| 100.0 * step(&points, pages, filtered));
            let [bilinear, bicubic] = steps;
            println!(
                "padding {padding}, {} points, {what}: bilinear {bilinear:.1} %, bicubic {bicubic:.1} %, {time:.2?}",
                points.len()
            );
        };
        print("not stitched", &baked.pages, Duration::ZERO);
        let mut layout = baked.layout.clone();
        for (what, padding) in [("for bilinear", 2), ("for bicubic", LayoutSettings::BICUBIC_PADDING)] {
            layout.padding = padding;
            let mut pages = baked.pages.clone();
            let started = Instant::now();
            let stitched = filter::stitch(
                &mut pages,
                &baked.scene,
                &layout,
                &baked.elements,
                &*baked.world,
                usize::MAX,
                &Unmonitored,
            );
            let time = started.elapsed();
            println!("{:?}", stitched.expect("nobody stops it"));
            print(what, &pages, time);
        }
    }
}
