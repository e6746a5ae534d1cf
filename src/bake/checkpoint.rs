//! What survives a killed bake: the solver's partial sums, in the output folder.
//!
//! A checkpoint is written to a temporary file, synced, and renamed over the last one, which is kept as a second
//! generation. Whatever moment a bake dies at, one whole generation remains.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::BakeSettings;
use crate::input::{self, open_regular};
use crate::output::{InTheWay, Overwrite, sync_folder, write_temporary};
use crate::scene;

const MAGIC: &[u8; 8] = b"RADBAKE1";
const HEADER_BYTES: usize = 8 + 32 + 32;
/// Where the payload's digest stands.
const DIGEST_START: u64 = 8 + 32;

/// A digest of all that a bake's bytes depend on: the scene, the settings, the version of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsHash([u8; 32]);

impl InputsHash {
    /// Digests a bake's inputs: the scene's content hash and the settings. Settings that only say when to stop looking
    /// at the clock do not count.
    pub fn new(scene: scene::Hash, settings: &BakeSettings) -> Self {
        let mut settings = *settings;
        settings.solver.time_seconds = None;
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
        // Debug text tells every number exactly, and nothing but this build reads the digest.
        hasher.update(format!("{settings:?}").as_bytes());
        hasher.update(&scene.0);
        Self(*hasher.finalize().as_bytes())
    }
}

/// Why a checkpoint cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// It could not be written or read.
    #[error("cannot use the checkpoint {}: {source}; make room, or bake without --resume", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It belongs to another bake.
    #[error(
        "the checkpoint {} is of another scene or other settings; give the same ones again, or bake without --resume",
        path.display()
    )]
    OtherInputs {
        /// The file.
        path: PathBuf,
    },
    /// Neither generation is whole.
    #[error("the checkpoint {} is damaged; bake without --resume", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// The checkpoint of one output folder, in two generations.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    newest: PathBuf,
    previous: PathBuf,
}

impl Checkpoints {
    /// The checkpoints in a folder, whether there are any or not.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            newest: folder.join("checkpoint.bin"),
            previous: folder.join("checkpoint.previous.bin"),
        }
    }

    /// Whether new ones may take the place of what is there.
    ///
    /// # Errors
    /// Names the file that is no checkpoint, or a damaged one.
    pub(super) fn check_place(&self, overwrite: Overwrite) -> Result<(), InTheWay> {
        let generations = [&self.newest, &self.previous];
        // Where one generation is whole, the other may be damaged: it is one, too.
        let has_whole = generations.iter().any(|path| is_checkpoint(path).is_ok_and(|is_whole| is_whole));
        let is_own = |path: &Path| has_whole && is_checkpoint(path).is_ok();
        generations.into_iter().try_for_each(|path| InTheWay::check(path, overwrite, is_own))
    }

    /// True when there is something to resume from.
    pub fn exist(&self) -> bool {
        self.newest.exists() || self.previous.exists()
    }

    /// Keeps what `payload` writes as the newest generation.
    ///
    /// # Errors
    /// When the folder cannot be written; the older generations are still there then.
    pub fn save(
        &self,
        inputs: InputsHash,
        payload: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointError> {
        self.write(inputs, payload).map_err(|source| CheckpointError::Io { path: self.newest.clone(), source })
    }

    fn write(&self, inputs: InputsHash, payload: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let temporary = write_temporary(&self.folder, |file| {
            file.write_all(MAGIC)?;
            file.write_all(&inputs.0)?;
            file.write_all(&[0; 32])?;
            let mut digested = Digested { out: file, hasher: blake3::Hasher::new() };
            payload(&mut digested)?;
            let digest = digested.hasher.finalize();
            file.seek(SeekFrom::Start(DIGEST_START))?;
            file.write_all(digest.as_bytes())
        })?;
        if self.newest.exists() {
            fs::rename(&self.newest, &self.previous)?;
        }
        temporary.persist(&self.newest)?;
        sync_folder(&self.folder)
    }

    /// The newest whole payload; `None` when there is no checkpoint.
    ///
    /// # Errors
    /// When there is one but it is of another bake, damaged, or cannot be read.
    pub fn load(&self, inputs: InputsHash) -> Result<Option<Vec<u8>>, CheckpointError> {
        let mut refusal = None;
        for path in [&self.newest, &self.previous] {
            match read(path, inputs) {
                Ok(payload) => return Ok(Some(payload)),
                Err(CheckpointError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(None), Err)
    }

    /// Removes all generations: the bake is done, or starts anew.
    ///
    /// # Errors
    /// When a file is there and cannot be removed.
    pub fn remove(&self) -> Result<(), CheckpointError> {
        for path in [&self.newest, &self.previous] {
            match fs::remove_file(path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(CheckpointError::Io { path: path.clone(), source });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn read(path: &Path, inputs: InputsHash) -> Result<Vec<u8>, CheckpointError> {
    let mut bytes =
        input::read(path, u64::MAX).map_err(|source| CheckpointError::Io { path: path.to_owned(), source })?;
    if bytes.len() < HEADER_BYTES || bytes[..8] != *MAGIC {
        return Err(CheckpointError::Damaged { path: path.to_owned() });
    }
    let payload = bytes.split_off(HEADER_BYTES);
    if bytes[40..] != *blake3::hash(&payload).as_bytes() {
        return Err(CheckpointError::Damaged { path: path.to_owned() });
    }
    if bytes[8..40] != inputs.0 {
        return Err(CheckpointError::OtherInputs { path: path.to_owned() });
    }
    Ok(payload)
}

/// Digests what passes through.
struct Digested<'a> {
    out: &'a mut File,
    hasher: blake3::Hasher,
}

impl Write for Digested<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Whether the digest of a checkpoint, of whatever bake, fits its payload; an error for any other file.
fn is_checkpoint(path: &Path) -> io::Result<bool> {
    let mut file = open_regular(path)?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header)?;
    if header[..8] != *MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut file, &mut hasher)?;
    Ok(header[DIGEST_START as usize..] == *hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: scene::Hash = scene::Hash([1; 32]);
    const INPUTS: InputsHash = InputsHash([7; 32]);

    fn save(checkpoints: &Checkpoints, payload: &[u8]) {
        checkpoints.save(INPUTS, |out| out.write_all(payload)).unwrap();
    }

    #[test]
    fn the_newest_checkpoint_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        assert_eq!(checkpoints.load(INPUTS).unwrap(), None);
        save(&checkpoints, b"first");
        save(&checkpoints, b"second");
        assert_eq!(checkpoints.load(INPUTS).unwrap().as_deref(), Some(b"second".as_slice()));
        checkpoints.remove().unwrap();
        assert!(!checkpoints.exist());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_torn_newest_generation_gives_way_to_the_one_before() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        save(&checkpoints, b"first");
        save(&checkpoints, b"second");
        let whole = fs::read(&checkpoints.newest).unwrap();
        fs::write(&checkpoints.newest, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(checkpoints.load(INPUTS).unwrap().as_deref(), Some(b"first".as_slice()));
        fs::remove_file(&checkpoints.newest).unwrap();
        assert_eq!(checkpoints.load(INPUTS).unwrap().as_deref(), Some(b"first".as_slice()));
    }

    #[test]
    fn a_checkpoint_of_other_inputs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        save(&checkpoints, b"sums");
        let refusal = checkpoints.load(InputsHash([8; 32])).unwrap_err();
        assert!(matches!(refusal, CheckpointError::OtherInputs { .. }), "{refusal}");
    }

    #[test]
    fn all_but_the_time_limit_tells_one_bake_from_another() {
        let settings = BakeSettings::default();
        let inputs = InputsHash::new(SCENE, &settings);
        let mut longer = settings;
        longer.solver.time_seconds = Some(60.0);
        assert_eq!(InputsHash::new(SCENE, &longer), inputs);
        let mut other = settings;
        other.solver.seed = 1;
        assert_ne!(InputsHash::new(SCENE, &other), inputs);
        assert_ne!(InputsHash::new(scene::Hash([2; 32]), &settings), inputs);
    }

    #[test]
    fn damage_is_said_and_never_believed() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        save(&checkpoints, b"sums");
        for content in [b"".as_slice(), b"RADBAKE1", &[0; 100]] {
            fs::write(&checkpoints.newest, content).unwrap();
            assert!(matches!(checkpoints.load(INPUTS), Err(CheckpointError::Damaged { .. })));
        }
    }

    #[test]
    fn only_whole_checkpoints_make_way() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        let check = || checkpoints.check_place(Overwrite::Own);
        check().unwrap();
        save(&checkpoints, b"first");
        save(&checkpoints, b"second");
        check().unwrap();
        fs::write(&checkpoints.previous, "three years of work").unwrap();
        let refusal = check().unwrap_err().to_string();
        assert!(refusal.contains("checkpoint.previous.bin") && refusal.contains("--force"), "{refusal}");
        checkpoints.check_place(Overwrite::All).unwrap();
    }

    #[test]
    fn a_damaged_checkpoint_makes_way_beside_a_whole_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        save(&checkpoints, b"first");
        save(&checkpoints, b"second");
        let mut bytes = fs::read(&checkpoints.newest).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&checkpoints.newest, bytes).unwrap();
        checkpoints.check_place(Overwrite::Own).unwrap();
        fs::remove_file(&checkpoints.previous).unwrap();
        assert!(checkpoints.check_place(Overwrite::Own).is_err());
    }
}
