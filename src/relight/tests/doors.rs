//! Tests with two rooms, a lamp in one of them, and a sliding door between them.

use std::sync::OnceLock;

use glam::Affine3A;

use super::*;
use crate::builtin_scenes;
use crate::scene::{Material, MaterialId, MeshId, Role, Surface, SurfaceKey, shapes};

/// Baked position of the lamp, in the room at negative x.
const LAMP_BEFORE: Vec3 = Vec3::new(-1.0, 1.5, 0.5);

/// Displacement of the open door, in meters.
const OPEN: f32 = 1.05;

/// Returns the surface of the door, which follows those of the rooms.
fn door_of(scene: &Scene) -> SurfaceId {
    SurfaceId::from_index(scene.surfaces.len() - 1)
}

/// Builds the rooms. The door is displaced by `moved` meters, and the lamp has `candela` cd.
fn rooms(moved: f32, candela: f32) -> Scene {
    let mut scene = builtin_scenes::build("two_rooms").unwrap();
    let leaf = shapes::cuboid("door", Vec3::new(-0.03, 0.0, -0.5), Vec3::new(0.03, 2.0, 0.5));
    let [mesh, material] = [scene.meshes.len(), scene.materials.len()];
    scene.meshes.push(Arc::new(leaf));
    scene.materials.push(Material::diffuse("door", Vec3::splat(0.5)));
    let mut door =
        Surface::new(SurfaceKey("door".to_owned()), MeshId::from_index(mesh), MaterialId::from_index(material));
    (door.role, door.to_world) = (Role::Occluder, place(moved));
    scene.surfaces.push(door);
    scene.lights = vec![lamp_at(LAMP_BEFORE, candela)];
    scene
}

fn place(moved: f32) -> Affine3A {
    Affine3A::from_translation(Vec3::Z * moved)
}

fn shut(content: Content) -> &'static BakeOutput {
    static BAKES: [OnceLock<BakeOutput>; 2] = [OnceLock::new(), OnceLock::new()];
    BAKES[usize::from(content == Content::Full)].get_or_init(|| bake(rooms(0.0, 10.0), content, Some(400)))
}

fn doors_of(bake: &BakeOutput) -> Doors {
    Doors::new(level_of(bake), &Unmonitored).unwrap()
}

fn at(bake: &BakeOutput, to_world: Option<Affine3A>) -> Door {
    Door { surface: door_of(&bake.scene), to_world }
}

/// Returns, for each room, the RMS difference relative to the mean of a bake, and the ratio of both means.
fn in_rooms(relighter: &Relighter, bake: &BakeOutput) -> [[f32; 2]; 2] {
    let receivers = &shut(bake.settings.solver.content).relight.as_ref().unwrap().receivers;
    let mut sums = [[0.0f64; 4]; 2];
    for (texel, center) in receivers.texel.iter().zip(&receivers.center) {
        let page = &bake.pages[texel.page as usize];
        let index = page.index(u32::from(texel.x), u32::from(texel.y));
        if page.validity[index] > 0.5 {
            let [found, truth] =
                [relighter.page(texel.page as usize)[index], page.texels[index]].map(|l| f64::from(luminance(l)));
            let sums = &mut sums[usize::from(center.x > 0.0)];
            [(found - truth).powi(2), found, truth, 1.0].iter().zip(sums).for_each(|(more, sum)| *sum += more);
        }
    }
    sums.map(|[squares, found, truth, count]| {
        [((squares / count).sqrt() / (truth / count)) as f32, (found / truth) as f32]
    })
}

/// Returns the level with the door at another place.
fn moved_to(bake: &BakeOutput, to_world: Option<Affine3A>) -> PlacedOccluder {
    doors_of(bake).place(&[at(bake, to_world)], &Unmonitored).unwrap().unwrap()
}

/// Returns the RMS difference between the pages of two relighters, relative to the mean.
fn apart(a: &Relighter, b: &Relighter, pages: &[Page]) -> f32 {
    let displayed = |(index, page): (usize, &Page)| Page { texels: b.page(index).to_vec(), ..page.clone() };
    error(a, &pages.iter().enumerate().map(displayed).collect::<Vec<_>>())
}

#[test]
fn a_door_that_opens_lets_in_the_light_that_a_bake_of_the_open_rooms_has() {
    for content in [Content::Indirect, Content::Full] {
        let baked = shut(content);
        let open = bake(rooms(OPEN, 10.0), content, Some(400));
        let mut relighter = Relighter::new(level_of(baked));
        let mut anew = Relighter::new(level_of(&open));
        let before = in_rooms(&relighter, &open);
        let placed = moved_to(baked, Some(place(OPEN)));
        println!("{} elements of {}", placed.asked, baked.report.elements);
        relighter.set_level(placed);
        settle(&mut relighter);
        let after = in_rooms(&relighter, &open);
        // The lamp moves to where it shines through the doorway.
        for relighter in [&mut relighter, &mut anew] {
            relighter.set_lights(&live(&[lamp_at(LAMP_BEFORE, 10.0)]), &[]);
            relighter.set_lights(&live(&[lamp_at(Vec3::new(-1.0, 1.0, 0.0), 10.0)]), &[]);
            settle(relighter);
        }
        let lit = apart(&relighter, &anew, &open.pages);
        println!("{content:?}: {before:?} before, {after:?} after; {lit} apart from a bake of the open rooms relit");
        assert!(before[1][1] < 1e-3, "the other room is dark");
        assert!(after[1][0] < 0.2 && (after[1][1] - 1.0).abs() < 0.15, "light comes through the doorway: {after:?}");
        assert!(after[0][0] < 0.5 * before[0][0], "and is missed where it came from: {before:?} {after:?}");
        assert!(lit < 0.06, "{lit}");
    }
}

#[test]
fn what_is_known_of_lights_follows_a_door() {
    for content in [Content::Indirect, Content::Full] {
        let baked = shut(content);
        let relit = |opens_first: bool| {
            let mut relighter = Relighter::new(level_of(baked));
            relighter.set_lights(&live(&[lamp_at(LAMP_BEFORE, 10.0)]), &[]);
            for opens in [opens_first, !opens_first] {
                if opens {
                    relighter.set_level(moved_to(baked, Some(place(OPEN))));
                } else {
                    relighter.set_lights(&live(&[lamp_at(Vec3::new(-1.0, 1.0, 0.0), 20.0)]), &[]);
                }
                settle(&mut relighter);
            }
            relighter
        };
        let [first, last] = [true, false].map(relit);
        let apart = apart(&first, &last, &baked.pages);
        println!("{content:?}: {apart}");
        assert!(apart < 1e-3, "{apart}");
    }
}

#[test]
fn a_door_that_comes_back_leaves_no_trace() {
    let baked = shut(Content::Full);
    let mut doors = doors_of(baked);
    let mut relighter = Relighter::new(level_of(baked));
    for moved in [OPEN, 0.4, 0.0] {
        relighter.set_level(doors.place(&[at(baked, Some(place(moved)))], &Unmonitored).unwrap().unwrap());
        settle(&mut relighter);
        assert_eq!(bits(&relighter, &baked.pages) == baked_bits(&baked.pages), moved == 0.0);
    }
}

#[test]
fn a_door_without_a_place_is_gone_and_a_wall_is_no_door() {
    let baked = shut(Content::Indirect);
    let mut doors = doors_of(baked);
    let gone = doors.place(&[at(baked, None)], &Unmonitored).unwrap().unwrap();
    assert_ne!(gone.level.pages[0].texels, baked.pages[0].texels);
    for unsound in [Affine3A::from_translation(Vec3::NAN), Affine3A::from_scale(Vec3::new(1.0, 0.0, 1.0))] {
        assert!(doors.place(&[at(baked, Some(unsound))], &Unmonitored).unwrap().is_none(), "gone already");
    }
    let wall = Door { surface: SurfaceId(0), to_world: None };
    assert!(doors.fault_of(wall.surface).unwrap().contains("lightmap"));
    let back = doors.place(&[wall], &Unmonitored).unwrap().unwrap();
    assert!(back.asked == 0 && back.level.pages[0].texels == baked.pages[0].texels);
}

#[test]
fn what_makes_no_difference_is_not_placed_again() {
    let baked = shut(Content::Indirect);
    let mut doors = doors_of(baked);
    let mut is_placed = |doors_at: &[Door]| doors.place(doors_at, &Unmonitored).unwrap().is_some();
    let open = at(baked, Some(place(OPEN)));
    let wall = Door { surface: SurfaceId(0), to_world: None };
    assert!(!is_placed(&[at(baked, Some(place(0.0))), wall]), "as it was baked");
    assert!(is_placed(&[open]));
    assert!(!is_placed(&[open, wall]));
    assert!(is_placed(&[]));
    let paint = Paint { surface: door_of(&baked.scene), color: Vec3::ONE };
    assert!(paint.fault(&level_of(baked)).unwrap().contains("lightmap"));
    doors.paint(&[paint]);
    assert!(doors.place(&[], &Unmonitored).unwrap().is_none());
}

#[test]
fn copies_of_a_level_share_how_light_is_shown_and_one_whose_doors_stand_elsewhere_has_its_own() {
    let level = level_of(shut(Content::Indirect));
    let displayed = level.clone().texel_mapping();
    assert!(Arc::ptr_eq(&displayed, &level.texel_mapping()));
    let open = moved_to(shut(Content::Indirect), Some(place(OPEN))).level.texel_mapping();
    assert!(open.smoothing != displayed.smoothing && open.texels == displayed.texels);
}

#[test]
fn a_mover_that_was_not_baked_shuts_the_doorway() {
    let mut scene = rooms(0.0, 10.0);
    let door = door_of(&scene);
    scene.surfaces[door.index()].role = Role::Mover;
    let open = bake(scene, Content::Indirect, Some(400));
    let shut = shut(Content::Indirect);
    let mut relighter = Relighter::new(level_of(&open));
    let before = in_rooms(&relighter, shut);
    relighter.set_level(moved_to(&open, Some(place(0.0))));
    settle(&mut relighter);
    let after = in_rooms(&relighter, shut);
    println!("{before:?} before, {after:?} after");
    let left = after[1][1] / before[1][1];
    assert!(left < 0.15, "{left} of the light is left behind the door");
    assert!(after[0][0] < 0.5 * before[0][0], "and light that the door sends back is there: {before:?} {after:?}");
}
