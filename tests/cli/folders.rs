//! Tests of existing folders and files: foreign files stay, and damage is noticed.

use super::*;

const THESIS: &str = "three years of work";

/// Returns the arguments of a bake that takes a second.
fn quick<'a>(output: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let quick = ["--no-volume", "--threads", "2", "--backend", "cpu"];
    [&bake("builtin:cornell_box", output)[..], &quick, more].concat()
}

fn succeeds(folder: &TempDir, arguments: &[&str]) {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// Returns the light of a folder's lightmaps at a point of the floor, as a line of numbers, or the error of reading.
fn probe(folder: &TempDir, from: &str) -> Result<String, String> {
    fs::write(folder.path().join("points.csv"), "0,0,0,0,1,0\n").unwrap();
    let arguments = ["probe", "builtin:cornell_box", "--from", from, "--points", "points.csv", "-o", "light.csv"];
    let output = run(folder, &arguments);
    let read = || fs::read_to_string(folder.path().join("light.csv")).unwrap();
    if output.status.success() { Ok(read()) } else { Err(stderr(&output)) }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links() {
    use std::os::unix::fs::symlink;

    let folder = folder();
    let thesis = folder.path().join("thesis.txt");
    let planted = [
        // Names of temporary files of earlier versions, which anybody could guess.
        ("report.json.partial", true),
        ("checkpoint.bin.partial", true),
        ("level.ron.partial", true),
        (".bake.lock", false),
        ("report.json", false),
        ("level.ron", false),
        ("page_0.exr", false),
        ("checkpoint.bin", false),
    ];
    for (number, (name, is_harmless)) in planted.into_iter().enumerate() {
        fs::write(&thesis, THESIS).unwrap();
        let output = number.to_string();
        fs::create_dir(folder.path().join(&output)).unwrap();
        symlink(&thesis, folder.path().join(&output).join(name)).unwrap();
        if is_harmless {
            succeeds(&folder, &quick(&output, &["--resume"]));
        } else {
            assert!(complaint(&folder, &quick(&output, &[])).contains(name), "{name}");
            assert_eq!(files(&folder.path().join(&output)), [name]);
        }
        assert_eq!(fs::read_to_string(&thesis).unwrap(), THESIS, "{name}");
    }
    symlink(&thesis, folder.path().join("light.csv.partial")).unwrap();
    symlink(&thesis, folder.path().join("light.csv")).unwrap();
    probe(&folder, "0").unwrap();
    assert_eq!(fs::read_to_string(&thesis).unwrap(), THESIS);
}

#[test]
fn a_refused_bake_leaves_the_checkpoint_of_another() {
    let folder = folder();
    let out = folder.path().join("out");
    // The checkpoint of an earlier bake, with an empty payload and its digest.
    let mut kept = b"RADBAKE1".to_vec();
    kept.extend([7; 32]);
    kept.extend(blake3::hash(b"").as_bytes());
    fs::create_dir(&out).unwrap();
    fs::write(out.join("checkpoint.bin"), &kept).unwrap();
    let too_much = ["--density", "2000", "--memory", "64"];
    let refused = ["bake", "builtin:cornell_box", "-o", "out", "--no-volume", "--backend", "cpu"];
    assert!(complaint(&folder, &[&refused[..], &too_much].concat()).contains("MiB"));
    assert_eq!(fs::read(out.join("checkpoint.bin")).unwrap(), kept);
    succeeds(&folder, &quick("out", &[]));
    assert!(!out.join("checkpoint.bin").exists());
}

#[test]
fn files_of_somebody_else_are_named_until_force_replaces_them() {
    let folder = folder();
    let out = folder.path().join("out");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("thesis.txt"), THESIS).unwrap();
    for name in ["report.json", "page_0.ktx2", "checkpoint.previous.bin", "level.ron"] {
        fs::write(out.join(name), THESIS).unwrap();
        let said = complaint(&folder, &quick("out", &[]));
        assert!(said.contains(name) && said.contains("--force"), "{said}");
        assert_eq!(fs::read_to_string(out.join(name)).unwrap(), THESIS);
        assert_eq!(files(&out), [name, "thesis.txt"]);
        succeeds(&folder, &quick("out", &["--force"]));
        assert_eq!(fs::read_to_string(out.join("thesis.txt")).unwrap(), THESIS);
        // The bake's own folder needs no force. Then it is emptied for the next case.
        succeeds(&folder, &quick("out", &["--seed", "1"]));
        probe(&folder, "out").unwrap();
        files(&out)
            .iter()
            .filter(|name| *name != "thesis.txt")
            .for_each(|name| fs::remove_file(out.join(name)).unwrap());
    }
}

#[test]
fn a_damaged_file_is_named_by_readers_and_by_the_next_bake() {
    let folder = folder();
    succeeds(&folder, &quick("out", &[]));
    let whole = probe(&folder, "out").unwrap();
    for name in ["page_0.exr", "validity_0.png", "unwrapped_meshes.bin", "level.ron"] {
        let path = folder.path().join("out").join(name);
        let good = fs::read(&path).unwrap();
        let mut damaged = good.clone();
        damaged[good.len() / 2] ^= 4;
        fs::write(&path, damaged).unwrap();
        let said = probe(&folder, "out").unwrap_err();
        assert!(said.contains(name) && said.lines().count() == 1, "{said}");
        assert!(complaint(&folder, &quick("out", &[])).contains(name));
        fs::write(&path, good).unwrap();
    }
    assert_eq!(probe(&folder, "out").unwrap(), whole);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_the_lock_or_of_a_page_is_refused_and_not_waited_for() {
    let folder = folder();
    let pipe = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    fs::create_dir(folder.path().join("locked")).unwrap();
    pipe(&folder.path().join("locked/.bake.lock"));
    assert!(complaint(&folder, &quick("locked", &[])).contains(".bake.lock"));
    succeeds(&folder, &quick("out", &[]));
    fs::remove_file(folder.path().join("out/page_0.exr")).unwrap();
    pipe(&folder.path().join("out/page_0.exr"));
    assert!(probe(&folder, "out").unwrap_err().contains("page_0.exr"));
}

#[test]
fn names_that_windows_takes_for_devices_are_refused_on_every_system() {
    let folder = folder();
    fs::write(folder.path().join("aux.obj"), "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 3 2\n").unwrap();
    for arguments in [
        vec!["info", "aux.obj"],
        quick("con", &[]),
        quick("trail. ", &[]),
        vec!["render", "builtin:cornell_box", "-o", "nul.png"],
    ] {
        assert!(complaint(&folder, &arguments).contains("another name"), "{arguments:?}");
    }
    assert_eq!(files(folder.path()), ["aux.obj"]);
}
