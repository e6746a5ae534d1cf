//! Collection of received masks until a source has all of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Interface, Mask, MaskSource};
use crate::partition::BorderId;

/// Mask with its border.
#[derive(Clone, Debug, PartialEq)]
pub struct InMask {
    /// Border through which light enters.
    pub border: BorderId,
    /// Visibility of the source through the border.
    pub mask: Arc<Mask>,
}

/// Sources that wait for masks (the list of incomplete polygons in the thesis), keyed by numbers that callers choose.
#[derive(Debug, Default)]
pub struct Pending {
    waiting: HashMap<u64, Vec<InMask>>,
}

impl Pending {
    /// Adds a received mask, in any order. Returns all masks of the source once none is missing. Duplicates are
    /// dropped.
    pub fn arrive(
        &mut self,
        interface: &Interface,
        number: u64,
        source: &MaskSource,
        mask: InMask,
    ) -> Option<Vec<InMask>> {
        let masks = self.waiting.entry(number).or_default();
        if masks.iter().all(|known| known.border != mask.border) {
            masks.push(mask);
        }
        let is_there = |border| masks.iter().any(|mask| mask.border == border);
        if !interface.inward(source).all(|gate| is_there(gate.border)) {
            return None;
        }
        let mut masks = self.waiting.remove(&number)?;
        masks.sort_by_key(|mask| mask.border);
        Some(masks)
    }

    /// Returns true if no source is waiting.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
