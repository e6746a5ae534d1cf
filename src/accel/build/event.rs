//! Sweep events: positions where references start and end along an axis (Wald and Havran 2006).

use crate::geometry::Aabb;

/// Kind of an event, in the order in which a sweep must process events at equal positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    End,
    Planar,
    Start,
}

/// Position, kind and reference of an event, packed into one sortable word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub(super) struct Event(u64);

impl Event {
    /// Maximum number of references that events can address.
    pub const LIMIT: usize = 1 << 30;

    #[inline(always)]
    pub fn new(position: f32, kind: EventKind, reference: u32) -> Self {
        // Adding zero makes -0.0 equal to 0.0. Flipping the bits of negative numbers sorts them as integers.
        let bits = (position + 0.0).to_bits();
        let sortable = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        Self(u64::from(sortable) << 32 | (kind as u64) << 30 | u64::from(reference))
    }

    #[inline(always)]
    pub fn position(self) -> f32 {
        let sortable = (self.0 >> 32) as u32;
        f32::from_bits(if sortable >> 31 == 1 { sortable & !(1 << 31) } else { !sortable })
    }

    #[inline(always)]
    pub fn kind(self) -> EventKind {
        match self.0 >> 30 & 3 {
            0 => EventKind::End,
            1 => EventKind::Planar,
            _ => EventKind::Start,
        }
    }

    #[inline(always)]
    pub fn reference(self) -> usize {
        (self.0 & (Self::LIMIT as u64 - 1)) as usize
    }

    #[inline(always)]
    pub fn is_at(self, other: Self) -> bool {
        self.0 >> 32 == other.0 >> 32
    }
}

/// Appends the events of one reference on one axis.
#[inline(always)]
pub(super) fn push_events(events: &mut Vec<Event>, bounds: &Aabb, axis: usize, reference: u32) {
    let (start, end) = (bounds.min[axis], bounds.max[axis]);
    if start == end {
        events.push(Event::new(start, EventKind::Planar, reference));
    } else {
        events.push(Event::new(start, EventKind::Start, reference));
        events.push(Event::new(end, EventKind::End, reference));
    }
}

/// Merges two sorted lists into the first.
pub(super) fn merge(events: &mut Vec<Event>, added: &[Event]) {
    let mut old = events.len();
    let mut new = added.len();
    events.resize(old + new, Event::default());
    while new > 0 {
        let take_old = old > 0 && events[old - 1] > added[new - 1];
        events[old + new - 1] = if take_old { events[old - 1] } else { added[new - 1] };
        old -= usize::from(take_old);
        new -= usize::from(!take_old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_sort_by_place_then_kind() {
        let places = [f32::MIN, -2.5, -1e-30, 0.0, 1e-30, 3.0, f32::MAX];
        let sorted: Vec<Event> = places
            .into_iter()
            .flat_map(|place| {
                [EventKind::End, EventKind::Planar, EventKind::Start].map(|kind| Event::new(place, kind, 9))
            })
            .collect();
        assert!(sorted.is_sorted() && sorted.iter().all(|event| event.reference() == 9));
        assert!(sorted.chunks(3).zip(places).all(|(events, place)| events[0].position() == place));
        assert_eq!(Event::new(-0.0, EventKind::End, 1), Event::new(0.0, EventKind::End, 1));
    }

    #[test]
    fn merging_keeps_the_order() {
        let event = |place: usize| Event::new(place as f32, EventKind::Start, place as u32);
        let mut events: Vec<Event> = (0..50).map(|k| event(k * 3)).collect();
        let added: Vec<Event> = (0..80).map(|k| event(k * 2 + 1)).collect();
        merge(&mut events, &added);
        assert!(events.len() == 130 && events.is_sorted());
    }
}
