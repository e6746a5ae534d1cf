//! Distribution of work to ranks, and collection of the results by the master (`002` 4.2.3).
//!
//! | message | content | from, to |
//! | --- | --- | --- |
//! | `SPEED` | speed of the rank | rank, master; with [`Strategy::SpeedProportional`] |
//! | `REQUEST` | nothing: the rank asks for a fragment | rank, master; with [`Strategy::WorkQueue`] |
//! | `FRAGMENT` | first unit and end | master, rank |
//! | `STOP` | nothing: there is no fragment left (the poison pill) | master, rank |
//! | `RESULT` | first unit, end, seconds, bytes | rank, master |
//! | `ENDED` | seconds of work in vain; the last message of a rank | rank, master |
//! | `DONE` | nothing: all ranks have ended, and the next distribution may begin | master, rank |
//!
//! Each rank computes on a thread of its own and exchanges messages meanwhile. The master also computes, and sends itself
//! no messages.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::master::Master;
use super::{
    ClusterReport, Communicator, DecodeError, Decoder, Encoder, Fragments, NoSenderError, Rank, Tag, split_equally,
};
use crate::clock;
use crate::progress::{Cancelled, Monitor};

pub(super) const SPEED: Tag = Tag(1);
pub(super) const REQUEST: Tag = Tag(2);
pub(super) const FRAGMENT: Tag = Tag(3);
pub(super) const STOP: Tag = Tag(4);
pub(super) const RESULT: Tag = Tag(5);
pub(super) const ENDED: Tag = Tag(6);
pub(super) const DONE: Tag = Tag(7);

/// Pause between two looks at messages while a rank computes.
const PAUSE: Duration = Duration::from_micros(200);

/// Work that consists of independent units, such as rows of a picture.
pub trait Work: Sync {
    /// Returns the number of units.
    fn units(&self) -> u32;

    /// Computes some units and returns the result as bytes. Any rank must return the same bytes for the same units.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels the work.
    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled>;
}

/// Way to divide work among ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strategy {
    /// Each rank gets one range of equal length, without a message.
    Equally,
    /// Each rank gets one range, in proportion to its speed.
    SpeedProportional,
    /// Ranks ask for fragments until there are none left. The default.
    WorkQueue {
        /// Number of fragments.
        fragments: Fragments,
        /// Whether idle ranks also compute what slow or lost ones have not finished. The default.
        reissue: bool,
    },
}

impl Default for Strategy {
    fn default() -> Self {
        Self::WorkQueue { fragments: Fragments::default(), reissue: true }
    }
}

/// Every kind of strategy, for tests of what ranks share.
#[cfg(test)]
pub const STRATEGIES: [Strategy; 4] = [
    Strategy::Equally,
    Strategy::SpeedProportional,
    Strategy::WorkQueue { fragments: Fragments::Count(5), reissue: false },
    Strategy::WorkQueue { fragments: Fragments::Adaptive, reissue: true },
];

/// Reason why a distribution ended without all results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The master's monitor canceled the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A rank ended before it had computed its part.
    #[error("rank {} ended before it had computed its part: run the work again, or use a work queue", .0.0)]
    Lost(Rank),
    /// A message could not be read.
    #[error(transparent)]
    Message(#[from] DecodeError),
    /// A rank waits in vain for the master.
    #[error(transparent)]
    NoSender(#[from] NoSenderError),
}

/// Distributes work to all ranks. Every rank of the communicator must call it with the same work and strategy, and with
/// its own speed, which only [`Strategy::SpeedProportional`] uses.
///
/// The master passes each result to `receive` once, in any order, and returns a report. The other ranks return `None`.
///
/// # Errors
/// Returns an error if the master's monitor cancels, or a rank is lost whose work no other rank can compute. All ranks
/// that are left end.
pub fn distribute(
    communicator: &dyn Communicator,
    work: &dyn Work,
    strategy: Strategy,
    speed: f32,
    receive: &mut dyn FnMut(Range<u32>, Vec<u8>),
    monitor: &dyn Monitor,
) -> Result<Option<ClusterReport>, ClusterError> {
    if communicator.rank() == Rank::MASTER {
        Master::new(communicator, work, strategy, receive, monitor).run(speed).map(Some)
    } else {
        work_for_master(communicator, work, strategy, speed).map(|()| None)
    }
}

/// Computes what the master assigns, until it says stop.
fn work_for_master(
    communicator: &dyn Communicator,
    work: &dyn Work,
    strategy: Strategy,
    speed: f32,
) -> Result<(), ClusterError> {
    let send = |tag, content: Encoder| communicator.send(Rank::MASTER, tag, content.finish());
    let own = communicator.rank().index();
    let mut units = match strategy {
        Strategy::Equally => Some(split_equally(work.units(), communicator.size()).swap_remove(own)),
        Strategy::SpeedProportional => {
            send(SPEED, Encoder::new().value(speed));
            await_fragment(communicator)?
        }
        Strategy::WorkQueue { .. } => {
            send(REQUEST, Encoder::new());
            await_fragment(communicator)?
        }
    };
    let mut seconds_in_vain = 0.0f64;
    while let Some(range) = units {
        let stopped = AtomicBool::new(false);
        let look = || {
            if communicator.try_recv(Some(Rank::MASTER), Some(STOP)).is_some() {
                stopped.store(true, Ordering::Relaxed);
            }
        };
        let (result, seconds) = compute_beside(work, range.clone(), &stopped, look);
        let bytes = match result {
            Ok(bytes) if !stopped.load(Ordering::Relaxed) => bytes,
            Ok(_) | Err(Cancelled) => {
                seconds_in_vain = seconds;
                break;
            }
        };
        send(RESULT, Encoder::new().value([range.start, range.end]).value(seconds).slice(&bytes));
        units = match strategy {
            Strategy::Equally | Strategy::SpeedProportional => None,
            Strategy::WorkQueue { .. } => {
                send(REQUEST, Encoder::new());
                await_fragment(communicator)?
            }
        };
    }
    send(ENDED, Encoder::new().value(seconds_in_vain));
    communicator.recv(Some(Rank::MASTER), Some(DONE))?;
    Ok(())
}

/// Waits for the master's next fragment; `None` is its stop.
fn await_fragment(communicator: &dyn Communicator) -> Result<Option<Range<u32>>, ClusterError> {
    let message = communicator.recv(Some(Rank::MASTER), None)?;
    if message.tag == STOP {
        return Ok(None);
    }
    let mut content = Decoder::new(&message.bytes);
    let [start, end] = content.value()?;
    Ok(Some(start..end))
}

/// Computes units on another thread, and looks at messages meanwhile. Returns the result and the seconds it took.
#[expect(clippy::disallowed_methods, reason = "no browser runs ranks")]
pub(super) fn compute_beside(
    work: &dyn Work,
    units: Range<u32>,
    stopped: &AtomicBool,
    mut look: impl FnMut(),
) -> (Result<Vec<u8>, Cancelled>, f64) {
    let this = thread::current();
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let started = clock::now();
            let result = work.compute(units, &StopMonitor(stopped));
            let seconds = started.elapsed().as_secs_f64();
            this.unpark();
            (result, seconds)
        });
        while !thread.is_finished() {
            look();
            thread::park_timeout(PAUSE);
        }
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Monitor that cancels work when the rank has been told to stop.
struct StopMonitor<'a>(&'a AtomicBool);

impl Monitor for StopMonitor<'_> {
    fn progress(&self, _fraction: f32) {}

    fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
