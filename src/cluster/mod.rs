//! Work over many ranks: messages between them.
//!
//! A *rank* is one worker of a run, as in MPI. It owns its part of the work and shares nothing with the others: ranks only
//! exchange messages, through a [`Communicator`]. [`run_local`] runs ranks as threads of one process.
//!
//! Messages are bytes. [`Encoder`] and [`Decoder`] turn values and slices into bytes and back.

mod communicator;
mod encoding;
mod local;

pub use communicator::{Communicator, Message, NoSenderError, Rank, Tag};
pub use encoding::{DecodeError, Decoder, Encoder};
pub use local::{LocalCommunicator, Schedule, run_local};
