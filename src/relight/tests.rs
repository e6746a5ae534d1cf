//! Tests that compare relit pages with full bakes, and check that unchanged lights cost nothing.

use std::sync::{Arc, OnceLock};

use glam::Vec3;

mod colors;
mod doors;
mod in_place;
mod settled;
mod states;
mod unmapped;

use super::*;
use crate::Device;
use crate::bake::{BakeOutput, BakeSettings, RelightPatches, Unobserved, run_on};
use crate::builtin_scenes;
use crate::geometry::SurfaceId;
use crate::lightmap::Page;
use crate::progress::Unmonitored;
use crate::radiosity::Content;
use crate::scene::check::repair;
use crate::scene::{Light, LightKind, Scene, luminance};

const LAMP: Vec3 = Vec3::new(0.5, 0.6, 0.2);

fn lamp_at(position: Vec3, candela: f32) -> Light {
    let kind = LightKind::Point { position, intensity: Vec3::splat(candela), radius: 0.0, range: f32::INFINITY };
    Light { name: "lamp".to_owned(), kind }
}

/// Builds the Cornell box with its two blocks and some lamps. `glow` scales its emission.
fn room(glow: f32, lights: Vec<Light>) -> Scene {
    let mut scene = builtin_scenes::build("cornell_box").unwrap();
    scene.materials.iter_mut().for_each(|material| material.emission *= glow);
    scene.lights = lights;
    scene
}

fn bake(scene: Scene, content: Content, relight: Option<u32>) -> BakeOutput {
    bake_to(8.0, 0.02, scene, content, relight)
}

fn bake_to(texels_per_meter: f32, error: f32, scene: Scene, content: Content, relight: Option<u32>) -> BakeOutput {
    let mut settings = BakeSettings { volume: None, relight: relight.map(RelightPatches), ..BakeSettings::default() };
    settings.layout.texels_per_meter = texels_per_meter;
    settings.solver.error = error;
    settings.solver.content = content;
    // The reference bake uses another seed.
    settings.solver.seed = u32::from(relight.is_none());
    run_on(&Device::Cpu, repair(scene).0, &settings, &Unobserved).unwrap()
}

fn level_of(bake: &BakeOutput) -> RelightInput {
    RelightInput::new(
        Arc::clone(&bake.scene),
        bake.world.clone(),
        &bake.layout,
        Arc::clone(bake.relight.as_ref().unwrap()),
        (bake.pages.clone(), bake.settings.solver.content),
        &Unmonitored,
    )
    .unwrap()
}

/// Returns a bake of indirect light: a lamp of 10 cd, and the ceiling panel.
fn indirect() -> &'static BakeOutput {
    static BAKE: OnceLock<BakeOutput> = OnceLock::new();
    BAKE.get_or_init(|| bake(room(1.0, vec![lamp_at(LAMP, 10.0)]), Content::Indirect, Some(400)))
}

/// Returns a bake of all light of that scene.
fn full() -> &'static BakeOutput {
    static BAKE: OnceLock<BakeOutput> = OnceLock::new();
    BAKE.get_or_init(|| bake(room(1.0, vec![lamp_at(LAMP, 10.0)]), Content::Full, Some(400)))
}

fn live(lights: &[Light]) -> Vec<LiveLight> {
    let live = |(id, light): (usize, &Light)| LiveLight { id: id as u64, light: light.clone(), is_excluded: false };
    lights.iter().enumerate().map(live).collect()
}

/// Updates until nothing changes. Returns the number of rays traced.
fn settle(relighter: &mut Relighter) -> u64 {
    let mut rays = 0;
    for _ in 0..1000 {
        let update = relighter.update(&UpdateSettings::default());
        rays += update.rays;
        if update.is_settled() {
            return rays;
        }
    }
    panic!("it does not settle");
}

fn bits(relighter: &Relighter, pages: &[Page]) -> Vec<Vec<[u32; 3]>> {
    let bits = |page: &[Vec3]| page.iter().map(|texel| texel.to_array().map(f32::to_bits)).collect();
    (0..pages.len()).map(|page| bits(relighter.page(page))).collect()
}

fn baked_bits(pages: &[Page]) -> Vec<Vec<[u32; 3]>> {
    pages.iter().map(|page| page.texels.iter().map(|texel| texel.to_array().map(f32::to_bits)).collect()).collect()
}

/// Returns the RMS difference of luminance relative to the mean of the reference, over valid texels.
fn error(relighter: &Relighter, truth: &[Page]) -> f32 {
    let (mut squares, mut sum, mut count) = (0.0f64, 0.0f64, 0.0f64);
    for (index, page) in truth.iter().enumerate() {
        let texels = relighter.page(index).iter().zip(&page.texels).zip(&page.validity);
        for ((found, truth), _) in texels.filter(|(_, validity)| **validity > 0.5) {
            squares += f64::from(luminance(*found - *truth)).powi(2);
            sum += f64::from(luminance(*truth));
            count += 1.0;
        }
    }
    ((squares / count).sqrt() / (sum / count)) as f32
}

/// Returns the mean difference of luminance relative to the mean of the reference, over valid texels.
fn mean_error(relighter: &Relighter, truth: &[Page]) -> f32 {
    let (mut differences, mut sum) = (0.0f64, 0.0f64);
    for (index, page) in truth.iter().enumerate() {
        let texels = relighter.page(index).iter().zip(&page.texels).zip(&page.validity);
        for ((found, truth), _) in texels.filter(|(_, validity)| **validity > 0.5) {
            differences += f64::from(luminance((*found - *truth).abs()));
            sum += f64::from(luminance(*truth));
        }
    }
    (differences / sum) as f32
}

#[test]
fn an_update_tells_the_mean_distance_of_its_pages_from_a_bake_within_a_factor_of_one_and_a_half() {
    let place = Vec3::new(-0.4, 0.3, 0.6);
    let coarse = bake(room(1.0, vec![lamp_at(LAMP, 10.0)]), Content::Indirect, Some(40));
    let truth = bake(room(1.0, vec![lamp_at(place, 10.0)]), Content::Indirect, None);
    let mut relighter = Relighter::new(level_of(&coarse));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    relighter.set_lights(&live(&[lamp_at(place, 10.0)]), &[]);
    let mut told = |settings: UpdateSettings| {
        let update = relighter.update(&settings);
        let found = mean_error(&relighter, &truth.pages);
        println!("{} told, {found} found: {update:?}", update.behind);
        update.behind / found
    };
    // By some receivers of each patch, then by all.
    for rays in [100, 100, u32::MAX] {
        let ratio = told(UpdateSettings { rays, keep: 0.0, bounces: 0 });
        assert!((1.0 / 1.5..1.5).contains(&ratio), "{ratio}");
    }
}

#[test]
fn a_lamp_that_moves_lights_the_room_as_a_whole_bake_would() {
    let place = Vec3::new(-0.4, 0.3, 0.6);
    let truth = bake(room(1.0, vec![lamp_at(place, 10.0)]), Content::Indirect, None);
    let mut relighter = Relighter::new(level_of(indirect()));
    let before = error(&relighter, &truth.pages);
    assert_eq!(relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]), [""; 0]);
    relighter.set_lights(&live(&[lamp_at(place, 10.0)]), &[]);
    // A part of the receivers suffices for most of the accuracy.
    let first = relighter.update(&UpdateSettings { rays: 500, ..UpdateSettings::default() });
    let soon = error(&relighter, &truth.pages);
    assert!(first.waiting == 1 && first.rays < 1_000, "{first:?}");
    settle(&mut relighter);
    let after = error(&relighter, &truth.pages);
    println!("{before} before, {soon} after one update, {after} at rest");
    assert!(before > 0.2 && soon < 0.1 && after < 0.05, "{before} {soon} {after}");
}

#[test]
fn lights_that_come_go_or_change_their_color_and_panels_are_followed() {
    let blue = Light {
        name: "blue".to_owned(),
        kind: LightKind::Spot {
            position: Vec3::new(0.0, 0.9, 0.5),
            direction: Vec3::NEG_Y,
            intensity: Vec3::new(2.0, 5.0, 30.0),
            radius: 0.0,
            range: 10.0,
            inner_angle: 0.4,
            outer_angle: 0.6,
        },
    };
    let sun = Light {
        name: "sun".to_owned(),
        kind: LightKind::Directional {
            direction: Vec3::new(0.3, -0.4, -1.0).normalize(),
            illuminance: Vec3::new(30.0, 20.0, 10.0),
            angular_diameter: 0.0,
        },
    };
    let lights = vec![blue, sun];
    let truth = bake(room(0.25, lights.clone()), Content::Indirect, None);
    let mut relighter = Relighter::new(level_of(indirect()));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    let scene = &indirect().scene;
    let panels: Vec<LivePanel> = scene
        .surface_ids()
        .map(|surface| LivePanel { surface, emission: 0.25 * scene.material_of(surface).emission })
        .collect();
    let newcomers = live(&lights).into_iter().map(|light| LiveLight { id: light.id + 10, ..light }).collect::<Vec<_>>();
    relighter.set_lights(&newcomers, &panels);
    settle(&mut relighter);
    let error = error(&relighter, &truth.pages);
    println!("{error}");
    // All light comes from two small bright spots, and few rays of each texel hit them.
    assert!(error < 0.09, "{error}");
}

#[test]
fn pages_with_direct_light_follow_strengths_and_lose_that_of_what_moves() {
    let weaker = bake(room(0.5, vec![lamp_at(LAMP, 3.0)]), Content::Full, None);
    let mut relighter = Relighter::new(level_of(full()));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    let scene = &full().scene;
    let panels: Vec<LivePanel> = scene
        .surface_ids()
        .map(|surface| LivePanel { surface, emission: 0.5 * scene.material_of(surface).emission })
        .collect();
    relighter.set_lights(&live(&[lamp_at(LAMP, 3.0)]), &panels);
    settle(&mut relighter);
    let dimmed = error(&relighter, &weaker.pages);
    assert!(relighter.moved().is_empty());

    // The renderer draws the direct light of the moved lamp: pages hold its indirect light alone.
    let place = Vec3::new(-0.4, 0.3, 0.6);
    relighter.set_lights(&live(&[lamp_at(place, 10.0)]), &panels);
    settle(&mut relighter);
    assert_eq!(relighter.moved(), [0]);
    let mut without = bake(room(0.5, vec![]), Content::Full, None);
    let all = bake(room(0.5, vec![lamp_at(place, 10.0)]), Content::Indirect, None);
    let panel_alone = bake(room(0.5, vec![]), Content::Indirect, None);
    for ((page, all), panel) in without.pages.iter_mut().zip(&all.pages).zip(&panel_alone.pages) {
        let more = all.texels.iter().zip(&panel.texels).map(|(all, panel)| *all - *panel);
        page.texels.iter_mut().zip(more).for_each(|(texel, more)| *texel += more);
    }
    let moved = error(&relighter, &without.pages);
    println!("{dimmed} dimmed, {moved} moved");
    assert!(dimmed < 0.06 && moved < 0.1, "{dimmed} {moved}");
}

#[test]
fn a_lamp_that_rests_beside_a_wall_is_known_better_and_better_and_then_costs_nothing() {
    // The lamp is 7 cm from the left wall, and texels are 12.5 cm wide. So a center sample says little.
    let lamps = |candela: f32| [lamp_at(LAMP, 10.0), lamp_at(Vec3::new(-0.93, 0.31, 0.23), candela)];
    let truth = bake(room(1.0, lamps(10.0).into()), Content::Indirect, None);
    let mut relighter = Relighter::new(level_of(indirect()));
    relighter.set_lights(&live(&lamps(0.0)), &[]);
    relighter.set_lights(&live(&lamps(10.0)), &[]);
    let settings = UpdateSettings::default();
    let mut errors = Vec::new();
    while errors.len() < 1000 {
        let update = relighter.update(&settings);
        // The last chunk may exceed the budget: 512 receivers with 256 rays each.
        assert!(update.rays < u64::from(settings.rays) + 256 * 512, "{update:?}");
        if !update.pages.is_empty() {
            errors.push(error(&relighter, &truth.pages));
        }
        if update.is_settled() {
            break;
        }
    }
    println!("{errors:?}");
    let [.., once, better, best] = errors[..] else { panic!("{errors:?}") };
    // The remaining error comes from stored hits: few rays of a texel hit the bright spot.
    assert!(better < 0.95 * once && best < 0.9 * better, "{errors:?}");
    let refined = bits(&relighter, &truth.pages);
    for _ in 0..3 {
        assert_eq!(relighter.update(&settings), Update::default());
    }
    assert_eq!(bits(&relighter, &truth.pages), refined);
    // A new strength needs no ray.
    relighter.set_lights(&live(&lamps(20.0)), &[]);
    assert_eq!(settle(&mut relighter), 0);
}

#[test]
fn what_has_not_changed_costs_no_ray_and_changes_no_byte() {
    for bake in [indirect(), full()] {
        let mut relighter = Relighter::new(level_of(bake));
        // Rounding by files is no change.
        let rounded = LAMP * (1.0 + 1e-6);
        for _ in 0..3 {
            relighter.set_lights(&live(&[lamp_at(rounded, 10.000_1)]), &[]);
            let update = relighter.update(&UpdateSettings::default());
            assert_eq!(update, Update::default());
        }
        assert_eq!(bits(&relighter, &bake.pages), baked_bits(&bake.pages));
    }
}

#[test]
fn a_lamp_that_is_switched_off_and_on_again_leaves_no_trace_and_takes_no_ray_again() {
    for bake in [indirect(), full()] {
        let mut relighter = Relighter::new(level_of(bake));
        relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
        relighter.set_lights(&live(&[lamp_at(LAMP, 0.0)]), &[]);
        assert_eq!(settle(&mut relighter), 0);
        let off = bits(&relighter, &bake.pages);
        assert_ne!(off, baked_bits(&bake.pages));
        relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
        assert_eq!(settle(&mut relighter), 0);
        assert_eq!(bits(&relighter, &bake.pages), baked_bits(&bake.pages));
        // A removed lamp equals one that is switched off.
        relighter.set_lights(&[], &[]);
        assert_eq!(settle(&mut relighter), 0);
        assert_eq!(bits(&relighter, &bake.pages), off);
        // A new lamp of the same name and kind matches the baked one.
        let again = [LiveLight { id: 77, light: lamp_at(LAMP, 10.0), is_excluded: false }];
        relighter.set_lights(&again, &[]);
        assert_eq!(settle(&mut relighter), 0);
        assert_eq!(bits(&relighter, &bake.pages), baked_bits(&bake.pages));
        relighter.set_lights(&[], &[]);
        relighter.set_enabled(false);
        assert_eq!(settle(&mut relighter), 0);
        assert_eq!(bits(&relighter, &bake.pages), baked_bits(&bake.pages));
    }
}

#[test]
fn three_hundred_lamps_keep_the_budget_and_all_of_them_come() {
    let many = |candela: f32| -> Vec<Light> {
        let place = |index: u32| {
            let [x, z] = [index % 20, index / 20].map(|step| (step as f32 + 0.5) / 10.0 - 0.95);
            Vec3::new(x, 0.7 + 0.1 * (index as f32).sin(), z * 0.6 + 0.3)
        };
        (0..300).map(|index| Light { name: format!("lamp {index}"), ..lamp_at(place(index), candela) }).collect()
    };
    let truth = bake(room(1.0, many(0.05)), Content::Indirect, None);
    let mut relighter = Relighter::new(level_of(indirect()));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    let newcomers: Vec<LiveLight> =
        live(&many(0.05)).into_iter().map(|light| LiveLight { id: light.id + 1, ..light }).collect();
    relighter.set_lights(&newcomers, &[]);
    let settings = UpdateSettings { rays: 20_000, ..UpdateSettings::default() };
    let elements = indirect().report.elements;
    let mut updates = 0;
    loop {
        let update = relighter.update(&settings);
        // The last part of a light may exceed the budget.
        assert!(update.rays < 20_000 + elements, "{update:?}");
        updates += 1;
        if update.behind < 1.0 {
            break;
        }
        assert!(updates < 100, "some lamp is never served");
    }
    let soon = error(&relighter, &truth.pages);
    settle(&mut relighter);
    let after = error(&relighter, &truth.pages);
    println!("all seen after {updates} updates with an error of {soon}, at rest {after}");
    assert!(soon < 0.1 && after < 0.06, "{soon} {after}");
}

#[test]
fn impossible_lights_are_named_once_and_ignored() {
    let mut relighter = Relighter::new(level_of(indirect()));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    for candela in [f32::NAN, f32::INFINITY, 1e30, -3.0] {
        let warnings = relighter.set_lights(&live(&[lamp_at(LAMP, candela)]), &[]);
        let is_first = candela.is_nan();
        assert_eq!(warnings.len(), usize::from(is_first));
        assert!(!is_first || warnings[0].contains("'lamp'"), "{warnings:?}");
        assert_eq!(relighter.update(&UpdateSettings::default()), Update::default());
    }
    let panel = LivePanel { surface: SurfaceId(0), emission: Vec3::NAN };
    assert_eq!(relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[panel]).len(), 1);
    assert_eq!(relighter.update(&UpdateSettings::default()), Update::default());
    assert_eq!(bits(&relighter, &indirect().pages), baked_bits(&indirect().pages));
}

/// Returns lights that are excluded from relighting.
fn excluded(lights: &[Light]) -> Vec<LiveLight> {
    live(lights).into_iter().map(|light| LiveLight { is_excluded: true, ..light }).collect()
}

#[test]
fn excluded_lights_stay_as_they_were_baked() {
    for bake in [indirect(), full()] {
        let mut relighter = Relighter::new(level_of(bake));
        let torch = Light { name: "torch".to_owned(), ..lamp_at(Vec3::ZERO, 5.0) };
        relighter.set_lights(&excluded(&[lamp_at(LAMP, 10.0)]), &[]);
        for wandering in [&[lamp_at(Vec3::ZERO, 1.0), torch][..], &[lamp_at(Vec3::NAN, 1.0)], &[]] {
            assert_eq!(relighter.set_lights(&excluded(wandering), &[]), [""; 0]);
            assert_eq!(relighter.update(&UpdateSettings::default()), Update::default());
        }
        assert_eq!(bits(&relighter, &bake.pages), baked_bits(&bake.pages), "even once they are gone");
    }
}

#[test]
fn lights_that_are_excluded_later_go_back_to_how_they_were_baked_and_are_followed_again_once_they_are_not() {
    let torch = Light { name: "torch".to_owned(), ..lamp_at(Vec3::ZERO, 5.0) };
    let [moved, added] = [[lamp_at(Vec3::ZERO, 5.0)].into(), vec![lamp_at(LAMP, 10.0), torch]];
    for (bake, lights) in [(indirect(), &moved), (full(), &moved), (indirect(), &added)] {
        let mut relighter = Relighter::new(level_of(bake));
        relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
        relighter.set_lights(&live(lights), &[]);
        settle(&mut relighter);
        let followed = bits(&relighter, &bake.pages);
        assert_ne!(followed, baked_bits(&bake.pages));
        relighter.set_lights(&excluded(lights), &[]);
        assert_eq!(settle(&mut relighter), 0);
        assert_eq!(bits(&relighter, &bake.pages), baked_bits(&bake.pages));
        assert!(relighter.moved().is_empty());
        relighter.set_lights(&live(lights), &[]);
        settle(&mut relighter);
        assert_eq!(bits(&relighter, &bake.pages), followed);
    }
}

#[test]
fn smoothing_comes_nearer_with_every_update_and_arrives() {
    let mut plain = Relighter::new(level_of(indirect()));
    let mut smooth = Relighter::new(level_of(indirect()));
    let torch = Light { name: "torch".to_owned(), ..lamp_at(Vec3::ZERO, 5.0) };
    for relighter in [&mut plain, &mut smooth] {
        relighter.set_lights(&live(&[lamp_at(LAMP, 10.0), torch.clone()]), &[]);
    }
    settle(&mut plain);
    let settings = UpdateSettings { rays: u32::MAX, keep: 0.5, ..UpdateSettings::default() };
    let by_patches = UpdateSettings { bounces: 0, ..settings };
    let halves: Vec<f32> = (0..4).map(|_| smooth.update(&by_patches).behind).collect();
    assert!(halves.windows(2).all(|pair| pair[1] < 0.55 * pair[0]), "{halves:?}");
    while !smooth.update(&settings).is_settled() {}
    assert_eq!(bits(&smooth, &indirect().pages), bits(&plain, &indirect().pages));
}

#[test]
fn the_same_lights_and_budgets_give_the_same_bytes_for_any_number_of_threads() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut relighter = Relighter::new(level_of(full()));
            for step in 0..4 {
                let place = LAMP - Vec3::X * (0.1 * step as f32);
                relighter.set_lights(&live(&[lamp_at(place, 10.0)]), &[]);
                relighter.update(&UpdateSettings { rays: 5_000, keep: 0.3, ..UpdateSettings::default() });
            }
            let moving = bits(&relighter, &full().pages);
            settle(&mut relighter);
            assert_ne!(bits(&relighter, &full().pages), moving);
            bits(&relighter, &full().pages)
        })
    };
    assert_eq!(with(1), with(5));
}
