//! Shooting rays of one bounce.

use super::super::Gpu;
use super::super::deposits::{WORDS_OF_SUM, sum, zeros};
use super::rays::{BatchKind, ElementJob, Rays};
use super::sweep::padded;
use crate::progress::Monitor;
use crate::radiosity::{Bounce, Deposits, ONE, StepError};
use glam::{DVec3, Vec3};

/// Number of words of an element's sums, with one sum per channel.
const WORDS: usize = 3 * WORDS_OF_SUM;

pub(super) struct Shots<'a> {
    pub gpu: &'a Gpu,
    pub rays: &'a mut Rays,
    /// Per element: true if points of the element lie inside solids.
    pub may_be_inside: &'a [bool],
    pub seed: u32,
    pub monitor: &'a dyn Monitor,
}

impl Shots<'_> {
    /// Shoots the power that the previous bounce brought.
    pub fn land(&mut self, bounce: &Bounce) -> Result<Deposits, StepError> {
        let Self { gpu, rays, may_be_inside, seed, monitor } = self;
        let work: Vec<ElementJob> = bounce
            .ray_counts
            .iter()
            .zip(may_be_inside.iter())
            .zip(0..)
            .filter(|((rays, _), _)| **rays > 0)
            .map(|((&rays, &may_be_inside), element)| ElementJob {
                element,
                first_index: 0,
                rays,
                may_be_inside,
                bounces: None,
                hits_at: 0,
            })
            .collect();
        let color = |element: usize| {
            if bounce.ray_counts[element] > 0 { bounce.color(element) } else { Vec3::ZERO }
        };
        let elements = may_be_inside.len();
        let colors = gpu.storage("colors of shots", &padded((0..elements).map(color)))?;
        let deposits = zeros(gpu, "where shots land", elements * WORDS + WORDS_OF_SUM)?;
        let batch_kind = BatchKind::Shoot { colors: &colors, deposits: &deposits };
        rays.send(gpu, batch_kind, [*seed, bounce.seed], &work, *monitor, |_, _| {})?;

        let words: Vec<u32> = gpu.read(&deposits, elements * WORDS + WORDS_OF_SUM)?;
        let share = |pair: &[u32]| sum(pair) as f64 / f64::from(ONE);
        let arrived = |words: &[u32]| DVec3::new(share(&words[..2]), share(&words[2..4]), share(&words[4..]));
        let (of_elements, traced) = words.split_at(elements * WORDS);
        Ok(Deposits { arrived: of_elements.chunks_exact(WORDS).map(arrived).collect(), rays: sum(traced) })
    }
}
