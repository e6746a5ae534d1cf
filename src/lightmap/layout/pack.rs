//! Packing of surfaces' rectangles on pages.

use std::sync::Arc;

use crunch::{Item, PackedItem, Rect, Rotation};

use super::{Layout, PageSize, Placement, Rectangle};
use crate::lightmap::Unwrap;

/// Block size of compressed texture formats. Page edges are multiples of it.
const BLOCK: u32 = 4;

/// Packs each surface's unwrap on a page of at most `page_size`, which no unwrap may exceed. Uses as many pages as
/// needed, the last as small as possible. At least `padding` texels lie between any two rectangles.
pub(super) fn pack_pages(unwraps: Vec<Option<Arc<Unwrap>>>, page_size: u32, padding: u32) -> Layout {
    let mut layout = Layout { placements: vec![None; unwraps.len()], pages: Vec::new(), padding };
    let mut left: Vec<usize> = (0..unwraps.len()).filter(|&surface| unwraps[surface].is_some()).collect();
    while !left.is_empty() {
        let items: Vec<Item<usize>> = (left.iter())
            .filter_map(|&surface| {
                let unwrap = unwraps[surface].as_ref()?;
                Some(Item::new(
                    surface,
                    (unwrap.width + padding) as usize,
                    (unwrap.height + padding) as usize,
                    Rotation::None,
                ))
            })
            .collect();
        // Each item includes padding on the right and below; the page's border needs none.
        let padded_size = page_size + padding;
        let packed = match crunch::pack(Rect::of_size(padded_size as usize, padded_size as usize), items.clone()) {
            Ok(packed) => shrink(&items, padded_size).unwrap_or(packed),
            Err(packed) => packed,
        };
        let used = |edge: fn(&Rect) -> usize| packed.iter().map(|item| edge(&item.rect)).max().unwrap_or(0) as u32;
        let size = [used(Rect::right), used(Rect::bottom)]
            .map(|edge| edge.saturating_sub(padding).next_multiple_of(BLOCK).min(page_size));
        let page = layout.pages.len() as u32;
        layout.pages.push(PageSize { width: size[0], height: size[1] });
        let before = left.len();
        for item in packed {
            let Rect { x, y, w, h } = item.rect;
            let [x, y, width, height] = [x, y, w, h].map(|texels| texels as u32);
            let rectangle = Rectangle { x, y, width: width - padding, height: height - padding };
            let unwrap = unwraps[item.data].clone();
            layout.placements[item.data] = unwrap.map(|unwrap| Placement { unwrap, page, rectangle });
        }
        left.retain(|&surface| layout.placements[surface].is_none());
        debug_assert!(left.len() < before, "a rectangle is larger than the page");
        if left.len() == before {
            break;
        }
    }
    layout
}

/// Returns a packing of all items on the smallest, nearly square page found.
fn shrink(items: &[Item<usize>], padded_size: u32) -> Option<Vec<PackedItem<usize>>> {
    let area: usize = items.iter().map(|item| item.w * item.h).sum();
    let (widest, tallest) = (items.iter().map(|item| item.w).max()?, items.iter().map(|item| item.h).max()?);
    let mut edge = (area as f64).sqrt();
    while edge < f64::from(padded_size) {
        // A dimension larger than the square's edge does not require enlarging the other one.
        let width = (edge as usize).max(widest).max(area / tallest.max(edge as usize));
        let height = (edge as usize).max(tallest);
        if let Ok(packed) = crunch::pack(Rect::of_size(width, height), items.iter().cloned()) {
            return Some(packed);
        }
        edge *= 1.01;
    }
    None
}
