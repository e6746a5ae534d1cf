//! Gather rays that check or correct a solution, which a team can share.

use core::ops::Range;
use std::borrow::Cow;

use glam::Vec3;
use rayon::prelude::*;

use super::HALVES;
use super::cpu::{CHECK, CORRECT, Transport};
use super::residual::{Claim, Gathered, Probe};
use super::seeds::Stage;
use crate::cluster::{DecodeError, Decoder, Encoder, Task, Team, TeamError, Work};
use crate::progress::{Cancelled, Monitor, Silent};

/// Result of an element's rays in both halves.
pub(super) type Found = [Gathered; HALVES];

/// Gather rays of some elements, which read the radiosities of a solution. Its units are those elements.
pub(super) struct ProbeTask<'a> {
    transport: &'a Transport<'a>,
    /// Radiosity of each element, in lm/m2.
    radiosity: Cow<'a, [Vec3]>,
    /// Visible fraction of each element, in a correction. A check does not know it.
    visible: Option<Cow<'a, [f32]>>,
    /// Elements that the rays start from, and the number of rays for each half of each.
    chosen: Vec<u32>,
    rays: Vec<u32>,
}

impl<'a> ProbeTask<'a> {
    /// Creates the check of some elements of a solution.
    pub fn check(transport: &'a Transport<'a>, claim: &Claim, chosen: &[usize]) -> Self {
        let total = |(direct, indirect): (&Vec3, &Vec3)| *direct + *indirect;
        let irradiance = claim.direct.iter().zip(claim.indirect).map(total);
        let reflected = irradiance.zip(&transport.elements.reflectance).map(|(light, part)| light * part);
        let chosen: Vec<u32> = chosen.iter().map(|&element| element as u32).collect();
        let rays = vec![claim.rays; chosen.len()];
        Self { transport, radiosity: reflected.collect(), visible: None, chosen, rays }
    }

    /// Creates a part of a correction: elements from `first` on, with these numbers of rays.
    pub fn correct(
        transport: &'a Transport<'a>,
        radiosity: &'a [Vec3],
        visible: &'a [f32],
        first: usize,
        rays: &[u32],
    ) -> Self {
        let chosen = (first..first + rays.len()).map(|element| element as u32).collect();
        Self { transport, radiosity: radiosity.into(), visible: Some(visible.into()), chosen, rays: rays.to_vec() }
    }

    /// Reads the task from its inputs, after their kind.
    ///
    /// # Errors
    /// Returns an error for damaged inputs.
    pub fn decode(transport: &'a Transport<'a>, corrects: bool, content: &mut Decoder) -> Result<Self, DecodeError> {
        let elements = transport.elements.len();
        let (radiosity, chosen, rays) = (content.slice()?, content.slice::<u32>()?, content.slice()?);
        let visible = if corrects { Some(content.slice()?) } else { None };
        let fits = |length: usize| length == elements;
        if !fits(radiosity.len())
            || !visible.as_ref().is_none_or(|visible: &Vec<f32>| fits(visible.len()))
            || rays.len() != chosen.len()
            || chosen.iter().any(|&element| element as usize >= elements)
        {
            return Err(DecodeError);
        }
        Ok(Self { transport, radiosity: radiosity.into(), visible: visible.map(Cow::Owned), chosen, rays })
    }

    /// Returns the light of all elements. A team shares the rays, if there is one.
    ///
    /// # Errors
    /// Returns an error if the monitor cancels, or the team fails.
    pub fn light(&self, team: Option<&dyn Team>, monitor: &dyn Monitor) -> Result<Vec<Found>, TeamError> {
        match team {
            // The solver reports its own progress.
            Some(team) => self.shared(team, &Silent(monitor)),
            None => Ok(self.gathered(0..self.units(), monitor)?),
        }
    }

    /// Traces the rays of some units in this process.
    fn gathered(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<Found>, Cancelled> {
        let Self { transport, ref radiosity, ref visible, ref chosen, ref rays } = *self;
        let stage = if visible.is_some() { Stage::Correct } else { Stage::Check };
        let probe = Probe { transport, radiosity, visible: visible.as_deref(), stage };
        let gathered = |unit: usize| -> Result<Found, Cancelled> {
            monitor.check()?;
            Ok([0, 1].map(|half| probe.gathered(half, chosen[unit] as usize, rays[unit])))
        };
        // Some elements take a hundred times as long as others, so threads take them one by one.
        (units.start as usize..units.end as usize).into_par_iter().with_max_len(1).map(gathered).collect()
    }

    /// Shares all rays with a team.
    fn shared(&self, team: &dyn Team, monitor: &dyn Monitor) -> Result<Vec<Found>, TeamError> {
        let mut all = vec![Found::default(); self.chosen.len()];
        let mut receive = |units: Range<u32>, bytes: Vec<u8>| {
            let mut content = Decoder::new(&bytes);
            let (is_valid, light) = (content.slice::<[u8; HALVES]>()?, content.slice::<[Vec3; HALVES]>()?);
            let traced = content.slice::<[u64; HALVES]>()?;
            let place = &mut all[units.start as usize..units.end as usize];
            if [is_valid.len(), light.len(), traced.len()] != [place.len(); 3] {
                return Err(DecodeError);
            }
            for (unit, found) in place.iter_mut().enumerate() {
                *found = [0, 1].map(|half| Gathered {
                    light: (is_valid[unit][half] != 0).then_some(light[unit][half]),
                    rays: traced[unit][half],
                });
            }
            content.finish()
        };
        team.compute(self, &mut receive, monitor)?;
        Ok(all)
    }
}

impl Work for ProbeTask<'_> {
    fn units(&self) -> u32 {
        self.chosen.len() as u32
    }

    fn compute(&self, units: Range<u32>, monitor: &dyn Monitor) -> Result<Vec<u8>, Cancelled> {
        let found = self.gathered(units, monitor)?;
        let is_valid: Vec<_> = found.iter().map(|found| found.map(|half| u8::from(half.light.is_some()))).collect();
        let light: Vec<_> = found.iter().map(|found| found.map(|half| half.light.unwrap_or_default())).collect();
        let traced: Vec<_> = found.iter().map(|found| found.map(|half| half.rays)).collect();
        Ok(Encoder::new().slice(&is_valid).slice(&light).slice(&traced).finish())
    }
}

impl Task for ProbeTask<'_> {
    fn inputs(&self) -> Vec<u8> {
        let kind = if self.visible.is_some() { CORRECT } else { CHECK };
        let encoder = Encoder::new().value(kind).slice(&self.radiosity).slice(&self.chosen).slice(&self.rays);
        self.visible.iter().fold(encoder, |encoder, visible| encoder.slice(visible)).finish()
    }

    fn rays(&self) -> u64 {
        HALVES as u64 * self.rays.iter().map(|&rays| u64::from(rays)).sum::<u64>()
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
            let work_of = |inputs: &[u8]| if is_lost { Err(DecodeError) } else { helper.work_of(inputs) };
            let join = |_: &[u8]| Err(DecodeError.into());
            assert_eq!(serve(communicator, strategy, 1.0, &work_of, &join).is_err(), is_lost);
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
            let radiosity = vec![Vec3::ONE; all.len()];
            let rays: Vec<u32> = (0..all.len()).map(|element| 16 + element as u32 % 64).collect();
            for task in [
                ProbeTask::check(transport, claim, &all),
                ProbeTask::correct(transport, &radiosity, claim.visible, 0, &rays),
            ] {
                let alone = task.light(None, &PATIENT).unwrap();
                assert_eq!(alone.iter().filter(|[first, _]| first.light.is_none()).count(), INSIDE_BLOCK);
                let run = (3, Schedule::Parallel, Strategy::Equally);
                assert!(on_ranks(transport, run, false, |team| task.light(Some(team), &PATIENT).unwrap()) == alone);
            }
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
            let decode = |corrects, radiosity: &[Vec3], chosen: u32, rays: &[u32]| {
                let inputs = Encoder::new().slice(radiosity).slice(&[chosen]).slice(rays).slice(claim.visible).finish();
                ProbeTask::decode(transport, corrects, &mut Decoder::new(&inputs)).map(|task| task.units())
            };
            let radiosity = vec![Vec3::ONE; elements];
            for corrects in [false, true] {
                assert_eq!(decode(corrects, &radiosity, elements as u32 - 1, &[64]), Ok(1));
                assert_eq!(decode(corrects, &radiosity, elements as u32, &[64]), Err(DecodeError));
                assert_eq!(decode(corrects, &radiosity[1..], 0, &[64]), Err(DecodeError));
                assert_eq!(decode(corrects, &radiosity, 0, &[]), Err(DecodeError));
            }
        });
    }
}
