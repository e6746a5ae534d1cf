//! Temporal smoothing of light differences: from the shown to the wanted state.
//!
//! All later steps are linear, so smoothing acts before light spreads: on the first-bounce radiosity of each patch, a
//! few thousand values. Only the refined result of settled lights is stored by element.

use glam::Vec3;

/// Difference below which light has arrived, as a fraction of the change.
const SETTLED: f32 = 1e-3;

/// Light to show, as a difference from the bake.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// Mean first-bounce radiosity of each patch, in lm/m2.
    pub patches: &'a [Vec3],
    /// Irradiance of each element in addition to that from patches, in lux, by row. Empty for none.
    pub elements: &'a [Vec3],
    /// Number that changes whenever `elements` changes. Zero while there are none.
    pub edition: u64,
}

/// Light that follows a target: first-bounce radiosity of patches, and additional irradiance of elements.
#[derive(Clone, Debug)]
pub struct SmoothedLight {
    pub patches: Approach,
    pub elements: Approach,
}

impl SmoothedLight {
    /// Starts from the baked light.
    pub fn new(patches: usize) -> Self {
        let dark = vec![Vec3::ZERO; patches];
        let patches = Approach { wanted: dark.clone(), displayed: dark, ..Approach::default() };
        Self { patches, elements: Approach::default() }
    }

    /// Moves the shown state toward the target. Returns whether patches and elements change.
    pub fn approach(&mut self, keep: f32) -> [bool; 2] {
        [&mut self.patches, &mut self.elements].map(|part| part.approach(keep))
    }

    /// Returns true while the shown state differs from the target.
    pub fn is_under_way(&self) -> bool {
        self.patches.is_under_way || self.elements.is_under_way
    }
}

/// Values that approach a target step by step. An empty list counts as zeros.
#[derive(Clone, Debug, Default)]
pub struct Approach {
    wanted: Vec<Vec3>,
    displayed: Vec<Vec3>,
    /// Largest difference to the target since both were equal.
    change: f32,
    is_under_way: bool,
}

impl Approach {
    /// Sets the target.
    pub fn want(&mut self, wanted: Vec<Vec3>) {
        self.is_under_way |= self.wanted != wanted;
        self.wanted = wanted;
    }

    /// Returns the target.
    pub fn wanted(&self) -> impl Iterator<Item = Vec3> {
        self.wanted.iter().copied()
    }

    /// Returns the shown values.
    pub fn displayed(&self) -> &[Vec3] {
        &self.displayed
    }

    /// Returns the differences from the shown values to the target, or nothing for none.
    pub fn missing(&self) -> impl Iterator<Item = Vec3> {
        self.pairs().map(|(wanted, displayed)| wanted - displayed)
    }

    fn pairs(&self) -> impl Iterator<Item = (Vec3, Vec3)> {
        let of = |numbers: &[Vec3], index: usize| numbers.get(index).copied().unwrap_or_default();
        let count = if self.is_under_way { self.wanted.len().max(self.displayed.len()) } else { 0 };
        (0..count).map(move |index| (of(&self.wanted, index), of(&self.displayed, index)))
    }

    /// Moves `displayed` toward `wanted`. Returns true when `displayed` changes.
    fn approach(&mut self, keep: f32) -> bool {
        let largest =
            self.pairs().map(|(wanted, displayed)| (wanted - displayed).abs().max_element()).fold(0.0, f32::max);
        self.change = self.change.max(largest);
        let step = 1.0 - keep.clamp(0.0, 1.0);
        if step >= 1.0 || largest <= SETTLED * self.change {
            self.displayed.clone_from(&self.wanted);
            (self.change, self.is_under_way) = (0.0, false);
        } else {
            self.displayed = self.pairs().map(|(wanted, displayed)| displayed + (wanted - displayed) * step).collect();
        }
        largest > 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_comes_nearer_step_by_step_arrives_and_then_rests() {
        let mut light = SmoothedLight::new(2);
        light.patches.want(vec![Vec3::ONE, Vec3::ZERO]);
        assert_eq!(light.patches.missing().next(), Some(Vec3::ONE));
        assert_eq!(light.approach(0.5), [true, false]);
        assert_eq!(
            (light.patches.displayed()[0], light.patches.missing().next()),
            (Vec3::splat(0.5), Some(Vec3::splat(0.5)))
        );
        // 2^-10 is less than a thousandth.
        let steps = (1..20).filter(|_| light.approach(0.5)[0]).count();
        assert_eq!((steps, light.patches.displayed()[0], light.is_under_way()), (10, Vec3::ONE, false));
    }

    #[test]
    fn what_elements_have_beside_patches_comes_and_goes_even_if_these_never_rest() {
        let mut light = SmoothedLight::new(1);
        light.patches.want(vec![Vec3::ONE]);
        light.approach(0.0);
        light.elements.want(vec![Vec3::splat(0.1); 4]);
        assert_eq!(light.elements.missing().collect::<Vec<_>>(), [Vec3::splat(0.1); 4]);
        assert_eq!((light.approach(0.0), light.is_under_way()), ([false, true], false));
        assert!((light.elements.displayed()[3].x - 0.1).abs() < 1e-6);
        light.elements.want(Vec::new());
        for step in 0..20 {
            light.patches.want(vec![Vec3::splat(2.0 + step as f32)]);
            light.approach(0.5);
        }
        assert!(light.elements.displayed().is_empty() && light.is_under_way());
    }
}
