//! Tests of the device that traces the rays of a bake.

use std::path::Path;
use std::process::Command;

use bevy::prelude::*;
use bevy_radiosity::Device;
use bevy_radiosity::bake::{Report, Unobserved, run_on};
use bevy_radiosity::lightmap::files::Level as Files;
use bevy_radiosity::prelude::*;
use bevy_radiosity::scene::check::repair;
use bevy_radiosity::scene_files;

use crate::app::*;
use crate::spawn::spawn_scene;
use crate::world::read_scene;

/// Report of the most recent bake.
#[derive(Resource)]
struct Reported(Report);

fn on(device: DeviceChoice) -> Bake {
    let mut bake = quick_bake();
    bake.settings.device = device;
    bake
}

/// Fills an app with the Cornell box.
fn spawn_box(app: &mut App) {
    spawn_scene(app.world_mut(), &scene_files::load("builtin:cornell_box").unwrap().scene);
    app.add_observer(|done: On<BakeFinished>, mut commands: Commands| {
        commands.insert_resource(Reported(done.report.clone()));
    });
    tick_app_times(app, 2);
}

/// Bakes, and returns the report.
fn report_of(app: &mut App, wanted: Bake) -> Result<Report, String> {
    bake(app, wanted)?;
    Ok(app.world().resource::<Reported>().0.clone())
}

fn texels(folder: &Path) -> Vec<Vec3> {
    Files::read(folder).unwrap().read_page(folder, 0).unwrap().texels
}

#[test]
fn a_bake_on_the_graphics_card_gives_what_the_command_line_does_while_the_app_draws() {
    let Some(mut app) = create_drawing_app() else { return };
    let _picture = spawn_camera(&mut app, Vec3::new(0.0, 0.0, 3.0), Vec3::ZERO);
    spawn_box(&mut app);
    let (scene, _) = repair(read_scene(&mut app).scene);
    let folder = tempfile::tempdir().unwrap();
    let [in_app, on_cpu, outside] = ["in_app", "on_cpu", "outside"].map(|name| folder.path().join(name));

    let report = report_of(&mut app, Bake { folder: Some(in_app.clone()), ..on(DeviceChoice::Gpu) }).unwrap();
    assert_eq!(report.backend, "gpu");
    let device = Device::open(DeviceChoice::Gpu).unwrap();
    let settings = on(DeviceChoice::Gpu).settings;
    run_on(&device, scene, &settings, &Unobserved).unwrap().write(&outside).unwrap();
    assert_eq!(texels(&in_app), texels(&outside));

    let report = report_of(&mut app, Bake { folder: Some(on_cpu.clone()), ..on(DeviceChoice::Cpu) }).unwrap();
    assert_eq!(report.backend, "cpu");
    let [gpu, cpu] = [&in_app, &on_cpu].map(|folder| texels(folder).iter().sum::<Vec3>());
    assert!(cpu.min_element() > 0.0 && gpu.distance(cpu) < 1e-3 * cpu.length(), "{gpu} and {cpu}");
}

#[test]
fn an_app_bakes_on_a_real_graphics_card_or_else_on_the_processor() {
    // Without a renderer, so the card is not the renderer's.
    let mut app = create_world_app();
    spawn_box(&mut app);
    let report = report_of(&mut app, on(DeviceChoice::Auto)).unwrap();
    let is_real = bevy_radiosity::gpu::Gpu::headless().is_ok_and(|gpu| gpu.is_hardware());
    assert_eq!(report.backend, if is_real { "gpu" } else { "cpu" });
    assert!(!report.warnings.iter().any(|warning| warning.contains("graphics card")), "{:?}", report.warnings);
}

/// Name of the next test, for a process of its own.
const WITHOUT_ADAPTER: &str = "bake_device::without_a_graphics_adapter_a_bake_on_one_fails_in_a_sentence";

#[test]
fn without_a_graphics_adapter_a_bake_on_one_fails_in_a_sentence() {
    // There is no such library on this system, so no adapter. Other tests of this process need theirs.
    let (name, none) = ("WGPU_BACKEND", "dx12");
    if std::env::var(name).is_ok_and(|value| value == none) {
        let mut app = create_world_app();
        spawn_box(&mut app);
        let failure = report_of(&mut app, on(DeviceChoice::Gpu)).unwrap_err();
        assert!(failure.starts_with("no graphics adapter") && failure.contains("CPU"), "{failure}");
        assert_eq!(failure.lines().count(), 1, "{failure}");
        assert_eq!(report_of(&mut app, on(DeviceChoice::Auto)).unwrap().backend, "cpu");
        return;
    }
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this).args(["--exact", WITHOUT_ADAPTER]).env(name, none).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
