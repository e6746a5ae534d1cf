//! Baked lights that change in their place.

use super::*;

/// Color of the lamp as baked, and after a change, in cd.
const BAKED: Vec3 = Vec3::new(10.0, 8.0, 5.0);
const BLUE: Vec3 = Vec3::new(1.0, 4.0, 12.0);

fn colored_lamp(intensity: Vec3) -> Light {
    let kind = LightKind::Point { position: LAMP, intensity, radius: 0.0, range: f32::INFINITY };
    Light { name: "lamp".to_owned(), kind }
}

/// Bakes with little noise.
fn bake_well(scene: Scene, content: Content, relight: Option<u32>) -> BakeOutput {
    bake_to(4.0, 0.01, scene, content, relight)
}

fn glowing(scene: &Scene, factor: f32) -> Vec<LivePanel> {
    let panel = |surface| LivePanel { surface, emission: factor * scene.material_of(surface).emission };
    scene.surface_ids().map(panel).collect()
}

#[test]
fn a_light_that_changes_in_its_place_is_within_one_percent_of_a_bake_at_once_and_without_rays() {
    for content in [Content::Indirect, Content::Full] {
        let baked = bake_well(room(1.0, vec![colored_lamp(BAKED)]), content, Some(400));
        for (glow, intensity) in [(1.0, Vec3::ZERO), (0.3, 3.0 * BLUE)] {
            let truth = bake_well(room(glow, vec![colored_lamp(intensity)]), content, None);
            let mut relighter = Relighter::new(level_of(&baked));
            relighter.set_lights(&live(&[colored_lamp(BAKED)]), &[]);
            relighter.set_lights(&live(&[colored_lamp(intensity)]), &glowing(&baked.scene, glow));
            // Smoothing over time hides noise, and there is none.
            let update = relighter.update(&UpdateSettings { keep: 0.9, ..UpdateSettings::default() });
            assert!(update.is_settled() && update.rays == 0, "{update:?}");
            let [mean, rms] = [mean_error(&relighter, &truth.pages), error(&relighter, &truth.pages)];
            println!("{content:?}, panel x {glow}, lamp {intensity}: mean {mean}, RMS {rms}");
            assert!(mean < 0.01, "{content:?}, panel x {glow}, lamp {intensity}: {mean}");
        }
    }
}

#[test]
fn a_room_is_black_once_all_its_lights_are_out() {
    for baked in [indirect(), full()] {
        let mut relighter = Relighter::new(level_of(baked));
        relighter.set_lights(&live(&[lamp_at(LAMP, 0.0)]), &glowing(&baked.scene, 0.0));
        relighter.update(&UpdateSettings::default());
        for index in 0..baked.pages.len() {
            assert!(relighter.page(index).iter().all(|texel| texel.max_element() < 1e-5));
        }
    }
}

#[test]
fn rooms_with_walls_that_cut_texels_are_black_once_all_their_lights_are_out() {
    let scene = builtin_scenes::build("two_rooms").unwrap();
    let baked = bake(scene, Content::Full, Some(100));
    let lights = &baked.scene.lights;
    let mut relighter = Relighter::new(level_of(&baked));
    relighter.set_lights(&live(lights), &[]);
    relighter.set_lights(&[], &glowing(&baked.scene, 0.0));
    relighter.update(&UpdateSettings::default());
    for (index, page) in baked.pages.iter().enumerate() {
        let sum = |texels: &[Vec3]| texels.iter().map(|texel| luminance(*texel)).sum::<f32>();
        let [before, after] = [sum(&page.texels), sum(relighter.page(index))];
        println!("{before} {after}");
        assert!(after < 1e-3 * before, "{before} {after}");
    }
}

#[test]
fn a_lamp_that_begins_to_move_and_comes_back_neither_blinks_nor_flashes() {
    let mean = |relighter: &Relighter| {
        let texels: Vec<Vec3> = (0..indirect().pages.len()).flat_map(|page| relighter.page(page).to_vec()).collect();
        luminance(texels.iter().sum::<Vec3>())
    };
    let mut relighter = Relighter::new(level_of(indirect()));
    let smooth = UpdateSettings { keep: 0.9, rays: u32::MAX, ..UpdateSettings::default() };
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    let place = LAMP - 0.02 * Vec3::X;
    let before = mean(&relighter);
    for position in [place, LAMP, place, LAMP] {
        relighter.set_lights(&live(&[lamp_at(position, 10.0)]), &[]);
        relighter.update(&smooth);
        let now = mean(&relighter);
        assert!((now / before - 1.0).abs() < 0.1, "{now} for {before}");
    }
}
