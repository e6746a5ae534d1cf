//! Counters of one rank.

use core::fmt::Display;

use glam::Vec3;

use super::content::{Content, RayMessage};
use super::subscene::{RayEnd, Subscene};
use super::{PacketSettings, Packets};
use crate::cluster::{Communicator, Decoder, Encoder, Message, Rank, Tag, TerminationTest};
use crate::geometry::Ray;
use crate::geometry::sobol::hash2;
use crate::partition::{CellId, CellTracer};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::StepError;
use crate::radiosity::subscenes::counters::{Bounce, Light};
use crate::radiosity::subscenes::stages::CHANNELS;
use crate::radiosity::subscenes::{Counters, Counts, SubsceneElements};

/// Messages of a bounce.
const BOUNCE: Tag = Tag(16);

/// Unshot power between two bounces.
const UNSHOT: Tag = Tag(17);

/// Counters of the subscene with the number of this rank. Ranks hand rays on to each other.
///
/// All ranks must shoot the same bounces. [`Counters::all_unshot`] separates bounces: nobody starts one before all have
/// ended the one before.
pub(super) struct DistributedCounters<'a> {
    communicator: &'a dyn Communicator,
    subscene: Subscene,
    elements: &'a SubsceneElements,
    /// Index of each element in the whole scene, rank by rank.
    numbers: Vec<Vec<u32>>,
    settings: PacketSettings,
    light: Light,
    /// Arrivals of the present bounce.
    counts: Counts,
    termination: TerminationTest,
    /// Incomplete packets for each rank.
    rays: Vec<Vec<RayMessage>>,
    arrivals: Vec<Vec<u32>>,
    pub packets: Packets,
    is_cancelled: bool,
}

impl<'a> DistributedCounters<'a> {
    /// Creates counters before any shot. `elements` are the rank's own, `all` those of the whole scene.
    pub fn new(
        communicator: &'a dyn Communicator,
        tracer: &CellTracer,
        elements: &'a SubsceneElements,
        all: &SubsceneElements,
        settings: PacketSettings,
    ) -> Self {
        let (rank, ranks) = (communicator.rank(), communicator.size() as usize);
        Self {
            communicator,
            subscene: Subscene::new(tracer, elements, CellId(rank.0)),
            elements,
            numbers: (0..ranks).map(|cell| all.in_cell(CellId::from_index(cell)).to_vec()).collect(),
            settings,
            light: Light::new(elements),
            counts: Counts::default(),
            termination: TerminationTest::new(rank, communicator.size()),
            rays: vec![Vec::new(); ranks],
            arrivals: vec![Vec::new(); ranks],
            packets: Packets::default(),
            is_cancelled: false,
        }
    }

    /// Shoots the rays of the subscene's own elements.
    fn shoot_own(&mut self, bounce: &Bounce) -> Result<(), StepError> {
        let mut rays_until_poll = self.settings.rays_per_poll;
        for stage in 0..bounce.stages.count() {
            for source in bounce.stages.sources(stage, bounce.ray_counts) {
                let (element, channel) = (source.element(), source.number as usize % CHANNELS);
                let seed = hash2(bounce.seed, (CHANNELS * self.elements.numbers[element] as usize + channel) as u32);
                self.packets.shot += u64::from(source.rays);
                for index in 0..source.rays {
                    let ray = self.subscene.departure(element, seed, index);
                    self.enter(self.subscene.start_of(&ray), &ray, channel)?;
                    rays_until_poll = rays_until_poll.saturating_sub(1);
                    if rays_until_poll == 0 {
                        self.receive()?;
                        rays_until_poll = self.settings.rays_per_poll;
                    }
                }
                self.receive()?;
            }
        }
        Ok(())
    }

    /// Traces rays of others until all ranks have nothing left to do.
    fn finish(&mut self) -> Result<(), StepError> {
        loop {
            self.receive()?;
            self.send_incomplete();
            if let Some(report) = self.termination.report() {
                self.packets.reports += u64::from(self.communicator.size() - 1);
                self.communicator.send_to_others(BOUNCE, &Content::Report(report).encode());
            }
            if self.termination.is_over() {
                return Ok(());
            }
            let message = self.communicator.recv(None, Some(BOUNCE)).map_err(lost)?;
            self.process(message)?;
        }
    }

    /// Processes all messages that have arrived.
    fn receive(&mut self) -> Result<(), StepError> {
        self.packets.polls += 1;
        while let Some(message) = self.communicator.try_recv(None, Some(BOUNCE)) {
            self.process(message)?;
        }
        Ok(())
    }

    fn process(&mut self, message: Message) -> Result<(), StepError> {
        match Content::decode(&message.bytes).map_err(lost)? {
            Content::Rays(rays) => {
                self.termination.count_received();
                let own = self.own_cell();
                rays.iter().try_for_each(|ray| self.enter(own, &ray.ray(), ray.channel().map_err(lost)?))
            }
            Content::Arrivals(numbers) => {
                self.termination.count_received();
                numbers.into_iter().try_for_each(|number| self.count(number))
            }
            Content::Report(report) => {
                self.termination.hear(message.from, report);
                Ok(())
            }
        }
    }

    /// Traces a ray in a cell, if it is the own one, or hands the ray on.
    fn enter(&mut self, cell: CellId, ray: &Ray, channel: usize) -> Result<(), StepError> {
        if cell != self.own_cell() {
            self.packets.rays += 1;
            self.rays[cell.index()].push(RayMessage::new(ray, channel));
            if self.rays[cell.index()].len() == self.settings.rays_per_packet as usize {
                self.packets.complete += 1;
                self.send_rays(cell);
            }
            return Ok(());
        }
        match self.subscene.trace(ray) {
            RayEnd::Leaves(next) => return self.enter(next, ray, channel),
            RayEnd::Escaped => self.counts.escaped += 1,
            RayEnd::Absorbed => self.counts.absorbed += 1,
            RayEnd::Element(element, owner) => {
                let number = CHANNELS as u32 * element + channel as u32;
                if owner == self.own_cell() {
                    return self.count(number);
                }
                self.arrivals[owner.index()].push(number);
                if self.arrivals[owner.index()].len() == self.settings.rays_per_packet as usize {
                    self.send_arrivals(owner);
                }
            }
        }
        Ok(())
    }

    /// Counts an arrival at a channel of an element of this rank.
    fn count(&mut self, number: u32) -> Result<(), StepError> {
        let (element, channel) = (number / CHANNELS as u32, number as usize % CHANNELS);
        let place = self.elements.numbers.binary_search(&element).map_err(|_| lost("another scene on another rank"))?;
        self.counts.arrived[CHANNELS * place + channel] += 1;
        Ok(())
    }

    fn send_incomplete(&mut self) {
        for cell in (0..self.communicator.size()).map(CellId) {
            if !self.rays[cell.index()].is_empty() {
                self.send_rays(cell);
            }
            if !self.arrivals[cell.index()].is_empty() {
                self.send_arrivals(cell);
            }
        }
    }

    fn send_rays(&mut self, to: CellId) {
        let rays = core::mem::take(&mut self.rays[to.index()]);
        self.send_packet(to, &Content::Rays(rays));
    }

    fn send_arrivals(&mut self, to: CellId) {
        let numbers = core::mem::take(&mut self.arrivals[to.index()]);
        self.send_packet(to, &Content::Arrivals(numbers));
    }

    fn send_packet(&mut self, to: CellId, packet: &Content) {
        self.termination.count_sent();
        self.packets.packets += 1;
        self.communicator.send(Rank(to.0), BOUNCE, packet.encode());
    }

    fn own_cell(&self) -> CellId {
        CellId(self.communicator.rank().0)
    }
}

impl Counters for DistributedCounters<'_> {
    fn restart(&mut self) -> Result<(), StepError> {
        self.light = Light::new(self.elements);
        Ok(())
    }

    fn shoot(&mut self, bounce: &Bounce, monitor: &dyn Monitor) -> Result<(), StepError> {
        self.is_cancelled = monitor.is_cancelled();
        self.counts = Counts { arrived: vec![0; CHANNELS * self.elements.len()], ..Counts::default() };
        self.termination = TerminationTest::new(self.communicator.rank(), self.communicator.size());
        self.shoot_own(bounce)?;
        self.finish()?;
        self.light.receive(core::mem::take(&mut self.counts), self.elements, bounce.power_of_ray);
        Ok(())
    }

    /// Cancels all ranks if the monitor of one has canceled.
    fn all_unshot(&mut self) -> Result<Vec<Vec3>, StepError> {
        let own = Encoder::new().value(u32::from(self.is_cancelled)).slice(&self.light.unshot).finish();
        self.communicator.send_to_others(UNSHOT, &own);
        let mut is_cancelled = self.is_cancelled;
        let mut of_scene = vec![Vec3::ZERO; self.numbers.iter().map(Vec::len).sum()];
        let mut put = |rank: Rank, unshot: &[Vec3]| {
            let numbers = &self.numbers[rank.index()];
            numbers.iter().zip(unshot).for_each(|(&number, unshot)| of_scene[number as usize] = *unshot);
        };
        put(self.communicator.rank(), &self.light.unshot);
        for rank in self.communicator.others() {
            let message = self.communicator.recv(Some(rank), Some(UNSHOT)).map_err(lost)?;
            let mut content = Decoder::new(&message.bytes);
            is_cancelled |= content.value::<u32>().map_err(lost)? != 0;
            put(rank, &content.slice().map_err(lost)?);
        }
        if is_cancelled { Err(Cancelled.into()) } else { Ok(of_scene) }
    }

    fn unshot(&self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.light.unshot.clone())
    }

    fn power(&self) -> Result<Vec<Vec3>, StepError> {
        Ok(self.light.power.clone())
    }

    fn counts(&self) -> Result<Counts, StepError> {
        Ok(self.light.counts.clone())
    }
}

/// Returns the error of a rank that cannot go on.
pub(super) fn lost(reason: impl Display) -> StepError {
    StepError::Device(reason.to_string())
}
