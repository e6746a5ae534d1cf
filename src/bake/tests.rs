//! Tests that a bake of any mesh ends in pages or in an error of one sentence.

mod soups;

use std::sync::Arc;
use std::time::Duration;

use glam::{Vec2, Vec3, Vec4};
use proptest::prelude::*;

use super::*;
use crate::Device;
use crate::lightmap::{ElementId, Page};
use crate::low_rank::{Coherence, PatchKind};
use crate::radiosity::Method;
use crate::scene::check::repair;
use crate::scene::{
    CheckedScene, Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Surface, SurfaceKey,
};

/// Returns a strategy for coordinates: mostly usual ones, sometimes those of a broken exporter.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        80 => -4.0f32..4.0,
        24 => prop::sample::select(vec![0.0, -0.0, 1.0, -1.0]),
        1 => any::<f32>(),
        1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE, 1e30, -1e9, 1e-30]),
    ]
}

fn vectors(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Vec3>> {
    prop::collection::vec(prop::array::uniform3(coordinate()).prop_map(Vec3::from_array), count)
}

fn mesh() -> impl Strategy<Value = MeshData> {
    let uv = || prop::collection::vec(prop::array::uniform2(coordinate()).prop_map(Vec2::from_array), 0..16);
    let triangles = prop::collection::vec(prop::array::uniform3(0u32..14), 1..24);
    let colors = prop::collection::vec(prop::array::uniform4(coordinate()).prop_map(Vec4::from_array), 0..16);
    let parts = (vectors(3..14), vectors(0..16), [uv(), uv(), uv()], colors, triangles);
    parts.prop_map(|(positions, normals, [uv0, uv1, other_uv], colors, mut triangles)| {
        // `mesh_from_bevy` and the files' readers leave out triangles with invalid indices.
        triangles.retain(|corners| corners.iter().all(|&corner| (corner as usize) < positions.len()));
        MeshData {
            name: "hostile".to_owned(),
            positions,
            normals,
            uv0,
            uv1,
            other_uv: vec![other_uv],
            colors,
            triangles,
        }
    })
}

fn scene_of(mesh: MeshData) -> Scene {
    let key = SurfaceKey::from_node("hostile", 0);
    let lamp = LightKind::Point { position: Vec3::Y, intensity: Vec3::ONE, radius: 0.1, range: f32::INFINITY };
    Scene {
        meshes: vec![Arc::new(mesh)],
        surfaces: vec![Surface::new(key, MeshId::from_index(0), MaterialId::from_index(0))],
        materials: vec![Material::diffuse("gray", Vec3::splat(0.5))],
        lights: vec![Light { name: "lamp".to_owned(), kind: lamp }],
        ..Scene::default()
    }
}

/// Observer that records the accuracy of each pass.
#[derive(Default)]
struct Passes(std::sync::Mutex<Vec<BakePass>>);

impl Observer for Passes {
    fn progress(&self, _progress: Progress) {}

    fn pass_finished(&self, pass: BakePass) {
        self.0.lock().unwrap().push(pass);
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

fn cornell_box() -> CheckedScene {
    crate::scene_files::load("builtin:cornell_box").unwrap().scene
}

#[test]
fn an_observer_is_told_of_the_error_after_each_pass_down_to_the_reports() {
    let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
    settings.layout.texels_per_meter = 4.0;
    settings.solver.error = 0.02;
    let scene = cornell_box();
    let observer = Passes::default();
    let bake = run_on(&Device::Cpu, scene, &settings, &observer).unwrap();
    let passes = observer.0.into_inner().unwrap();
    assert!(passes.len() >= 2, "{passes:?}");
    assert!(passes.windows(2).all(|pair| pair[0].seconds < pair[1].seconds && pair[0].rays < pair[1].rays));
    let last = passes[passes.len() - 1];
    assert_eq!((last.error, last.rays), (bake.report.error_estimate, bake.report.rays));
    assert!(passes[0].error > last.error, "{passes:?}");
}

/// Observer that asks to stop after the part `after` of the solve, once it has been asked `patience` times.
struct Impatient {
    after: f32,
    patience: u32,
    asked: std::sync::atomic::AtomicU32,
}

impl Impatient {
    fn new(after: f32, patience: u32) -> Self {
        Self { after, patience, asked: u32::MAX.into() }
    }
}

impl Observer for Impatient {
    fn progress(&self, progress: Progress) {
        if progress.stage == Stage::Solve && progress.fraction > self.after {
            self.asked.fetch_min(0, std::sync::atomic::Ordering::Relaxed);
        }
    }

    fn is_cancelled(&self) -> bool {
        let count = |asked: u32| (asked < u32::MAX).then(|| (asked + 1).min(self.patience + 1));
        let order = std::sync::atomic::Ordering::Relaxed;
        self.asked.fetch_update(order, order, count).is_ok_and(|before| before >= self.patience)
    }
}

#[test]
fn progressive_refinement_stops_when_asked_and_goes_on_as_if_undisturbed() {
    use crate::radiosity::SubsceneSettings;

    // The last one stops within a round of shots: between two rounds there are fewer questions.
    for (subscenes, stops) in [(None, [(0.5, 0), (0.8, 0)]), (Some(SubsceneSettings::default()), [(0.5, 0), (0.4, 20)])]
    {
        let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
        settings.layout.texels_per_meter = 3.0;
        settings.solver.method = Method::Progressive;
        settings.solver.subscenes = subscenes;
        let undisturbed = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap();
        for (after, patience) in stops {
            let resumed = stopped_twice(&settings, &|| Impatient::new(after, patience));
            assert_eq!(resumed.pages, undisturbed.pages);
            assert_eq!(resumed.report.rays, undisturbed.report.rays);
            assert_eq!(resumed.report.iterations, undisturbed.report.iterations);
        }
    }
}

/// Bakes with observers that stop within shots or corrections, and resumes each time.
fn stopped_twice(settings: &BakeSettings, impatient: &dyn Fn() -> Impatient) -> BakeOutput {
    let scene = cornell_box();
    let folder = tempfile::tempdir().unwrap();
    let folder = OutputFolder::open(folder.path().join("bake")).unwrap();
    let bake = |observer: &dyn Observer, resume: bool| {
        run_with_checkpoints(scene.clone(), settings, &Device::Cpu, observer, &folder, resume)
    };
    let stopped = bake(&impatient(), false);
    assert!(matches!(stopped, Err(BakeError::Cancelled(_))), "{:?}", stopped.map(|bake| bake.report));
    assert!(matches!(bake(&impatient(), true), Err(BakeError::Cancelled(_))));
    bake(&Unobserved, true).unwrap()
}

/// Observer whose command began long before its bake.
struct Late;

impl Observer for Late {
    fn progress(&self, _progress: Progress) {}

    fn began(&self) -> Option<std::time::Instant> {
        std::time::Instant::now().checked_sub(std::time::Duration::from_secs(60))
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

#[test]
fn a_time_limit_that_is_over_before_there_is_light_ends_in_a_sentence_and_one_that_is_short_in_a_whole_level() {
    let mut settings = BakeSettings { relight: Some(RelightPatches(4)), ..BakeSettings::default() };
    settings.layout.texels_per_meter = 2.0;
    settings.solver.error = 1e-6;
    let scene = under_a_lamp(vec![[0, 1, 2], [0, 2, 3]]);
    settings.solver.time_limit = Some(Duration::from_secs(50));
    let refusal = run_on(&Device::Cpu, scene.clone(), &settings, &Late).map(|_| ()).unwrap_err();
    assert!(matches!(refusal, BakeError::TimeOverBeforeLight { stage: "check", .. }), "{refusal}");
    for method in [Method::Gather, Method::Stochastic, Method::Progressive, Method::Counted, Method::Path] {
        settings.solver.method = method;
        // A busy machine may not find the first light within the grace of the shortest.
        let short_enough = [1, 4_000, 30_000].into_iter().find_map(|milliseconds| {
            settings.solver.time_limit = Some(Duration::from_millis(milliseconds));
            match run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved) {
                Err(BakeError::TimeTooShort { .. } | BakeError::TimeOverBeforeLight { .. }) => None,
                done => Some(done.unwrap()),
            }
        });
        let bake = short_enough.unwrap();
        assert_eq!((bake.report.elements, bake.volume.is_some(), bake.relight.is_some()), (16, true, true));
        let texel = |id: ElementId| bake.elements.texel[id.index()];
        let light = |id| bake.pages[0].texels[bake.pages[0].index(texel(id).x.into(), texel(id).y.into())].x;
        assert!(bake.elements.ids().all(|id| light(id) > 0.0), "{method:?}");
    }
}

/// Returns a flat mesh of some triangles under a lamp. All of its light is direct.
fn under_a_lamp(triangles: Vec<[u32; 3]>) -> CheckedScene {
    let positions = vec![Vec3::ZERO, Vec3::Z * 2.0, Vec3::new(2.0, 0.0, 2.0), Vec3::X * 2.0];
    repair(scene_of(MeshData { name: "level".to_owned(), positions, triangles, ..MeshData::default() })).0
}

#[test]
fn flat_floors_and_single_triangles_are_baked_in_subscenes_as_in_whole() {
    use crate::partition::{PartitionKind, PartitionSettings};
    use crate::radiosity::SubsceneSettings;

    let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
    settings.layout.texels_per_meter = 2.0;
    settings.solver.method = Method::Progressive;
    for triangles in [vec![[0, 1, 2], [0, 2, 3]], vec![[0, 1, 2]]] {
        let scene = under_a_lamp(triangles);
        settings.solver.subscenes = None;
        let whole = run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved).unwrap();
        assert!(light_of(&whole.pages) > 0.0);
        for (kind, count) in [(PartitionKind::Uniform, 6), (PartitionKind::Balanced, 4), (PartitionKind::Hybrid, 8)] {
            let partition = PartitionSettings { kind, count, ..PartitionSettings::default() };
            settings.solver.subscenes = Some(SubsceneSettings { partition, ..SubsceneSettings::default() });
            let cut = run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved).unwrap();
            assert_eq!(cut.pages, whole.pages, "{kind:?}");
        }
    }
}

#[test]
fn thousands_of_tiny_charts_are_refused_where_their_elements_do_not_fit_into_memory() {
    let corner = |index: u32| Vec3::new((index / 3 % 70) as f32, 0.0, (index / 210) as f32) * 0.5;
    let shape = [Vec3::ZERO, Vec3::Z * 0.01, Vec3::X * 0.01];
    let positions: Vec<Vec3> = (0..3 * 4_900).map(|index| corner(index) + shape[index as usize % 3]).collect();
    let triangles = (0..4_900).map(|triangle| [0, 1, 2].map(|corner| 3 * triangle + corner)).collect();
    let crumbs = MeshData { name: "crumbs".to_owned(), positions, triangles, ..MeshData::default() };
    let (scene, _) = repair(scene_of(crumbs));
    let with_memory = |memory_mib: u32| {
        let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
        settings.memory_mib = Some(memory_mib);
        run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved)
    };
    // 550 bytes per triangle, 400 per vertex and 12 MiB make 20.2 MiB, besides 530 elements estimated from areas. But
    // each triangle is an element, of 780 bytes.
    let refusal = with_memory(22).map(|_| ()).unwrap_err().to_string();
    assert!(refusal.contains("4900 elements") && refusal.contains("at any density"), "{refusal}");
    assert_eq!(with_memory(25).unwrap().report.elements, 4_900);
}

/// Observer that records the total light of each preview.
#[derive(Default)]
struct Spectator(std::sync::Mutex<Vec<f32>>);

impl Observer for Spectator {
    fn progress(&self, _progress: Progress) {}

    fn wants_preview(&self) -> bool {
        true
    }

    fn preview(&self, preview: Preview<'_>) {
        self.0.lock().unwrap().push(light_of(&preview.pages));
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

fn light_of(pages: &[Page]) -> f32 {
    pages.iter().flat_map(|page| &page.texels).map(|texel| texel.element_sum()).sum()
}

#[test]
fn previews_show_no_more_light_than_the_pages_come_to() {
    let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
    settings.layout.texels_per_meter = 8.0;
    settings.filter.denoise = false;
    settings.filter.stitch_seams = false;
    settings.solver.method = Method::Progressive;
    let scene = cornell_box();
    let spectator = Spectator::default();
    let bake = run_on(&Device::Cpu, scene, &settings, &spectator).unwrap();
    let previews = spectator.0.into_inner().unwrap();
    // The number and time of previews depend on the machine. The solver's own tests check them shot by shot.
    assert!(!previews.is_empty());
    let end = light_of(&bake.pages);
    assert!(previews.iter().all(|&light| 0.0 < light && light < 1.01 * end), "{previews:?} {end}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mesh_makes_a_bake_panic_or_its_pages_unreal(mesh in mesh()) {
        let (scene, _) = repair(scene_of(mesh));
        let mut settings = BakeSettings { memory_mib: Some(16), ..BakeSettings::default() };
        settings.layout.texels_per_meter = 1.0;
        settings.layout.page_size = 256;
        settings.solver.error = 0.9;
        if let Ok(baked) = run_on(&Device::Cpu, scene, &settings, &Unobserved) {
            for page in &baked.pages {
                prop_assert!(page.texels.iter().all(|texel| texel.is_finite() && texel.min_element() >= 0.0));
            }
        }
    }
}

#[cfg(feature = "gpu")]
#[test]
fn the_processor_bakes_when_the_graphics_card_is_lost() {
    use crate::gpu::test_device_of_its_own;

    let Some(gpu) = test_device_of_its_own() else { return };
    gpu.device().destroy();
    let scene = cornell_box();
    let mut settings = BakeSettings::default();
    (settings.layout.texels_per_meter, settings.solver.error) = (2.0, 0.5);
    let on_cpu = run_on(&Device::Cpu, scene.clone(), &settings, &Unobserved).unwrap();
    let after_loss = run_on(&Device::Gpu(gpu), scene, &settings, &Unobserved).unwrap();
    assert_eq!(after_loss.pages, on_cpu.pages);
    assert_eq!(after_loss.report.backend, "cpu");
    let warnings = after_loss.report.warnings.join(" ");
    assert!(warnings.contains("graphics card could not"), "{warnings}");
}

/// Observer that destroys the graphics card in the first pass after one that has been saved.
#[cfg(feature = "gpu")]
struct Thief {
    gpu: crate::gpu::Gpu,
    checkpoint: std::path::PathBuf,
    /// Rays up to the end of each pass.
    rays: std::sync::Mutex<Vec<u64>>,
}

#[cfg(feature = "gpu")]
impl Observer for Thief {
    fn progress(&self, _progress: Progress) {}

    fn pass_finished(&self, pass: BakePass) {
        let mut rays = self.rays.lock().unwrap();
        rays.push(pass.rays);
        if self.checkpoint.exists() {
            self.gpu.device().destroy();
        } else {
            // A checkpoint is due then.
            std::thread::sleep(super::checkpoint_writer::WORTH_KEEPING);
        }
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

#[cfg(feature = "gpu")]
#[test]
fn the_processor_goes_on_from_the_last_checkpoint_when_the_graphics_card_is_lost_in_the_midst() {
    use crate::gpu::test_device_of_its_own;

    let Some(gpu) = test_device_of_its_own() else { return };
    let scene = cornell_box();
    let mut settings = BakeSettings { volume: None, ..BakeSettings::default() };
    (settings.layout.texels_per_meter, settings.solver.error) = (2.0, 0.02);
    let folder = tempfile::tempdir().unwrap();
    let folder = OutputFolder::open(folder.path().join("bake")).unwrap();
    let checkpoint = folder.path().join("checkpoint.bin");
    let thief = Thief { gpu: gpu.clone(), checkpoint, rays: Default::default() };
    let baked = run_with_checkpoints(scene.clone(), &settings, &Device::Gpu(gpu), &thief, &folder, false).unwrap();
    let rays = thief.rays.into_inner().unwrap();
    assert!(rays.len() > 3 && rays[0] < rays[1], "{rays:?}");
    // The pass that the bake resumes from is reported again.
    assert_eq!(rays[2], rays[0], "{rays:?}");
    assert_eq!(baked.report.backend, "cpu");
    let warnings = baked.report.warnings.join(" ");
    assert!(warnings.contains("graphics card could not"), "{warnings}");

    let undisturbed = run_on(&Device::Cpu, scene, &settings, &Unobserved).unwrap();
    let [found, expected] = [&baked, &undisturbed].map(|bake| bake.report.rays as f32);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} rays, not {expected}");
    let mean = |bake: &BakeOutput| bake.pages[0].texels.iter().sum::<Vec3>();
    assert!(mean(&baked).distance(mean(&undisturbed)) < 1e-3 * mean(&undisturbed).length());
}

/// Bakes the Cornell box with at most `patches` patches for relighting.
fn relightable(patches: u32, relight_patches: PatchKind) -> Result<BakeOutput, BakeError> {
    let mut settings = BakeSettings {
        volume: None,
        relight: Some(RelightPatches(patches)),
        relight_patches,
        ..BakeSettings::default()
    };
    settings.layout.texels_per_meter = 8.0;
    settings.solver.error = 0.02;
    run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved)
}

#[test]
fn relighting_with_the_baked_lights_finds_the_baked_indirect_light() {
    let folder = tempfile::tempdir().unwrap();
    let [mut bake, by_view] = [PatchKind::Uniform, PatchKind::Coherent].map(|kind| relightable(400, kind).unwrap());
    for relight in [&bake, &by_view].map(|bake| bake.report.relight.clone().unwrap()) {
        println!("{relight:?}");
        assert!(relight.error < 0.05 && (200..=400).contains(&relight.patches), "{relight:?}");
    }
    let relight = bake.report.relight.clone().unwrap();

    bake.write(folder.path()).unwrap();
    let level = crate::lightmap::files::Level::read(folder.path()).unwrap();
    let bytes = level.read_relight(folder.path()).unwrap().unwrap();
    let content = crate::scene::hash(&bake.scene).0;
    let read = crate::low_rank::Precomputed::from_bytes(&bytes, content).unwrap();
    assert_eq!(Some(read), bake.relight.as_deref().cloned());
    // The arrays in memory have the sizes of those in the file, which also has a header.
    assert!((bytes.len() as u64).abs_diff(relight.bytes) < 256, "{} {relight:?}", bytes.len());
}

#[test]
fn a_threshold_and_a_least_area_decide_the_number_of_coherent_patches_up_to_the_limit() {
    let baked = |max_difference, min_area, patches| {
        let mut settings = BakeSettings {
            volume: None,
            relight: Some(RelightPatches(patches)),
            relight_patches: PatchKind::Coherent,
            relight_coherence: Some(Coherence { max_difference, min_area }),
            ..BakeSettings::default()
        };
        settings.layout.texels_per_meter = 6.0;
        settings.solver.error = 0.2;
        let report = run_on(&Device::Cpu, cornell_box(), &settings, &Unobserved).unwrap().report;
        let is_limited = report.warnings.iter().any(|warning| warning.contains("--relight-threshold"));
        (report.relight.unwrap().patches, is_limited)
    };
    let [few, some, many] = [(0.5, 0.25), (0.2, 0.25), (0.2, 0.0)].map(|(limit, area)| baked(limit, area, 400));
    assert!(few.0 < some.0 && some.0 < many.0 && many.0 <= 400, "{few:?} {some:?} {many:?}");
    assert!(!few.1 && !some.1);
    let limited = baked(0.0, 0.0, 60);
    assert!(limited.0 <= 60 && limited.1, "{limited:?}");
}

#[test]
fn more_patches_than_elements_are_refused_in_a_sentence() {
    let refusal = relightable(1_000_000, PatchKind::Uniform).unwrap_err().to_string();
    assert!(refusal.starts_with("1000000 patches") && refusal.contains("--relight"), "{refusal}");
    let settings = BakeSettings { relight: Some(RelightPatches(5)), ..BakeSettings::default() };
    let of_none = super::job::check_patches(&settings, 0).unwrap_err().to_string();
    assert!(of_none.contains("no texels") && !of_none.contains("at most"), "{of_none}");
    assert!(super::job::check_patches(&settings, 5).is_ok());
}

#[cfg(feature = "gpu")]
#[test]
fn transport_is_precomputed_from_what_the_graphics_card_traces_and_by_the_processor_where_that_is_lost() {
    use crate::gpu::Gpu;

    let Ok(gpu) = Gpu::headless() else { return };
    let mut settings = BakeSettings { volume: None, relight: Some(RelightPatches(60)), ..BakeSettings::default() };
    (settings.layout.texels_per_meter, settings.solver.error) = (2.0, 0.3);
    let scene = cornell_box();
    let bake = |observer: &dyn Observer| run_on(&Device::Gpu(gpu.clone()), scene.clone(), &settings, observer).unwrap();
    let on_card = bake(&Unobserved).report;
    let relight = on_card.relight.unwrap();
    println!("{relight:?}");
    assert_eq!((&*on_card.backend, on_card.warnings), ("gpu", vec![]));
    // The light agrees with the bake's own, except for the noise of other rays.
    assert!((30..=60).contains(&relight.patches) && relight.error < 0.25, "{relight:?}");

    let lost = bake(&Loser(gpu.clone()));
    let warnings = lost.report.warnings.join(" ");
    assert!(warnings.contains("graphics card could not"), "{warnings}");
    assert!(lost.relight.is_some() && lost.report.relight.clone().unwrap().error < 0.25, "{:?}", lost.report);
}

/// Observer that destroys the graphics card as soon as the light is known.
#[cfg(feature = "gpu")]
struct Loser(crate::gpu::Gpu);

#[cfg(feature = "gpu")]
impl Observer for Loser {
    fn progress(&self, progress: Progress) {
        if progress.stage == Stage::Relight {
            self.0.device().destroy();
        }
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}

#[test]
fn more_patches_than_fit_into_memory_are_refused_with_the_number_that_would() {
    let mut settings = BakeSettings { volume: None, relight: Some(RelightPatches(1_000)), ..BakeSettings::default() };
    settings.layout.texels_per_meter = 8.0;
    settings.memory_mib = Some(20);
    let scene = cornell_box();
    let refusal = run_on(&Device::Cpu, scene, &settings, &Unobserved).unwrap_err();
    assert!(matches!(refusal, BakeError::PatchesBeyondMemory { fitting: 300..500, .. }), "{refusal}");
}
