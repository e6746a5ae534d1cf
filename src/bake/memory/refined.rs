//! What progressive refinement takes.

use crate::radiosity::{MOST_PATCHES, Method, SolverSettings, SubsceneSettings, most_mask_bytes_on_their_way};

use super::{Amounts, BYTES_PER_TRIANGLE, MIB};

/// What it keeps of an element besides what other methods do: its light and number, and where it looks from. Of the latter
/// a solver that works in subscenes needs only those of one of them at a time.
const BYTES_PER_LIGHT: f64 = 60.0;
const BYTES_PER_OUTLOOK: f64 = 240.0;
/// What it keeps where there is room: form factors between each patch and the elements that see it, about two in five, and
/// outlooks and masks of subscenes that are not at work. All of that together may have a quarter of the memory.
const BYTES_PER_LINK: f64 = 16.0;
const BYTES_PER_FORM_FACTOR: f64 = 4.0;
const SEEN: f64 = 0.4;
pub(super) const KEPT_SHARE: f64 = 0.25;
/// What an element takes more in subscenes: its number in its own, and a copy of its light.
const BYTES_PER_OWN_NUMBER: f64 = 50.0;
/// What a subscene takes besides the pieces of triangles in it, all of which are as if there were twice as many.
const BYTES_PER_SUBSCENE: f64 = 30e3;
/// Borders of a subscene, each of which it shares with another: six, but few have neighbours on all sides.
const BORDERS_PER_SUBSCENE: usize = 3;
/// Borders of all that light of one patch goes through, about, and has a mask for.
const CROSSED: f64 = 0.25;

/// What a solver keeps as far as its share of the memory goes, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// Were there memory for all of it.
    pub wanted: f64,
    /// As the memory is.
    pub had: f64,
}

/// What progressive refinement takes, bytes.
pub struct Refined {
    /// What it cannot do without.
    pub least: f64,
    pub kept: Kept,
}

impl Refined {
    /// Of a scene that is worked on in some subscenes, or at once; nothing with other methods.
    pub fn new(settings: &SolverSettings, amounts: &Amounts, subscenes: Option<SubsceneSettings>) -> Self {
        if settings.method != Method::Progressive {
            return Self { least: 0.0, kept: Kept::default() };
        }
        let elements = amounts.elements();
        let patches = elements.min(MOST_PATCHES as f64);
        let form_factors = SEEN * patches * (BYTES_PER_LINK * patches + BYTES_PER_FORM_FACTOR * elements);
        let (lights, outlooks) = (elements * BYTES_PER_LIGHT, elements * BYTES_PER_OUTLOOK);
        let (least, wanted) = match subscenes {
            None => (lights + outlooks, form_factors),
            Some(subscenes) => {
                let Masks { on_their_way, kept } = Masks::new(&subscenes, patches);
                let count = f64::from(subscenes.partition.count.max(1));
                let pieces = amounts.triangles * BYTES_PER_TRIANGLE;
                let own = elements * BYTES_PER_OWN_NUMBER + pieces + count * BYTES_PER_SUBSCENE;
                let at_work = outlooks / count;
                (lights + own + at_work + on_their_way, form_factors + outlooks - at_work + kept)
            }
        };
        let had = wanted.min(KEPT_SHARE * f64::from(settings.memory_mib) * MIB);
        Self { least, kept: Kept { wanted, had } }
    }

    /// All of it.
    pub fn bytes(&self) -> f64 {
        self.least + self.kept.had
    }
}

/// What masks take, bytes.
struct Masks {
    on_their_way: f64,
    /// Were there memory for those of all patches.
    kept: f64,
}

impl Masks {
    fn new(SubsceneSettings { partition, mask_resolution }: &SubsceneSettings, patches: f64) -> Self {
        let subscenes = partition.count as usize;
        let [of_shot, on_their_way] =
            most_mask_bytes_on_their_way(subscenes, BORDERS_PER_SUBSCENE * subscenes, *mask_resolution);
        Self { on_their_way: CROSSED * on_their_way as f64, kept: CROSSED * patches * of_shot as f64 }
    }
}
