//! Tests of the graphics card, and of machines without one.

use super::*;

/// Returns the JSON that a command printed, or `None` on a machine without a graphics adapter.
fn json_of_card(output: &Output) -> Option<serde_json::Value> {
    if stderr(output).contains("no graphics adapter") {
        skip::skip_without_gpu(stderr(output).trim());
        return None;
    }
    Some(json(output))
}

/// Returns the standard error of a command, or `None` on a machine without a graphics adapter.
fn stderr_of_card(output: &Output) -> Option<String> {
    let said = stderr(output);
    if said.contains("no graphics adapter") {
        skip::skip_without_gpu(said.trim());
        return None;
    }
    Some(said)
}

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

#[test]
fn a_graphics_card_renders_and_replays_rays_as_the_processor_does() {
    let folder = folder();
    let rays: Vec<u8> = (0..64)
        .flat_map(|ray| [0.0, 0.0, 3.0, 0.0, 0.01 * (ray as f32 - 32.0), 0.1, -1.0, f32::INFINITY])
        .flat_map(f32::to_le_bytes)
        .collect();
    fs::write(folder.path().join("rays"), rays).unwrap();
    let replay = |backend: &'static str, more: &[&str]| {
        let arguments = ["rays", "builtin:cornell_box", "--rays", "rays", "--hits", backend, "--json"];
        run(&folder, &[&arguments[..], &["--backend", backend], more].concat())
    };
    let on_cpu = json(&replay("cpu", &[]));
    let hits = |backend: &str| fs::read(folder.path().join(backend)).unwrap();
    for more in [&[][..], &["--traversal", "stack"], &["--traversal", "restart"], &["--traversal", "ropes"]] {
        let Some(on_gpu) = json_of_card(&replay("gpu", more)) else { return };
        assert_eq!((&on_gpu["hits"], on_gpu["unfinished"].as_u64()), (&on_cpu["hits"], Some(0)), "{more:?}");
        for (gpu, cpu) in hits("gpu").chunks_exact(8).zip(hits("cpu").chunks_exact(8)) {
            let distance = |hit: &[u8]| f32::from_le_bytes(hit[..4].try_into().unwrap());
            assert!((distance(gpu) - distance(cpu)).abs() < 1e-5 * distance(cpu).max(1.0), "{more:?}");
            assert_eq!(gpu[4..], cpu[4..], "{more:?}");
        }
    }
    let render = |backend: &'static str| {
        let arguments = ["render", "builtin:furnace", "-o", "x.png", "--size", "8x8", "--samples", "2", "--json"];
        json(&run(&folder, &[&arguments[..], &["--backend", backend]].concat()))
    };
    let (on_gpu, on_cpu) = (render("gpu"), render("cpu"));
    assert_eq!((&on_gpu["backend"], &on_cpu["backend"]), (&"gpu".into(), &"cpu".into()));
    let [a, b] = [&on_gpu, &on_cpu].map(|report| report["ev100"].as_f64().unwrap());
    assert_eq!(a, b);
    let resume = ["render", "builtin:furnace", "-o", "x.png", "--size", "8x8", "--resume", "--backend", "gpu"];
    assert!(complaint(&folder, &resume).contains("add --backend cpu, or leave out --resume"));
}

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
fn blocks_of_threads_are_for_graphics_cards_and_within_their_limits() {
    let folder = folder();
    fs::write(folder.path().join("rays"), [0; 64]).unwrap();
    let rays = ["rays", "builtin:furnace", "--rays", "rays", "--hits", "hits"];
    let picture = ["render", "builtin:furnace", "-o", "x.png", "--size", "4x4", "--samples", "1"];
    let bake = ["bake", "builtin:furnace", "-o", "baked", "--method", "counted"];
    for command in [&rays[..], &picture, &bake] {
        let said = complaint(&folder, &[command, &["--backend", "cpu", "--block", "32"]].concat());
        assert!(said.contains("--block is for a graphics card"), "{said}");
        let output = run(&folder, &[command, &["--backend", "gpu", "--block", "1048576"]].concat());
        let Some(said) = stderr_of_card(&output) else { return };
        assert!(said.contains("no blocks of 1048576 threads: give a multiple of 8"), "{said}");
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{said}");
    }
    let said = complaint(&folder, &["bake", "builtin:furnace", "-o", "baked", "--block", "32"]);
    assert!(said.contains("--method counted"), "{said}");
    assert!(!folder.path().join("x.png").exists() && !folder.path().join("hits").exists());
}
