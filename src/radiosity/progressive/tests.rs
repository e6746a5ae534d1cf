use std::sync::{Arc, Mutex};

use glam::Vec3;

use super::exchanges::Exchanges;
use super::occluders::Occluders;
use super::patches::{Facet, Patch, facets_of, parts, patch};
use super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::refinement::{Refinement, group_radiosities};
use super::rounds::SHOOTING_PROGRESS;
use super::schedule::{ShootingSchedule, UNSHOT_SHARE};
use super::shooter::{Geometry, Shooter, ShotSource, Straight};
use super::{CandidateSearch, Options, PatchId, Place, Refine, USUAL_SEARCH};
use crate::accel::{BruteForce, World};
use crate::lightmap::{ElementId, Elements};
use crate::progress::{Monitor, Unmonitored};
use crate::radiosity::bounces::DIRECT_SHARE;
use crate::radiosity::form_factor::point_to_polygon;
use crate::radiosity::test_scene::{TestScene, colored_pane, emissive, gray};
use crate::radiosity::{LightSoFar, Method, Solution, SolveObserver, SolverSettings, solve};
use crate::scene::{Scene, Sides};

pub const MUCH: usize = 1 << 30;

/// Creates a room with a box and one luminous wall. Its elements are few, so that each is a patch.
fn room_with_block() -> TestScene {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 2.0, 2.0), 4, |face| if face == 2 { emissive(0.6, 5.0) } else { gray(0.6) });
    // The block covers whole texels.
    test.block(Vec3::new(0.5, 0.0, 0.5), Vec3::new(1.0, 0.9, 1.5), 2, &gray(0.4));
    test
}

/// Returns the emitted radiosity of elements, in lm/m2.
fn emitted(elements: &Elements) -> Vec<Vec3> {
    elements.emission.iter().map(|radiance| *radiance * core::f32::consts::PI).collect()
}

/// Returns the visible fraction of elements: zero under the block, else one.
fn open(scene: &Scene, elements: &Elements) -> Vec<f32> {
    let world = BruteForce::new(scene);
    let inside_test = crate::radiosity::cpu::InsideTest::new(scene, &world);
    let open = |id| {
        let point = elements.center_point(scene, id);
        if inside_test.is_inside(&point, point.geometric_normal).0 { 0.0 } else { 1.0 }
    };
    elements.ids().map(open).collect()
}

pub struct Fixture {
    scene: Arc<Scene>,
    world: World,
    pub elements: Elements,
    visible: Vec<f32>,
}

impl Fixture {
    pub fn new(test: &TestScene) -> Self {
        let scene = Arc::new(test.scene.clone());
        let elements = test.elements();
        let visible = open(&scene, &elements);
        Self { world: World::build(scene.clone(), crate::accel::Preset::fast()), scene, elements, visible }
    }

    fn place(&self) -> Place<'_> {
        Place { scene: &self.scene, world: &self.world, elements: &self.elements, visible: &self.visible, weights: &[] }
    }

    pub fn refinement(&self, sources: &[Vec3], search: CandidateSearch, max_bytes: usize) -> Refinement<'_> {
        let options = Options { search, noise: 0.002, max_bytes, seed: 7 };
        Refinement::new(self.place(), sources, &options)
    }
}

/// Shoots until no patch has more than a fraction of the first shot's power.
fn shoot_all(refinement: &mut Refinement, tolerance: f64) {
    let first = refinement.strongest().expect("something shines").power;
    while let Some(shot) = refinement.strongest().filter(|shot| shot.power > tolerance * first) {
        refinement.shoot(shot.patch);
    }
}

#[test]
fn shafts_hide_exactly_what_the_trees_of_all_triangles_hide() {
    let fixture = Fixture::new(&room_with_block());
    let sources = emitted(&fixture.elements);
    let tree = |max_count| CandidateSearch::Tree { max_count };
    let received = [tree(usize::MAX), tree(0), USUAL_SEARCH, CandidateSearch::All].map(|search| {
        let mut refinement = fixture.refinement(&sources, search, MUCH);
        shoot_all(&mut refinement, 0.05);
        assert!(refinement.shots() > 50);
        refinement.received()
    });
    assert_eq!(received[0], received[1]);
    assert_eq!(received[0], received[2]);
    assert_eq!(received[0], received[3]);
}

#[test]
fn an_empty_room_is_refined_without_a_single_ray() {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 1.0, 3.0), 4, |_| emissive(0.5, 1.0));
    let fixture = Fixture::new(&test);
    let mut refinement = fixture.refinement(&emitted(&fixture.elements), USUAL_SEARCH, MUCH);
    shoot_all(&mut refinement, 1e-3);
    assert_eq!(refinement.rays(), 0);
    // The radiosity pi is emitted everywhere, so irradiance is pi / (1 - 0.5) everywhere.
    for received in refinement.received() {
        assert!((received.x / (2.0 * core::f32::consts::PI) - 1.0).abs() < 0.02, "{received}");
    }
}

#[test]
fn the_end_is_the_solution_of_the_equation_and_no_light_counts_twice() {
    let fixture = Fixture::new(&room_with_block());
    let Fixture { elements, .. } = &fixture;
    let sources = emitted(elements);
    // Columns of the matrix: the light of each element on all others, for unit radiosity.
    let patches = fixture.refinement(&sources, CandidateSearch::Tree { max_count: 0 }, MUCH).patches();
    assert!(patches <= elements.len() && patches > 100);
    let unit = vec![Vec3::ONE; elements.len()];
    let columns: Vec<Vec<f32>> = (0..patches)
        .map(|patch| {
            let mut one = fixture.refinement(&unit, CandidateSearch::Tree { max_count: 0 }, MUCH);
            one.shoot(PatchId::from_index(patch));
            one.received().iter().map(|received| received.x).collect()
        })
        .collect();
    let shooters: Vec<usize> = (0..elements.len()).filter(|&element| fixture.visible[element] > 0.0).collect();
    assert_eq!(shooters.len(), patches, "one patch an element");
    let mut radiosity: Vec<f64> = sources.iter().map(|source| f64::from(source.x)).collect();
    for _ in 0..200 {
        let mut next: Vec<f64> = sources.iter().map(|source| f64::from(source.x)).collect();
        for (column, &shooter) in columns.iter().zip(&shooters) {
            for (element, factor) in column.iter().enumerate() {
                next[element] += f64::from(elements.reflectance[element].x * factor) * radiosity[shooter];
            }
        }
        radiosity = next;
    }
    let mut refinement = fixture.refinement(&sources, USUAL_SEARCH, MUCH);
    shoot_all(&mut refinement, 1e-6);
    let received = refinement.received();
    // Visibility rays differ from shot to shot.
    for &element in &shooters {
        let found = f64::from(sources[element].x + elements.reflectance[element].x * received[element].x);
        assert!(
            (found - radiosity[element]).abs() < 0.02 * radiosity[element].max(0.1),
            "{found} instead of {}",
            radiosity[element]
        );
    }
}

/// Unshot radiosity of each element, in lm/m2, computed independently from received light alone.
struct PowerBalance<'a> {
    fixture: &'a Fixture,
    unshot: Vec<f64>,
    received: Vec<Vec3>,
}

impl<'a> PowerBalance<'a> {
    fn new(fixture: &'a Fixture, sources: &[Vec3]) -> Self {
        let unshot = sources.iter().map(|source| f64::from(source.x)).collect();
        Self { fixture, unshot, received: vec![Vec3::ZERO; sources.len()] }
    }

    /// Returns the unshot power of an element, in lumens.
    fn power(&self, element: usize) -> f64 {
        self.unshot[element] * f64::from(self.fixture.elements.area[element] * self.fixture.visible[element])
    }

    fn all_power(&self) -> f64 {
        (0..self.unshot.len()).map(|element| self.power(element)).sum()
    }

    /// Returns the maximum unshot power of an element, in lumens.
    fn max_power(&self) -> f64 {
        (0..self.unshot.len()).map(|element| self.power(element)).fold(0.0, f64::max)
    }

    /// Records a shot of an element, with the light received by all elements after the shot.
    fn shoot(&mut self, shooter: usize, received: Vec<Vec3>) {
        self.unshot[shooter] = 0.0;
        for (element, (now, before)) in received.iter().zip(&self.received).enumerate() {
            let reflectance = self.fixture.elements.reflectance[element].x;
            self.unshot[element] += f64::from(reflectance * (now.x - before.x));
        }
        self.received = received;
    }
}

#[test]
fn the_strongest_shoots_first_and_unshot_power_falls_with_every_shot() {
    let fixture = Fixture::new(&room_with_block());
    let sources = emitted(&fixture.elements);
    let mut refinement = fixture.refinement(&sources, USUAL_SEARCH, MUCH);
    let mut balance = PowerBalance::new(&fixture, &sources);
    // Each visible element is a patch.
    let elements: Vec<usize> = (0..sources.len()).filter(|&element| fixture.visible[element] > 0.0).collect();
    assert_eq!(refinement.patches(), elements.len());
    let mut before = refinement.unshot_power();
    let mut shooters = std::collections::HashSet::new();
    for _ in 0..200 {
        let shot = refinement.strongest().expect("a closed room never runs dry");
        let shooter = elements[shot.patch.index()];
        let (power, max) = (balance.power(shooter), balance.max_power());
        assert!(power > max * (1.0 - 1e-5), "{power} shot where {max} was unshot elsewhere");
        assert!((shot.power / power - 1.0).abs() < 1e-5, "{} and {power}", shot.power);
        refinement.shoot(shot.patch);
        shooters.insert(shot.patch);
        let (unshot, received) = (refinement.unshot_power(), refinement.received());
        // At most a fraction of 0.6 of the shot is reflected. Elements receive light at their centers, so the form
        // factors of one shot only approximately sum to one.
        assert!(unshot < before - 0.3 * shot.power, "{unshot} after {before}");
        let never_less = received.iter().zip(&balance.received).all(|(now, then)| now.cmpge(*then).all());
        assert!(never_less, "light is never taken back");
        before = unshot;
        balance.shoot(shooter, received);
        assert!((unshot / balance.all_power() - 1.0).abs() < 1e-5, "{unshot} and {}", balance.all_power());
    }
    assert!(shooters.len() < 200, "some shot twice");
    assert_eq!(refinement.builds(), shooters.len() as u64, "interactions are found once for each that shoots");
}

#[test]
fn a_part_of_the_first_shot_leaves_other_parts_of_the_light_in_other_rooms_and_the_tolerance_leaves_as_little_in_all() {
    let size = Vec3::new(2.0, 2.0, 2.0);
    let (mut even, mut with_lamp) = (TestScene::default(), TestScene::default());
    even.room(size, 4, |_| emissive(0.6, 1.0));
    with_lamp.room(size, 4, |_| gray(0.6));
    with_lamp.quad(Vec3::new(0.9, 1.9, 0.9), Vec3::X * 0.2, Vec3::Z * 0.2, [1; 2], emissive(0.0, 100.0));
    let left = [even, with_lamp].map(|test| {
        let fixture = Fixture::new(&test);
        let mut refinement = fixture.refinement(&emitted(&fixture.elements), USUAL_SEARCH, MUCH);
        let (all, first) = (refinement.unshot_power(), refinement.strongest().unwrap().power);
        let tolerance = ShootingSchedule::new(&refinement, first, 0.05).tolerance;
        shoot_all(&mut refinement, 0.1);
        let by_first_shot = refinement.unshot_power() / all;
        let strongest = refinement.strongest().unwrap().power;
        shoot_all(&mut refinement, tolerance / strongest);
        assert!(refinement.unshot_power() / all < UNSHOT_SHARE * 0.05);
        by_first_shot
    });
    // In the uniform room each patch keeps less than a tenth of its power. The lamp has shot all its power, and its
    // reflections are left.
    assert!(left[0] < 0.1 && left[1] > 0.5, "{left:?}");
}

#[test]
fn without_memory_for_interactions_the_light_is_the_same() {
    let fixture = Fixture::new(&room_with_block());
    let sources = emitted(&fixture.elements);
    let [(all_kept, builds), (none_kept, more_builds)] = [MUCH, 0].map(|max_bytes| {
        let mut refinement = fixture.refinement(&sources, USUAL_SEARCH, max_bytes);
        shoot_all(&mut refinement, 0.05);
        (refinement.received(), refinement.builds())
    });
    assert_eq!(all_kept, none_kept);
    assert!(more_builds > builds, "{more_builds} and {builds}: some shot twice");
}

#[test]
fn glass_between_patches_tints_what_they_send_each_other() {
    let mut test = TestScene::default();
    let color = Vec3::new(0.2, 0.6, 1.0);
    test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
    test.quad(Vec3::Y, Vec3::X, Vec3::Z, [4; 2], emissive(0.0, 1.0));
    let clear = Fixture::new(&test);
    let pane =
        test.quad(Vec3::new(-10.0, 0.5, -10.0), Vec3::Z * 20.0, Vec3::X * 20.0, [0; 2], colored_pane(color * 0.75));
    test.scene.surfaces[pane.index()].sides = Sides::Both;
    let tinted = Fixture::new(&test);
    let [unmapped, through] = [&clear, &tinted].map(|fixture| {
        let mut refinement = fixture.refinement(&emitted(&fixture.elements), USUAL_SEARCH, MUCH);
        shoot_all(&mut refinement, 1e-3);
        refinement.received()
    });
    for element in 0..16 {
        let ratio = through[element] / unmapped[element];
        assert!((ratio - color * 0.75).abs().max_element() < 1e-3, "{ratio}");
    }
}

#[test]
fn rays_correct_what_form_factors_get_wrong_and_the_equation_is_solved() {
    let Fixture { scene, world, elements, .. } = Fixture::new(&room_with_block());
    let settings = SolverSettings { method: Method::Progressive, error: 0.0007, ..SolverSettings::default() };
    let Solution { residual, residual_standard_error, unshot, .. } =
        solve(&scene, &world, &elements, &settings, None, &Unmonitored).unwrap();
    // Texels of half a meter see the block from few points, with few rays.
    assert!(residual + residual_standard_error < 0.001, "{residual}, give or take {residual_standard_error}");
    assert!(unshot > 0.0 && unshot < UNSHOT_SHARE as f32 * settings.error, "{unshot} of all power is left");
}

/// Observer that records the light of all elements after each shot, with the progress at this time.
#[derive(Default)]
struct Spectator {
    done: Mutex<f32>,
    seen: Mutex<Vec<(f32, Vec<f32>)>>,
}

impl Monitor for Spectator {
    fn progress(&self, fraction: f32) {
        let mut done = self.done.lock().unwrap();
        assert!((*done..=1.0).contains(&fraction), "{fraction} after {done}");
        *done = fraction;
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

impl SolveObserver for Spectator {
    fn light_improved(&self, light: &dyn Fn() -> LightSoFar) {
        let LightSoFar { direct, indirect, .. } = light();
        let light = direct.iter().zip(indirect).map(|(direct, indirect)| (direct + indirect).element_sum());
        self.seen.lock().unwrap().push((*self.done.lock().unwrap(), light.collect()));
    }
}

#[test]
fn what_is_seen_becomes_brighter_shot_after_shot_and_approaches_the_solution() {
    let Fixture { scene, world, elements, .. } = Fixture::new(&room_with_block());
    let settings = SolverSettings { method: Method::Progressive, error: 0.05, ..SolverSettings::default() };
    let spectator = Spectator::default();
    let solution = solve(&scene, &world, &elements, &settings, None, &spectator).unwrap();
    let seen = spectator.seen.into_inner().unwrap();
    // Passes for direct light come first. Corrections come last, and may reduce light.
    let corrections = DIRECT_SHARE + (1.0 - DIRECT_SHARE) * SHOOTING_PROGRESS;
    let shots: Vec<_> = seen.iter().filter(|(done, _)| (DIRECT_SHARE..corrections).contains(done)).collect();
    assert!(shots.len() > elements.len(), "{}", shots.len());
    for pair in shots.windows(2) {
        assert!(pair[0].1.iter().zip(&pair[1].1).all(|(before, after)| before <= after), "{}", pair[0].0);
    }
    let sum = |light: &[f32]| light.iter().sum::<f32>();
    let end: f32 = solution.direct.iter().chain(&solution.indirect).map(|light| light.element_sum()).sum();
    let (done, last) = &seen[seen.len() - 1];
    assert!(*done < 1.0, "all is done at the end alone");
    assert!((0.97..=1.01).contains(&(sum(last) / end)), "{} {end}", sum(last));
}

/// Floor and an adjacent wall that is brighter towards the top, each a patch of `edge` x `edge` elements.
struct Corner {
    fixture: Fixture,
    patches: [Patch; 2],
    receivers: Vec<Receiver>,
    /// Radiosity of the wall's elements, in their order in its patch.
    each: Vec<Vec3>,
}

impl Corner {
    fn new(edge: u32) -> Self {
        let mut test = TestScene::default();
        let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [edge; 2], gray(0.5));
        let wall = test.quad(Vec3::ZERO, Vec3::X, Vec3::Y, [edge; 2], gray(0.5));
        let fixture = Fixture::new(&test);
        let Fixture { scene, elements, visible, .. } = &fixture;
        let patches = [floor, wall].map(|surface| {
            let all: Vec<_> = elements.of_surface(surface).map(ElementId::from_index).collect();
            patch(scene, elements, visible, &all).unwrap()
        });
        let receivers = ElementReceivers::new(fixture.place(), 7).of_all(|receiver| receiver);
        let each = patches[1].receivers.iter().map(|id| Vec3::splat(elements.center[id.index()].y.powi(2))).collect();
        Self { patches, receivers, each, fixture }
    }

    /// Returns the form factors from the wall to the floor.
    fn exchanges(&self) -> Exchanges {
        let Self { fixture: Fixture { scene, world, elements, .. }, patches, receivers, .. } = self;
        let parts = parts(scene, elements, &patches[1], |id| ElementId(id.0));
        let geometry = Geometry {
            world,
            patches,
            receivers,
            bounds: &[patches[0].bounds()],
            occluders: &Occluders::new(scene),
            search: USUAL_SEARCH,
            light_per_ray: 1.0,
        };
        let source = ShotSource { patch: &patches[1], bounds: patches[1].bounds(), parts: &parts, glow: 1.0 };
        let shooter = Shooter::new(geometry, source, None, 0);
        Exchanges::build(1, |floor| Some(shooter.factors(floor, None::<&Straight>).0))
    }

    /// Returns the irradiance of the floor's elements, in their order in its patch.
    fn light(&self) -> Vec<f32> {
        let Self { fixture: Fixture { elements, .. }, patches, each, .. } = self;
        let response = |&area: &f32| Response { reflectance: Vec3::ONE, area, shown: 1.0, weight: 1.0 };
        let responses: Vec<Response> = elements.area.iter().map(response).collect();
        let whole = each.iter().sum::<Vec3>() / each.len() as f32;
        let mut light = vec![0.0; patches[0].receivers.len()];
        let groups = group_radiosities(&patches[1], &responses, whole, each);
        self.exchanges().light(&groups, |_, place, more| light[place] += more.x);
        light
    }
}

#[test]
fn in_a_corner_elements_get_what_all_elements_of_the_wall_send_them() {
    let corner = Corner::new(12);
    let Corner { fixture: Fixture { scene, elements, .. }, patches, receivers, each } = &corner;
    let shines = |id: &ReceiverId| facets_of(scene, elements, &[ElementId(id.0)]);
    let facets: Vec<Vec<Facet>> = patches[1].receivers.iter().map(shines).collect();
    let expected = |id: &ReceiverId| {
        let Receiver { points, normal, horizon, .. } = &receivers[id.index()];
        let at = |point: &Vec3| {
            let of = |(facets, radiosity): (&Vec<Facet>, &Vec3)| {
                let factor = |facet: &Facet| point_to_polygon(*point, *normal, *horizon, &facet.corners);
                radiosity.x * facets.iter().map(factor).sum::<f32>()
            };
            facets.iter().zip(each).map(of).sum::<f32>()
        };
        points.iter().map(at).sum::<f32>() / points.len() as f32
    };
    let light = corner.light();
    let expected: Vec<f32> = patches[0].receivers.iter().map(expected).collect();
    let mean = expected.iter().sum::<f32>() / expected.len() as f32;
    let square = light.iter().zip(&expected).map(|(found, expected)| (found - expected).powi(2)).sum::<f32>();
    let error = (square / expected.len() as f32).sqrt() / mean;
    // Brightness is constant within groups. The error of this is largest for a wall that is dark near the floor.
    assert!(error < 0.1, "{error}");
}

#[test]
fn work_in_a_corner_grows_with_elements_and_not_with_their_square() {
    let [few, many] = [16, 64].map(|edge| Corner::new(edge).exchanges().bytes() as f32 / (edge * edge) as f32);
    assert!(many < 2.0 * few, "{few} and {many} bytes an element");
}
