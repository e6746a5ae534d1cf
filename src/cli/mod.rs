//! The command line `radiosity`: `bake`, `cluster-sim`, `probe`, `info`, `merge`, `rays`, `render`, `view`.
//!
//! Each command has its own file. `arguments` and `look` hold shared arguments, `progress` shows progress, `interrupt`
//! handles Ctrl-C, and `cells` adds partitions to `info`. `view` shows entities of `spawn` with the `viewer`. Results go to standard output, a one-sentence error to
//! standard error. The exit code is 0 for success, 1 if the work failed, 2 if the command line is invalid.

mod arguments;
mod bake;
mod camera;
mod cells;
mod cluster_sim;
mod info;
mod interrupt;
mod merge;
mod parts;
mod picture;
mod points;
mod probe;
mod progress;
mod ranks;
mod rays;
mod reference;
mod render;
mod render_report;
mod shards;
#[cfg(feature = "plugin")]
mod spawn;
mod view;
#[cfg(feature = "plugin")]
mod viewer;
mod walks;

use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Parser, Subcommand};

pub use points::{PointsError, read as read_points};
pub use rays::read_rays;

/// True once results could not be printed.
static OUTPUT_IS_LOST: AtomicBool = AtomicBool::new(false);

/// Error of a command, in one sentence.
pub type Failure = Box<dyn std::error::Error>;

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
    /// Render an image of a scene by path tracing
    Render(render::Arguments),
    /// Join the parts of an image or of a bake
    Merge(merge::Arguments),
    /// Predict the time of an image on machines that are not at hand
    ClusterSim(cluster_sim::Arguments),
    /// Compute the irradiance at points
    Probe(probe::Arguments),
    /// Print the contents and problems of a scene
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
        // Help or version, which contain nothing that the user typed.
        Err(error) => error.exit(),
    };
    let result = match command {
        Command::Bake(arguments) => bake::run(&arguments),
        Command::Render(arguments) => render::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::ClusterSim(arguments) => cluster_sim::run(&arguments),
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
        // `mpirun` ends all ranks once one fails. So only the first one does, when it has said why.
        Err(_) if ranks::is_silent() => ExitCode::SUCCESS,
        Err(failure) => {
            complain(format_args!("error: {}", in_one_line(&failure.to_string())));
            ExitCode::FAILURE
        }
    }
}

/// Keeps Mesa's Vulkan drivers from looking for a Wayland display in a session without one. Otherwise they print errors
/// to standard error, which look like ours.
#[cfg(feature = "gpu")]
fn quieten_drivers() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: nothing has started another thread yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}

/// Prints a line of results, on the first rank. A closed standard output, as by `head`, is no error.
fn say(line: impl std::fmt::Display) {
    if ranks::is_silent() {
        return;
    }
    let mut output = std::io::stdout().lock();
    if let Err(error) = writeln!(output, "{}", escaped(&line.to_string())).and_then(|()| output.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        OUTPUT_IS_LOST.store(true, Ordering::Relaxed);
    }
}

/// Prints a line on standard error, on the first rank. A write error is ignored, because it cannot be reported.
fn complain(line: impl std::fmt::Display) {
    if !ranks::is_silent() {
        let _ = writeln!(std::io::stderr(), "{}", escaped(&line.to_string()));
    }
}

/// Escapes control characters and characters that change the reading order, since names in files may contain them. Uses
/// JSON's escapes, so JSON keeps its meaning.
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

/// Joins lines into one. Text from elsewhere, such as a parser's message, may contain line breaks.
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
