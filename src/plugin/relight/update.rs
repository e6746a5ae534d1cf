//! Input and output of one relighting update.

use std::sync::Arc;
use std::time::Duration;

use glam::Vec3;
use rayon::prelude::*;

use crate::gpu::{Gpu, GpuPages};
use crate::lightmap::PageFormat;
use crate::lightmap::files::rgb9e5;
use crate::plugin::background::WorkClock;
use crate::plugin::write_back::half_floats;
use crate::relight::{LiveLight, LivePanel, PlacedOccluder, RelightInput, Relighter, Update, UpdateSettings};

/// Texels per parallel chunk.
const TEXELS: usize = 4096;

/// Texels that are drawn without a pause, which takes some milliseconds.
const PART: usize = 1 << 17;

/// Maximum time that one long step takes from later updates, in seconds.
const MAX_DEBT_SECONDS: f32 = 0.25;

/// Input of an update.
pub struct Job {
    /// New placement of doors or colors.
    pub placed: Option<PlacedOccluder>,
    /// Lights and panels, if they may have changed.
    pub lights: Option<(Vec<LiveLight>, Vec<LivePanel>)>,
    pub settings: UpdateSettings,
    /// Time of work that the frames since the last job allow.
    pub time: Duration,
    pub is_enabled: bool,
    /// Device that draws pages. `None` for the CPU.
    pub gpu: Option<Gpu>,
}

/// Output of an update.
pub struct Done {
    pub update: Update,
    /// Changed pages, in the format of their images.
    pub pages: Vec<(usize, Vec<u8>)>,
    /// Pages on the GPU, whether they have been redrawn, and the reason if a wanted GPU cannot draw them.
    pub on_graphics: Option<Arc<GpuPages>>,
    pub is_drawn_there: bool,
    pub refusal: Option<String>,
    /// Moved lamps; see [`Relighter::moved`].
    pub moved: Vec<u64>,
    pub warnings: Vec<String>,
    pub time: Duration,
}

/// State of the relighting thread.
pub struct Drawer {
    relighter: Relighter,
    format: PageFormat,
    /// Time of work that is left, in seconds. Negative after a step that took longer, else zero.
    seconds_left: f32,
    graphics: Option<Arc<GpuPages>>,
    /// Device that cannot draw this level, and the reason.
    refused: Option<(Gpu, String)>,
}

impl Drawer {
    pub async fn make(level: RelightInput, format: PageFormat) -> Self {
        Self { relighter: Relighter::new(level), format, seconds_left: 0.0, graphics: None, refused: None }
    }

    /// Updates lights, doors and colors, and draws the pages.
    pub async fn work(mut self, job: Job) -> (Self, Done) {
        let mut clock = WorkClock::start();
        let Job { placed, lights, settings, time, is_enabled, gpu } = job;
        let is_another_level = placed.is_some();
        if let Some(placed) = placed {
            self.relighter.set_level(placed);
            clock.pause().await;
        }
        self.relighter.set_enabled(is_enabled);
        let warnings = lights.map(|(lights, panels)| self.relighter.set_lights(&lights, &panels)).unwrap_or_default();
        let seconds_left = self.seconds_left + time.as_secs_f32();
        clock.pause().await;
        let began = clock.elapsed();
        let mut update = Update::default();
        loop {
            let works = (clock.elapsed() - began).as_secs_f32() < seconds_left;
            let has_more = self.relighter.step(&settings, works, &mut update);
            clock.pause().await;
            if !has_more {
                break;
            }
        }
        let update = self.relighter.show(&settings, update);
        // Only debts last: time is not saved up while there is nothing to do.
        let has_work = update.waiting > 0 || update.is_refining;
        let debt = (seconds_left - (clock.elapsed() - began).as_secs_f32()).clamp(-MAX_DEBT_SECONDS, 0.0);
        self.seconds_left = if has_work { debt } else { 0.0 };
        clock.pause().await;
        let is_lost = self.switch(gpu.as_ref(), is_another_level);
        let is_drawn = update.is_new || is_lost;
        let mut pages = Vec::new();
        match &self.graphics {
            Some(graphics) if is_drawn => graphics.draw(&self.relighter.difference()),
            None if is_drawn => pages = self.draw(is_lost, &mut clock).await,
            _ => {}
        }
        let done = Done {
            pages,
            is_drawn_there: is_drawn && self.graphics.is_some(),
            on_graphics: self.graphics.clone(),
            refusal: self.refused.as_ref().map(|(_, reason)| reason.clone()),
            moved: self.relighter.moved(),
            warnings,
            time: clock.elapsed(),
            update,
        };
        (self, done)
    }

    /// Draws the pages on the CPU. Returns those that have changed, or all, in the format of their images.
    async fn draw(&mut self, are_all_wanted: bool, clock: &mut WorkClock) -> Vec<(usize, Vec<u8>)> {
        let change = self.relighter.change();
        clock.pause().await;
        let mut pages = Vec::new();
        for page in 0..self.relighter.level().pages.len() {
            let texels = self.relighter.page(page).len();
            let parts = || (0..texels).step_by(PART).map(|first| first..texels.min(first + PART));
            let mut is_wanted = are_all_wanted;
            for part in parts() {
                is_wanted |= self.relighter.draw_part(page, part, &change);
                clock.pause().await;
            }
            if is_wanted {
                let mut data = Vec::new();
                for part in parts() {
                    data.append(&mut packed(&self.relighter.page(page)[part], self.format));
                    clock.pause().await;
                }
                pages.push((page, data));
            }
        }
        pages
    }

    /// Switches the drawing device. Returns true if the pages of the previous GPU are lost.
    fn switch(&mut self, gpu: Option<&Gpu>, is_another_level: bool) -> bool {
        let is_on = |there: &Gpu| gpu.is_some_and(|gpu| gpu.device() == there.device());
        if self.graphics.as_ref().is_some_and(|pages| is_on(pages.gpu())) && !is_another_level {
            return false;
        }
        // A device without memory for a level has none for another placement of it either.
        if self.refused.as_ref().is_some_and(|(there, _)| is_on(there)) {
            return false;
        }
        self.refused = None;
        // The memory may not suffice for both.
        let is_lost = self.graphics.take().is_some();
        match gpu.map(|gpu| (gpu, GpuPages::new(gpu, &self.relighter, self.format))) {
            Some((_, Ok(pages))) => self.graphics = Some(Arc::new(pages)),
            Some((gpu, Err(fault))) => self.refused = Some((gpu.clone(), fault.to_string())),
            None => {}
        }
        is_lost
    }
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
