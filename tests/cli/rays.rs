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
