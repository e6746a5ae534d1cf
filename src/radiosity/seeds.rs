//! Which random numbers a solver draws.

use crate::geometry::sobol::hash2;

/// What numbers are drawn for; stages never share any.
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

/// The seed with which a half allots its rays, another each time that it shoots.
pub(crate) fn seed_of_allocation(seed: u32, half: usize, shots: u32) -> u32 {
    hash2(seed_of_stage(seed, half, Stage::Allocate), shots)
}

/// The seed of a stage of a half; hashed with an element's number it is that of the element's points.
pub(crate) fn seed_of_stage(seed: u32, half: usize, stage: Stage) -> u32 {
    hash2(seed, half as u32 * 16 + stage as u32)
}
