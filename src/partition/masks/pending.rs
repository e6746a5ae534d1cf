//! Masks that have arrived, until all are there that a source needs.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Interface, Mask, Source};
use crate::partition::BorderId;

/// A mask, and the border that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct InMask {
    /// The border that light comes in by.
    pub border: BorderId,
    /// What of it is in sight.
    pub mask: Arc<Mask>,
}

/// Sources that wait for masks (the list of incomplete polygons in the thesis), by numbers that their owners chose.
#[derive(Debug, Default)]
pub struct Pending {
    waiting: HashMap<u64, Vec<InMask>>,
}

impl Pending {
    /// Takes a mask that has arrived, in whatever order; answers all masks of the source when none is missing any more.
    /// One that has come before is dropped.
    pub fn arrive(&mut self, interface: &Interface, number: u64, source: &Source, mask: InMask) -> Option<Vec<InMask>> {
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

    /// True when no source waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
