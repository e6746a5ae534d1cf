//! Which emitters are worth a ray, seen from a place.

use glam::Vec3;

/// A place that light falls on, as far as choosing emitters asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Its middle.
    pub at: Vec3,
    /// The unit normal of its surface.
    pub normal: Vec3,
    /// How far around the middle it reaches, metres.
    pub radius: f32,
}

/// What a place gets of an emitter that it faces away from, since only its middle does for certain.
const LEAST_FACING: f32 = 0.1;

/// Squared distance in metres below which nothing looks nearer.
const NEAREST_SQUARED: f32 = 1e-4;

impl Place {
    /// How well the place faces a direction (a unit vector): one for straight on, never nothing.
    pub(super) fn facing(&self, toward: Vec3) -> f32 {
        LEAST_FACING + (1.0 - LEAST_FACING) * self.normal.dot(toward).max(0.0)
    }

    /// Squared distance to a point, and how well the place faces it.
    pub(super) fn view_of(&self, point: Vec3) -> (f32, f32) {
        let offset = point - self.at;
        let distance_squared = offset.length_squared();
        let nearest = (self.radius * self.radius).max(NEAREST_SQUARED);
        let facing = if distance_squared > nearest { self.facing(offset.normalize()) } else { 1.0 };
        (distance_squared.max(nearest), facing)
    }
}

/// With what chance a sample of the light at a place visits each emitter.
#[derive(Clone, Debug, PartialEq)]
pub enum Chances {
    /// It visits all of so many.
    All(usize),
    /// Each by its own chance, above zero and at most one.
    Each(Vec<f32>),
}

/// The least chance of an emitter, as part of what it would have if all were alike: what is expected of it may be far
/// too low.
const LEAST_SHARE: f32 = 0.1;

impl Chances {
    /// Chances in proportion to what is expected of each emitter, as far as none is above one, so that a sample visits
    /// about `visits` of them. The estimate of their sum then has the least spread that independent visits can have.
    pub(super) fn new(mut expected: Vec<f32>, visits: usize) -> Self {
        let count = expected.len();
        if count <= visits {
            return Self::All(count);
        }
        let mut certain = 0;
        loop {
            // What is certain to be visited takes a visit each; the rest share what remains.
            let rest: f32 = expected.iter().filter(|light| light.is_finite()).sum();
            let scale = if rest > 0.0 { (visits - certain) as f32 / rest } else { 0.0 };
            let before = certain;
            for light in expected.iter_mut().filter(|light| light.is_finite()) {
                if certain < visits && *light * scale >= 1.0 {
                    *light = f32::INFINITY;
                    certain += 1;
                }
            }
            if certain == before {
                let least = LEAST_SHARE * visits as f32 / count as f32;
                let chance = |light: &f32| if light.is_finite() { (light * scale).clamp(least, 1.0) } else { 1.0 };
                return Self::Each(expected.iter().map(chance).collect());
            }
        }
    }

    /// The chance of an emitter.
    #[inline]
    pub fn of(&self, emitter: usize) -> f32 {
        match self {
            Self::All(_) => 1.0,
            Self::Each(chances) => chances[emitter],
        }
    }

    /// The emitters that a sample visits, chosen by one number in `[0, 1)`, each with its chance.
    pub fn visited(&self, u: f32) -> impl Iterator<Item = (usize, f32)> + '_ {
        let (all, each): (usize, &[f32]) = match self {
            Self::All(count) => (*count, &[]),
            Self::Each(chances) => (0, chances),
        };
        // Systematic sampling: an emitter is visited when the sum of chances crosses an integer at it.
        let mut sum = u;
        let drawn = each.iter().copied().enumerate().filter(move |&(_, chance)| {
            if chance >= 1.0 {
                return true;
            }
            let before = sum.floor();
            sum += chance;
            sum.floor() > before
        });
        (0..all).map(|emitter| (emitter, 1.0)).chain(drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emitters_are_visited_as_often_as_their_chances_say() {
        let chances = Chances::new(vec![1000.0, 1.0, 2.0, 0.0, 5.0], 2);
        let Chances::Each(each) = &chances else { panic!("five are more than two") };
        assert_eq!(each[0], 1.0, "far brighter than the rest");
        assert!((each[4] - 0.625).abs() < 1e-6 && (each[2] - 0.25).abs() < 1e-6, "{each:?}");
        assert!(each[3] > 0.0, "nothing is impossible");
        let mut counts = [0; 5];
        let runs = 10_000;
        for run in 0..runs {
            for (emitter, chance) in chances.visited((run as f32 + 0.5) / runs as f32) {
                assert_eq!(chance, chances.of(emitter));
                counts[emitter] += 1;
            }
        }
        for (emitter, count) in counts.into_iter().enumerate() {
            assert!((count as f32 / runs as f32 - each[emitter]).abs() < 1e-3, "{emitter}: {count}");
        }
    }

    #[test]
    fn few_emitters_are_all_visited() {
        let chances = Chances::new(vec![0.0, 3.0], 2);
        assert_eq!(chances.visited(0.9).collect::<Vec<_>>(), [(0, 1.0), (1, 1.0)]);
    }

    #[test]
    fn where_nothing_is_expected_all_are_visited_alike_now_and_then() {
        let chances = Chances::new(vec![0.0; 4], 2);
        assert_eq!(chances, Chances::Each(vec![0.05; 4]));
    }
}
