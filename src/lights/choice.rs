//! Selection of emitters that are worth a shadow ray from a receiver.

use glam::Vec3;

/// Receiver as needed for choosing emitters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Center, in meters.
    pub at: Vec3,
    /// Unit normal.
    pub normal: Vec3,
    /// Radius around the center, in meters.
    pub radius: f32,
}

/// Cosine factor of an emitter behind the receiver. Only the center certainly faces away.
const MIN_FACING: f32 = 0.1;

/// Lower bound of squared distances, in square meters.
const NEAREST_SQUARED: f32 = 1e-4;

impl Place {
    /// Returns the cosine factor toward a direction (a unit vector): one for straight on, never zero.
    pub(super) fn facing(&self, toward: Vec3) -> f32 {
        MIN_FACING + (1.0 - MIN_FACING) * self.normal.dot(toward).max(0.0)
    }

    /// Returns the squared distance to a point, and the cosine factor toward it.
    pub(super) fn view_of(&self, point: Vec3) -> (f32, f32) {
        let offset = point - self.at;
        let distance_squared = offset.length_squared();
        let nearest = (self.radius * self.radius).max(NEAREST_SQUARED);
        let facing = if distance_squared > nearest { self.facing(offset.normalize()) } else { 1.0 };
        (distance_squared.max(nearest), facing)
    }
}

/// Probability with which a sample of a receiver's light visits each emitter.
#[derive(Clone, Debug, PartialEq)]
pub enum LightPmf {
    /// Visits all of the given number of emitters.
    All(usize),
    /// Visits each emitter with its own probability, above zero and at most one.
    Each(Vec<f32>),
}

/// Minimum probability of an emitter, as a fraction of the uniform probability. The expected contribution may be far
/// too low.
const MIN_SHARE: f32 = 0.1;

impl LightPmf {
    /// Computes probabilities proportional to the expected contributions, clamped to one. A sample visits about
    /// `visits` emitters. The estimate of their sum then has the minimum variance of independent visits.
    pub(super) fn new(mut expected: Vec<f32>, visits: usize) -> Self {
        let count = expected.len();
        if count <= visits {
            return Self::All(count);
        }
        let mut certain = 0;
        loop {
            // Each certain emitter takes one visit; the others share the remaining visits.
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
                let min_probability = MIN_SHARE * visits as f32 / count as f32;
                let probability =
                    |light: &f32| if light.is_finite() { (light * scale).clamp(min_probability, 1.0) } else { 1.0 };
                return Self::Each(expected.iter().map(probability).collect());
            }
        }
    }

    /// Returns the probability of an emitter.
    #[inline]
    pub fn of(&self, emitter: usize) -> f32 {
        match self {
            Self::All(_) => 1.0,
            Self::Each(light_pmf) => light_pmf[emitter],
        }
    }

    /// Calls `each` for the emitters that each of some samples visits, with the sample, the emitter, and its
    /// probability. One number in `[0, 1)` selects the emitters of a sample, which are visited in order.
    #[inline]
    pub fn visit<const SAMPLES: usize>(&self, numbers: [f32; SAMPLES], mut each: impl FnMut(usize, usize, f32)) {
        let light_pmf = match self {
            Self::All(count) => {
                for emitter in 0..*count {
                    (0..SAMPLES).for_each(|sample| each(sample, emitter, 1.0));
                }
                return;
            }
            Self::Each(light_pmf) => light_pmf,
        };
        // Systematic sampling: an emitter is visited if the cumulative probability crosses an integer at it.
        let mut sums = numbers;
        let mut next = numbers.map(|number| number.floor() + 1.0);
        for (emitter, &probability) in light_pmf.iter().enumerate() {
            if probability >= 1.0 {
                (0..SAMPLES).for_each(|sample| each(sample, emitter, probability));
                continue;
            }
            // Few are visited of many, so that this has to be fast.
            let mut is_crossed = false;
            for (sum, next) in sums.iter_mut().zip(&next) {
                *sum += probability;
                is_crossed |= *sum >= *next;
            }
            if is_crossed {
                for (sample, (sum, next)) in sums.iter().zip(&mut next).enumerate() {
                    if *sum >= *next {
                        *next = sum.floor() + 1.0;
                        each(sample, emitter, probability);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emitters_are_visited_as_often_as_their_chances_say() {
        let light_pmf = LightPmf::new(vec![1000.0, 1.0, 2.0, 0.0, 5.0], 2);
        let LightPmf::Each(each) = &light_pmf else { panic!("five are more than two") };
        assert_eq!(each[0], 1.0, "far brighter than the rest");
        assert!((each[4] - 0.625).abs() < 1e-6 && (each[2] - 0.25).abs() < 1e-6, "{each:?}");
        assert!(each[3] > 0.0, "nothing is impossible");
        let mut counts = [0; 5];
        let runs = 10_000;
        for run in 0..runs {
            light_pmf.visit([(run as f32 + 0.5) / runs as f32], |_, emitter, probability| {
                assert_eq!(probability, light_pmf.of(emitter));
                counts[emitter] += 1;
            });
        }
        for (emitter, count) in counts.into_iter().enumerate() {
            assert!((count as f32 / runs as f32 - each[emitter]).abs() < 1e-3, "{emitter}: {count}");
        }
    }

    /// Returns pairs of a sample and an emitter that it visits.
    fn visited<const SAMPLES: usize>(light_pmf: &LightPmf, numbers: [f32; SAMPLES]) -> Vec<(usize, usize)> {
        let mut visited = Vec::new();
        light_pmf.visit(numbers, |sample, emitter, _| visited.push((sample, emitter)));
        visited
    }

    #[test]
    fn samples_visit_together_what_each_visits_alone() {
        let light_pmf = LightPmf::new((0..1000).map(|light| (light % 37) as f32).chain([1e6]).collect(), 4);
        let numbers = [0.0, 0.999_999_94, 0.5, 0.25];
        let together = visited(&light_pmf, numbers);
        for (sample, number) in numbers.into_iter().enumerate() {
            let alone = visited(&light_pmf, [number]);
            let mine = together.iter().filter(|visit| visit.0 == sample).map(|visit| (0, visit.1));
            assert_eq!(mine.collect::<Vec<_>>(), alone);
            // The last for certain, and three of the others.
            assert!((3..=5).contains(&alone.len()) && alone.last() == Some(&(0, 1000)), "{alone:?}");
        }
    }

    #[test]
    fn few_emitters_are_all_visited() {
        let light_pmf = LightPmf::new(vec![0.0, 3.0], 2);
        assert_eq!(visited(&light_pmf, [0.9]), [(0, 0), (0, 1)]);
    }

    #[test]
    fn where_nothing_is_expected_all_are_visited_alike_now_and_then() {
        let light_pmf = LightPmf::new(vec![0.0; 4], 2);
        assert_eq!(light_pmf, LightPmf::Each(vec![0.05; 4]));
    }
}
