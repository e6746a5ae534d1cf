//! Indirect light from direct light, in the time that reading a matrix takes.

use bytemuck::{cast_slice, cast_slice_mut};
use glam::Vec3;
use nalgebra::DMatrix;
use rayon::prelude::*;

use super::inverse::inverse_of_one_minus;
use super::packed::{Packed, tiles};
use super::{PatchId, Patches, Rows};

/// The most that a patch may reflect of what comes back to it at each bounce: with all of it there is no end.
const MOST_REFLECTED: f32 = 0.999;

/// Red, green and blue.
const CHANNELS: usize = 3;

/// A static level's transport, ready to light it anew (`001`, Sherman-Morrison-Woodbury for fixed geometry, equation 6).
///
/// Indirect irradiance is `U K V^T` times direct irradiance: V^T averages what is reflected over each patch, K adds all
/// further bounces between patches, and U says what each element sees of the patches. U knows no colour, and K is one small
/// matrix for each channel: other reflectances need only new K. What elements are given and receive is in the order of
/// [`Patches::order`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowRank {
    /// Which elements make up which patch.
    pub patches: Patches,
    /// How much the patch's mean radiosity grows with each lux on an element: reflectance times share of the area.
    pub weights: Vec<Vec3>,
    /// U: the form factors from elements to patches.
    pub views: Packed,
    /// K for each channel, less the unit matrix: what all bounces between patches add.
    pub bounces: [Packed; CHANNELS],
}

impl LowRank {
    /// Packs what elements see, and sums up the bounces between patches. `reflectance` and `rows` are in the elements' own
    /// order; `loss` is the share of what an element sees that may be simplified away.
    pub fn new(patches: Patches, reflectance: &[Vec3], rows: &Rows, loss: f32) -> Self {
        let views = Packed::new(patches.order.len(), patches.len(), loss, |row, dense| {
            let seen = rows.of(patches.order[row] as usize);
            seen.iter().for_each(|&(patch, share)| dense[patch.index()] = share);
        });
        let mut low_rank = Self { patches, views, ..Self::default() };
        low_rank.set_reflectance(reflectance);
        low_rank
    }

    /// Gives the elements other reflectances, in the elements' own order. The form factors stay.
    pub fn set_reflectance(&mut self, reflectance: &[Vec3]) {
        let Self { patches, .. } = self;
        let weight = |(&element, &share): (&u32, &f32)| reflectance[element as usize] * share;
        self.weights = patches.order.iter().zip(&patches.shares).map(weight).collect();
        self.sum_up_bounces();
    }

    /// Works out K from what patches see.
    pub(super) fn sum_up_bounces(&mut self) {
        let patches: Vec<PatchId> = self.patches.ids().collect();
        self.bounces = self.exchange_of(&patches).map(|between| Self::pack_bounces(&inverse_of_one_minus(between)));
    }

    /// Packs K of a channel, less the unit matrix.
    pub(super) fn pack_bounces(all: &DMatrix<f32>) -> Packed {
        let count = all.nrows();
        Packed::new(count, count, 0.0, |row, dense| {
            for (column, value) in dense.iter_mut().enumerate() {
                let unit = if row == column { 1.0 } else { 0.0 };
                *value = (all[(row, column)] - unit).max(0.0);
            }
        })
    }

    /// K of a channel.
    pub(super) fn all_bounces_between(&self, channel: usize) -> DMatrix<f32> {
        let count = self.patches.len();
        let mut all = DMatrix::identity(count, count);
        for row in 0..count {
            self.bounces[channel].row(row).for_each(|(column, value)| all[(row, column)] += value);
        }
        all
    }

    /// The rows of some patches in V^T R U, for each channel: how much of other patches' radiosity they reflect, on
    /// average.
    pub(super) fn exchange_of(&self, patches: &[PatchId]) -> [DMatrix<f32>; CHANNELS] {
        let count = self.patches.len();
        let mut sums = vec![[0.0f32; CHANNELS]; patches.len() * count];
        sums.par_chunks_mut(count.max(1)).zip(patches).for_each(|(sums, &patch)| {
            for row in self.patches.of(patch) {
                let weight = self.weights[row].to_array();
                for (column, seen) in self.views.row(row) {
                    (0..CHANNELS).for_each(|channel| sums[column][channel] += weight[channel] * seen);
                }
            }
            for channel in 0..CHANNELS {
                let all: f32 = sums.iter().map(|sums| sums[channel]).sum();
                if all > MOST_REFLECTED {
                    sums.iter_mut().for_each(|sums| sums[channel] *= MOST_REFLECTED / all);
                }
            }
        });
        core::array::from_fn(|channel| {
            DMatrix::from_row_iterator(patches.len(), count, sums.iter().map(|sums| sums[channel]))
        })
    }

    /// How many elements there are.
    pub fn elements(&self) -> usize {
        self.patches.order.len()
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        let Patches { order, offsets, shares } = &self.patches;
        let bounces: usize = self.bounces.iter().map(Packed::bytes).sum();
        let patches = size_of_val(&**order) + size_of_val(&**offsets) + size_of_val(&**shares);
        patches + size_of_val(&*self.weights) + self.views.bytes() + bounces
    }

    /// Indirect irradiance of all elements, lux, for direct irradiance: both in the order of the patches. Numbers that are
    /// not finite count as darkness.
    ///
    /// # Panics
    /// When either is not as long as there are elements.
    pub fn relight(&self, direct: &[Vec3], indirect: &mut [Vec3]) {
        self.see(&self.first_bounce(direct), indirect);
    }

    /// Indirect irradiance of all elements, lux, for the mean radiosity of each patch that reflects direct irradiance once,
    /// lm/m2. It is linear: differences of light, negative ones too, go the same way.
    ///
    /// # Panics
    /// When `first` is not as long as there are patches.
    pub fn spread(&self, first: &[Vec3]) -> Vec<Vec3> {
        let mut indirect = vec![Vec3::ZERO; self.elements()];
        self.see(cast_slice(first), &mut indirect);
        indirect
    }

    fn see(&self, first: &[[f32; CHANNELS]], indirect: &mut [Vec3]) {
        let radiosity = self.all_bounces(first);
        self.views.multiply(&tiles(&radiosity), cast_slice_mut::<Vec3, [f32; CHANNELS]>(indirect));
    }

    /// V^T R: the mean radiosity of each patch that reflects direct irradiance once, lm/m2.
    pub fn first_bounce(&self, direct: &[Vec3]) -> Vec<[f32; CHANNELS]> {
        self.patches.sums(cast_slice::<Vec3, [f32; CHANNELS]>(&self.weights), cast_slice(direct))
    }

    /// K: the mean radiosity of each patch with all bounces, from that with one.
    pub fn all_bounces(&self, first: &[[f32; CHANNELS]]) -> Vec<[f32; CHANNELS]> {
        let mut all = first.to_vec();
        for (channel, bounces) in self.bounces.iter().enumerate() {
            let of_channel: Vec<[f32; 1]> = first.iter().map(|first| [first[channel]]).collect();
            let mut more = vec![[0.0]; first.len()];
            bounces.multiply(&tiles(&of_channel), &mut more);
            all.iter_mut().zip(more).for_each(|(all, more)| all[channel] += more[0]);
        }
        all
    }

    /// Some property of the elements, sorted as the patches are.
    pub fn sorted<T: Copy>(&self, of_elements: &[T]) -> Vec<T> {
        self.patches.order.iter().map(|&element| of_elements[element as usize]).collect()
    }
}
