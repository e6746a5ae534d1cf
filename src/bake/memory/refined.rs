//! Memory of solvers of bounces that follow direct light: progressive refinement and counted rays.

use crate::radiosity::{MAX_PATCHES, Method, SolverSettings, SubsceneSettings, max_mask_bytes_in_flight};

use super::{Amounts, BYTES_PER_TRIANGLE, MIB};

/// Bytes of one element's light and number, and of its view data (outlook), besides those of other methods. With
/// subscenes, only the outlooks of one subscene are needed at a time.
const BYTES_PER_LIGHT: f64 = 60.0;
const BYTES_PER_OUTLOOK: f64 = 240.0;
/// Data that is kept where there is room: form factors between each patch and the elements that see it (about two in
/// five), and outlooks and masks of idle subscenes. All of them together may take a quarter of the memory.
const BYTES_PER_LINK: f64 = 16.0;
const BYTES_PER_FORM_FACTOR: f64 = 4.0;
const SEEN: f64 = 0.4;
pub(super) const KEPT_SHARE: f64 = 0.25;
/// Further bytes of one element with subscenes: its number there, and a copy of its light.
const BYTES_PER_OWN_NUMBER: f64 = 50.0;
/// Bytes of one subscene besides its pieces of triangles. All pieces together count as twice the triangles.
const BYTES_PER_SUBSCENE: f64 = 30e3;
/// Borders per subscene. Each has six and shares each with another, but few have neighbors on all sides.
const BORDERS_PER_SUBSCENE: usize = 3;
/// Fraction of all borders that the light of one patch crosses. Each crossed border has a mask.
const CROSSED: f64 = 0.25;

/// Bytes of the data that a solver keeps to save time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Kept {
    /// Bytes of all such data.
    pub wanted: f64,
    /// Bytes that fit into its share of the memory.
    pub had: f64,
}

/// Bytes of progressive refinement or of counted rays.
pub struct Refined {
    /// Bytes that it cannot do without.
    pub minimum: f64,
    pub kept: Kept,
}

impl Refined {
    /// Estimates the bytes with or without subscenes. All are zero with methods that gather.
    pub fn new(settings: &SolverSettings, amounts: &Amounts, subscenes: Option<SubsceneSettings>) -> Self {
        match settings.method {
            Method::Progressive => {}
            Method::Counted => return Self { minimum: counted_bytes(amounts), kept: Kept::default() },
            Method::Gather | Method::Stochastic | Method::Path => return Self { minimum: 0.0, kept: Kept::default() },
        }
        let elements = amounts.elements();
        let patches = elements.min(MAX_PATCHES as f64);
        let form_factors = SEEN * patches * (BYTES_PER_LINK * patches + BYTES_PER_FORM_FACTOR * elements);
        let (lights, outlooks) = (elements * BYTES_PER_LIGHT, elements * BYTES_PER_OUTLOOK);
        let (minimum, wanted) = match subscenes {
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
        Self { minimum, kept: Kept { wanted, had } }
    }

    /// Returns the sum of needed and kept bytes.
    pub fn bytes(&self) -> f64 {
        self.minimum + self.kept.had
    }
}

/// Bytes of one element of a partition: its light, its rays and its place.
const BYTES_PER_COUNTED: f64 = 200.0;
/// Elements of a partition for each texel, and for each triangle besides.
const COUNTED_PER_TEXEL: f64 = 1.5;
const COUNTED_PER_TRIANGLE: f64 = 2.0;
/// Bytes of one texel's light, and of its points on elements of a partition.
const BYTES_PER_OVERLAP: f64 = 130.0;

/// Returns the bytes of counted rays.
fn counted_bytes(amounts: &Amounts) -> f64 {
    let counted = COUNTED_PER_TEXEL * amounts.elements() + COUNTED_PER_TRIANGLE * amounts.triangles;
    let tables = amounts.triangles * BYTES_PER_TRIANGLE;
    amounts.elements() * BYTES_PER_OVERLAP + counted * BYTES_PER_COUNTED + tables
}

/// Bytes of the visibility masks of borders.
struct Masks {
    on_their_way: f64,
    /// Bytes if the masks of all patches are kept.
    kept: f64,
}

impl Masks {
    fn new(SubsceneSettings { partition, mask_resolution, .. }: &SubsceneSettings, patches: f64) -> Self {
        let subscenes = partition.count as usize;
        let [of_shot, on_their_way] =
            max_mask_bytes_in_flight(subscenes, BORDERS_PER_SUBSCENE * subscenes, *mask_resolution);
        Self { on_their_way: CROSSED * on_their_way as f64, kept: CROSSED * patches * of_shot as f64 }
    }
}
