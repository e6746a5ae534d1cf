//! Tests of solvers that run out of time, or that are asked to stop in their first pass.

use core::f32::consts::PI;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};

use glam::Vec3;

use super::test_scene::{TestScene, gray};
use super::{
    Method, Snapshot, Solution, SolveError, SolveObserver, SolverCheckpoint, SolverSettings, StepError, solve,
};
use crate::accel::BruteForce;
use crate::lightmap::Elements;
use crate::progress::Monitor;
use crate::scene::Scene;

const METHODS: [Method; 5] = [Method::Gather, Method::Stochastic, Method::Progressive, Method::Counted, Method::Path];

/// A clock that advances by a second at each query, or a user who asks to stop after a number of queries.
#[derive(Default)]
struct Hourglass {
    left: AtomicI32,
    is_user: bool,
    /// True if the work may stop at this point.
    may_stop: AtomicBool,
    kept: Mutex<Option<Vec<u8>>>,
}

impl Hourglass {
    fn clock(seconds: i32) -> Self {
        Self { left: seconds.into(), ..Self::default() }
    }

    fn user(patience: i32) -> Self {
        Self { is_user: true, ..Self::clock(patience) }
    }

    /// Runs a solver with one thread, so that the number of queries is reproducible.
    fn watch(
        &self,
        test: &Test,
        settings: &SolverSettings,
        resume: Option<SolverCheckpoint<'_>>,
    ) -> Result<Solution, SolveError> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        let world = BruteForce::new(&test.scene);
        pool.install(|| solve(&test.scene, &world, &test.elements, settings, resume, self))
    }

    fn kept(&self) -> Option<SolverCheckpoint<'static>> {
        let bytes = self.kept.lock().expect("one thread").take()?;
        Some(SolverCheckpoint::from_bytes(&bytes).expect("just written"))
    }
}

impl Monitor for Hourglass {
    fn progress(&self, fraction: f32) {
        assert!((0.0..=1.0).contains(&fraction), "{fraction}");
    }

    fn is_cancelled(&self) -> bool {
        self.may_stop.load(Ordering::Relaxed)
    }
}

impl SolveObserver for Hourglass {
    fn step_finished(&self, state: &Snapshot<'_>) -> Result<(), StepError> {
        let mut bytes = Vec::new();
        state()?.write(&mut bytes).expect("there is room");
        *self.kept.lock().expect("one thread") = Some(bytes);
        let was_asked = self.is_user && self.left.load(Ordering::Relaxed) < 0;
        self.may_stop.store(was_asked, Ordering::Relaxed);
        Ok(())
    }

    fn wants_to_stop(&self) -> bool {
        self.is_user && self.left.fetch_sub(1, Ordering::Relaxed) <= 0
    }

    fn seconds_left(&self) -> Option<f32> {
        (!self.is_user).then(|| self.left.fetch_sub(1, Ordering::Relaxed) as f32)
    }
}

struct Test {
    scene: Arc<Scene>,
    elements: Elements,
}

/// Returns a cube of 96 elements with a lamp in its middle. The mean direct irradiance is 1 lux, and the mean indirect
/// irradiance as well.
fn furnace() -> Test {
    let mut test = TestScene::default();
    test.room(Vec3::ONE, 4, |_| gray(0.5));
    test.point_light(Vec3::splat(0.5), 6.0 / (4.0 * PI));
    Test { elements: test.elements(), scene: Arc::new(test.scene) }
}

fn settings(method: Method) -> SolverSettings {
    SolverSettings { method, error: 0.01, seed: 3, ..SolverSettings::default() }
}

/// Queries of the clock during the direct light of a first pass: one for each element.
const CHECKS_OF_DIRECT: i32 = 96;

#[test]
fn without_time_for_a_first_pass_there_is_an_error_and_what_is_kept_of_it_is_gone_on_from_to_the_same_bytes() {
    let test = furnace();
    for method in METHODS {
        let settings = settings(method);
        let undisturbed = Hourglass::user(i32::MAX).watch(&test, &settings, None).expect("nobody stops it");
        // Within direct light, and shortly after it.
        for seconds in [CHECKS_OF_DIRECT * 4 / 5, CHECKS_OF_DIRECT + 8] {
            for early in [Hourglass::clock(seconds), Hourglass::user(seconds)] {
                let ended = early.watch(&test, &settings, None).expect_err("it is the first pass");
                match ended {
                    SolveError::TooLittleTime { done } => {
                        assert!(!early.is_user && (0.05..1.0).contains(&done), "{done}")
                    }
                    ended => assert!(early.is_user && matches!(ended, SolveError::Cancelled(_)), "{ended}"),
                }
                let resumed = Hourglass::user(i32::MAX).watch(&test, &settings, early.kept()).expect("nobody stops it");
                let all = |solution: &Solution| (solution.direct.clone(), solution.indirect.clone(), solution.rays);
                assert_eq!(all(&resumed), all(&undisturbed), "{method:?} after {seconds}");
            }
        }
    }
}

#[test]
fn whenever_the_time_is_over_after_the_first_pass_all_elements_have_their_light() {
    let test = furnace();
    for method in METHODS {
        let settings = settings(method);
        let clock = Hourglass::clock(i32::MAX);
        let unlimited = clock.watch(&test, &settings, None).expect("there is time");
        let checks = i32::MAX - clock.left.load(Ordering::Relaxed);
        let mut ends = 0;
        for seconds in (0..20).map(|step| CHECKS_OF_DIRECT + (checks - CHECKS_OF_DIRECT) * step / 20) {
            let Ok(solution) = Hourglass::clock(seconds).watch(&test, &settings, None) else { continue };
            ends += usize::from(solution.rays < unlimited.rays);
            let light = |element: usize| solution.direct[element] + solution.indirect[element];
            assert!((0..96).all(|element| light(element).x > 0.3), "{method:?} after {seconds}");
            if method != Method::Progressive {
                let mean = (0..96).map(|element| light(element).x).sum::<f32>() / 96.0;
                assert!((mean - 2.0).abs() < 0.1, "{method:?} after {seconds}: {mean}");
            }
            // Where texels are too coarse for the error, more time would not help.
            let is_reason =
                |warning: &String| ["time limit", "texels are too coarse"].iter().any(|why| warning.contains(why));
            let is_said = solution.warnings.iter().any(is_reason);
            assert!(is_said || solution.error_of_mean <= 1.05 * settings.error, "{:?}", solution.warnings);
        }
        assert!(ends > 5, "{method:?}: {ends}");
    }
}
