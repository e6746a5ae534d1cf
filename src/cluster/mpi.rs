//! MPI as the carrier of messages (feature `mpi`).

use std::cell::RefCell;
use std::thread;
use std::time::Duration;

use mpi::environment::Universe;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::request::{Request, StaticScope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, Destination as _, Source as _};
use mpi::{Threading, ffi};

use super::{Communicator, Message, NoSenderError, Rank, Tag};

/// Exit code of all ranks after a panic, which is that of a single process.
const PANICKED: i32 = 101;

/// Pause between two looks for a message. MPI itself would wait at full load, and take the core from other ranks.
const PAUSE: Duration = Duration::from_micros(100);

/// Communicator of the processes that `mpirun` has started.
///
/// MPI ends all processes if one of them dies or panics.
pub struct MpiCommunicator {
    world: SimpleCommunicator,
    /// Messages that MPI may still read.
    sent: RefCell<Vec<Sent>>,
    /// Ends MPI when dropped, after all messages.
    _universe: Universe,
}

impl MpiCommunicator {
    /// Initializes MPI. Returns `None` if it is initialized already.
    ///
    /// Only the calling thread may use the communicator.
    pub fn new() -> Option<Self> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)?;
        Some(Self { world: universe.world(), sent: RefCell::default(), _universe: universe })
    }
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> Rank {
        Rank(self.world.rank() as u32)
    }

    fn size(&self) -> u32 {
        self.world.size() as u32
    }

    fn send(&self, to: Rank, tag: Tag, bytes: Vec<u8>) {
        assert!(to.0 < self.size(), "there is no rank {}", to.0);
        let mut sent = self.sent.borrow_mut();
        sent.retain_mut(|it| !it.is_complete());
        sent.push(Sent::begin(&self.world, to, tag, bytes));
    }

    fn try_recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Option<Message> {
        // SAFETY: MPI has set this constant.
        let tag = tag.map_or(unsafe { ffi::RSMPI_ANY_TAG }, |tag| tag.0.into());
        let arrived = match from {
            Some(from) => self.world.process_at_rank(from.0 as i32).immediate_matched_probe_with_tag(tag),
            None => self.world.any_process().immediate_matched_probe_with_tag(tag),
        };
        let (bytes, status) = arrived?.matched_receive_vec();
        Some(Message { from: Rank(status.source_rank() as u32), tag: Tag(status.tag() as u16), bytes })
    }

    #[expect(clippy::disallowed_methods, reason = "no browser runs ranks")]
    fn recv(&self, from: Option<Rank>, tag: Option<Tag>) -> Result<Message, NoSenderError> {
        loop {
            if let Some(message) = self.try_recv(from, tag) {
                return Ok(message);
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Waits until MPI has read all messages. After a panic, ends all ranks, which would wait for this one.
impl Drop for MpiCommunicator {
    #[expect(clippy::disallowed_methods, reason = "no browser runs ranks")]
    fn drop(&mut self) {
        if thread::panicking() {
            self.world.abort(PANICKED);
        }
        while self.sent.get_mut().iter_mut().any(|it| !it.is_complete()) {
            thread::sleep(PAUSE);
        }
    }
}

/// Message that is being sent, and its bytes.
struct Sent {
    /// `None` once complete. The request of no bytes borrows for ever.
    request: Option<Request<'static, [u8], StaticScope>>,
    bytes: *mut [u8],
}

impl Sent {
    fn begin(world: &SimpleCommunicator, to: Rank, tag: Tag, bytes: Vec<u8>) -> Self {
        let bytes = Box::into_raw(bytes.into_boxed_slice());
        // SAFETY: the bytes stay where they are, unchanged, until the request is complete; see `drop`.
        let content: &'static [u8] = unsafe { &*bytes };
        let process = world.process_at_rank(to.0 as i32);
        let request = process.immediate_send_with_tag(StaticScope, content, tag.0.into());
        Self { request: Some(request), bytes }
    }

    fn is_complete(&mut self) -> bool {
        self.request = self.request.take().and_then(|request| request.test().err());
        self.request.is_none()
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        if let Some(request) = self.request.take() {
            request.wait_without_status();
        }
        // SAFETY: `begin` has made the bytes from a box, and MPI no longer reads them.
        drop(unsafe { Box::from_raw(self.bytes) });
    }
}
