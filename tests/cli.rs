//! Tests of the command line's contract: exit codes, one sentence for each error, atomic files.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[path = "cli/cluster_sim.rs"]
mod cluster_sim;
#[cfg(feature = "gpu")]
#[path = "cli/devices.rs"]
mod devices;
#[path = "cli/faithful.rs"]
mod faithful;
#[path = "cli/folders.rs"]
mod folders;
#[path = "cli/interruptions.rs"]
mod interruptions;
#[path = "cli/partitions.rs"]
mod partitions;
#[path = "cli/ranks.rs"]
mod ranks;
#[path = "cli/rays.rs"]
mod rays;
#[path = "cli/refusals.rs"]
mod refusals;
#[path = "cli/render.rs"]
mod render;

#[path = "../src/skip.rs"]
mod skip;

fn radiosity(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_radiosity"));
    command.current_dir(folder.path()).args(arguments).stdin(Stdio::null());
    command
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    radiosity(folder, arguments).output().unwrap()
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the error of a failed command. Checks that it is one sentence, and that the exit code is 1.
fn complaint(folder: &TempDir, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    assert!(text.starts_with("error: "), "{arguments:?}: {text}");
    text
}

/// Returns the JSON object that a command printed. Checks that it printed nothing else.
fn json(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the names of all files in a folder, sorted.
fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Writes a glTF file of one triangle with the given corners, optionally with a lamp above it.
fn write_triangle(folder: &TempDir, name: &str, corners: [[f32; 3]; 3], lamp: bool) -> PathBuf {
    let bytes: Vec<u8> = corners.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(folder.path().join(format!("{name}.bin")), bytes).unwrap();
    let lights = if lamp {
        r#""extensionsUsed": ["KHR_lights_punctual"],
           "extensions": {"KHR_lights_punctual": {"lights": [{"type": "point", "intensity": 10}]}},"#
    } else {
        ""
    };
    let lamp_node = if lamp {
        r#", {"translation": [0.3, 1, 0.3], "extensions": {"KHR_lights_punctual": {"light": 0}}}"#
    } else {
        ""
    };
    let nodes = if lamp { "[0, 1]" } else { "[0]" };
    let path = folder.path().join(format!("{name}.gltf"));
    let text = format!(
        r#"{{"asset": {{"version": "2.0"}}, {lights} "scene": 0, "scenes": [{{"nodes": {nodes}}}],
            "nodes": [{{"mesh": 0, "name": "ground"}}{lamp_node}],
            "materials": [{{"pbrMetallicRoughness": {{"metallicFactor": 0}}}}],
            "meshes": [{{"primitives": [{{"attributes": {{"POSITION": 0}}, "material": 0}}]}}],
            "accessors": [{{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
                           "min": [0, 0, 0], "max": [1, 1, 1]}}],
            "bufferViews": [{{"buffer": 0, "byteLength": 36}}],
            "buffers": [{{"uri": "{name}.bin", "byteLength": 36}}]}}"#
    );
    fs::write(&path, text).unwrap();
    path
}

const GROUND: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]];

/// Returns the mean of all numbers of a level's first page.
fn mean_of_page(folder: &Path) -> f32 {
    let level = bevy_radiosity::lightmap::files::Level::read(folder).unwrap();
    let page = level.read_page(folder, 0).unwrap();
    page.texels.iter().map(|texel| texel.element_sum() / 3.0).sum::<f32>() / page.texels.len() as f32
}

/// Returns the arguments of a short bake.
fn bake<'a>(scene: &'a str, output: &'a str) -> Vec<&'a str> {
    vec!["bake", scene, "-o", output, "--error", "0.3", "--density", "4"]
}

#[test]
fn a_bake_writes_its_level_and_nothing_else() {
    let folder = folder();
    let output = run(&folder, &bake("builtin:cornell_box", "out"));
    assert!(output.status.success(), "{}", stderr(&output));
    let names = files(&folder.path().join("out"));
    let expected = ["level.ron", "page_0.exr", "page_0.ktx2", "preview.png", "report.json"];
    assert_eq!(names, [&expected[..], &["unwrapped_meshes.bin", "validity_0.png", "volume.exr"]].concat());
    let preview = image::open(folder.path().join("out/preview.png")).unwrap().to_rgb8();
    let sum = |column: u32| {
        let pixels = (0..preview.height()).map(|row| preview.get_pixel(column, row).0);
        pixels.fold([0.0; 3], |sum, color| core::array::from_fn(|c| sum[c] + f64::from(color[c])))
    };
    // The camera looks into the room, with the red wall at the left and the green wall at the right.
    let [[red, green, _], [other_red, other_green, _]] = [28, 72].map(|percent| sum(percent * preview.width() / 100));
    assert!(red > 3.0 * green && other_green > 1.2 * other_red, "{red} {green} {other_red} {other_green}");
}

#[test]
fn a_bake_draws_no_preview_where_none_is_wanted_and_removes_that_of_the_bake_before() {
    let folder = folder();
    for (more, is_there) in [(&[][..], true), (&["--no-preview"], false)] {
        let output = run(&folder, &[&bake("builtin:furnace", "out"), more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(folder.path().join("out/preview.png").exists(), is_there);
    }
    fs::write(folder.path().join("out/preview.png"), "three years of work").unwrap();
    assert!(complaint(&folder, &bake("builtin:furnace", "out")).contains("preview.png"));
}

#[test]
fn without_a_folder_a_bake_is_named_after_its_scene() {
    let folder = folder();
    let output = run(&folder, &["bake", "builtin:furnace", "--error", "0.5", "--density", "2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(folder.path().join("bakes/furnace/level.ron").exists());
}

#[test]
fn json_is_one_object_with_the_keys_of_the_contract() {
    let folder = folder();
    let mut arguments = bake("builtin:cornell_box", "out");
    arguments.push("--json");
    let report = json(&run(&folder, &arguments));
    for key in ["elements", "triangles", "surfaces", "pages", "rays", "iterations", "unshot", "error_estimate"] {
        assert!(report[key].as_f64().is_some_and(|value| value > 0.0), "{key} of {report}");
    }
    assert!(report["seconds"]["total"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert!(report["residual"].is_number() && report["peak_memory_bytes"].is_number());
    assert_eq!(report["backend"], "cpu");
    assert_eq!(report["warnings"], serde_json::json!([]));
    let written = fs::read_to_string(folder.path().join("out/report.json")).unwrap();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).unwrap(), report);
}

#[test]
fn transport_for_changing_lights_is_a_file_beside_the_level_and_in_the_report() {
    let folder = folder();
    let report =
        json(&run(&folder, &[&bake("builtin:cornell_box", "out")[..], &["--relight", "60", "--json"]].concat()));
    let number = |key: &str| report["relight"][key].as_f64().unwrap_or_else(|| panic!("{key} of {report}"));
    assert!(number("patches") <= 60.0 && number("patches") > 30.0, "{report}");
    assert!(number("density") > 0.0 && number("density") <= 1.0 && number("error") > 0.0, "{report}");
    // The arrays in memory have the sizes of those in the file, which also has a header.
    let bytes = fs::metadata(folder.path().join("out/relight.bin")).unwrap().len();
    assert!((number("bytes") - bytes as f64).abs() < 256.0, "{bytes}: {report}");
    let by_view = ["--relight", "60", "--relight-patches", "coherent"];
    run(&folder, &[&bake("builtin:cornell_box", "by_view")[..], &by_view].concat());
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let level = String::from_utf8(read("by_view/level.ron")).unwrap();
    assert!(level.contains("coherent") && read("by_view/relight.bin") != read("out/relight.bin"), "{level}");
    let without = json(&run(&folder, &[&bake("builtin:cornell_box", "plain")[..], &["--json"]].concat()));
    assert!(without["relight"].is_null() && !folder.path().join("plain/relight.bin").exists(), "{without}");
}

#[test]
fn numbers_of_patches_that_cannot_be_are_refused_and_nothing_is_written() {
    let folder = folder();
    for (patches, reason) in
        [("0", "number of relight patches must be one or more"), ("100000", "ask for at most that")]
    {
        let said = complaint(&folder, &[&bake("builtin:cornell_box", "out")[..], &["--relight", patches]].concat());
        assert!(said.contains(reason), "{said}");
    }
    for patches in ["--relight=-1", "--relight=many", "--relight-patches=coherent"] {
        let output = run(&folder, &[&bake("builtin:cornell_box", "out")[..], &[patches]].concat());
        assert_eq!(output.status.code(), Some(2), "{patches}: {}", stderr(&output));
    }
    assert!(!folder.path().join("out/level.ron").exists());
}

#[test]
fn info_says_what_is_in_a_scene() {
    let folder = folder();
    let info = json(&run(&folder, &["info", "builtin:furnace", "--json"]));
    assert_eq!(info["triangles"], 12);
    assert_eq!(info["surfaces"], 6);
    assert!((info["area_m2"].as_f64().unwrap() - 24.0).abs() < 1e-6);
    assert_eq!(info["lights"], 6);
    for key in ["nodes", "leaves", "references_per_triangle", "depth", "build_seconds"] {
        assert!(info["kdtree"][key].is_number(), "{key}");
    }
    for key in ["kind", "cells", "sigma", "neighbours"] {
        assert!(info["partition"].get(key).is_some(), "{key}");
    }
    let triangle = write_triangle(&folder, "level", GROUND, true);
    let info = json(&run(&folder, &["info", triangle.to_str().unwrap(), "--json", "--density", "4"]));
    let (light, surface) = (&info["light_list"][0], &info["surface_list"][0]);
    assert_eq!((light["kind"].as_str(), light["strength"].as_f64()), (Some("point light"), Some(10.0)));
    assert_eq!((surface["object"].as_str(), surface["key"].as_str()), (Some("ground"), Some("ground:0")));
    assert_eq!((surface["sides"].as_str(), surface["uv1"].as_str()), (Some("front"), Some("new")));
    // Half a square meter at sixteen texels per square meter. The rectangle around the triangle has at least that many.
    assert_eq!(surface["area_m2"].as_f64(), Some(0.5));
    assert!(surface["texels"].as_u64().is_some_and(|texels| (8..=25).contains(&texels)), "{surface}");
    let printed = run(&folder, &["info", triangle.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&printed.stdout).contains("'ground'"));
    let list = run(&folder, &["info", "builtin:"]);
    assert!(String::from_utf8_lossy(&list.stdout).contains("builtin:cornell_box"));
}

#[test]
fn every_scene_of_the_thesis_bakes_from_the_command_line() {
    let names = ["habitacion", "armadillo", "habitacion_grande", "armadillos", "edificio", "salon", "estudio"];
    for name in names {
        let folder = folder();
        let scene = format!("builtin:{name}");
        let report = json(&run(
            &folder,
            &["bake", &scene, "-o", "out", "--error", "0.5", "--density", "0.5", "--no-volume", "--json"],
        ));
        assert!(report["elements"].as_u64().unwrap() > 100, "{name}: {report}");
        assert!(mean_of_page(&folder.path().join("out")) > 0.0, "{name}");
    }
}

#[test]
fn probes_of_a_furnace_find_pi_times_its_radiance_by_paths_and_in_its_bake() {
    let folder = folder();
    fs::write(folder.path().join("points.csv"), "x,y,z,nx,ny,nz\n0,-1,0,0,1,0\n1,0.3,0.2,-1,0,0\n").unwrap();
    let probe = |from: &[&str]| {
        let mut arguments = vec!["probe", "builtin:furnace", "--points", "points.csv", "-o", "light.csv"];
        arguments.extend(from);
        let output = run(&folder, &arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let text = fs::read_to_string(folder.path().join("light.csv")).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("x,y,z,nx,ny,nz,r,g,b,standard_error"));
        let points: Vec<Vec<f32>> =
            lines.map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
        assert_eq!(points.len(), 2);
        points
    };
    assert!(
        run(&folder, &["bake", "builtin:furnace", "-o", "out", "--error", "0.01", "--density", "4"]).status.success()
    );
    for (from, tolerance) in [(["--samples", "4096"], 0.01), (["--from", "out"], 0.02)] {
        for point in probe(&from) {
            for channel in &point[6..9] {
                assert!((channel / std::f32::consts::PI - 1.0).abs() < tolerance, "{from:?}: {point:?}");
            }
        }
    }
}

#[test]
fn rays_are_replayed_from_a_file() {
    let folder = folder();
    let rays: [[f32; 8]; 2] = [[0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 1e30], [0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.5]];
    let bytes: Vec<u8> = rays.as_flattened().iter().flat_map(|number| number.to_le_bytes()).collect();
    fs::write(folder.path().join("in.rays"), bytes).unwrap();
    let arguments = ["rays", "builtin:furnace", "--rays", "in.rays", "--hits", "out.hits", "--json"];
    let outcome = json(&run(&folder, &arguments));
    assert_eq!((&outcome["rays"], &outcome["hits"]), (&2.into(), &1.into()));
    assert_eq!(outcome["passes"], 3);
    assert!(outcome["mrays_per_second"].is_number() && outcome["build_seconds"].is_number());
    let hits = fs::read(folder.path().join("out.hits")).unwrap();
    assert_eq!(hits.len(), 16);
    assert_eq!(f32::from_le_bytes(hits[..4].try_into().unwrap()), 1.0);
    assert_eq!(f32::from_le_bytes(hits[8..12].try_into().unwrap()), -1.0);
}

#[cfg(unix)]
fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed() < Duration::from_secs(120), "waited two minutes for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn threads_do_not_change_the_bytes() {
    let folder = folder();
    for threads in ["1", "3"] {
        let mut arguments = bake("builtin:cornell_box", threads);
        arguments.extend(["--threads", threads]);
        assert!(run(&folder, &arguments).status.success());
    }
    let page = |threads: &str| fs::read(folder.path().join(threads).join("page_0.exr")).unwrap();
    assert!(page("1") == page("3"));
}
