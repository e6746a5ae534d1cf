//! Tests of device bakes against CPU bakes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use glam::Vec3;

use super::super::context::{test_device, test_device_of_its_own};
use super::super::tests::room_of_everything;
use super::*;
use crate::accel::World;
use crate::lightmap::{Layout, LayoutSettings};
use crate::pathtrace::fixtures::add_part;
use crate::progress::Unmonitored;
use crate::radiosity::test_scene::{TestScene, gray};
use crate::radiosity::{
    Method, Pass, Snapshot, Solution, SolveError, SolveObserver, SolverCheckpoint, SolverSettings, solve, solve_with,
};
use crate::scene::{Material, Role, Scene, luminance, shapes};

/// Scene with elements and solver settings.
struct Problem {
    scene: Arc<Scene>,
    world: World,
    elements: Elements,
    settings: SolverSettings,
}

impl Problem {
    fn new(scene: Scene, texels_per_meter: f32, settings: SolverSettings) -> Self {
        let scene = Arc::new(scene);
        let world = World::build(scene.clone(), Preset::fast());
        let scene = Arc::new(scene.with_sealed_sides(&world));
        let layout_settings = LayoutSettings { texels_per_meter, ..LayoutSettings::default() };
        let layout = Layout::build(&scene, &layout_settings, &Unmonitored).unwrap().0;
        let elements = Elements::build(&scene, &layout, &world, &Unmonitored).unwrap();
        Self { scene, world, elements, settings }
    }

    fn on_cpu(&self, resume: Option<SolverCheckpoint<'_>>) -> Solution {
        solve(&self.scene, &self.world, &self.elements, &self.settings, resume, &Unmonitored).unwrap()
    }

    fn on_gpu(
        &self,
        gpu: &Gpu,
        resume: Option<SolverCheckpoint<'_>>,
        observer: &dyn SolveObserver,
    ) -> Result<Solution, SolveError> {
        let mut backend = GpuBackend::new(gpu, &self.scene, &self.elements, self.settings.seed).unwrap();
        solve_with(&mut backend, &self.scene, &self.world, &self.elements, &self.settings, resume, observer)
    }

    /// Returns the RMS difference of two solutions, divided by the noise of the first.
    fn difference(&self, a: &Solution, b: &Solution) -> f32 {
        let total = |solution: &Solution, element: usize| solution.direct[element] + solution.indirect[element];
        let rms = |of: &dyn Fn(usize) -> f32| {
            let square = |element: usize| f64::from(self.elements.area[element] * of(element).powi(2));
            (0..self.elements.len()).map(square).sum::<f64>().sqrt() as f32
        };
        let noise = rms(&|element| a.standard_error[element]);
        assert!(noise > 0.0, "there is something to compare");
        rms(&|element| luminance((total(a, element) - total(b, element)).abs())) / noise
    }
}

fn settings(method: Method, error: f32) -> SolverSettings {
    SolverSettings { method, error, seed: 3, ..SolverSettings::default() }
}

fn cornell(method: Method, error: f32) -> Problem {
    let scene = crate::scene_files::load("builtin:cornell_box").unwrap().scene.into_inner();
    Problem::new(scene, 4.0, settings(method, error))
}

#[test]
fn the_cornell_box_is_baked_as_on_the_processor_by_every_method() {
    let Some(gpu) = test_device() else { return };
    for method in [Method::Gather, Method::Stochastic, Method::Path] {
        let problem = cornell(method, 0.5);
        let on_gpu = problem.on_gpu(&gpu, None, &Unmonitored).unwrap();
        let difference = problem.difference(&problem.on_cpu(None), &on_gpu);
        assert!(difference < 1e-4, "{method:?}: {difference} of the noise");
    }
}

#[test]
fn a_room_of_everything_that_rays_may_meet_is_baked_as_on_the_processor() {
    let Some(gpu) = test_device() else { return };
    let mut room = room_of_everything();
    // Occluders have no elements, so rays continue from the metal.
    let metal = room.surfaces.iter_mut().find(|surface| surface.key.0 == "metal").unwrap();
    metal.role = Role::Occluder;
    // This block is half inside the floor.
    let block = shapes::cuboid("block", Vec3::new(0.4, -1.3, 0.4), Vec3::new(0.8, -0.8, 0.8));
    add_part(&mut room, block, Material::default());
    for method in [Method::Gather, Method::Path] {
        let problem = Problem::new(room.clone(), 4.0, settings(method, 0.5));
        let on_cpu = problem.on_cpu(None);
        assert!(on_cpu.visible_fraction.contains(&0.0), "something is buried");
        let difference = problem.difference(&on_cpu, &problem.on_gpu(&gpu, None, &Unmonitored).unwrap());
        assert!(difference < 0.1, "{method:?}: {difference} of the noise");
    }
}

#[test]
fn things_that_touch_are_baked_as_on_the_processor() {
    let Some(gpu) = test_device() else { return };
    let mut scene = Scene { sky: crate::scene::Sky::Uniform(Vec3::ONE), ..Scene::default() };
    // Ground of two layers; the coarse layer has the normals of a hill.
    let mut ground = shapes::floor("ground", 4.0);
    ground.normals = ground.positions.iter().map(|at| Vec3::new(at.x * 0.2, 1.0, at.z * 0.2).normalize()).collect();
    let mut layer = shapes::floor("layer", 2.0);
    layer.positions.iter_mut().for_each(|at| at.y = 1e-5);
    // Stairs of adjacent boxes in one mesh.
    let mut stairs = shapes::cuboid("stairs", Vec3::ZERO, Vec3::new(0.9, 0.2, 1.0));
    for step in [1.0, 2.0] {
        let min = Vec3::new(0.29 * step, 0.0, 0.0);
        let part = shapes::cuboid("step", min, Vec3::new(0.9, 0.2 + 0.2 * step, 1.0));
        let first = stairs.positions.len() as u32;
        stairs.triangles.extend(part.triangles.iter().map(|corners| corners.map(|corner| corner + first)));
        stairs.positions.extend(part.positions);
        stairs.normals.extend(part.normals);
        stairs.uv0.extend(part.uv0);
    }
    let board = shapes::cuboid("board", Vec3::new(-1.5, 0.05, -1.5), Vec3::new(-0.5, 0.1, -0.5));
    for mesh in [ground, layer, stairs, board] {
        add_part(&mut scene, mesh, Material::diffuse("gray", Vec3::splat(0.5)));
    }
    for method in [Method::Gather, Method::Path] {
        let problem = Problem::new(scene.clone(), 6.0, settings(method, 0.5));
        assert!(problem.elements.clearance.iter().any(|&height| height > 0.0), "there are layers");
        let (on_cpu, on_gpu) = (problem.on_cpu(None), problem.on_gpu(&gpu, None, &Unmonitored).unwrap());
        assert!(on_cpu.visible_fraction.contains(&0.0), "something is buried");
        let visible = on_cpu.visible_fraction.iter().zip(&on_gpu.visible_fraction);
        let differing = visible.filter(|(a, b)| (**a - **b).abs() > 0.1).count();
        assert!(differing * 500 < problem.elements.len(), "{method:?}: {differing} are buried on one alone");
        let difference = problem.difference(&on_cpu, &on_gpu);
        assert!(difference < 0.1, "{method:?}: {difference} of the noise");
    }
}

#[test]
fn panes_that_tint_light_do_so_as_on_the_processor() {
    let Some(gpu) = test_device() else { return };
    let problem = Problem::new(room_of_everything(), 2.0, settings(Method::Gather, 0.5));
    let difference = problem.difference(&problem.on_cpu(None), &problem.on_gpu(&gpu, None, &Unmonitored).unwrap());
    // Other rays pass, but a similar number.
    println!("panes {difference}");
    assert!(difference < 0.1, "{difference} of the noise");
}

#[test]
fn the_hall_of_the_level_is_baked_as_on_the_processor() {
    let Some(gpu) = test_device() else { return };
    let mut level = crate::scene_files::load("assets/level.glb").unwrap().scene.into_inner();
    level.surfaces.retain(|surface| surface.key.0.starts_with("hall"));
    assert!(level.surfaces.len() > 50, "{} surfaces", level.surfaces.len());
    // One pass of each is enough. The difference over the noise only depends on the part of rays that differ.
    let problem = Problem::new(level, 0.125, settings(Method::Gather, 4.0));
    let difference = problem.difference(&problem.on_cpu(None), &problem.on_gpu(&gpu, None, &Unmonitored).unwrap());
    assert!(difference < 0.1, "{difference} of the noise");
}

#[test]
fn an_element_that_is_sampled_as_a_light_brings_what_it_does_on_the_processor_also_from_a_checkpoint() {
    let Some(gpu) = test_device() else { return };
    for method in [Method::Gather, Method::Stochastic] {
        let mut room = TestScene::default();
        room.room(Vec3::splat(2.0), 1, |_| gray(0.5));
        room.point_light(Vec3::new(0.9, 1.99, 0.9), 20.0);
        let problem = Problem::new(room.scene, 4.0, settings(method, 0.2));
        let kept = Mutex::new(Vec::new());
        let keep = AfterPass(1, |state: &Snapshot<'_>| state().unwrap().write(&mut *kept.lock().unwrap()).unwrap());
        let on_gpu = problem.on_gpu(&gpu, None, &keep).unwrap();
        let difference = problem.difference(&problem.on_cpu(None), &on_gpu);
        assert!(difference < 1e-3, "{method:?}: {difference} of the noise");
        let bytes = kept.into_inner().unwrap();
        let resumed = problem.on_gpu(&gpu, Some(SolverCheckpoint::from_bytes(&bytes).unwrap()), &Unmonitored).unwrap();
        let alike = on_gpu.direct == resumed.direct && on_gpu.indirect == resumed.indirect;
        assert!(alike, "{method:?}: {} of the noise", problem.difference(&on_gpu, &resumed));
    }
}

/// Observer that acts after a given pass.
struct AfterPass<F>(u32, F);

impl<F: Sync> crate::progress::Monitor for AfterPass<F> {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        false
    }
}

impl<F: Fn(&Snapshot<'_>) + Sync> SolveObserver for AfterPass<F> {
    fn pass_finished(&self, pass: &Pass, state: &Snapshot<'_>) -> Result<(), StepError> {
        if pass.number == self.0 {
            (self.1)(state);
        }
        Ok(())
    }
}

#[test]
fn a_checkpoint_of_the_device_is_one_that_both_go_on_from() {
    let Some(gpu) = test_device() else { return };
    for method in [Method::Gather, Method::Stochastic] {
        let problem = cornell(method, 0.2);
        let kept = Mutex::new(Vec::new());
        let keep = AfterPass(1, |state: &Snapshot<'_>| state().unwrap().write(&mut *kept.lock().unwrap()).unwrap());
        let undisturbed = problem.on_gpu(&gpu, None, &keep).unwrap();
        let bytes = kept.lock().unwrap().clone();
        let resumed = || Some(SolverCheckpoint::from_bytes(&bytes).unwrap());
        let on_gpu = problem.on_gpu(&gpu, resumed(), &Unmonitored).unwrap();
        assert_eq!((&undisturbed.direct, &undisturbed.indirect), (&on_gpu.direct, &on_gpu.indirect), "{method:?}");
        let difference = problem.difference(&undisturbed, &problem.on_cpu(resumed()));
        assert!(difference < 1e-3, "{method:?}: {difference} of the noise");
    }
}

/// Observer that wants to stop once the part `after` of the first pass is done, and cancels after the checkpoint.
struct Hasty {
    after: f32,
    wants_to_stop: AtomicBool,
    kept: Mutex<Vec<u8>>,
}

impl crate::progress::Monitor for Hasty {
    fn progress(&self, fraction: f32) {
        self.wants_to_stop.fetch_or(fraction >= self.after, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        !self.kept.lock().unwrap().is_empty()
    }
}

impl SolveObserver for Hasty {
    fn step_finished(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        state()?.write(&mut *self.kept.lock().unwrap()).unwrap();
        Ok(())
    }

    fn wants_to_stop(&self) -> bool {
        self.wants_to_stop.load(Ordering::Relaxed)
    }
}

#[test]
fn direct_light_of_a_first_pass_that_was_stopped_on_the_device_is_gone_on_from_to_the_same_bytes() {
    let Some(gpu) = test_device() else { return };
    for method in [Method::Gather, Method::Stochastic] {
        let problem = cornell(method, 0.2);
        let undisturbed = problem.on_gpu(&gpu, None, &Unmonitored).unwrap();
        // Within direct light and within gather rays: a first pass is a tenth of all.
        for after in [0.01, 0.06] {
            let hasty = Hasty { after, wants_to_stop: AtomicBool::new(false), kept: Mutex::default() };
            let stopped = problem.on_gpu(&gpu, None, &hasty);
            assert!(matches!(stopped, Err(SolveError::Cancelled(_))), "{method:?}");
            let kept = SolverCheckpoint::from_bytes(&hasty.kept.lock().unwrap()).unwrap();
            let resumed = problem.on_gpu(&gpu, Some(kept), &Unmonitored).unwrap();
            let light = |solution: &Solution| (solution.direct.clone(), solution.indirect.clone(), solution.rays);
            assert_eq!(light(&resumed), light(&undisturbed), "{method:?} after {after}");
        }
    }
}

#[test]
fn a_device_that_is_lost_ends_a_bake_with_an_error() {
    let Some(gpu) = test_device_of_its_own() else { return };
    let lose = AfterPass(1, |_: &Snapshot<'_>| gpu.device().destroy());
    let ended = cornell(Method::Gather, 0.01).on_gpu(&gpu, None, &lose);
    assert!(matches!(ended, Err(SolveError::Device(_))), "{ended:?}");
}

/// Observer that cancels after the first pass.
#[derive(Default)]
struct Impatient(AtomicBool);

impl crate::progress::Monitor for Impatient {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl SolveObserver for Impatient {
    fn pass_finished(&self, _pass: &Pass, _state: &Snapshot<'_>) -> Result<(), StepError> {
        self.0.store(true, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn a_bake_on_the_device_stops_when_asked_and_the_next_one_is_as_if_it_had_not_been() {
    let Some(gpu) = test_device() else { return };
    for method in [Method::Gather, Method::Stochastic] {
        let problem = cornell(method, 0.2);
        let stopped = problem.on_gpu(&gpu, None, &Impatient::default());
        assert!(matches!(stopped, Err(SolveError::Cancelled(_))), "{method:?}");
        let next = problem.on_gpu(&gpu, None, &Unmonitored).unwrap();
        let difference = problem.difference(&next, &problem.on_cpu(None));
        assert!(difference < 1e-3, "{method:?}: {difference} of the noise");
    }
}
