//! Reads many damaged scene files: none may panic, hang, or yield numbers that are not finite.
//!
//! ```text
//! cargo run --release --no-default-features --example mutated_files -- [COUNT] [FIRST]
//! ```
//!
//! Prints how many of COUNT files (100,000 when left out) could be read, and the slowest. A file that panics or takes
//! longer than a minute is named by its number and kept in the folder for temporary files; the exit code is then 1.

mod mutate;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bevy_radiosity::scene;

/// No file may take longer.
const MAX_TIME: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let count = arguments.next().and_then(Result::ok).unwrap_or(100_000);
    let first = arguments.next().and_then(Result::ok).unwrap_or(0);
    let directory = tempfile::tempdir().expect("there is a folder for temporary files");
    let current = Arc::new(AtomicU64::new(u64::MAX));
    watch(Arc::clone(&current));
    let started = Instant::now();
    let (mut read, mut panicked, mut slowest) = (0, 0, (Duration::ZERO, first));
    for number in first..first + count {
        let case = mutate::case(number);
        for (name, content) in &case.files {
            std::fs::write(directory.path().join(name), content).expect("the folder can be written to");
        }
        current.store(number, Ordering::Relaxed);
        let begun = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| is_sound(&directory.path().join(case.scene))));
        slowest = slowest.max((begun.elapsed(), number));
        match outcome {
            Ok(true) => read += 1,
            Ok(false) => {}
            Err(_) => {
                panicked += 1;
                let kept = std::env::temp_dir().join(format!("mutated_{number}_{}", case.scene));
                let copied = std::fs::copy(directory.path().join(case.scene), &kept);
                eprintln!("number {number} panicked: {} ({copied:?})", kept.display());
            }
        }
    }
    println!(
        "{count} files in {:.1} s: {read} read, {} refused, {panicked} panicked; the slowest took {:.3} s (number {})",
        started.elapsed().as_secs_f32(),
        count - read - panicked,
        slowest.0.as_secs_f32(),
        slowest.1
    );
    if panicked == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// True for a file that can be read, whose numbers are then finite; false for one that is refused.
fn is_sound(file: &Path) -> bool {
    let Ok(loaded) = scene::load(&file.to_string_lossy()) else { return false };
    let scene = loaded.scene;
    for surface in scene.surface_ids() {
        for triangle in 0..scene.mesh_of(surface).triangles.len() as u32 {
            let corners = scene.triangle(surface, triangle).corners;
            assert!(corners.iter().all(|corner| corner.is_finite()), "a corner is not finite");
        }
    }
    true
}

/// Ends the program when one file takes too long.
fn watch(current: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut seen = (u64::MAX, Instant::now());
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let number = current.load(Ordering::Relaxed);
            if number != seen.0 {
                seen = (number, Instant::now());
            } else if number != u64::MAX && seen.1.elapsed() > MAX_TIME {
                eprintln!("number {number} takes longer than {} s", MAX_TIME.as_secs());
                std::process::exit(1);
            }
        }
    });
}
