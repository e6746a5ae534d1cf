//! Gather rays that check a solution, which a team can share.

use core::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use super::HALVES;
use super::cpu::{CHECK, Transport};
use super::residual::{Claim, Probe};
use super::seeds::Stage;
use crate::cluster::{DecodeError, Decoder, Encoder, Task, Team, TeamError, Work};
use crate::progress::{Cancelled, Monitor, Silent};

/// Light that the rays of an element gather, in lux, for both halves. `None` if a half has no valid ray.
pub(super) type Light = Option<[Vec3; HALVES]>;

/// Gather rays of the checked elements, which read the radiosities of a solution. Its units are those elements.
pub(super) struct CheckTask<'a> {
    transport: &'a Transport<'a>,
    /// Number of rays for each half of an element.
    rays: u32,
    /// Radiosity of each element, in lm/m2.
    radiosity: Vec<Vec3>,
    /// Elements that are checked.
    chosen: Vec<u32>,
}

impl<'a> CheckTask<'a> {
    /// Creates the check of some elements of a solution.
    pub fn new(transport: &'a Transport<'a>, claim: &Claim, chosen: &[usize]) -> Self {
        let total = |(direct, indirect): (&Vec3, &Vec3)| *direct + *indirect;
        let irradiance = claim.direct.iter().zip(claim.indirect).map(total);
        let reflected = irradiance.zip(&transport.elements.reflectance).map(|(light, part)| light * part);
        let chosen = chosen.iter().map(|&element| element as u32).collect();
        Self { transport, rays: claim.rays, radiosity: reflected.collect(), chosen }
    }

    /// Reads the task from its inputs, after their kind.
    ///
    /// # Errors
    /// Returns an error for damaged inputs.
    pub fn decode(transport: &'a Transport<'a>, content: &mut Decoder) -> Result<Self, DecodeError> {
        let elements = transport.elements.len();
        let (rays, radiosity, chosen) = (content.value()?, content.slice()?, content.slice::<u32>()?);
        if radiosity.len() != elements || chosen.iter().any(|&element| element as usize >= elements) {
            return Err(DecodeError);
        }
        Ok(Self { transport, rays, radiosity, chosen })
    }

    /// Returns the light of all checked elements. A team shares the rays, if there is one.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or the team fails.
    pub fn light(&self, team: Option<&dyn Team>, monitor: &dyn Monitor) -> Result<Vec<Light>, TeamError> {
        match team {
            // The solver has already reported all of its progress.
            Some(team) => self.shared(team, &Silent(monitor)),
            None => Ok(self.gathered(0..self.units(), monitor)?),
        }
    }

    /// Traces the rays of some units in this process.
    fn gathered(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<Light>, Cancelled> {
        let Self { transport, rays, ref radiosity, ref chosen } = *self;
        let probe = Probe { transport, radiosity, visible: None, stage: Stage::Check };
        let gathered = |&element: &u32| -> Result<Light, Cancelled> {
            monitor.check()?;
            let [first, second] = [0, 1].map(|half| probe.gathered(half, element as usize, rays).light);
            Ok(first.zip(second).map(|(first, second)| [first, second]))
        };
        // Some elements take a hundred times as long as others, so threads take them one by one.
        chosen[units.start as usize..units.end as usize].par_iter().with_max_len(1).map(gathered).collect()
    }

    /// Shares all rays with a team.
    fn shared(&self, team: &dyn Team, monitor: &dyn Monitor) -> Result<Vec<Light>, TeamError> {
        let mut found = vec![None; self.chosen.len()];
        let mut receive = |units: Range<u32>, bytes: Vec<u8>| {
            let mut content = Decoder::new(&bytes);
            let (is_valid, light) = (content.slice::<u8>()?, content.slice::<[Vec3; HALVES]>()?);
            let found = &mut found[units.start as usize..units.end as usize];
            if is_valid.len() != found.len() || light.len() != found.len() {
                return Err(DecodeError);
            }
            for ((found, is_valid), light) in found.iter_mut().zip(is_valid).zip(light) {
                *found = (is_valid != 0).then_some(light);
            }
            content.finish()
        };
        team.compute(self, &mut receive, monitor)?;
        Ok(found)
    }
}

impl Work for CheckTask<'_> {
    fn units(&self) -> u32 {
        self.chosen.len() as u32
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let light = self.gathered(units, monitor)?;
        let is_valid: Vec<u8> = light.iter().map(|light| u8::from(light.is_some())).collect();
        let light: Vec<[Vec3; HALVES]> = light.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Encoder::new().slice(&is_valid).slice(&light).finish())
    }
}

impl Task for CheckTask<'_> {
    fn inputs(&self) -> Vec<u8> {
        Encoder::new().value(CHECK).value(self.rays).slice(&self.radiosity).slice(&self.chosen).finish()
    }

    fn rays(&self) -> u64 {
        HALVES as u64 * u64::from(self.rays) * self.chosen.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::accel::{Preset, World};
    use crate::cluster::{Communicator, Rank, RankTeam, STRATEGIES, Schedule, Strategy, run_local, serve};
    use crate::radiosity::backend::StepError;
    use crate::radiosity::residual::residual;
    use crate::radiosity::test_scene::{TestScene, gray};
    use crate::radiosity::{SolverHelper, SolverSettings};

    /// Number of elements of a quadrilateral inside the block of the Cornell box. They have no valid ray.
    const INSIDE_BLOCK: usize = 4;

    /// Calls a function with the transport and the solution of a Cornell box.
    fn with_solution(check: impl Fn(&Transport, &Claim)) {
        let mut test = TestScene::cornell();
        test.quad(Vec3::new(0.8, 0.6, 0.8), 0.3 * Vec3::Z, 0.3 * Vec3::X, [2; 2], gray(0.5));
        let (elements, solution) = test.solve(&SolverSettings { error: 0.1, ..SolverSettings::default() });
        let scene = Arc::new(test.scene);
        let world = World::build(scene.clone(), Preset::fast());
        // The check itself has to find out that some elements lie inside geometry.
        let (visible, adaptation) = (vec![1.0; elements.len()], vec![10.0; elements.len()]);
        let (direct, indirect) = (&solution.direct[..], &solution.indirect[..]);
        let claim = Claim { direct, indirect, visible: &visible, adaptation: &adaptation, rays: 64 };
        check(&Transport::new(&scene, &world, &elements, 3), &claim);
    }

    /// Monitor of a check, which has no progress of its own.
    struct Watch {
        is_cancelled: bool,
    }

    impl Monitor for Watch {
        fn progress(&self, fraction: f32) {
            panic!("the check reported a progress of {fraction}");
        }

        fn is_cancelled(&self) -> bool {
            self.is_cancelled
        }
    }

    /// Returns what a function finds on the master of ranks. All others help it to the end, or are lost in the check.
    fn on_ranks<T: Send>(
        transport: &Transport,
        (size, schedule, strategy): (u32, Schedule, Strategy),
        is_lost: bool,
        find: impl Fn(&dyn Team) -> T + Sync,
    ) -> T {
        let Transport { scene, world, elements, .. } = *transport;
        let mut found = run_local(size, schedule, |communicator| {
            if communicator.rank() == Rank::MASTER {
                return Some(find(&RankTeam::new(communicator, strategy, 1.0)));
            }
            let helper = SolverHelper::new(scene, world, elements, 3);
            let work_of = |inputs: &[u8]| {
                if is_lost { Err(DecodeError) } else { helper.work_of(inputs)?.ok_or(DecodeError) }
            };
            assert_eq!(serve(communicator, strategy, 1.0, &work_of).is_err(), is_lost);
            None
        });
        found.swap_remove(0).expect("the master")
    }

    const PATIENT: Watch = Watch { is_cancelled: false };

    #[test]
    fn ranks_find_the_residual_of_a_single_process() {
        with_solution(|transport, claim| {
            let alone = residual(transport, claim, None, &PATIENT).unwrap();
            assert!(alone.relative > 0.0 && alone.local > 0.0, "{alone:?}");
            for size in 1..=4 {
                for strategy in STRATEGIES {
                    for schedule in [Schedule::Parallel, Schedule::Random(size)] {
                        let run = (size, schedule, strategy);
                        let find = |team: &dyn Team| residual(transport, claim, Some(team), &PATIENT);
                        assert_eq!(on_ranks(transport, run, false, find), Ok(alone), "{run:?}");
                    }
                }
            }
        });
    }

    #[test]
    fn ranks_find_no_light_for_elements_without_a_valid_ray() {
        with_solution(|transport, claim| {
            let all: Vec<usize> = (0..transport.elements.len()).collect();
            let task = CheckTask::new(transport, claim, &all);
            let alone = task.light(None, &PATIENT).unwrap();
            assert_eq!(alone.iter().filter(|light| light.is_none()).count(), INSIDE_BLOCK);
            let run = (3, Schedule::Parallel, Strategy::Equally);
            assert_eq!(on_ranks(transport, run, false, |team| task.light(Some(team), &PATIENT).unwrap()), alone);
        });
    }

    #[test]
    fn what_lost_ranks_should_have_checked_is_checked_by_the_master_or_the_rank_is_named() {
        with_solution(|transport, claim| {
            let alone = residual(transport, claim, None, &PATIENT);
            let find = |team: &dyn Team| residual(transport, claim, Some(team), &PATIENT);
            for schedule in [Schedule::Parallel, Schedule::Random(1)] {
                assert_eq!(on_ranks(transport, (3, schedule, Strategy::default()), true, find), alone);
                let refusal = on_ranks(transport, (3, schedule, Strategy::Equally), true, find).unwrap_err();
                assert!(refusal.to_string().contains("rank 1 ended"), "{refusal}");
            }
        });
    }

    #[test]
    fn all_ranks_end_when_the_check_is_cancelled() {
        with_solution(|transport, claim| {
            let watch = Watch { is_cancelled: true };
            assert_eq!(residual(transport, claim, None, &watch), Err(StepError::Cancelled(Cancelled)));
            let find = |team: &dyn Team| residual(transport, claim, Some(team), &watch);
            for schedule in [Schedule::Parallel, Schedule::Random(2)] {
                let found = on_ranks(transport, (3, schedule, Strategy::default()), false, find);
                assert_eq!(found, Err(StepError::Cancelled(Cancelled)));
            }
        });
    }

    #[test]
    fn damaged_inputs_of_a_check_are_errors() {
        with_solution(|transport, claim| {
            let elements = transport.elements.len();
            let decode = |radiosity: &[Vec3], chosen: u32| {
                let inputs = Encoder::new().value(claim.rays).slice(radiosity).slice(&[chosen]).finish();
                CheckTask::decode(transport, &mut Decoder::new(&inputs)).map(|task| task.units())
            };
            let radiosity = vec![Vec3::ONE; elements];
            assert_eq!(decode(&radiosity, elements as u32 - 1), Ok(1));
            assert_eq!(decode(&radiosity, elements as u32), Err(DecodeError));
            assert_eq!(decode(&radiosity[1..], 0), Err(DecodeError));
        });
    }
}
