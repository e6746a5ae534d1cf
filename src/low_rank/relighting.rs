//! Indirect light from direct light, in the time of reading a matrix.

use bytemuck::{cast_slice, cast_slice_mut};
use glam::Vec3;
use nalgebra::DMatrix;
use rayon::prelude::*;

use super::inverse::inverse_of_one_minus;
use super::packed::{Packed, Tile, tiles};
use super::{PatchId, Patches, Rows};
use crate::progress::{Cancelled, Monitor, Unmonitored};

/// Maximum row sum of the exchange between patches. The sum over all bounces diverges at one.
const MAX_REFLECTED: f32 = 0.999;

/// Number of color channels: red, green and blue.
pub(super) const CHANNELS: usize = 3;

/// Precomputed transport of a static level (`001`, Sherman-Morrison-Woodbury for fixed geometry, equation 6).
///
/// Indirect irradiance is `U K V^T` times direct irradiance. V^T averages reflected light over each patch, and K adds
/// all further bounces between patches. U contains the form factors from elements to patches. U is independent of
/// color, and K is one small matrix for each channel. New reflectances change only the weights and K. Arguments and
/// results are in the order of [`Patches::order`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LowRank {
    /// Assignment of elements to patches.
    pub patches: Patches,
    /// Mean radiosity of the patch for each lux on an element: reflectance times share of the area.
    pub weights: Vec<Vec3>,
    /// U: form factors from elements to patches.
    pub views: Packed,
    /// K of each channel minus the identity matrix: the light added by all bounces between patches.
    pub bounces: [Packed; CHANNELS],
}

impl LowRank {
    /// Packs the form factors, and inverts the exchange between patches. `reflectance` and `rows` are in the elements'
    /// own order. `loss` is the fraction of an element's form factors that packing may drop.
    pub fn new(patches: Patches, reflectance: &[Vec3], rows: &Rows, loss: f32) -> Self {
        Self::new_monitored(patches, reflectance, rows, loss, &Unmonitored).unwrap_or_default()
    }

    /// Creates what [`new`](Self::new) does, unless the monitor cancels. The inverse of many patches takes minutes.
    ///
    /// # Errors
    /// Returns [`Cancelled`] if the monitor asks to stop.
    pub fn new_monitored(
        patches: Patches,
        reflectance: &[Vec3],
        rows: &Rows,
        loss: f32,
        monitor: &dyn Monitor,
    ) -> Result<Self, Cancelled> {
        let views = Packed::new(patches.order.len(), patches.len(), loss, |row, dense| {
            let seen = rows.of(patches.order[row] as usize);
            seen.iter().for_each(|&(patch, share)| dense[patch.index()] = share);
        });
        let mut low_rank = Self { patches, views, ..Self::default() };
        low_rank.set_weights(reflectance);
        low_rank.sum_up_bounces(monitor)?;
        Ok(low_rank)
    }

    /// Sets the reflectances of the elements, in their own order. The form factors stay.
    pub fn set_reflectance(&mut self, reflectance: &[Vec3]) {
        self.set_weights(reflectance);
        self.sum_up_all_bounces();
    }

    fn set_weights(&mut self, reflectance: &[Vec3]) {
        let Self { patches, .. } = self;
        let weight = |(&element, &share): (&u32, &f32)| reflectance[element as usize] * share;
        self.weights = patches.order.iter().zip(&patches.shares).map(weight).collect();
    }

    /// Computes K from the form factors of patches.
    pub(super) fn sum_up_all_bounces(&mut self) {
        _ = self.sum_up_bounces(&Unmonitored);
    }

    fn sum_up_bounces(&mut self, monitor: &dyn Monitor) -> Result<(), Cancelled> {
        let patches: Vec<PatchId> = self.patches.ids().collect();
        let exchanges = self.exchange_of(&patches);
        for (bounces, between) in self.bounces.iter_mut().zip(exchanges) {
            *bounces = Self::pack_bounces(&inverse_of_one_minus(between, monitor)?);
        }
        Ok(())
    }

    /// Packs K of a channel, minus the identity matrix.
    pub(super) fn pack_bounces(all: &DMatrix<f32>) -> Packed {
        let count = all.nrows();
        Packed::new(count, count, 0.0, |row, dense| {
            for (column, value) in dense.iter_mut().enumerate() {
                let unit = if row == column { 1.0 } else { 0.0 };
                *value = (all[(row, column)] - unit).max(0.0);
            }
        })
    }

    /// Returns K of a channel.
    pub(super) fn all_bounces_between(&self, channel: usize) -> DMatrix<f32> {
        let count = self.patches.len();
        let mut all = DMatrix::identity(count, count);
        for row in 0..count {
            self.bounces[channel].row(row).for_each(|(column, value)| all[(row, column)] += value);
        }
        all
    }

    /// Returns some patches' rows of V^T R U, for each channel. Entries are the mean radiosities reflected for a unit
    /// radiosity of each patch.
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
                if all > MAX_REFLECTED {
                    sums.iter_mut().for_each(|sums| sums[channel] *= MAX_REFLECTED / all);
                }
            }
        });
        core::array::from_fn(|channel| {
            DMatrix::from_row_iterator(patches.len(), count, sums.iter().map(|sums| sums[channel]))
        })
    }

    /// Returns the importance of each patch: the sum of the indirect irradiance of all elements times their `area`, for
    /// a unit once-reflected radiosity of the patch. It is the transpose of [`spread`](Self::spread). `area` is in the
    /// order of the patches.
    pub fn importance(&self, area: &[f32]) -> Vec<Vec3> {
        let mut seen = vec![0.0; self.patches.len()];
        for (row, area) in area.iter().enumerate() {
            self.views.row(row).for_each(|(patch, form_factor)| seen[patch] += area * form_factor);
        }
        let mut importance: Vec<Vec3> = seen.iter().map(|seen| Vec3::splat(*seen)).collect();
        for (channel, bounces) in self.bounces.iter().enumerate() {
            for (row, seen) in seen.iter().enumerate() {
                bounces.row(row).for_each(|(patch, value)| importance[patch][channel] += seen * value);
            }
        }
        importance
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.patches.order.len()
    }

    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        let Patches { order, offsets, shares } = &self.patches;
        let bounces: usize = self.bounces.iter().map(Packed::bytes).sum();
        let patches = size_of_val(&**order) + size_of_val(&**offsets) + size_of_val(&**shares);
        patches + size_of_val(&*self.weights) + self.views.bytes() + bounces
    }

    /// Computes the indirect irradiance of all elements from direct irradiance, in lux, both in the order of the
    /// patches. Values that are not finite count as zero.
    ///
    /// # Panics
    /// Panics unless both slices have one value for each element.
    pub fn relight(&self, direct: &[Vec3], indirect: &mut [Vec3]) {
        self.see(&self.first_bounce(direct), indirect);
    }

    /// Relights as [`relight`](Self::relight) does, with the same bits on all processors, for results that are stored.
    /// It is slow on processors without fused multiplication.
    ///
    /// # Panics
    /// Panics as [`relight`](Self::relight) does.
    pub fn relight_alike(&self, direct: &[Vec3], indirect: &mut [Vec3]) {
        let radiosity = bounced(&self.first_bounce(direct), |channel, from, to| {
            self.bounces[channel].multiply_alike(from, to);
        });
        self.views.multiply_alike(&tiles(&radiosity), cast_slice_mut::<Vec3, [f32; CHANNELS]>(indirect));
    }

    /// Returns the indirect irradiance of all elements, in lux, given the mean once-reflected radiosity of each patch,
    /// in lm/m2. The function is linear, and also valid for differences of light, negative ones included.
    ///
    /// # Panics
    /// Panics unless `first` has one value for each patch.
    pub fn spread(&self, first: &[Vec3]) -> Vec<Vec3> {
        let mut indirect = vec![Vec3::ZERO; self.elements()];
        self.see(cast_slice(first), &mut indirect);
        indirect
    }

    /// Returns the irradiance of all elements that comes from emission, after any number of bounces, in lux. `emitted` is
    /// each element's emitted radiosity in lm/m2. Both are in the order of the patches.
    ///
    /// This is equation 6 of `001` as printed: the first bounce, too, goes from patches, each with the mean emission of
    /// its elements. Light that ends within a patch is spread over all of it, so errors are larger than those of
    /// [`relight`](Self::relight), whose direct light is exact.
    ///
    /// # Panics
    /// Panics unless `emitted` has one value for each element.
    pub fn light_of_emission(&self, emitted: &[Vec3]) -> Vec<Vec3> {
        assert_eq!(emitted.len(), self.elements(), "one emission for each element");
        let mean = |patch: PatchId| self.patches.of(patch).map(|row| emitted[row] * self.patches.shares[row]).sum();
        self.spread(&self.patches.ids().map(mean).collect::<Vec<Vec3>>())
    }

    fn see(&self, first: &[[f32; CHANNELS]], indirect: &mut [Vec3]) {
        let radiosity = self.all_bounces(first);
        self.views.multiply(&tiles(&radiosity), cast_slice_mut::<Vec3, [f32; CHANNELS]>(indirect));
    }

    /// Returns V^T R times direct irradiance: the mean once-reflected radiosity of each patch, in lm/m2.
    pub fn first_bounce(&self, direct: &[Vec3]) -> Vec<[f32; CHANNELS]> {
        self.patches.sums(cast_slice::<Vec3, [f32; CHANNELS]>(&self.weights), cast_slice(direct))
    }

    /// Returns K times `first`: the mean radiosity of each patch after all bounces.
    pub fn all_bounces(&self, first: &[[f32; CHANNELS]]) -> Vec<[f32; CHANNELS]> {
        bounced(first, |channel, from, to| self.bounces[channel].multiply(from, to))
    }

    /// Returns a property of the elements in the order of the patches.
    pub fn sorted<T: Copy>(&self, of_elements: &[T]) -> Vec<T> {
        self.patches.order.iter().map(|&element| of_elements[element as usize]).collect()
    }
}

/// Returns the radiosity of patches after all bounces: the first one, and for each channel what `multiply` makes of it.
fn bounced(first: &[[f32; CHANNELS]], multiply: impl Fn(usize, &[Tile<1>], &mut [[f32; 1]])) -> Vec<[f32; CHANNELS]> {
    let mut all = first.to_vec();
    for channel in 0..CHANNELS {
        let of_channel: Vec<[f32; 1]> = first.iter().map(|first| [first[channel]]).collect();
        let mut more = vec![[0.0]; first.len()];
        multiply(channel, &tiles(&of_channel), &mut more);
        all.iter_mut().zip(more).for_each(|(all, more)| all[channel] += more[0]);
    }
    all
}
