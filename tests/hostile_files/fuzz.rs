//! Runs a reader on damaged files, within limits of time and memory.

use std::cell::Cell;
use std::path::Path;
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::allocator::max_held;
use crate::damage::{Case, Make, cases};

/// Longest time for reading a file, on any machine. Time of other programs does not count.
const LONGEST: Duration = Duration::from_secs(5);
/// Time after which a reader counts as hanging.
const HANGS: Duration = Duration::from_secs(120);
pub const MIB: usize = 1 << 20;

/// Files of one kind, and the limits of their reader.
pub struct Reader<'a> {
    pub name: &'a str,
    pub make: Make,
    /// Small undamaged files.
    pub corpus: Vec<Vec<u8>>,
    /// Function that corrects the digests of a damaged file, so that the damage behind them is reached.
    pub mend: Option<fn(&mut Vec<u8>)>,
    /// Bytes of memory that reading one file may take.
    pub max_memory: usize,
    /// Number of files to read by default, for about half a second.
    pub count: u32,
}

/// Waits until no other test runs, because memory is counted for the whole process.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reader<'_> {
    /// Reads damaged files. `read` returns true for accepted files, and panics if an accepted file has invalid content.
    pub fn run(&self, read: impl Fn(&[u8]) -> bool) {
        let Self { name, corpus, max_memory, .. } = self;
        for (number, file) in corpus.iter().enumerate() {
            assert!(read(file), "{name}: whole file {number} is refused");
        }
        let (count, seed) = asked().unwrap_or((self.count, 0));
        let mut runner = runner(count, seed);
        let started = Instant::now();
        let (accepted, slowest, largest) = (Cell::new(0), Cell::new(Duration::ZERO), Cell::new(0));
        let watch = Watch::new(name);
        let outcome = runner.run(&cases(), |case| {
            let file = self.file_of(&case);
            watch.begin(&file);
            let (begun, begun_in_process) = (Instant::now(), time_of_process());
            let (is_accepted, held) = max_held(|| read(&file));
            let in_process = time_of_process().zip(begun_in_process).map(|(now, begun)| now.saturating_sub(begun));
            let took = in_process.map_or(begun.elapsed(), |in_process| in_process.min(begun.elapsed()));
            watch.end();
            accepted.set(accepted.get() + u32::from(is_accepted));
            slowest.set(slowest.get().max(took));
            largest.set(largest.get().max(held));
            let fail = |reason: String| Err(TestCaseError::fail(reason));
            match () {
                () if took > LONGEST => fail(format!("it took {took:?}")),
                () if held > *max_memory => fail(format!("it took {held} bytes of memory")),
                () => Ok(()),
            }
        });
        println!(
            "| {name} | {count} | {} | {:.0} s | {:.0} ms | {:.1} MiB |",
            accepted.get(),
            started.elapsed().as_secs_f32(),
            slowest.get().as_secs_f32() * 1e3,
            largest.get() as f32 / MIB as f32,
        );
        match outcome {
            Ok(()) => {}
            Err(TestError::Fail(reason, case)) => {
                panic!("{name}: {reason}\n{case:?}\n{}", kept(name, &self.file_of(&case)))
            }
            Err(TestError::Abort(reason)) => panic!("{name}: {reason}"),
        }
    }

    fn file_of(&self, case: &Case) -> Vec<u8> {
        let mut file = case.file_of(&self.corpus, self.make);
        if let Some(mend) = self.mend.filter(|_| case.is_mended) {
            mend(&mut file);
        }
        file
    }
}

/// Returns the requested number of files, and the seed.
pub fn asked() -> Option<(u32, u64)> {
    let text = std::env::var("RADIOSITY_FUZZ").ok()?;
    let (count, seed) = text.split_once(',').unwrap_or((&text, "0"));
    Some((count.parse().expect("a number of files"), seed.parse().expect("a seed")))
}

/// Returns a runner whose cases depend only on the seed.
pub fn runner(count: u32, seed: u64) -> TestRunner {
    let config = Config { cases: count, failure_persistence: None, ..Config::default() };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// Returns the processor time that all threads of this process took, where the system counts it.
fn time_of_process() -> Option<Duration> {
    #[cfg(unix)]
    {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is valid for writes.
        let code = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
        (code == 0).then(|| Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32))
    }
    #[cfg(not(unix))]
    None
}

/// Saves a file for debugging, and returns a text with its path.
fn kept(name: &str, file: &[u8]) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.bin", name.replace(' ', "_")));
    let written = std::fs::write(&path, file);
    format!("the file is {} ({written:?})", path.display())
}

/// Start of a reader, and its file.
type Begun = (Instant, Vec<u8>);

/// Watchdog that ends the process if a reader hangs.
struct Watch {
    reading: Arc<Mutex<Option<Begun>>>,
    is_over: Arc<AtomicBool>,
}

impl Watch {
    fn new(name: &str) -> Self {
        let watch = Self { reading: Arc::default(), is_over: Arc::default() };
        let (name, reading, is_over) = (name.to_owned(), watch.reading.clone(), watch.is_over.clone());
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_secs(1));
                if let Some((since, file)) = &*reading.lock().unwrap_or_else(PoisonError::into_inner)
                    && since.elapsed() > HANGS
                {
                    eprintln!("{name}: a file takes longer than {HANGS:?}; {}", kept(&name, file));
                    exit(1);
                }
            }
        });
        watch
    }

    fn begin(&self, file: &[u8]) {
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), file.to_vec()));
    }

    fn end(&self) {
        *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
