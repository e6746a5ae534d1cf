//! The rays of one bounce of shooting.

use glam::{DVec3, Vec3};
use wgpu::{Buffer, CommandEncoderDescriptor};

use super::super::{Gpu, GpuFault};
use super::rays::{Errand, Rays, Work};
use super::sweep::padded;
use crate::progress::Monitor;
use crate::radiosity::{Bounce, Landed, ONE, StepError};

/// Words of the sums of an element: three of two words each.
const WORDS: usize = 6;

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
        let landed = cleared(gpu, elements)?;
        let errand = Errand::Shoot { colours: &colours, landed: &landed };
        rays.send(gpu, errand, [*seed, bounce.seed], &work, *monitor, |_, _| {})?;

        let words: Vec<u32> = gpu.read(&landed, elements * WORDS + 2)?;
        let sum = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
        let share = |pair: &[u32]| sum(pair) as f64 / f64::from(ONE);
        let arrived = |words: &[u32]| DVec3::new(share(&words[..2]), share(&words[2..4]), share(&words[4..]));
        let (of_elements, traced) = words.split_at(elements * WORDS);
        Ok(Landed { arrived: of_elements.chunks_exact(WORDS).map(arrived).collect(), rays: sum(traced) })
    }
}

fn cleared(gpu: &Gpu, elements: usize) -> Result<Buffer, GpuFault> {
    let landed = gpu.empty_storage("where shots land", (elements * WORDS + 2) as u64 * 4)?;
    let mut encoder = gpu.device.create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.clear_buffer(&landed, 0, None);
    gpu.queue.submit([encoder.finish()]);
    Ok(landed)
}
