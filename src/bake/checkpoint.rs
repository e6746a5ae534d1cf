//! Checkpoints of a bake in its folder, and of a picture beside it, so that killed work can go on.
//!
//! A checkpoint holds the solver's state, or the film. It is written to a temporary file, synced, and renamed over the
//! last one. The checkpoint before is kept as a second generation, so that one complete generation survives a crash at
//! any moment.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::BakeSettings;
use crate::DeviceChoice;
use crate::input::open_regular;
use crate::output::{InTheWay, Overwrite, Patience, WriteError, rename, sync_folder, write_temporary};
use crate::pathtrace::{PictureInputs, Tile};
use crate::scene;

const MAGIC: &[u8; 8] = b"RADBAKE1";
const HEADER_BYTES: usize = 8 + 32 + 32;
/// Offset of the payload's digest in the file, bytes.
const DIGEST_START: u64 = 8 + 32;

/// Endings of the names of a picture's checkpoints, of both generations.
const PICTURE_ENDINGS: [&str; 2] = [".checkpoint.bin", ".checkpoint.previous.bin"];

/// Digest of all that the bytes of a bake or a picture depend on: scene, settings, and version of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsHash([u8; 32]);

impl InputsHash {
    /// Returns the bytes of the hash.
    pub fn bytes(self) -> [u8; 32] {
        self.0
    }

    /// Digests a bake's inputs: the scene's content hash and the settings. The time limit and the device do not count.
    pub fn new(scene: scene::Hash, settings: &BakeSettings) -> Self {
        let mut settings = *settings;
        settings.solver.time_limit = None;
        settings.device = DeviceChoice::default();
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes());
        // The debug text of a float is exact, and only the same build reads the digest.
        hasher.update(format!("{settings:?}").as_bytes());
        hasher.update(&scene.0);
        Self(*hasher.finalize().as_bytes())
    }

    /// Digests the inputs of a tile of a picture.
    pub fn of_picture(inputs: &PictureInputs, tile: Tile) -> Self {
        let text = format!("{} {inputs:?} {tile:?}", env!("CARGO_PKG_VERSION"));
        Self(*blake3::hash(text.as_bytes()).as_bytes())
    }
}

/// Error of a checkpoint that cannot be written, read, or used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The checkpoint cannot be written or removed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The checkpoint cannot be read.
    #[error("cannot read the checkpoint {}: {source}; start anew without --resume", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The checkpoint belongs to another bake or picture.
    #[error(
        "the checkpoint {} is of another scene or other settings; give the same ones again, or start anew without --resume",
        path.display()
    )]
    OtherInputs {
        /// The file.
        path: PathBuf,
    },
    /// The checkpoint does not fit into memory.
    #[error(
        "the checkpoint {} is larger than the {allowed_mib} MiB of memory that may be used; go on where there is more, or \
         start anew without --resume",
        path.display()
    )]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The memory that may be used, MiB.
        allowed_mib: u64,
    },
    /// Neither generation is complete.
    #[error("the checkpoint {} is damaged; remove it and start anew without --resume", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// Checkpoints of one output folder or one picture, in two generations.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    newest: PathBuf,
    previous: PathBuf,
}

impl Checkpoints {
    /// Returns the checkpoints of a folder, which need not have any.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            newest: folder.join("checkpoint.bin"),
            previous: folder.join("checkpoint.previous.bin"),
        }
    }

    /// Returns the checkpoints of a picture or a part of it at a path, which need not have any.
    pub fn beside(picture: &Path) -> Self {
        let folder = picture.parent().unwrap_or(Path::new("")).to_owned();
        let [newest, previous] = PICTURE_ENDINGS.map(|ending| {
            let mut name = picture.as_os_str().to_owned();
            name.push(ending);
            name.into()
        });
        Self { folder, newest, previous }
    }

    /// Returns true for the name of a checkpoint of a picture.
    pub fn is_of_picture(name: &str) -> bool {
        PICTURE_ENDINGS.iter().any(|ending| name.ends_with(ending))
    }

    /// Returns the path of the newest checkpoint.
    pub fn path(&self) -> &Path {
        &self.newest
    }

    /// Checks that new checkpoints may replace the files that are there.
    ///
    /// # Errors
    /// Names the file that is not a checkpoint, or is a damaged one.
    pub(crate) fn check_place(&self, overwrite: Overwrite) -> Result<(), InTheWay> {
        let generations = [&self.newest, &self.previous];
        // A damaged file counts as a checkpoint if the other generation is complete.
        let has_whole = generations.iter().any(|path| is_checkpoint(path).is_ok_and(|is_whole| is_whole));
        let is_own = |path: &Path| has_whole && is_checkpoint(path).is_ok();
        generations.into_iter().try_for_each(|path| InTheWay::check(path, overwrite, is_own))
    }

    /// Returns true if there is a checkpoint to resume from.
    pub fn exist(&self) -> bool {
        self.newest.exists() || self.previous.exists()
    }

    /// Saves the bytes that `payload` writes as the newest generation.
    ///
    /// # Errors
    /// When the folder cannot be written. The older generations are kept in that case.
    pub fn save(
        &self,
        inputs: InputsHash,
        payload: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), CheckpointError> {
        Ok(self.write(inputs, payload).map_err(WriteError::of(&self.newest))?)
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
        let patience = Patience::begin();
        if self.newest.exists() {
            patience.retry(|| fs::rename(&self.newest, &self.previous))?;
        }
        rename(temporary, &self.newest, &patience)?;
        sync_folder(&self.folder)
    }

    /// Returns the newest complete payload of at most `most` bytes; `None` when there is no checkpoint.
    ///
    /// # Errors
    /// When the checkpoint is of another bake or picture, damaged, too large, or cannot be read.
    pub fn load(&self, inputs: InputsHash, most: u64) -> Result<Option<CheckpointPayload>, CheckpointError> {
        let mut refusal = None;
        for path in [&self.newest, &self.previous] {
            match CheckpointPayload::open(path, inputs, most) {
                Ok(payload) => return Ok(Some(payload)),
                Err(CheckpointError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refusal = refusal.or(Some(error)),
            }
        }
        refusal.map_or(Ok(None), Err)
    }

    /// Removes all generations, once the work is done or starts anew.
    ///
    /// # Errors
    /// When a file exists and cannot be removed.
    pub fn remove(&self) -> Result<(), CheckpointError> {
        let patience = Patience::begin();
        for path in [&self.newest, &self.previous] {
            match patience.retry(|| fs::remove_file(path)) {
                Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(WriteError::of(path)(fault).into()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reader of a checkpoint's bytes after its header. The payload may be as large as the rest of the bake's memory.
#[derive(Debug)]
pub struct CheckpointPayload {
    file: BufReader<File>,
    /// Length of the payload, bytes.
    pub bytes: u64,
}

impl CheckpointPayload {
    fn open(path: &Path, inputs: InputsHash, most: u64) -> Result<Self, CheckpointError> {
        let path = || path.to_owned();
        let refusal = |source: io::Error| match source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => CheckpointError::Damaged { path: path() },
            _ => CheckpointError::Read { path: path(), source },
        };
        let mut file = open_regular(&path()).map_err(refusal)?;
        let header = Header::read(&mut file).map_err(refusal)?;
        if header.inputs != inputs.0 {
            return Err(CheckpointError::OtherInputs { path: path() });
        }
        let bytes = file.metadata().map_err(refusal)?.len().saturating_sub(HEADER_BYTES as u64);
        if bytes > most {
            return Err(CheckpointError::TooLarge { path: path(), allowed_mib: most >> 20 });
        }
        if !header.is_of(&mut file).map_err(refusal)? {
            return Err(CheckpointError::Damaged { path: path() });
        }
        file.seek(SeekFrom::Start(HEADER_BYTES as u64)).map_err(refusal)?;
        Ok(Self { file: BufReader::new(file), bytes })
    }
}

impl Read for CheckpointPayload {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read(bytes)
    }
}

/// Header of a checkpoint file, after the magic bytes.
#[derive(Default)]
struct Header {
    inputs: [u8; 32],
    digest: [u8; 32],
}

impl Header {
    fn read(file: &mut File) -> io::Result<Self> {
        let (mut magic, mut header) = ([0; MAGIC.len()], Self::default());
        file.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Err(io::ErrorKind::InvalidData.into());
        }
        file.read_exact(&mut header.inputs)?;
        file.read_exact(&mut header.digest)?;
        Ok(header)
    }

    /// Reads the payload to its end and returns true if the digest fits it.
    fn is_of(&self, payload: &mut File) -> io::Result<bool> {
        let mut hasher = blake3::Hasher::new();
        io::copy(payload, &mut hasher)?;
        Ok(self.digest == *hasher.finalize().as_bytes())
    }
}

/// Writer that digests the bytes that pass through it.
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

/// Returns true if the payload of a checkpoint, of any bake, fits its digest. Other files are an error.
fn is_checkpoint(path: &Path) -> io::Result<bool> {
    let mut file = open_regular(path)?;
    Header::read(&mut file)?.is_of(&mut file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SCENE: scene::Hash = scene::Hash([1; 32]);
    const INPUTS: InputsHash = InputsHash([7; 32]);

    fn save(checkpoints: &Checkpoints, payload: &[u8]) {
        checkpoints.save(INPUTS, |out| out.write_all(payload)).unwrap();
    }

    fn load(checkpoints: &Checkpoints) -> Option<Vec<u8>> {
        let mut payload = checkpoints.load(INPUTS, 100).unwrap()?;
        let mut bytes = Vec::new();
        payload.read_to_end(&mut bytes).unwrap();
        assert_eq!(payload.bytes, bytes.len() as u64);
        Some(bytes)
    }

    #[test]
    fn the_newest_checkpoint_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        assert_eq!(load(&checkpoints), None);
        save(&checkpoints, b"first");
        save(&checkpoints, b"second");
        assert_eq!(load(&checkpoints).as_deref(), Some(b"second".as_slice()));
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
        assert_eq!(load(&checkpoints).as_deref(), Some(b"first".as_slice()));
        fs::remove_file(&checkpoints.newest).unwrap();
        assert_eq!(load(&checkpoints).as_deref(), Some(b"first".as_slice()));
    }

    #[test]
    fn a_checkpoint_of_other_inputs_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        save(&checkpoints, b"sums");
        let refusal = checkpoints.load(InputsHash([8; 32]), 100).unwrap_err();
        assert!(matches!(refusal, CheckpointError::OtherInputs { .. }), "{refusal}");
    }

    #[test]
    fn all_but_the_time_limit_tells_one_bake_from_another() {
        let settings = BakeSettings::default();
        let inputs = InputsHash::new(SCENE, &settings);
        let mut longer = settings;
        longer.solver.time_limit = Some(Duration::from_secs(60));
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
            assert!(matches!(checkpoints.load(INPUTS, 100), Err(CheckpointError::Damaged { .. })));
        }
    }

    #[test]
    fn a_checkpoint_beyond_the_memory_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::in_folder(folder.path());
        save(&checkpoints, &[1; 101]);
        assert!(matches!(checkpoints.load(INPUTS, 100), Err(CheckpointError::TooLarge { .. })));
        assert!(checkpoints.load(INPUTS, 101).is_ok());
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
