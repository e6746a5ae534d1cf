//! Tests of input that is refused or repaired.

use super::*;

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
    let arguments = ["render", "builtin:furnace", "-o", "x.png", "--integrator", "plain", "--backend", "gpu"];
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
