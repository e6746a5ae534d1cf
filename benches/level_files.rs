//! Cost of the digests of a baked level: `cargo bench --no-default-features --bench level_files -- FOLDER`.
//!
//! Prints a table: bytes of each file, the time that reading takes, and the time that its check takes. A bake computes each
//! digest once, and so does a reader. The fastest of some rounds counts.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

use std::path::Path;
use std::time::{Duration, Instant};

use bevy_radiosity::lightmap::files::{Level, LevelBytes};

/// Number of rounds.
const ROUNDS: usize = 20;

/// Returns the shortest duration of a call, and its result.
fn fastest<T>(mut work: impl FnMut() -> T) -> (Duration, T) {
    let mut timed = || {
        let started = Instant::now();
        let done = work();
        (started.elapsed(), done)
    };
    let mut best = timed();
    for _ in 1..ROUNDS {
        let next = timed();
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = folder.expect("the folder of a baked level");
    let folder = Path::new(&folder);
    let (opening, level) = fastest(|| Level::read(folder).expect("a baked level"));
    println!("| file | bytes | read, ms | checked, ms |");
    println!("| --- | --- | --- | --- |");
    println!("| level.ron, read, checked and parsed | | {:.2} | |", milliseconds(opening));
    let mut all = (0, Duration::ZERO, Duration::ZERO);
    for file in level.files() {
        let (reading, content) = fastest(|| std::fs::read(folder.join(&file.name)).expect("the file is there"));
        let checking = (0..ROUNDS).map(|_| {
            let (mut files, content) = (LevelBytes::new(folder), content.clone());
            let started = Instant::now();
            files.insert(file, content).expect("the file is whole");
            started.elapsed()
        });
        let checking = checking.min().unwrap_or_default();
        println!("| {} | {} | {:.2} | {:.2} |", file.name, file.bytes, milliseconds(reading), milliseconds(checking));
        all = (all.0 + file.bytes, all.1 + reading, all.2 + checking);
    }
    println!("| all | {} | {:.2} | {:.2} |", all.0, milliseconds(all.1), milliseconds(all.2));
}
