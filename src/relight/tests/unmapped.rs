//! Light by way of unmapped surfaces, which have no texels.

use super::*;
use crate::scene::Role;

/// Builds the room with a lamp, and with blocks that have no texels.
fn room_with_bare_blocks(place: Vec3) -> Scene {
    let mut scene = room(0.0, vec![lamp_at(place, 10.0)]);
    let is_block = |key: &str| ["small", "large"].iter().any(|name| key.contains(name));
    let blocks = scene.surfaces.iter_mut().filter(|surface| is_block(&surface.key.0));
    assert!(blocks.map(|block| block.role = Role::Occluder).count() > 0);
    scene
}

#[test]
fn blocks_without_texels_reflect_the_light_of_a_lamp_that_has_moved() {
    let place = Vec3::new(0.0, -0.2, 0.75);
    let baked = bake(room_with_bare_blocks(LAMP), Content::Indirect, Some(400));
    let truth = bake(room_with_bare_blocks(place), Content::Indirect, None);
    let mut relighter = Relighter::new(level_of(&baked));
    relighter.set_lights(&live(&[lamp_at(LAMP, 10.0)]), &[]);
    relighter.set_lights(&live(&[lamp_at(place, 10.0)]), &[]);
    // Patches alone do not have the light of the blocks.
    relighter.update(&UpdateSettings { bounces: 0, rays: u32::MAX, ..UpdateSettings::default() });
    let by_patches = mean_error(&relighter, &truth.pages);
    settle(&mut relighter);
    let mean = mean_error(&relighter, &truth.pages);
    println!("mean difference {by_patches} by patches, {mean} at rest");
    assert!(by_patches > 0.25 && mean < 0.03, "{by_patches} {mean}");
}
