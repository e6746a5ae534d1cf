//! Tests that results have the bytes that are recorded in `recorded_hashes.txt`.
//!
//! A change of the code that changes a result changes the record, too, and says why. `RADIOSITY_RECORD=1 cargo test
//! --no-default-features --features cli --test recorded_hashes` writes the record.

use std::fs;
use std::process::Command;

use bevy_radiosity::Device;
use bevy_radiosity::bake::{BakeSettings, RelightPatches, Unobserved, run_on};
use bevy_radiosity::builtin_scenes;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::relight::{LiveLight, LivePanel, RelightInput, Relighter, UpdateSettings};
use bevy_radiosity::scene::check::repair;
use bevy_radiosity::scene::{Light, LightKind};
use glam::Vec3;

/// Record: one line for each case, with the BLAKE3 digest of its result.
const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recorded_hashes.txt");

const SCENES: [&str; 6] = ["cornell_box", "furnace", "unit_cube", "sphere", "two_rooms", "shining_things"];
const METHODS: [&str; 5] = ["gather", "stochastic", "progressive", "path", "counted"];
/// Its glass is refused by counted rays.
const SCENE_WITH_GLASS: &str = "shining_things";
const INTEGRATORS: [&str; 3] = ["path", "hybrid", "whitted"];

/// Runs a command in a new folder, and returns the digest of a file that it writes.
fn digest(arguments: &[&str], file: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_radiosity")).current_dir(&folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    blake3::hash(&fs::read(folder.path().join(file)).unwrap()).to_hex().to_string()
}

fn bake(scene: &str, more: &[&str], file: &str) -> String {
    let scene = format!("builtin:{scene}");
    let bake = ["bake", &scene, "-o", "out", "--density", "2", "--error", "0.3", "--no-volume", "--no-preview"];
    digest(&[&bake[..], &["--seed", "1", "--backend", "cpu"], more].concat(), &format!("out/{file}"))
}

/// Returns the digest of the pages of a baked room after a lamp has come and a panel has been dimmed: after each update
/// until nothing changes.
fn relit() -> String {
    let mut settings = BakeSettings { volume: None, relight: Some(RelightPatches(60)), ..BakeSettings::default() };
    settings.layout.texels_per_meter = 2.0;
    settings.solver.error = 0.3;
    let scene = builtin_scenes::build("cornell_box").unwrap();
    let baked = run_on(&Device::Cpu, repair(scene).0, &settings, &Unobserved).unwrap();
    let (pages, precomputed) = ((baked.pages, settings.solver.content), baked.relight.unwrap());
    let level = RelightInput::new(baked.scene, baked.world, &baked.layout, precomputed, pages, &Unmonitored).unwrap();
    let panel = |surface| LivePanel { surface, emission: 0.5 * level.scene.material_of(surface).emission };
    let panels: Vec<LivePanel> = level.scene.surface_ids().map(panel).collect();
    let position = Vec3::new(-0.4, 0.3, 0.6);
    let kind = LightKind::Point { position, intensity: Vec3::splat(10.0), radius: 0.0, range: f32::INFINITY };
    let lamp = LiveLight { id: 1, light: Light { name: "lamp".to_owned(), kind }, is_excluded: false };
    let mut relighter = Relighter::new(level);
    relighter.set_lights(&[lamp], &panels);
    let mut digest = blake3::Hasher::new();
    loop {
        let update = relighter.update(&UpdateSettings { rays: 2_000, ..UpdateSettings::default() });
        let texels = (0..relighter.level().pages.len()).flat_map(|page| relighter.page(page));
        texels.flat_map(|texel| texel.to_array()).for_each(|value| {
            digest.update(&value.to_le_bytes());
        });
        if update.is_settled() {
            return digest.finalize().to_hex().to_string();
        }
    }
}

/// Returns the lines of the record for the code as it is.
fn results() -> Vec<String> {
    let mut lines = Vec::new();
    for scene in SCENES {
        for method in METHODS.into_iter().filter(|method| *method != "counted" || scene != SCENE_WITH_GLASS) {
            lines.push(format!("bake {scene} {method}: {}", bake(scene, &["--method", method], "page_0.exr")));
        }
    }
    lines.push(format!("relight cornell_box: {}", bake("cornell_box", &["--relight", "60"], "relight.bin")));
    lines.push(format!("relit cornell_box: {}", relit()));
    for integrator in INTEGRATORS {
        let render = ["render", "builtin:glass_and_mirrors", "-o", "out.exr", "--size", "64x36", "--samples", "4"];
        let digest = digest(&[&render[..], &["--integrator", integrator, "--backend", "cpu"]].concat(), "out.exr");
        lines.push(format!("render glass_and_mirrors {integrator}: {digest}"));
    }
    lines
}

#[test]
fn bakes_relit_pages_pictures_and_transport_have_the_recorded_bytes() {
    let results = results();
    if std::env::var_os("RADIOSITY_RECORD").is_some() {
        fs::write(RECORD, results.join("\n") + "\n").unwrap();
    }
    let record = fs::read_to_string(RECORD).unwrap();
    let changed: Vec<_> = results.iter().filter(|line| !record.lines().any(|recorded| recorded == *line)).collect();
    assert!(changed.is_empty() && record.lines().count() == results.len(), "these results have changed: {changed:#?}");
}
