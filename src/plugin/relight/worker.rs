//! A thread that never holds up a frame.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use glam::Vec3;
use rayon::prelude::*;

use crate::lightmap::files::rgb9e5;
use crate::plugin::write_back::{PageFormat, half_floats};
use crate::relight::{Level, LiveLight, LivePanel, Relighter, Update, UpdateSettings};

/// Texels that a thread packs at a time.
const TEXELS: usize = 4096;

/// What to do next.
pub struct Job {
    /// Lights and panels, where they may have changed.
    pub lights: Option<(Vec<LiveLight>, Vec<LivePanel>)>,
    pub settings: UpdateSettings,
    pub is_enabled: bool,
}

/// What has been done.
pub struct Done {
    pub update: Update,
    /// Pages that look different, as their images hold them.
    pub pages: Vec<(usize, Vec<u8>)>,
    /// See [`Relighter::moved`].
    pub moved: Vec<u64>,
    pub warnings: Vec<String>,
    pub time: Duration,
}

/// Relights on a thread of its own, with threads that leave the game a core.
pub struct Worker {
    jobs: Sender<Job>,
    done: Mutex<Receiver<Done>>,
    is_busy: bool,
    is_lost: bool,
}

impl Worker {
    /// Starts the thread, which first prepares the level.
    pub fn start(level: Level, format: PageFormat) -> Result<Self, String> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(cores.saturating_sub(1).max(1))
            .thread_name(|index| format!("relight {index}"))
            .build()
            .map_err(|error| error.to_string())?;
        let (jobs, wanted) = channel::<Job>();
        let (results, done) = channel();
        let work = move || {
            let mut relighter = pool.install(|| Relighter::new(level));
            for job in wanted {
                if results.send(pool.install(|| work(&mut relighter, job, format))).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("relight".to_owned()).spawn(work);
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

fn work(relighter: &mut Relighter, job: Job, format: PageFormat) -> Done {
    let started = Instant::now();
    let Job { lights, settings, is_enabled } = job;
    relighter.set_enabled(is_enabled);
    let warnings = lights.map(|(lights, panels)| relighter.set_lights(&lights, &panels)).unwrap_or_default();
    let update = relighter.update(&settings);
    let pages = update.pages.iter().map(|&page| (page, packed(relighter.page(page), format))).collect();
    Done { pages, moved: relighter.moved(), warnings, time: started.elapsed(), update }
}

fn packed(texels: &[Vec3], format: PageFormat) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = texels
        .par_chunks(TEXELS)
        .map(|texels| match format {
            PageFormat::HalfFloat => half_floats(texels),
            PageFormat::SharedExponent => {
                texels.iter().flat_map(|texel| rgb9e5::encode(*texel).to_le_bytes()).collect()
            }
        })
        .collect();
    parts.concat()
}
