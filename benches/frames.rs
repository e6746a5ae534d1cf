//! Frame rates of the GPU path tracer with a moving camera.
//!
//! Prints a table for meshes of the six sizes in Venegas Tamayo's thesis (2013, table 5.4). The first columns are
//! primary and shadow rays for each kind of traversal. Then follow primary rays alone, and paths of three bounces with
//! one filtered sample per pixel, as in a live view.
//!
//! `SIZE=1920x1080` sets the image size. Files as arguments replace all meshes, with the camera at `EYE=x,y,z` looking
//! at `TARGET=x,y,z`.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bevy_radiosity::gpu::{
    FilteredPicture, Gpu, GpuFault, GpuFilm, GpuScene, PathKernel, PathPass, PictureFilter, Stack,
};
use bevy_radiosity::pathtrace::{PixelFilter, View};
use bevy_radiosity::scene::shapes::torus;
use bevy_radiosity::scene::{
    Camera, Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey,
};
use bevy_radiosity::scene_files::load_for_pictures;
use glam::{Quat, UVec2, Vec3};

type Failure = Box<dyn std::error::Error>;

/// Number of camera positions. The mean time counts.
const PLACES: u32 = 20;
/// Names, quads around and across, and frames per second of the Tesla C2070 in the thesis.
const MESHES: [(&str, [u32; 2], f32); 6] = [
    ("968", [22, 22], 141.0),
    ("4,968", [54, 46], 112.0),
    ("6,320", [79, 40], 133.0),
    ("75,284", [319, 118], 28.0),
    ("100,000", [250, 200], 28.0),
    ("100,000, slender", [1000, 50], 27.0),
];

struct Subject {
    name: String,
    scene: Scene,
    eye: Vec3,
    target: Vec3,
    /// Rotation of the camera about the target per frame, in radians.
    turn: f32,
}

fn main() -> Result<(), Failure> {
    let size = match std::env::var("SIZE") {
        Err(_) => UVec2::new(1280, 720),
        Ok(text) => numbers(&text, 'x').map(UVec2::from_array).ok_or("SIZE is COLUMNSxROWS")?,
    };
    let gpu = Gpu::headless()?;
    let subjects = subjects()?;
    println!("{}, {size}, mean of {PLACES} places of the camera\n", gpu.name());
    println!(
        "| triangles | primary and shadow: short stack, frames/s | restarts alone | full stack | the thesis' | primary rays, \
         million/s | live view: three bounces, filtered, frames/s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (subject, goal) in &subjects {
        let frames = Frames::new(&gpu, subject, size)?;
        let [short, restart, full] = [Stack::Short, Stack::Restart, Stack::Full].map(|stack| frames.traced(stack, 1));
        let primary = frames.traced(Stack::default(), 0)? * 1e-6 * f64::from(size.element_product());
        println!(
            "| {} | {:.2} | {:.2} | {:.2} | {goal} | {primary:.2} | {:.2} |",
            subject.name,
            short?,
            restart?,
            full?,
            frames.live()?
        );
    }
    Ok(())
}

fn subjects() -> Result<Vec<(Subject, String)>, Failure> {
    let files: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let place = |name| std::env::var(name).ok().and_then(|text| numbers(&text, ',')).map(Vec3::from_array);
    let of_file = |file: &String| {
        let scene = load_for_pictures(file)?.scene.into_inner();
        let bounds = scene.bounds();
        let target = place("TARGET").unwrap_or(bounds.center());
        let eye = place("EYE").unwrap_or(target + Vec3::new(0.0, 0.3, 1.2) * bounds.extent().max_element());
        Ok((Subject { name: file.clone(), scene, eye, target, turn: 0.01 }, String::new()))
    };
    if !files.is_empty() {
        return files.iter().map(of_file).collect();
    }
    let of_mesh = |&(name, [around, across], goal): &(&str, [u32; 2], f32)| {
        let (scene, turn) = (lit(knobbly_ring(name, around, across)), core::f32::consts::TAU / PLACES as f32);
        let subject = Subject { name: name.to_owned(), scene, eye: Vec3::new(0.0, 2.0, 2.6), target: Vec3::ZERO, turn };
        (subject, goal.to_string())
    };
    Ok(MESHES.iter().map(of_mesh).collect())
}

fn numbers<T: FromStr, const COUNT: usize>(text: &str, between: char) -> Option<[T; COUNT]> {
    let numbers = text.split(between).map(|part| part.trim().parse().ok()).collect::<Option<Vec<T>>>()?;
    numbers.try_into().ok()
}

fn knobbly_ring(name: &str, around: u32, across: u32) -> MeshData {
    let mut mesh = torus(name, 1.0, 0.5, around, across);
    for position in &mut mesh.positions {
        let knobs = (9.0 * position.x).sin() * (9.0 * position.y).cos() * (9.0 * position.z).sin();
        *position *= 1.0 + 0.1 * knobs;
    }
    MeshData { normals: Vec::new(), ..mesh }
}

fn lit(mesh: MeshData) -> Scene {
    let intensity = Vec3::splat(100.0);
    let kind = LightKind::Point { position: Vec3::new(2.0, 3.0, 1.0), intensity, range: 100.0, radius: 0.0 };
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![Surface::new(SurfaceKey("mesh".into()), MeshId(0), MaterialId(0))],
        materials: vec![Material::default()],
        lights: vec![Light { name: "lamp".into(), kind }],
        ..Scene::default()
    }
}

/// Scene, film and views of a measurement.
struct Frames<'a> {
    gpu: &'a Gpu,
    scene: GpuScene,
    film: GpuFilm,
    views: Vec<View>,
}

impl<'a> Frames<'a> {
    fn new(gpu: &'a Gpu, subject: &Subject, size: UVec2) -> Result<Self, Failure> {
        let view = |place: u32| {
            let turned = Quat::from_rotation_y(place as f32 * subject.turn) * (subject.eye - subject.target);
            let camera = Camera::looking_at(subject.target + turned, subject.target, 0.9)?;
            Some(View { camera, size, lens: None, filter: PixelFilter::Tent })
        };
        Ok(Self {
            gpu,
            scene: GpuScene::new(gpu, &subject.scene)?,
            film: GpuFilm::new(gpu, size)?,
            views: (0..PLACES).map(view).collect::<Option<_>>().ok_or("the camera looks nowhere")?,
        })
    }

    /// Returns the frames per second of primary rays plus some bounces. One bounce means a shadow ray from each hit.
    fn traced(&self, stack: Stack, bounces: u32) -> Result<f64, GpuFault> {
        let kernel = PathKernel::new(self.gpu, stack, self.scene.trees());
        self.per_second(|view, encoder| {
            self.trace(&kernel, view, bounces, encoder);
            Ok(())
        })
    }

    /// Returns the frames per second of a live view.
    fn live(&self) -> Result<f64, GpuFault> {
        let kernel = PathKernel::new(self.gpu, Stack::default(), self.scene.trees());
        let filter = PictureFilter::new(self.gpu);
        let mut picture = FilteredPicture::new(self.gpu, self.views[0].clone())?;
        self.per_second(|view, encoder| {
            picture.begin(self.gpu, view.clone(), true)?;
            self.trace(&kernel, view, 3, encoder);
            filter.record(self.gpu, encoder, &self.film, &mut picture, 1);
            Ok(())
        })
    }

    fn trace(&self, kernel: &PathKernel, view: &View, bounces: u32, encoder: &mut wgpu::CommandEncoder) {
        let pass = PathPass {
            sample: 0,
            seed: 1,
            max_bounces: Some(bounces),
            rows: 0..view.size.y,
            ends_at_lightmaps: false,
            in_hybrid: false,
            background: Vec3::ZERO,
        };
        kernel.record(self.gpu, encoder, &self.scene, &self.film, view, &pass);
    }

    fn per_second(
        &self,
        mut record: impl FnMut(&View, &mut wgpu::CommandEncoder) -> Result<(), GpuFault>,
    ) -> Result<f64, GpuFault> {
        let mut frame = |view| {
            let started = Instant::now();
            let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            record(view, &mut encoder)?;
            self.gpu.queue().submit([encoder.finish()]);
            let done = self.gpu.device().poll(wgpu::PollType::wait_indefinitely());
            done.map_err(|fault| GpuFault::Lost(fault.to_string()))?;
            Ok(started.elapsed())
        };
        // The first frame compiles the shader.
        frame(&self.views[0])?;
        let times = self.views.iter().map(frame).collect::<Result<Vec<Duration>, GpuFault>>()?;
        Ok(times.len() as f64 / times.iter().sum::<Duration>().as_secs_f64())
    }
}
