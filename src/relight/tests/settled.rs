//! Tests of settled lights, alone and beside moving ones, in a room with large patches.

use super::*;

/// Position of a moved or added lamp.
const PLACE: Vec3 = Vec3::new(-0.4, 0.3, 0.6);

/// Returns a relighter for 40 patches and a baked lamp of 10 cd.
fn coarse() -> Relighter {
    static BAKE: OnceLock<BakeOutput> = OnceLock::new();
    let bake = BAKE.get_or_init(|| bake(room(1.0, vec![lamp_at(LAMP, 10.0)]), Content::Indirect, Some(40)));
    let mut relighter = Relighter::new(level_of(bake));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    relighter
}

/// Returns the bake with a second lamp of 10 cd.
fn with_second() -> &'static [Page] {
    static BAKE: OnceLock<BakeOutput> = OnceLock::new();
    let lamps = || vec![lamp_at(LAMP, 10.0), lamp_at(PLACE, 10.0)];
    &BAKE.get_or_init(|| bake(room(1.0, lamps()), Content::Indirect, None)).pages
}

/// Returns the pages as shown.
fn displayed(relighter: &Relighter) -> Vec<Page> {
    let pages = relighter.level().pages.iter().enumerate();
    pages.map(|(index, page)| Page { texels: relighter.page(index).to_vec(), ..page.clone() }).collect()
}

#[test]
fn once_lights_rest_even_large_patches_tell_what_a_whole_bake_would() {
    let truth = bake(room(1.0, vec![lamp_at(PLACE, 10.0)]), Content::Indirect, None);
    let mut relighter = coarse();
    relighter.set_lights(&live(&[lamp_at(PLACE, 10.0)]), &[]);
    let all_rays = UpdateSettings { rays: u32::MAX, ..UpdateSettings::default() };
    let first = relighter.update(&all_rays);
    assert!(first.waiting == 0 && first.is_refining && !first.is_settled(), "{first:?}");
    let moving = error(&relighter, &truth.pages);
    assert!(settle(&mut relighter) > 0);
    let settled = error(&relighter, &truth.pages);
    println!("40 patches: {moving} while it moves, {settled} once it rests");
    assert!(moving > 0.06 && settled < 0.04, "{moving} {settled}");
    let at_rest = bits(&relighter, &truth.pages);
    // Earlier states of lights leave no trace.
    relighter.set_lights(&live(&[lamp_at(LAMP, 3.0)]), &[]);
    settle(&mut relighter);
    relighter.set_lights(&live(&[lamp_at(PLACE, 10.0)]), &[]);
    settle(&mut relighter);
    assert_eq!(bits(&relighter, &truth.pages), at_rest);
    let patches_alone = UpdateSettings { bounces: 0, ..all_rays };
    relighter.set_lights(&live(&[lamp_at(LAMP, 3.0)]), &[]);
    assert!(relighter.update(&patches_alone).is_settled());
}

#[test]
fn a_lamp_that_rests_is_known_as_well_as_alone_while_another_moves() {
    let mut alone = coarse();
    alone.set_lights(&live(&[lamp_at(LAMP, 10.0), lamp_at(PLACE, 10.0)]), &[]);
    alone.update(&UpdateSettings::default());
    let before = error(&alone, with_second());
    settle(&mut alone);
    let truth = error(&alone, with_second());
    // Light is linear: a second lamp adds the same to pages with a third lamp and without.
    let [mut both, mut third_alone] = [coarse(), coarse()];
    let mut apart = Vec::new();
    for step in 0..60 {
        let third = lamp_at(Vec3::new(0.5, 0.5, 0.01 * step as f32), 10.0);
        let update = |relighter: &mut Relighter, second: f32| {
            relighter.set_lights(&live(&[lamp_at(LAMP, 10.0), lamp_at(PLACE, second), third.clone()]), &[]);
            let update = relighter.update(&UpdateSettings::default());
            assert!(update.rays < 30_000 + 256 * 512 && !update.is_smoothing, "{update:?}");
        };
        update(&mut both, 10.0);
        update(&mut third_alone, 0.0);
        let mut expected = displayed(&alone);
        for ((page, third), baked) in expected.iter_mut().zip(displayed(&third_alone)).zip(&*alone.level().pages) {
            let third = third.texels.iter().zip(&baked.texels).map(|(third, baked)| *third - *baked);
            page.texels.iter_mut().zip(third).for_each(|(texel, third)| *texel += third);
        }
        apart.push(error(&both, &expected));
    }
    println!("{before} at first, {truth} at rest; apart from that while another moves: {apart:?}");
    assert!(before > 0.035 && truth < 0.02, "{before} {truth}");
    assert!(apart[0] > 0.02 && apart[20..].iter().all(|apart| *apart < 1e-5), "{apart:?}");
}

#[test]
fn a_lamp_that_flickers_is_known_as_well_as_at_rest_and_takes_no_more_rays() {
    let lamps = |candela: f32| live(&[lamp_at(LAMP, 10.0), lamp_at(PLACE, candela)]);
    let mut settled = coarse();
    settled.set_lights(&lamps(10.0), &[]);
    let all = settle(&mut settled);
    let mut flickering = coarse();
    let (mut rays, mut errors) = (0, Vec::new());
    for step in 0..60 {
        // Every third time it is as strong as the settled one.
        flickering.set_lights(&lamps([10.0, 3.0, 17.0][step % 3]), &[]);
        rays += flickering.update(&UpdateSettings::default()).rays;
        if step % 3 == 0 {
            errors.push(error(&flickering, with_second()));
        }
    }
    println!("{errors:?}");
    assert_eq!(rays, all);
    assert!(errors[0] > 0.035 && errors[10..].iter().all(|error| *error < 0.02), "{errors:?}");
    flickering.set_lights(&lamps(10.0), &[]);
    assert!(flickering.update(&UpdateSettings::default()).is_settled());
    assert_eq!(bits(&flickering, with_second()), bits(&settled, with_second()));
}

#[test]
fn beyond_eight_lamps_that_have_changed_the_others_rest_together_and_one_that_flickers_keeps_them_from_it() {
    let lamps = |last: f32| {
        let place = |index: usize| Vec3::new(0.15 * index as f32 - 0.7, 0.4, 0.5);
        let all = (0..11).map(|index| lamp_at(place(index), if index == 10 { last } else { 1.0 }));
        live(&core::iter::once(lamp_at(LAMP, 10.0)).chain(all).collect::<Vec<_>>())
    };
    let mut relighter = coarse();
    relighter.set_lights(&lamps(1.0), &[]);
    settle(&mut relighter);
    let at_rest = bits(&relighter, with_second());
    relighter.set_lights(&lamps(2.0), &[]);
    let update = relighter.update(&UpdateSettings::default());
    assert!(update.is_refining && update.rays == 0, "{update:?}");
    relighter.set_lights(&lamps(1.0), &[]);
    relighter.update(&UpdateSettings::default());
    assert_ne!(bits(&relighter, with_second()), at_rest, "patches alone tell of three of them");
    settle(&mut relighter);
    assert_eq!(bits(&relighter, with_second()), at_rest);
}

#[test]
fn what_a_ninth_lamp_came_to_goes_with_it_even_while_others_are_yet_to_be_seen() {
    let lamps = |count: usize| -> Vec<Light> {
        let places = (0..count).map(|index| Vec3::new(0.15 * index as f32 - 0.7, 0.4, 0.5));
        core::iter::once(lamp_at(LAMP, 10.0)).chain(places.map(|place| lamp_at(place, 1.0))).collect()
    };
    let [eight, mut nine] = [8, 9].map(|count| {
        let mut relighter = coarse();
        relighter.set_lights(&live(&lamps(count)), &[]);
        settle(&mut relighter);
        relighter
    });
    let elements = |relighter: &Relighter| relighter.difference().elements.to_vec();
    assert_ne!(elements(&nine), elements(&eight));
    // Two lamps are added when the ninth goes, and one update can sample no more than one.
    let mut lamps = lamps(11);
    lamps[9] = lamp_at(Vec3::new(0.5, 0.4, 0.5), 0.0);
    nine.set_lights(&live(&lamps), &[]);
    let update = nine.update(&UpdateSettings { rays: 1, ..UpdateSettings::default() });
    assert_eq!(update.behind, 1.0);
    assert!(elements(&nine) == elements(&eight));
}
