use core::f32::consts::PI;
use std::sync::{Arc, Mutex};

use glam::Vec3;

use super::test_scene::{TestScene, grey, mean_over, shining};
use super::{
    Method, Partial, Pass, Snapshot, Solution, SolveError, SolveObserver, SolverSettings, StepError, SubsceneSettings,
    solve,
};
use crate::kdtree::BruteForce;
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::scene::{Sky, luminance};

fn settings(error: f32) -> SolverSettings {
    SolverSettings { error, ..SolverSettings::default() }
}

const METHODS: [Method; 4] = [Method::Gather, Method::Stochastic, Method::Progressive, Method::Path];

/// Settings for light of which only the mean over many elements is looked at, where the noise of paths cancels.
fn settings_for_mean(method: Method, error: f32) -> SolverSettings {
    SolverSettings { method, ..settings(if method == Method::Path { 5.0 * error } else { error }) }
}

#[test]
fn a_closed_furnace_is_evenly_bright() {
    let without_noise = [Method::Gather, Method::Progressive].map(|method| [(method, 0.5), (method, 0.9)]).concat();
    for (method, reflectance) in without_noise.into_iter().chain([(Method::Stochastic, 0.5), (Method::Path, 0.5)]) {
        let mut test = TestScene::default();
        let faces = test.room(Vec3::new(2.0, 1.0, 3.0), 4, |_| shining(reflectance, 1.0));
        let (elements, solution) = test.solve(&SolverSettings { method, ..settings(0.005) });
        let expected = PI / (1.0 - reflectance);
        let relative = |element: usize| (solution.direct[element] + solution.indirect[element]).x / expected;
        for face in faces {
            let mean = mean_over(&elements, face, relative);
            assert!((mean - 1.0).abs() < 0.005, "{method:?} {reflectance}: {mean} times the truth");
        }
        for element in 0..elements.len() {
            assert!((relative(element) - 1.0).abs() < 0.03, "{method:?} {reflectance}: {}", relative(element));
        }
        assert!(solution.energy_balance.abs() < 0.005, "{}", solution.energy_balance);
    }
}

#[test]
fn a_closed_room_that_absorbs_nothing_ends_by_every_method_and_is_said_to_have_none() {
    let mut test = TestScene::default();
    test.room(Vec3::ONE, 2, |face| shining(1.0, if face == 1 { 1.0 } else { 0.0 }));
    let subscenes = Some(SubsceneSettings::default());
    let in_subscenes = SolverSettings { method: Method::Progressive, subscenes, ..settings(0.05) };
    let at_once = METHODS.map(|method| SolverSettings { method, ..settings(0.05) });
    for settings in at_once.into_iter().chain([in_subscenes]) {
        let (_, solution) = test.solve(&settings);
        let method = settings.method;
        assert!(solution.indirect.iter().all(|light| light.is_finite() && light.x > 1.0), "{method:?}");
        assert!(!solution.residual_standard_error.is_nan(), "{method:?}");
        let is_said = solution.warnings.iter().any(|warning| warning.contains("reflectances near one"));
        assert!(is_said, "{method:?}: {:?}", solution.warnings);
    }
}

#[test]
fn the_unit_cube_under_a_shining_ceiling_matches_converged_radiosities() {
    // Mean radiosities of a ceiling that emits 1 lm/m2, by deterministic collocation with 45 x 45 patches a face.
    for (reflectance, floor, ceiling, wall) in
        [(0.2, 0.0464, 1.0118, 0.0480), (0.5, 0.1712, 1.1043, 0.1811), (0.8, 0.661, 1.587, 0.688)]
    {
        for method in METHODS {
            let mut test = TestScene::default();
            let faces = test.room(Vec3::ONE, 16, |face| shining(reflectance, if face == 1 { 1.0 / PI } else { 0.0 }));
            let (elements, solution) = test.solve(&settings_for_mean(method, 0.01));
            let reflected = |face: usize| {
                mean_over(&elements, faces[face], |element| {
                    reflectance * (solution.direct[element] + solution.indirect[element]).x
                })
            };
            for (found, expected) in [(reflected(0), floor), (1.0 + reflected(1), ceiling), (reflected(2), wall)] {
                assert!(
                    (found / expected - 1.0).abs() < 0.005,
                    "{method:?} {reflectance}: {found} instead of {expected}"
                );
            }
        }
    }
}

#[test]
fn indirect_light_of_a_closed_room_follows_its_reflectance() {
    // CIE 171:2006 test 5.8: a 4 m cube, an isotropic lamp of 10,000 lm in its middle.
    for reflectance in [0.05, 0.5, 0.8, 0.95] {
        let mut test = TestScene::default();
        test.room(Vec3::splat(4.0), 8, |_| grey(reflectance));
        test.point_light(Vec3::splat(2.0), 10_000.0 / (4.0 * PI));
        let (elements, solution) = test.solve(&settings(0.02));
        let all: f32 = elements.area.iter().sum();
        let mean = |light: &[Vec3]| light.iter().zip(&elements.area).map(|(e, a)| e.x * a).sum::<f32>() / all;
        let expected = 10_000.0 * reflectance / (96.0 * (1.0 - reflectance));
        assert!((mean(&solution.direct) / (10_000.0 / 96.0) - 1.0).abs() < 0.005);
        let found = mean(&solution.indirect);
        assert!((found / expected - 1.0).abs() < 0.01, "reflectance {reflectance}: {found} instead of {expected}");
    }
}

/// A grey room with a lamp and a block in it.
pub(super) fn room_with_block() -> TestScene {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 2.0, 2.0), 6, |face| if face == 2 { shining(0.6, 5.0) } else { grey(0.6) });
    test.block(Vec3::new(0.5, 0.0, 0.6), Vec3::new(1.2, 0.9, 1.3), 4, &grey(0.4));
    test.point_light(Vec3::new(1.6, 1.7, 1.5), 20.0);
    test
}

fn mean_irradiance(elements: &Elements, solution: &Solution) -> f32 {
    mean_of(elements, solution, |i| luminance(solution.direct[i] + solution.indirect[i]))
}

fn mean_of(elements: &Elements, solution: &Solution, of: impl Fn(usize) -> f32) -> f32 {
    let (sum, area) = (0..elements.len()).fold((0.0, 0.0), |(sum, area), element| {
        let visible = elements.area[element] * solution.visible_fraction[element];
        (sum + visible * of(element), area + visible)
    });
    sum / area
}

#[test]
fn all_methods_agree() {
    let test = room_with_block();
    let [gathered, shot, refined, followed] = METHODS.map(|method| {
        let (elements, solution) = test.solve(&settings_for_mean(method, 0.02));
        assert!(solution.unshot < 1e-3, "{method:?}: {}", solution.unshot);
        let first_bounce = mean_of(&elements, &solution, |i| luminance(elements.reflectance[i] * solution.direct[i]));
        let claimed = solution.error_of_mean * mean_irradiance(&elements, &solution) / first_bounce;
        let Solution { residual, residual_standard_error: error, .. } = solution;
        assert!(residual < claimed && error < 0.02, "{method:?}: {residual}, give or take {error}, at most {claimed}");
        mean_irradiance(&elements, &solution)
    });
    assert!((gathered / shot - 1.0).abs() < 0.01, "{gathered} gathered, {shot} shot");
    assert!((gathered / refined - 1.0).abs() < 0.01, "{gathered} gathered, {refined} refined");
    assert!((gathered / followed - 1.0).abs() < 0.01, "{gathered} gathered, {followed} followed");
}

#[test]
fn things_that_coincide_shine_like_one_by_all_methods() {
    for method in METHODS {
        let [one, many] = [1, 100].map(|count| {
            let (_, solution) = TestScene::with_copies(count, 2).solve(&settings_for_mean(method, 0.02));
            solution.indirect[..6 * 16].iter().map(|light| light.x).sum::<f32>()
        });
        assert!((many / one - 1.0).abs() < 0.02, "{method:?}: {many} instead of {one}");
    }
}

#[test]
fn parallel_squares_exchange_their_form_factor_and_lose_the_rest() {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [8; 2], grey(0.0));
    test.quad(Vec3::Y, Vec3::X, Vec3::Z, [8; 2], shining(0.0, 1.0));
    let (elements, solution) = test.solve(&settings(0.004));
    let floor = crate::geometry::SurfaceId(0);
    let found = mean_over(&elements, floor, |element| solution.direct[element].x) / PI;
    assert!((found / 0.199_825 - 1.0).abs() < 0.005, "{found}");
}

#[test]
fn without_light_all_is_black_and_finite() {
    for method in METHODS {
        let mut test = TestScene::default();
        test.room(Vec3::ONE, 3, |_| grey(0.9));
        let (_, solution) = test.solve(&SolverSettings { method, ..settings(0.05) });
        assert!(solution.direct.iter().chain(&solution.indirect).all(|&light| light == Vec3::ZERO));
        assert_eq!((solution.error_estimate, solution.residual, solution.energy_balance), (0.0, 0.0, 0.0));
    }
}

#[test]
fn an_even_sky_reaches_an_open_floor_whole() {
    let mut test = TestScene::default();
    let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], grey(0.5));
    test.scene.sky = Sky::Uniform(Vec3::new(1.0, 2.0, 3.0));
    let (elements, solution) = test.solve(&settings(0.05));
    for element in elements.of_surface(floor) {
        assert!((solution.direct[element] - Vec3::new(1.0, 2.0, 3.0) * PI).length() < 1e-4);
        assert_eq!(solution.indirect[element], Vec3::ZERO);
    }
}

/// A floor of texels of 1 m under an even sky, with a block that covers half of one and the whole of its neighbour, and
/// the element whose centre lies at a point.
fn under_a_block(height: f32) -> (Elements, Solution, impl Fn(&Elements, f32) -> usize) {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z * 4.0, Vec3::X * 4.0, [4; 2], grey(0.0));
    test.block(Vec3::new(1.5, 0.0, 1.0), Vec3::new(3.0, height, 2.0), 0, &grey(0.0));
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    let (elements, solution) = test.solve(&settings(0.01));
    let at = |elements: &Elements, x: f32| {
        let place = Vec3::new(x, 0.0, 1.5);
        (0..elements.len())
            .find(|&id| (elements.centre[id] - place).length() < 0.1)
            .expect("an element has its centre there")
    };
    (elements, solution, at)
}

#[test]
fn the_part_of_a_texel_under_a_block_is_an_element_that_no_light_reaches() {
    let (elements, solution, at) = under_a_block(0.2);
    // The walls of the block part the neighbours in its row too.
    let [open, lit, dark, buried] = [3.5, 1.25, 1.75, 2.5].map(|x| at(&elements, x));
    assert_eq!([lit, dark].map(|part| elements.area[part]), [0.5; 2]);
    let visible = [open, lit, dark, buried].map(|element| solution.visible_fraction[element]);
    assert_eq!(visible, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(solution.direct[dark], Vec3::ZERO);
    // The open half sees most of the sky: averaged over the whole texel it would have less than half.
    assert!(solution.direct[lit].x > 0.75 * PI, "{}", solution.direct[lit]);
}

#[test]
fn the_part_of_a_texel_under_a_low_block_is_left_out() {
    // Too low to part what lies around it.
    let (elements, solution, at) = under_a_block(0.02);
    let [open, half, buried] = [3.5, 1.5, 2.5].map(|x| at(&elements, x));
    assert_eq!((solution.visible_fraction[open], solution.visible_fraction[buried]), (1.0, 0.0));
    assert!((solution.visible_fraction[half] - 0.5).abs() < 0.1, "{}", solution.visible_fraction[half]);
    assert_eq!(solution.direct[buried], Vec3::ZERO);
    assert!(solution.direct[half].x > 0.95 * PI, "{}", solution.direct[half]);
}

/// A floor of texels of 1 m under an even sky, and boards on it, too low to part them, that leave a slit of each open.
fn between_boards(slit: f32) -> TestScene {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z * 8.0, Vec3::X * 8.0, [8; 2], grey(0.0));
    for board in 0..8 {
        let left = board as f32;
        test.block(Vec3::new(left, 0.0, 0.0), Vec3::new(left + 1.0 - slit, 0.25 * slit, 8.0), 0, &grey(0.0));
    }
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    test
}

#[test]
fn a_slit_that_only_one_half_has_found_yet_is_open_to_both() {
    // The first rays of half of the texels miss it.
    let (_, Solution { halves: [first, second], .. }) = between_boards(0.04).solve(&settings(0.05));
    let lit = |light: &Vec3| light.x > 0.0;
    assert!(first.iter().filter(|light| lit(light)).count() > 32);
    assert!(first.iter().zip(&second).all(|(a, b)| lit(a) == lit(b)), "{first:?} {second:?}");
}

#[test]
fn a_slit_of_a_hundredth_that_no_ray_has_found_at_first_is_found_in_the_end() {
    for method in METHODS {
        let settings = SolverSettings { method, ..settings(0.01) };
        let (_, Solution { visible_fraction, direct, .. }) = between_boards(0.01).solve(&settings);
        let dark = direct.iter().filter(|light| light.x == 0.0).count();
        assert_eq!(dark, 0, "{method:?}: {visible_fraction:?}");
    }
}

#[test]
fn the_back_of_a_single_sided_surface_absorbs_and_does_not_bury() {
    let mut test = TestScene::default();
    let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], grey(0.5));
    // A wide ceiling that faces up: from below only its back is seen.
    let side = 1.0;
    test.quad(Vec3::new(0.0, 0.5, 0.0), Vec3::Z * side, Vec3::X * side, [2; 2], grey(0.9));
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    let (elements, solution) = test.solve(&settings(0.01));
    // Form factor of two parallel squares of side 1 at a distance of 0.5 (Howell C-11): what the ceiling takes away.
    let expected = PI * (1.0 - 0.415_253);
    let found = mean_over(&elements, floor, |element| solution.direct[element].x);
    let seen = mean_over(&elements, floor, |element| solution.visible_fraction[element]);
    assert!(seen > 0.999 && (found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}, {seen} visible");
}

#[test]
fn surfaces_without_texels_reflect_like_any_other() {
    let mut test = TestScene::default();
    test.room(Vec3::ONE, 4, |_| shining(0.5, 1.0));
    // One wall loses its texels.
    test.layout.placements[5] = None;
    test.scene.surfaces[5].role = crate::scene::Role::Occluder;
    for method in METHODS {
        let (elements, solution) = test.solve(&settings_for_mean(method, 0.005));
        let found = mean_irradiance(&elements, &solution);
        assert!((found / (2.0 * PI) - 1.0).abs() < 0.005, "{method:?}: {found}");
    }
}

#[test]
fn a_bounce_limit_cuts_the_geometric_series() {
    // In a furnace each bounce brings the reflectance times the one before.
    for (bounces, expected) in [(0, 0.0), (1, 0.5), (2, 0.75), (3, 0.875)] {
        for method in [Method::Gather, Method::Stochastic, Method::Path] {
            let mut test = TestScene::default();
            test.room(Vec3::ONE, 3, |_| shining(0.5, 1.0));
            let (_, solution) = test.solve(&SolverSettings { method, bounces: Some(bounces), ..settings(0.005) });
            assert_eq!(solution.unshot, 0.0, "nobody asked for more");
            let found =
                solution.indirect.iter().map(|light| light.x).sum::<f32>() / solution.indirect.len() as f32 / PI;
            assert!((found - expected).abs() < 0.01, "{method:?}, {bounces} bounces: {found} instead of {expected}");
        }
    }
}

/// Keeps the checkpoint of one pass, and stops after another.
#[derive(Default)]
struct Interrupter {
    keep_pass: u32,
    stop_at_once: bool,
    kept: Mutex<Option<Vec<u8>>>,
}

impl Monitor for Interrupter {
    fn progress(&self, fraction: f32) {
        assert!((0.0..=1.0).contains(&fraction));
    }

    fn is_cancelled(&self) -> bool {
        self.stop_at_once
    }
}

impl SolveObserver for Interrupter {
    fn pass_finished(&self, pass: &Pass, state: &Snapshot<'_>) -> Result<(), StepError> {
        if pass.number == self.keep_pass {
            let mut bytes = Vec::new();
            state()?.write(&mut bytes).expect("there is room");
            *self.kept.lock().expect("one thread") = Some(bytes);
        }
        Ok(())
    }
}

#[test]
fn a_resumed_bake_and_any_number_of_threads_give_the_same_bytes() {
    let test = room_with_block();
    let scene = Arc::new(test.scene.clone());
    let world = BruteForce::new(&scene);
    let elements = test.elements();
    for method in METHODS {
        // Direct light may be the noisier, the more bounces are to follow: at 0.05 one pass would be enough for it.
        let error = if method == Method::Progressive { 0.01 } else { 0.05 };
        let settings = SolverSettings { method, seed: 5, ..settings(error) };
        let solve_with = |threads: usize, resume: Option<Partial<'_>>, observer: &Interrupter| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| solve(&scene, &world, &elements, &settings, resume, observer)).expect("nobody cancels")
        };
        let observer = Interrupter { keep_pass: 2, ..Interrupter::default() };
        let undisturbed = solve_with(1, None, &observer);
        let checkpoint = observer.kept.into_inner().expect("one thread").expect("more than two passes");
        let partial = Partial::from_bytes(&checkpoint).expect("just written");
        let resumed = solve_with(3, Some(partial), &Interrupter::default());
        assert_eq!((&undisturbed.direct, &undisturbed.indirect), (&resumed.direct, &resumed.indirect), "{method:?}");
        assert_eq!(undisturbed.rays, resumed.rays);
        assert!(Partial::from_bytes(&checkpoint[..checkpoint.len() - 1]).is_err());
        let other = SolverSettings { seed: 6, ..settings };
        let partial = Partial::from_bytes(&checkpoint).expect("just written");
        let refused = solve(&scene, &world, &elements, &other, Some(partial), &Interrupter::default());
        assert_eq!(refused.expect_err("another seed"), SolveError::OtherInputs);
    }
}

#[test]
fn a_cancelled_bake_ends_without_a_solution() {
    let test = room_with_block();
    let scene = Arc::new(test.scene.clone());
    let world = BruteForce::new(&scene);
    let observer = Interrupter { stop_at_once: true, ..Interrupter::default() };
    let ended = solve(&scene, &world, &test.elements(), &settings(1e-4), None, &observer);
    assert!(matches!(ended, Err(SolveError::Cancelled(_))));
}

#[test]
fn hits_that_do_not_fit_into_memory_are_shot_for_with_a_warning() {
    let test = room_with_block();
    let (_, solution) = test.solve(&SolverSettings { memory_mib: 0, ..settings(0.1) });
    assert!(solution.warnings.iter().any(|warning| warning.contains("do not fit")), "{:?}", solution.warnings);
    assert!(solution.indirect.iter().all(|light| light.is_finite()));
}
