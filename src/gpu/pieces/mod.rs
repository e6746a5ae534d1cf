//! Tests of WGSL pieces against their Rust counterparts, function by function.
//!
//! Each test evaluates a WGSL function for thousands of inputs in a kernel, and compares the results with the Rust
//! function.

mod bsdf;
mod camera;
mod lights;
mod numbers;
mod surfaces;
mod walks;

use glam::{UVec2, Vec3, Vec4};
use wgpu::{ShaderModuleDescriptor, ShaderSource};

use super::camera::CameraPass;
use super::context::test_device;
use super::kernel::{bind, dispatch, layout};
use super::shader::{pieces, tracing_source};
use super::{Gpu, GpuScene, GpuTree, Stack, Trees};
use crate::accel::Preset;
use crate::geometry::sobol::OwenSobol;
use crate::pathtrace::{PixelFilter, View};
use crate::scene::{Camera, Scene};

/// Test fixture: all pieces with a scene and a camera.
struct Pieces {
    gpu: Gpu,
    on_gpu: GpuScene,
    scene: Scene,
    view: View,
    stack: Stack,
}

impl Pieces {
    /// Creates the fixture, or `None` without a device.
    fn new(scene: Scene, view: View) -> Option<Self> {
        Self::with_stack(scene, view, Stack::default())
    }

    /// Creates the fixture with a traversal stack, or `None` without a device.
    fn with_stack(scene: Scene, view: View, stack: Stack) -> Option<Self> {
        let gpu = test_device()?;
        let trees = GpuTree::build(&scene, &Preset::narrow()).for_stack(stack);
        let on_gpu = GpuScene::with_tree(&gpu, &scene, &trees).unwrap();
        Some(Self { gpu, on_gpu, scene, view, stack })
    }

    /// Creates a fixture for pieces that need neither scene nor camera.
    fn without_scene() -> Option<Self> {
        Self::new(Scene::default(), any_view())
    }

    /// Evaluates the WGSL function `fn answer(asked: Rows) -> Rows` for each input.
    fn answers<const ROWS: usize>(&self, answer: &str, questions: &[[Vec4; ROWS]]) -> Vec<[Vec4; ROWS]> {
        let gpu = &self.gpu;
        let kernel = format!(
            "alias Rows = array<vec4<f32>, {ROWS}>;
            @group(2) @binding(0) var<uniform> count: vec4<u32>;
            @group(2) @binding(1) var<storage, read_write> rows: array<Rows>;
            {answer}
            @compute @workgroup_size(64)
            fn ask(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {{
                let question = thread_index(id, groups);
                if question < count.x {{
                    rows[question] = answer(rows[question]);
                }}
            }}"
        );
        let pieces = pieces![
            "gpu/threads",
            "scene/color",
            "lights/light",
            "lights/light_tree",
            "lights/emission",
            "pathtrace/bsdf",
            "pathtrace/camera",
        ];
        let source = tracing_source(self.stack, Trees::Static, &[&pieces[..], &[&kernel]].concat());
        let module = gpu.device.create_shader_module(ShaderModuleDescriptor {
            label: Some("pieces"),
            source: ShaderSource::Wgsl(source.into()),
        });
        let told = layout(gpu, "camera and emissions", &[true]);
        let asked = layout(gpu, "questions", &[false]);
        let pipeline = gpu.compute_pipeline(&module, "ask", &[&GpuScene::layout(gpu), &told, &asked]);

        let camera = gpu.uniform("camera", &[CameraPass::new(&self.view, 0..1, None)]);
        let told = bind(gpu, &told, &[&camera, self.on_gpu.emissions().buffer()]);
        let count = gpu.uniform("number of questions", &[questions.len() as u32, 0, 0, 0]);
        let rows = gpu.storage("questions", questions.as_flattened()).unwrap();
        let asked = bind(gpu, &asked, &[&count, &rows]);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        dispatch(
            &mut encoder,
            &pipeline,
            &[self.on_gpu.bind_group_for(self.stack), &told, &asked],
            questions.len() as u32,
        );
        gpu.queue.submit([encoder.finish()]);
        gpu.read::<Vec4>(&rows, questions.len() * ROWS).unwrap().as_chunks().0.to_vec()
    }
}

/// Returns a view for pieces that need no camera.
fn any_view() -> View {
    let camera = Camera::looking_at(Vec3::ZERO, Vec3::NEG_Z, 1.0).unwrap();
    View { camera, size: UVec2::ONE, lens: None, filter: PixelFilter::Box }
}

/// Returns four numbers in the unit interval for each of `count` inputs.
fn numbers(seed: u32, count: u32) -> impl Iterator<Item = [f32; 4]> {
    let points = OwenSobol::new(seed);
    (0..count).map(move |index| points.point(index))
}

/// Pads rows with zeros.
fn padded<const SOME: usize, const ROWS: usize>(rows: [Vec4; SOME]) -> [Vec4; ROWS] {
    core::array::from_fn(|row| rows.get(row).copied().unwrap_or(Vec4::ZERO))
}

/// Asserts that all answers but a few match. The tolerance is relative, and absolute for values below one.
fn assert_alike<const ROWS: usize>(
    what: &str,
    found: &[[Vec4; ROWS]],
    expected: impl IntoIterator<Item = [Vec4; ROWS]>,
    tolerance: f32,
    max_exceptions: usize,
) {
    let mut exceptions = Vec::new();
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_alike = |row: usize| {
            (found[row] - expected[row]).abs().max_element() <= tolerance * expected[row].abs().max_element().max(1.0)
        };
        if !(0..ROWS).all(is_alike) {
            exceptions.push(format!("{index}: {found:?}, not {expected:?}"));
        }
    }
    let first = &exceptions[..exceptions.len().min(5)];
    assert!(exceptions.len() <= max_exceptions, "{what}: {} differ: {first:#?}", exceptions.len());
}
