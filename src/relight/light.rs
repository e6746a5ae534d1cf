//! Light that has come and gone since the bake, on its way from what is shown to what is wanted.
//!
//! All that follows is linear, so it is followed before it spreads: as what each patch reflects once, a few thousand numbers.
//! Only what is known better of lights that rest stands beside that, element by element.

use glam::Vec3;

use crate::scene::luminance;

/// A difference of light so small, as a part of the change that it remains of, is no difference.
const SETTLED: f32 = 1e-3;

/// Light to be shown, as differences from what was baked.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// Mean radiosity of each patch that reflects it once, lm/m2.
    pub patches: &'a [Vec3],
    /// Irradiance of each element beside what patches spread, lux, in their order; none where there is nothing.
    pub elements: &'a [Vec3],
    /// Another number whenever `elements` are others; zero where there is nothing yet.
    pub edition: u64,
}

/// What patches reflect once, and what elements get beside what that comes to.
#[derive(Clone, Debug)]
pub struct Light {
    patches: Approach,
    elements: Approach,
    /// The sum of all light that the elements' own is a part of.
    whole: f32,
}

impl Light {
    /// As it was baked.
    pub fn new(patches: usize) -> Self {
        let dark = vec![Vec3::ZERO; patches];
        let patches = Approach { wanted: dark.clone(), shown: dark, ..Approach::default() };
        Self { patches, elements: Approach::default(), whole: 0.0 }
    }

    /// Wants what patches reflect, and what elements get beside what these spread, lux by row: a part of so much light in all.
    pub fn want(&mut self, patches: Vec<Vec3>, (elements, whole): (Vec<Vec3>, f32)) {
        self.patches.want(patches);
        self.elements.want(elements);
        self.whole = whole;
    }

    /// What is shown of patches.
    pub fn patches(&self) -> &[Vec3] {
        &self.patches.shown
    }

    /// What is shown of elements beside that; none where there is nothing.
    pub fn elements(&self) -> &[Vec3] {
        &self.elements.shown
    }

    /// Brings what is shown nearer to what is wanted; which of patches and elements change.
    pub fn approach(&mut self, keep: f32) -> [bool; 2] {
        [&mut self.patches, &mut self.elements].map(|part| part.approach(keep))
    }

    /// How far what is shown is from what is wanted, as a part of all of it.
    pub fn behind(&self) -> f32 {
        let part = |part: &Approach, whole: f32| {
            let missing = part.missing();
            if missing > 0.0 { missing / whole.max(missing) } else { 0.0 }
        };
        let of_patches = sum(&self.patches.wanted).max(sum(&self.patches.shown));
        (part(&self.patches, of_patches) + part(&self.elements, self.whole)).min(1.0)
    }
}

/// Numbers that go to others step by step; where there are none, all are zero.
#[derive(Clone, Debug, Default)]
struct Approach {
    wanted: Vec<Vec3>,
    shown: Vec<Vec3>,
    /// The largest difference between both since they were last the same.
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
        let count = if self.is_under_way { self.wanted.len().max(self.shown.len()) } else { 0 };
        (0..count).map(move |index| (of(&self.wanted, index), of(&self.shown, index)))
    }

    /// True when what is shown changes.
    fn approach(&mut self, keep: f32) -> bool {
        let largest = self.pairs().map(|(wanted, shown)| (wanted - shown).abs().max_element()).fold(0.0, f32::max);
        self.change = self.change.max(largest);
        let step = 1.0 - keep.clamp(0.0, 1.0);
        if step >= 1.0 || largest <= SETTLED * self.change {
            self.shown.clone_from(&self.wanted);
            (self.change, self.is_under_way) = (0.0, false);
        } else {
            self.shown = self.pairs().map(|(wanted, shown)| shown + (wanted - shown) * step).collect();
        }
        largest > 0.0
    }

    fn missing(&self) -> f32 {
        self.pairs().map(|(wanted, shown)| luminance((wanted - shown).abs())).sum()
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
        // A tenth of what elements get is news.
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
