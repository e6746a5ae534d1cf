//! Tests of methods as published, and of refused options.

use super::{complaint, files, folder, json, run, stderr};

/// Returns the arguments of a small picture of the Cornell box by the method of directions.
fn directions<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let faithful =
        ["render", "builtin:cornell_box", "-o", output, "--size", "24x16", "--integrator", "light", "--faithful"];
    [&faithful[..], more].concat()
}

#[test]
fn the_method_of_directions_reports_its_contributions_and_light_paths() {
    let folder = folder();
    let reference = ["render", "builtin:cornell_box", "-o", "path.exr", "--size", "24x16", "--samples", "64", "--json"];
    let by_path = json(&run(&folder, &reference));
    assert!(by_path["light_paths"].is_null() && by_path["rmse"].is_null(), "{by_path}");
    let more = ["--tolerance", "0.1", "--reference", "path.exr"];
    let report = json(&run(&folder, &[&directions("x.exr", &more)[..], &["--json"]].concat()));
    // Condition 3 is that of 1 / m, with 24 x 16 pixels.
    let mean = report["contributions_per_pixel"].as_f64().unwrap();
    assert!((10.0..10.2).contains(&mean), "{mean}");
    let bins = report["contributions"].as_array().unwrap();
    let pixels: u64 = bins.iter().map(|bin| bin["pixels"].as_u64().unwrap()).sum();
    assert_eq!(pixels, 24 * 16);
    // Each bin bounds the contributions of its pixels, and so do all bins together.
    let bound = |edge: &str| -> f64 {
        let of_bin = |bin: &serde_json::Value| bin[edge].as_f64().unwrap() * bin["pixels"].as_f64().unwrap();
        bins.iter().map(of_bin).sum::<f64>() / (24.0 * 16.0)
    };
    assert!((bound("from")..=bound("to")).contains(&mean), "{report}");
    let (paths, seconds) = (report["light_paths"].as_u64().unwrap(), report["seconds"]["render"].as_f64().unwrap());
    assert_eq!(report["paths"].as_u64(), Some(paths));
    assert_eq!(report["samples"].as_u64(), Some(paths / (24 * 16)));
    assert!((report["paths_per_second"].as_f64().unwrap() * seconds / paths as f64 - 1.0).abs() < 1e-3, "{report}");
    // The method is biased, so its picture differs from the reference by much more than noise.
    assert!(report["relative_rmse"].as_f64().unwrap() > 0.2 && report["rmse"].as_f64().unwrap() > 0.0, "{report}");

    let output = run(&folder, &directions("y.exr", &["--tolerance", "0.1"]));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("contributions a pixel") && said.contains(&format!("{paths} light paths")), "{said}");
    assert_eq!(files(folder.path()), ["path.exr", "x.exr", "y.exr"]);
}

#[test]
fn a_picture_equals_itself_and_light_paths_count_passes_of_their_own() {
    let folder = folder();
    let light =
        ["render", "builtin:cornell_box", "-o", "x.exr", "--size", "8x8", "--integrator", "light", "--samples", "4"];
    let report = json(&run(&folder, &[&light[..], &["--json"]].concat()));
    assert_eq!((&report["light_paths"], &report["paths"]), (&serde_json::json!(256), &serde_json::json!(256)));
    let again = json(&run(&folder, &[&light[..], &["--json", "--reference", "x.exr"]].concat()));
    assert_eq!(again["rmse"], 0.0);
}

#[test]
fn too_few_paths_for_the_tolerance_are_said() {
    let folder = folder();
    let output = run(&folder, &directions("x.png", &["--tolerance", "0.001", "--samples", "2"]));
    let said = stderr(&output);
    assert!(output.status.success() && said.contains("fewer than the 1000.0 of --tolerance 0.001"), "{said}");
}

#[test]
fn what_the_method_of_directions_does_not_have_is_refused() {
    let folder = folder();
    let complain = |more: &[&str]| complaint(&folder, &directions("x.png", more));
    assert!(complain(&["--bounces", "3"]).contains("--bounces is not for --faithful"));
    assert!(complain(&["--error", "0.1"]).contains("--error is not for --faithful"));
    assert!(complain(&["--lens", "0.1,2"]).contains("--lens is not for --faithful"));
    assert!(complain(&["--backend", "gpu"]).contains("--backend cpu"));
    assert!(complain(&["--tolerance", "1e-9"]).contains("1e-9 is finer than 32-bit numbers"));
    assert!(complain(&["--tolerance", "0"]).contains("--tolerance must be a number above zero"));
    assert!(complain(&["--reference", "none.exr"]).contains("--reference none.exr cannot be used"));
    std::fs::write(folder.path().join("text.exr"), "no picture").unwrap();
    assert!(complain(&["--reference", "text.exr"]).contains("--reference text.exr cannot be used"));
    std::fs::remove_file(folder.path().join("text.exr")).unwrap();
    let other = ["render", "builtin:cornell_box", "-o", "x.png", "--faithful"];
    assert!(complaint(&folder, &other).contains("add --integrator light"));
    super::write_triangle(&folder, "lamp", super::GROUND, true);
    let lamp = ["render", "lamp.gltf", "-o", "x.png", "--integrator", "light", "--faithful", "--size", "4x4"];
    assert!(complaint(&folder, &lamp).contains("no light of the scene has a surface"));
    assert_eq!(files(folder.path()), ["lamp.bin", "lamp.gltf"]);
}

#[test]
fn a_reference_of_another_size_is_refused() {
    let folder = folder();
    let path = ["render", "builtin:furnace", "-o", "x.exr", "--size", "4x4", "--samples", "1"];
    assert!(run(&folder, &path).status.success());
    let said = complaint(&folder, &directions("y.exr", &["--reference", "x.exr"]));
    assert!(said.contains("24 x 16"), "{said}");
}

/// Returns the arguments of a small bake by a method.
fn bake<'a>(scene: &'a str, method: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let usual = ["bake", scene, "-o", "out", "--density", "2", "--no-volume", "--no-preview", "--method", method];
    [&usual[..], more].concat()
}

#[test]
fn progressive_refinement_as_published_comes_to_the_closed_form_in_whole_and_in_subscenes() {
    for subscenes in [&[][..], &["--subscenes", "2"]] {
        let folder = folder();
        let faithful =
            bake("builtin:furnace", "progressive", &["--faithful", "--error", "0.01", "--no-denoise", "--json"]);
        let report = json(&run(&folder, &[&faithful[..], subscenes].concat()));
        assert!(report["iterations"].as_u64().unwrap() > 0, "{report}");
        // The furnace has a radiance of one everywhere, and pages hold irradiance over pi. No patch keeps more than a
        // hundredth of the first shot's power.
        let level = bevy_radiosity::lightmap::files::Level::read(&folder.path().join("out")).unwrap();
        let page = level.read_page(folder.path().join("out").as_path(), 0).unwrap();
        let lit: Vec<f32> = page.texels.iter().map(|texel| texel.x).filter(|&light| light > 0.0).collect();
        let mean = lit.iter().sum::<f32>() / lit.len() as f32;
        assert!((mean - 1.0).abs() < 0.05, "{mean}");
    }
}

#[test]
fn bakes_say_which_options_do_not_go_together() {
    let folder = folder();
    let complain = |method, more: &[&str]| complaint(&folder, &bake("builtin:furnace", method, more));
    assert!(complain("gather", &["--faithful"]).contains("goes without another method"));
    assert!(complain("progressive", &["--faithful", "--content", "indirect"]).contains("content indirect"));
    assert!(complain("progressive", &["--faithful", "--bounces", "0"]).contains("number of bounces"));
    assert!(complain("progressive", &["--faithful", "--error", "2"]).contains("an error of 1 or more"));
    assert!(complain("gather", &["--stage", "4"]).contains("--method counted"));
    assert!(complain("counted", &["--stage", "0"]).contains("stage"));
    assert!(complain("counted", &["--epsilon", "1e-9"]).contains("epsilon"));
    assert!(complain("counted", &["--min-area", "-1"]).contains("minimum area"));
    assert!(complain("counted", &["--min-area", "1000"]).contains("no element has the 1000 m2"));
    assert!(complain("gather", &["--error", "1e-9"]).contains("32-bit"));
    super::write_triangle(&folder, "lamp", super::GROUND, true);
    let said = complaint(&folder, &bake("lamp.gltf", "progressive", &["--faithful"]));
    assert!(said.contains("no texel shines"), "{said}");
}

#[test]
fn counted_rays_are_fewer_with_a_larger_epsilon_and_the_same_in_any_stages() {
    let light = |more: &[&str]| {
        let folder = folder();
        let counted = bake("builtin:cornell_box", "counted", &["--error", "0.5", "--no-denoise", "--json"]);
        let report = json(&run(&folder, &[&counted[..], more].concat()));
        (report["iterations"].as_u64().unwrap(), std::fs::read(folder.path().join("out/page_0.exr")).unwrap())
    };
    let usual = light(&[]);
    assert_eq!(light(&["--stage", "7"]), usual);
    // Reflectances of about a half: a tenth of the power is left after fewer bounces than a thousandth.
    assert!(light(&["--epsilon", "0.1"]).0 < usual.0);
}
