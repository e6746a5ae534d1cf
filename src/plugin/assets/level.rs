//! Baked levels as assets.

use core::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bevy::asset::io::Reader;
use bevy::asset::{AssetLoader, AssetPath, LoadContext};
use bevy::prelude::*;

use super::read::{SourceReader, read_start};
use crate::clock;
use crate::lightmap::files::{LARGEST_LEVEL, Level, LevelBytes, LevelError, LevelFile, LevelFiles, MAX_TRIES};

/// Level that was baked before: the files to show it. It is loaded from the `level.ron` of a bake.
///
/// The size and the digest of each file are those that the bake has recorded. While a handle exists, the files stay in
/// memory: four bytes for each texel, and more for meshes and volume.
///
/// It is loaded again when `level.ron` has changed, if Bevy's feature `file_watcher` is on, or by `AssetServer::reload`.
/// A bake changes that file last.
#[derive(Asset, Clone, Debug, TypePath)]
pub struct BakedLevelAsset(pub(crate) Arc<ReadLevel>);

impl BakedLevelAsset {
    /// Returns the content of `level.ron`.
    pub fn level(&self) -> &Level {
        &self.0.level
    }
}

/// Files to relight a level with. They are much larger, so only relighting loads them.
#[derive(Asset, TypePath)]
pub struct RelightFiles(pub Arc<ReadLevel>);

/// A level, and the content of some of its files.
#[derive(Debug)]
pub struct ReadLevel {
    /// Path of `level.ron`.
    pub path: AssetPath<'static>,
    pub level: Level,
    pub bytes: LevelBytes,
    /// Time to read the files, in seconds.
    pub seconds: f32,
}

/// Asset that consists of files of a level.
pub trait LevelAsset: Asset {
    fn new(read: Arc<ReadLevel>) -> Self;

    /// Returns the files of the asset.
    fn files(level: &Level) -> Vec<&LevelFile>;
}

impl LevelAsset for BakedLevelAsset {
    fn new(read: Arc<ReadLevel>) -> Self {
        Self(read)
    }

    fn files(level: &Level) -> Vec<&LevelFile> {
        let pages = level.pages.iter().flat_map(|page| [Some(&page.ktx2), page.validity.as_ref()]).flatten();
        let volume = level.volume.iter().map(|volume| &volume.exr);
        pages.chain([&level.meshes]).chain(volume).collect()
    }
}

impl LevelAsset for RelightFiles {
    fn new(read: Arc<ReadLevel>) -> Self {
        Self(read)
    }

    fn files(level: &Level) -> Vec<&LevelFile> {
        let pages = level.pages.iter().flat_map(|page| [Some(&page.exr), page.validity.as_ref()]).flatten();
        let relight = level.relight.iter().map(|relight| &relight.file);
        pages.chain([&level.meshes]).chain(relight).collect()
    }
}

/// Loader of levels. Its assets tell it from others, so it claims no file name extension: many loaders read `.ron`.
#[derive(TypePath)]
pub struct LevelLoader<A: LevelAsset> {
    #[type_path(ignore)]
    reader: SourceReader,
    asset: PhantomData<fn() -> A>,
}

impl<A: LevelAsset> FromWorld for LevelLoader<A> {
    fn from_world(world: &mut World) -> Self {
        Self { reader: SourceReader(world.resource::<AssetServer>().clone()), asset: PhantomData }
    }
}

impl<A: LevelAsset> AssetLoader for LevelLoader<A> {
    type Asset = A;
    type Settings = ();
    type Error = LevelError;

    async fn load(&self, file: &mut dyn Reader, (): &(), context: &mut LoadContext<'_>) -> Result<A, LevelError> {
        let started = clock::now();
        let path = context.path().clone();
        let shown = PathBuf::from(path.to_string());
        let unreadable = |source| LevelError::Read { path: shown.clone(), source };
        let mut text = read_start(file, LARGEST_LEVEL).await.map_err(unreadable)?;
        let mut tries = 1;
        let (level, bytes) = loop {
            let fault = match self.read(&text, &path, &shown).await {
                Ok(read) => break read,
                Err(fault) => fault,
            };
            // A bake may have replaced the level meanwhile.
            let now = self.reader.read(&path, LARGEST_LEVEL).await.map_err(unreadable)?;
            if now == text || tries == MAX_TRIES {
                return Err(fault);
            }
            (text, tries) = (now, tries + 1);
        };
        Ok(A::new(Arc::new(ReadLevel { path, level, bytes, seconds: started.elapsed().as_secs_f32() })))
    }
}

impl<A: LevelAsset> LevelLoader<A> {
    /// Parses a `level.ron`, and reads the files of the asset. `shown` is the path in errors.
    async fn read(&self, text: &[u8], path: &AssetPath<'_>, shown: &Path) -> Result<(Level, LevelBytes), LevelError> {
        let not_text = |_| LevelError::Damaged { path: shown.to_owned(), fault: "it is no UTF-8 text".to_owned() };
        let level = Level::parse(core::str::from_utf8(text).map_err(not_text)?, shown)?;
        let mut bytes = LevelBytes::new(shown.parent().unwrap_or(shown));
        for file in A::files(&level) {
            // One byte more tells a file that is too long.
            let place = path.resolve_embed(&AssetPath::from_path(Path::new(&file.name)));
            let content = self.reader.read(&place, file.bytes.saturating_add(1)).await;
            bytes.insert(file, content.map_err(|source| LevelError::Read { path: bytes.path(file), source })?)?;
        }
        Ok((level, bytes))
    }
}
