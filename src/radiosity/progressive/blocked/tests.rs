use std::cell::Cell;
use std::sync::Arc;

use glam::Vec3;

use super::super::refinement::Refinement;
use super::super::{Options, Place, Refine, USUAL_SEARCH};
use super::{Blocked, Message};
use crate::accel::{Preset, World};
use crate::cluster::{Decoder, Encoder};
use crate::lightmap::Elements;
use crate::partition::{PartitionError, PartitionKind, PartitionSettings};
use crate::progress::Unmonitored;
use crate::radiosity::test_scene::{TestScene, colored_pane, emissive, gray};
use crate::radiosity::{Method, SolveError, SolverSettings, SubsceneSettings, solve};
use crate::scene::{Scene, Sides};

/// Creates a room with a box and one luminous wall.
pub fn room_with_block() -> TestScene {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 2.0, 2.0), 6, |face| if face == 2 { emissive(0.6, 5.0) } else { gray(0.6) });
    test.block(Vec3::new(0.5, 0.0, 0.5), Vec3::new(1.0, 0.9, 1.5), 2, &gray(0.4));
    test
}

pub struct Fixture {
    pub scene: Arc<Scene>,
    pub world: World,
    pub elements: Elements,
    pub visible: Vec<f32>,
    pub sources: Vec<Vec3>,
}

impl Fixture {
    pub fn new(test: &TestScene) -> Self {
        let scene = Arc::new(test.scene.clone());
        let elements = test.elements();
        let world = World::build(scene.clone(), Preset::fast());
        let inside_test = crate::radiosity::cpu::InsideTest::new(&scene, &world);
        let open = |id| {
            let point = elements.center_point(&scene, id);
            if inside_test.is_inside(&point, point.geometric_normal).0 { 0.0 } else { 1.0 }
        };
        let visible = elements.ids().map(open).collect();
        let sources = elements.emission.iter().map(|radiance| *radiance * core::f32::consts::PI).collect();
        Self { scene, world, elements, visible, sources }
    }

    pub fn place(&self) -> Place<'_> {
        Place { scene: &self.scene, world: &self.world, elements: &self.elements, visible: &self.visible, weights: &[] }
    }

    pub fn options(max_bytes: usize) -> Options {
        Options { search: USUAL_SEARCH, noise: 0.002, max_bytes, seed: 7 }
    }

    /// Returns the received light of each element, computed for the whole scene at once.
    fn plain(&self, tolerance: f64) -> Vec<Vec3> {
        let mut refinement = Refinement::new(self.place(), &self.sources, &Self::options(1 << 30));
        while let Some(shot) = refinement.strongest().filter(|shot| shot.power > tolerance) {
            refinement.shoot(shot.patch);
        }
        refinement.received()
    }

    pub fn blocked(&self, settings: &SubsceneSettings, max_bytes: usize, tolerance: f64) -> Vec<Vec3> {
        let mut blocked = Blocked::new(self.place(), &self.sources, &Self::options(max_bytes), settings).unwrap();
        shoot_all(&mut blocked, tolerance);
        blocked.received()
    }

    /// Returns the root mean square difference of two solutions, relative to the mean of the first.
    pub fn difference(&self, first: &[Vec3], second: &[Vec3]) -> f32 {
        let (mut square, mut sum, mut area) = (0.0, 0.0, 0.0);
        for element in 0..self.elements.len() {
            let weight = self.elements.area[element] * self.visible[element];
            square += weight * (first[element] - second[element]).x.powi(2);
            sum += weight * first[element].x;
            area += weight;
        }
        (square / area).sqrt() / (sum / area)
    }
}

pub fn shoot_all(refinement: &mut dyn Refine, tolerance: f64) {
    while refinement.strongest_power().is_some_and(|power| power > tolerance) {
        refinement.shoot_on(tolerance, &|| true).unwrap();
    }
}

pub fn cut(kind: PartitionKind, count: u32, mask_resolution: u32) -> SubsceneSettings {
    let partition = PartitionSettings { kind, count, ..PartitionSettings::default() };
    SubsceneSettings { partition, mask_resolution, ranks: false }
}

#[test]
fn subscene_by_subscene_the_light_is_that_of_the_whole_however_it_is_cut() {
    let fixture = Fixture::new(&room_with_block());
    let plain = fixture.plain(1e-3);
    let noise = fixture.difference(&plain, &fixture.blocked(&cut(PartitionKind::Uniform, 1, 32), 1 << 30, 1e-3));
    assert!(noise < 0.006, "{noise} with one subscene: other random numbers");
    // Texels are a third of a meter wide, and planes cut many of them.
    for (kind, count, masks, max_difference) in [
        (PartitionKind::Uniform, 2, 32, 0.005),
        (PartitionKind::Uniform, 12, 32, 0.02),
        (PartitionKind::Balanced, 4, 32, 0.01),
        (PartitionKind::Hybrid, 15, 16, 0.02),
    ] {
        let blocked = fixture.blocked(&cut(kind, count, masks), 1 << 30, 1e-3);
        let difference = fixture.difference(&plain, &blocked);
        println!("{kind:?} {count}: {difference:.4}");
        assert!(difference < max_difference, "{kind:?} {count}: {difference}");
    }
}

#[test]
fn messages_are_read_as_they_were_written() {
    let fixture = Fixture::new(&room_with_block());
    let settings = cut(PartitionKind::Uniform, 2, 8);
    let options = Fixture::options(1 << 30);
    let mut blocked = Blocked::new(fixture.place(), &fixture.sources, &options, &settings).unwrap();
    blocked.shoot_in(0, 0.0, &|| true);
    let messages = &blocked.inboxes[1];
    assert!(messages.len() > 10);
    for message in messages {
        let bytes = message.encode(Encoder::new()).finish();
        let read = Message::decode(message.to, Decoder::new(&bytes)).unwrap();
        assert_eq!(read.encode(Encoder::new()).finish(), bytes);
        assert_eq!((read.mask, read.flash.power()), (message.mask.clone(), message.flash.power()));
        assert!(Message::decode(message.to, Decoder::new(&bytes[..bytes.len() - 1])).is_err());
    }
}

#[test]
fn an_empty_room_needs_no_rays_in_whatever_subscenes() {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 1.0, 3.0), 4, |_| emissive(0.5, 1.0));
    let fixture = Fixture::new(&test);
    let settings = cut(PartitionKind::Uniform, 6, 8);
    let mut blocked = Blocked::new(fixture.place(), &fixture.sources, &Fixture::options(1 << 30), &settings).unwrap();
    shoot_all(&mut blocked, 1e-3);
    assert_eq!(blocked.rays(), 0);
    for received in blocked.received() {
        // The radiosity pi is emitted everywhere, so irradiance is pi / (1 - 0.5) everywhere.
        assert!((received.x / (2.0 * core::f32::consts::PI) - 1.0).abs() < 0.02, "{received}");
    }
}

#[test]
fn without_memory_for_sites_masks_and_interactions_the_light_is_the_same() {
    let fixture = Fixture::new(&room_with_block());
    let settings = cut(PartitionKind::Uniform, 4, 16);
    let [(all_kept, builds), (none_kept, more_builds)] = [1 << 30, 0].map(|max_bytes| {
        let options = Fixture::options(max_bytes);
        let mut blocked = Blocked::new(fixture.place(), &fixture.sources, &options, &settings).unwrap();
        shoot_all(&mut blocked, 0.05);
        (blocked.received(), blocked.sites.builds)
    });
    assert_eq!(all_kept, none_kept);
    assert_eq!(builds, 4, "each site is made once");
    assert!(more_builds > 40, "{more_builds}: whoever is at work puts the others away");
}

#[test]
fn light_of_a_round_that_is_given_up_is_missing_beyond_borders_and_counts_as_unshot() {
    let fixture = Fixture::new(&room_with_block());
    let settings = cut(PartitionKind::Uniform, 2, 16);
    let whole = fixture.blocked(&settings, 1 << 30, 1e-3);
    let mut blocked = Blocked::new(fixture.place(), &fixture.sources, &Fixture::options(1 << 30), &settings).unwrap();
    let emitted = blocked.unshot_power();
    let asked = Cell::new(0);
    // One shot is made, and its light arrives at no other subscene.
    let is_through = blocked.shoot_on(0.0, &|| asked.replace(asked.get() + 1) == 0).unwrap();
    assert!(!is_through, "nothing to go on from");
    assert_eq!(blocked.shots(), 1);
    // The unshot power is all emitted power plus the reflection in the shot's subscene.
    assert!((1.0..1.1).contains(&(blocked.unshot_power() / emitted)), "{} of {emitted}", blocked.unshot_power());
    let received = blocked.received();
    let lit =
        received.iter().zip(&fixture.elements.center).filter(|(light, _)| light.x > 0.0).map(|(_, at)| at.x < 1.0);
    assert!(lit.clone().count() > 50 && lit.clone().all(|near| Some(near) == lit.clone().next()), "one side alone");
    assert!(received.iter().zip(&whole).all(|(some, all)| some.x <= all.x), "less far along, but the same light");
    blocked.undo();
    assert_eq!((blocked.shots(), blocked.unshot_power()), (0, emitted));
    shoot_all(&mut blocked, 1e-3);
    assert_eq!(blocked.received(), whole, "as if it had not been");
}

#[test]
fn shots_wait_until_those_before_have_arrived_where_masks_would_take_more_than_32_mib() {
    let fixture = Fixture::new(&room_with_block());
    for (mask_resolution, min_in_flight) in [(32, 8_000), (256, 120)] {
        let settings = cut(PartitionKind::Uniform, 2, mask_resolution);
        let mut blocked =
            Blocked::new(fixture.place(), &fixture.sources, &Fixture::options(1 << 30), &settings).unwrap();
        // There is one border, with four bytes for each rectangle of its mask.
        assert!(blocked.max_in_flight >= min_in_flight, "{} at {mask_resolution}", blocked.max_in_flight);
        assert!(blocked.max_in_flight * 4 * (mask_resolution as usize).pow(2) <= 32 << 20);
        blocked.max_in_flight = 5;
        blocked.shoot_in(0, 0.0, &|| true);
        assert_eq!((blocked.shots(), blocked.on_their_way), (32, 2));
        assert_eq!(blocked.inboxes[1].len(), 2, "what 30 shots sent has arrived");
    }
}

#[test]
fn shadows_need_rays_where_things_stand_and_none_in_empty_subscenes_behind() {
    let mut test = TestScene::default();
    test.room(Vec3::new(4.0, 1.0, 1.0), 4, |face| if face == 0 { emissive(0.5, 5.0) } else { gray(0.5) });
    test.block(Vec3::new(1.0, 0.0, 0.2), Vec3::new(1.3, 0.7, 0.6), 2, &gray(0.4));
    let fixture = Fixture::new(&test);
    // Five is prime, so the subscenes form a row.
    let settings = cut(PartitionKind::Uniform, 5, 16);
    let mut blocked = Blocked::new(fixture.place(), &fixture.sources, &Fixture::options(1 << 30), &settings).unwrap();
    shoot_all(&mut blocked, 1e-3);
    let mask_rays: Vec<u64> = blocked.workers.iter().map(|worker| worker.rays()[1]).collect();
    assert!(mask_rays[1] > 0 && mask_rays[2..] == [0, 0, 0], "{mask_rays:?}");
}

#[test]
fn things_that_coincide_shine_like_one() {
    for texels in [0, 2] {
        let received = [1, 10].map(|count| {
            let fixture = Fixture::new(&TestScene::with_copies(count, texels));
            let walls = 6 * 16;
            let whole = fixture.plain(1e-3);
            let cut = fixture.blocked(&cut(PartitionKind::Uniform, 4, 16), 1 << 30, 1e-3);
            [whole, cut].map(|light| light[..walls].iter().map(|light| light.x).sum::<f32>())
        });
        for (one, many) in received[0].iter().zip(&received[1]) {
            assert!((many / one - 1.0).abs() < 0.01, "{texels} texels: {many} instead of {one}");
        }
    }
}

#[test]
fn a_wall_in_the_plane_between_subscenes_lets_nothing_through() {
    let mut test = TestScene::default();
    test.room(Vec3::new(2.0, 1.0, 1.0), 4, |face| if face == 4 { emissive(0.5, 1.0) } else { gray(0.5) });
    // The wall has no thickness, and faces the luminous side.
    test.quad(Vec3::X, Vec3::Z, Vec3::Y, [4; 2], gray(0.5));
    let fixture = Fixture::new(&test);
    let received = fixture.blocked(&cut(PartitionKind::Uniform, 2, 16), 1 << 30, 1e-3);
    for (element, received) in received.iter().enumerate() {
        let center = fixture.elements.center[element];
        let is_beyond = center.x > 1.0;
        assert_eq!(is_beyond, received.x < 1e-3, "{received} at {center}");
    }
}

#[test]
fn colored_glass_tints_what_comes_through_masks() {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
    test.quad(Vec3::Y, Vec3::X, Vec3::Z, [4; 2], emissive(0.0, 1.0));
    let clear = Fixture::new(&test);
    let color = Vec3::new(0.2, 0.6, 1.0);
    let pane = test.quad(Vec3::new(0.0, 0.7, 0.0), Vec3::Z, Vec3::X, [0; 2], colored_pane(color * 0.75));
    test.scene.surfaces[pane.index()].sides = Sides::Both;
    let tinted = Fixture::new(&test);
    let settings = cut(PartitionKind::Uniform, 8, 32);
    let [unmapped, through] =
        [&clear, &tinted].map(|fixture| fixture.blocked(&settings, 1 << 30, 1e-3)[..16].iter().sum::<Vec3>());
    let ratio = through / unmapped;
    assert!((ratio - color * 0.75).abs().max_element() < 0.02, "{ratio}");
}

#[test]
fn what_cannot_be_cut_is_said_and_number_of_threads_does_not_matter() {
    let test = room_with_block();
    let settings = |count| SolverSettings {
        method: Method::Progressive,
        error: 0.2,
        subscenes: Some(cut(PartitionKind::Balanced, count, 8)),
        ..SolverSettings::default()
    };
    let fixture = Fixture::new(&test);
    let run = |count| solve(&fixture.scene, &fixture.world, &fixture.elements, &settings(count), None, &Unmonitored);
    assert!(matches!(run(3), Err(SolveError::Subscenes(PartitionError::NoPowerOfTwo { below: 2, above: 4, .. }))));
    let solutions = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(4)).unwrap()
    });
    assert_eq!(solutions[0].indirect, solutions[1].indirect);
    assert!(solutions[0].residual < 0.1, "{}", solutions[0].residual);
}

#[test]
fn the_residual_in_subscenes_is_no_more_than_a_fifth_above_that_of_the_whole() {
    let Fixture { scene, world, elements, .. } = Fixture::new(&room_with_block());
    let residual = |subscenes| {
        let settings =
            SolverSettings { method: Method::Progressive, error: 0.02, subscenes, ..SolverSettings::default() };
        solve(&scene, &world, &elements, &settings, None, &Unmonitored).unwrap().residual
    };
    let whole = residual(None);
    // Workers in turn and on ranks find the same light, as another test shows.
    for (kind, ranks) in [(PartitionKind::Uniform, true), (PartitionKind::Balanced, false)] {
        let cut = residual(Some(SubsceneSettings { ranks, ..cut(kind, 4, 32) }));
        println!("{kind:?}, on ranks: {ranks}: {cut:.5} of {whole:.5}");
        assert!(cut < 1.2 * whole, "{cut} in 4 subscenes, {whole} at once");
    }
}
