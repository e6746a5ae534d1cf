//! Dilation: values for texels without any.

use glam::Vec3;
use rayon::prelude::*;

use crate::geometry::SurfaceId;
use crate::lightmap::{Elements, Layout, Page};

/// Chart of empty texels.
const NONE: u32 = u32::MAX;
/// Minimum visible fraction of texels with a value of their own. Below it, a solver has sampled too few points, and the
/// visible part lies beside better visible texels.
const MIN_VISIBILITY: f32 = 1.0 / 8.0;
/// Visible fraction above which a texel counts as fully visible.
const WHOLLY_VISIBLE: f32 = 0.99;
/// Offset in cd/m2 that bounds the weight of black.
const NEARLY_BLACK: f32 = 1e-6;
/// Offsets of adjacent texels, with weights that decrease with distance.
const NEIGHBORS: [(i64, i64, f32); 8] =
    [(0, -1, 1.0), (-1, 0, 1.0), (1, 0, 1.0), (0, 1, 1.0), (-1, -1, 0.5), (1, -1, 0.5), (-1, 1, 0.5), (1, 1, 0.5)];

/// Fills buried texels from the nearest visible ones of their chart, then `rings` texels around each chart.
///
/// Linear filtering reads the first buried texels in the last half texel beside a wall. There they extrapolate the
/// light with a slope limiter, as in finite volume methods. So light that falls off toward a corner keeps falling.
///
/// No chart reads from another, and a chart that no light reaches stays black. Where the surroundings of two charts
/// overlap, each keeps the texels that are closer to it.
pub fn dilate(pages: &mut [Page], layout: &Layout, elements: &Elements, rings: u32) {
    pages.par_iter_mut().enumerate().for_each(|(number, page)| {
        let mut canvas = Canvas::new(page, number as u32, layout, elements);
        canvas.fill_invalid();
        (0..rings).for_each(|_| canvas.grow());
        page.texels = canvas.texels;
    });
}

/// Page under dilation.
struct Canvas {
    width: usize,
    texels: Vec<Vec3>,
    /// Chart of each texel, numbered over all surfaces of the page.
    charts: Vec<u32>,
    /// True for texels with a value.
    known: Vec<bool>,
    /// Visible fraction of each texel.
    validity: Vec<f32>,
}

impl Canvas {
    fn new(page: &Page, number: u32, layout: &Layout, elements: &Elements) -> Self {
        let mut charts = vec![NONE; page.texels.len()];
        let mut first_chart = 0;
        for (index, placement) in layout.placements.iter().enumerate() {
            if placement.as_ref().is_none_or(|placement| placement.page != number) {
                continue;
            }
            let mut charts_of_surface = 0;
            for ([x, y], chart) in elements.charts_of(SurfaceId::from_index(index)) {
                charts[page.index(x, y)] = first_chart + chart;
                charts_of_surface = charts_of_surface.max(chart + 1);
            }
            first_chart += charts_of_surface;
        }
        let known: Vec<bool> = page.validity.iter().map(|&valid| valid >= MIN_VISIBILITY).collect();
        let texels = page.texels.iter().zip(&known).map(|(texel, known)| if *known { *texel } else { Vec3::ZERO });
        Self { width: page.width as usize, texels: texels.collect(), charts, known, validity: page.validity.clone() }
    }

    /// Propagates values between neighbors until every texel of a chart with any value has one.
    fn fill_invalid(&mut self) {
        let mut invalid: Vec<usize> =
            (0..self.texels.len()).filter(|&texel| self.charts[texel] != NONE && !self.known[texel]).collect();
        loop {
            let filled: Vec<(usize, Vec3)> =
                invalid.par_iter().filter_map(|&texel| Some((texel, self.mean_beside(texel)?))).collect();
            if filled.is_empty() {
                return;
            }
            for &(texel, value) in &filled {
                self.texels[texel] = value;
                self.known[texel] = true;
            }
            invalid.retain(|&texel| !self.known[texel]);
        }
    }

    /// Assigns to each chart the empty texels that touch it.
    fn grow(&mut self) {
        let grown: Vec<(usize, u32, Vec3)> = (0..self.texels.len())
            .into_par_iter()
            .with_min_len(4096)
            .filter(|&texel| self.charts[texel] == NONE)
            .filter_map(|texel| {
                let chart =
                    self.neighbors(texel).find(|&(near, _)| self.known[near]).map(|(near, _)| self.charts[near])?;
                Some((texel, chart, self.around(texel, chart)?))
            })
            .collect();
        for (texel, chart, value) in grown {
            self.texels[texel] = value;
            self.charts[texel] = chart;
            self.known[texel] = true;
        }
    }

    /// Returns the value of a buried texel from its neighbors in the chart.
    ///
    /// Filtering shows the texel at points beside it. The visible part of a partly visible neighbor lies further away,
    /// so fully visible neighbors take precedence. Where light and dark meet under a wall, the harmonic mean favors
    /// dark. A shadow that is half a texel too wide is less noticeable than a light leak.
    fn mean_beside(&self, texel: usize) -> Option<Vec3> {
        let mean = |min_validity: f32| {
            let (sum, weights) = self
                .neighbors(texel)
                .filter(|&(near, _)| self.known[near] && self.charts[near] == self.charts[texel])
                .filter(|&(near, _)| self.validity[near] >= min_validity)
                .map(|(near, weight)| (self.continued(texel, near), weight))
                .map(|(value, weight)| (value, weight / (value.element_sum() + NEARLY_BLACK)))
                .fold((Vec3::ZERO, 0.0), |(sum, weights), (value, weight)| (sum + value * weight, weights + weight));
            (weights > 0.0).then(|| sum / weights)
        };
        mean(WHOLLY_VISIBLE).or_else(|| mean(MIN_VISIBILITY)).or_else(|| mean(0.0))
    }

    /// Returns the weighted mean of a texel's neighbors in a chart.
    fn around(&self, texel: usize, chart: u32) -> Option<Vec3> {
        let (sum, weights) = self
            .neighbors(texel)
            .filter(|&(near, _)| self.known[near] && self.charts[near] == chart)
            .fold((Vec3::ZERO, 0.0), |(sum, weights), (near, weight)| {
                (sum + self.continued(texel, near) * weight, weights + weight)
            });
        (weights > 0.0).then(|| sum / weights)
    }

    /// Extrapolates the value of a texel beside `near`, along the line from `near` inwards.
    ///
    /// Uses the smaller of two slopes, and zero if they differ in sign (minmod limiter, Roe 1986). A line through two
    /// texels alone would overshoot at shadow edges.
    fn continued(&self, texel: usize, near: usize) -> Vec3 {
        let (width, height) = (self.width as i64, (self.texels.len() / self.width) as i64);
        let [from, to] = [texel, near].map(|texel| (texel as i64 % width, texel as i64 / width));
        let along = |steps: i64| {
            let (x, y) = (to.0 + steps * (to.0 - from.0), to.1 + steps * (to.1 - from.1));
            let at = ((0..width).contains(&x) && (0..height).contains(&y)).then(|| (y * width + x) as usize)?;
            (self.charts[at] == self.charts[near] && self.validity[at] >= WHOLLY_VISIBLE).then_some(self.texels[at])
        };
        let (Some(first), Some(second), Some(third)) = (along(0), along(1), along(2)) else {
            return self.texels[near];
        };
        let slopes = [first - second, second - third];
        let agrees = slopes[0].signum() * slopes[1].signum();
        let slope = slopes[0].signum() * slopes[0].abs().min(slopes[1].abs()) * agrees.max(Vec3::ZERO);
        // Decreasing light continues by its ratio, and so stays positive.
        Vec3::select(slope.cmplt(Vec3::ZERO), first * first / (first - slope), first + slope)
    }

    fn neighbors(&self, texel: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let (width, height) = (self.width as i64, (self.texels.len() / self.width) as i64);
        let (x, y) = (texel as i64 % width, texel as i64 / width);
        NEIGHBORS.iter().filter_map(move |&(dx, dy, weight)| {
            let (x, y) = (x + dx, y + dy);
            ((0..width).contains(&x) && (0..height).contains(&y)).then(|| ((y * width + x) as usize, weight))
        })
    }
}
