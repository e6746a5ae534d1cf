//! Damaged scene files. The example `mutated_files` reads a hundred thousand of them.

#[path = "../examples/mutated_files/mutate.rs"]
mod mutate;

use std::time::{Duration, Instant};

#[test]
fn damaged_files_are_read_or_refused_and_never_panic() {
    let directory = tempfile::tempdir().unwrap();
    let started = Instant::now();
    let (mut read, mut refused) = (0, 0);
    for number in 0..2_000 {
        let case = mutate::case(number);
        for (name, content) in &case.files {
            std::fs::write(directory.path().join(name), content).unwrap();
        }
        let file = directory.path().join(case.scene);
        match bevy_radiosity::scene::load(&file.to_string_lossy()) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
        // Slow machines read what they can.
        if started.elapsed() > Duration::from_secs(2) {
            break;
        }
    }
    assert!(read > 10 && refused > 10, "{read} read, {refused} refused: damage must leave some files whole");
}
