//! Tests of stored solutions: checkpoints, and transport for lights that change.

use std::sync::atomic::{AtomicBool, Ordering};

use bevy_radiosity::Device;
use bevy_radiosity::bake::{
    self, BakePass, BakeSettings, Checkpoints, InputsHash, Observer, OutputFolder, Progress, RelightPatches, Unobserved,
};
use bevy_radiosity::low_rank::{Precomputed, Smoothing};
use bevy_radiosity::radiosity::{Method, SolverCheckpoint};
use bevy_radiosity::scene::{self, CheckedScene};
use glam::Vec3;
use tempfile::TempDir;

use crate::baked_level::{scene, settings};
use crate::damage::Make;
use crate::fuzz::{MIB, Reader, alone};

/// Observer that stops a bake after the first pass, when there is a state to save.
#[derive(Default)]
struct Stopping(AtomicBool);

impl Observer for Stopping {
    fn progress(&self, _progress: Progress) {}

    fn pass_finished(&self, _pass: BakePass) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Returns settings of a bake of few elements.
fn small_settings(method: Method) -> BakeSettings {
    let mut settings = BakeSettings { volume: None, relight: None, ..settings(0) };
    settings.layout.texels_per_meter = 1.0;
    settings.solver.method = method;
    settings
}

/// Returns a folder that holds the checkpoint of a stopped bake.
fn stopped(scene: &CheckedScene, settings: &BakeSettings) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let output = OutputFolder::open(folder.path()).expect("an empty folder");
    let outcome =
        bake::run_with_checkpoints(scene.clone(), settings, &Device::Cpu, &Stopping::default(), &output, false);
    assert!(outcome.is_err() && output.checkpoints().exist(), "it was stopped");
    drop(output);
    folder
}

/// Corrects the digest of a checkpoint.
#[expect(clippy::ptr_arg, reason = "reports grow, and all are mended alike")]
fn mend_checkpoint(file: &mut Vec<u8>) {
    const DIGEST: core::ops::Range<usize> = 40..72;
    if file.len() >= DIGEST.end {
        let digest = blake3::hash(&file[DIGEST.end..]);
        file[DIGEST].copy_from_slice(digest.as_bytes());
    }
}

#[test]
fn checkpoints_are_read_or_refused() {
    let _alone = alone();
    let scene = scene();
    for (name, method) in [
        ("checkpoints, gather", Method::Gather),
        ("checkpoints, stochastic", Method::Stochastic),
        ("checkpoints, progressive", Method::Progressive),
    ] {
        let settings = small_settings(method);
        let folder = stopped(&scene, &settings);
        let path = folder.path().join("checkpoint.bin");
        let corpus = vec![std::fs::read(&path).expect("a checkpoint")];
        let max_memory = 4 * corpus[0].len() + MIB;
        let inputs = InputsHash::new(scene::hash(&scene), &settings);
        let (make, mend) = (Make::Bytes, Some(mend_checkpoint as fn(&mut Vec<u8>)));
        Reader { name, make, corpus, mend, max_memory, count: 1_000 }.run(|bytes| {
            std::fs::write(&path, bytes).expect("the folder can be written to");
            let loaded = Checkpoints::in_folder(folder.path()).load(inputs, u64::MAX);
            let Ok(Some(mut payload)) = loaded else { return false };
            let length = payload.bytes;
            SolverCheckpoint::read(&mut payload, length).is_ok()
        });
    }
}

#[test]
fn bakes_go_on_from_damaged_checkpoints_or_refuse() {
    let _alone = alone();
    let scene = scene();
    for (name, method) in
        [("resumed bakes, gather", Method::Gather), ("resumed bakes, progressive", Method::Progressive)]
    {
        let settings = small_settings(method);
        let folder = stopped(&scene, &settings);
        let path = folder.path().join("checkpoint.bin");
        let corpus = vec![std::fs::read(&path).expect("a checkpoint")];
        let (make, mend) = (Make::Bytes, Some(mend_checkpoint as fn(&mut Vec<u8>)));
        Reader { name, make, corpus, mend, max_memory: 64 * MIB, count: 40 }.run(|bytes| {
            std::fs::remove_file(folder.path().join("checkpoint.previous.bin")).ok();
            std::fs::write(&path, bytes).expect("the folder can be written to");
            let Ok(output) = OutputFolder::open(folder.path()) else { return false };
            let run = bake::run_with_checkpoints(scene.clone(), &settings, &Device::Cpu, &Unobserved, &output, true);
            let Ok(bake) = run else { return false };
            assert!(bake.pages.iter().flat_map(|page| &page.texels).all(|texel| texel.is_finite()));
            true
        });
    }
}

#[test]
fn transport_for_lights_that_change_is_read_or_refused() {
    let _alone = alone();
    let scene = scene();
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let settings = BakeSettings { relight: Some(RelightPatches(8)), ..small_settings(Method::Gather) };
    let mut bake = bake::run(scene.clone(), &settings, &Unobserved).expect("a bake");
    bake.write(folder.path()).expect("there is room");
    let whole = std::fs::read(folder.path().join("relight.bin")).expect("a level's file");
    let content = scene::hash(&scene).0;
    let max_memory = 8 * whole.len() + MIB;
    let make = Make::Bytes;
    Reader { name: "relighting data", make, corpus: vec![whole], mend: None, max_memory, count: 500 }.run(|bytes| {
        let Ok(read) = Precomputed::from_bytes(bytes, content) else { return false };
        let count = read.transport.elements();
        let mut indirect = vec![Vec3::ZERO; count];
        read.transport.relight(&vec![Vec3::ONE; count], &mut indirect);
        read.hits.sweep(&vec![Vec3::ONE; count], &mut indirect);
        Smoothing::new(&read).smooth(&indirect.clone(), &mut indirect);
        true
    });
}
