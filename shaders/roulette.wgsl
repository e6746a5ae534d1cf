// How long paths get.

/// More than any path has: a number that compilers know, since lavapipe fails on a loop that a uniform ends.
const LONGEST_PATH: u32 = 1025u;
/// Reflections that no path is ended before.
const CERTAIN_REFLECTIONS: u32 = 3u;
/// Most of the paths that roulette lets live.
const HIGHEST_SURVIVAL: f32 = 0.95;

/// With what chance a path goes on that is left with some weight, and then counts more: the twin of `roulette`.
fn survival_of(weight: vec3<f32>, reflections: u32) -> f32 {
    let is_certain = reflections < CERTAIN_REFLECTIONS;
    return select(min(largest(weight), HIGHEST_SURVIVAL), f32(any(weight != vec3(0.0))), is_certain);
}
