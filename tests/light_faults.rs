//! Scenes that lightmap bakers are known to light wrongly are right by every method, and on graphics cards.
#![allow(clippy::disallowed_methods, reason = "what is measured or shown here need not be the same on every system")]

use bevy_radiosity::Device;
use bevy_radiosity::bake::{Unobserved, run_on};
use bevy_radiosity::radiosity::Method;
use bevy_radiosity::scene::check::repair;

#[path = "light_faults/cases.rs"]
mod cases;
#[cfg(feature = "gpu")]
#[path = "../src/skip.rs"]
mod skip;

fn assert_all_right(device: &Device, method: Method, error: f32) {
    for case in cases::cases() {
        let (scene, _) = repair(case.scene.clone());
        let mut settings = case.settings(method);
        settings.solver.error = error;
        let mut bake = run_on(device, scene, &settings, &Unobserved).expect(case.name);
        let folder = tempfile::tempdir().expect("a temporary folder");
        bake.write(folder.path()).expect("the folder is empty");
        case.assert_right(folder.path(), &format!("{method:?} on {}", device.name()));
    }
}

#[test]
fn gather_lights_them_right() {
    assert_all_right(&Device::Cpu, Method::Gather, 0.05);
}

#[test]
fn stochastic_lights_them_right() {
    assert_all_right(&Device::Cpu, Method::Stochastic, 0.05);
}

#[test]
fn progressive_lights_them_right() {
    assert_all_right(&Device::Cpu, Method::Progressive, 0.1);
}

#[test]
fn path_lights_them_right() {
    assert_all_right(&Device::Cpu, Method::Path, 0.05);
}

#[cfg(feature = "gpu")]
#[test]
fn graphics_cards_light_them_right() {
    match bevy_radiosity::gpu::Gpu::headless() {
        // A software driver traces few rays a second.
        Ok(gpu) => assert_all_right(&Device::Gpu(gpu), Method::Gather, 0.1),
        Err(fault) => skip::skip_without_gpu(&fault.to_string()),
    }
}
