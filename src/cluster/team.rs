//! Teams: processes that compute one work after another together, although each work follows from the one before.

use std::cell::RefCell;
use std::ops::Range;

use super::{ClusterError, ClusterReport, Communicator, DecodeError, Rank, Strategy, Tag, Work, distribute};
use crate::progress::{Cancelled, Monitor, Unmonitored};

/// Inputs of the next work or joint work, or nothing once there is none left.
const TASK: Tag = Tag(10);

/// Maximum length of a message. MPI counts bytes by 32 bits with a sign.
const MAX_BYTES: usize = i32::MAX as usize;

/// Work that other processes can be told of.
pub trait Task: Work {
    /// Returns the inputs of the work, some bytes from which another process makes the same work.
    fn inputs(&self) -> Vec<u8>;

    /// Returns the approximate number of rays that the work traces.
    fn rays(&self) -> u64;
}

/// Reason why a team could not compute a work.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// The monitor canceled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// A process is lost, or something that the team shares cannot be used.
    #[error("{0}")]
    Failed(String),
}

impl From<DecodeError> for TeamError {
    fn from(fault: DecodeError) -> Self {
        Self::Failed(fault.to_string())
    }
}

impl From<ClusterError> for TeamError {
    fn from(fault: ClusterError) -> Self {
        match fault {
            ClusterError::Cancelled(cancelled) => cancelled.into(),
            fault => Self::Failed(fault.to_string()),
        }
    }
}

/// Processes that compute one work after another together.
pub trait Team {
    /// Returns the number of rays of the smallest work that is worth sharing.
    fn min_rays(&self) -> u64;

    /// Shares a work among all processes, as [`compute`](Self::compute) says.
    ///
    /// # Errors
    /// Those of [`compute`](Self::compute).
    fn share(&self, task: &dyn Task, receive: &mut Receive, monitor: &dyn Monitor) -> Result<(), TeamError>;

    /// Calls all other ranks to a joint work, in which each rank has a part of its own. Returns the communicator for its
    /// messages.
    ///
    /// # Errors
    /// Returns an error if the inputs are too long for a message, or if the processes are no ranks. They exchange no
    /// messages then.
    fn call(&self, _inputs: &[u8]) -> Result<&dyn Communicator, TeamError> {
        Err(TeamError::Failed("only ranks of mpirun can work on a subscene each: start them in place of shards".into()))
    }

    /// Computes all units of a work, in this process alone if it is small. Passes each result to `receive` once, in any
    /// order.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or the team fails. Some units have been received then.
    fn compute(&self, task: &dyn Task, receive: &mut Receive, monitor: &dyn Monitor) -> Result<(), TeamError> {
        if task.rays() >= self.min_rays() {
            return self.share(task, receive, monitor);
        }
        let units = 0..task.units();
        Ok(receive(units.clone(), task.compute(units, monitor)?)?)
    }
}

/// Receiver of the results of some units.
pub type Receive<'a> = dyn FnMut(Range<u32>, Vec<u8>) -> Result<(), DecodeError> + 'a;

/// Ranks that help the master. All others [`serve`] meanwhile.
pub struct RankTeam<'a> {
    communicator: &'a dyn Communicator,
    strategy: Strategy,
    speed: f32,
    report: RefCell<Option<ClusterReport>>,
}

impl<'a> RankTeam<'a> {
    /// Creates the team of a communicator, on its master. Only [`Strategy::SpeedProportional`] uses the master's speed.
    pub fn new(communicator: &'a dyn Communicator, strategy: Strategy, speed: f32) -> Self {
        Self { communicator, strategy, speed, report: RefCell::default() }
    }

    /// Returns the sum of the reports of all works so far. `None` before the first one.
    pub fn report(&self) -> Option<ClusterReport> {
        self.report.borrow().clone()
    }

    /// Sends the inputs of a work to all other ranks. `remedy` is for inputs that are too long.
    fn tell(&self, inputs: &[u8], remedy: &str) -> Result<(), TeamError> {
        if inputs.len() > MAX_BYTES {
            let mib = inputs.len() >> 20;
            return Err(TeamError::Failed(format!("{mib} MiB are too much for a message of MPI: {remedy}")));
        }
        self.communicator.send_to_others(TASK, inputs);
        Ok(())
    }
}

impl Team for RankTeam<'_> {
    /// Smaller works take less time than messages about them.
    fn min_rays(&self) -> u64 {
        1 << 12
    }

    fn share(&self, task: &dyn Task, receive: &mut Receive, monitor: &dyn Monitor) -> Result<(), TeamError> {
        let Self { communicator, strategy, speed, .. } = *self;
        self.tell(&task.inputs(), "use --shard instead")?;
        let mut received = Ok(());
        let mut receive = |units: Range<u32>, bytes: Vec<u8>| {
            let done = receive(units, bytes);
            if received.is_ok() {
                received = done;
            }
        };
        if let Some(report) = distribute(communicator, task, strategy, speed, &mut receive, monitor)? {
            let mut sum = self.report.borrow_mut();
            match &mut *sum {
                Some(sum) => sum.add(&report),
                none => *none = Some(report),
            }
        }
        Ok(received?)
    }

    fn call(&self, inputs: &[u8]) -> Result<&dyn Communicator, TeamError> {
        self.tell(inputs, "bake without mpirun")?;
        Ok(self.communicator)
    }
}

/// Tells all ranks that there is no work left.
impl Drop for RankTeam<'_> {
    fn drop(&mut self) {
        self.communicator.send_to_others(TASK, &[]);
    }
}

/// Function that makes a work from its inputs. `None` for inputs of a joint work.
pub type WorkReader<'a> = dyn Fn(&[u8]) -> Result<Option<Box<dyn Work + 'a>>, DecodeError> + 'a;

/// Function that plays a rank's part in a joint work with these inputs.
pub type Joiner<'a> = dyn Fn(&[u8]) -> Result<(), ClusterError> + 'a;

/// Computes parts of all works of the master's [`RankTeam`], until there is none left. `work_of` makes a work from its
/// inputs, and `join` takes part in a joint work.
///
/// # Errors
/// Returns an error if inputs are damaged, or the master is lost.
pub fn serve<'a>(
    communicator: &dyn Communicator,
    strategy: Strategy,
    speed: f32,
    work_of: &WorkReader<'a>,
    join: &Joiner,
) -> Result<(), ClusterError> {
    loop {
        let message = communicator.recv(Some(Rank::MASTER), Some(TASK))?;
        if message.bytes.is_empty() {
            return Ok(());
        }
        match work_of(&message.bytes)? {
            Some(work) => _ = distribute(communicator, &*work, strategy, speed, &mut |_, _| {}, &Unmonitored)?,
            None => join(&message.bytes)?,
        }
    }
}
