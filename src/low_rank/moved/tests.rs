//! Tests with three rooms in a row, with a door between the first two and a wall before the third.

use core::array;

use glam::{Affine3A, Vec3};

use super::*;
use crate::accel::{Preset, World};
use crate::lightmap::Elements;
use crate::low_rank::Patches;
use crate::progress::Unmonitored;
use crate::radiosity::test_scene::{TestScene, gray};

const RAYS: u32 = 64;
const LOSS: f32 = 0.01;

struct Rooms {
    shut: Arc<Scene>,
    open: Arc<Scene>,
    elements: Elements,
    /// Bounding boxes of the door, before and after the move.
    boxes: [Aabb; 2],
}

/// Creates rooms of one meter along x, with a doorway from floor to ceiling in the first wall.
fn rooms() -> Rooms {
    let mut test = TestScene::default();
    let (x, y, z) = (Vec3::X, Vec3::Y, Vec3::Z);
    let mut wall = |corner, u, v| test.quad(corner, u, v, [8; 2], gray(0.6));
    for room in 0..3 {
        let at = x * room as f32;
        for (corner, u, v) in [(at, z, x), (at + y, x, z), (at, x, y), (at + z, y, x)] {
            wall(corner, u, v);
        }
    }
    wall(Vec3::ZERO, y, z);
    wall(3.0 * x, z, y);
    // Walls and door extend one centimeter to each side.
    let sides = |at: Vec3, width: Vec3| [(at + 0.01 * x, y, width), (at - 0.01 * x, width, y)];
    for (at, from) in [(1.0, 0.3), (2.0, 0.0)] {
        for (corner, u, v) in sides(Vec3::new(at, 0.0, from), z * (1.0 - from)) {
            wall(corner, u, v);
        }
    }
    let door = sides(x, z * 0.3).map(|(corner, u, v)| test.quad(corner, u, v, [0; 2], gray(0.6)));
    let elements = test.elements();
    let shut = test.scene;
    let mut open = shut.clone();
    // The open door is above the ceiling.
    for door in door {
        open.surfaces[door.index()].to_world = Affine3A::from_translation(Vec3::Y * 2.0);
    }
    let boxes = [Vec3::ZERO, Vec3::Y * 2.0].map(|at| Aabb { min: 0.99 * x + at, max: 1.01 * x + y + z * 0.3 + at });
    Rooms { shut: Arc::new(shut), open: Arc::new(open), elements, boxes }
}

impl Rooms {
    fn moved<'a>(&'a self, scene: &'a Arc<Scene>, world: &'a World) -> MovedSurfaces<'a> {
        MovedSurfaces { scene, world, elements: &self.elements, boxes: &self.boxes, rays: RAYS, seed: 7, loss: LOSS }
    }

    /// Precomputes the complete transport of a scene.
    fn precomputed(&self, scene: &Arc<Scene>, world: &World) -> LowRank {
        let patches = Patches::uniform(&self.elements, &vec![1.0; self.elements.len()], 120);
        let mut backend = CpuBackend::new(scene, world, &self.elements, 7);
        let rows = Rows::by_rays(&patches, &mut backend, RAYS, &Unmonitored).unwrap();
        LowRank::new(patches, &self.elements.reflectance, &rows, LOSS)
    }

    /// Returns the mean indirect irradiance in each room, with direct light on the floor of the first.
    fn lit(&self, low_rank: &LowRank) -> [f32; 3] {
        let is_lit = |at: Vec3| at.x < 1.0 && at.y == 0.0;
        let direct: Vec<Vec3> =
            self.elements.center.iter().map(|&at| if is_lit(at) { Vec3::ONE } else { Vec3::ZERO }).collect();
        let mut indirect = vec![Vec3::ZERO; self.elements.len()];
        low_rank.relight(&low_rank.sorted(&direct), &mut indirect);
        array::from_fn(|room| {
            let order = low_rank.patches.order.iter().map(|&element| self.elements.center[element as usize]);
            let inside = |at: Vec3| at.x > room as f32 + 0.01 && at.x < room as f32 + 0.99;
            let of_room: Vec<f32> =
                order.zip(&indirect).filter(|(at, _)| inside(*at)).map(|(_, light)| light.x).collect();
            of_room.iter().sum::<f32>() / of_room.len() as f32
        })
    }
}

fn assert_alike(followed: &LowRank, anew: &LowRank) {
    assert!(followed.views == anew.views, "what elements see is the same to the last bit");
    for channel in 0..3 {
        let [followed, anew] = [followed, anew].map(|low_rank| low_rank.all_bounces_between(channel));
        let difference = (&followed - &anew).amax();
        assert!(difference < 1e-4, "{difference} of {}", anew.amax());
    }
}

#[test]
fn a_door_that_opens_and_shuts_leaves_what_working_it_all_out_anew_would() {
    let rooms = rooms();
    let shut_world = World::build(rooms.shut.clone(), Preset::fast());
    let open_world = World::build(rooms.open.clone(), Preset::fast());
    let shut = rooms.precomputed(&rooms.shut, &shut_world);
    let open = rooms.precomputed(&rooms.open, &open_world);
    let mut low_rank = shut.clone();
    let followed = low_rank.follow(&rooms.moved(&rooms.open, &open_world), &Unmonitored).unwrap();
    assert_alike(&low_rank, &open);
    let (dark, lit) = (rooms.lit(&shut), rooms.lit(&low_rank));
    println!("{} of {}, {dark:?} {lit:?}", followed.elements, rooms.elements.len());
    assert!(dark[1] < 1e-3 * dark[0] && lit[1] > 0.02 * lit[0], "light comes through the doorway");
    assert!(lit[0] < 0.98 * dark[0], "and is missed where it came from");
    assert!(lit[2] < 1e-3 * lit[0], "the wall keeps the third room dark");
    // A third of all elements are in the room that cannot see the door.
    assert!(followed.elements < rooms.elements.len() * 3 / 4);

    low_rank.follow(&rooms.moved(&rooms.shut, &shut_world), &Unmonitored).unwrap();
    assert_alike(&low_rank, &shut);
    assert!(rooms.lit(&low_rank)[1] < 1e-3 * dark[0]);
}

#[test]
fn a_small_change_is_followed_by_a_part_of_the_inverse() {
    let mut rooms = rooms();
    // A board of 4 cm is removed from the wall of the third room.
    let mut test = TestScene { scene: (*rooms.shut).clone(), ..TestScene::default() };
    let board = test.quad(Vec3::new(2.5, 0.5, 1e-3), Vec3::X * 0.04, Vec3::Y * 0.04, [0; 2], gray(0.2));
    rooms.shut = Arc::new(test.scene);
    let mut gone = (*rooms.shut).clone();
    gone.surfaces[board.index()].to_world = Affine3A::from_translation(Vec3::Y * 9.0);
    rooms.open = Arc::new(gone);
    let at = Vec3::new(2.5, 0.5, 1e-3);
    rooms.boxes = [at, at + Vec3::Y * 9.0].map(|at| Aabb { min: at, max: at + Vec3::new(0.04, 0.04, 0.0) });
    let worlds = [&rooms.shut, &rooms.open].map(|scene| World::build(scene.clone(), Preset::fast()));
    let mut low_rank = rooms.precomputed(&rooms.shut, &worlds[0]);
    let followed = low_rank.follow(&rooms.moved(&rooms.open, &worlds[1]), &Unmonitored).unwrap();
    println!("{} of {} patches", followed.patches, low_rank.patches.len());
    assert!(followed.patches > 0 && followed.patches * 2 < low_rank.patches.len());
    assert_alike(&low_rank, &rooms.precomputed(&rooms.open, &worlds[1]));
}

#[test]
fn what_moves_out_of_sight_changes_nothing() {
    let rooms = rooms();
    let world = World::build(rooms.shut.clone(), Preset::fast());
    let before = rooms.precomputed(&rooms.shut, &world);
    let mut after = before.clone();
    let far = [Aabb { min: Vec3::splat(20.0), max: Vec3::splat(21.0) }];
    let moved = MovedSurfaces { boxes: &far, ..rooms.moved(&rooms.shut, &world) };
    assert_eq!(after.follow(&moved, &Unmonitored).unwrap(), Followed::default());
    assert!(after == before);
}
