//! Bands of elements with similar brightness, and the accuracy of each band.
//!
//! An average over all elements would hide a dim room in a large level. Elements are therefore sorted by adaptation
//! level ([`CellViews`](super::cell_views::CellViews)) into bands two photographic stops wide. The error of the
//! solution is the error of its worst band.

use std::sync::Arc;

use super::backend::ElementEstimate;
use super::estimate::delivered;
use super::{Content, HALVES};
use crate::lightmap::{ElementId, Elements};
use crate::scene::{Scene, luminance};

/// Width of a band, in photographic stops.
const STOPS: u32 = 2;

/// Minimum number of elements in a band. A smaller band is joined with the next brighter one, the last with the one
/// before. An error cannot be estimated from few differences.
const MIN_ELEMENTS: u32 = 64;

/// Number of gather rays after which noise predicts the rays still needed, and the maximum noise at this number. Both
/// are of each half of an element. The limit is the noise of light that one ray in 250 hits. An error of 5 % then takes
/// about 11,000 rays.
const TELLING_RAYS: f32 = 512.0;
const MAX_NOISE: f32 = 0.5;

/// Accuracy of one band. Errors are root mean squares over the visible area, relative to the adaptation levels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Band {
    /// Number of elements with a weight.
    pub elements: u32,
    /// Mean adaptation level, in lux.
    pub light: f32,
    /// Noise of direct light from light-sampled rays.
    pub light_sampled: f32,
    /// Noise of all light from gather rays.
    pub gathered: f32,
    /// Noise of all light.
    pub noise: f32,
    /// Discretization error, due to constant radiosity on each element.
    pub discretization: f32,
    /// Mean number of gather rays of each half of an element.
    pub rays: f32,
    /// Mean number of valid gather rays of each half of an element.
    pub counted_rays: f32,
    /// Element with the largest share of the noise.
    pub worst: usize,
}

/// Returns the square root of the sum of both squares.
pub fn root_of_squares(one: f32, other: f32) -> f32 {
    libm::hypot(f64::from(one), f64::from(other)) as f32
}

impl Band {
    /// Returns the total error.
    pub fn total(&self) -> f32 {
        root_of_squares(self.noise, self.discretization)
    }

    /// Returns true if rays hit the light sources so rarely that no practical number of rays is enough.
    pub fn is_hopeless(&self) -> bool {
        // Noise falls about with the power 0.75 of the number of rays, slightly faster than with their root.
        let root = (TELLING_RAYS / self.counted_rays).sqrt();
        self.counted_rays >= TELLING_RAYS && self.gathered > MAX_NOISE * root * root.sqrt()
    }
}

/// Assignment of elements to bands.
#[derive(Clone, Debug, Default)]
pub struct Bands {
    /// Adaptation level of each element, in lux.
    pub adaptation: Arc<[f32]>,
    /// Band of each element, in order of brightness, dim bands first.
    pub of_element: Vec<u8>,
}

/// Bands and the accuracy of each.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    pub grouping: Bands,
    pub bands: Vec<Band>,
}

impl Judged {
    /// Returns the error of the worst band.
    pub fn error(&self) -> f32 {
        worst(&self.bands).map_or(0.0, Band::total)
    }

    /// Returns the number of elements in the chosen bands.
    pub fn members(&self, chosen: &[bool]) -> u64 {
        self.grouping.of_element.iter().filter(|&&band| chosen[usize::from(band)]).count() as u64
    }

    /// Sets the discretization error of each band, given the error of each element in lux.
    pub fn add_discretization(&mut self, weights: &[f32], errors: &[f32]) {
        let of_bands = self.grouping.rms(weights, errors);
        self.bands.iter_mut().zip(of_bands).for_each(|(band, error)| band.discretization = error);
    }
}

impl Bands {
    /// Creates one band of all elements with one adaptation level, in lux.
    pub fn whole(level: f32, elements: usize) -> Self {
        Self { adaptation: vec![level; elements].into(), of_element: vec![0; elements] }
    }

    /// Returns the number of bands.
    fn count(&self) -> usize {
        self.of_element.iter().max().map_or(0, |&last| usize::from(last) + 1)
    }

    /// Sorts elements into bands by their adaptation levels. Elements without a weight do not count.
    pub fn new(adaptation: Arc<[f32]>, weights: &[f32]) -> Self {
        let counts = |element: &usize| weights[*element] > 0.0;
        let min = (0..weights.len()).filter(counts).map(|element| adaptation[element]).fold(f32::INFINITY, f32::min);
        // The exponent of a floating-point number is its integer logarithm, identical on all machines.
        let exponent = |ratio: f32| (ratio.to_bits() >> 23).saturating_sub(127);
        let step = |level: f32| (exponent(level / min) / STOPS) as u8;
        let mut members = [0u32; 256];
        (0..weights.len()).filter(counts).for_each(|element| members[usize::from(step(adaptation[element]))] += 1);
        // Sparse steps are merged into the next brighter band; the remainder at the end joins the last band.
        let (mut band_of_step, mut band, mut held) = ([0u8; 256], 0u8, 0u32);
        for (band_of_step, members) in band_of_step.iter_mut().zip(members) {
            *band_of_step = band;
            held += members;
            if held >= MIN_ELEMENTS {
                (band, held) = (band + 1, 0);
            }
        }
        let last = if held == 0 { band.saturating_sub(1) } else { band };
        let last = if held > 0 && held < MIN_ELEMENTS { last.saturating_sub(1) } else { last };
        let of_element = adaptation.iter().map(|&level| band_of_step[usize::from(step(level))].min(last)).collect();
        Self { adaptation, of_element }
    }

    /// Estimates the accuracy of each band from the differences of the halves.
    pub fn judge(self, weights: &[f32], halves: &[Vec<ElementEstimate>; HALVES], content: Content) -> Judged {
        let [first, second] = halves;
        let mut sums = vec![Sums::default(); self.count()];
        for (element, (a, b)) in first.iter().zip(second).enumerate() {
            if weights[element] <= 0.0 {
                continue;
            }
            let light_sampled =
                if content == Content::Full { luminance(a.light_sampled - b.light_sampled) } else { 0.0 };
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
                [light_sampled, whole - light_sampled, whole].map(|d| 0.5 * d),
            );
        }
        Judged { bands: sums.iter().map(Sums::band).collect(), grouping: self }
    }

    /// Returns the root mean square of the elements' errors, given in lux, for each band.
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

/// Returns the area of each element that counts. The area is zero if no texel shows the element, or if another element
/// stands in for it.
pub fn exposed_areas(elements: &Elements) -> Vec<f32> {
    let of = |id| if elements.is_shown(id) && elements.stand_in(id) == id { elements.area[id.index()] } else { 0.0 };
    elements.ids().map(of).collect()
}

/// Returns the band with the largest error.
pub fn worst(bands: &[Band]) -> Option<&Band> {
    bands.iter().max_by(|a, b| a.total().total_cmp(&b.total()))
}

/// Returns warnings about bands whose light sources rays hardly ever hit, if their error exceeds the requested one.
pub fn say_hopeless(bands: &[Band], scene: &Scene, elements: &Elements, asked: f32) -> Vec<String> {
    let say = |band: &Band| {
        let surface = elements.surface(ElementId::from_index(band.worst));
        let [x, y, z] = elements.center[band.worst].to_array();
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

/// Formats irradiance in lux, with two decimals below 10.
pub fn say_lux(light: f32) -> String {
    if light < 10.0 { format!("{light:.2}") } else { format!("{light:.0}") }
}

/// Weighted sums over the elements of a band.
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
    /// Adds an element with its errors, in lux.
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
        // Few differences give an uncertain estimate, so about two standard errors are added.
        let caution = 1.0 + 2.0 / count.sqrt();
        let [light_sampled, gathered, noise] = self.squares.map(|square| (caution * (square / weight).sqrt()) as f32);
        Band {
            elements: self.elements,
            light: (self.light / weight) as f32,
            light_sampled,
            gathered,
            noise,
            discretization: 0.0,
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

    fn element_estimate(light: f32, gathered: u32) -> ElementEstimate {
        ElementEstimate { indirect: Vec3::splat(light), visible_fraction: 1.0, gathered, ..ElementEstimate::default() }
    }

    #[test]
    fn the_error_of_a_dim_room_is_its_own_however_large_the_sunlit_ground_is() {
        // 10,000 elements at 1,000 lux are exact; 100 at 1 lux are 20 % off.
        let light = |element: usize| if element < 10_000 { 1_000.0 } else { 1.0 };
        let adaptation: Vec<f32> = (0..10_100).map(light).collect();
        let half = |sign: f32| -> Vec<ElementEstimate> {
            let error = |element: usize| if element < 10_000 { 0.0 } else { 0.2 * sign };
            (0..10_100).map(|element| element_estimate(light(element) + error(element), 64)).collect()
        };
        let weights = vec![1.0; 10_100];
        let bands = Bands::new(adaptation.into(), &weights);
        let found = bands.judge(&weights, &[half(1.0), half(-1.0)], Content::Full);
        let [dim, sunlit] = found.bands[..] else { panic!("two bands: {found:?}") };
        // The mean of the halves is exact here. Half of their difference is the estimated noise.
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
        // One ray in 10,000 hits the light. The noise of one ray is 100 times the light, and 1,024 rays of both halves
        // leave 3.1.
        assert!(band(3.1, 512.0).is_hopeless());
        assert!(!band(3.1, 256.0).is_hopeless(), "too early to tell");
        // One ray in 100 hits the light.
        assert!(!band(0.31, 512.0).is_hopeless());
        assert!(band(0.31, 2048.0).is_hopeless(), "it should have fallen meanwhile");
    }
}
