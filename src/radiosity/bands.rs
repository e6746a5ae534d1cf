//! Bands of places about as bright as each other, and the accuracy of each.
//!
//! An average over all places would hide a dim room in a large level. So elements are sorted by adaptation level
//! ([`Surroundings`](super::surroundings::Surroundings)) into bands two photographic stops wide, and the error of the
//! solution is that of its worst band.

use std::sync::Arc;

use super::backend::Reading;
use super::estimate::delivered;
use super::{Content, HALVES};
use crate::lightmap::{ElementId, Elements};
use crate::scene::{Scene, luminance};

/// Width of a band, photographic stops.
const STOPS: u32 = 2;

/// Elements below which a band is joined with the next brighter one, or the last with the one before: too few differences
/// tell no error.
const FEWEST_ELEMENTS: u32 = 64;

/// Gather rays of each half of an element after which noise tells how many more are needed, and the largest noise then
/// that more rays are spent on. It is that of light that one ray in 250 meets; five per cent take some 11,000 rays.
const TELLING_RAYS: f32 = 512.0;
const MOST_NOISE: f32 = 0.5;

/// The accuracy of one band's light. Errors are root mean squares over open area, relative to the adaptation levels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Elements that count.
    pub elements: u32,
    /// Mean adaptation level, lux.
    pub light: f32,
    /// Noise of direct light found by aimed rays.
    pub aimed: f32,
    /// Noise of all light that gather rays brought.
    pub gathered: f32,
    /// Noise of the whole.
    pub noise: f32,
    /// Error of taking elements for evenly bright.
    pub discretisation: f32,
    /// Gather rays of each half of an element, on average.
    pub rays: f32,
    /// Gather rays of each half of an element that did not begin inside other geometry, on average.
    pub counted_rays: f32,
    /// The element with the largest share of the noise.
    pub worst: usize,
}

impl Band {
    /// The error of the whole.
    pub fn total(&self) -> f32 {
        self.noise.hypot(self.discretisation)
    }

    /// True where so little of the light is met by chance that no sensible number of rays finds it.
    pub fn is_hopeless(&self) -> bool {
        // Noise falls about with the rays to the power of three quarters, a little faster than with their root.
        let root = (TELLING_RAYS / self.counted_rays).sqrt();
        self.counted_rays >= TELLING_RAYS && self.gathered > MOST_NOISE * root * root.sqrt()
    }
}

/// Which band each element is in.
#[derive(Clone, Debug, Default)]
pub struct Bands {
    /// Adaptation level of each element, lux.
    pub adaptation: Arc<[f32]>,
    /// The number of each element's band, dim ones first.
    pub of_element: Vec<u8>,
}

/// Bands and how exact each is.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub grouping: Bands,
    pub bands: Vec<Band>,
}

impl Judged {
    /// The error of the worst band.
    pub fn error(&self) -> f32 {
        worst(&self.bands).map_or(0.0, Band::total)
    }

    /// The number of elements in some bands.
    pub fn members(&self, chosen: &[bool]) -> u64 {
        self.grouping.of_element.iter().filter(|&&band| chosen[usize::from(band)]).count() as u64
    }

    /// Adds errors of each element, lux, that are no noise.
    pub fn add_discretisation(&mut self, weights: &[f32], errors: &[f32]) {
        let of_bands = self.grouping.rms(weights, errors);
        self.bands.iter_mut().zip(of_bands).for_each(|(band, error)| band.discretisation = error);
    }
}

impl Bands {
    /// One band of all elements, which are judged by one level, lux.
    pub fn whole(level: f32, elements: usize) -> Self {
        Self { adaptation: vec![level; elements].into(), of_element: vec![0; elements] }
    }

    /// The number of bands.
    fn count(&self) -> usize {
        self.of_element.iter().max().map_or(0, |&last| usize::from(last) + 1)
    }

    /// Sorts elements by their adaptation levels; those without a weight do not count.
    pub fn new(adaptation: Arc<[f32]>, weights: &[f32]) -> Self {
        let counts = |element: &usize| weights[*element] > 0.0;
        let least = (0..weights.len()).filter(counts).map(|element| adaptation[element]).fold(f32::INFINITY, f32::min);
        // The exponent of a floating-point number is its logarithm, the same on all machines.
        let exponent = |ratio: f32| (ratio.to_bits() >> 23).saturating_sub(127);
        let step = |level: f32| (exponent(level / least) / STOPS) as u8;
        let mut members = [0u32; 256];
        (0..weights.len()).filter(counts).for_each(|element| members[usize::from(step(adaptation[element]))] += 1);
        // Sparse steps go up to the next brighter band; what is left at the end goes down.
        let (mut band_of_step, mut band, mut held) = ([0u8; 256], 0u8, 0u32);
        for (band_of_step, members) in band_of_step.iter_mut().zip(members) {
            *band_of_step = band;
            held += members;
            if held >= FEWEST_ELEMENTS {
                (band, held) = (band + 1, 0);
            }
        }
        let last = if held == 0 { band.saturating_sub(1) } else { band };
        let last = if held > 0 && held < FEWEST_ELEMENTS { last.saturating_sub(1) } else { last };
        let of_element = adaptation.iter().map(|&level| band_of_step[usize::from(step(level))].min(last)).collect();
        Self { adaptation, of_element }
    }

    /// Judges the halves of a solution by their differences.
    pub fn judge(self, weights: &[f32], halves: &[Vec<Reading>; HALVES], content: Content) -> Judged {
        let [first, second] = halves;
        let mut sums = vec![Sums::default(); self.count()];
        for (element, (a, b)) in first.iter().zip(second).enumerate() {
            if weights[element] <= 0.0 {
                continue;
            }
            let aimed = if content == Content::Full { luminance(a.aimed - b.aimed) } else { 0.0 };
            let whole = luminance(delivered(a, content) - delivered(b, content));
            let sums = &mut sums[usize::from(self.of_element[element])];
            for half in [a, b] {
                sums.rays += 0.5 * f64::from(half.gathered);
                sums.counted_rays += 0.5 * f64::from(half.gathered as f32 * half.visible_fraction);
            }
            sums.add(
                element,
                weights[element],
                self.adaptation[element],
                [aimed, whole - aimed, whole].map(|d| 0.5 * d),
            );
        }
        Judged { bands: sums.iter().map(Sums::band).collect(), grouping: self }
    }

    /// The root mean square of errors of each element, lux, by band.
    pub fn rms(&self, weights: &[f32], errors: &[f32]) -> Vec<f32> {
        let mut sums = vec![(0.0f64, 0.0f64); self.count()];
        for (element, error) in errors.iter().enumerate() {
            let (square, weight) = &mut sums[usize::from(self.of_element[element])];
            *square += f64::from(weights[element]) * f64::from(error / self.adaptation[element]).powi(2);
            *weight += f64::from(weights[element]);
        }
        sums.iter().map(|(square, weight)| if *weight > 0.0 { (square / weight).sqrt() as f32 } else { 0.0 }).collect()
    }
}

/// The area of each element that counts: zero for those that no texel shows, or shows by the light of another.
pub fn shown_areas(elements: &Elements) -> Vec<f32> {
    let of = |id| if elements.is_shown(id) && elements.stand_in(id) == id { elements.area[id.index()] } else { 0.0 };
    elements.ids().map(of).collect()
}

/// The band with the largest error.
pub fn worst(bands: &[Band]) -> Option<&Band> {
    bands.iter().max_by(|a, b| a.total().total_cmp(&b.total()))
}

/// Names places whose light rays hardly ever meet, where the error is above what was asked for.
pub fn say_hopeless(bands: &[Band], scene: &Scene, elements: &Elements, asked: f32) -> Vec<String> {
    let say = |band: &Band| {
        let surface = elements.surface(ElementId::from_index(band.worst));
        let [x, y, z] = elements.centre[band.worst].to_array();
        format!(
            "{} texels with about {} lux are off by {:.0} %, such as those of '{}' near ({x:.2}, {y:.2}, {z:.2}): rays hardly \
             ever meet what lights them; widen the openings, or light these places by a lamp",
            band.elements,
            say_lux(band.light),
            100.0 * band.total(),
            scene.surface(surface).key
        )
    };
    bands.iter().filter(|band| band.is_hopeless() && band.total() > asked).map(say).collect()
}

/// Irradiance with as many digits as tell how bright a place is.
pub fn say_lux(light: f32) -> String {
    if light < 10.0 { format!("{light:.2}") } else { format!("{light:.0}") }
}

/// Sums over the elements of a band.
#[derive(Clone, Copy, Default)]
struct Sums {
    elements: u32,
    weight: f64,
    light: f64,
    squares: [f64; 3],
    rays: f64,
    counted_rays: f64,
    worst: (f64, usize),
}

impl Sums {
    /// Adds an element with its errors, lux.
    fn add(&mut self, element: usize, weight: f32, level: f32, errors: [f32; 3]) {
        let weight = f64::from(weight);
        self.elements += 1;
        self.weight += weight;
        self.light += weight * f64::from(level);
        let squares = errors.map(|error| weight * f64::from(error / level).powi(2));
        self.squares.iter_mut().zip(squares).for_each(|(sum, square)| *sum += square);
        if squares[2] > self.worst.0 {
            self.worst = (squares[2], element);
        }
    }

    fn band(&self) -> Band {
        let count = f64::from(self.elements.max(1));
        let weight = self.weight.max(f64::MIN_POSITIVE);
        // Few differences tell little, and may happen to be small: about two standard deviations are added.
        let caution = 1.0 + 2.0 / count.sqrt();
        let [aimed, gathered, noise] = self.squares.map(|square| (caution * (square / weight).sqrt()) as f32);
        Band {
            elements: self.elements,
            light: (self.light / weight) as f32,
            aimed,
            gathered,
            noise,
            discretisation: 0.0,
            rays: (self.rays / count) as f32,
            counted_rays: (self.counted_rays / count) as f32,
            worst: self.worst.1,
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;

    fn reading(light: f32, gathered: u32) -> Reading {
        Reading { indirect: Vec3::splat(light), visible_fraction: 1.0, gathered, ..Reading::default() }
    }

    #[test]
    fn the_error_of_a_dim_room_is_its_own_however_large_the_sunlit_ground_is() {
        // 10,000 elements at 1,000 lux are exact; 100 at 1 lux are 20 % off.
        let light = |element: usize| if element < 10_000 { 1_000.0 } else { 1.0 };
        let adaptation: Vec<f32> = (0..10_100).map(light).collect();
        let half = |sign: f32| -> Vec<Reading> {
            let error = |element: usize| if element < 10_000 { 0.0 } else { 0.2 * sign };
            (0..10_100).map(|element| reading(light(element) + error(element), 64)).collect()
        };
        let weights = vec![1.0; 10_100];
        let bands = Bands::new(adaptation.into(), &weights);
        let found = bands.judge(&weights, &[half(1.0), half(-1.0)], Content::Full);
        let [dim, sunlit] = found.bands[..] else { panic!("two bands: {found:?}") };
        // The mean of the halves is right here; half of their difference is what noise would be.
        assert!((dim.noise - 0.2 * 1.2).abs() < 1e-3, "{dim:?}");
        assert_eq!((sunlit.noise, dim.elements, sunlit.elements), (0.0, 100, 10_000));
        assert_eq!((dim.light, dim.rays), (1.0, 64.0));
        assert!(dim.worst >= 10_000);
    }

    #[test]
    fn few_elements_are_judged_together_with_those_that_are_next_in_brightness() {
        let count_of = |levels: &[(f32, usize)]| {
            let adaptation: Vec<f32> =
                levels.iter().flat_map(|&(level, count)| core::iter::repeat_n(level, count)).collect();
            let weights = vec![1.0; adaptation.len()];
            Bands::new(adaptation.into(), &weights).count()
        };
        assert_eq!(count_of(&[(1.0, 100)]), 1);
        assert_eq!(count_of(&[(1.0, 10)]), 1);
        assert_eq!(count_of(&[(1.0, 10), (100.0, 100)]), 1);
        assert_eq!(count_of(&[(1.0, 100), (100.0, 10)]), 1);
        assert_eq!(count_of(&[(1.0, 100), (3.0, 100), (100.0, 100)]), 2);
        assert_eq!(count_of(&[(1.0, 100), (100.0, 100), (1e4, 100), (1e6, 7)]), 3);
    }

    #[test]
    fn light_that_rays_hardly_ever_meet_is_hopeless_once_enough_of_them_tell() {
        let band = |gathered, counted_rays| Band { gathered, counted_rays, ..Band::default() };
        // One ray in 10,000 meets it: the noise of one ray is 100 times the light, and 1,024 of both halves leave 3.1.
        assert!(band(3.1, 512.0).is_hopeless());
        assert!(!band(3.1, 256.0).is_hopeless(), "too early to tell");
        // One ray in 100.
        assert!(!band(0.31, 512.0).is_hopeless());
        assert!(band(0.31, 2048.0).is_hopeless(), "it should have fallen meanwhile");
    }
}
