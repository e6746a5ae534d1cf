//! The master's side of a distribution.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::distribute::{DONE, ENDED, FRAGMENT, REQUEST, RESULT, SPEED, STOP, compute_beside};
use super::{
    ClusterError, ClusterReport, Communicator, Decoder, Encoder, Message, Queue, Rank, Strategy, Work, split_by_speed,
    split_equally,
};
use crate::clock;
use crate::progress::{Cancelled, Monitor};

/// State of the master.
pub(super) struct Master<'a> {
    communicator: &'a dyn Communicator,
    work: &'a dyn Work,
    strategy: Strategy,
    receive: &'a mut dyn FnMut(Range<u32>, Vec<u8>),
    monitor: &'a dyn Monitor,
    queue: Queue,
    /// Fragment that each rank computes.
    current: Vec<Option<Range<u32>>>,
    /// Ranks that have been told to stop, and those that have ended.
    stopped: Vec<bool>,
    ended: Vec<bool>,
    requests: u32,
    results: u32,
}

impl<'a> Master<'a> {
    pub fn new(
        communicator: &'a dyn Communicator,
        work: &'a dyn Work,
        strategy: Strategy,
        receive: &'a mut dyn FnMut(Range<u32>, Vec<u8>),
        monitor: &'a dyn Monitor,
    ) -> Self {
        let size = communicator.size();
        let ranks = size as usize;
        let queue = match strategy {
            Strategy::WorkQueue { fragments, reissue } => Queue::new(work.units(), size, fragments, reissue),
            Strategy::Equally | Strategy::SpeedProportional => Queue::assigned(Vec::new(), size),
        };
        let (current, stopped, ended) = (vec![None; ranks], vec![false; ranks], vec![false; ranks]);
        Self { communicator, work, strategy, receive, monitor, queue, current, stopped, ended, requests: 0, results: 0 }
    }

    /// Distributes the work, computes a part of it, and waits for all ranks. They end even if the work fails.
    pub fn run(mut self, speed: f32) -> Result<ClusterReport, ClusterError> {
        let seconds = self.finish_work(speed);
        self.stop_all();
        self.wait_for_ends();
        (1..self.communicator.size()).for_each(|rank| self.communicator.send(Rank(rank), DONE, Vec::new()));
        Ok(self.report(seconds?))
    }

    /// Distributes the work and computes a part of it, until all is finished. Returns the seconds it took.
    fn finish_work(&mut self, speed: f32) -> Result<f64, ClusterError> {
        let started = clock::now();
        match self.strategy {
            Strategy::Equally => self.assign(split_equally(self.work.units(), self.communicator.size())),
            Strategy::SpeedProportional => {
                let ranges = split_by_speed(self.work.units(), &self.collect_speeds(speed)?);
                for (rank, units) in ranges.iter().enumerate().skip(1) {
                    self.send_fragment(Rank::from_index(rank), units);
                }
                self.assign(ranges);
            }
            Strategy::WorkQueue { .. } => {}
        }
        while let Some(units) = self.next_own_fragment() {
            self.compute(units)?;
        }
        self.wait_for_results()?;
        Ok(started.elapsed().as_secs_f64())
    }

    /// Returns the report of finished work that took so many seconds.
    fn report(&self, seconds: f64) -> ClusterReport {
        ClusterReport {
            strategy: self.strategy,
            units: self.work.units(),
            fragments: self.queue.fragments(),
            seconds,
            ranks: self.queue.progress().to_vec(),
            requests: self.requests,
            results: self.results,
            reissued: self.queue.reissued(),
        }
    }

    /// Collects the speed of each rank.
    fn collect_speeds(&self, own: f32) -> Result<Vec<f32>, ClusterError> {
        let mut speeds = vec![own; self.current.len()];
        for _ in 1..speeds.len() {
            let message = self.communicator.recv(None, Some(SPEED))?;
            speeds[message.from.index()] = Decoder::new(&message.bytes).value()?;
        }
        Ok(speeds)
    }

    fn assign(&mut self, ranges: Vec<Range<u32>>) {
        self.current = ranges.iter().cloned().map(Some).collect();
        self.queue = Queue::assigned(ranges, self.communicator.size());
    }

    fn send_fragment(&self, rank: Rank, units: &Range<u32>) {
        self.communicator.send(rank, FRAGMENT, Encoder::new().value([units.start, units.end]).finish());
    }

    /// Returns what the master computes next.
    fn next_own_fragment(&mut self) -> Option<Range<u32>> {
        match self.strategy {
            Strategy::Equally | Strategy::SpeedProportional => self.current[Rank::MASTER.index()].take(),
            Strategy::WorkQueue { .. } => {
                self.requests += 1;
                self.queue.next(Rank::MASTER)
            }
        }
    }

    /// Computes a fragment, and serves the other ranks meanwhile. Stops if another rank has finished it before.
    fn compute(&mut self, units: Range<u32>) -> Result<(), ClusterError> {
        let stopped = AtomicBool::new(false);
        let mut served = Ok(());
        let (result, seconds) = compute_beside(self.work, units.clone(), &stopped, || {
            while served.is_ok()
                && let Some(message) = self.communicator.try_recv(None, None)
            {
                served = self.serve(&message);
            }
            if served.is_err() || self.monitor.is_cancelled() || self.queue.has_finished(&units) {
                stopped.store(true, Ordering::Relaxed);
            }
        });
        match (served, result) {
            (Ok(()), Ok(bytes)) => self.finish(Rank::MASTER, units, seconds, bytes),
            (Ok(()), Err(Cancelled)) => self.queue.spend(Rank::MASTER, seconds),
            (Err(fault), _) => return Err(fault),
        }
        if self.monitor.is_cancelled() { Err(Cancelled.into()) } else { Ok(()) }
    }

    fn serve(&mut self, message: &Message) -> Result<(), ClusterError> {
        let rank = message.from;
        let mut content = Decoder::new(&message.bytes);
        match message.tag {
            REQUEST if !self.stopped[rank.index()] => {
                self.requests += 1;
                match self.queue.next(rank) {
                    Some(units) => {
                        self.send_fragment(rank, &units);
                        self.current[rank.index()] = Some(units);
                    }
                    None => self.stop(rank),
                }
            }
            RESULT => {
                let ([start, end], seconds) = (content.value()?, content.value()?);
                self.results += 1;
                self.current[rank.index()] = None;
                self.finish(rank, start..end, seconds, content.slice()?);
            }
            ENDED => {
                self.queue.spend(rank, content.value()?);
                self.ended[rank.index()] = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, rank: Rank, units: Range<u32>, seconds: f64, bytes: Vec<u8>) {
        if self.queue.finish(rank, &units, seconds) {
            (self.receive)(units, bytes);
            self.monitor.progress(self.queue.finished_units() as f32 / self.work.units().max(1) as f32);
        }
    }

    /// Waits until all units are finished.
    fn wait_for_results(&mut self) -> Result<(), ClusterError> {
        while !self.queue.is_finished() {
            let message = self.communicator.recv(None, None).map_err(|fault| self.lost_rank(fault.into()))?;
            self.serve(&message)?;
        }
        Ok(())
    }

    /// Returns the error for a rank that ended with an unfinished fragment.
    fn lost_rank(&self, fault: ClusterError) -> ClusterError {
        let lost = |rank: &usize| self.current[*rank].is_some() && !self.ended[*rank];
        (1..self.current.len()).find(lost).map_or(fault, |rank| ClusterError::Lost(Rank::from_index(rank)))
    }

    /// Tells a rank to stop.
    fn stop(&mut self, rank: Rank) {
        self.communicator.send(rank, STOP, Vec::new());
        self.stopped[rank.index()] = true;
    }

    /// Tells all ranks to stop that would not ask: those that compute, and after an error all.
    fn stop_all(&mut self) {
        let is_done = self.queue.is_finished();
        for rank in 1..self.current.len() {
            let computes = self.current[rank].as_ref().is_some_and(|units| !units.is_empty());
            if !self.stopped[rank] && (computes || !is_done) {
                self.stop(Rank::from_index(rank));
            }
        }
    }

    /// Serves ranks until each has ended. Those that are lost send nothing more.
    fn wait_for_ends(&mut self) {
        while self.ended[1..].contains(&false)
            && let Ok(message) = self.communicator.recv(None, None)
        {
            // Late results do not count, so that a damaged one does no harm.
            let _ = self.serve(&message);
        }
    }
}
