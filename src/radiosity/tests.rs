use core::f32::consts::PI;
use std::sync::{Arc, Mutex};

use glam::Vec3;

use super::test_scene::{TestScene, emissive, gray, mean_over};
use super::{
    Method, Pass, Snapshot, Solution, SolveError, SolveObserver, SolverCheckpoint, SolverSettings, StepError,
    SubsceneSettings, solve,
};
use crate::accel::{Preset, World};
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::scene::{Sky, luminance};

fn settings(error: f32) -> SolverSettings {
    SolverSettings { error, ..SolverSettings::default() }
}

const METHODS: [Method; 5] = [Method::Gather, Method::Stochastic, Method::Progressive, Method::Counted, Method::Path];

/// Returns settings for comparisons of means over many elements, in which the noise of paths cancels.
fn settings_for_mean(method: Method, error: f32) -> SolverSettings {
    SolverSettings { method, ..settings(if method == Method::Path { 5.0 * error } else { error }) }
}

#[test]
fn a_closed_furnace_is_evenly_bright() {
    let without_noise = [Method::Gather, Method::Progressive].map(|method| [(method, 0.5), (method, 0.9)]).concat();
    for (method, reflectance) in
        without_noise.into_iter().chain([(Method::Stochastic, 0.5), (Method::Counted, 0.5), (Method::Path, 0.5)])
    {
        let mut test = TestScene::default();
        let faces = test.room(Vec3::new(2.0, 1.0, 3.0), 4, |_| emissive(reflectance, 1.0));
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
    test.room(Vec3::ONE, 2, |face| emissive(1.0, if face == 1 { 1.0 } else { 0.0 }));
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
    // Mean radiosities for a ceiling that emits 1 lm/m2, from deterministic collocation with 45 x 45 patches a face.
    for (reflectance, floor, ceiling, wall) in
        [(0.2, 0.0464, 1.0118, 0.0480), (0.5, 0.1712, 1.1043, 0.1811), (0.8, 0.661, 1.587, 0.688)]
    {
        for method in METHODS {
            let mut test = TestScene::default();
            let faces = test.room(Vec3::ONE, 12, |face| emissive(reflectance, if face == 1 { 1.0 / PI } else { 0.0 }));
            // The mean of 144 elements has a twelfth of their noise, so this leaves four standard deviations.
            let (elements, solution) = test.solve(&settings_for_mean(method, 0.015));
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
    // CIE 171:2006, test 5.8: a cube of 4 m with an isotropic lamp of 10,000 lm in its center.
    for reflectance in [0.05, 0.5, 0.8, 0.95] {
        let mut test = TestScene::default();
        test.room(Vec3::splat(4.0), 8, |_| gray(reflectance));
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

/// Creates a gray room with a lamp and a block.
pub(super) fn room_with_block() -> TestScene {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 2.0, 2.0), 6, |face| if face == 2 { emissive(0.6, 5.0) } else { gray(0.6) });
    test.block(Vec3::new(0.5, 0.0, 0.6), Vec3::new(1.2, 0.9, 1.3), 4, &gray(0.4));
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
    let [gathered, shot, refined, counted, followed] = METHODS.map(|method| {
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
    assert!((gathered / counted - 1.0).abs() < 0.01, "{gathered} gathered, {counted} counted");
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
    test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [8; 2], gray(0.0));
    test.quad(Vec3::Y, Vec3::X, Vec3::Z, [8; 2], emissive(0.0, 1.0));
    let (elements, solution) = test.solve(&settings(0.004));
    let floor = crate::geometry::SurfaceId(0);
    let found = mean_over(&elements, floor, |element| solution.direct[element].x) / PI;
    assert!((found / 0.199_825 - 1.0).abs() < 0.005, "{found}");
}

#[test]
fn without_light_all_is_black_and_finite() {
    for method in METHODS {
        let mut test = TestScene::default();
        test.room(Vec3::ONE, 3, |_| gray(0.9));
        let (_, solution) = test.solve(&SolverSettings { method, ..settings(0.05) });
        assert!(solution.direct.iter().chain(&solution.indirect).all(|&light| light == Vec3::ZERO));
        assert_eq!((solution.error_estimate, solution.residual, solution.energy_balance), (0.0, 0.0, 0.0));
    }
}

#[test]
fn an_even_sky_reaches_an_open_floor_whole() {
    let mut test = TestScene::default();
    let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
    test.scene.sky = Sky::Uniform(Vec3::new(1.0, 2.0, 3.0));
    let (elements, solution) = test.solve(&settings(0.05));
    for element in elements.of_surface(floor) {
        assert!((solution.direct[element] - Vec3::new(1.0, 2.0, 3.0) * PI).length() < 1e-4);
        assert_eq!(solution.indirect[element], Vec3::ZERO);
    }
}

/// Solves a floor of 1 m texels under a uniform sky. A block covers half of one texel and all of the next. Also returns
/// a function that finds the element with its center at a position.
fn under_a_block(height: f32) -> (Elements, Solution, impl Fn(&Elements, f32) -> usize) {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z * 4.0, Vec3::X * 4.0, [4; 2], gray(0.0));
    test.block(Vec3::new(1.5, 0.0, 1.0), Vec3::new(3.0, height, 2.0), 0, &gray(0.0));
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    let (elements, solution) = test.solve(&settings(0.01));
    let at = |elements: &Elements, x: f32| {
        let place = Vec3::new(x, 0.0, 1.5);
        (0..elements.len())
            .find(|&id| (elements.center[id] - place).length() < 0.1)
            .expect("an element has its center there")
    };
    (elements, solution, at)
}

#[test]
fn the_part_of_a_texel_under_a_block_is_an_element_that_no_light_reaches() {
    let (elements, solution, at) = under_a_block(0.2);
    // The walls of the block also divide the neighbors in its row.
    let [open, lit, dark, inside] = [3.5, 1.25, 1.75, 2.5].map(|x| at(&elements, x));
    assert_eq!([lit, dark].map(|part| elements.area[part]), [0.5; 2]);
    let visible = [open, lit, dark, inside].map(|element| solution.visible_fraction[element]);
    assert_eq!(visible, [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(solution.direct[dark], Vec3::ZERO);
    // The visible half sees most of the sky. The mean over the whole texel would be less than half.
    assert!(solution.direct[lit].x > 0.75 * PI, "{}", solution.direct[lit]);
}

#[test]
fn the_part_of_a_texel_under_a_low_block_is_left_out() {
    // The block is too low to divide its surroundings.
    let (elements, solution, at) = under_a_block(0.02);
    let [open, half, inside] = [3.5, 1.5, 2.5].map(|x| at(&elements, x));
    assert_eq!((solution.visible_fraction[open], solution.visible_fraction[inside]), (1.0, 0.0));
    assert!((solution.visible_fraction[half] - 0.5).abs() < 0.1, "{}", solution.visible_fraction[half]);
    assert_eq!(solution.direct[inside], Vec3::ZERO);
    assert!(solution.direct[half].x > 0.95 * PI, "{}", solution.direct[half]);
}

/// Creates a floor of 1 m texels under a uniform sky. Boards, too low to divide texels, leave a slit of each one open.
fn between_boards(slit: f32) -> TestScene {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z * 8.0, Vec3::X * 8.0, [8; 2], gray(0.0));
    for board in 0..8 {
        let left = board as f32;
        test.block(Vec3::new(left, 0.0, 0.0), Vec3::new(left + 1.0 - slit, 0.25 * slit, 8.0), 0, &gray(0.0));
    }
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    test
}

#[test]
fn a_slit_that_only_one_half_has_found_yet_is_open_to_both() {
    // The first rays of half of the texels miss the slit.
    let (_, Solution { halves: [first, second], .. }) = between_boards(0.04).solve(&settings(0.05));
    let lit = |light: &Vec3| light.x > 0.0;
    assert!(first.iter().filter(|light| lit(light)).count() > 32);
    assert!(first.iter().zip(&second).all(|(a, b)| lit(a) == lit(b)), "{first:?} {second:?}");
}

#[test]
fn a_slit_of_a_hundredth_that_no_ray_has_found_at_first_is_found_in_the_end() {
    // Counted rays take the direct light of progressive refinement, and would be many at this error.
    for method in METHODS.into_iter().filter(|&method| method != Method::Counted) {
        let settings = SolverSettings { method, ..settings(0.02) };
        let (_, Solution { visible_fraction, direct, .. }) = between_boards(0.01).solve(&settings);
        let dark = direct.iter().filter(|light| light.x == 0.0).count();
        assert_eq!(dark, 0, "{method:?}: {visible_fraction:?}");
    }
}

#[test]
fn the_back_of_a_single_sided_surface_absorbs_and_does_not_bury() {
    let mut test = TestScene::default();
    let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], gray(0.5));
    // A wide ceiling faces up, so only its back is visible from below.
    let side = 1.0;
    test.quad(Vec3::new(0.0, 0.5, 0.0), Vec3::Z * side, Vec3::X * side, [2; 2], gray(0.9));
    test.scene.sky = Sky::Uniform(Vec3::ONE);
    let (elements, solution) = test.solve(&settings(0.01));
    // Form factor of two parallel squares of side 1 at a distance of 0.5 (Howell C-11), which the ceiling blocks.
    let expected = PI * (1.0 - 0.415_253);
    let found = mean_over(&elements, floor, |element| solution.direct[element].x);
    let seen = mean_over(&elements, floor, |element| solution.visible_fraction[element]);
    assert!(seen > 0.999 && (found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}, {seen} visible");
}

#[test]
fn surfaces_without_texels_reflect_like_any_other() {
    let mut test = TestScene::default();
    test.room(Vec3::ONE, 4, |_| emissive(0.5, 1.0));
    // One wall loses its texels.
    test.layout.placements[5] = None;
    test.scene.surfaces[5].role = crate::scene::Role::Occluder;
    for method in METHODS {
        let (elements, solution) = test.solve(&settings_for_mean(method, 0.01));
        let found = mean_irradiance(&elements, &solution);
        assert!((found / (2.0 * PI) - 1.0).abs() < 0.005, "{method:?}: {found}");
    }
}

#[test]
fn a_bounce_limit_cuts_the_geometric_series() {
    // In a furnace each bounce is the previous one times the reflectance.
    for (bounces, expected) in [(0, 0.0), (1, 0.5), (2, 0.75), (3, 0.875)] {
        for method in [Method::Gather, Method::Stochastic, Method::Path] {
            let mut test = TestScene::default();
            test.room(Vec3::ONE, 3, |_| emissive(0.5, 1.0));
            let (_, solution) = test.solve(&SolverSettings { method, bounces: Some(bounces), ..settings(0.005) });
            assert_eq!(solution.unshot, 0.0, "nobody asked for more");
            let found =
                solution.indirect.iter().map(|light| light.x).sum::<f32>() / solution.indirect.len() as f32 / PI;
            assert!((found - expected).abs() < 0.01, "{method:?}, {bounces} bounces: {found} instead of {expected}");
        }
    }
}

/// Observer that keeps the checkpoint of one pass, or cancels at once.
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
    let world = World::build(scene.clone(), Preset::fast());
    let elements = test.elements();
    for method in METHODS {
        // The more bounces follow, the noisier direct light may be. At 0.05 one pass would be enough.
        let error = if matches!(method, Method::Progressive | Method::Counted) { 0.02 } else { 0.05 };
        let settings = SolverSettings { method, seed: 5, ..settings(error) };
        let solve_with = |threads: usize, resume: Option<SolverCheckpoint<'_>>, observer: &Interrupter| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            pool.install(|| solve(&scene, &world, &elements, &settings, resume, observer)).expect("nobody cancels")
        };
        let observer = Interrupter { keep_pass: 2, ..Interrupter::default() };
        let undisturbed = solve_with(1, None, &observer);
        let checkpoint = observer.kept.into_inner().expect("one thread").expect("more than two passes");
        let partial = SolverCheckpoint::from_bytes(&checkpoint).expect("just written");
        let resumed = solve_with(3, Some(partial), &Interrupter::default());
        assert_eq!((&undisturbed.direct, &undisturbed.indirect), (&resumed.direct, &resumed.indirect), "{method:?}");
        assert_eq!(undisturbed.rays, resumed.rays);
        assert!(SolverCheckpoint::from_bytes(&checkpoint[..checkpoint.len() - 1]).is_err());
        let other = SolverSettings { seed: 6, ..settings };
        let partial = SolverCheckpoint::from_bytes(&checkpoint).expect("just written");
        let refused = solve(&scene, &world, &elements, &other, Some(partial), &Interrupter::default());
        assert_eq!(refused.expect_err("another seed"), SolveError::OtherInputs);
        if method != Method::Stochastic {
            // A number of rays that its samples cannot have taken would cause as much further work.
            let mut partial = SolverCheckpoint::from_bytes(&checkpoint).expect("just written");
            partial.solver_progress.rays = 1 << 40;
            let refused = solve(&scene, &world, &elements, &settings, Some(partial), &Interrupter::default());
            assert_eq!(refused.expect_err("too many rays"), SolveError::OtherInputs);
        }
    }
}

#[test]
fn a_cancelled_bake_ends_without_a_solution() {
    let test = room_with_block();
    let scene = Arc::new(test.scene.clone());
    let world = World::build(scene.clone(), Preset::fast());
    let observer = Interrupter { stop_at_once: true, ..Interrupter::default() };
    let ended = solve(&scene, &world, &test.elements(), &settings(1e-4), None, &observer);
    assert!(matches!(ended, Err(SolveError::Cancelled(_))));
}

#[test]
fn a_solver_ends_where_its_observer_has_no_memory_for_hits() {
    /// Observer with a limited memory for stored hits.
    struct Miser {
        max_bytes: u64,
    }
    impl Monitor for Miser {
        fn progress(&self, _fraction: f32) {}

        fn is_cancelled(&self) -> bool {
            false
        }
    }
    impl SolveObserver for Miser {
        fn has_room_for_hits(&self, bytes: u64) -> bool {
            bytes <= self.max_bytes
        }
    }
    let test = room_with_block();
    let scene = Arc::new(test.scene.clone());
    let (world, elements) = (World::build(scene.clone(), Preset::fast()), test.elements());
    let solve_with_room = |rays: u64| {
        let observer = Miser { max_bytes: rays * 8 * elements.len() as u64 };
        solve(&scene, &world, &elements, &settings(0.02), None, &observer)
    };
    let Err(SolveError::HitsBeyondMemory { bytes }) = solve_with_room(20) else { panic!("more rays are needed") };
    assert!(bytes > 20 * 8 * elements.len() as u64);
    let free = solve(&scene, &world, &elements, &settings(0.02), None, &Miser { max_bytes: u64::MAX }).unwrap();
    assert!(free.error_of_mean < 0.021);
}

#[test]
fn hits_that_do_not_fit_into_memory_are_shot_for_with_a_warning() {
    let test = room_with_block();
    let (_, solution) = test.solve(&SolverSettings { memory_mib: 0, ..settings(0.1) });
    assert!(solution.warnings.iter().any(|warning| warning.contains("do not fit")), "{:?}", solution.warnings);
    assert!(solution.indirect.iter().all(|light| light.is_finite()));
}
