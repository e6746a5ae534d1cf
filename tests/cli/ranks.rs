//! Tests of pictures and bakes that several processes share: parts that are merged, and ranks of `mpirun`.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

#[cfg(all(feature = "mpi", target_os = "linux"))]
use super::wait_for;
use super::{complaint, files, folder, json, radiosity, run, stderr};

const PICTURE: [&str; 8] = ["render", "builtin:cornell_box", "--size", "20x16", "--samples", "3", "--backend", "cpu"];

/// Renders with more options, which must succeed.
fn render(folder: &TempDir, more: &[&str]) {
    let output = run(folder, &[&PICTURE[..], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

fn is_same(folder: &TempDir, one: &str, other: &str) -> bool {
    let read = |name| fs::read(folder.path().join(name)).unwrap();
    read(one) == read(other)
}

#[test]
fn merged_shards_are_the_picture_of_a_single_run() {
    let folder = folder();
    for format in ["png", "exr"] {
        render(&folder, &["-o", &format!("whole.{format}")]);
    }
    // The second shard runs twice.
    for shard in ["3/3", "2/3", "1/3", "2/3"] {
        render(&folder, &["-o", "parts", "--shard", shard]);
    }
    assert_eq!(files(&folder.path().join("parts")).len(), 3);
    for format in ["png", "exr"] {
        let merged = format!("merged.{format}");
        let outcome = json(&run(&folder, &["merge", "parts", "-o", &merged, "--json"]));
        assert_eq!((&outcome["width"], &outcome["samples"], &outcome["parts"]), (&20.into(), &3.into(), &3.into()));
        assert!(is_same(&folder, &format!("whole.{format}"), &merged));
    }
}

#[test]
fn merge_joins_tiles_of_several_folders_and_names_missing_rows() {
    let folder = folder();
    render(&folder, &["-o", "whole.exr"]);
    render(&folder, &["-o", "left", "--tile", "0,0,12x16"]);
    render(&folder, &["-o", "right", "--tile", "12,0,8x9"]);
    let merge = ["merge", "left", "right", "-o", "merged.exr"];
    let refusal = complaint(&folder, &merge);
    assert!(refusal.contains("56 pixels") && refusal.contains("row 9 to row 15"), "{refusal}");
    assert!(!folder.path().join("merged.exr").exists());
    render(&folder, &["-o", "right", "--tile", "10,8,10x8"]);
    run(&folder, &merge);
    assert!(is_same(&folder, "whole.exr", "merged.exr"));
}

#[test]
fn merge_names_files_that_do_not_belong() {
    let folder = folder();
    render(&folder, &["-o", "parts", "--shard", "1/2"]);
    render(&folder, &["-o", "other", "--shard", "2/2", "--seed", "1"]);
    let refusal = complaint(&folder, &["merge", "parts", "other", "-o", "x.exr"]);
    assert!(refusal.contains("settings") && refusal.contains("part_0_8_20x8.film"), "{refusal}");
    fs::write(folder.path().join("parts/notes.txt"), "thesis").unwrap();
    let refusal = complaint(&folder, &["merge", "parts", "-o", "x.exr"]);
    assert!(refusal.contains("notes.txt"), "{refusal}");
    fs::create_dir(folder.path().join("empty")).unwrap();
    for nothing in ["empty", "nowhere"] {
        complaint(&folder, &["merge", nothing, "-o", "x.exr"]);
    }
}

#[test]
fn parts_that_make_no_sense_are_refused() {
    let folder = folder();
    for more in [["--shard", "1/17"], ["--tile", "0,0,21x1"]] {
        complaint(&folder, &[&PICTURE[..], &["-o", "parts"], &more].concat());
    }
    complaint(&folder, &[&PICTURE[..], &["-o", "parts", "--shard", "1/2", "--integrator", "hybrid"]].concat());
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

const BAKE: [&str; 10] =
    ["bake", "builtin:cornell_box", "--error", "0.06", "--density", "12", "--backend", "cpu", "--method", "stochastic"];

/// Bakes with more options, which must succeed.
fn bake(folder: &TempDir, more: &[&str]) {
    let output = run(folder, &[&BAKE[..], more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Checks that two levels have the same files, and the same reports apart from times and memory.
fn assert_same_levels(folder: &TempDir, one: &str, other: &str) {
    let (one, other) = (folder.path().join(one), folder.path().join(other));
    assert_eq!(files(&one), files(&other));
    for name in files(&one).iter().filter(|name| *name != "report.json") {
        assert!(fs::read(one.join(name)).unwrap() == fs::read(other.join(name)).unwrap(), "{name}");
    }
    let report = |level: &Path| {
        let mut report: serde_json::Value =
            serde_json::from_slice(&fs::read(level.join("report.json")).unwrap()).unwrap();
        for key in ["seconds", "peak_memory_bytes", "digest"] {
            report[key].take();
        }
        report
    };
    assert_eq!(report(&one), report(&other));
}

#[test]
fn merged_shards_of_a_bake_are_the_level_of_a_single_run() {
    let folder = folder();
    bake(&folder, &["-o", "whole"]);
    let mut shards: Vec<_> = ["2/3", "1/3"]
        .map(|shard| radiosity(&folder, &[&BAKE[..], &["-o", "parts", "--threads", "1", "--shard", shard]].concat()))
        .into_iter()
        .map(|mut shard| shard.stdout(Stdio::null()).spawn().unwrap())
        .collect();
    assert!(shards.iter_mut().all(|shard| shard.wait().unwrap().success()));
    let report = json(&run(&folder, &["merge", "parts", "-o", "merged", "--json"]));
    assert!(report["rays"].as_u64().unwrap() > 100_000, "{report}");
    assert_same_levels(&folder, "whole", "merged");
    let refusal = complaint(&folder, &["merge", "parts", "-o", "again", "--memory", "4000"]);
    assert!(refusal.contains("leave out --memory"), "{refusal}");
    // A part that is lost is named, and its shard computes it again.
    let lost = folder.path().join("parts/step_00001_part_3_of_3.bin");
    fs::remove_file(&lost).unwrap();
    let refusal = complaint(&folder, &["merge", "parts", "-o", "again"]);
    assert!(refusal.contains("--shard 3/3") && refusal.contains("step 1"), "{refusal}");
    assert!(!folder.path().join("again").exists());
    bake(&folder, &["-o", "parts", "--shard", "3/3"]);
    run(&folder, &["merge", "parts", "-o", "again"]);
    assert_same_levels(&folder, "whole", "again");
}

#[test]
fn shards_of_bakes_that_make_no_sense_are_refused() {
    let folder = folder();
    let refused = |more: &[&str], word: &str| {
        let refusal = complaint(&folder, &[&BAKE[..6], more].concat());
        assert!(refusal.contains(word), "{refusal}");
    };
    refused(&["-o", "x", "--shard", "1/2", "--method", "progressive"], "the method progressive");
    refused(&["-o", "x", "--shard", "1/2", "--method", "counted"], "the method counted");
    refused(&["-o", "x", "--shard", "1/2", "--backend", "gpu"], "--backend cpu");
    refused(&["-o", "y", "--shard", "1/9999"], "9999 processes");
    assert!(files(folder.path()).is_empty(), "nothing is written");
    bake(&folder, &["-o", "parts", "--shard", "1/2"]);
    refused(&["--method", "stochastic", "-o", "parts", "--shard", "1/3"], "number of shards");
    refused(&["--method", "stochastic", "-o", "parts", "--shard", "1/2", "--seed", "1"], "other settings");
    fs::write(folder.path().join("parts/shards.json"), "three years of work").unwrap();
    let refusal = complaint(&folder, &["merge", "parts", "-o", "x"]);
    assert!(refusal.contains("shards.json"), "{refusal}");
}

/// Variable that `mpirun` sets.
const RANK: &str = "OMPI_COMM_WORLD_RANK";

#[test]
fn commands_that_work_alone_refuse_ranks_once() {
    let folder = folder();
    // The first rank fails for all.
    for (rank, code, lines) in [("0", 1, 1), ("1", 0, 0)] {
        let output = radiosity(&folder, &["merge", "parts", "-o", "x.exr"]).env(RANK, rank).output().unwrap();
        assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(code), lines));
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn a_build_without_mpi_says_so_to_ranks() {
    let folder = folder();
    let output = radiosity(&folder, &[&PICTURE[..], &["-o", "x.png"]].concat()).env(RANK, "0").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("feature mpi"), "{}", stderr(&output));
}

#[cfg(feature = "mpi")]
mod mpi {
    use std::process::{Command, Output};

    use super::*;

    fn run_on_ranks(folder: &TempDir, arguments: &[&str]) -> Output {
        on_ranks(folder, arguments).output().unwrap()
    }

    /// Returns the command line on four ranks.
    fn on_ranks(folder: &TempDir, arguments: &[&str]) -> Command {
        mpirun(folder, &[&["-n", "4", RADIOSITY][..], arguments].concat())
    }

    const RADIOSITY: &str = env!("CARGO_BIN_EXE_radiosity");

    fn mpirun(folder: &TempDir, arguments: &[&str]) -> Command {
        let mut mpirun = Command::new("mpirun");
        mpirun
            .args(["--allow-run-as-root", "--oversubscribe", "--quiet"])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null());
        mpirun
    }

    /// Returns the arguments of counted rays in so many cells.
    fn counted(count: &str) -> [&str; 8] {
        ["info", "builtin:habitacion", "--partition", "uniform", "--count", count, "--ranks", "--json"]
    }

    #[test]
    fn two_four_and_eight_ranks_count_the_rays_of_a_single_process() {
        let folder = folder();
        let light = |output: &Output| {
            let mut found = json(output)["partition"]["ranks"].take();
            let of_each = found["of_each"].take();
            let sum =
                |key: &str| of_each.as_array().unwrap().iter().map(|rank| rank[key].as_u64().unwrap()).sum::<u64>();
            assert_eq!(
                (sum("shot"), sum("handed_on")),
                (found["rays"].as_u64().unwrap(), found["handed_on"].as_u64().unwrap())
            );
            let fixed = ["bounces", "rays", "power", "digest"].map(|key| found[key].take());
            (of_each.as_array().unwrap().len(), sum("handed_on"), fixed)
        };
        let (_, _, alone) = light(&run(&folder, &counted("1")));
        assert_ne!(alone[1], 0);
        for (count, ranks) in [("2", 2), ("4", 4), ("8", 8)] {
            let on_threads = light(&run(&folder, &counted(count)));
            let on_ranks =
                light(&mpirun(&folder, &[&["-n", count, RADIOSITY][..], &counted(count)].concat()).output().unwrap());
            assert_eq!((on_ranks.0, &on_ranks.2), (ranks, &alone), "{count} ranks");
            assert_eq!(on_ranks, on_threads, "{count} ranks");
        }
    }

    #[test]
    fn four_ranks_render_the_picture_of_a_single_process() {
        let folder = folder();
        render(&folder, &["-o", "whole.exr"]);
        let strategies: [&[&str]; 4] = [
            &["--strategy", "equally"],
            &["--strategy", "proportional"],
            &["--strategy", "queue", "--fragments", "8"],
            &[],
        ];
        for strategy in strategies {
            let arguments = [&PICTURE[..], &["-o", "ranks.exr", "--json"], strategy].concat();
            let outcome = json(&run_on_ranks(&folder, &arguments));
            let rows =
                outcome["cluster"]["ranks"].as_array().unwrap().iter().map(|rank| rank["units"].as_u64().unwrap());
            assert_eq!((rows.len(), rows.sum::<u64>()), (4, 16), "{strategy:?}");
            assert!(is_same(&folder, "whole.exr", "ranks.exr"), "{strategy:?}");
            fs::remove_file(folder.path().join("ranks.exr")).unwrap();
        }
    }

    /// Kills one of the ranks of a run of `mpirun`, which are its children.
    #[cfg(target_os = "linux")]
    fn kill_a_rank(mpirun: u32) {
        let children = fs::read_to_string(format!("/proc/{mpirun}/task/{mpirun}/children")).unwrap();
        let rank = children.split_whitespace().last().expect("a rank");
        assert!(Command::new("kill").args(["-KILL", rank]).status().unwrap().success());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ranks_of_which_one_is_lost_go_on_to_the_picture_of_a_single_process() {
        let folder = folder();
        let picture = |output, more: &[&'static str]| {
            let fixed = ["--size", "48x64", "--samples", "1500", "--threads", "1", "--backend", "cpu", "-o", output];
            [&["render", "builtin:cornell_box"][..], &fixed, more].concat()
        };
        let checkpoint = folder.path().join("ranks.exr.checkpoint.bin");
        let mut mpirun =
            on_ranks(&folder, &picture("ranks.exr", &[])).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("a checkpoint", || checkpoint.exists());
        kill_a_rank(mpirun.id());
        assert!(!mpirun.wait().unwrap().success());
        assert!(!folder.path().join("ranks.exr").exists() && checkpoint.exists());
        let refused = run_on_ranks(&folder, &picture("ranks.exr", &["--resume", "--seed", "1"]));
        assert!(stderr(&refused).contains("other settings"), "{}", stderr(&refused));
        let resumed = json(&run_on_ranks(&folder, &picture("ranks.exr", &["--resume", "--json"])));
        assert!(resumed["cluster"]["units"].as_u64().unwrap() < 64, "{resumed}");
        assert!(!checkpoint.exists());
        assert!(run(&folder, &picture("whole.exr", &[])).status.success());
        assert!(is_same(&folder, "whole.exr", "ranks.exr"));
    }

    #[test]
    fn the_master_says_once_what_is_wrong_and_all_ranks_end() {
        let folder = folder();
        let info = ["info", "builtin:cornell_box", "--ranks", "--partition"];
        let of_info = |more: &[&'static str]| [&info[..], more].concat();
        let [eight, few, missing] = [
            of_info(&["uniform"]),
            of_info(&["balanced", "--count", "2"]),
            ["info", "missing.glb", "--ranks", "--partition", "uniform", "--count", "4"].to_vec(),
        ];
        let bake = |more: &[&'static str]| [&["bake", "builtin:cornell_box", "--method"][..], more].concat();
        let [more, fewer, counted] = [
            bake(&["progressive", "--subscenes", "2", "--ranks"]),
            bake(&["progressive", "--subscenes", "8", "--ranks"]),
            bake(&["counted"]),
        ];
        let wrong: [(&[&str], &str); 18] = [
            (&more, "4 ranks cannot share 2 subscenes, one each: start 2"),
            (&fewer, "4 ranks cannot share 8 subscenes"),
            (&counted, "the method counted"),
            (&eight, "4 ranks cannot share 8 subscenes, one each: start 8"),
            (&few, "4 ranks cannot share 2 subscenes"),
            (&missing, "missing.glb"),
            (&["render", "missing.glb", "-o", "x.png"], "missing.glb"),
            (&["render", "builtin:cornell_box", "-o", "x.png", "--fragments", "0"], "--fragments"),
            (&["render", "builtin:cornell_box", "-o", "x.png", "--size", "9x3"], "3 rows"),
            (&["render", "builtin:cornell_box", "-o", "x.png", "--integrator", "light"], "paths from lights"),
            (&["render", "builtin:cornell_box", "-o", "nowhere/x.png"], "nowhere"),
            (&["render", "builtin:cornell_box", "-o", "x", "--shard", "1/2"], "--shard"),
            (&["bake", "missing.glb"], "missing.glb"),
            (&["bake", "builtin:cornell_box", "--fragments", "0"], "--fragments"),
            (&["bake", "builtin:cornell_box", "--density", "1"], "4 processes are more"),
            (&["bake", "builtin:cornell_box", "--method", "progressive"], "without --subscenes and --ranks"),
            (&["bake", "builtin:cornell_box", "-o", "file/level"], "file"),
            (&["bake", "builtin:cornell_box", "-o", "x", "--shard", "1/2"], "without mpirun"),
        ];
        fs::write(folder.path().join("file"), "no folder").unwrap();
        for (arguments, expected) in wrong {
            let output = run_on_ranks(&folder, arguments);
            let text = stderr(&output);
            let errors: Vec<&str> = text.lines().filter(|line| line.starts_with("error: ")).collect();
            assert_eq!(output.status.code(), Some(1), "{text}");
            assert!(errors.len() == 1 && errors[0].contains(expected), "{arguments:?}: {text}");
        }
    }

    #[test]
    fn a_rank_with_another_scene_is_named() {
        let folder = folder();
        // The second rank draws or bakes another scene.
        let info = ["--partition", "uniform", "--count", "2", "--ranks"];
        for (command, more) in [("render", &["-o", "x.png"][..]), ("bake", &["-o", "x"]), ("info", &info)] {
            let program = |scene| [&["-n", "1", RADIOSITY, command, scene], more].concat();
            let arguments = [&program("builtin:cornell_box")[..], &[":"], &program("builtin:cornell_empty")].concat();
            let output = mpirun(&folder, &arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            assert!(stderr(&output).contains("rank 1 has another scene"), "{}", stderr(&output));
        }
    }

    /// Returns the arguments of a bake in so many subscenes, with a rank for each.
    fn in_subscenes<'a>(scene: &'a str, count: &'a str, output: &'a str, density: &'a str) -> [&'a str; 16] {
        let fixed = ["--method", "progressive", "--mask-cells", "8", "--subscenes", count, "--ranks"];
        let [a, b, c, d, e, f, g] = fixed;
        ["bake", scene, "-o", output, "--density", density, "--backend", "cpu", "--no-preview", a, b, c, d, e, f, g]
    }

    #[test]
    fn two_four_and_eight_ranks_refine_to_the_level_of_threads() {
        let folder = folder();
        for count in ["2", "4", "8"] {
            let arguments = |output| in_subscenes("builtin:cornell_box", count, output, "6");
            let alone = run(&folder, &arguments("threads"));
            assert!(alone.status.success(), "{}", stderr(&alone));
            let together =
                mpirun(&folder, &[&["-n", count, RADIOSITY][..], &arguments("ranks")].concat()).output().unwrap();
            assert!(together.status.success(), "{}", stderr(&together));
            assert_same_levels(&folder, "threads", "ranks");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn ranks_of_subscenes_of_which_one_is_lost_all_end_and_go_on_from_the_checkpoint() {
        let folder = folder();
        let arguments = |output| in_subscenes("builtin:cornell_box", "4", output, "24");
        let checkpoint = folder.path().join("ranks/checkpoint.bin");
        let mut lost =
            on_ranks(&folder, &arguments("ranks")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_for("a checkpoint", || checkpoint.exists());
        kill_a_rank(lost.id());
        assert!(!lost.wait().unwrap().success());
        assert!(checkpoint.exists() && !folder.path().join("ranks/level.ron").exists());
        let resumed = run_on_ranks(&folder, &[&arguments("ranks")[..], &["--resume"]].concat());
        assert!(resumed.status.success(), "{}", stderr(&resumed));
        let alone = run(&folder, &arguments("threads"));
        assert!(alone.status.success(), "{}", stderr(&alone));
        assert_same_levels(&folder, "threads", "ranks");
    }

    #[test]
    fn four_ranks_bake_the_level_of_a_single_process() {
        let folder = folder();
        bake(&folder, &["-o", "whole"]);
        for strategy in [&["--strategy", "equally"][..], &["--strategy", "proportional"], &[]] {
            let outcome = json(&run_on_ranks(&folder, &[&BAKE[..], &["-o", "ranks", "--json"], strategy].concat()));
            let ranks = outcome["cluster"]["ranks"].as_array().unwrap();
            assert!(ranks.len() == 4 && ranks.iter().all(|rank| rank["units"] != 0), "{strategy:?}: {ranks:?}");
            assert_same_levels(&folder, "whole", "ranks");
        }
    }
}
