//! Whose turn it is among lights that rest.
//!
//! Some lights keep what each of them comes to, so that it holds for every strength and whatever others do. The others keep
//! what they come to together, for as long as all of them stay as they are.

use glam::Vec3;

use super::lights::Shape;
use super::order::Order;
use super::reach::Reach;
use super::resting::{Following, Resting, Stage, has_come};
use super::slot::{Slot, Which};
use crate::scene::Scene;

/// Lights that keep their own: 24 bytes for each element, and as much again for a lamp that was baked elsewhere.
pub const MOST: usize = 8;

/// What is known of lights that rest, beside what those keep that keep their own.
#[derive(Default)]
pub struct Turns {
    others: Vec<Part>,
    /// They were not the same in the update before.
    are_others_new: bool,
    together: Resting,
}

/// Light that has come or gone.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    slot: usize,
    which: Which,
    shape: Shape,
    strength: Vec3,
}

/// Whose turn it is.
#[derive(Clone, Copy)]
enum Whose {
    Own(usize, Which),
    Others,
}

/// What one turn has done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    pub rays: u64,
    /// More is known of what light comes to.
    pub is_news: bool,
    /// More is known of direct light.
    pub has_asked: bool,
}

impl Turns {
    /// Gives room to lights that have changed, as long as there is any, and looks which others there are: before each
    /// update's turn, and before anything is summed up, since what others came to together goes with any of them.
    pub fn prepare(&mut self, slots: &mut [Slot], order: &Order) {
        for index in 0..slots.len() {
            if slots[index].is_changed() && !slots[index].keeps_own {
                let is_free = slots.iter().filter(|slot| slot.keeps_own).count() < MOST;
                let idle = slots.iter_mut().find(|slot| slot.keeps_own && !slot.is_changed()).filter(|_| !is_free);
                slots[index].keeps_own = is_free || idle.map(Slot::give_up_own).is_some();
            }
        }
        let of_slot = |(index, slot): (usize, &Slot)| {
            let part = |(strength, which)| Part { slot: index, which, shape: slot.shape(which), strength };
            slot.changes().map(part).collect::<Vec<_>>()
        };
        let others = slots.iter().enumerate().filter(|(_, slot)| !slot.keeps_own && slot.is_known(order));
        let others: Vec<Part> = others.flat_map(of_slot).collect();
        self.are_others_new = self.others != others;
        if self.are_others_new {
            (self.others, self.together) = (others, Resting::default());
        }
    }

    /// What is next for any light that rests; none when nothing better is to be had.
    pub fn next(&self, slots: &[Slot], order: &Order) -> Option<Stage> {
        let own = slots.iter().filter(|slot| slot.keeps_own && slot.is_known(order));
        own.flat_map(Slot::to_follow).map(|(stage, _)| stage).chain(self.next_of_others()).min()
    }

    fn next_of_others(&self) -> Option<Stage> {
        let come = self.others.iter().any(|part| has_come(part.strength));
        self.together.next(come).filter(|_| !self.others.is_empty())
    }

    /// Those first of whom least is known, and lights before others. One that something was traced for in this update is on
    /// its way.
    fn whose(&self, slots: &[Slot], order: &Order, update: u64) -> Option<Whose> {
        let rest = slots.iter().enumerate().filter(|(_, slot)| slot.keeps_own && slot.has_rested(order, update));
        let own =
            rest.flat_map(|(index, slot)| slot.to_follow().map(move |(stage, which)| (stage, index, which))).min();
        let others = self.next_of_others().filter(|_| !self.are_others_new);
        match (own, others) {
            (Some((stage, index, which)), others) if others.is_none_or(|others| stage <= others) => {
                Some(Whose::Own(index, which))
            }
            (_, others) => others.map(|_| Whose::Others),
        }
    }

    /// Goes on with a light, or with the others together.
    pub fn step(&mut self, slots: &mut [Slot], update: u64, lit: &Scene, following: &Following) -> Turn {
        let Some(whose) = self.whose(slots, following.receiving.order, update) else {
            return Turn::default();
        };
        let parts = match whose {
            Whose::Own(slot, which) => {
                vec![Part { slot, which, shape: slots[slot].shape(which), strength: Vec3::ONE }]
            }
            Whose::Others => self.others.clone(),
        };
        let mut resting = self.resting_of(whose, slots).map(core::mem::take).unwrap_or_default();
        let turn = if resting.stage() == Stage::Ask {
            let mut rays = 0;
            for Part { slot, which, .. } in &parts {
                rays += slots[*slot].refine(*which, lit, &following.receiving, following.budget.saturating_sub(rays));
            }
            if parts.iter().all(|part| slots[part.slot].reach(part.which).is_some_and(Reach::is_fine)) {
                resting.set_asked();
            }
            Turn { rays, has_asked: true, is_news: false }
        } else {
            let reach = |part: &Part| Some((part.strength, slots[part.slot].reach(part.which)?));
            let (rays, is_news) = resting.step(&parts.iter().filter_map(reach).collect::<Vec<_>>(), following);
            Turn { rays, is_news, has_asked: false }
        };
        if let Some(place) = self.resting_of(whose, slots) {
            *place = resting;
        }
        turn
    }

    fn resting_of<'a>(&'a mut self, whose: Whose, slots: &'a mut [Slot]) -> Option<&'a mut Resting> {
        match whose {
            Whose::Own(slot, which) => slots[slot].reach_mut(which).map(|reach| &mut reach.resting),
            Whose::Others => Some(&mut self.together),
        }
    }

    /// What elements get of all lights that rest beside what patches spread, lux by row, and all light that it is a part of.
    pub fn sum_up(&self, slots: &[Slot]) -> (Vec<Vec3>, f32) {
        let (mut elements, mut whole) = (Vec::new(), 0.0);
        for slot in slots {
            slot.followed().for_each(|(strength, resting)| whole += resting.add(strength, &mut elements));
        }
        if self.together.is_known() {
            whole += self.together.add(Vec3::ONE, &mut elements);
        }
        (elements, whole)
    }
}
