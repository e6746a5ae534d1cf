//! Error of relit pages over time, after a lamp and the sun have moved.

use std::error::Error;
use std::f32::consts::TAU;

use bevy_radiosity::bake::{BakeOutput, RelightPatches};
use bevy_radiosity::radiosity::{Content, HALVES};
use bevy_radiosity::relight::{LiveLight, Relighter, UpdateSettings};
use bevy_radiosity::scene::{Light, LightKind, Scene, luminance};
use bevy_radiosity::scene_files::load;
use glam::{Quat, Vec3};

use super::pages::{Baker, level_of};

/// Number of patches.
const PATCHES: RelightPatches = RelightPatches(1000);

/// Names of the lights that move, in `assets/level.glb`.
const LAMP: &str = "workshop_lamp_bench_light";
const SUN: &str = "sun";

/// Way of the lamp in meters, and turn of the sun about the vertical in radians.
const WAY: Vec3 = Vec3::new(-1.6, -0.4, 1.0);
const TURN: f32 = TAU / 18.0;

/// Duration of the motion, in seconds.
const MOTION: f32 = 1.0;

/// Defaults of `Relight`: time of work per second, time constant of smoothing, and rays of a step.
const WORK: f32 = 0.25;
const SMOOTHING_SECONDS: f32 = 0.05;
const STEP_RAYS: u32 = 10_000;

/// Threads that share the work.
const THREADS: f32 = 2.0;

/// Times after the motion at which errors are printed, in seconds.
const TIMES: [f32; 9] = [0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0];

/// Prints the errors of pages over time, at several frame rates.
pub fn report(file: &str, texels_per_meter: f32) -> Result<(), Box<dyn Error>> {
    let scene = load(file)?.scene;
    let baker = Baker { texels_per_meter, patches: PATCHES, truth_time: None };
    let base = baker.relit(&scene, Content::Indirect)?;
    println!("| frames/s, {texels_per_meter} texels/m | {} |", TIMES.map(|time| format!("{time} s")).join(" | "));
    println!("| --- |{}", " --- |".repeat(TIMES.len()));
    let own = Judge::new(&base, &baker.truths(&scene, Content::Indirect)?);
    let judge = Judge::new(&base, &baker.truths(&moved(&scene, 1.0), Content::Indirect)?);
    let row = |name: &str, values: Vec<f64>| {
        let cells: Vec<String> = values.iter().map(|value| format!("{:.1} %", 100.0 * value)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    };
    for frames_per_second in [60.0, 1.0] {
        let found = settle(&scene, &base, frames_per_second, &judge)?;
        row(&format!("{frames_per_second}"), found.iter().map(|found| found.error).collect());
        row(&format!("{frames_per_second}, `behind`"), found.iter().map(|found| found.behind).collect());
    }
    println!("noise of the truth: {:.1} %", 100.0 * judge.noise);
    let baked: Vec<Vec<Vec3>> = base.pages.iter().map(|page| page.texels.clone()).collect();
    println!(
        "error of the bake, with its own lights: {:.1} %; noise {:.1} %",
        100.0 * own.error(&baked),
        100.0 * own.noise
    );
    Ok(())
}

/// Returns the scene with lights moved along a fraction of their way.
fn moved(scene: &Scene, fraction: f32) -> Scene {
    let mut scene = scene.clone();
    for light in scene.lights.iter_mut().filter(|light| [LAMP, SUN].contains(&light.name.as_str())) {
        match &mut light.kind {
            LightKind::Point { position, .. } | LightKind::Spot { position, .. } => *position += WAY * fraction,
            LightKind::Directional { direction, .. } => {
                *direction = Quat::from_rotation_y(TURN * fraction) * *direction
            }
            LightKind::Rectangle { .. } => {}
        }
    }
    scene
}

fn live(lights: &[Light]) -> Vec<LiveLight> {
    let live = |(id, light): (u64, &Light)| LiveLight { id, light: light.clone(), is_excluded: false };
    (1..).zip(lights).map(live).collect()
}

/// Shown pages at one time.
struct Found {
    /// Mean error of texels, relative to their mean.
    error: f64,
    /// Value of `Update::behind`.
    behind: f64,
}

/// Runs an app's relighting: lights move, then rest. Returns the state at each time.
fn settle(
    scene: &Scene,
    base: &BakeOutput,
    frames_per_second: f32,
    judge: &Judge,
) -> Result<Vec<Found>, Box<dyn Error>> {
    let mut relighter = Relighter::new(level_of(base)?);
    let frame_seconds = 1.0 / frames_per_second;
    let (mut frame, mut busy_until, mut saved, mut debt) = (0, f32::MIN, 0.0, 0.0);
    let (mut found, mut is_settled) = (Vec::new(), false);
    let mut shown: Vec<Vec<Vec3>> = base.pages.iter().map(|page| page.texels.clone()).collect();
    let (mut next, mut behind) = (None, 0.0);
    while found.len() < TIMES.len() {
        let now = frame as f32 * frame_seconds - MOTION;
        frame += 1;
        saved = f32::min(saved + frame_seconds, 1.0);
        if busy_until <= now {
            (shown, behind) = next.take().unwrap_or((shown, behind));
        }
        while found.len() < TIMES.len() && TIMES[found.len()] <= now + 1e-3 {
            found.push(Found { error: judge.error(&shown), behind });
        }
        let is_moving = now <= 1e-3;
        if busy_until > now || (is_settled && !is_moving) {
            continue;
        }
        if is_moving {
            let fraction = (now / MOTION + 1.0).clamp(0.0, 1.0);
            relighter.set_lights(&live(&moved(scene, fraction).lights), &[]);
        }
        let keep = (-frame_seconds / SMOOTHING_SECONDS).exp();
        let settings = UpdateSettings { rays: STEP_RAYS, keep, ..UpdateSettings::default() };
        let began = seconds();
        let budget = core::mem::take(&mut saved) * WORK + debt;
        let update = relighter.advance_while(&settings, || seconds() - began < budget);
        debt = (budget - (seconds() - began)).clamp(-0.25, 0.0);
        relighter.draw();
        let pages = (0..base.pages.len()).map(|page| relighter.page(page).to_vec()).collect();
        next = Some((pages, update.behind.into()));
        busy_until = now + seconds() - began;
        is_settled = update.is_settled();
    }
    Ok(found)
}

/// Returns the CPU time of all threads that run, spread over [`THREADS`], in seconds. Zero if the system is not Linux.
fn seconds() -> f32 {
    let of_thread = |entry: std::fs::DirEntry| -> Option<f64> {
        std::fs::read_to_string(entry.path().join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
    };
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    (threads.filter_map(of_thread).sum::<f64>() * 1e-9 / f64::from(THREADS)) as f32
}

/// Truth of each texel that has a receiver.
struct Judge {
    /// Page and index of each texel, and its luminance.
    texels: Vec<(usize, usize, f64)>,
    noise: f64,
}

impl Judge {
    fn new(base: &BakeOutput, truths: &[BakeOutput; HALVES]) -> Self {
        let receivers = base.relight.iter().flat_map(|relight| &relight.receivers.texel);
        let mut places: Vec<(usize, usize)> = receivers
            .map(|texel| (texel.page as usize, base.pages[texel.page as usize].index(texel.x.into(), texel.y.into())))
            .collect();
        places.sort_unstable();
        places.dedup();
        let of =
            |truth: &BakeOutput, (page, index): (usize, usize)| f64::from(luminance(truth.pages[page].texels[index]));
        let texels: Vec<_> = places
            .iter()
            .map(|&(page, index)| {
                (page, index, truths.iter().map(|truth| of(truth, (page, index))).sum::<f64>() / HALVES as f64)
            })
            .collect();
        let apart: f64 = places.iter().map(|&place| (of(&truths[0], place) - of(&truths[1], place)).abs()).sum();
        let whole: f64 = texels.iter().map(|(.., light)| light).sum();
        Self { texels, noise: 0.5 * apart / whole }
    }

    /// Returns the mean error of texels, relative to their mean.
    fn error(&self, pages: &[Vec<Vec3>]) -> f64 {
        let apart =
            |&(page, index, truth): &(usize, usize, f64)| (f64::from(luminance(pages[page][index])) - truth).abs();
        let whole: f64 = self.texels.iter().map(|(.., light)| light).sum();
        self.texels.iter().map(apart).sum::<f64>() / whole
    }
}
