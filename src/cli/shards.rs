//! Bakes in parts: `radiosity bake --shard`, and their merge.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::bake::Arguments;
use super::{Failure, bake};
use crate::bake::{BakeSettings, InputsHash};
use crate::input;
use crate::output::{check_place, write_atomic};
use crate::scene::{self, Scene};

/// Largest manifest that is read, bytes.
const MAX_BYTES: u64 = 1 << 20;

/// File in a folder of parts that says what they are parts of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of this program.
    version: String,
    /// Digest of all that the parts depend on.
    pub inputs: [u8; 32],
    /// Number of shards.
    pub shards: u32,
    /// Arguments of the first shard's command, and the directory that it ran in.
    arguments: Vec<String>,
    directory: PathBuf,
}

impl Manifest {
    const FILE: &str = "shards.json";

    /// Describes the shards of this process's command.
    pub fn new(scene: &Scene, settings: &BakeSettings, shards: u32) -> Result<Self, Failure> {
        let text = |argument: std::ffi::OsString| argument.into_string();
        let arguments: Result<Vec<String>, _> = std::env::args_os().skip(1).map(text).collect();
        let arguments = arguments.map_err(|name| format!("{} is no Unicode text: rename it", name.display()))?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            inputs: InputsHash::new(scene::hash(scene), settings).bytes(),
            shards,
            arguments,
            directory: std::env::current_dir()?,
        })
    }

    /// Reads the manifest of a folder; `None` if it has none.
    pub fn read(folder: &Path) -> Result<Option<Self>, Failure> {
        let path = folder.join(Self::FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text =
            input::read_text(&path, MAX_BYTES).map_err(|fault| format!("cannot read {}: {fault}", path.display()))?;
        let manifest: Self = serde_json::from_str(&text)
            .map_err(|_| format!("{} is not of a bake in parts: move it out of the folder", path.display()))?;
        let version = env!("CARGO_PKG_VERSION");
        if manifest.version != version {
            let (path, other) = (path.display(), &manifest.version);
            return Err(format!(
                "{path} is of version {other} of this program, which is {version}: bake all parts with one"
            )
            .into());
        }
        Ok(Some(manifest))
    }

    /// Makes the folder, and writes the manifest unless another shard of the same bake has done so.
    pub fn join(&self, folder: &Path) -> Result<(), Failure> {
        fs::create_dir_all(folder).map_err(|fault| format!("cannot make the folder {}: {fault}", folder.display()))?;
        if !self.check(folder)? {
            let path = folder.join(Self::FILE);
            check_place(&path)?;
            write_atomic(&path, serde_json::to_string_pretty(self)?.as_bytes())?;
        }
        Ok(())
    }

    /// Returns true if the folder has parts of this bake. Refuses a folder with parts of another one.
    pub fn check(&self, folder: &Path) -> Result<bool, Failure> {
        let other = Self::read(folder)?;
        other.as_ref().map_or(Ok(()), |other| self.check_same(other, folder))?;
        Ok(other.is_some())
    }

    /// Refuses the manifest of another bake in a folder.
    pub fn check_same(&self, other: &Self, folder: &Path) -> Result<(), Failure> {
        if (other.inputs, other.shards) == (self.inputs, self.shards) {
            return Ok(());
        }
        let folder = folder.display();
        Err(format!(
            "{folder} has parts of another scene, other settings or another number of shards: choose another folder"
        )
        .into())
    }

    /// Returns the bake of which the folder holds parts, as one that writes into `output`. Makes the shards' directory the
    /// current one, since paths of the scene may be relative.
    pub fn whole(&self, output: PathBuf) -> Result<Arguments, Failure> {
        let directory = self.directory.display();
        std::env::set_current_dir(&self.directory).map_err(|fault| {
            format!("the parts were baked in {directory}, which cannot be used here ({fault}): merge on a machine that has it")
        })?;
        Ok(bake::parsed(&self.arguments)?.whole(output))
    }

    /// Returns the digest of the parts' inputs. Refuses a scene that has changed since.
    pub fn inputs_of(&self, scene: &Scene, settings: &BakeSettings) -> Result<[u8; 32], Failure> {
        if InputsHash::new(scene::hash(scene), settings).bytes() == self.inputs {
            return Ok(self.inputs);
        }
        Err("the scene is not that of the parts any more: put the old file back, or bake the parts again".into())
    }
}
