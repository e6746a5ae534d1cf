//! Counted rays on many ranks, one subscene each (`000` 4.2).
//!
//! A rank knows the geometry in its cell and shoots its own elements. A ray without a hit goes on to the one neighbor
//! behind the border that it crosses. Rays travel in packets. No barrier ends a bounce: ranks tell each other how many
//! packets they have sent and received, until all sums agree.
//!
//! A ray is the same whoever shoots it, and a hit is found among the same triangles. Between bounces, ranks tell each
//! other the unshot power of their elements, and allocate rays alike. So the counts equal those of one process
//! ([`CpuCounters::with_tree`](super::CpuCounters::with_tree)), for any number of ranks and any kind of partition.
//!
//! An element that reaches into several cells belongs to the cell in front of its center. Whoever finds a hit of it tells
//! that cell's rank. Each rank reads the whole scene at the start, and keeps its part.

mod content;
mod counters;
mod subscene;

#[cfg(test)]
mod tests;

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use super::{Counters, Counts, SubsceneElements, SubsceneSolution};
use crate::cluster::{Communicator, Decoder, Encoder, Rank, Tag};
use crate::partition::{CellId, CellTracer, Fineness, PartitionError, PartitionSettings};
use crate::progress::Monitor;
use crate::radiosity::StepError;
use crate::scene::Scene;

use counters::{DistributedCounters, lost};

/// Powers and packets that ranks send to the master at the end.
const POWERS: Tag = Tag(18);

/// Settings of packets. They change the time, and never the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketSettings {
    /// Number of rays in a complete packet. More rays make fewer messages, which arrive later. Default 100.
    pub rays_per_packet: u32,
    /// Number of shot rays after which a rank looks for packets of others. It also looks after each element. Default
    /// 1000.
    pub rays_per_poll: u32,
}

impl Default for PacketSettings {
    fn default() -> Self {
        Self { rays_per_packet: 100, rays_per_poll: 1000 }
    }
}

/// Rays and messages of one rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Packets {
    /// Number of rays that started at the rank's own elements.
    pub shot: u64,
    /// Number of sent packets, of rays and of arrivals.
    pub packets: u64,
    /// Number of sent complete packets of rays.
    pub complete: u64,
    /// Number of rays that went to other ranks, once for each border.
    pub rays: u64,
    /// Number of times that the rank looked for packets.
    pub polls: u64,
    /// Number of sent messages about the end of a bounce.
    pub reports: u64,
}

/// Part of a solution that one rank has.
#[derive(Clone, Debug, PartialEq)]
pub struct RankSolution {
    /// Solution with the power of the rank's own elements, and the rays that were lost in its subscene.
    pub solution: SubsceneSolution,
    /// Index of each own element in the whole scene.
    pub numbers: Vec<u32>,
    /// Arrivals of the last bounce at the own elements.
    pub counts: Counts,
    /// Packets that the rank sent.
    pub packets: Packets,
}

/// Reason why ranks cannot solve together. All ranks find the same, unless one is lost.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RankError {
    /// The scene cannot be cut into a subscene for each rank.
    #[error(transparent)]
    Partition(#[from] PartitionError),
    /// Packets without rays never get sent.
    #[error("packets of 0 rays hold none: ask for 1 or more")]
    EmptyPackets,
    /// A rank's monitor canceled, or a rank does not answer.
    #[error(transparent)]
    Step(#[from] StepError),
}

/// Solves one subscene of a scene together with all other ranks. The partition gets as many cells as there are ranks.
///
/// # Errors
/// Returns an error if the scene cannot be shared by the ranks, a monitor cancels, or a rank is lost.
pub fn solve_on_rank(
    communicator: &dyn Communicator,
    scene: &Scene,
    fineness: &Fineness,
    partition: &PartitionSettings,
    packets: PacketSettings,
    seed: u32,
    monitor: &dyn Monitor,
) -> Result<RankSolution, RankError> {
    let ranks = communicator.size();
    if packets.rays_per_packet == 0 {
        return Err(RankError::EmptyPackets);
    }
    let tracer = CellTracer::new(scene, fineness, &PartitionSettings { count: ranks, ..*partition })?;
    tracer.partition().check_ranks(ranks)?;
    let all = SubsceneElements::new(scene, &tracer);
    let elements = all.of_cell(CellId(communicator.rank().0));
    let mut counters = DistributedCounters::new(communicator, &tracer, &elements, &all, packets);
    drop((tracer, all));
    let solution = elements.solve(&mut counters, seed, None, monitor)?;
    let (counts, packets) = (counters.counts()?, counters.packets);
    Ok(RankSolution { solution, numbers: elements.numbers, counts, packets })
}

/// Solution of the whole scene, on the master.
#[derive(Clone, Debug, PartialEq)]
pub struct GatheredSolution {
    /// Solution of all elements.
    pub solution: SubsceneSolution,
    /// Rays and messages of each rank.
    pub packets: Vec<Packets>,
}

impl RankSolution {
    /// Returns the solution of the whole scene on the master, and `None` on other ranks. All ranks must call this.
    ///
    /// # Errors
    /// Returns an error if a rank is lost.
    pub fn gather(self, communicator: &dyn Communicator) -> Result<Option<GatheredSolution>, RankError> {
        let Self { mut solution, numbers, packets, .. } = self;
        if communicator.rank() != Rank::MASTER {
            let lost = [solution.escaped, solution.absorbed];
            let powers = Encoder::new().value(packets).value(lost);
            let powers = powers.slice(&numbers).slice(&solution.power).slice(&solution.received);
            communicator.send(Rank::MASTER, POWERS, powers.finish());
            return Ok(None);
        }
        let join = |numbers: Vec<u32>, power: Vec<Vec3>, received: Vec<Vec3>| {
            numbers.into_iter().zip(power.into_iter().zip(received)).collect::<Vec<_>>()
        };
        let mut all = join(numbers, solution.power, solution.received);
        let mut of_each = vec![packets];
        for rank in (1..communicator.size()).map(Rank) {
            let message = communicator.recv(Some(rank), Some(POWERS)).map_err(lost)?;
            let mut content = Decoder::new(&message.bytes);
            of_each.push(content.value().map_err(lost)?);
            let [escaped, absorbed] = content.value::<[u64; 2]>().map_err(lost)?;
            let numbers = content.slice().map_err(lost)?;
            let (power, received) = (content.slice().map_err(lost)?, content.slice().map_err(lost)?);
            solution.escaped += escaped;
            solution.absorbed += absorbed;
            all.extend(join(numbers, power, received));
        }
        all.sort_unstable_by_key(|(number, _)| *number);
        (solution.power, solution.received) = all.into_iter().map(|(_, powers)| powers).unzip();
        Ok(Some(GatheredSolution { solution, packets: of_each }))
    }
}

impl GatheredSolution {
    /// Returns a digest of the light of all elements. It is the same for any number of ranks and any partition.
    pub fn digest(&self) -> [u8; 32] {
        let SubsceneSolution { power, received, .. } = &self.solution;
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytemuck::cast_slice(power)).update(bytemuck::cast_slice(received));
        *hasher.finalize().as_bytes()
    }
}
