//! Background work. This is the only file of the plugin that starts threads.
//!
//! A [`Task`] does one job, a [`Worker`] one after the other. Each has its own thread, and a thread pool for parallel
//! loops. [`RadiosityThreads`] limits the pools.
//!
//! A browser has no threads. There a job runs on the main thread, in slices: each poll runs parts of it until the
//! slice's time is over. A job calls [`WorkClock::pause`] or [`pause`] between its parts, so that no part holds up the page.

use core::pin::Pin;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bevy::prelude::*;

use crate::clock::{self, Instant};
use crate::parts::{self, IS_ALONE, finish, pause};

/// Time of one slice of a job, where jobs run on the main thread. A part that has begun is finished after that.
const SLICE: Duration = Duration::from_millis(12);

/// Part of the time since the last slice that a slice may last, where that is longer: frames may take seconds.
const SHARE: u32 = 4;

/// Longest time of a part that goes without mention in the log.
const LONGEST_PART: Duration = Duration::from_millis(30);

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
const HOST: Host = if IS_ALONE { Host::Caller } else { Host::Thread };

/// Job that its caller runs, part by part.
struct Parts<T> {
    name: &'static str,
    work: Pin<Box<dyn Future<Output = T> + Send>>,
    /// End of the last slice.
    rested: Instant,
}

impl<T> Parts<T> {
    fn new(name: &'static str, work: impl Future<Output = T> + Send + 'static) -> Self {
        Self { name, work: Box::pin(work), rested: clock::now() }
    }

    /// Runs parts until `is_over` returns a result, or the slice is over.
    fn slice<R>(&mut self, mut is_over: impl FnMut(Option<T>) -> Option<R>) -> Option<R> {
        let length = SLICE.max(self.rested.elapsed() / SHARE);
        let began = clock::now();
        let result = loop {
            let result = is_over(self.advance());
            if result.is_some() || began.elapsed() >= length {
                break result;
            }
        };
        self.rested = clock::now();
        result
    }

    /// Runs the next part. Returns the result of the last one.
    fn advance(&mut self) -> Option<T> {
        let began = clock::now();
        let done = parts::advance(self.work.as_mut());
        let time = began.elapsed();
        if time > LONGEST_PART {
            debug!("{}: a part of it held up the page for {} ms", self.name, time.as_millis());
        }
        done
    }
}

/// Clock of a job that leaves out its pauses.
#[derive(Clone, Copy, Debug)]
pub struct WorkClock {
    started: Instant,
    paused: Duration,
}

impl WorkClock {
    pub fn start() -> Self {
        Self { started: clock::now(), paused: Duration::ZERO }
    }

    /// Returns the time of work so far.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.paused)
    }

    /// Ends a part of the job.
    pub async fn pause(&mut self) {
        let began = clock::now();
        pause().await;
        self.paused += began.elapsed();
    }
}

/// Job in the background. On a thread, it goes on until its end if it is dropped.
pub struct Task<T>(Mutex<Run<T>>);

enum Run<T> {
    Thread(Receiver<T>),
    Caller(Parts<T>),
    /// The result has been taken.
    Over,
}

impl<T: Send + 'static> Task<T> {
    /// Starts the job.
    ///
    /// # Errors
    ///
    /// Returns the system's reason if it has no threads.
    pub fn start<F: Future<Output = T> + Send + 'static>(
        name: &'static str,
        threads: RadiosityThreads,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> Result<Self, String> {
        Self::start_on(HOST, name, threads, work)
    }

    fn start_on<F: Future<Output = T> + Send + 'static>(
        host: Host,
        name: &'static str,
        threads: RadiosityThreads,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> Result<Self, String> {
        let run = match host {
            Host::Thread => {
                let (result, done) = channel();
                // Nobody waits for the result of a dropped task.
                spawn(name, threads, move |pool| _ = result.send(pool.install(|| finish(work()))))?;
                Run::Thread(done)
            }
            Host::Caller => Run::Caller(Parts::new(name, work())),
        };
        Ok(Self(Mutex::new(run)))
    }

    /// Returns the result once the job has ended, and `None` before.
    pub fn poll(&mut self) -> Option<Result<T, Fault>> {
        let run = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let result = match run {
            Run::Thread(done) => match done.try_recv() {
                Ok(result) => Ok(result),
                Err(TryRecvError::Empty) => return None,
                Err(TryRecvError::Disconnected) => Err(Fault),
            },
            Run::Caller(parts) => Ok(parts.slice(|done| done)?),
            Run::Over => Err(Fault),
        };
        *run = Run::Over;
        Some(result)
    }
}

/// Thread for jobs that share a state, one job at a time. It ends when the worker is dropped.
pub struct Worker<Job, Done> {
    jobs: Sender<Job>,
    done: Mutex<Receiver<Done>>,
    /// The jobs, where the caller runs them.
    parts: Option<Mutex<Parts<()>>>,
    is_busy: bool,
    is_lost: bool,
}

impl<Job: Send + 'static, Done: Send + 'static> Worker<Job, Done> {
    /// Starts the thread. It first calls `make` for its state. Each job takes the state, and returns it.
    ///
    /// # Errors
    ///
    /// Returns the system's reason if it has no threads.
    pub fn start<State: Send + 'static, Making, Working>(
        name: &'static str,
        threads: RadiosityThreads,
        make: impl FnOnce() -> Making + Send + 'static,
        work: impl Fn(State, Job) -> Working + Send + Sync + 'static,
    ) -> Result<Self, String>
    where
        Making: Future<Output = State> + Send + 'static,
        Working: Future<Output = (State, Done)> + Send + 'static,
    {
        Self::start_on(HOST, name, threads, make, work)
    }

    fn start_on<State: Send + 'static, Making, Working>(
        host: Host,
        name: &'static str,
        threads: RadiosityThreads,
        make: impl FnOnce() -> Making + Send + 'static,
        work: impl Fn(State, Job) -> Working + Send + Sync + 'static,
    ) -> Result<Self, String>
    where
        Making: Future<Output = State> + Send + 'static,
        Working: Future<Output = (State, Done)> + Send + 'static,
    {
        let (jobs, wanted) = channel::<Job>();
        let (results, done) = channel();
        let parts = match host {
            Host::Thread => {
                spawn(name, threads, move |pool| {
                    let mut state = pool.install(|| finish(make()));
                    for job in wanted {
                        let (next, done) = pool.install(|| finish(work(state, job)));
                        state = next;
                        if results.send(done).is_err() {
                            return;
                        }
                    }
                })?;
                None
            }
            Host::Caller => {
                let work = async move {
                    let mut state = make().await;
                    loop {
                        let job = wanted.try_recv();
                        match job {
                            Ok(job) => {
                                let (next, done) = work(state, job).await;
                                state = next;
                                if results.send(done).is_err() {
                                    return;
                                }
                            }
                            Err(TryRecvError::Empty) => {}
                            Err(TryRecvError::Disconnected) => return,
                        }
                        pause().await;
                    }
                };
                Some(Mutex::new(Parts::new(name, work)))
            }
        };
        Ok(Self { jobs, done: Mutex::new(done), parts, is_busy: false, is_lost: false })
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
        self.is_busy = !self.is_lost && self.jobs.send(job).is_ok();
        self.is_lost |= !self.is_busy;
    }

    /// Returns the result of the job, or `None` if it is not done within the time. A job without a thread runs for a slice
    /// instead.
    pub fn take(&mut self, within: Duration) -> Option<Done> {
        let done = self.done.get_mut().unwrap_or_else(PoisonError::into_inner);
        let parts = self.parts.as_mut().map(|parts| parts.get_mut().unwrap_or_else(PoisonError::into_inner));
        let received = match parts {
            None => wait(done, within),
            // The parts never end before the worker.
            Some(parts) => parts
                .slice(|ended| match ended {
                    Some(()) => Some(Err(RecvTimeoutError::Disconnected)),
                    None => done.try_recv().ok().map(Ok),
                })
                .unwrap_or(Err(RecvTimeoutError::Timeout)),
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
        let work = move || async move {
            gate.recv().unwrap();
            rayon::current_num_threads()
        };
        let mut task = Task::start("test", TWO, work).unwrap();
        assert_eq!(task.poll(), None, "it waits for the gate");
        go.send(()).unwrap();
        assert_eq!(wait(&mut task), Ok(2));
        assert_eq!(task.poll(), Some(Err(Fault)));
    }

    #[test]
    fn a_task_that_panics_is_a_fault() {
        let work = || async { assert!(rayon::current_num_threads() > 2, "as it should") };
        assert_eq!(wait(&mut Task::start("test", TWO, work).unwrap()), Err(Fault));
    }

    /// Adds to a sum, in two parts.
    async fn add(sum: u32, more: u32) -> (u32, u32) {
        pause().await;
        (sum + more, sum + more)
    }

    #[test]
    fn a_worker_keeps_its_state_from_job_to_job_with_and_without_a_thread() {
        for host in [Host::Thread, Host::Caller] {
            let mut worker = Worker::start_on(host, "test", TWO, || async { 1 }, add).unwrap();
            let mut sums = [2, 3].map(|more| {
                worker.give(more);
                assert!(worker.is_busy());
                worker.take(Duration::from_secs(60))
            });
            assert_eq!(sums, [Some(3), Some(6)], "{host:?}");
            assert!(!worker.is_busy() && !worker.is_lost());
            sums = [worker.take(Duration::ZERO), None];
            assert_eq!(sums, [None, None], "{host:?}");
        }
    }

    /// Keeps the processor busy.
    fn work_for(time: Duration) {
        let began = clock::now();
        while began.elapsed() < time {}
    }

    #[test]
    fn without_threads_a_poll_runs_parts_of_a_task_until_its_slice_is_over() {
        let caller = std::thread::current().id();
        let parts = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&parts);
        let work = move || async move {
            for _ in 0..5 {
                // Two parts do not fit into a slice.
                work_for(SLICE * 2 / 3);
                count.fetch_add(1, Ordering::Relaxed);
                pause().await;
            }
            std::thread::current().id()
        };
        let mut task = Task::start_on(Host::Caller, "test", TWO, work).unwrap();
        assert_eq!(parts.load(Ordering::Relaxed), 0, "the start does nothing");
        let mut seen = Vec::new();
        let id = loop {
            let before = parts.load(Ordering::Relaxed);
            let ended = task.poll();
            seen.push(parts.load(Ordering::Relaxed) - before);
            if let Some(id) = ended {
                break id;
            }
        };
        assert_eq!(id, Ok(caller));
        assert!(seen.len() >= 3 && seen.iter().all(|parts| *parts <= 2), "{seen:?}");
    }

    #[test]
    fn pauses_are_no_work() {
        let mut clock = WorkClock::start();
        let mut work = core::pin::pin!(async {
            clock.pause().await;
            clock.elapsed()
        });
        assert_eq!(parts::advance(work.as_mut()), None);
        work_for(Duration::from_millis(100));
        let worked = parts::advance(work.as_mut());
        assert!(worked.is_some_and(|time| time < Duration::from_millis(100)), "{worked:?}");
    }

    #[test]
    fn at_least_one_thread_works_and_one_core_is_left_to_the_game() {
        assert_eq!(RadiosityThreads { max: Some(0) }.count(), 1);
        assert_eq!(RadiosityThreads { max: Some(3) }.count(), 3);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(RadiosityThreads::default().count(), (cores - 1).max(1));
    }
}
