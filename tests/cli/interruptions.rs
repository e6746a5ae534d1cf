//! Tests of bakes that are killed, interrupted or out of time.

use super::*;

/// Arguments of a bake of many passes, each long enough for a checkpoint.
#[cfg(unix)]
const LONG: [&str; 11] =
    ["bake", "builtin:cornell_box", "-o", "out", "--error", "0.004", "--density", "8", "--threads", "1", "--json"];

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
