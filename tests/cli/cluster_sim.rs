//! Tests of `cluster-sim`: predictions that can be worked out by hand, the published runs, and costs of a real picture.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use super::{complaint, folder, json, radiosity, run};

/// Returns the predicted runs.
fn predict(folder: &TempDir, arguments: &[&str]) -> Vec<Value> {
    let outcome = json(&run(folder, &[&["cluster-sim", "--json"], arguments].concat()));
    outcome["runs"].as_array().unwrap().clone()
}

/// Asserts that a number of a run is a value, to nine digits.
fn assert_number(run: &Value, name: &str, expected: f64) {
    let found = run[name].as_f64().unwrap();
    assert!((found / expected - 1.0).abs() < 1e-9, "{name}: {found}, expected {expected}");
}

fn write_costs(folder: &TempDir, text: &str) {
    fs::write(folder.path().join("costs.json"), text).unwrap();
}

#[test]
fn four_rows_on_two_machines_take_what_a_hand_computes() {
    let folder = folder();
    write_costs(&folder, r#"{"row_seconds": [1, 1, 3, 3], "samples": 2, "width": 9}"#);
    let costs = ["--costs", "costs.json", "--latency", "0.5"];
    // The second machine needs 6 / 2 s for the last rows, and its result comes 0.5 s later. Alone, machines take 8 s and
    // 4 s, together at best 8 / 3 s.
    let runs = predict(&folder, &[&costs[..], &["--speeds", "1,2", "--strategy", "equally"]].concat());
    assert_eq!((runs.len(), &runs[0]["workers"]), (1, &2.into()));
    let expected =
        [("seconds", 3.5), ("harmonic_mean", 16.0 / 3.0), ("efficiency", 8.0 / 3.0 / 3.5), ("speedup", 4.0 / 3.5)];
    expected.iter().for_each(|(name, value)| assert_number(&runs[0], name, *value));
    // Twice as many samples take twice as long, but not the message.
    let longer = [&costs[..], &["--samples", "4", "--speeds", "1,2", "--strategy", "equally"]].concat();
    assert_number(&predict(&folder, &longer)[0], "seconds", 6.5);
    // Two equal machines: 2 and 6 s with equal parts, 4 s with four fragments, one row each.
    let more = ["--latency", "0", "--workers", "1,2", "--strategy", "equally,queue", "--fragments", "4"];
    let runs = predict(&folder, &[&costs[..2], &more].concat());
    let seconds: Vec<f64> = runs.iter().map(|run| run["seconds"].as_f64().unwrap()).collect();
    assert_eq!(seconds, [8.0, 8.0, 6.0, 4.0]);
}

#[test]
fn without_options_the_published_runs_stand_beside_their_prediction() {
    let folder = folder();
    let runs = predict(&folder, &[]);
    let published = runs.iter().filter(|run| run["published"].is_object());
    assert_eq!((runs.len(), published.count()), (21, 16));
    let on_slow = |run: &&Value| run["cluster"] == "5 unequal and 2 slow";
    let seconds: Vec<f64> = runs.iter().filter(on_slow).map(|run| run["seconds"].as_f64().unwrap()).collect();
    // Equal parts wait for the slow machines, and the queue of `render` does not.
    let [equally, proportional, queue, ours] = seconds[..] else { panic!("{seconds:?}") };
    assert!(equally > 2.0 * proportional.max(queue) && ours < proportional.min(queue), "{seconds:?}");
    for run in &runs {
        assert!(run["efficiency"].as_f64().unwrap() <= 1.0 + 1e-9, "no machine is faster than itself: {run}");
    }
    let lines = String::from_utf8(super::run(&folder, &["cluster-sim"]).stdout).unwrap();
    assert!(lines.contains("16 equal machines of document 002"), "{lines}");
    assert_eq!(lines.lines().count(), 21 + 2 * 5);
}

#[test]
fn a_picture_says_what_its_rows_cost() {
    let folder = folder();
    let picture = ["render", "builtin:cornell_box", "-o", "x.png", "--size", "24x18", "--samples", "2"];
    let output = run(&folder, &[&picture[..], &["--backend", "cpu", "--json"]].concat());
    let outcome = json(&output);
    let rows: Vec<f64> = serde_json::from_value(outcome["row_seconds"].clone()).unwrap();
    let sum: f64 = rows.iter().sum();
    assert_eq!(rows.len(), 18);
    assert!((sum - outcome["seconds"]["render"].as_f64().unwrap()).abs() < 18.0 * 0.5e-6 + 1e-9, "{sum}");
    fs::write(folder.path().join("run.json"), &output.stdout).unwrap();
    let runs =
        predict(&folder, &["--costs", "run.json", "--workers", "1,18", "--strategy", "equally", "--latency", "0"]);
    assert_number(&runs[0], "seconds", sum);
    assert_number(&runs[1], "seconds", rows.iter().copied().fold(0.0, f64::max));
    let refusal = complaint(&folder, &["cluster-sim", "--costs", "run.json", "--workers", "19"]);
    assert!(refusal.contains("19") && refusal.contains("18 rows"), "{refusal}");
    let from_lights = run(&folder, &[&picture[..], &["--integrator", "light", "--backend", "cpu", "--json"]].concat());
    fs::write(folder.path().join("light.json"), &from_lights.stdout).unwrap();
    let refusal = complaint(&folder, &["cluster-sim", "--costs", "light.json"]);
    assert!(refusal.contains("light.json") && refusal.contains("row_seconds"), "{refusal}");
}

#[test]
fn clusters_and_costs_that_make_no_sense_are_refused_in_one_sentence() {
    let folder = folder();
    let wrong: [(&[&str], &str); 9] = [
        (&["--workers", "2,0"], "--workers"),
        (&["--workers", "4000000000"], "1080 rows"),
        (&["--speeds", "1,0"], "0 in --speeds"),
        (&["--speeds", "-2"], "-2 in --speeds"),
        (&["--speeds", "1,NaN"], "NaN in --speeds"),
        (&["--workers", "2", "--fragments", "auto,0"], "--fragments"),
        (&["--latency", "-1"], "--latency"),
        (&["--latency", "inf"], "--latency"),
        (&["--costs", "missing.json"], "missing.json"),
    ];
    for (more, part) in wrong {
        let text = complaint(&folder, &[&["cluster-sim"], more].concat());
        assert!(text.contains(part), "{text}");
    }
    for costs in [
        "",
        "{}",
        r#"{"row_seconds": [], "samples": 1}"#,
        r#"{"row_seconds": [1, -1], "samples": 1}"#,
        r#"{"row_seconds": [1, 1e99], "samples": 1}"#,
        r#"{"row_seconds": [0, 0], "samples": 1}"#,
        r#"{"row_seconds": [1], "samples": 0}"#,
        r#"{"row_seconds": [1], "samples": -1}"#,
    ] {
        write_costs(&folder, costs);
        let text = complaint(&folder, &["cluster-sim", "--costs", "costs.json"]);
        assert!(text.contains("costs.json"), "{text}");
    }
    for unclear in [
        &["--workers", "two"][..],
        &["--workers", "1", "--speeds", "1"],
        &["--samples", "4"],
        &["--strategy", "queue"],
        &["--workers", "1", "--strategy", "fast"],
    ] {
        let output = radiosity(&folder, &[&["cluster-sim"], unclear].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{unclear:?}");
    }
}
