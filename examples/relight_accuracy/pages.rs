//! Relit pages compared with whole bakes: suns, panels, bulbs and a door.

use std::error::Error;
use std::f32::consts::TAU;
use std::time::Duration;

use bevy_radiosity::Device;
use bevy_radiosity::bake::{BakeOutput, BakeSettings, RelightPatches, Unobserved, run_on};
use bevy_radiosity::geometry::SurfaceId;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::{Content, HALVES};
use bevy_radiosity::relight::{Door, Doors, LiveLight, LivePanel, RelightInput, Relighter, UpdateSettings};
use bevy_radiosity::scene::check::repair;
use bevy_radiosity::scene::{Light, LightKind, Role, Scene, Sky, luminance};
use bevy_radiosity::scene_files::load;
use glam::{Affine3A, Quat, Vec3};

use super::timed;

/// Number of patches of a relit level.
const PATCHES: RelightPatches = RelightPatches(2000);

/// Time limit of each reference bake. The remaining noise of the two bakes of a pair is independent.
const TRUTH_TIME: Duration = Duration::from_secs(40);

/// Hours of the day for the sun.
const HOURS: [f32; 3] = [8.0, 12.0, 16.0];

/// Materials whose surfaces are tested as lights.
const GLOWING: [&str; 2] = ["panel", "bulb"];

/// Door to open, and the radius around its hinge that is also measured separately, in meters.
const DOOR: &str = "library_door_leaf";
const NEAR: f32 = 4.0;

/// Prints the errors of relit pages, compared with bakes of the same lights or doors.
pub fn report(file: &str, texels_per_meter: f32) -> Result<(), Box<dyn Error>> {
    let mut scene = load(file)?.scene.into_inner();
    scene.sky = Sky::Dark;
    scene.lights.retain(|light| !matches!(light.kind, LightKind::Directional { .. }));
    let baker = Baker { texels_per_meter, patches: PATCHES, truth_time: Some(TRUTH_TIME) };
    println!("| pages, {texels_per_meter} texels/m, off a whole bake | at first | at rest |");
    println!("| --- | --- | --- |");
    baker.suns(&scene)?;
    baker.panels(&scene)?;
    let door = scene.surface_ids().find(|&surface| scene.surface(surface).key.0.contains(DOOR));
    door.map_or(Ok(()), |door| baker.door(&scene, door))
}

/// Baker of scenes, all with the same texel density.
pub struct Baker {
    pub texels_per_meter: f32,
    /// Number of patches of a relit level.
    pub patches: RelightPatches,
    /// Time limit of each reference bake.
    pub truth_time: Option<Duration>,
}

impl Baker {
    fn bake(
        &self,
        scene: &Scene,
        content: Content,
        relight: Option<RelightPatches>,
        seed: u32,
    ) -> Result<BakeOutput, Box<dyn Error>> {
        let mut settings = BakeSettings { volume: None, relight, ..BakeSettings::default() };
        settings.layout.texels_per_meter = self.texels_per_meter;
        (settings.solver.content, settings.solver.seed) = (content, seed);
        settings.solver.time_limit = self.truth_time.filter(|_| relight.is_none());
        let what = if relight.is_some() { "a bake to be relit" } else { "a bake" };
        Ok(timed(what, || run_on(&Device::Cpu, repair(scene.clone()).0, &settings, &Unobserved))?)
    }

    pub fn relit(&self, scene: &Scene, content: Content) -> Result<BakeOutput, Box<dyn Error>> {
        self.bake(scene, content, Some(self.patches), 0)
    }

    pub fn truths(&self, scene: &Scene, content: Content) -> Result<[BakeOutput; HALVES], Box<dyn Error>> {
        Ok([self.bake(scene, content, None, 1)?, self.bake(scene, content, None, 2)?])
    }

    /// Adds a sun to a dark level, in pages of indirect light.
    fn suns(&self, scene: &Scene) -> Result<(), Box<dyn Error>> {
        let base = self.relit(&without_lights(scene), Content::Indirect)?;
        for hour in HOURS {
            let lit = Scene { lights: vec![sun_at(hour)], ..without_lights(scene) };
            let truths = self.truths(&lit, Content::Indirect)?;
            let mut relighter = Relighter::new(level_of(&base)?);
            relighter.set_lights(&[LiveLight { id: 1, light: sun_at(hour), is_excluded: false }], &[]);
            report_light(&format!("sun at {hour}, indirect light"), &mut relighter, &base, &truths);
        }
        Ok(())
    }

    /// Switches on emissive surfaces in a dark level, in pages of all light.
    fn panels(&self, scene: &Scene) -> Result<(), Box<dyn Error>> {
        let base = self.relit(&without_lights(scene), Content::Full)?;
        for name in GLOWING {
            let mut lit = without_lights(scene);
            let materials = lit.materials.iter_mut().zip(&scene.materials).filter(|(lit, _)| lit.name == name);
            materials.for_each(|(lit, shining)| lit.emission = shining.emission);
            let panel = |surface: SurfaceId| LivePanel { surface, emission: lit.material_of(surface).emission };
            let panels: Vec<LivePanel> =
                lit.surface_ids().map(panel).filter(|panel| panel.emission != Vec3::ZERO).collect();
            let truths = self.truths(&lit, Content::Full)?;
            let mut relighter = Relighter::new(level_of(&base)?);
            relighter.set_lights(&[], &panels);
            let what = format!("{} surfaces of '{name}', all light", panels.len());
            report_light(&what, &mut relighter, &base, &truths);
        }
        Ok(())
    }

    /// Opens a door while all lamps and panels emit light, in pages of all light.
    fn door(&self, scene: &Scene, door: SurfaceId) -> Result<(), Box<dyn Error>> {
        let mut open = scene.clone();
        open.surfaces[door.index()].role = Role::Occluder;
        let mut shut = open.clone();
        let place = &mut shut.surfaces[door.index()].to_world;
        let (scale, _, hinge) = place.to_scale_rotation_translation();
        *place = Affine3A::from_scale_rotation_translation(scale, Quat::IDENTITY, hinge);
        let to = |scene: &Scene| [Door { surface: door, to_world: Some(scene.surface(door).to_world) }];
        let base = self.relit(&shut, Content::Full)?;
        let level = level_of(&base)?;
        let mut doors = timed("doors prepared", || Doors::new(level.clone(), &Unmonitored))?;
        let placed = timed("a door opened", || doors.place(&to(&open), &Unmonitored))?;
        timed("and shut", || doors.place(&to(&shut), &Unmonitored))?;
        let placed = placed.ok_or("the door opens no further than it stood")?;
        let asked = placed.asked;
        let mut relighter = Relighter::new(level);
        let before = settled(&mut relighter, &base, 0);
        relighter.set_level(placed);
        let after = settled(&mut relighter, &base, 0);
        let truths = self.truths(&open, Content::Full)?;
        let all = [&before, &after].map(|pages| off(&base, pages, &truths, |_| true));
        let near = [&before, &after].map(|pages| off(&base, pages, &truths, |at| at.distance(hinge) < NEAR));
        println!("| a door opens, all light; {asked} elements asked | {:.1} % before | {:.1} % |", all[0], all[1]);
        println!("| ... within {NEAR} m of its hinge | {:.1} % before | {:.1} % |", near[0], near[1]);
        Ok(())
    }
}

fn without_lights(scene: &Scene) -> Scene {
    let mut dark = scene.clone();
    dark.lights.clear();
    dark.materials.iter_mut().for_each(|material| material.emission = Vec3::ZERO);
    dark
}

/// Returns the sun: east at 6, highest at 12, west at 18, as in the example `moving_sun`.
fn sun_at(hour: f32) -> Light {
    let angle = (hour - 12.0) * (TAU / 24.0);
    let direction = -Vec3::new(-angle.sin(), 0.9 * angle.cos(), 0.8).normalize();
    let kind = LightKind::Directional { direction, illuminance: Vec3::splat(70_000.0), angular_diameter: 0.0 };
    Light { name: "sun".to_owned(), kind }
}

pub fn level_of(bake: &BakeOutput) -> Result<RelightInput, Box<dyn Error>> {
    let precomputed = bake.relight.clone().ok_or("a bake without transport")?;
    let shown = (bake.pages.clone(), bake.settings.solver.content);
    Ok(RelightInput::new(bake.scene.clone(), bake.world.clone(), &bake.layout, precomputed, shown, &Unmonitored)?)
}

fn report_light(what: &str, relighter: &mut Relighter, base: &BakeOutput, truths: &[BakeOutput; HALVES]) {
    let [first, rest] = [0, UpdateSettings::default().bounces].map(|sweeps| {
        let pages = settled(relighter, base, sweeps);
        off(base, &pages, truths, |_| true)
    });
    println!("| {what} | {first:.1} % | {rest:.1} % |");
}

/// Returns the pages once the light has settled.
fn settled(relighter: &mut Relighter, bake: &BakeOutput, sweeps: u32) -> Vec<Vec<Vec3>> {
    let settings = UpdateSettings { bounces: sweeps, ..UpdateSettings::default() };
    timed("until it is settled", || while !relighter.update(&settings).is_settled() {});
    (0..bake.pages.len()).map(|page| relighter.page(page).to_vec()).collect()
}

/// Returns the RMS error of luminance in per cent of its RMS. The two reference bakes share no random numbers.
fn off(base: &BakeOutput, pages: &[Vec<Vec3>], truths: &[BakeOutput; HALVES], counts: impl Fn(Vec3) -> bool) -> f64 {
    let receivers = base.relight.iter().flat_map(|relight| {
        let receivers = &relight.receivers;
        receivers.texel.iter().zip(&receivers.center)
    });
    let (mut difference, mut square) = (0.0, 0.0);
    for (texel, _) in receivers.filter(|(_, center)| counts(**center)) {
        let page = texel.page as usize;
        let index = truths[0].pages[page].index(u32::from(texel.x), u32::from(texel.y));
        if truths[0].pages[page].validity[index] > 0.5 {
            let found = f64::from(luminance(pages[page][index]));
            let [first, second] = truths.each_ref().map(|truth| f64::from(luminance(truth.pages[page].texels[index])));
            difference += (found - first) * (found - second);
            square += first * second;
        }
    }
    100.0 * (difference.max(0.0) / square).sqrt()
}
