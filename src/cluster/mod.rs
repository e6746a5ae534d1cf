//! Work over many ranks: messages between them, and the division of work among them.
//!
//! A *rank* is one worker of a run, as in MPI. It owns its part of the work and shares nothing with the others: ranks only
//! exchange messages, through a [`Communicator`]. [`run_local`] runs ranks as threads of one process, `MpiCommunicator`
//! (feature `mpi`) as processes on many machines. Messages are bytes: [`Encoder`] and [`Decoder`] turn values and slices
//! into bytes and back. [`agree`] checks that all ranks are about to do the same.
//!
//! [`distribute`] computes a [`Work`] on all ranks, by a [`Strategy`] of document `002`. The work consists of units, such
//! as rows of a picture, that any rank can compute. So the result is the same for any strategy and number of ranks. A
//! [`ClusterReport`] has efficiency and load balance. A [`Simulation`] predicts it for machines that are not at hand.
//! [`PUBLISHED_CLUSTERS`] are those of the document, with its measurements.
//!
//! A [`Team`] computes one work after another, where each follows from the one before: the master of a [`RankTeam`] tells
//! the other ranks the inputs of each [`Task`], and they [`serve`]. It can also call them to a joint work, in which each
//! rank has a part of its own.
//! The processes of a [`FolderTeam`] share work by files.
//!
//! [`TerminationTest`] finds the end of work that ranks hand to each other.

mod agreement;
mod communicator;
mod distribute;
mod encoding;
mod folder_team;
mod local;
mod master;
mod metrics;
#[cfg(feature = "mpi")]
mod mpi;
mod published;
mod queue;
mod report;
mod simulation;
mod split;
mod team;
mod termination;

pub use agreement::{AgreementError, agree};
pub use communicator::{Communicator, Message, NoSenderError, Rank, Tag};
pub use distribute::{ClusterError, Strategy, Work, distribute};
pub use encoding::{DecodeError, Decoder, Encoder};
pub use folder_team::FolderTeam;
pub use local::{LocalCommunicator, Schedule, SimulatedMachines, run_local, run_local_beside};
pub use metrics::{Balance, efficiency, efficiency_of_unequal, harmonic_mean, max_speedup};
#[cfg(feature = "mpi")]
pub use mpi::MpiCommunicator;
pub use published::{PUBLISHED_CLUSTERS, PublishedCluster, PublishedRun, published_costs};
pub use queue::{Fragments, Queue, WorkerProgress};
pub use report::ClusterReport;
pub use simulation::Simulation;
pub use split::{split_by_speed, split_equally};
pub use team::{Joiner, RankTeam, Receive, Task, Team, TeamError, WorkReader, serve};
pub use termination::{IdleReport, TerminationTest};

#[cfg(test)]
pub use distribute::STRATEGIES;

#[cfg(test)]
mod tests;
