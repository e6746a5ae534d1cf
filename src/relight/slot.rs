//! One light: as it was baked, as it is, and what is known of both.

use glam::Vec3;

use super::lights::{Shape, Shining};
use super::order::Order;
use super::reach::{Reach, Received, Receiving};
use super::resting::{Resting, Stage, has_come};
use crate::scene::Scene;

/// How often each receiver asks for a light that looks the same from everywhere on it, and for one that does not.
const ROUNDS: [u32; 2] = [1, 4];

/// The same where each receiver's own light is shown.
const ROUNDS_SHOWN: u32 = 16;

/// How often each receiver asks for a light in the pages. `shows_direct` where pages hold direct light.
pub fn rounds(shape: &Shape, shows_direct: bool) -> u32 {
    if shows_direct { ROUNDS_SHOWN } else { ROUNDS[usize::from(shape.has_extent())] }
}

/// Which of a light's reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Which {
    /// Where it was baked.
    Rest,
    /// Where it is, and nothing is known yet.
    Next,
    /// Where it is, or was until more is known of where it is now.
    Current,
}

/// A light and what it brings.
#[derive(Clone, Debug)]
pub struct Slot {
    pub name: String,
    /// Who it is in the running game; none for one that has not been seen there, or is gone.
    pub owner: Option<u64>,
    /// It stays as it was baked, or dark if it was not, whatever happens to it.
    pub is_excluded: bool,
    /// As it was baked; none for one that came later.
    rest: Option<Shining>,
    now: Shining,
    at_rest: Option<Reach>,
    current: Option<(Shape, Reach)>,
    next: Option<(Shape, Reach)>,
    /// The update in which something was last traced for it.
    served: u64,
    /// There is room for what it comes to once it rests.
    pub keeps_own: bool,
}

impl Slot {
    /// A light that is in the pages.
    pub fn baked(name: &str, rest: Shining) -> Self {
        Self { rest: Some(rest), ..Self::new(name, rest) }
    }

    /// A light that is not.
    pub fn newcomer(name: &str, id: u64, now: Shining) -> Self {
        Self { owner: Some(id), ..Self::new(name, now) }
    }

    fn new(name: &str, now: Shining) -> Self {
        Self {
            name: name.to_owned(),
            owner: None,
            is_excluded: false,
            rest: None,
            now,
            at_rest: None,
            current: None,
            next: None,
            served: 0,
            keeps_own: false,
        }
    }

    pub fn rest(&self) -> Option<&Shining> {
        self.rest.as_ref()
    }

    /// True when it is in the pages, and nothing is known of it in the running game.
    pub fn is_free(&self) -> bool {
        self.rest.is_some() && self.owner.is_none()
    }

    /// Takes it for a light of the game; true when it is another than before. What is the same but for rounding is what was
    /// baked.
    pub fn adopt(&mut self, id: u64, now: Shining) -> bool {
        self.owner = Some(id);
        if let Some(rest) = &mut self.rest
            && rest.is_nearly(&now)
        {
            *rest = now;
        }
        self.set(now)
    }

    /// What it is now, unless it is excluded; true when that is news.
    pub fn set(&mut self, now: Shining) -> bool {
        let now = if self.is_excluded { self.rest.unwrap_or(self.dark()) } else { now };
        let is_news = self.now != now;
        self.now = now;
        is_news
    }

    /// It has gone; true when that is news.
    pub fn leave(&mut self) -> bool {
        self.owner = None;
        self.set(self.dark())
    }

    /// As it is, switched off.
    fn dark(&self) -> Shining {
        Shining { strength: Vec3::ZERO, ..self.now }
    }

    /// True when it is neither in the pages nor anybody's.
    pub fn is_over(&self) -> bool {
        self.rest.is_none() && self.owner.is_none()
    }

    /// True when pages have to show something else than was baked.
    pub fn is_changed(&self) -> bool {
        match self.rest {
            Some(rest) => self.now != rest && (self.now.strength != Vec3::ZERO || rest.strength != Vec3::ZERO),
            None => self.now.strength != Vec3::ZERO,
        }
    }

    /// True when it shines from elsewhere than where it was baked.
    pub fn has_moved(&self) -> bool {
        self.rest.is_none_or(|rest| rest.shape != self.now.shape)
    }

    /// Brings what is traced in line with where it is. `shows_direct` where pages hold direct light.
    pub fn prepare(&mut self, receiving: &Receiving, shows_direct: bool) {
        if !self.is_changed() {
            return;
        }
        if let Some(rest) = &self.rest {
            self.at_rest.get_or_insert_with(|| Reach::new(receiving, rounds(&rest.shape, shows_direct)));
        }
        if !self.has_moved() {
            (self.current, self.next) = (None, None);
            return;
        }
        let is_here = |known: &Option<(Shape, Reach)>| known.as_ref().is_some_and(|(at, _)| *at == self.now.shape);
        if is_here(&self.current) {
            self.next = None;
        } else if !is_here(&self.next) && self.now.strength != Vec3::ZERO {
            self.next = Some((self.now.shape, Reach::new(receiving, rounds(&self.now.shape, false))));
        }
    }

    /// What has still to be traced, how far it is, and when it was last its turn.
    pub fn pending(&self, order: &Order) -> impl Iterator<Item = (u32, u64, Which)> {
        let is_changed = self.is_changed();
        let unfinished = |reach: Option<&Reach>, which| {
            let reach = reach.filter(|reach| is_changed && !reach.is_done(order))?;
            Some((reach.steps(), self.served, which))
        };
        let is_dark = self.now.strength == Vec3::ZERO;
        let current = self.current.as_ref().filter(|(at, _)| *at == self.now.shape && !is_dark);
        [
            unfinished(self.at_rest.as_ref(), Which::Rest),
            unfinished(self.next.as_ref().map(|(_, reach)| reach), Which::Next),
            unfinished(current.map(|(_, reach)| reach), Which::Current),
        ]
        .into_iter()
        .flatten()
    }

    /// What shines there, of strength one.
    pub fn shape(&self, which: Which) -> Shape {
        match (which, &self.rest, &self.next, &self.current) {
            (Which::Rest, Some(rest), ..) => rest.shape,
            (Which::Next, _, Some((shape, _)), _) | (Which::Current, _, _, Some((shape, _))) => *shape,
            _ => self.now.shape,
        }
    }

    /// Something to trace of it. What is known of where it is now takes the place of what was known before.
    pub fn begin(&mut self, which: Which, update: u64) -> Option<&mut Reach> {
        self.served = update;
        if which == Which::Next {
            self.current = self.next.take();
        }
        self.reach_mut(if which == Which::Next { Which::Current } else { which })
    }

    pub fn reach(&self, which: Which) -> Option<&Reach> {
        match which {
            Which::Rest => self.at_rest.as_ref(),
            Which::Next => self.next.as_ref().map(|(_, reach)| reach),
            Which::Current => self.current.as_ref().map(|(_, reach)| reach),
        }
    }

    pub fn reach_mut(&mut self, which: Which) -> Option<&mut Reach> {
        match which {
            Which::Rest => self.at_rest.as_mut(),
            Which::Next => self.next.as_mut().map(|(_, reach)| reach),
            Which::Current => self.current.as_mut().map(|(_, reach)| reach),
        }
    }

    /// True when it has changed, and all is traced of that.
    pub fn is_known(&self, order: &Order) -> bool {
        self.is_changed() && self.pending(order).next().is_none()
    }

    /// The same when that was so before an update.
    pub fn has_rested(&self, order: &Order, update: u64) -> bool {
        self.is_known(order) && self.served < update
    }

    /// Follows what has moved; see [`Reach::follow`]. What shines is aimed at in `lit`. `shows_direct` where pages hold
    /// direct light.
    pub fn follow(&mut self, lit: &Scene, shows_direct: bool, before: &Receiving, after: &Receiving) {
        if let Some((rest, reach)) = self.rest.as_ref().zip(self.at_rest.as_mut()) {
            let [before, after] = [before, after].map(|receiving| Receiving { is_spread: shows_direct, ..*receiving });
            reach.follow(rest.shape.aim(lit).as_ref(), &before, &after);
        }
        for (shape, reach) in self.current.iter_mut().chain(&mut self.next) {
            reach.follow(shape.aim(lit).as_ref(), before, after);
        }
    }

    /// Takes patches for what they reflect in a level.
    pub fn weigh(&mut self, receiving: &Receiving) {
        let known = self.current.iter_mut().chain(&mut self.next).map(|(_, reach)| reach);
        known.chain(&mut self.at_rest).for_each(|reach| reach.weigh(receiving));
    }

    /// Adds the mean radiosity of each patch that reflects what has changed once. Nothing before enough is known of it.
    pub fn add(&self, weights: &[Vec3], sums: &mut [Vec3]) {
        self.reaches().for_each(|(strength, reach)| reach.add(strength, weights, sums));
    }

    /// Asks more precisely for a part of it, until that takes so many rays; how many it took.
    pub fn refine(&mut self, which: Which, lit: &Scene, receiving: &Receiving, budget: u64) -> u64 {
        let shape = self.shape(which);
        let aim = shape.aim(lit);
        let mut rays = 0;
        while let Some(reach) = self.reach_mut(which).filter(|reach| rays < budget && !reach.is_fine()) {
            rays += reach.refine(aim.as_ref(), receiving);
        }
        rays
    }

    /// What is next for light that has come or gone, once it is known.
    pub fn to_follow(&self) -> impl Iterator<Item = (Stage, Which)> {
        let next = |(strength, which)| Some((self.reach(which)?.resting.next(has_come(strength))?, which));
        self.changes().filter_map(next)
    }

    /// What has come and gone comes to, with its strengths. Nothing before enough is known of both: what patches tell of a
    /// lamp that has moved a little is wrong as it was before, and so is right where both meet.
    pub fn followed(&self) -> impl Iterator<Item = (Vec3, &Resting)> {
        let is_followed = self.reaches().all(|(_, reach)| reach.resting.is_known());
        self.reaches().filter(move |_| is_followed).map(|(strength, reach)| (strength, &reach.resting))
    }

    /// There is no longer room for what it comes to.
    pub fn give_up_own(&mut self) {
        self.keeps_own = false;
        for which in [Which::Rest, Which::Next, Which::Current] {
            self.reach_mut(which).into_iter().for_each(|reach| reach.resting = Resting::default());
        }
    }

    /// Which light has come, and which has gone: strengths of reaches. None before enough is known of both.
    pub fn changes(&self) -> impl Iterator<Item = (Vec3, Which)> {
        let strength = self.now.strength;
        let (come, gone) = match self.rest {
            Some(rest) if !self.has_moved() => (None, Some((strength - rest.strength, Which::Rest))),
            rest => {
                let come = (strength != Vec3::ZERO).then_some((strength, Which::Current));
                (come, rest.map(|rest| (-rest.strength, Which::Rest)))
            }
        };
        let changes = come.into_iter().chain(gone);
        let is_begun = |(_, which)| self.reach(which).is_some_and(Reach::is_begun);
        let is_known = self.is_changed() && changes.clone().all(is_begun);
        changes.filter(move |_| is_known)
    }

    fn reaches(&self) -> impl Iterator<Item = (Vec3, &Reach)> {
        self.changes().filter_map(|(strength, which)| Some((strength, self.reach(which)?)))
    }

    /// What to add of its direct light to pages that hold it, once that is known: what to multiply with, and that of receivers.
    pub fn direct(&self) -> Option<(Vec3, &[Received])> {
        let rest = self.rest.filter(|_| self.is_changed())?;
        let receivers = self.at_rest.as_ref()?.receivers()?;
        let factor = if self.has_moved() { -rest.strength } else { self.now.strength - rest.strength };
        Some((factor, receivers))
    }
}
