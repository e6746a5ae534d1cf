//! What subscenes need only while they look around: most of their memory.

use rayon::prelude::*;

use super::super::Place;
use super::super::receivers::{ElementReceivers, Receiver, ReceiverId};
use super::local::{Local, Origins};
use crate::lightmap::ElementId;
use crate::partition::{CellId, Partition, Polygons};

/// Where the receivers of a subscene are, and what stands between them.
pub struct Site {
    pub receivers: Vec<Receiver>,
    pub local: Local,
}

impl Site {
    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        size_of_val(&*self.receivers) + self.local.bytes()
    }
}

/// The sites of all subscenes: as many as there is memory for, and besides them the one that was asked for last. Others
/// are made again, and come out the same.
pub struct Sites<'a> {
    source: Source<'a>,
    made: Vec<Option<Site>>,
    /// The one that there is no memory for.
    guest: Option<CellId>,
    /// Bytes of the others.
    bytes: usize,
    most_bytes: usize,
    /// How many times a site was made.
    #[cfg(test)]
    pub builds: usize,
}

impl<'a> Sites<'a> {
    /// Nothing made yet.
    pub fn new(source: Source<'a>, most_bytes: usize) -> Self {
        Self {
            made: source.partition.ids().map(|_| None).collect(),
            source,
            guest: None,
            bytes: 0,
            most_bytes,
            #[cfg(test)]
            builds: 0,
        }
    }

    /// The site of a subscene.
    pub fn at(&mut self, cell: CellId) -> &Site {
        let is_there = self.made[cell.index()].is_some();
        if !is_there && let Some(guest) = self.guest.take() {
            self.made[guest.index()] = None;
        }
        let site = self.made[cell.index()].get_or_insert_with(|| self.source.make(cell));
        if !is_there {
            let bytes = self.bytes + site.bytes();
            if bytes <= self.most_bytes {
                self.bytes = bytes;
            } else {
                self.guest = Some(cell);
            }
            #[cfg(test)]
            {
                self.builds += 1;
            }
        }
        site
    }

    /// Bytes of the sites that are kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What shafts were asked at the sites that are kept.
    #[cfg(test)]
    pub fn tally(&self) -> super::super::tally::Sums {
        super::super::tally::Sums::of(self.made.iter().flatten().map(|site| &site.local.occluders.tally))
    }

    /// The receivers of a subscene in the numbers of all.
    pub fn numbers(&self, cell: CellId) -> &[ReceiverId] {
        &self.source.numbers[cell.index()]
    }
}

/// What sites are made from.
pub struct Source<'a> {
    pub place: Place<'a>,
    pub of_elements: ElementReceivers<'a>,
    /// The receivers after those of all elements.
    pub bare: Vec<Receiver>,
    pub partition: Partition,
    pub polygons: Polygons,
    pub origins: Origins<'a>,
    /// The receivers of each subscene in the numbers of all.
    pub numbers: Vec<Vec<ReceiverId>>,
}

impl Source<'_> {
    fn make(&self, cell: CellId) -> Site {
        let receiver = |id: &ReceiverId| match id.index().checked_sub(self.place.elements.len()) {
            Some(bare) => self.bare[bare],
            None => self.of_elements.of(ElementId(id.0)),
        };
        let receivers = self.numbers[cell.index()].par_iter().with_min_len(64).map(receiver).collect();
        let weights = |polygon, corner| self.origins.weights(polygon, corner);
        let subscene = self.partition.subscene(cell, &self.polygons, weights);
        Site { receivers, local: Local::new(&self.origins, &subscene) }
    }
}
