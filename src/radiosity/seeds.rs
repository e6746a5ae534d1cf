//! Seeds of the solvers' random numbers.

use crate::geometry::sobol::hash2;

/// Purpose of random numbers. Stages never share any.
#[derive(Clone, Copy)]
pub(crate) enum Stage {
    Direct,
    Pick,
    Gather,
    Shoot,
    Allocate,
    Check,
    Correct,
    Survey,
}

/// Returns the seed with which a half allocates its rays, different for each shooting run.
pub(crate) fn seed_of_allocation(seed: u32, half: usize, shots: u32) -> u32 {
    hash2(seed_of_stage(seed, half, Stage::Allocate), shots)
}

/// Returns the seed of a stage of a half. Hashed with an element's index, it is the seed of the element's points.
pub(crate) fn seed_of_stage(seed: u32, half: usize, stage: Stage) -> u32 {
    hash2(seed, half as u32 * 16 + stage as u32)
}
