//! Light paths per second on a GPU and on the CPU.
//!
//! Prints a table. `EDGE` sets the columns and rows of the images. `PASSES` sets the light paths per pixel of the
//! shorter of two measurements. A real GPU needs more of both. The difference of two measurements excludes fixed costs,
//! such as shader compilation.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::time::Instant;

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::gpu::{self, FromLights, Gpu, GpuScene};
use bevy_radiosity::lights::LightSampler;
use bevy_radiosity::pathtrace::{Film, LightTracer, PixelFilter, RenderSettings, View, render_from_lights};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene::Camera;
use bevy_radiosity::scene_files::load_for_pictures;
use glam::{UVec2, Vec3};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let [edge, passes] = [("EDGE", 256), ("PASSES", 4)]
        .map(|(name, usual)| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(usual));
    let gpu = Gpu::headless()?;
    println!("{edge} x {edge} pixels, {passes} passes; {} threads\n", rayon::current_num_threads());
    println!("| scene | {} | the processor | ratio |", gpu.name());
    println!("| --- | --- | --- | --- |");
    for (name, eye, target) in [
        ("builtin:cornell_box", Vec3::new(0.0, 0.0, 3.9), Vec3::ZERO),
        ("builtin:glass_and_mirrors", Vec3::new(0.0, 1.4, 5.0), Vec3::Y * 1.2),
    ] {
        let scene = load_for_pictures(name)?.scene;
        let camera = Camera::looking_at(eye, target, 0.75).ok_or("the camera looks nowhere")?;
        let view = View { camera, size: UVec2::splat(edge), lens: None, filter: PixelFilter::Tent };
        let world = World::build(scene.shared().clone(), Preset::best());
        let lights = LightSampler::new(&scene);
        let tracer = LightTracer::new(&scene, &world, &lights, None);
        let on_gpu = GpuScene::new(&gpu, &scene)?;
        let from_lights = FromLights::default();
        let found = [
            paths_per_second(&view, passes, |settings| {
                Ok(gpu::render_from_lights(&gpu, &on_gpu, &view, from_lights, settings, &Unmonitored)?.film)
            })?,
            paths_per_second(&view, passes, |settings| {
                Ok(render_from_lights(&tracer, &view, settings, &Unmonitored).film)
            })?,
        ];
        println!("| {name} | {:.0} | {:.0} | {:.2} |", found[0], found[1], found[0] / found[1]);
    }
    Ok(())
}

fn paths_per_second(
    view: &View,
    passes: u32,
    draw: impl Fn(&RenderSettings) -> Result<Film, Failure>,
) -> Result<f64, Failure> {
    let seconds = |samples: u32| -> Result<f64, Failure> {
        let started = Instant::now();
        draw(&RenderSettings { samples, seed: 1, ..Default::default() })?;
        Ok(started.elapsed().as_secs_f64())
    };
    // Drivers cache compiled shaders.
    seconds(1)?;
    let [few, many] = [seconds(passes)?, seconds(3 * passes)?];
    Ok(f64::from(2 * passes) * f64::from(view.size.x * view.size.y) / (many - few))
}
