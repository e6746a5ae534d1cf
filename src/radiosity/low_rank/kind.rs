//! Which patches a level gets: of one size, or of one view.

use serde::{Deserialize, Serialize};

use super::{Patches, Rows};
use crate::lightmap::Elements;
use crate::radiosity::{Accumulators, HALVES};

/// How many patches of one view are cut from a coarse one, on average, and how many coarse ones there are at least to tell
/// views apart.
const CUT_FROM_ONE: usize = 8;
const FEWEST_COARSE: usize = 24;

/// How elements are grouped into patches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// Patches of one size (2MF): as near everywhere, and nearer where there are few.
    #[default]
    Uniform,
    /// Patches of one view (2MCE): small where neighbours see different things, large where they see alike.
    Coherent,
}

impl PatchKind {
    /// At most so many patches. `halves` has what rays of each element have met, `visible` the part of each that light
    /// reaches.
    pub fn patches(
        self,
        elements: &Elements,
        visible: &[f32],
        halves: &[Accumulators; HALVES],
        most: usize,
    ) -> Patches {
        match self {
            Self::Uniform => Patches::uniform(elements, visible, most),
            Self::Coherent => {
                let coarse = Patches::uniform(elements, visible, coarse_for(most));
                let [first, second] = halves.each_ref().map(|half| Rows::of_hits(&coarse, &half.stored));
                coarse.coherent_up_to(elements, visible, [&first, &second], most)
            }
        }
    }
}

/// How many coarse patches so many of one view are cut from.
pub(super) fn coarse_for(most: usize) -> usize {
    (most / CUT_FROM_ONE).max(FEWEST_COARSE).min(most)
}
