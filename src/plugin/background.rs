//! Background work. This is the only file of the plugin that starts threads.
//!
//! A [`Task`] does one job, a [`Worker`] one after the other. Each has its own thread, and a thread pool for parallel
//! loops. [`RadiosityThreads`] limits the pools. A browser has no threads: there a job runs at once, on the main thread.

use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bevy::prelude::*;

/// Thread limit of each background task: bakes, scenes of live views, relighting, partition cells, and files of levels.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub struct RadiosityThreads {
    /// Maximum number of threads of one task. `None` leaves one core to the game. Default `None`.
    ///
    /// Higher values finish sooner; lower values leave more time to the game. Tasks that have started keep their
    /// threads. [`Bake::threads`](super::Bake::threads) overrides it for a bake.
    pub max: Option<usize>,
}

impl RadiosityThreads {
    /// Returns the number of threads of a task, at least one.
    pub fn count(self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.max.unwrap_or_else(|| cores().saturating_sub(1)).max(1)
    }
}

/// Adds the thread limit to an app.
pub fn add(app: &mut App) {
    app.register_type::<RadiosityThreads>().init_resource::<RadiosityThreads>();
}

/// Error of a task that panicked, or had no threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault;

/// Place where jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    /// A thread of their own, with a thread pool.
    Thread,
    /// The thread that starts them, which waits.
    Caller,
}

/// Place where this system runs jobs.
const HOST: Host = if cfg!(target_arch = "wasm32") { Host::Caller } else { Host::Thread };

/// Job on a thread. A dropped task goes on until its end.
pub struct Task<T>(Mutex<Receiver<T>>);

impl<T: Send + 'static> Task<T> {
    /// Starts the job.
    ///
    /// # Errors
    ///
    /// Returns the system's reason if it has no threads.
    pub fn start(
        name: &'static str,
        threads: RadiosityThreads,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, String> {
        Self::start_on(HOST, name, threads, work)
    }

    fn start_on(
        host: Host,
        name: &'static str,
        threads: RadiosityThreads,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Self, String> {
        let (result, done) = channel();
        // Nobody waits for the result of a dropped task.
        match host {
            Host::Thread => spawn(name, threads, move |pool| _ = result.send(pool.install(work)))?,
            Host::Caller => _ = result.send(work()),
        }
        Ok(Self(Mutex::new(done)))
    }

    /// Returns the result once the job has ended, and `None` before.
    pub fn poll(&mut self) -> Option<Result<T, Fault>> {
        match self.0.get_mut().unwrap_or_else(PoisonError::into_inner).try_recv() {
            Ok(result) => Some(Ok(result)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Fault)),
        }
    }
}

/// Receiver of jobs. Returns false if the thread has ended.
type Give<Job> = Box<dyn FnMut(Job) -> bool + Send>;

/// Thread for jobs that share a state, one job at a time. It ends when the worker is dropped.
pub struct Worker<Job, Done> {
    jobs: Mutex<Give<Job>>,
    done: Mutex<Receiver<Done>>,
    is_busy: bool,
    is_lost: bool,
}

impl<Job: Send + 'static, Done: Send + 'static> Worker<Job, Done> {
    /// Starts the thread. It first calls `make` for its state.
    ///
    /// # Errors
    ///
    /// Returns the system's reason if it has no threads.
    pub fn start<State: Send + 'static>(
        name: &'static str,
        threads: RadiosityThreads,
        make: impl FnOnce() -> State + Send + 'static,
        work: impl Fn(&mut State, Job) -> Done + Send + Sync + 'static,
    ) -> Result<Self, String> {
        Self::start_on(HOST, name, threads, make, work)
    }

    fn start_on<State: Send + 'static>(
        host: Host,
        name: &'static str,
        threads: RadiosityThreads,
        make: impl FnOnce() -> State + Send + 'static,
        work: impl Fn(&mut State, Job) -> Done + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let (results, done) = channel();
        let jobs: Give<Job> = match host {
            Host::Thread => {
                let (jobs, wanted) = channel::<Job>();
                spawn(name, threads, move |pool| {
                    let mut state = pool.install(make);
                    for job in wanted {
                        if results.send(pool.install(|| work(&mut state, job))).is_err() {
                            return;
                        }
                    }
                })?;
                Box::new(move |job| jobs.send(job).is_ok())
            }
            Host::Caller => {
                let mut state = make();
                Box::new(move |job| results.send(work(&mut state, job)).is_ok())
            }
        };
        Ok(Self { jobs: Mutex::new(jobs), done: Mutex::new(done), is_busy: false, is_lost: false })
    }

    /// Returns true while a job is running.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Returns true when the thread has panicked.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Sends a job. Only one job may run at a time.
    pub fn give(&mut self, job: Job) {
        self.is_busy = self.jobs.get_mut().unwrap_or_else(PoisonError::into_inner)(job);
        self.is_lost |= !self.is_busy;
    }

    /// Returns the result of the job, or `None` if it is not done within the time.
    pub fn take(&mut self, within: Duration) -> Option<Done> {
        let done = self.done.get_mut().unwrap_or_else(PoisonError::into_inner);
        // A browser cannot wait, and has nothing to wait for.
        let received = match done.try_recv() {
            Err(TryRecvError::Empty) if HOST == Host::Thread => wait(done, within),
            Err(TryRecvError::Empty) => Err(RecvTimeoutError::Timeout),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            Ok(done) => Ok(done),
        };
        match received {
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

#[expect(clippy::disallowed_methods, reason = "no browser waits here")]
fn wait<Done>(done: &Receiver<Done>, within: Duration) -> Result<Done, RecvTimeoutError> {
    done.recv_timeout(within)
}

/// Starts a thread with a thread pool.
#[expect(clippy::disallowed_methods, reason = "no browser starts threads here")]
fn spawn(
    name: &'static str,
    threads: RadiosityThreads,
    work: impl FnOnce(&rayon::ThreadPool) + Send + 'static,
) -> Result<(), String> {
    // The new thread starts the pool, so that the caller, often the main thread, does not wait for it.
    let run = move || {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.count())
            .thread_name(move |index| format!("{name} {index}"));
        match pool.build() {
            Ok(pool) => work(&pool),
            Err(fault) => error!("{name}: {fault}"),
        }
    };
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    thread.map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: RadiosityThreads = RadiosityThreads { max: Some(2) };

    fn wait<T: Send + 'static>(task: &mut Task<T>) -> Result<T, Fault> {
        loop {
            if let Some(result) = task.poll() {
                return result;
            }
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_task_returns_its_result_once_and_runs_on_as_many_threads_as_allowed() {
        let (go, gate) = channel();
        let work = move || {
            gate.recv().unwrap();
            rayon::current_num_threads()
        };
        let mut task = Task::start("test", TWO, work).unwrap();
        assert_eq!(task.poll(), None, "it waits for the gate");
        go.send(()).unwrap();
        assert_eq!(wait(&mut task), Ok(2));
    }

    #[test]
    fn a_task_that_panics_is_a_fault() {
        let mut task = Task::start("test", TWO, || assert!(rayon::current_num_threads() > 2, "as it should")).unwrap();
        assert_eq!(wait(&mut task), Err(Fault));
    }

    #[test]
    fn a_worker_keeps_its_state_from_job_to_job() {
        let add = |sum: &mut u32, more: u32| {
            *sum += more;
            *sum
        };
        let mut worker = Worker::start("test", TWO, || 1, add).unwrap();
        let mut sums = [2, 3].map(|more| {
            worker.give(more);
            assert!(worker.is_busy());
            worker.take(Duration::from_secs(60))
        });
        assert_eq!(sums, [Some(3), Some(6)]);
        assert!(!worker.is_busy() && !worker.is_lost());
        sums = [worker.take(Duration::ZERO), None];
        assert_eq!(sums, [None, None]);
    }

    #[test]
    fn without_threads_a_job_is_done_when_it_has_been_given() {
        let caller = std::thread::current().id();
        let mut task = Task::start_on(Host::Caller, "test", TWO, || std::thread::current().id()).unwrap();
        assert_eq!(task.poll(), Some(Ok(caller)));
        let add = |sum: &mut u32, more: u32| {
            *sum += more;
            *sum
        };
        let mut worker = Worker::start_on(Host::Caller, "test", TWO, || 1, add).unwrap();
        let sums = [2, 3].map(|more| {
            worker.give(more);
            assert!(worker.is_busy());
            worker.take(Duration::ZERO)
        });
        assert_eq!(sums, [Some(3), Some(6)]);
        assert!(!worker.is_busy() && !worker.is_lost());
    }

    #[test]
    fn at_least_one_thread_works_and_one_core_is_left_to_the_game() {
        assert_eq!(RadiosityThreads { max: Some(0) }.count(), 1);
        assert_eq!(RadiosityThreads { max: Some(3) }.count(), 3);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(RadiosityThreads::default().count(), (cores - 1).max(1));
    }
}
