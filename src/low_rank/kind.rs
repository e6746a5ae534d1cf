//! Selection of the patches of a level: of one size, or of coherent views.

use serde::{Deserialize, Serialize};

use super::{Patches, Rows};
use crate::lightmap::Elements;
use crate::radiosity::{Accumulators, HALVES};

/// Mean number of coherent patches for each coarse one, and the minimum number of coarse patches. A minimum is needed
/// to distinguish views.
const CUT_FROM_ONE: usize = 8;
const MIN_COARSE_PATCHES: usize = 24;

/// Grouping of elements into patches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// Patches of one size (2MF). The error is similar everywhere. It is lower than with coherent patches if there are
    /// few.
    #[default]
    Uniform,
    /// Patches of coherent views (2MCE): small where neighbors see different surfaces, large where they see the same
    /// ones.
    Coherent,
}

impl PatchKind {
    /// Creates at most `max_patches` patches. `halves` contains the stored hits of each element, `visible` its visible
    /// fraction.
    pub fn patches(
        self,
        elements: &Elements,
        visible: &[f32],
        halves: &[Accumulators; HALVES],
        max_patches: usize,
    ) -> Patches {
        match self {
            Self::Uniform => Patches::uniform(elements, visible, max_patches),
            Self::Coherent => {
                let coarse = Patches::uniform(elements, visible, coarse_for(max_patches));
                let [first, second] = halves.each_ref().map(|half| Rows::of_hits(&coarse, &half.stored));
                coarse.coherent_up_to(elements, visible, [&first, &second], max_patches)
            }
        }
    }
}

/// Returns the number of coarse patches that are divided into at most `max_patches` coherent ones.
pub(super) fn coarse_for(max_patches: usize) -> usize {
    (max_patches / CUT_FROM_ONE).max(MIN_COARSE_PATCHES).min(max_patches)
}
