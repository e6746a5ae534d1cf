//! The command line `radiosity`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bevy_radiosity::cli::main()
}
