//! Shots on ranks, one for each subscene (`000` S5 and S7).
//!
//! A rank has its own [`Worker`] and site, and only sends messages. In a round it shoots its strongest patches, passes on
//! the shots of others as soon as their masks are complete, and ends with all ranks, without a barrier. Then the light of
//! all shots has arrived everywhere.
//!
//! The thesis ends when all ranks have sent and received equally many polygons in sum (equation 2.5). That may be too
//! early: in a row of three, both ends have shot once, and the middle has received one of both. So ranks count messages
//! too, by the [`TerminationTest`].
//!
//! A rank receives the light of other subscenes at the end of a round, in the order of the shots. The result does not
//! depend on delays.

use super::super::patches::{Part, Patch};
use super::MAX_SHOTS;
use super::message::Message;
use super::site::{OwnSite, Site};
use super::worker::{CompleteShot, Worker};
use crate::cluster::{self, Communicator, DecodeError, Decoder, Encoder, NoSenderError, Rank, Tag, TerminationTest};

/// Messages of a round. Their content begins with one of two kinds.
const ROUND: Tag = Tag(19);

/// Copy of a patch with a mask.
const SHOT: u32 = 0;

/// Report of an idle rank.
const IDLE: u32 = 1;

/// Error of a rank that cannot go on. Ranks that have agreed never have it.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error(transparent)]
    NoSender(#[from] NoSenderError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// Polygons of a round, as a rank counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCount {
    /// Number of own patches that were shot.
    pub shot: u64,
    /// Number of patches of others that came here, each once.
    pub received: u64,
    /// Number of messages with copies of patches that were sent, one for each border.
    pub sent: u64,
}

impl RoundCount {
    /// Returns the sum that is equal on all ranks at the end (`000` equation 2.5).
    pub fn total(self) -> u64 {
        self.shot + self.received
    }
}

/// Part of a round that one rank plays.
pub struct Round<'a> {
    communicator: &'a dyn Communicator,
    worker: &'a mut Worker,
    site: OwnSite<'a>,
    termination: TerminationTest,
    arrived: Vec<CompleteShot>,
    count: RoundCount,
}

impl<'a> Round<'a> {
    /// Prepares a round of a rank with its worker and site.
    pub fn new(communicator: &'a dyn Communicator, worker: &'a mut Worker, site: &'a Site) -> Self {
        Self {
            termination: TerminationTest::new(communicator.rank(), communicator.size()),
            communicator,
            worker,
            site: OwnSite(site),
            arrived: Vec::new(),
            count: RoundCount::default(),
        }
    }

    /// Shoots patches above a power, up to a number of shots, and receives the light of all ranks' shots. `first` is the
    /// number of the rank's first shot, and `parts` are the emitting polygons of a patch's groups.
    pub fn shoot(
        mut self,
        threshold: f64,
        first: u64,
        parts: impl Fn(&Patch) -> Vec<Part>,
    ) -> Result<RoundCount, RoundError> {
        for number in first..first + self.max_shots() {
            let Some(shot) = self.worker.strongest().filter(|shot| shot.power > threshold) else { break };
            let parts = parts(&self.worker.contents().patches[shot.patch.index()]);
            let mut post = Vec::new();
            self.worker.shoot(shot.patch, number, parts, &mut self.site, &mut post);
            self.count.shot += 1;
            self.send(&post);
            self.receive()?;
        }
        loop {
            self.receive()?;
            if let Some(report) = self.termination.report() {
                self.communicator.send_to_others(ROUND, &Encoder::new().value(IDLE).value(report).finish());
            }
            if self.termination.is_over() {
                break;
            }
            let message = self.communicator.recv(None, Some(ROUND))?;
            self.process(&message)?;
        }
        self.arrived.sort_by_key(|shot| shot.flash.number);
        for shot in &self.arrived {
            self.worker.receive_light(shot, &mut self.site);
        }
        Ok(self.count)
    }

    fn max_shots(&self) -> u64 {
        MAX_SHOTS.div_ceil(self.communicator.size() as usize) as u64
    }

    /// Processes all messages that have arrived.
    fn receive(&mut self) -> Result<(), RoundError> {
        while let Some(message) = self.communicator.try_recv(None, Some(ROUND)) {
            self.process(&message)?;
        }
        Ok(())
    }

    fn process(&mut self, message: &cluster::Message) -> Result<(), RoundError> {
        let mut content = Decoder::new(&message.bytes);
        if content.value::<u32>()? == IDLE {
            self.termination.hear(message.from, content.value()?);
            return Ok(());
        }
        self.termination.count_received();
        let shot = self.worker.collect(Message::decode(self.worker.cell(), content)?);
        if let Some(shot) = shot {
            let mut post = Vec::new();
            self.worker.pass_on(&shot, &mut self.site, &mut post);
            self.send(&post);
            self.count.received += 1;
            self.arrived.push(shot);
        }
        Ok(())
    }

    fn send(&mut self, post: &[Message]) {
        for message in post {
            self.termination.count_sent();
            self.count.sent += 1;
            let content = message.encode(Encoder::new().value(SHOT));
            self.communicator.send(Rank(message.to.0), ROUND, content.finish());
        }
    }
}
