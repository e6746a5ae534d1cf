//! Tests of pictures that several processes render: parts that are merged, and ranks of `mpirun`.

use std::fs;

use tempfile::TempDir;

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

/// Variable that `mpirun` sets.
const RANK: &str = "OMPI_COMM_WORLD_RANK";

#[test]
fn commands_that_work_alone_refuse_ranks_once() {
    let folder = folder();
    // The first rank fails for all.
    for (rank, code, lines) in [("0", 1, 1), ("1", 0, 0)] {
        let output = radiosity(&folder, &["bake", "builtin:cornell_box"]).env(RANK, rank).output().unwrap();
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
    use std::process::{Command, Output, Stdio};

    use super::*;

    /// Runs the command line on four ranks.
    fn run_on_ranks(folder: &TempDir, arguments: &[&str]) -> Output {
        Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "--quiet", "-n", "4", env!("CARGO_BIN_EXE_radiosity")])
            .args(arguments)
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
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

    #[test]
    fn the_master_says_once_what_is_wrong_and_all_ranks_end() {
        let folder = folder();
        let wrong: [(&[&str], &str); 6] = [
            (&["render", "missing.glb", "-o", "x.png"], "missing.glb"),
            (&["render", "builtin:cornell_box", "-o", "x.png", "--fragments", "0"], "--fragments"),
            (&["render", "builtin:cornell_box", "-o", "x.png", "--size", "9x3"], "3 rows"),
            (&["render", "builtin:cornell_box", "-o", "x.png", "--integrator", "light"], "paths from lights"),
            (&["render", "builtin:cornell_box", "-o", "nowhere/x.png"], "nowhere"),
            (&["render", "builtin:cornell_box", "-o", "x", "--shard", "1/2"], "--shard"),
        ];
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
        // The second rank draws another scene.
        let radiosity = env!("CARGO_BIN_EXE_radiosity");
        let program = |scene| ["-n", "1", radiosity, "render", scene, "-o", "x.png", "--size", "16x16"];
        let arguments = [&program("builtin:cornell_box")[..], &[":"], &program("builtin:cornell_empty")].concat();
        let options = ["--allow-run-as-root", "--oversubscribe", "--quiet"];
        let output = Command::new("mpirun").args(options).args(arguments).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("rank 1 has another scene"), "{}", stderr(&output));
    }
}
