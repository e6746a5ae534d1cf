//! Bakes that many processes share: ranks, or shards that read and write the same folder.
//!
//! All ranks prepare the level. Then the master bakes it, and the others compute parts of each of its steps. In progressive
//! refinement each rank has a subscene. Shards all bake the level, and read the parts of steps that others have computed.

use super::job::{Job, Unlit, checkpoint_writer};
use super::{BakeError, BakeOutput, BakeSettings, Observer, OutputFolder};
use crate::Device;
use crate::cluster::{ClusterReport, Communicator, Rank, RankTeam, Strategy, Team, agree, serve};
use crate::partition::{Partition, Polygons};
use crate::pathtrace::volume_work_of;
use crate::radiosity::{RefinementHelper, SolverHelper, SubsceneSettings};
use crate::scene::CheckedScene;

/// Ranks that share a bake, and the division of its work among them.
#[derive(Clone, Copy)]
pub struct SharingRanks<'a> {
    /// Messages between the ranks.
    pub communicator: &'a dyn Communicator,
    /// Division of each step.
    pub strategy: Strategy,
    /// Speed of this rank, which only [`Strategy::SpeedProportional`] uses. `None` has a short test measure it.
    pub speed: Option<f32>,
}

/// Bakes a scene on all ranks, on their processors. Every rank must call it with the same scene, settings and strategy.
///
/// The master returns the bake and the sum of the reports of its steps, the other ranks `None`. The bake is that of
/// [`run_with_checkpoints`](super::run_with_checkpoints) on one processor, bit for bit. Only the master has a folder
/// for checkpoints.
///
/// # Errors
/// The errors of [`run_with_checkpoints`](super::run_with_checkpoints) on the master, and that of the first rank that
/// cannot help. Then all ranks return an error.
pub fn run_on_ranks(
    scene: CheckedScene,
    settings: &BakeSettings,
    observer: &dyn Observer,
    folder: Option<&OutputFolder>,
    resume: bool,
    ranks: &SharingRanks,
) -> Result<Option<(BakeOutput, Option<ClusterReport>)>, BakeError> {
    let SharingRanks { communicator, strategy, .. } = *ranks;
    let device = Device::Cpu;
    let mut job = Job::new(settings, &device, observer);
    let writer = folder.map(|folder| checkpoint_writer(&mut job, &scene, folder, resume));
    let prepared = settings.check_on_ranks().and_then(|()| job.prepare(scene, writer.as_ref()));
    let ready = prepared.as_ref().map_err(ToString::to_string).and_then(|unlit| {
        let checked = check_count(communicator.size(), unlit, settings);
        checked
            .and_then(|()| check_subscenes(communicator.size(), unlit, settings))
            .map_err(|error| error.to_string())?;
        Ok(digest(unlit))
    });
    agree(communicator, ready)?;
    let unlit = prepared?;
    let helper = SolverHelper::new(&unlit.scene, &*unlit.world, &unlit.elements, settings.solver.seed);
    let speed = match strategy {
        Strategy::SpeedProportional => ranks.speed.unwrap_or_else(|| helper.measured_speed()),
        _ => 1.0,
    };
    if communicator.rank() != Rank::MASTER {
        let work_of = |inputs: &[u8]| {
            let of_solver = helper.work_of(inputs)?;
            let of_volume = || volume_work_of(&unlit.scene, &*unlit.world, inputs);
            of_solver.map_or_else(of_volume, |work| Ok(Some(work)))
        };
        let Unlit { scene, world, elements, .. } = &unlit;
        let refinement = RefinementHelper::new(communicator, scene, &**world, elements, job.solver_settings());
        serve(communicator, strategy, speed, &work_of, &|order| refinement.join(order))?;
        return Ok(None);
    }
    drop(helper);
    let team = RankTeam::new(communicator, strategy, speed);
    let baked = job.bake_on(&team, unlit, writer.as_ref())?;
    Ok(Some((baked, team.report())))
}

/// Bakes a scene on the processor together with other processes, each of which calls this with the same scene and settings.
/// Each returns the bake of a single process, bit for bit.
///
/// `processes` is the number of them. `join` is called once nothing more can be refused, and before any work for the team.
///
/// # Errors
/// The errors of [`run_on`](super::run_on), those of the team, and that of `join`.
pub fn run_on_team<E: From<BakeError>>(
    scene: CheckedScene,
    settings: &BakeSettings,
    observer: &dyn Observer,
    (team, processes): (&dyn Team, u32),
    join: impl FnOnce() -> Result<(), E>,
) -> Result<BakeOutput, E> {
    settings.check_shared()?;
    let device = Device::Cpu;
    let mut job = Job::new(settings, &device, observer);
    let unlit = job.prepare(scene, None)?;
    check_count(processes, &unlit, settings)?;
    join()?;
    Ok(job.bake_on(team, unlit, None)?)
}

/// Refuses more processes than there are tiles of elements.
fn check_count(processes: u32, unlit: &Unlit, settings: &BakeSettings) -> Result<(), BakeError> {
    let tiles = SolverHelper::new(&unlit.scene, &*unlit.world, &unlit.elements, settings.solver.seed).units();
    if processes > tiles { Err(BakeError::TooManyProcesses { processes, tiles }) } else { Ok(()) }
}

/// Refuses more or fewer ranks than subscenes, if each rank is to have one.
fn check_subscenes(ranks: u32, unlit: &Unlit, settings: &BakeSettings) -> Result<(), BakeError> {
    match settings.solver.subscenes {
        Some(SubsceneSettings { partition, ranks: true, .. }) => {
            let (polygons, _) = Polygons::of_scene(&unlit.scene);
            Ok(Partition::new(&polygons, &partition)?.check_ranks(ranks)?)
        }
        _ => Ok(()),
    }
}

/// Returns a digest of the elements, which all ranks must have in common.
fn digest(unlit: &Unlit) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytemuck::cast_slice(&unlit.elements.center));
    hasher.update(bytemuck::cast_slice(&unlit.elements.area));
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::bake::{RelightPatches, Report, Unobserved, run_on};
    use crate::cluster::{AgreementError, FolderTeam, LocalCommunicator, STRATEGIES, Schedule, run_local};
    use crate::partition::{PartitionKind, PartitionSettings};
    use crate::pathtrace::VolumeSettings;
    use crate::radiosity::{Method, SolverSettings};

    fn cornell_box() -> CheckedScene {
        crate::scene_files::load("builtin:cornell_box").unwrap().scene
    }

    fn settings(method: Method) -> BakeSettings {
        let mut settings = BakeSettings::default();
        settings.layout.texels_per_meter = 4.0;
        settings.solver = SolverSettings { method, error: 0.06, ..settings.solver };
        settings.volume = Some(VolumeSettings { max_voxels: 8, samples: 16, ..VolumeSettings::default() });
        settings
    }

    fn bake(
        communicator: &LocalCommunicator,
        settings: &BakeSettings,
        strategy: Strategy,
    ) -> Result<Option<(BakeOutput, Option<ClusterReport>)>, BakeError> {
        let speed = Some(communicator.rank().0 as f32 + 1.0);
        let ranks = SharingRanks { communicator, strategy, speed };
        run_on_ranks(cornell_box(), settings, &Unobserved, None, false, &ranks)
    }

    /// Returns a report without what may differ between runs.
    fn lasting(report: &Report) -> Report {
        Report { seconds: Default::default(), peak_memory_bytes: 0, ..report.clone() }
    }

    fn assert_same(found: &BakeOutput, expected: &BakeOutput) {
        assert!(found.pages == expected.pages, "pages");
        assert!(found.volume == expected.volume, "volume");
        assert!(found.relight == expected.relight, "relighting");
        assert_eq!(lasting(&found.report), lasting(&expected.report));
    }

    #[test]
    fn ranks_bake_what_a_single_process_bakes() {
        for method in [Method::Gather, Method::Stochastic, Method::Path] {
            let settings = settings(method);
            let alone = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
            for (strategy, size) in STRATEGIES.into_iter().zip([3, 2, 4, 2]) {
                let mut bakes = run_local(size, Schedule::Parallel, |communicator| {
                    bake(communicator, &settings, strategy).unwrap()
                });
                let (together, report) = bakes.swap_remove(0).unwrap();
                assert!(bakes.iter().all(Option::is_none));
                assert_same(&together, &alone);
                let units = report.unwrap().ranks.iter().map(|rank| rank.units).collect::<Vec<_>>();
                assert!(strategy != Strategy::Equally || !units.contains(&0), "{units:?}");
            }
        }
    }

    /// Returns settings of progressive refinement with a subscene for each rank.
    fn in_subscenes(count: u32) -> BakeSettings {
        let mut settings = settings(Method::Progressive);
        let partition = PartitionSettings { kind: PartitionKind::Uniform, count, ..PartitionSettings::default() };
        settings.solver.subscenes = Some(SubsceneSettings { partition, mask_resolution: 8, ranks: true });
        settings
    }

    #[test]
    fn ranks_with_a_subscene_each_bake_what_threads_bake() {
        for (size, schedule) in [(2, Schedule::Parallel), (4, Schedule::Random(1))] {
            let settings = in_subscenes(size);
            let alone = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
            let mut bakes =
                run_local(size, schedule, |communicator| bake(communicator, &settings, Strategy::default()).unwrap());
            assert_same(&bakes.swap_remove(0).unwrap().0, &alone);
        }
    }

    #[test]
    fn messages_in_any_order_give_the_same_bake_with_relighting() {
        let settings = BakeSettings { relight: Some(RelightPatches(20)), ..settings(Method::Stochastic) };
        let alone = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
        for seed in 0..3 {
            let schedule = Schedule::Random(seed);
            let mut bakes =
                run_local(3, schedule, |communicator| bake(communicator, &settings, Strategy::default()).unwrap());
            assert_same(&bakes.swap_remove(0).unwrap().0, &alone);
        }
    }

    #[test]
    fn what_ranks_cannot_share_is_refused_by_all() {
        let refuse = |size: u32, settings: &BakeSettings| {
            let mut found = run_local(size, Schedule::Random(1), |communicator| {
                bake(communicator, settings, Strategy::default()).map(drop).unwrap_err()
            });
            let master = found.remove(0).to_string();
            assert!(found.iter().all(|error| matches!(error, BakeError::Agreement(AgreementError::Refused))));
            master
        };
        for (method, name) in [(Method::Progressive, "progressive"), (Method::Counted, "counted")] {
            let refusal = refuse(2, &settings(method));
            assert!(refusal.contains(name) && refusal.contains("one process"), "{refusal}");
        }
        let refusal = refuse(3, &in_subscenes(2));
        assert!(refusal.contains("3 ranks cannot share 2 subscenes, one each: start 2"), "{refusal}");
        let mut limited = settings(Method::Gather);
        limited.solver.time_limit = Some(core::time::Duration::from_secs(60));
        assert!(refuse(3, &limited).contains("time limit"));
        let refusal = refuse(40, &settings(Method::Gather));
        assert!(refusal.contains("40 processes") && refusal.contains("start fewer"), "{refusal}");
    }

    /// Observer that asks to stop once the solver has begun.
    struct Stopping(core::sync::atomic::AtomicBool);

    impl Observer for Stopping {
        fn progress(&self, progress: crate::bake::Progress) {
            if progress.stage == crate::bake::Stage::Solve && progress.fraction > 0.2 {
                self.0.store(true, core::sync::atomic::Ordering::Relaxed);
            }
        }

        fn is_cancelled(&self) -> bool {
            self.0.load(core::sync::atomic::Ordering::Relaxed)
        }
    }

    #[test]
    fn all_ranks_end_when_the_master_is_stopped_and_it_goes_on_from_its_checkpoint() {
        let settings = settings(Method::Stochastic);
        let folder = tempfile::tempdir().unwrap();
        let folder = OutputFolder::open(folder.path().join("level")).unwrap();
        let on_ranks = |observer: &dyn Observer, resume: bool| {
            run_local(2, Schedule::Parallel, |communicator| {
                let ranks = SharingRanks { communicator, strategy: Strategy::Equally, speed: None };
                let is_master = communicator.rank() == Rank::MASTER;
                let own = if is_master { observer } else { &Unobserved };
                run_on_ranks(cornell_box(), &settings, own, is_master.then_some(&folder), resume, &ranks)
            })
        };
        let stopped = on_ranks(&Stopping(false.into()), false);
        assert!(matches!(stopped[..], [Err(BakeError::Cancelled(_)), Ok(None)]));
        assert!(folder.checkpoints().exist());
        let (resumed, _) = on_ranks(&Unobserved, true).swap_remove(0).unwrap().unwrap();
        let alone = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
        assert!(resumed.pages == alone.pages && resumed.report.rays == alone.report.rays);
    }

    /// Bakes as a shard of three, from zero.
    fn bake_shard(folder: &Path, settings: &BakeSettings, shard: u32) -> Result<BakeOutput, BakeError> {
        let team = FolderTeam::new(folder, INPUTS, shard, 3);
        run_on_team(cornell_box(), settings, &Unobserved, (&team, 3), || Ok::<_, BakeError>(()))
    }

    /// Joins three shards.
    fn merge(folders: &[&Path], settings: &BakeSettings) -> Result<BakeOutput, BakeError> {
        let team = FolderTeam::reader(folders.iter().map(|folder| folder.to_path_buf()).collect(), INPUTS, 3);
        run_on_team(cornell_box(), settings, &Unobserved, (&team, 3), || Ok::<_, BakeError>(()))
    }

    const INPUTS: [u8; 32] = [5; 32];

    fn settings_of_shards(method: Method) -> BakeSettings {
        let mut settings = settings(method);
        settings.layout.texels_per_meter = 16.0;
        settings
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    #[test]
    fn shards_at_the_same_time_bake_what_a_single_process_bakes() {
        for method in [Method::Gather, Method::Stochastic, Method::Path] {
            let settings = settings_of_shards(method);
            let alone = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let shards = std::thread::scope(|scope| {
                let folder = folder.path();
                let bake = |shard| scope.spawn(move || bake_shard(folder, &settings, shard).unwrap());
                [0, 1, 2].map(bake).map(|thread| thread.join().unwrap())
            });
            shards.iter().for_each(|shard| assert_same(shard, &alone));
            assert_same(&merge(&[folder.path()], &settings).unwrap(), &alone);
        }
    }

    #[test]
    fn shards_in_any_order_and_twice_give_the_same_and_a_missing_part_is_named() {
        let settings = settings_of_shards(Method::Stochastic);
        let alone = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for shard in [2, 0, 2, 1] {
            assert_same(&bake_shard(folder.path(), &settings, shard).unwrap(), &alone);
        }
        let parts = files(folder.path());
        assert!(parts.len() >= 6 && parts.len().is_multiple_of(3), "{parts:?}");
        // A part that lies in another folder is found there.
        let moved = other.path().join(parts[4].file_name().unwrap());
        fs::rename(&parts[4], &moved).unwrap();
        let refusal = merge(&[folder.path()], &settings).unwrap_err().to_string();
        assert!(refusal.contains("part 2 of 3") && refusal.contains("--shard 2/3"), "{refusal}");
        assert_same(&merge(&[folder.path(), other.path()], &settings).unwrap(), &alone);
        // The shard that runs again computes this part alone.
        let before = fs::metadata(&parts[0]).unwrap().modified().unwrap();
        assert_same(&bake_shard(folder.path(), &settings, 1).unwrap(), &alone);
        assert_eq!(fs::metadata(&parts[0]).unwrap().modified().unwrap(), before);
        assert_eq!(fs::read(&parts[4]).unwrap(), fs::read(&moved).unwrap());
        assert_same(&merge(&[folder.path()], &settings).unwrap(), &alone);
    }

    #[test]
    fn files_that_are_no_parts_of_the_bake_are_named() {
        let settings = settings_of_shards(Method::Path);
        let folder = tempfile::tempdir().unwrap();
        bake_shard(folder.path(), &settings, 0).unwrap();
        let part = files(folder.path()).pop().unwrap();
        let bytes = fs::read(&part).unwrap();
        let refusal = |content: &[u8]| {
            fs::write(&part, content).unwrap();
            let [merged, baked] = [merge(&[folder.path()], &settings), bake_shard(folder.path(), &settings, 0)]
                .map(|found| found.map(drop).unwrap_err().to_string());
            assert_eq!(merged, baked);
            assert!(merged.contains(part.file_name().unwrap().to_str().unwrap()), "{merged}");
            merged
        };
        assert!(refusal(b"three years of work").contains("no part of a bake"));
        assert!(refusal(&bytes[..bytes.len() - 1]).contains("damaged"));
        let mut flipped = bytes.clone();
        flipped[100] ^= 1;
        assert!(refusal(&flipped).contains("damaged"));
        fs::write(&part, &bytes).unwrap();
        let team = FolderTeam::new(folder.path(), [6; 32], 0, 3);
        let other = run_on_team(cornell_box(), &settings, &Unobserved, (&team, 3), || Ok::<_, BakeError>(()))
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(other.contains("another bake"), "{other}");
    }
}
