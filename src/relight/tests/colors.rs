//! Tests of repainted walls against bakes in the new colors.

use super::*;
use crate::lightmap::Elements;
use crate::low_rank::Precomputed;
use crate::scene::MaterialId;

const WHITE: Vec3 = Vec3::splat(0.75);

/// Bakes the Cornell box with another color on its red wall.
fn painted_room(color: Vec3, content: Content, relight: Option<u32>) -> BakeOutput {
    let mut scene = room(1.0, vec![lamp_at(LAMP, 10.0)]);
    let wall = left_wall(&scene);
    let mut material = scene.material_of(wall).clone();
    material.base_color = color.extend(1.0);
    scene.surfaces[wall.index()].material = MaterialId::from_index(scene.materials.len());
    scene.materials.push(material);
    bake(scene, content, relight)
}

fn left_wall(scene: &Scene) -> SurfaceId {
    scene.surface_ids().find(|&id| scene.surface(id).key.0.contains("left")).unwrap()
}

fn paint(bake: &BakeOutput, color: Vec3) -> Paint {
    Paint { surface: left_wall(&bake.scene), color }
}

fn repainted(bake: &BakeOutput, color: Vec3) -> PlacedOccluder {
    let mut doors = Doors::new(level_of(bake), &Unmonitored).unwrap();
    doors.paint(&[paint(bake, color)]);
    doors.place(&[], &Unmonitored).unwrap().unwrap()
}

#[test]
fn a_wall_that_is_painted_white_lights_the_room_as_a_bake_with_a_white_wall() {
    for (content, baked) in [(Content::Indirect, indirect()), (Content::Full, full())] {
        let truth = painted_room(WHITE, content, Some(400));
        let mut relighter = Relighter::new(level_of(baked));
        let mut anew = Relighter::new(level_of(&truth));
        let before = error(&relighter, &truth.pages);
        relighter.set_level(repainted(baked, WHITE));
        settle(&mut relighter);
        let after = error(&relighter, &truth.pages);
        // An added lamp is reflected in the new color.
        for relighter in [&mut relighter, &mut anew] {
            relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
            relighter.set_lights(&live(&[lamp_at(LAMP, 10.0), lamp_at(Vec3::new(-0.6, 0.0, 0.5), 20.0)]), &[]);
            settle(relighter);
        }
        let displayed = |(index, page): (usize, &Page)| Page { texels: anew.page(index).to_vec(), ..page.clone() };
        let lit = error(&relighter, &truth.pages.iter().enumerate().map(displayed).collect::<Vec<_>>());
        println!("{content:?}: {before} before, {after} after; {lit} apart from a bake with the white wall relit");
        assert!(after < 0.3 * before && after < 0.05 && lit < 0.05, "{before} {after} {lit}");
    }
}

#[test]
fn transport_in_other_colors_is_that_of_a_rebuilt_level() {
    let level = level_of(indirect());
    let painted = repainted(indirect(), WHITE).level.precomputed;
    let mut scene = Scene::clone(&level.scene);
    let material = scene.surface(left_wall(&scene)).material;
    scene.materials[material.index()].base_color = WHITE.extend(1.0);
    let elements = Elements::build(&scene, &indirect().layout, &*level.world, &Unmonitored).unwrap();
    let mut rebuilt = Precomputed::clone(&level.precomputed);
    assert_ne!(*painted, rebuilt);
    rebuilt.set_reflectance(&elements.reflectance);
    assert!(*painted == rebuilt, "no bit differs");
    let values = |precomputed: &Precomputed| precomputed.transport.views.parts().values.as_ptr();
    assert_eq!(values(&painted), values(&level.precomputed), "what elements see has not been copied");
}

#[test]
fn what_is_known_of_lights_follows_the_paint() {
    let place = Vec3::new(-0.6, 0.0, 0.5);
    let relit = |paints_first: bool| {
        let mut relighter = Relighter::new(level_of(indirect()));
        relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
        for paints in [paints_first, !paints_first] {
            if paints {
                relighter.set_level(repainted(indirect(), WHITE));
            } else {
                relighter.set_lights(&live(&[lamp_at(place, 20.0)]), &[]);
            }
            settle(&mut relighter);
        }
        relighter
    };
    let [first, last] = [true, false].map(relit);
    let displayed = |(index, page): (usize, &Page)| Page { texels: last.page(index).to_vec(), ..page.clone() };
    let apart = error(&first, &indirect().pages.iter().enumerate().map(displayed).collect::<Vec<_>>());
    println!("{apart}");
    assert!(apart < 1e-3, "{apart}");
}

#[test]
fn the_old_color_leaves_no_trace_and_what_cannot_be_a_color_is_refused() {
    let baked = full();
    let mut doors = Doors::new(level_of(baked), &Unmonitored).unwrap();
    let mut relighter = Relighter::new(level_of(baked));
    let red = baked.scene.material_of(left_wall(&baked.scene)).base_color.truncate();
    for (color, is_same) in [(WHITE, false), (Vec3::NAN, true), (Vec3::splat(9.0), false), (red, true)] {
        doors.paint(&[paint(baked, color)]);
        relighter.set_level(doors.place(&[], &Unmonitored).unwrap().unwrap());
        doors.paint(&[paint(baked, color)]);
        assert!(doors.place(&[], &Unmonitored).unwrap().is_none(), "the same once more");
        settle(&mut relighter);
        assert_eq!(bits(&relighter, &baked.pages) == baked_bits(&baked.pages), is_same, "{color}");
    }
    assert!(paint(baked, Vec3::NAN).fault(&level_of(baked)).unwrap().contains("finite"));
    assert_eq!(paint(baked, WHITE).fault(&level_of(baked)), None);
}
