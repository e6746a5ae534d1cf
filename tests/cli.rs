//! Tests of the command line's contract: exit codes, one sentence for each error, atomic files.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

#[path = "cli/cluster_sim.rs"]
mod cluster_sim;
#[path = "cli/faithful.rs"]
mod faithful;
#[path = "cli/folders.rs"]
mod folders;
#[path = "cli/ranks.rs"]
mod ranks;
#[cfg(feature = "gpu")]
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
    // The camera looks at the red wall, which reflects ten times as much red as green, and at the back wall.
    let ([red, green, _], [other_red, other_green, _]) = (sum(20), sum(preview.width() - 20));
    assert!(red > 3.0 * green && other_red < 2.0 * other_green, "{red} {green} {other_red} {other_green}");
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

/// Returns the JSON that a command printed, or `None` on a machine without a graphics adapter.
#[cfg(feature = "gpu")]
fn json_of_card(output: &Output) -> Option<serde_json::Value> {
    if stderr(output).contains("no graphics adapter") {
        skip::skip_without_gpu(stderr(output).trim());
        return None;
    }
    Some(json(output))
}

#[cfg(feature = "gpu")]
#[test]
fn a_bake_on_the_graphics_card_says_so_and_brings_as_much_light() {
    let folder = folder();
    let bake_on = |backend: &'static str| {
        let arguments = ["bake", "builtin:cornell_box", "-o", backend, "--density", "2", "--error", "0.5", "--json"];
        run(&folder, &[&arguments[..], &["--backend", backend]].concat())
    };
    let Some(on_gpu) = json_of_card(&bake_on("gpu")) else { return };
    let on_cpu = json(&bake_on("cpu"));
    assert_eq!((&on_gpu["backend"], &on_cpu["backend"]), (&"gpu".into(), &"cpu".into()));
    let [a, b] = [&on_gpu, &on_cpu].map(|report| report["error_estimate"].as_f64().unwrap());
    assert!((a - b).abs() < 1e-3 * b, "{a} and {b}");
    let [gpu, cpu] = ["gpu", "cpu"].map(|name| mean_of_page(&folder.path().join(name)));
    assert!(gpu > 0.0 && (gpu / cpu - 1.0).abs() < 1e-2, "{gpu} and {cpu}");
}

#[cfg(feature = "gpu")]
#[test]
fn a_graphics_card_renders_and_replays_rays_as_the_processor_does() {
    let folder = folder();
    let rays: Vec<u8> = (0..64)
        .flat_map(|ray| [0.0, 0.0, 3.0, 0.0, 0.01 * (ray as f32 - 32.0), 0.1, -1.0, f32::INFINITY])
        .flat_map(f32::to_le_bytes)
        .collect();
    fs::write(folder.path().join("rays"), rays).unwrap();
    let replay = |backend: &'static str| {
        let arguments = ["rays", "builtin:cornell_box", "--rays", "rays", "--hits", backend, "--json"];
        run(&folder, &[&arguments[..], &["--backend", backend]].concat())
    };
    let Some(on_gpu) = json_of_card(&replay("gpu")) else { return };
    assert_eq!(on_gpu["hits"], json(&replay("cpu"))["hits"]);
    let hits = |backend: &str| fs::read(folder.path().join(backend)).unwrap();
    for (gpu, cpu) in hits("gpu").chunks_exact(8).zip(hits("cpu").chunks_exact(8)) {
        let distance = |hit: &[u8]| f32::from_le_bytes(hit[..4].try_into().unwrap());
        assert!((distance(gpu) - distance(cpu)).abs() < 1e-5 * distance(cpu).max(1.0));
        assert_eq!(gpu[4..], cpu[4..]);
    }
    let render = |backend: &'static str| {
        let arguments = ["render", "builtin:furnace", "-o", "x.png", "--size", "8x8", "--samples", "2", "--json"];
        json(&run(&folder, &[&arguments[..], &["--backend", backend]].concat()))
    };
    let (on_gpu, on_cpu) = (render("gpu"), render("cpu"));
    assert_eq!((&on_gpu["backend"], &on_cpu["backend"]), (&"gpu".into(), &"cpu".into()));
    let [a, b] = [&on_gpu, &on_cpu].map(|report| report["ev100"].as_f64().unwrap());
    assert_eq!(a, b);
}

#[cfg(feature = "gpu")]
#[test]
fn the_processor_renders_what_the_graphics_card_has_no_room_for() {
    let folder = folder();
    // More pixels than WebGPU guarantees for a shader's buffer, in a scene without reflection.
    let picture =
        ["render", "builtin:furnace", "-o", "x.png", "--size", "2100x2100", "--samples", "1", "--bounces", "0"];
    let output = radiosity(&folder, &[&picture[..], &["--backend", "gpu", "--json"]].concat())
        .env("WGPU_SETTINGS_PRIO", "webgpu")
        .output()
        .unwrap();
    let Some(report) = json_of_card(&output) else { return };
    assert_eq!(report["backend"], "cpu");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("what the graphics card could not") && warnings.contains("the picture"), "{warnings}");
    assert_eq!(files(folder.path()), ["x.png"]);
}

#[cfg(feature = "gpu")]
#[test]
fn without_a_graphics_adapter_the_card_is_refused_in_a_sentence_and_auto_is_the_processor() {
    let folder = folder();
    let without = |backend: &str| {
        let picture = ["render", "builtin:furnace", "-o", "x.png", "--size", "4x4", "--samples", "1", "--json"];
        radiosity(&folder, &[&picture[..], &["--backend", backend]].concat())
            // There is no such library on this system, so no adapter.
            .env("WGPU_BACKEND", "dx12")
            .output()
            .unwrap()
    };
    let refused = without("gpu");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("no graphics adapter"), "{}", stderr(&refused));
    assert_eq!(stderr(&refused).lines().count(), 1);
    assert_eq!(files(folder.path()), Vec::<String>::new());
    assert_eq!(json(&without("auto"))["backend"], "cpu");
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
fn info_cuts_a_scene_into_cells() {
    let folder = folder();
    let partition = |arguments: &[&str]| {
        let info = json(&run(&folder, &[&["info", "builtin:two_rooms", "--json", "--partition"], arguments].concat()));
        info["partition"].clone()
    };
    for (kind, count, cells) in [("uniform", "12", 12), ("balanced", "16", 16), ("hybrid", "30", 29)] {
        let found = partition(&[kind, "--count", count]);
        assert_eq!(found["kind"], kind);
        assert_eq!(found["cells"], cells);
        assert!(found["neighbours"].as_f64().is_some_and(|neighbors| (3.0..12.0).contains(&neighbors)), "{found}");
        assert_eq!(found["loads"].as_array().unwrap().len(), cells);
    }
    let balanced = partition(&["balanced", "--count", "16", "--paths", "1000"]);
    assert!(balanced["sigma"].as_f64().unwrap() < 0.01, "{balanced}");
    assert!(balanced["traffic"]["crossings_per_ray"].as_f64().unwrap() > 0.1, "{balanced}");
    let by_power = partition(&["balanced", "--count", "2", "--factor", "power", "--axis", "middle"]);
    assert!(by_power["sigma"].as_f64().unwrap() < 0.01, "{by_power}");
    // Ranks find the light that one finds.
    let [alone, together] =
        ["1", "8"].map(|count| partition(&["balanced", "--count", count, "--ranks"])["ranks"].clone());
    for key in ["bounces", "rays"] {
        assert_eq!(alone[key], together[key], "{key}");
    }
    let powers = [&alone, &together].map(|ranks| ranks["power"].as_f64().unwrap());
    assert!((powers[1] / powers[0] - 1.0).abs() < 1e-9 && powers[0] > 0.0, "{powers:?}");
    assert_eq!(alone["packets"], 0);
    assert!(together["packets"].as_u64() > together["complete_packets"].as_u64(), "{together}");
    let text = run(&folder, &["info", "builtin:two_rooms", "--partition", "uniform", "--count", "3"]);
    assert!(String::from_utf8_lossy(&text.stdout).contains("uniform, 3 cells, sigma "));
}

#[test]
fn counts_that_a_partition_cannot_have_are_said() {
    let folder = folder();
    let complaint =
        |arguments: &[&str]| complaint(&folder, &[&["info", "builtin:furnace", "--partition"], arguments].concat());
    assert!(complaint(&["balanced", "--count", "12"]).contains("ask for 8 or 16"));
    assert!(complaint(&["hybrid", "--count", "5"]).contains("ask for 8 or more"));
    assert!(complaint(&["uniform", "--count", "0"]).contains("ask for 1 or more"));
    assert!(complaint(&["uniform", "--count", "1000000"]).contains("ask for 65536 or fewer"));
    assert!(complaint(&["uniform", "--count", "65", "--ranks"]).contains("ask for 64 or fewer"));
    let usage = run(&folder, &["info", "builtin:furnace", "--count", "8"]);
    assert_eq!(usage.status.code(), Some(2));
    let usage = run(&folder, &["info", "builtin:furnace", "--partition", "uniform", "--paths", "4000000000"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("4000000000 is not in 1..=1000000"));
}

#[test]
fn subscenes_that_cannot_be_are_refused_in_one_sentence() {
    let folder = folder();
    let refused =
        |arguments: &[&str]| complaint(&folder, &[&["bake", "builtin:cornell_box", "--subscenes"], arguments].concat());
    assert!(refused(&["4"]).contains("only the methods progressive and counted"));
    for option in [&["--ranks"][..], &["--mask-cells", "8"]] {
        let counted = refused(&[&["4", "--method", "counted"], option].concat());
        assert!(counted.contains("counted rays need no masks, and have no ranks"), "{counted}");
    }
    let progressive = |arguments: &[&'static str]| refused(&[arguments, &["--method", "progressive"]].concat());
    assert!(progressive(&["0"]).contains("0 cells"));
    assert!(progressive(&["6", "--partition", "balanced"]).contains("ask for 4 or 8"));
    assert!(progressive(&["4", "--mask-cells", "0"]).contains("0 x 0"));
    assert!(progressive(&["4", "--mask-cells", "4000000000"]).contains("ask for 1 to 256"));
}

#[test]
fn time_ends_progressive_refinement_between_shots_and_the_level_is_whole() {
    let folder = folder();
    let bake = ["bake", "builtin:edificio", "--method", "progressive", "--error", "0.02"];
    let output = ["--no-volume", "--no-denoise", "--json", "-o", "out"];
    let cut = ["--subscenes", "8"];
    for subscenes in [&cut[..0], &cut] {
        let with_limit =
            |time, more: &[&str]| run(&folder, &[&bake[..], &output, subscenes, &["--time", time], more].concat());
        // A limit has a grace of 1.5 seconds. One thread takes longer for the first light of 180,000 elements.
        let refused = stderr(&with_limit("0.001", &["--density", "6", "--threads", "1"]));
        assert!(refused.contains("the time limit of 0.001 s"), "{refused}");
        assert!(!folder.path().join("out/level.ron").exists(), "no texel has light yet");
        // A busy machine may take longer for the first light.
        let limits = ["6", "12", "24", "48"].into_iter();
        let within = limits.map(|time| with_limit(time, &["--density", "0.7"])).find(|output| output.status.success());
        let report = json(&within.unwrap());
        assert!(report["warnings"].to_string().contains("the time limit ended the bake"), "{report}");
        assert!(report["residual"].as_f64().unwrap() > 0.02, "{report}");
        let names = files(&folder.path().join("out"));
        let all = ["level.ron", "page_0.exr", "page_0.ktx2", "report.json"];
        assert!(all.iter().all(|name| names.iter().any(|file| file == name)), "{names:?}");
        // The whole solve would take minutes. The residual is found after the limit.
        assert!(report["seconds"]["solve"].as_f64().unwrap() < 60.0, "{report}");
        assert!((0.02..=1.0).contains(&report["unshot"].as_f64().unwrap()), "{report}");
        fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn time_ends_a_bake_with_relighting_data_and_a_volume_which_are_whole() {
    let folder = folder();
    let started = Instant::now();
    // An error of a thousandth alone takes minutes.
    let bake = ["bake", "builtin:cornell_box", "--density", "16", "--error", "0.001", "--relight", "2000", "--json"];
    let output = run(&folder, &[&bake[..], &["--volume", "0.02", "--time", "5", "-o", "out"]].concat());
    // The limit holds within two seconds where no other tests run.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    let report = json(&output);
    assert!(report["warnings"].to_string().contains("was not reached within the time limit"), "{report}");
    assert!(report["relight"]["patches"].as_u64().unwrap() >= 256, "{report}");
    let names = files(&folder.path().join("out"));
    let all = ["relight", "volume"].map(|start| names.iter().any(|name| name.starts_with(start)));
    assert_eq!(all, [true; 2], "{names:?}");
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

#[test]
fn commands_that_are_not_understood_end_with_code_two() {
    let folder = folder();
    for arguments in [&["bake"][..], &["fry", "x"], &["bake", "builtin:furnace", "--density", "thick"], &[]] {
        assert_eq!(run(&folder, arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn what_does_not_exist_yet_says_so() {
    let folder = folder();
    let arguments = ["render", "builtin:furnace", "-o", "x.png", "--integrator", "whitted", "--backend", "gpu"];
    assert!(complaint(&folder, &arguments).contains("--backend cpu"));
    assert_eq!(files(folder.path()), [] as [&str; 0]);
}

#[cfg(not(feature = "xatlas"))]
#[test]
fn a_build_without_xatlas_says_how_to_get_it() {
    let folder = folder();
    let said = complaint(&folder, &["bake", "builtin:furnace", "--unwrap", "xatlas"]);
    assert!(said.contains("--features cli,xatlas") && said.contains("charts"), "{said}");
    assert_eq!(files(folder.path()), [] as [&str; 0]);
}

#[cfg(feature = "xatlas")]
#[test]
fn xatlas_unwraps_a_bake_that_says_so_and_prints_nothing() {
    let folder = folder();
    let arguments = [&bake("builtin:furnace", "out")[..], &["--unwrap", "xatlas", "--json"]].concat();
    let report = json(&run(&folder, &arguments));
    assert!(report["elements"].as_u64().unwrap() > 0, "{report}");
    let level = fs::read_to_string(folder.path().join("out/level.ron")).unwrap();
    assert!(level.contains("xatlas"), "{level}");
}

#[test]
fn render_draws_what_a_closed_form_says() {
    let folder = folder();
    // All surfaces of the furnace have a radiance of one.
    let inside = ["--eye", "0,0,0.5", "--target", "0,0,-1", "--size", "24x16", "--samples", "256"];
    let arguments =
        |output: &'static str| [&["render", "builtin:furnace", "-o", output, "--json"][..], &inside].concat();
    let report = json(&run(&folder, &arguments("x.exr")));
    assert_eq!([&report["width"], &report["height"], &report["samples"]], [24, 16, 256]);
    assert_eq!(report["paths"], 24 * 16 * 256);
    // A luminance of one times 100 / 12.5 is EV 3.
    assert!((report["ev100"].as_f64().unwrap() - 3.0).abs() < 0.05, "{report}");
    let image = exr::prelude::read_first_rgba_layer_from_file(
        folder.path().join("x.exr"),
        |size, _| vec![(0.0, 0.0, 0.0); size.area()],
        |pixels, place, (r, g, b, _): (f32, f32, f32, f32)| pixels[place.y() * 24 + place.x()] = (r, g, b),
    );
    let pixels = image.unwrap().layer_data.channel_data.pixels;
    let mean = |of: fn(&(f32, f32, f32)) -> f32| pixels.iter().map(of).sum::<f32>() / pixels.len() as f32;
    for mean in [mean(|pixel| pixel.0), mean(|pixel| pixel.1), mean(|pixel| pixel.2)] {
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
    json(&run(&folder, &arguments("x.png")));
    let picture = image::open(folder.path().join("x.png")).unwrap().to_rgb8();
    assert_eq!(picture.dimensions(), (24, 16));
    // One over 1.2 * 2^3, through Bevy's ACES fit and sRGB.
    let center = picture.get_pixel(12, 8).0;
    assert!(center.iter().all(|&byte| byte.abs_diff(60) < 4), "{center:?}");
    // A radiance of one at EV 0 is exposed to 1 / 1.2. Reinhard maps it to 1 / 2.2, which is 180 in sRGB.
    json(&run(&folder, &[&arguments("y.png")[..], &["--ev", "0", "--tonemapping", "reinhard"]].concat()));
    let picture = image::open(folder.path().join("y.png")).unwrap().to_rgb8();
    assert!(picture.get_pixel(12, 8).0.iter().all(|&byte| byte.abs_diff(180) < 4));
    assert_eq!(files(folder.path()), ["x.exr", "x.png", "y.png"]);
}

#[test]
fn noise_of_one_sample_is_unknown_and_a_dark_picture_is_said_to_be() {
    let folder = folder();
    let draw = |scene: &str, samples: &str| {
        run(&folder, &["render", scene, "-o", "x.png", "--size", "8x8", "--samples", samples, "--json"])
    };
    assert!(json(&draw("builtin:cornell_box", "1"))["error_estimate"].is_null());
    let two = json(&draw("builtin:cornell_box", "2"));
    assert!(two["error_estimate"].as_f64().unwrap() > 0.0);
    assert_eq!(two["warnings"].as_array().unwrap().len(), 0);
    write_triangle(&folder, "dark", GROUND, false);
    assert!(json(&draw("dark.gltf", "2"))["warnings"].to_string().contains("no light"));
}

#[test]
fn render_says_what_it_cannot_draw() {
    let folder = folder();
    let complain = |more: &[&str]| complaint(&folder, &[&["render", "builtin:furnace"][..], more].concat());
    assert!(complain(&["-o", "x.bmp"]).contains("call it .png or .exr"));
    assert!(complain(&["-o", "x.png", "--camera", "hall"]).contains("no camera 'hall'"));
    assert!(complain(&["-o", "x.png", "--eye", "0,1"]).contains("is no point"));
    assert!(complain(&["-o", "x.png", "--eye", "0,0,0", "--target", "0,0,0"]).contains("cannot look at"));
    assert!(complain(&["-o", "x.png", "--fov", "200"]).contains("--fov 200"));
    assert!(complain(&["-o", "x.png", "--error", "0"]).contains("--error"));
    assert!(complain(&["-o", "x.png", "--lens", "1"]).contains("is no lens"));
    assert!(complain(&["-o", "x.png", "--tonemapping", "blender-filmic"]).contains("choose agx"));
    // Refused before the image is rendered, which would take days.
    assert!(complain(&["-o", "nowhere/x.png", "--samples", "9999999"]).contains("nowhere"));
    let usage = run(&folder, &["render", "builtin:furnace", "-o", "x.png", "--size", "0x9"]);
    assert_eq!(usage.status.code(), Some(2));
    assert_eq!(files(folder.path()), [] as [&str; 0]);
}

#[cfg(not(feature = "viewer"))]
#[test]
fn view_names_the_command_that_has_a_window() {
    assert!(complaint(&folder(), &["view", "builtin:furnace"]).contains("cargo view builtin:furnace"));
}

#[test]
fn files_that_are_no_scenes_are_named() {
    let folder = folder();
    let triangle = write_triangle(&folder, "level", GROUND, true);
    fs::write(folder.path().join("noise.glb"), [7; 64]).unwrap();
    let text = fs::read_to_string(&triangle).unwrap();
    fs::write(folder.path().join("cut.gltf"), &text[..text.len() / 2]).unwrap();
    fs::write(folder.path().join("orphan.gltf"), text.replace("level.bin", "lost.bin")).unwrap();
    fs::write(folder.path().join("notes.txt"), "hello").unwrap();
    fs::write(folder.path().join("empty.gltf"), r#"{"asset": {"version": "2.0"}}"#).unwrap();
    for (scene, reason) in [
        ("missing.glb", "missing.glb"),
        ("noise.glb", "noise.glb"),
        ("cut.gltf", "cut.gltf"),
        ("orphan.gltf", "lost.bin"),
        ("notes.txt", ".glb"),
        ("empty.gltf", "no triangles"),
        ("builtin:castle", "cornell_box"),
    ] {
        assert!(complaint(&folder, &bake(scene, "out")).contains(reason), "{scene}");
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_missing_texture_is_named_and_its_factor_stands_in() {
    let folder = folder();
    let file = write_triangle(&folder, "level", GROUND, true);
    let text = fs::read_to_string(&file).unwrap();
    let textured = r#""pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "#;
    let text = text.replace(r#""pbrMetallicRoughness": {"#, textured);
    let images = r#""textures": [{"source": 0}], "images": [{"uri": "bricks.png"}], "accessors""#;
    fs::write(&file, text.replace(r#""accessors""#, images)).unwrap();
    let report = json(&run(&folder, &[&bake("level.gltf", "out")[..], &["--json"]].concat()));
    assert!(report["warnings"].to_string().contains("bricks.png"), "{report}");
    assert!(folder.path().join("out/level.ron").exists());
}

#[test]
fn geometry_that_cannot_be_baked_is_refused() {
    let folder = folder();
    let cases = [
        ("nan", [[f32::NAN; 3], GROUND[1], GROUND[2]], ""),
        ("flat", [GROUND[0]; 3], "none of its triangles has an area"),
    ];
    for (name, corners, reason) in cases {
        write_triangle(&folder, name, corners, true);
        let said = complaint(&folder, &bake(&format!("{name}.gltf"), "out"));
        assert!(said.contains(reason), "{said}");
        assert!(!folder.path().join("out").exists(), "{name}");
    }
}

#[test]
fn a_scene_without_light_bakes_black_and_says_so() {
    let folder = folder();
    write_triangle(&folder, "dark", GROUND, false);
    let mut arguments = bake("dark.gltf", "out");
    arguments.push("--json");
    let report = json(&run(&folder, &arguments));
    assert!(report["warnings"].to_string().contains("no light"), "{report}");
    let lit = run(&folder, &["bake", "dark.gltf", "-o", "lit", "--sky", "1,1,1", "--error", "0.3", "--json"]);
    assert!(!json(&lit)["warnings"].to_string().contains("no light"));
}

#[test]
fn a_sun_that_is_given_stands_in_for_that_of_the_scene_and_says_so() {
    let folder = folder();
    let file = write_triangle(&folder, "plain", GROUND, true);
    let text = std::fs::read_to_string(&file).unwrap();
    let sun = r#""type": "directional", "intensity": 10000"#;
    std::fs::write(&file, text.replace(r#""type": "point", "intensity": 10"#, sun)).unwrap();
    std::fs::write(folder.path().join("points.csv"), "0.3,0,0.3,0,1,0\n").unwrap();
    let arguments = ["probe", "plain.gltf", "--points", "points.csv", "-o", "light.csv", "--sun", "0,30,5000"];
    let output = run(&folder, &arguments);
    let said = stderr(&output);
    assert!(output.status.success() && said.contains("--sun replaces the scene's directional light '"), "{said}");
    let light = std::fs::read_to_string(folder.path().join("light.csv")).unwrap();
    let lux: f32 = light.lines().last().unwrap().split(',').nth(6).unwrap().parse().unwrap();
    assert!((lux - 2500.0).abs() < 25.0, "{light}");
}

#[test]
fn settings_that_mean_nothing_are_refused_with_the_value() {
    let folder = folder();
    for (option, value) in [("--density", "0"), ("--density", "-4"), ("--error", "0"), ("--time", "-1")] {
        let text = complaint(&folder, &["bake", "builtin:furnace", "-o", "out", option, value]);
        assert!(text.contains(value) && text.contains(&option[2..]), "{text}");
    }
    let text = complaint(&folder, &["bake", "builtin:furnace", "-o", "out", "--density", "1e-30"]);
    assert!(text.contains("give a number from 1e-9 on"), "{text}");
    for (option, value) in [("--sun", "1,2"), ("--sun", "1,2,1e30"), ("--sky", "bright"), ("--sky", "lost.hdr")] {
        assert!(complaint(&folder, &["bake", "builtin:furnace", "-o", "out", option, value]).contains(value));
    }
    assert!(!folder.path().join("out").exists());
}

#[test]
fn ten_kilometers_at_a_hundred_texels_a_meter_are_refused_with_the_numbers() {
    let folder = folder();
    write_triangle(&folder, "plain", GROUND.map(|corner| corner.map(|number| number * 10_000.0)), true);
    let text = complaint(&folder, &["bake", "plain.gltf", "-o", "out", "--density", "100"]);
    assert!(
        text.contains("(50000000 m2 at 100 texels per meter)") && text.contains("MiB") && text.contains("--density"),
        "{text}"
    );
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_the_bake() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(complaint(&folder, &bake("builtin:furnace", "file/out")).contains("file/out"));
    fs::create_dir_all(folder.path().join("out/report.json")).unwrap();
    assert!(complaint(&folder, &bake("builtin:furnace", "out")).contains("report.json"));
    assert_eq!(files(&folder.path().join("out")), ["report.json"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_half_of_a_level() {
    let folder = folder();
    // A limit on the size of files replaces a full disk: writing fails in the middle of the first large file.
    let command = format!(
        "trap '' XFSZ; ulimit -f 4; exec {} bake builtin:cornell_box -o out --error 0.3 --density 16",
        env!("CARGO_BIN_EXE_radiosity")
    );
    let output = Command::new("bash").arg("-c").arg(command).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write"), "{}", stderr(&output));
    assert!(!folder.path().join("out").exists(), "{:?}", files(&folder.path().join("out")));
}

#[test]
fn bad_points_and_rays_are_named() {
    let folder = folder();
    fs::write(folder.path().join("points.csv"), "0,0,0,0,1,0\n1,2,3\n").unwrap();
    let probe = ["probe", "builtin:furnace", "--points", "points.csv", "-o", "light.csv"];
    assert!(complaint(&folder, &probe).contains("line 2 of points.csv"));
    fs::write(folder.path().join("in.rays"), [0; 33]).unwrap();
    let rays = ["rays", "builtin:furnace", "--rays", "in.rays", "--hits", "out.hits"];
    assert!(complaint(&folder, &rays).contains("33 bytes"));
    assert_eq!(files(folder.path()), ["in.rays", "points.csv"]);
}

/// Arguments of a bake of many passes, each long enough for a checkpoint.
#[cfg(unix)]
const LONG: [&str; 11] =
    ["bake", "builtin:cornell_box", "-o", "out", "--error", "0.004", "--density", "8", "--threads", "1", "--json"];

#[cfg(unix)]
fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_there() {
        assert!(started.elapsed() < Duration::from_secs(120), "waited two minutes for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Asserts that the bake in `folder` resumes to the same pages as an undisturbed one.
#[cfg(unix)]
fn assert_resumes_to_the_same_bytes(folder: &TempDir) {
    let mut resume = LONG.to_vec();
    resume.push("--resume");
    let resumed = json(&run(folder, &resume));
    assert_eq!(resumed["warnings"], serde_json::json!([]));
    let mut undisturbed = LONG.to_vec();
    undisturbed[3] = "undisturbed";
    json(&run(folder, &undisturbed));
    let (out, undisturbed) = (folder.path().join("out"), folder.path().join("undisturbed"));
    assert_eq!(files(&out), files(&undisturbed), "the checkpoint is gone");
    for name in files(&out).iter().filter(|name| *name != "report.json") {
        assert!(fs::read(out.join(name)).unwrap() == fs::read(undisturbed.join(name)).unwrap(), "{name} differs");
    }
}

#[cfg(unix)]
#[test]
fn a_killed_bake_goes_on_to_the_same_bytes_and_refuses_other_settings() {
    let folder = folder();
    let checkpoint = folder.path().join("out/checkpoint.bin");
    let mut child = radiosity(&folder, &LONG).stdout(Stdio::null()).spawn().unwrap();
    wait_for("a checkpoint", || checkpoint.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path().join("out/level.ron").exists(), "the bake was over before it could be killed");

    let mut other = LONG.to_vec();
    other.extend(["--resume", "--seed", "5"]);
    assert!(complaint(&folder, &other).contains("other settings"));
    assert_resumes_to_the_same_bytes(&folder);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_a_checkpoint_and_says_how_to_go_on() {
    let folder = folder();
    let child = radiosity(&folder, &LONG).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("a checkpoint", || folder.path().join("out/checkpoint.bin").exists());
    let second = complaint(&folder, &bake("builtin:cornell_box", "out"));
    assert!(second.contains("another bake") && second.contains(&child.id().to_string()), "{second}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
    let left = files(&folder.path().join("out"));
    assert!(left.iter().all(|name| name.starts_with("checkpoint.") && name.ends_with(".bin")), "{left:?}");
    assert_resumes_to_the_same_bytes(&folder);
}

#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_at_once_what_the_first_waits_for() {
    use std::io::{BufRead, BufReader};

    let folder = folder();
    // A pass takes seconds.
    let arguments = [
        "bake",
        "builtin:cornell_box",
        "-o",
        "out",
        "--density",
        "130",
        "--error",
        "0.001",
        "--threads",
        "1",
        "--backend",
        "cpu",
    ];
    let mut child = radiosity(&folder, &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    let interrupt = || Command::new("kill").args(["-INT", &id]).status().unwrap().success();
    // A first pass would stop at once. After it there is a checkpoint.
    let checkpoint = folder.path().join("out/checkpoint.bin");
    wait_for("the end of the first pass", || checkpoint.exists());
    assert!(interrupt());
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().ends_with("Ctrl-C again stops at once")));
    let asked = Instant::now();
    assert!(interrupt());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_the_picture_as_far_as_it_is() {
    use std::io::{BufRead, BufReader, Read};
    let folder = folder();
    let arguments = ["render", "builtin:cornell_box", "-o", "x.png", "--size", "8x8", "--samples", "10000000"];
    let mut child = radiosity(&folder, &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    assert!(text.starts_with("picture: 0 %"), "{text}");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    output.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(text.contains("8 x 8 pixels of ") && !text.contains("10000000"), "{text}");
    assert_eq!(files(folder.path()), ["x.png"]);
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
