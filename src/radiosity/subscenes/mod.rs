//! Monte Carlo radiosity in the form of the thesis for graphics cards (section 5.4). Elements are sorted by subscene,
//! and each ray has a thread. The only result is the number of rays that hit each element.
//!
//! Every ray carries the same power in one channel. An iteration therefore needs only hit counts, which are integers
//! and independent of order. [`SubsceneElements`] are fine elements of coarse surfaces, in the order of the cells of a
//! [`CellTracer`](crate::partition::CellTracer). [`SubsceneElements::solve`] runs bounces on [`Counters`], on the CPU
//! ([`CpuCounters`]) or on a graphics card (`gpu::GpuCounters`). A bounce is shot in [`Stages`], each with a few
//! elements of every subscene. [`SubsceneElements::residual`] checks the solution.
//! [`solve_on_rank`] does all this on many ranks of a run, one subscene each.
//!
//! Only diffuse emission and reflection are supported. There are no point lights, no sky, and no textures finer than an
//! element. Rays that leave the scene or hit a back without elements are lost, and counted.

mod counters;
mod distributed;
mod elements;
mod residual;
mod shots;
mod solve;
mod stages;

#[cfg(test)]
mod tests;

pub use counters::{Bounce as CountedBounce, Counters, Counts, CpuCounters};
pub use distributed::{GatheredSolution, PacketSettings, Packets, RankError, RankSolution, solve_on_rank};
pub use elements::SubsceneElements;
pub use residual::SubsceneResidual;
pub use solve::SubsceneSolution;
#[cfg(feature = "gpu")]
pub(crate) use stages::CHANNELS;
pub use stages::{RaySource, Stages};
