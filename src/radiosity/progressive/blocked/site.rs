//! Sites: data that subscenes need only while they work. Sites take most of the memory.

use rayon::prelude::*;

use super::super::Place;
use super::super::receivers::{ElementReceivers, Receiver, ReceiverId};
use super::local::{Local, Origins};
use crate::lightmap::ElementId;
use crate::partition::{CellId, Partition, Polygons};

/// Receivers of a subscene, and its geometry.
pub struct Site {
    pub receivers: Vec<Receiver>,
    pub local: Local,
}

impl Site {
    /// Returns the approximate memory size, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.receivers) + self.local.bytes()
    }
}

/// Access to sites.
pub trait SiteAccess {
    /// Returns the site of a subscene, and creates it if necessary.
    fn at(&mut self, cell: CellId) -> &Site;
}

/// Site of a rank, which has no other.
pub struct OwnSite<'a>(pub &'a Site);

impl SiteAccess for OwnSite<'_> {
    fn at(&mut self, _cell: CellId) -> &Site {
        self.0
    }
}

/// Cache of the sites of all subscenes within a memory limit, plus the most recent one. Other sites are recreated on
/// access, with identical results.
pub struct Sites<'a> {
    source: Source<'a>,
    made: Vec<Option<Site>>,
    /// Site beyond the memory limit.
    guest: Option<CellId>,
    /// Bytes of all other sites.
    bytes: usize,
    max_bytes: usize,
    /// Number of created sites.
    #[cfg(test)]
    pub builds: usize,
}

impl<'a> Sites<'a> {
    /// Creates an empty cache with a limit in bytes.
    pub fn new(source: Source<'a>, max_bytes: usize) -> Self {
        Self {
            made: source.partition.ids().map(|_| None).collect(),
            source,
            guest: None,
            bytes: 0,
            max_bytes,
            #[cfg(test)]
            builds: 0,
        }
    }

    /// Returns the bytes of kept sites.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the statistics of shaft queries at the existing sites.
    #[cfg(test)]
    pub fn tally(&self) -> super::super::tally::Sums {
        super::super::tally::Sums::of(self.made.iter().flatten().map(|site| &site.local.occluders.tally))
    }

    /// Returns the global index of each receiver in a subscene.
    pub fn numbers(&self, cell: CellId) -> &[ReceiverId] {
        &self.source.numbers[cell.index()]
    }
}

impl SiteAccess for Sites<'_> {
    fn at(&mut self, cell: CellId) -> &Site {
        let is_there = self.made[cell.index()].is_some();
        if !is_there && let Some(guest) = self.guest.take() {
            self.made[guest.index()] = None;
        }
        let site = self.made[cell.index()].get_or_insert_with(|| self.source.make(cell));
        if !is_there {
            let bytes = self.bytes + site.bytes();
            if bytes <= self.max_bytes {
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
}

/// Source data of sites.
pub struct Source<'a> {
    pub place: Place<'a>,
    pub of_elements: ElementReceivers<'a>,
    /// Receivers with indices after those of all elements.
    pub unmapped: Vec<Receiver>,
    pub partition: Partition,
    pub polygons: Polygons,
    pub origins: Origins<'a>,
    /// Global index of each receiver in each subscene.
    pub numbers: Vec<Vec<ReceiverId>>,
}

impl Source<'_> {
    /// Creates the site of a subscene.
    pub fn make(&self, cell: CellId) -> Site {
        let receiver = |id: &ReceiverId| match id.index().checked_sub(self.place.elements.len()) {
            Some(unmapped) => self.unmapped[unmapped],
            None => self.of_elements.of(ElementId(id.0)),
        };
        let receivers = self.numbers[cell.index()].par_iter().with_min_len(64).map(receiver).collect();
        let weights = |polygon, corner| self.origins.weights(polygon, corner);
        let subscene = self.partition.subscene(cell, &self.polygons, weights);
        Site { receivers, local: Local::new(&self.origins, &subscene) }
    }
}
