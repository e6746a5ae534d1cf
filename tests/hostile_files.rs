//! Tests of damaged and made-up files: each is read or refused within a few seconds and little memory, without a panic.
//!
//! Each reader gets files that `damage` makes from a small corpus. `RADIOSITY_FUZZ` sets the number of files, and
//! optionally the seed after a comma: `RADIOSITY_FUZZ=1000000,7`. By default the tests read as many files as take a
//! second or two.
#![allow(clippy::disallowed_methods, reason = "no browser runs this")]

#[path = "hostile_files/allocator.rs"]
mod allocator;
#[path = "hostile_files/baked_level.rs"]
mod baked_level;
#[path = "hostile_files/damage.rs"]
mod damage;
#[path = "hostile_files/documents.rs"]
mod documents;
#[path = "hostile_files/fuzz.rs"]
mod fuzz;
#[path = "hostile_files/levels.rs"]
mod levels;
#[cfg(feature = "cli")]
#[path = "hostile_files/lists.rs"]
mod lists;
#[path = "hostile_files/scenes.rs"]
mod scenes;
#[path = "hostile_files/solutions.rs"]
mod solutions;
