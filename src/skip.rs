//! Tests that are skipped where something is missing. The tests of folder `tests` share this file.
#![allow(dead_code, reason = "each test program uses a part")]

use std::io::Write;

/// Prints a line that the running test is skipped: `skipped: NAME: needs SOMETHING`. `.ci/run` counts these lines.
pub fn skip(needed: &str) {
    let thread = std::thread::current();
    let line = format!("skipped: {}: needs {needed}\n", thread.name().unwrap_or("a test"));
    // Test programs capture what `eprintln` prints, unless the test fails.
    _ = std::io::stderr().write_all(line.as_bytes());
}

/// Skips a test on a machine without a graphics adapter.
///
/// # Panics
/// If `RADIOSITY_REQUIRE_GPU` is set. Then a missing adapter is a failure.
pub fn skip_without_gpu(fault: &str) {
    assert!(std::env::var_os("RADIOSITY_REQUIRE_GPU").is_none(), "RADIOSITY_REQUIRE_GPU is set, but: {fault}");
    skip(&format!("a graphics adapter: {fault}"));
}

/// Returns the folder of the reference data, which `RADIOSITY_TRUTHS` names. Skips the test if it is not set.
pub fn truths() -> Option<String> {
    let folder = std::env::var("RADIOSITY_TRUTHS").ok();
    if folder.is_none() {
        skip("RADIOSITY_TRUTHS");
    }
    folder
}
