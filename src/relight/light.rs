//! Temporal smoothing of light differences: from the shown to the wanted state.
//!
//! All later steps are linear, so smoothing acts before light spreads: on the first-bounce radiosity of each patch, a
//! few thousand values. Only the refined result of settled lights is stored by element.

use glam::Vec3;

use crate::scene::luminance;

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

/// First-bounce radiosity of patches, and additional irradiance of elements.
#[derive(Clone, Debug)]
pub struct Light {
    patches: Approach,
    elements: Approach,
    /// Total irradiance that the elements' part belongs to, for relative differences.
    whole: f32,
}

impl Light {
    /// Starts from the baked light.
    pub fn new(patches: usize) -> Self {
        let dark = vec![Vec3::ZERO; patches];
        let patches = Approach { wanted: dark.clone(), displayed: dark, ..Approach::default() };
        Self { patches, elements: Approach::default(), whole: 0.0 }
    }

    /// Sets the target: radiosity of patches, and additional irradiance of elements in lux by row. `whole` is the total
    /// light that the elements' part belongs to.
    pub fn want(&mut self, patches: Vec<Vec3>, (elements, whole): (Vec<Vec3>, f32)) {
        self.patches.want(patches);
        self.elements.want(elements);
        self.whole = whole;
    }

    /// Returns the shown radiosity of patches.
    pub fn patches(&self) -> &[Vec3] {
        &self.patches.displayed
    }

    /// Returns the shown additional irradiance of elements, or an empty slice for none.
    pub fn elements(&self) -> &[Vec3] {
        &self.elements.displayed
    }

    /// Moves the shown state toward the target. Returns whether patches and elements change.
    pub fn approach(&mut self, keep: f32) -> [bool; 2] {
        [&mut self.patches, &mut self.elements].map(|part| part.approach(keep))
    }

    /// Returns the distance from the shown state to the target, as a fraction of the total light.
    pub fn behind(&self) -> f32 {
        let part = |part: &Approach, whole: f32| {
            let missing = part.missing();
            if missing > 0.0 { missing / whole.max(missing) } else { 0.0 }
        };
        let of_patches = sum(&self.patches.wanted).max(sum(&self.patches.displayed));
        (part(&self.patches, of_patches) + part(&self.elements, self.whole)).min(1.0)
    }
}

/// Values that approach a target step by step. An empty list counts as zeros.
#[derive(Clone, Debug, Default)]
struct Approach {
    wanted: Vec<Vec3>,
    displayed: Vec<Vec3>,
    /// Largest difference to the target since both were equal.
    change: f32,
    is_under_way: bool,
}

impl Approach {
    fn want(&mut self, wanted: Vec<Vec3>) {
        self.is_under_way |= self.wanted != wanted;
        self.wanted = wanted;
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

    fn missing(&self) -> f32 {
        self.pairs().map(|(wanted, displayed)| luminance((wanted - displayed).abs())).sum()
    }
}

fn sum(light: &[Vec3]) -> f32 {
    light.iter().map(|light| luminance(light.abs())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_comes_nearer_step_by_step_arrives_and_then_rests() {
        let mut light = Light::new(2);
        light.want(vec![Vec3::ONE, Vec3::ZERO], Default::default());
        assert_eq!(light.behind(), 1.0);
        assert_eq!(light.approach(0.5), [true, false]);
        assert_eq!((light.patches()[0], light.behind()), (Vec3::splat(0.5), 0.5));
        // 2^-10 is less than a thousandth.
        let steps = (1..20).filter(|_| light.approach(0.5)[0]).count();
        assert_eq!((steps, light.patches()[0], light.behind()), (10, Vec3::ONE, 0.0));
    }

    #[test]
    fn what_elements_have_beside_patches_comes_and_goes_even_if_these_never_rest() {
        let mut light = Light::new(1);
        light.want(vec![Vec3::ONE], Default::default());
        light.approach(0.0);
        // The new light is a tenth of the irradiance of elements.
        light.want(vec![Vec3::ONE], (vec![Vec3::splat(0.1); 4], 4.0));
        assert!((light.behind() - 0.1).abs() < 1e-6, "{}", light.behind());
        assert_eq!((light.approach(0.0), light.behind()), ([false, true], 0.0));
        assert!((light.elements()[3].x - 0.1).abs() < 1e-6);
        for step in 0..20 {
            light.want(vec![Vec3::splat(2.0 + step as f32)], Default::default());
            light.approach(0.5);
        }
        assert!(light.elements().is_empty() && light.behind() > 0.0);
    }
}
