//! Second step of relighting: traces parts of responses within a ray budget.

use std::collections::BTreeMap;

use super::receiving::Receiving;
use super::tracked_light::{ResponseKind, TrackedLight};
use crate::lights::OneLight;

/// Traces parts of lights within the budget, at least one: those with the fewest samples and the longest wait first.
/// Every other part belongs to a light at its baked place, which is traced once. `update` is the number of the update.
/// Returns the number of rays.
pub fn trace_responses(lights: &mut [TrackedLight], (budget, update): (u64, u64), receiving: &Receiving) -> u64 {
    let mut samplers: BTreeMap<(usize, ResponseKind), Option<OneLight>> = BTreeMap::new();
    let (mut rays, mut step_count) = (0, 0u32);
    while rays < budget || step_count == 0 {
        let next = |only_baked: bool| {
            let of_light = |(index, light): (usize, &TrackedLight)| {
                let pending = light.pending().filter(|(.., kind)| !only_baked || *kind == ResponseKind::Baked);
                pending.map(|(steps, last_traced, kind)| (steps, last_traced, index, kind)).min()
            };
            lights.iter().enumerate().filter_map(of_light).min()
        };
        let is_for_baked = step_count % 2 == 1;
        let Some((.., index, kind)) = next(is_for_baked).or_else(|| next(false)) else {
            break;
        };
        let Some(response) = lights[index].begin(kind, update, receiving) else { break };
        let sampler = samplers.entry((index, kind)).or_insert_with(|| response.shape.sampler(receiving.lit));
        rays += response.step(sampler.as_ref(), receiving).max(1);
        lights[index].update_state();
        step_count += 1;
    }
    rays
}
