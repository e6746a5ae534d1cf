//! Tests of the steps of a traversal.

use std::sync::Arc;

use glam::Vec4;

use super::super::Stack;
use super::super::tests::rays_in;
use super::{Pieces, any_view, assert_alike};
use crate::accel::{Preset, Walk, WalkCost, World};
use crate::pathtrace::fixtures::add_part;
use crate::scene::{Material, Scene, shapes};

#[test]
fn ropes_lead_to_the_same_hits_in_as_many_steps_as_on_the_cpu() {
    let mut scene = Scene::default();
    add_part(&mut scene, shapes::torus("ring", 1.0, 0.5, 50, 40), Material::default());
    let Some(pieces) = Pieces::with_stack(scene.clone(), any_view(), Stack::Ropes) else { return };
    let rays = rays_in(&scene, 4096);
    let questions: Vec<[Vec4; 2]> =
        rays.iter().map(|ray| [ray.origin.extend(0.0), ray.direction.extend(0.0)]).collect();
    let found = pieces.answers(
        "fn answer(asked: Rows) -> Rows {
            let hit = closest_hit(Ray(asked[0].xyz, 0.0, asked[1].xyz, 1000.0));
            return Rows(vec4(select(hit.t, 0.0, hit.triangle == NONE), f32(hit.steps), 0.0, 0.0), vec4(0.0));
        }",
        &questions,
    );
    let world = World::build(Arc::new(scene), Preset::narrow());
    let walked = |ray| {
        let mut cost = WalkCost::default();
        let hit = world.closest_by(Walk::Ropes, ray, &mut cost);
        [Vec4::new(hit.map_or(0.0, |hit| hit.t), cost.steps as f32, 0.0, 0.0), Vec4::ZERO]
    };
    // Where a ray leaves a cell at its hit, rounding decides whether the next cell is visited.
    assert_alike("steps along ropes", &found, rays.iter().map(walked), 1e-5, 8);
}
