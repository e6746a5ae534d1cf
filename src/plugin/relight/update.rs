//! One update: what it is asked for, and what it shows.

use std::time::{Duration, Instant};

use glam::Vec3;
use rayon::prelude::*;

use crate::lightmap::files::rgb9e5;
use crate::plugin::write_back::{PageFormat, half_floats};
use crate::relight::{LiveLight, LivePanel, Placed, Relighter, Update, UpdateSettings};

/// Texels that a thread packs at a time.
const TEXELS: usize = 4096;

/// What to do next.
pub struct Job {
    /// The level with its doors elsewhere.
    pub placed: Option<Placed>,
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

/// Does it, and packs what is to be shown.
pub fn work(relighter: &mut Relighter, job: Job, format: PageFormat) -> Done {
    let started = Instant::now();
    let Job { placed, lights, settings, is_enabled } = job;
    if let Some(placed) = placed {
        relighter.set_level(placed);
    }
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
