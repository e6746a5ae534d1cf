use core::f64::consts::PI;
use std::sync::Arc;

use glam::Vec3;

use super::Room;
use super::direct::{eliminate, gauss_seidel};
use super::exchange::Exchange;
use super::hierarchy::{Found, Hierarchy};
use super::random_walks::{Onwards, RandomWalks, by_weighted_walks};
use crate::builtin_scenes;
use crate::geometry::SurfaceId;
use crate::lightmap::{Elements, Layout, LayoutSettings};
use crate::progress::Unmonitored;
use crate::radiosity::test_scene::{TestScene, emissive};
use crate::radiosity::{Method, Solution, SolverSettings, SubsceneSettings, solve};

const RAYS: u32 = 4096;
const WALKS: u32 = 1_000_000;

/// Creates a closed cube of gray walls, some of them luminous. Face 1 is the ceiling.
fn cube(texels: u32, reflectance: f32, shines: impl Fn(usize) -> bool) -> TestScene {
    let mut test = TestScene::default();
    test.room(Vec3::ONE, texels, |face| emissive(reflectance, if shines(face) { 1.0 } else { 0.0 }));
    test
}

fn cube_under_ceiling(texels: u32) -> TestScene {
    cube(texels, 0.5, |face| face == 1)
}

fn room(test: &TestScene) -> Room {
    Room::new(&test.scene, test.elements(), 0)
}

/// Returns settings of all solvers with constant radiosity on each element, as in the matrix: all but path tracing.
fn of_elements() -> [SolverSettings; 4] {
    let [gather, stochastic, progressive] = [Method::Gather, Method::Stochastic, Method::Progressive].map(by);
    let progressive = SolverSettings { error: 0.01, ..progressive };
    [gather, stochastic, progressive, SolverSettings { subscenes: Some(SubsceneSettings::default()), ..progressive }]
}

fn by(method: Method) -> SolverSettings {
    SolverSettings { method, error: 0.005, ..SolverSettings::default() }
}

fn name_of(settings: &SolverSettings) -> String {
    let in_subscenes = if settings.subscenes.is_some() { " in subscenes" } else { "" };
    format!("{:?}{in_subscenes}", settings.method)
}

fn irradiance(solution: &Solution) -> Vec<f64> {
    let sum = |(direct, indirect): (&Vec3, &Vec3)| f64::from((*direct + *indirect).x);
    solution.direct.iter().zip(&solution.indirect).map(sum).collect()
}

/// Returns the noise that a solver estimates for its solution, relative to the mean.
fn noise_of(room: &Room, solution: &Solution) -> f64 {
    room.mean(|i| f64::from(solution.standard_error[i]).powi(2)).sqrt() / room.mean(|i| irradiance(solution)[i])
}

#[test]
fn in_a_furnace_all_methods_find_the_closed_form() {
    let room = room(&cube(4, 0.6, |_| true));
    let expected = PI / (1.0 - 0.6);
    let everywhere = vec![expected; room.len()];
    let exchange = Exchange::count(&room, 64, 1);
    for found in [
        eliminate(&room, &exchange),
        gauss_seidel(&room, &exchange),
        Hierarchy::solve(&room, &exchange, f64::INFINITY).irradiance,
    ] {
        // Reflectances and radiances have seven digits.
        assert!(room.difference(&found, &everywhere) < 1e-6, "{found:?}");
    }
    let walks = RandomWalks::go(&room, WALKS / 2, 1, Onwards::FromPoint);
    for found in [walks.by_collision(&room), walks.by_survival(&room), walks.by_absorption(&room)] {
        // The number of hits of a particle has a mean of 1 / (1 - rho). Its standard deviation is no larger.
        let deviation = 4.0 / f64::from(WALKS / 2).sqrt();
        assert!((room.mean(|i| found[i]) / expected - 1.0).abs() < deviation, "{}", room.mean(|i| found[i]));
    }
    const NEAREST: usize = 4000;
    let middles =
        [[0.5, 0.0, 0.5], [0.5, 1.0, 0.5], [0.5, 0.5, 0.0], [0.5, 0.5, 1.0], [0.0, 0.5, 0.5], [1.0, 0.5, 0.5]];
    let density: f64 = (middles.into_iter().enumerate())
        .map(|(face, middle)| walks.by_density(SurfaceId::from_index(face), middle.into(), NEAREST))
        .sum();
    let deviation = 4.0 / (6.0 * NEAREST as f64).sqrt();
    assert!((density / 6.0 / expected - 1.0).abs() < deviation, "{}", density / 6.0);
}

#[test]
fn elimination_iteration_and_the_shipped_solvers_agree_element_by_element() {
    // Few rays hit the lamp, so this scene needs more of them.
    for (name, test, rays) in [("cube", cube_under_ceiling(6), RAYS), ("cornell", TestScene::cornell(), 4 * RAYS)] {
        let room = room(&test);
        let exchange = Exchange::count(&room, rays, 3);
        let exact = eliminate(&room, &exchange);
        let iterated = room.difference(&gauss_seidel(&room, &exchange), &exact);
        assert!(iterated < 1e-9, "{name}: {iterated}");
        let noise = exchange.noise(&room, &room.radiosity(&exact), rays);
        for settings in of_elements() {
            let ((_, solution), method) = (test.solve(&settings), name_of(&settings));
            let difference = room.difference(&irradiance(&solution), &exact);
            let limit = noise.hypot(noise_of(&room, &solution));
            println!("{name}, {method} against elimination: {difference:.4}, noise allows {limit:.4}");
            assert!(difference < limit.min(0.01), "{name}, {method}: {difference} of {limit}");
        }
    }
}

#[test]
fn elements_that_see_a_sliver_of_a_lamp_have_their_light_whatever_the_seed() {
    const BRIGHTNESS: f64 = 10.0 * PI;
    let test = TestScene::cornell();
    let room = room(&test);
    let exchange = Exchange::count(&room, RAYS, 3);
    let counted: Vec<f64> = (0..room.len()).map(|i| exchange.irradiance(i, &room.emitted)).collect();
    let mean = room.mean(|i| counted[i]);
    for seed in 0..6 {
        let settings = SolverSettings { error: 0.01, bounces: Some(0), seed, ..SolverSettings::default() };
        let (_, solution) = test.solve(&settings);
        for i in (0..room.len()).filter(|&i| room.reflectance[i] > 0.0) {
            let found = f64::from(solution.direct[i].x);
            // The count of rays that hit the lamp has a standard deviation of its root.
            let noise = (BRIGHTNESS * counted[i] / f64::from(RAYS)).sqrt();
            let difference = (found - counted[i]).abs();
            assert!(
                difference < 4.0 * noise + 0.02 * mean,
                "seed {seed}, {:?}: {found} of {}, mean {mean}",
                room.elements.center[i],
                counted[i]
            );
        }
    }
}

#[test]
fn walks_by_survival_collision_and_absorption_agree_with_elimination_within_their_noise() {
    let room = room(&cube_under_ceiling(4));
    let exchange = Exchange::count(&room, RAYS, 3);
    let exact = eliminate(&room, &exchange);
    let walks = RandomWalks::go(&room, WALKS, 1, Onwards::FromElement);
    let absorbed = |i: usize| walks.arrivals[i] - walks.survived[i];
    let found = [
        ("collision", walks.by_collision(&room), RandomWalks::noise(&room, &exact, |i| walks.arrivals[i])),
        ("survival", walks.by_survival(&room), RandomWalks::noise(&room, &exact, |i| walks.survived[i])),
        ("absorption", walks.by_absorption(&room), RandomWalks::noise(&room, &exact, absorbed)),
    ];
    for (estimator, found, noise) in found {
        let difference = room.difference(&found, &exact);
        println!("{estimator} against elimination: {difference:.4}, noise {noise:.4}");
        // The root mean square of 96 independent deviations lies within 30 % of the expected value.
        assert!((0.7..1.3).contains(&(difference / noise)), "{estimator}: {difference}, noise {noise}");
        let mean = room.mean(|i| found[i]) / room.mean(|i| exact[i]);
        assert!((mean - 1.0).abs() < 4.0 / f64::from(WALKS).sqrt(), "{estimator}: {mean}");
    }
}

#[test]
fn the_mean_of_walks_does_not_depend_on_the_part_that_ends_early_if_the_rest_is_weighted() {
    const WALKS: u32 = 100_000;
    let room = room(&cube(2, 0.6, |_| true));
    let mean = |alpha, is_divided| {
        let found = by_weighted_walks(&room, WALKS, 4, alpha, is_divided);
        room.mean(|i| found[i]) / PI
    };
    for alpha in [0.1, 0.3, 0.5] {
        // A walk's sum has a variance of 8.05 for the largest alpha, so four standard deviations of the mean are 0.036.
        let found = mean(alpha, true);
        assert!((found - 2.5).abs() < 0.035, "{alpha}: {found}");
        // Without the division each bounce has 0.6 (1 - alpha) of the one before.
        let (found, expected) = (mean(alpha, false), 1.0 / (1.0 - 0.6 * (1.0 - alpha)));
        assert!((found - expected).abs() < 0.02 && expected < 2.2, "{alpha}: {found}, not {expected}");
    }
}

/// Returns the largest difference of two radiosities.
fn farthest(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn iterates_approach_each_other_by_the_largest_reflectance_at_least() {
    // Lemma 3.2 of `003`, for radiosities and their maximum norm: the light of another bounce is at most lambda times that
    // of the last. In a furnace it is just that.
    for (test, is_furnace) in [(cube(3, 0.6, |_| true), true), (cube(3, 0.6, |face| face == 1), false)] {
        let room = room(&test);
        let exchange = Exchange::count(&room, 256, 3);
        let lambda = room.reflectance.iter().copied().fold(0.0, f64::max);
        let next =
            |light: &[f64]| room.radiosity(&(0..room.len()).map(|i| exchange.irradiance(i, light)).collect::<Vec<_>>());
        let mut light = vec![0.0; room.len()];
        let mut limit = farthest(&room.emitted, &light);
        for iteration in 1..=20 {
            let then = next(&light);
            let step = farthest(&then, &light);
            assert!(step <= limit * (1.0 + 1e-6), "{iteration}: {step} above {limit}");
            assert!(!is_furnace || step >= limit * (1.0 - 1e-6), "{iteration}: {step} below {limit}");
            assert!(is_furnace || iteration < 3 || step < 0.8 * limit, "{iteration}: {step} of {limit}");
            (light, limit) = (then, lambda * limit);
        }
    }
}

#[test]
fn an_error_of_the_matrix_changes_the_light_by_its_product_over_one_minus_the_largest_reflectance_at_most() {
    // Lemma 3.3 of `003`: coarse form factors stand for the discrete operator.
    for reflectance in [0.3, 0.6, 0.9] {
        let room = room(&cube(3, reflectance, |face| face == 1));
        let [fine, coarse] = [(4096, 3), (32, 9)].map(|(rays, seed)| Exchange::count(&room, rays, seed));
        let solve = |exchange| room.radiosity(&eliminate(&room, exchange));
        let light = solve(&fine);
        let product = |exchange: &Exchange| -> Vec<f64> {
            (0..room.len()).map(|i| room.reflectance[i] * exchange.irradiance(i, &light)).collect()
        };
        let error = farthest(&solve(&coarse), &light);
        let limit = farthest(&product(&coarse), &product(&fine)) / (1.0 - f64::from(reflectance));
        println!("reflectance {reflectance}: {error:.4} of at most {limit:.4}");
        assert!(error <= limit * (1.0 + 1e-6), "{reflectance}: {error} above {limit}");
        assert!(error > 0.03 * limit, "the limit says something: {error} of {limit}");
    }
}

#[test]
fn photons_the_gather_solver_and_paths_agree_in_color() {
    let test = TestScene::cornell();
    let solved = [Method::Gather, Method::Path].map(|method| {
        let error = if method == Method::Path { 0.02 } else { 0.01 };
        let (_, solution) = test.solve(&SolverSettings { error, ..by(method) });
        (method, solution)
    });
    for channel in [0, 2] {
        let room = Room::new(&test.scene, test.elements(), channel);
        let photons = RandomWalks::go(&room, WALKS, 2, Onwards::FromPoint);
        for (method, solution) in &solved {
            let found: Vec<f64> =
                (0..room.len()).map(|i| f64::from((solution.direct[i] + solution.indirect[i])[channel])).collect();
            let difference = room.difference(&photons.by_collision(&room), &found);
            let noise = RandomWalks::noise(&room, &found, |i| photons.arrivals[i]);
            println!("photons of channel {channel} against {method:?}: {difference:.4}, noise {noise:.4}");
            let mean = room.mean(|i| photons.by_collision(&room)[i]) / room.mean(|i| found[i]);
            assert!((mean - 1.0).abs() < 0.005, "{method:?}, channel {channel}: {mean}");
            // The root mean square of 480 independent deviations lies within a seventh of the expected value.
            assert!(
                difference < 1.15 * noise.hypot(noise_of(&room, solution)),
                "{method:?}, channel {channel}: {difference}, noise {noise}"
            );
        }
    }
}

#[test]
fn hierarchies_approach_elimination_as_links_get_dimmer_with_a_part_of_its_links() {
    for (name, test) in [("cube", cube_under_ceiling(8)), ("cornell", TestScene::cornell())] {
        let room = room(&test);
        let exchange = Exchange::count(&room, 1024, 3);
        let exact = gauss_seidel(&room, &exchange);
        let brightest = room.radiosity(&exact).into_iter().fold(0.0, f64::max);
        let all: usize = exchange.rows.iter().map(Vec::len).sum();
        let mut before = f64::MAX;
        for part in [0.01, 0.001, 0.0003, 0.0001] {
            let Found { irradiance, links } = Hierarchy::solve(&room, &exchange, part * brightest);
            let difference = room.difference(&irradiance, &exact);
            println!("{name}, links up to {part}: {difference:.4} by {links} links of {all}");
            assert!(difference < before && links <= all, "{name}, {part}: {difference}, {links} of {all}");
            assert!(part < 0.001 || links < 3 * all / 4, "{name}, {part}: {links} of {all}");
            before = difference;
        }
        assert!(before < 0.01, "{name}: {before}");
        let Found { irradiance, links } = Hierarchy::solve(&room, &exchange, 0.0);
        assert!(room.difference(&irradiance, &exact) < 1e-6 && links == all, "{name}: {links} of {all}");
    }
}

#[test]
fn in_a_furnished_room_photons_and_all_shipped_solvers_agree() {
    let scene = Arc::new(builtin_scenes::build("habitacion").expect("it is built in"));
    let settings = LayoutSettings { texels_per_meter: 1.5, ..LayoutSettings::default() };
    let (layout, _) = Layout::build(&scene, &settings, &Unmonitored).expect("a small scene fits");
    let world = crate::accel::World::build(scene.clone(), crate::accel::Preset::fast());
    let elements = Elements::build(&scene, &layout, &world, &Unmonitored).expect("nobody cancels");
    let room = Room::new(&scene, elements.clone(), 0);
    let photons = RandomWalks::go(&room, WALKS, 1, Onwards::FromPoint);
    let [gather, stochastic, _, in_subscenes] = of_elements();
    for (settings, error) in [(gather, 0.07), (stochastic, 0.07), (in_subscenes, 0.14), (by(Method::Path), 0.14)] {
        let (settings, method) = (SolverSettings { error, ..settings }, name_of(&settings));
        let solution = solve(&scene, &world, &elements, &settings, None, &Unmonitored).expect("nobody cancels");
        let open = |i: usize| f64::from(solution.visible_fraction[i]);
        let gathered: Vec<f64> = irradiance(&solution).iter().enumerate().map(|(i, light)| light * open(i)).collect();
        let found = photons.by_collision(&room);
        let difference = room.difference(&found, &gathered);
        let noise = RandomWalks::noise(&room, &gathered, |i| photons.arrivals[i]).hypot(noise_of(&room, &solution));
        let mean = room.mean(|i| found[i]) / room.mean(|i| gathered[i]);
        println!(
            "habitacion, {} elements, photons against {method}: {difference:.4}, noise {noise:.4}, mean {mean:.4}, the \
             solver's own estimate {:.4}",
            room.len(),
            solution.error_of_mean
        );
        assert!((mean - 1.0).abs() < 0.01, "{method}: {mean}");
        assert!(difference < 1.2 * noise.hypot(f64::from(solution.error_of_mean)), "{method}: {difference}");
    }
}
