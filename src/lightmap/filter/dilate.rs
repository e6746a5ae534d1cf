//! Values for texels that have none.

use glam::Vec3;
use rayon::prelude::*;

use crate::geometry::SurfaceId;
use crate::lightmap::{Elements, Layout, Page};

/// Nobody's texel.
const NONE: u32 = u32::MAX;
/// Texels of which less is visible borrow their value: a solver has looked from too few points of them, and what little
/// is seen of them lies beside texels of which more is seen.
const LEAST_VISIBLE: f32 = 1.0 / 8.0;
/// Texels of which more is visible have no buried part beside them.
const WHOLLY_VISIBLE: f32 = 0.99;
/// Keeps black from weighing infinitely much, in cd/m2.
const NEARLY_BLACK: f32 = 1e-6;
/// The texels around one, and how much each counts: the nearer the more.
const NEIGHBOURS: [(i64, i64, f32); 8] =
    [(0, -1, 1.0), (-1, 0, 1.0), (1, 0, 1.0), (0, 1, 1.0), (-1, -1, 0.5), (1, -1, 0.5), (-1, 1, 0.5), (1, 1, 0.5)];

/// Fills buried texels from the nearest visible ones of their chart, then `rings` texels around each chart.
///
/// Linear filtering reads the first of them in the last half texel beside a wall. There they continue the slope of the
/// light, limited as in finite volume methods, so that light that falls off towards a corner does so to the end.
///
/// No chart ever takes from another, and a chart that nothing reaches stays black. Where the surroundings of two charts
/// meet, each keeps the texels that are nearer to it.
pub fn dilate(pages: &mut [Page], layout: &Layout, elements: &Elements, rings: u32) {
    pages.par_iter_mut().enumerate().for_each(|(number, page)| {
        let mut canvas = Canvas::new(page, number as u32, layout, elements);
        canvas.fill_buried();
        (0..rings).for_each(|_| canvas.grow());
        page.texels = canvas.texels;
    });
}

/// A page while it is being filled.
struct Canvas {
    width: usize,
    texels: Vec<Vec3>,
    /// The chart that each texel belongs to, counted over all surfaces of the page.
    charts: Vec<u32>,
    /// Which texels have a value.
    known: Vec<bool>,
    /// How much of each texel is visible.
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
        let known: Vec<bool> = page.validity.iter().map(|&valid| valid >= LEAST_VISIBLE).collect();
        let texels = page.texels.iter().zip(&known).map(|(texel, known)| if *known { *texel } else { Vec3::ZERO });
        Self { width: page.width as usize, texels: texels.collect(), charts, known, validity: page.validity.clone() }
    }

    /// Hands values on from neighbour to neighbour until every texel of a chart with any value has one.
    fn fill_buried(&mut self) {
        let mut buried: Vec<usize> =
            (0..self.texels.len()).filter(|&texel| self.charts[texel] != NONE && !self.known[texel]).collect();
        loop {
            let filled: Vec<(usize, Vec3)> =
                buried.par_iter().filter_map(|&texel| Some((texel, self.beside_buried(texel)?))).collect();
            if filled.is_empty() {
                return;
            }
            for &(texel, value) in &filled {
                self.texels[texel] = value;
                self.known[texel] = true;
            }
            buried.retain(|&texel| !self.known[texel]);
        }
    }

    /// Gives each chart the empty texels that touch it.
    fn grow(&mut self) {
        let grown: Vec<(usize, u32, Vec3)> = (0..self.texels.len())
            .into_par_iter()
            .with_min_len(4096)
            .filter(|&texel| self.charts[texel] == NONE)
            .filter_map(|texel| {
                let chart =
                    self.neighbours(texel).find(|&(near, _)| self.known[near]).map(|(near, _)| self.charts[near])?;
                Some((texel, chart, self.around(texel, chart)?))
            })
            .collect();
        for (texel, chart, value) in grown {
            self.texels[texel] = value;
            self.charts[texel] = chart;
            self.known[texel] = true;
        }
    }

    /// What a buried texel takes from its neighbours in its chart.
    ///
    /// Filtering shows the texel to points that lie beside it. Of a partly visible neighbour the visible part is the one
    /// that lies further away, so wholly visible neighbours go first. Where light and dark meet under a wall, the
    /// harmonic mean is dark: a shadow that is half a texel too wide is seen less than light that comes through a wall.
    fn beside_buried(&self, texel: usize) -> Option<Vec3> {
        let mean = |least: f32| {
            let (sum, weights) = self
                .neighbours(texel)
                .filter(|&(near, _)| self.known[near] && self.charts[near] == self.charts[texel])
                .filter(|&(near, _)| self.validity[near] >= least)
                .map(|(near, weight)| (self.continued(texel, near), weight))
                .map(|(value, weight)| (value, weight / (value.element_sum() + NEARLY_BLACK)))
                .fold((Vec3::ZERO, 0.0), |(sum, weights), (value, weight)| (sum + value * weight, weights + weight));
            (weights > 0.0).then(|| sum / weights)
        };
        mean(WHOLLY_VISIBLE).or_else(|| mean(LEAST_VISIBLE)).or_else(|| mean(0.0))
    }

    /// The mean of a texel's neighbours in a chart.
    fn around(&self, texel: usize, chart: u32) -> Option<Vec3> {
        let (sum, weights) = self
            .neighbours(texel)
            .filter(|&(near, _)| self.known[near] && self.charts[near] == chart)
            .fold((Vec3::ZERO, 0.0), |(sum, weights), (near, weight)| {
                (sum + self.continued(texel, near) * weight, weights + weight)
            });
        (weights > 0.0).then(|| sum / weights)
    }

    /// The value of a texel beside `near` if the light goes on as it does on the line from `near` inwards.
    ///
    /// The smaller of two slopes counts, and none if they differ in sign (minmod, Roe 1986): a line through two texels
    /// alone would shoot beyond shadow edges.
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
        // Light that falls off goes on by its ratio, and so stays above zero.
        Vec3::select(slope.cmplt(Vec3::ZERO), first * first / (first - slope), first + slope)
    }

    fn neighbours(&self, texel: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let (width, height) = (self.width as i64, (self.texels.len() / self.width) as i64);
        let (x, y) = (texel as i64 % width, texel as i64 / width);
        NEIGHBOURS.iter().filter_map(move |&(dx, dy, weight)| {
            let (x, y) = (x + dx, y + dy);
            ((0..width).contains(&x) && (0..height).contains(&y)).then(|| ((y * width + x) as usize, weight))
        })
    }
}
