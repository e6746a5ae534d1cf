//! Processes that share work by files in a folder, without messages.
//!
//! Each work is divided into parts, one for each process. A process computes its own part and writes it as a file. Then it
//! reads the others, and computes those that are missing, in case no other process is at work. So any process finishes the
//! work, no process waits for another, and a process that starts again goes on where it was.

use std::cell::Cell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use super::{DecodeError, Decoder, Encoder, Receive, Task, Team, TeamError, split_equally};
use crate::clock::{self, Instant};
use crate::input;
use crate::output::write_unsynced;
use crate::progress::{Cancelled, Monitor, Part};

const MAGIC: &[u8; 8] = b"RADPART1";

/// Largest part that is read, in bytes. A part has some 200 bytes for each texel of its range.
const MAX_BYTES: u64 = 2 << 30;

/// Pause between two looks for a file that another process may write.
const PAUSE: Duration = Duration::from_millis(20);

/// Process that shares work with others by files in a folder.
pub struct FolderTeam {
    folders: Vec<PathBuf>,
    inputs: [u8; 32],
    parts: u32,
    /// Own part from zero; `None` for a process that only reads.
    own: Option<u32>,
    /// Number of works so far.
    works: Cell<u32>,
}

impl FolderTeam {
    /// Creates the process with part `own` of `parts`, from zero, which writes into a folder. `inputs` is a digest of all
    /// that the results depend on.
    pub fn new(folder: &Path, inputs: [u8; 32], own: u32, parts: u32) -> Self {
        Self { folders: vec![folder.into()], inputs, parts, own: Some(own), works: Cell::new(0) }
    }

    /// Creates a process that reads all parts from folders, and computes none.
    pub fn reader(folders: Vec<PathBuf>, inputs: [u8; 32], parts: u32) -> Self {
        Self { folders, inputs, parts, own: None, works: Cell::new(0) }
    }

    /// Returns the name of a part's file.
    fn name(&self, work: u32, part: u32) -> String {
        format!("step_{work:05}_part_{}_of_{}.bin", part + 1, self.parts)
    }

    /// Reads a part, if it is in a folder.
    fn read(&self, name: &str) -> Result<Option<Vec<u8>>, TeamError> {
        for folder in &self.folders {
            let path = folder.join(name);
            match input::read(&path, MAX_BYTES) {
                Ok(bytes) => return self.decode(&path, &bytes).map(Some),
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
                Err(fault) => return Err(TeamError::Failed(format!("cannot read {}: {fault}", path.display()))),
            }
        }
        Ok(None)
    }

    fn decode(&self, path: &Path, bytes: &[u8]) -> Result<Vec<u8>, TeamError> {
        let refuse = |why: &str| TeamError::Failed(format!("{} is {why}", path.display()));
        let content =
            bytes.strip_prefix(MAGIC).ok_or_else(|| refuse("no part of a bake: move it out of the folder"))?;
        let damaged = || refuse("damaged: remove it, and run its shard again");
        let (digest, content) = content.split_first_chunk::<32>().ok_or_else(damaged)?;
        if blake3::hash(content) != *digest {
            return Err(damaged());
        }
        let mut content = Decoder::new(content);
        if content.value::<[u8; 32]>().map_err(|DecodeError| damaged())? != self.inputs {
            return Err(refuse("a part of another bake: give each bake a folder of its own"));
        }
        content.slice().map_err(|DecodeError| damaged())
    }

    /// Computes a part and writes it. Returns `None` if another process has written it meanwhile.
    fn compute_part(
        &self,
        task: &dyn Task,
        units: Range<u32>,
        name: &str,
        monitor: &dyn Monitor,
    ) -> Result<Option<Vec<u8>>, TeamError> {
        let path = self.folders[0].join(name);
        let bytes = match task.compute(units, &UntilWritten::new(&path, monitor)) {
            Ok(bytes) => bytes,
            Err(Cancelled) => return monitor.check().map(|()| None).map_err(TeamError::from),
        };
        let content = Encoder::new().value(self.inputs).slice(&bytes).finish();
        let file = [MAGIC, &blake3::hash(&content).as_bytes()[..], &content].concat();
        write_unsynced(&path, &file).map_err(|fault| TeamError::Failed(fault.to_string()))?;
        Ok(Some(bytes))
    }
}

impl Team for FolderTeam {
    /// Smaller works take less time than reading and writing files.
    fn min_rays(&self) -> u64 {
        1 << 17
    }

    fn share(&self, task: &dyn Task, receive: &mut Receive, monitor: &dyn Monitor) -> Result<(), TeamError> {
        let work = self.works.replace(self.works.get() + 1);
        let ranges = split_equally(task.units(), self.parts);
        let first = self.own.unwrap_or_default();
        let mut left: Vec<u32> = (first..self.parts).chain(0..first).collect();
        left.retain(|&part| !ranges[part as usize].is_empty());
        let all = left.len();
        while !left.is_empty() {
            let mut missing = Vec::new();
            for part in left {
                match self.read(&self.name(work, part))? {
                    Some(bytes) => receive(ranges[part as usize].clone(), bytes)?,
                    None => missing.push(part),
                }
            }
            left = missing;
            let done = 1.0 - left.len() as f32 / all as f32;
            monitor.progress(done);
            let Some(&part) = left.first() else { break };
            let (name, parts) = (self.name(work, part), self.parts);
            if self.own.is_none() {
                let part = part + 1;
                return Err(TeamError::Failed(format!(
                    "part {part} of {parts} is missing in step {work} ({name}): run --shard {part}/{parts} again"
                )));
            }
            let monitor = Part { monitor, from: done, to: done + 1.0 / all as f32 };
            let range = ranges[part as usize].clone();
            if let Some(bytes) = self.compute_part(task, range.clone(), &name, &monitor)? {
                receive(range, bytes)?;
                left.remove(0);
            }
        }
        Ok(())
    }
}

/// Monitor that also ends work once a file is there.
struct UntilWritten<'a> {
    path: &'a Path,
    monitor: &'a dyn Monitor,
    next_look: Mutex<Instant>,
    is_there: AtomicBool,
}

impl<'a> UntilWritten<'a> {
    fn new(path: &'a Path, monitor: &'a dyn Monitor) -> Self {
        Self { path, monitor, next_look: Mutex::new(clock::now() + PAUSE), is_there: AtomicBool::new(false) }
    }
}

impl Monitor for UntilWritten<'_> {
    fn progress(&self, fraction: f32) {
        self.monitor.progress(fraction);
    }

    fn is_cancelled(&self) -> bool {
        if let Ok(mut next_look) = self.next_look.try_lock()
            && clock::now() >= *next_look
        {
            *next_look = clock::now() + PAUSE;
            self.is_there.fetch_or(fs::exists(self.path).unwrap_or(false), Ordering::Relaxed);
        }
        self.is_there.load(Ordering::Relaxed) || self.monitor.is_cancelled()
    }
}
