//! The rays of one bounce of shooting.

use super::super::Gpu;
use super::super::landed::{WORDS_OF_SUM, sum, zeros};
use super::rays::{Errand, Rays, Work};
use super::sweep::padded;
use crate::progress::Monitor;
use crate::radiosity::{Bounce, Landed, ONE, StepError};
use glam::{DVec3, Vec3};

/// Words of the sums of an element: one for each channel.
const WORDS: usize = 3 * WORDS_OF_SUM;

pub(super) struct Shots<'a> {
    pub gpu: &'a Gpu,
    pub rays: &'a mut Rays,
    /// Which elements have buried points.
    pub suspect: &'a [bool],
    pub seed: u32,
    pub monitor: &'a dyn Monitor,
}

impl Shots<'_> {
    /// Shoots what the bounce before brought.
    pub fn land(&mut self, bounce: &Bounce) -> Result<Landed, StepError> {
        let Self { gpu, rays, suspect, seed, monitor } = self;
        let work: Vec<Work> = bounce
            .allotment
            .iter()
            .zip(suspect.iter())
            .zip(0..)
            .filter(|((rays, _), _)| **rays > 0)
            .map(|((&rays, &suspect), element)| Work {
                element,
                first_index: 0,
                rays,
                suspect,
                bounces: None,
                hits_at: 0,
            })
            .collect();
        let colour = |element: usize| {
            if bounce.allotment[element] > 0 { bounce.colour(element) } else { Vec3::ZERO }
        };
        let elements = suspect.len();
        let colours = gpu.storage("colours of shots", &padded((0..elements).map(colour)))?;
        let landed = zeros(gpu, "where shots land", elements * WORDS + WORDS_OF_SUM)?;
        let errand = Errand::Shoot { colours: &colours, landed: &landed };
        rays.send(gpu, errand, [*seed, bounce.seed], &work, *monitor, |_, _| {})?;

        let words: Vec<u32> = gpu.read(&landed, elements * WORDS + WORDS_OF_SUM)?;
        let share = |pair: &[u32]| sum(pair) as f64 / f64::from(ONE);
        let arrived = |words: &[u32]| DVec3::new(share(&words[..2]), share(&words[2..4]), share(&words[4..]));
        let (of_elements, traced) = words.split_at(elements * WORDS);
        Ok(Landed { arrived: of_elements.chunks_exact(WORDS).map(arrived).collect(), rays: sum(traced) })
    }
}
