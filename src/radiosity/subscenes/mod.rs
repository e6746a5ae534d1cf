//! Monte Carlo radiosity in the form that the thesis has for graphics cards (section 5.4): elements sorted by subscene,
//! a thread for each ray, and nothing but a count of the rays that met each element.
//!
//! Every ray carries the same power, for one channel, so all that an iteration needs to know is how many arrived where:
//! integers, the same in any order. [`SubsceneElements`] are fine elements of coarse surfaces, in the order of the cells of a
//! [`CellTracer`](crate::partition::CellTracer). [`SubsceneElements::solve`] drives [`Counters`], the processor's
//! ([`CpuCounters`]) or a graphics card's (`gpu::GpuCounters`), bounce after bounce. A bounce is shot in [`Stages`], each of
//! which takes a few elements of every subscene. [`SubsceneElements::residual`] judges what that came to.
//!
//! Only light that matt surfaces emit and reflect is known here: no lamps that are points, no sky, no textures finer than an
//! element. What leaves the scene is lost, and so is what meets a back that has no elements; both are counted.

mod counters;
mod elements;
mod residual;
mod shots;
mod solve;
mod stages;

#[cfg(test)]
mod tests;

pub use counters::{Bounce as CountedBounce, Counters, Counts, CpuCounters};
pub use elements::SubsceneElements;
pub use residual::SubsceneResidual;
pub use solve::SubsceneSolution;
#[cfg(feature = "gpu")]
pub(crate) use stages::CHANNELS;
pub use stages::{Source, Stages};
