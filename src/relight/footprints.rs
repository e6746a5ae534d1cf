//! How far receivers reach around their middles, from where their neighbours are.

use std::collections::HashMap;

use glam::{Vec2, Vec3};

use crate::radiosity::low_rank::{ReceiverTexel, Receivers};

/// Cosine between the normals of neighbours on one chart.
const LEAST_ALIKE: f32 = 0.9;

/// Where on the surface the next texel to the right, and the next one below, are from each receiver's.
///
/// A lightmap's texel is the mean over its footprint, so its edge of a shadow is soft; the light of the middle alone would
/// leave a rim where it is taken out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprints(Vec<[Vec3; 2]>);

impl Footprints {
    pub fn new(receivers: &Receivers) -> Self {
        let is_shown = |row: &usize| receivers.visible[*row] > 0.0;
        let rows: HashMap<(u32, u16, u16), usize> = (0..receivers.texel.len())
            .rev()
            .filter(is_shown)
            .map(|row| {
                let ReceiverTexel { page, x, y } = receivers.texel[row];
                ((page, x, y), row)
            })
            .collect();
        let toward = |row: usize, dx: u16, dy: u16| {
            let ReceiverTexel { page, x, y } = receivers.texel[row];
            let normal = receivers.geometric_normal[row];
            let neighbour = |place: Option<(u16, u16)>| {
                let (x, y) = place?;
                let other = *rows.get(&(page, x, y))?;
                (normal.dot(receivers.geometric_normal[other]) > LEAST_ALIKE).then(|| receivers.centre[other])
            };
            let after = neighbour(x.checked_add(dx).zip(y.checked_add(dy)));
            let before = neighbour(x.checked_sub(dx).zip(y.checked_sub(dy)));
            let here = receivers.centre[row];
            let step = match (before, after) {
                (Some(before), Some(after)) => 0.5 * (after - before),
                (None, Some(after)) => after - here,
                (Some(before), None) => here - before,
                (None, None) => Vec3::ZERO,
            };
            step - normal * step.dot(normal)
        };
        Self((0..receivers.texel.len()).map(|row| [toward(row, 1, 0), toward(row, 0, 1)]).collect())
    }

    /// From a receiver's middle to a point of its footprint, for a `u` in the unit square.
    pub fn at(&self, row: usize, u: Vec2) -> Vec3 {
        let [right, down] = self.0[row];
        right * (u.x - 0.5) + down * (u.y - 0.5)
    }
}
