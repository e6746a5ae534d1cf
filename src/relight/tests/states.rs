//! Tests of the states that a tracked light passes through.

use super::lights::Emitter;
use super::order::Order;
use super::receiving::Receiving;
use super::tracked_light::{LightState, ResponseKind, TrackedLight};
use super::*;

#[test]
fn a_light_that_moves_is_unsampled_then_traced_then_settled_and_a_place_that_is_known_needs_no_sample_again() {
    let level = level_of(indirect());
    let lit = lit(&level.scene);
    let order = Order::new(&level.precomputed.transport.patches, &level.precomputed.receivers.visible);
    let receiving = Receiving { level: &level, world: &*level.world, order: &order, lit: &lit };
    let [baked, moved] = [LAMP, -LAMP].map(|place| Emitter::lamp(lamp_at(place, 10.0).kind));
    let mut light = TrackedLight::baked("lamp", baked);
    light.choose_contribution(true);
    let state_with = |light: &mut TrackedLight, emitter: Emitter, is_excluded: bool| {
        light.set(emitter, is_excluded);
        light.prepare(&receiving, false, true);
        light.state
    };
    assert_eq!(state_with(&mut light, baked, false), LightState::Baked);
    assert_eq!(state_with(&mut light, moved, false), LightState::Unsampled);
    let mut states = Vec::new();
    while light.pending().next().is_some() {
        light.begin(ResponseKind::Current, 1, &receiving).unwrap().step(None, &receiving);
        light.update_state();
        states.push(light.state);
    }
    // A point-like light is sampled once by each receiver: one step for each part of the order.
    assert_eq!(states.len(), order.len());
    assert_eq!(states.pop(), Some(LightState::Settled));
    assert!(!states.is_empty() && states.iter().all(|state| *state == LightState::Tracing), "{states:?}");
    assert!(!light.is_settled_before(1) && light.is_settled_before(2), "not in the update that traced it");
    assert_eq!(state_with(&mut light, moved, true), LightState::Excluded);
    assert_eq!(state_with(&mut light, baked, false), LightState::Baked);
    assert_eq!(state_with(&mut light, moved, false), LightState::Settled);
    // Its stored contribution, times a factor, shows a light that changes in its place.
    let stronger = Emitter { strength: 2.0 * baked.strength, ..baked };
    assert_eq!(state_with(&mut light, stronger, false), LightState::Settled);
    assert_eq!(light.contribution_change(None), baked.strength);
}
