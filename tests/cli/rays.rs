//! Tests of `radiosity rays`.

use super::*;

/// Writes rays from a point in the Cornell box to a grid of directions, and one that misses.
fn write_rays(folder: &TempDir) {
    let steps = || (0..16).map(|step| step as f32 / 8.0 - 0.95);
    let rays = steps().flat_map(|x| steps().map(move |y| [0.1, -0.2, 0.9, 0.0, x, y, -1.0, f32::INFINITY]));
    let rays: Vec<u8> =
        rays.chain([[0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 1.0, 9.0]]).flatten().flat_map(f32::to_le_bytes).collect();
    fs::write(folder.path().join("rays"), rays).unwrap();
}

const RAYS: [&str; 6] = ["rays", "builtin:cornell_balls", "--rays", "rays", "--passes", "1"];

#[test]
fn every_builder_and_traversal_finds_the_same_hits_and_reports_its_work() {
    let folder = folder();
    write_rays(&folder);
    let replay = |more: &[&str]| {
        let report =
            json(&run(&folder, &[&RAYS[..], &["--hits", "hits", "--json", "--backend", "cpu"], more].concat()));
        (fs::read(folder.path().join("hits")).unwrap(), report)
    };
    let (expected, naive) = replay(&["--traversal", "brute-force"]);
    // The ten triangles of the walls and two of the lamp, and two balls of 20 * 4^5.
    assert_eq!(naive["triangles_per_ray"].as_f64(), Some((12 + 2 * 20_480) as f64), "{naive}");
    assert_eq!((naive["rays"].as_u64(), naive["hits"].as_u64()), (Some(257), Some(256)), "{naive}");
    let mut nodes = Vec::new();
    for builder in ["sah", "longest-axis", "median"] {
        let mut steps = Vec::new();
        for traversal in ["wide", "stack", "restart", "ropes"] {
            let (hits, report) = replay(&["--builder", builder, "--traversal", traversal]);
            assert!(hits == expected, "{builder} {traversal}");
            assert_eq!(report["unfinished"].as_u64(), Some(0), "{report}");
            assert_eq!(
                report["restarts_per_ray"].as_f64().is_some_and(|restarts| restarts > 0.1),
                traversal == "restart"
            );
            steps.push(report["steps_per_ray"].as_f64().unwrap());
            if traversal == "stack" {
                nodes.push(report["nodes"].as_u64().unwrap());
            }
        }
        // A wide node stands for several splits, restarts repeat some, and ropes none.
        assert!(steps[0] < steps[1] && steps[1] < steps[2] && steps[3] < steps[2], "{builder}: {steps:?}");
    }
    assert!(nodes[0] > nodes[1] && nodes[1] > nodes[2], "the cheapest planes cut off most empty space: {nodes:?}");
}

#[test]
fn flags_of_rays_that_contradict_each_other_are_refused() {
    let folder = folder();
    write_rays(&folder);
    for (more, reason) in [
        (&["--any-hit", "--traversal", "stack"][..], "--any-hit is not for --traversal stack"),
        (&["--builder", "median", "--backend", "gpu"], "--backend cpu"),
        (&["--traversal", "brute-force", "--backend", "gpu"], "--backend cpu"),
    ] {
        let said = complaint(&folder, &[&RAYS[..], &["--hits", "hits"], more].concat());
        assert!(said.contains(reason), "{said}");
    }
    assert_eq!(files(folder.path()), ["rays"]);
}

/// A glowing sphere of radius two, stretched twice along Y, that five quads across stand for.
const STRETCHED_SPHERE: &str = r#"{
    "asset": {"version": "2.0"},
    "scenes": [{"nodes": [0]}],
    "nodes": [{"scale": [1, 2, 1], "extras": {
        "radiosity_shape": "sphere", "radiosity_shape_radius": 2, "radiosity_shape_deviation": 0.8,
        "radiosity_shape_material": "glow"
    }}],
    "materials": [{"name": "glow", "emissiveFactor": [1, 1, 1]}]
}"#;

#[test]
fn shapes_of_a_file_are_met_exactly_if_asked_for_and_else_by_their_meshes() {
    let folder = folder();
    fs::write(folder.path().join("ball.gltf"), STRETCHED_SPHERE).unwrap();
    // Down along Y, and past the ball.
    let rays: Vec<u8> = [0.3f32, 1.0, 1.7, 2.01]
        .into_iter()
        .flat_map(|x| [x, 9.0, 0.1, 0.0, 0.0, -1.0, 0.0, f32::INFINITY])
        .flat_map(f32::to_le_bytes)
        .collect();
    fs::write(folder.path().join("rays"), rays).unwrap();
    let distances = |more: &[&str]| -> (Vec<f32>, serde_json::Value) {
        let replay = ["rays", "ball.gltf", "--rays", "rays", "--hits", "hits", "--json", "--backend", "cpu"];
        let report = json(&run(&folder, &[&replay[..], more].concat()));
        let hits = fs::read(folder.path().join("hits")).unwrap();
        (hits.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(), report)
    };
    let expected = |x: f32| 9.0 - 2.0 * (4.0 - x * x - 0.01f32).sqrt();
    let (exact, report) = distances(&["--exact-shapes"]);
    assert_eq!((report["exact_shapes"].as_u64(), report["hits"].as_u64()), (Some(1), Some(3)), "{report}");
    for (hit, x) in exact.chunks_exact(2).zip([0.3, 1.0, 1.7]) {
        assert!((hit[0] - expected(x)).abs() < 1e-5 && hit[1].to_bits() == 0, "{hit:?}");
    }
    assert_eq!(exact[6], -1.0);
    let (by_mesh, report) = distances(&[]);
    assert!(report["exact_shapes"].is_null() && by_mesh[0] - exact[0] > 1e-2, "{by_mesh:?}");
    let (blocked, _) = distances(&["--exact-shapes", "--any-hit"]);
    assert_eq!(blocked, [1.0, 1.0, 1.0, 0.0]);
    let (restarted, report) = distances(&["--exact-shapes", "--traversal", "restart"]);
    assert!(report["steps_per_ray"].is_number(), "{report}");
    // The last number is the triangle of a miss.
    assert_eq!(restarted[..7], exact[..7]);
}
