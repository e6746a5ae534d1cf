//! The command line `radiosity`: `bake`, `probe`, `info`, `rays`, `render`, `view`.
//!
//! Each command is a file; `arguments` and `look` hold what several of them take, `progress` what a user sees meanwhile, `cells` what `info` says of partitions.
//! Results go to standard output, one sentence about what went wrong to standard error; the exit code is 0, 1 when the
//! work failed, 2 when the command was not understood.

mod arguments;
mod bake;
mod cells;
mod info;
mod interrupt;
mod look;
mod points;
mod probe;
mod progress;
mod rays;
mod render;
mod view;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Why a command failed, in one sentence.
type Failure = Box<dyn std::error::Error>;

/// Bakes radiosity lightmaps for Bevy, on any machine.
#[derive(Parser)]
#[command(name = "radiosity", version, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Bake the lightmaps of a scene into a folder
    Bake(bake::Arguments),
    /// Draw a picture of a scene, path traced
    Render(render::Arguments),
    /// Say how much light arrives at points
    Probe(probe::Arguments),
    /// Say what is in a scene and what is wrong with it
    Info(info::Arguments),
    /// Replay a file of rays and time them
    Rays(rays::Arguments),
    /// Walk through a scene in a window
    View(view::Arguments),
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    #[cfg(feature = "gpu")]
    quieten_drivers();
    let result = match CommandLine::parse().command {
        Command::Bake(arguments) => bake::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Rays(arguments) => rays::run(&arguments),
        Command::View(arguments) => view::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {}", in_one_line(&failure.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Keeps Mesa's Vulkan drivers from looking for a Wayland display in a session that has none: they would complain on the
/// standard error stream, as errors of ours.
#[cfg(feature = "gpu")]
fn quieten_drivers() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: nothing has started another thread yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Prints a line of results. Whoever closes our standard output early, as `head` does, has seen enough.
fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Text from elsewhere, such as a parser's message, may hold line breaks; a sentence has none.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_consistent() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        assert_eq!(in_one_line("expected `}`\n  at line 3\n"), "expected `}` at line 3");
    }
}
