// Russian roulette.

/// Upper bound on path length. A compile-time constant, because lavapipe fails on loops bounded by a uniform.
const LONGEST_PATH: u32 = 1025u;
/// Number of reflections before Russian roulette starts.
const CERTAIN_REFLECTIONS: u32 = 3u;
/// Maximum survival probability.
const HIGHEST_SURVIVAL: f32 = 0.95;

/// Returns the survival probability of a path with the given weight; counterpart of `pathtrace::context::roulette`.
fn survival_of(weight: vec3<f32>, reflections: u32) -> f32 {
    let is_certain = reflections < CERTAIN_REFLECTIONS;
    return select(min(largest(weight), HIGHEST_SURVIVAL), f32(any(weight != vec3(0.0))), is_certain);
}
