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

/// Arguments of a picture of many passes, for a file and with more options.
#[cfg(unix)]
fn picture<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let size = ["--size", "96x64", "--samples", "400", "--threads", "1", "--backend", "cpu"];
    [&["render", "builtin:cornell_box", "-o", output][..], &size, more].concat()
}

#[cfg(unix)]
#[test]
fn a_killed_render_goes_on_to_the_same_bytes_and_refuses_what_is_no_checkpoint_of_it() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    json(&run(&folder, &picture("undisturbed.exr", &["--json"])));
    let shard = ["--shard", "2/2"];
    for (output, file, more) in [("out.exr", "out.exr", &[][..]), ("parts", "parts/part_0_32_96x32.film", &shard)] {
        let checkpoint = format!("{file}.checkpoint.bin");
        let mut child = radiosity(&folder, &picture(output, more)).stdout(Stdio::null()).spawn().unwrap();
        wait_for("a checkpoint", || path(&checkpoint).exists());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!path(file).exists(), "the render was over before it could be killed");

        let resume = |options: &[&'static str]| picture(output, &[more, options, &["--resume", "--json"]].concat());
        assert!(complaint(&folder, &resume(&["--seed", "5"])).contains("other settings"));
        assert!(complaint(&folder, &resume(&["--bounces", "1"])).contains("other settings"));
        let bytes = fs::read(path(&checkpoint)).unwrap();
        let previous = format!("{file}.checkpoint.previous.bin");
        let _ = fs::remove_file(path(&previous));
        fs::write(path(&checkpoint), &bytes[..bytes.len() - 1]).unwrap();
        assert!(complaint(&folder, &resume(&[])).contains("damaged; remove it and start anew without --resume"));
        fs::write(path(&checkpoint), &bytes).unwrap();
        let resumed = json(&run(&folder, &resume(&[])));
        assert_eq!((&resumed["warnings"], &resumed["samples"]), (&serde_json::json!([]), &400.into()));
        assert!(resumed["paths"].as_u64().unwrap() < if more.is_empty() { 96 * 64 * 400 } else { 96 * 32 * 400 });
        assert!(!path(&checkpoint).exists());
    }
    assert!(fs::read(path("out.exr")).unwrap() == fs::read(path("undisturbed.exr")).unwrap());
    // A checkpoint is no part.
    fs::write(path("parts/part_0_0_96x32.film.checkpoint.bin"), "").unwrap();
    assert!(complaint(&folder, &["merge", "parts", "-o", "merged.exr"]).contains("row 0 to row 31"));
    fs::remove_file(path("parts/part_0_0_96x32.film.checkpoint.bin")).unwrap();
    let none = json(&run(&folder, &picture("parts", &["--shard", "1/2", "--resume", "--json"])));
    assert!(none["warnings"].to_string().contains("there is no checkpoint of parts/part_0_0_96x32.film"), "{none}");
    assert!(run(&folder, &["merge", "parts", "-o", "merged.exr"]).status.success());
    assert!(fs::read(path("merged.exr")).unwrap() == fs::read(path("undisturbed.exr")).unwrap());
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_a_picture_that_can_go_on_and_keeps_a_part_that_is_not_written() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let shard = ["--shard", "1/2"];
    for (output, file, more) in [("out.png", "out.png", &[][..]), ("parts", "parts/part_0_0_96x32.film", &shard)] {
        let arguments = picture(output, more);
        let child = radiosity(&folder, &arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let checkpoint = path(&format!("{file}.checkpoint.bin"));
        wait_for("a checkpoint", || checkpoint.exists());
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let stopped = child.wait_with_output().unwrap();
        assert!(stderr(&stopped).contains("repeat the command with --resume"), "{}", stderr(&stopped));
        assert_eq!((stopped.status.success(), path(file).exists()), (more.is_empty(), more.is_empty()));
        let resumed = run(&folder, &picture(output, &[more, &["--resume"]].concat()));
        assert!(resumed.status.success() && !checkpoint.exists(), "{}", stderr(&resumed));
    }
    assert!(run(&folder, &picture("undisturbed.png", &[])).status.success());
    assert!(fs::read(path("out.png")).unwrap() == fs::read(path("undisturbed.png")).unwrap());
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
