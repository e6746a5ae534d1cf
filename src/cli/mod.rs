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

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

/// Results could not be printed.
static OUTPUT_IS_LOST: AtomicBool = AtomicBool::new(false);

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
    let command = match CommandLine::try_parse() {
        Ok(parsed) => parsed.command,
        Err(error) if error.use_stderr() => {
            complain(error.render().to_string().trim_end());
            return ExitCode::from(2);
        }
        // Help or the version, which hold nothing of what was typed.
        Err(error) => error.exit(),
    };
    let result = match command {
        Command::Bake(arguments) => bake::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Probe(arguments) => probe::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Rays(arguments) => rays::run(&arguments),
        Command::View(arguments) => view::run(&arguments),
    };
    match result {
        Ok(()) if OUTPUT_IS_LOST.load(Ordering::Relaxed) => {
            complain("error: standard output cannot be written: make room where it goes");
            ExitCode::FAILURE
        }
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(format_args!("error: {}", in_one_line(&failure.to_string())));
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
    let mut output = std::io::stdout().lock();
    if let Err(error) = writeln!(output, "{}", escaped(&line.to_string())).and_then(|()| output.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        OUTPUT_IS_LOST.store(true, Ordering::Relaxed);
    }
}

/// Prints a line on standard error. There is nowhere to say that it cannot be written.
fn complain(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{}", escaped(&line.to_string()));
}

/// Text without characters that a terminal obeys, or that change the order of what is read: names in files may hold
/// them. They are written as JSON writes them, so that JSON stays the same.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_obeyed = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(is_obeyed) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) {
            escaped += &format!("\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    escaped.into()
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
    fn no_name_can_command_a_terminal() {
        assert_eq!(escaped("a\u{1b}[31m\u{7}\u{9b}\u{202e}b\nc"), "a\\u001b[31m\\u0007\\u009b\\u202eb\nc");
        assert_eq!(escaped("caf\u{e9}"), "caf\u{e9}");
        let json = serde_json::to_string("\u{7f}\u{1b}").unwrap();
        assert_eq!(serde_json::from_str::<String>(&escaped(&json)).unwrap(), "\u{7f}\u{1b}");
    }

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        assert_eq!(in_one_line("expected `}`\n  at line 3\n"), "expected `}` at line 3");
    }
}
