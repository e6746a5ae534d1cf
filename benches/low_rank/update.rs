//! Whole updates of a room with a moving lamp: shadow rays, V^T E, the product, and pages.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::lightmap::{Elements, Layout, LayoutSettings, Page};
use bevy_radiosity::low_rank::{Contributions, Precomputed, Receivers, StoredTransport};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::Content;
use bevy_radiosity::relight::{LazyTexelMapping, LiveLight, RelightInput, Relighter, UpdateSettings};
use bevy_radiosity::scene::{Light, LightKind};
use bevy_radiosity::scene_files::load;
use glam::Vec3;

use super::{matrix, patches, transport};

/// Approximate numbers of elements, and numbers of patches.
pub const ROOMS: [(usize, usize); 3] = [(55_296, 216), (221_184, 216), (1_048_576, 216)];

/// Surface area of the room, a cube of 2 m, in m2.
const AREA: f32 = 24.0;

/// Number of updates, and of those that only warm up caches.
const UPDATES: usize = 24;
const FIRST: usize = 4;

/// Measures updates of a room and prints a row.
pub fn report(elements: usize, count: usize) -> Result<(), Box<dyn Error>> {
    let mut relighter = Relighter::new(room(elements, count)?);
    let settings = UpdateSettings { bounces: 0, ..UpdateSettings::default() };
    let (mut rays, mut light, mut drawing, mut before) = (0, Duration::ZERO, Duration::ZERO, 0.0);
    for update in 0..UPDATES {
        if update == FIRST {
            (rays, light, drawing, before) = (0, Duration::ZERO, Duration::ZERO, processor_seconds());
        }
        relighter.set_lights(&[lamp_at(0.05 * update as f32)], &[]);
        let start = Instant::now();
        rays += relighter.advance(&settings).rays;
        light += start.elapsed();
        let start = Instant::now();
        relighter.draw();
        drawing += start.elapsed();
    }
    let updates = (UPDATES - FIRST) as f64;
    let [light, drawing] = [light, drawing].map(|took| 1e3 * took.as_secs_f64() / updates);
    println!(
        "| {}x{count} | {:.0} | {light:.1} | {drawing:.1} | {:.0} | {:.1} |",
        relighter.level().elements.len(),
        rays as f64 / updates,
        1e3 * (processor_seconds() - before) / updates,
        1e3 / (light + drawing),
    );
    Ok(())
}

/// Returns a dark room with arbitrary transport, which does not affect the time.
fn room(wanted: usize, count: usize) -> Result<RelightInput, Box<dyn Error>> {
    let mut scene = load("builtin:furnace")?.scene.into_inner();
    scene.materials.iter_mut().for_each(|material| material.emission = Vec3::ZERO);
    let scene = Arc::new(scene);
    let world = Arc::new(World::build(scene.clone(), Preset::best()));
    let texels_per_meter = (wanted as f32 / AREA).sqrt();
    let (layout, _) =
        Layout::build(&scene, &LayoutSettings { texels_per_meter, ..LayoutSettings::default() }, &Unmonitored)?;
    let elements = Arc::new(Elements::build(&scene, &layout, &*world, &Unmonitored)?);
    let patches = patches(elements.len(), count);
    let views = matrix(elements.len(), count);
    let transport = transport(patches, views);
    let receivers = Receivers::new(&elements, &vec![1.0; elements.len()], &transport.patches);
    let hits = StoredTransport::new(&transport.patches.order, &elements.reflectance, []);
    let pages = layout.pages.iter().map(|&size| Page::new(size)).collect();
    let precomputed = Arc::new(Precomputed { transport, receivers, hits, contributions: Contributions::default() });
    let texel_mapping = LazyTexelMapping::default();
    Ok(RelightInput { scene, world, elements, precomputed, pages, content: Content::Indirect, texel_mapping })
}

fn lamp_at(angle: f32) -> LiveLight {
    let position = Vec3::new(0.5 * angle.sin(), 0.2, 0.5 * angle.cos());
    let kind = LightKind::Point { position, intensity: Vec3::splat(100.0), radius: 0.0, range: f32::INFINITY };
    LiveLight { id: 1, light: Light { name: "lamp".to_owned(), kind }, is_excluded: false }
}

fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
