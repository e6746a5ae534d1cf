//! Messages from the worker to the page.

use std::sync::Mutex;
use std::sync::mpsc::Receiver;

use serde::{Deserialize, Serialize};

use crate::bake::{BakePass, Progress};
use crate::geometry::Aabb;
use crate::lightmap::{PageSize, Rectangle, Voxels};
use crate::scene::SurfaceKey;

/// Worker that runs, and the encoded messages from it. The worker ends when this is dropped.
pub struct Line<Worker> {
    pub messages: Mutex<Receiver<Vec<u8>>>,
    /// Ends the worker when it is dropped.
    pub _worker: Worker,
}

/// Message from the worker.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// The worker has the module, and begins.
    Begun,
    Progress(Progress),
    Pass(BakePass),
    /// The next part of the result. A [`Summary`] comes first, then each unwrapped mesh, then the [`PageParts`] of each
    /// page. The bytes of the precomputed transport come last, if there are any.
    Part(#[serde(with = "crate::raw_values")] Vec<u8>),
    /// All parts are sent.
    Done,
    /// The bake failed, for this reason.
    Failed(String),
}

/// Result of a bake but for its large parts.
#[derive(Serialize, Deserialize)]
pub struct Summary {
    /// `report.json`.
    pub report: String,
    /// Key and place of each surface of the repaired scene.
    pub surfaces: Vec<(SurfaceKey, [f32; 12])>,
    /// Place of each surface's texels.
    pub placements: Vec<Option<Place>>,
    pub pages: Vec<PageSize>,
    pub padding: u32,
    /// Number of unwrapped meshes.
    pub unwraps: u32,
    pub volume: Option<Voxels>,
    /// Cells of the KD-tree by depth.
    pub cells: Vec<Vec<Aabb>>,
    pub has_transport: bool,
}

/// Place of a surface's texels.
#[derive(Serialize, Deserialize)]
pub struct Place {
    /// Index of the unwrapped mesh.
    pub unwrap: u32,
    pub page: u32,
    pub rectangle: Rectangle,
}

/// Texels of a page.
#[derive(Serialize, Deserialize)]
pub struct PageParts {
    /// Half floats, as they are uploaded.
    #[serde(with = "crate::raw_values")]
    pub pixels: Vec<u8>,
    /// Validity from 0 for none to 255 for all.
    #[serde(with = "crate::raw_values")]
    pub validity: Vec<u8>,
    /// The page itself, if it can be relit.
    pub page: Option<crate::lightmap::Page>,
}
