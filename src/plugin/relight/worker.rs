//! A thread that never holds up a frame.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Works on a thread of its own, with threads that leave the game a core.
pub struct Worker<Job, Done> {
    jobs: Sender<Job>,
    done: Mutex<Receiver<Done>>,
    is_busy: bool,
    is_lost: bool,
}

impl<Job: Send + 'static, Done: Send + 'static> Worker<Job, Done> {
    /// Starts the thread, which first makes what it works on.
    pub fn start<State: Send>(
        name: &'static str,
        make: impl FnOnce() -> State + Send + 'static,
        work: impl Fn(&mut State, Job) -> Done + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(cores.saturating_sub(1).max(1))
            .thread_name(move |index| format!("{name} {index}"))
            .build()
            .map_err(|error| error.to_string())?;
        let (jobs, wanted) = channel::<Job>();
        let (results, done) = channel();
        let run = move || {
            let mut state = pool.install(make);
            for job in wanted {
                if results.send(pool.install(|| work(&mut state, job))).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        thread.map_err(|error| error.to_string())?;
        Ok(Self { jobs, done: Mutex::new(done), is_busy: false, is_lost: false })
    }

    /// True while a job is being done.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// True when the thread has ended by a fault of its own.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Gives it a job; it takes one at a time.
    pub fn give(&mut self, job: Job) {
        self.is_busy = self.jobs.send(job).is_ok();
        self.is_lost |= !self.is_busy;
    }

    /// What it has done, if it is done within some time.
    pub fn take(&mut self, within: Duration) -> Option<Done> {
        let done = self.done.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        match done.recv_timeout(within) {
            Ok(done) => {
                self.is_busy = false;
                Some(done)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                self.is_lost = true;
                None
            }
        }
    }
}
