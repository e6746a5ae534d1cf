//! Groups of neighboring elements.

use std::collections::HashMap;

use crate::lightmap::{ElementId, Elements, Texel};

/// Groups elements by blocks of `edge` x `edge` texels of one side and chart of a surface. Groups are in order of their
/// first elements.
pub(crate) fn blocks(elements: &Elements, edge: u16, counts: impl Fn(ElementId) -> bool) -> Vec<Vec<ElementId>> {
    let mut numbers = HashMap::new();
    let mut groups: Vec<Vec<ElementId>> = Vec::new();
    for id in elements.ids().filter(|&id| counts(id)) {
        let Texel { page, x, y } = elements.texel[id.index()];
        let place = (elements.surface(id), elements.back[id.index()], elements.chart(id), page, x / edge, y / edge);
        let number = *numbers.entry(place).or_insert(groups.len());
        if number == groups.len() {
            groups.push(Vec::new());
        }
        groups[number].push(id);
    }
    groups
}
