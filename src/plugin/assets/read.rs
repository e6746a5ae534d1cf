//! Reading of files through asset sources.

use std::io;

use bevy::asset::io::{AssetReaderError, Reader};
use bevy::asset::{AssetPath, AssetServer, AssetServerMode};
use bevy::tasks::futures_lite::AsyncReadExt;

/// Reader of files.
///
/// It reads past `LoadContext`, so that its files are no dependencies of an asset. Bevy would load the asset again at each
/// change of one of them. A bake replaces many files, and `level.ron` last.
pub struct SourceReader(pub AssetServer);

impl SourceReader {
    /// Reads a file, at most `max_bytes` of it.
    pub async fn read(&self, path: &AssetPath<'_>, max_bytes: u64) -> io::Result<Vec<u8>> {
        let source = self.0.get_source(path.source()).map_err(io::Error::other)?;
        let files = match self.0.mode() {
            AssetServerMode::Unprocessed => source.reader(),
            AssetServerMode::Processed => source.processed_reader().map_err(io::Error::other)?,
        };
        let mut file = files.read(path.path()).await.map_err(|error| match error {
            AssetReaderError::NotFound(_) => io::ErrorKind::NotFound.into(),
            AssetReaderError::Io(error) => io::Error::new(error.kind(), error),
            AssetReaderError::HttpError(_) => io::Error::other(error),
        })?;
        read_start(&mut *file, max_bytes).await
    }
}

/// Reads at most `max_bytes`.
pub async fn read_start(file: &mut dyn Reader, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes).await?;
    Ok(bytes)
}
