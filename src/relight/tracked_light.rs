//! One tracked light: its baked state, its current state, and the responses to both.

use glam::Vec3;

use super::element_refinement::{ElementRefinement, Stage, is_added};
use super::lights::{Emitter, Shape};
use super::order::Order;
use super::response::{LightResponse, Received, Receiving};
use crate::scene::Scene;

/// Samples per receiver for a point-like light and for an extended light.
const ROUNDS: [u32; 2] = [1, 4];

/// Samples per receiver where its own direct light is shown.
const ROUNDS_SHOWN: u32 = 16;

/// Returns the samples per receiver of a light. `shows_direct` is true for pages that hold direct light.
pub fn rounds(shape: &Shape, shows_direct: bool) -> u32 {
    if shows_direct { ROUNDS_SHOWN } else { ROUNDS[usize::from(shape.has_extent())] }
}

/// Kind of a response of a light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResponseKind {
    /// Response at the baked place.
    Baked,
    /// Response at the current place, still without samples.
    Next,
    /// Response at the current place, or at an earlier one until the current one has samples.
    Current,
}

/// Tracked light and its responses.
#[derive(Clone, Debug)]
pub struct TrackedLight {
    pub name: String,
    /// Id in the running game. `None` for a light that has not been seen there, or has gone.
    pub entity: Option<u64>,
    /// True for a light that keeps its baked state, or stays dark if it was not baked.
    pub is_excluded: bool,
    /// Baked state. `None` for an added light.
    baked: Option<Emitter>,
    now: Emitter,
    baked_response: Option<LightResponse>,
    current: Option<(Shape, LightResponse)>,
    next: Option<(Shape, LightResponse)>,
    /// Number of the update that last traced it.
    last_traced: u64,
    /// True when it has its own cache entry for the refined result.
    pub keeps_own: bool,
    /// True while its stored contribution stands for its baked state, instead of a response.
    pub shows_contribution: bool,
    /// Shown change of strength of its contribution.
    contribution_change: Vec3,
}

impl TrackedLight {
    /// Creates a light that is in the pages.
    pub fn baked(name: &str, baked: Emitter) -> Self {
        Self { baked: Some(baked), ..Self::new(name, baked) }
    }

    /// Creates a light that is not in the pages.
    pub fn added(name: &str, id: u64, now: Emitter) -> Self {
        Self { entity: Some(id), ..Self::new(name, now) }
    }

    fn new(name: &str, now: Emitter) -> Self {
        Self {
            name: name.to_owned(),
            entity: None,
            is_excluded: false,
            baked: None,
            now,
            baked_response: None,
            current: None,
            next: None,
            last_traced: 0,
            keeps_own: false,
            shows_contribution: false,
            contribution_change: Vec3::ZERO,
        }
    }

    pub fn baked_state(&self) -> Option<&Emitter> {
        self.baked.as_ref()
    }

    /// Returns true for a baked light without a counterpart in the running game.
    pub fn is_free(&self) -> bool {
        self.baked.is_some() && self.entity.is_none()
    }

    /// Binds it to a light of the game. Returns true when its state changes. A state that differs by rounding only
    /// counts as baked.
    pub fn adopt(&mut self, id: u64, now: Emitter) -> bool {
        self.entity = Some(id);
        if let Some(baked) = &mut self.baked
            && baked.is_nearly(&now)
        {
            *baked = now;
        }
        self.set(now)
    }

    /// Sets its current state, unless it is excluded. Returns true when the state changes.
    pub fn set(&mut self, now: Emitter) -> bool {
        let now = if self.is_excluded { self.baked.unwrap_or(self.dark()) } else { now };
        let is_news = self.now != now;
        self.now = now;
        is_news
    }

    /// Marks it as gone. Returns true when its state changes.
    pub fn leave(&mut self) -> bool {
        self.entity = None;
        self.set(self.dark())
    }

    /// Returns its current state with zero strength.
    fn dark(&self) -> Emitter {
        Emitter { strength: Vec3::ZERO, ..self.now }
    }

    /// Returns true when it is neither baked nor in the game.
    pub fn is_over(&self) -> bool {
        self.baked.is_none() && self.entity.is_none()
    }

    /// Returns true when it differs from the bake.
    pub fn is_changed(&self) -> bool {
        match self.baked {
            Some(baked) => self.now != baked && (self.now.strength != Vec3::ZERO || baked.strength != Vec3::ZERO),
            None => self.now.strength != Vec3::ZERO,
        }
    }

    /// Returns true when its shape or place differs from the bake.
    pub fn has_moved(&self) -> bool {
        self.baked.is_none_or(|baked| baked.shape != self.now.shape)
    }

    /// Returns true when it differs from the bake by more than a factor on its stored contribution.
    pub fn needs_responses(&self) -> bool {
        let is_scaled = !self.has_moved() || self.now.strength == Vec3::ZERO;
        self.is_changed() && !(self.shows_contribution && is_scaled)
    }

    /// Sets and returns the change of strength of its stored contribution. A light that has moved keeps the change
    /// until its current place has samples.
    pub fn scale_contribution(&mut self, is_enabled: bool) -> Vec3 {
        let is_seen = || self.response(ResponseKind::Current).is_some_and(LightResponse::is_begun);
        self.contribution_change = match self.baked {
            Some(baked) if is_enabled && self.shows_contribution && self.is_changed() => {
                if !self.has_moved() {
                    self.now.strength - baked.strength
                } else if self.now.strength == Vec3::ZERO || is_seen() {
                    -baked.strength
                } else {
                    self.contribution_change
                }
            }
            _ => Vec3::ZERO,
        };
        self.contribution_change
    }

    /// Returns true when its light has left its contribution for a response, whole or in part.
    pub fn is_by_response(&self) -> bool {
        !self.shows_contribution || self.changes().next().is_some()
    }

    /// Updates its responses to its current place. `shows_direct` is true for pages that hold direct light.
    /// `is_as_baked` is true while no surface is displaced or recolored, so that stored contributions hold.
    pub fn prepare(&mut self, receiving: &Receiving, shows_direct: bool, is_as_baked: bool) {
        if !self.is_changed() {
            return;
        }
        if let Some(baked) = self.baked.as_ref().filter(|_| !(self.shows_contribution && is_as_baked)) {
            self.baked_response
                .get_or_insert_with(|| LightResponse::new(receiving, rounds(&baked.shape, shows_direct)));
        }
        if !self.has_moved() {
            (self.current, self.next) = (None, None);
            return;
        }
        let is_here =
            |known: &Option<(Shape, LightResponse)>| known.as_ref().is_some_and(|(at, _)| *at == self.now.shape);
        if is_here(&self.current) {
            self.next = None;
        } else if !is_here(&self.next) && self.now.strength != Vec3::ZERO {
            self.next = Some((self.now.shape, LightResponse::new(receiving, rounds(&self.now.shape, false))));
        }
    }

    /// Returns the unfinished responses, each with its number of steps and its last update.
    pub fn pending(&self, order: &Order) -> impl Iterator<Item = (u32, u64, ResponseKind)> {
        let is_changed = self.is_changed();
        let unfinished = |response: Option<&LightResponse>, kind| {
            let response = response.filter(|response| is_changed && !response.is_done(order))?;
            Some((response.steps(), self.last_traced, kind))
        };
        let is_dark = self.now.strength == Vec3::ZERO;
        let current = self.current.as_ref().filter(|(at, _)| *at == self.now.shape && !is_dark);
        [
            unfinished(self.baked_response.as_ref(), ResponseKind::Baked),
            unfinished(self.next.as_ref().map(|(_, response)| response), ResponseKind::Next),
            unfinished(current.map(|(_, response)| response), ResponseKind::Current),
        ]
        .into_iter()
        .flatten()
    }

    /// Returns the shape of a response, at unit strength.
    pub fn shape(&self, kind: ResponseKind) -> Shape {
        match (kind, &self.baked, &self.next, &self.current) {
            (ResponseKind::Baked, Some(baked), ..) => baked.shape,
            (ResponseKind::Next, _, Some((shape, _)), _) | (ResponseKind::Current, _, _, Some((shape, _))) => *shape,
            _ => self.now.shape,
        }
    }

    /// Returns a response to trace. The response at the current place replaces the earlier one.
    pub fn begin(&mut self, kind: ResponseKind, update: u64) -> Option<&mut LightResponse> {
        self.last_traced = update;
        if kind == ResponseKind::Next {
            self.current = self.next.take();
        }
        self.response_mut(if kind == ResponseKind::Next { ResponseKind::Current } else { kind })
    }

    pub fn response(&self, kind: ResponseKind) -> Option<&LightResponse> {
        match kind {
            ResponseKind::Baked => self.baked_response.as_ref(),
            ResponseKind::Next => self.next.as_ref().map(|(_, response)| response),
            ResponseKind::Current => self.current.as_ref().map(|(_, response)| response),
        }
    }

    pub fn response_mut(&mut self, kind: ResponseKind) -> Option<&mut LightResponse> {
        match kind {
            ResponseKind::Baked => self.baked_response.as_mut(),
            ResponseKind::Next => self.next.as_mut().map(|(_, response)| response),
            ResponseKind::Current => self.current.as_mut().map(|(_, response)| response),
        }
    }

    /// Returns true when it has changed and its responses are complete.
    pub fn is_known(&self, order: &Order) -> bool {
        self.is_changed() && self.pending(order).next().is_none()
    }

    /// Returns true when its responses were complete before an update.
    pub fn is_settled(&self, order: &Order, update: u64) -> bool {
        self.is_known(order) && self.last_traced < update
    }

    /// Updates its responses after a change of geometry; see [`LightResponse::follow`]. `lit` is the scene with unit
    /// emission. `shows_direct` is true for pages that hold direct light.
    pub fn follow(&mut self, lit: &Scene, shows_direct: bool, before: &Receiving, after: &Receiving) {
        if let Some((baked, response)) = self.baked.as_ref().zip(self.baked_response.as_mut()) {
            let [before, after] = [before, after].map(|receiving| Receiving { is_spread: shows_direct, ..*receiving });
            response.follow(baked.shape.sampler(lit).as_ref(), &before, &after);
        }
        for (shape, response) in self.current.iter_mut().chain(&mut self.next) {
            response.follow(shape.sampler(lit).as_ref(), before, after);
        }
    }

    /// Recomputes its responses for another reflectance.
    pub fn weigh(&mut self, receiving: &Receiving) {
        let known = self.current.iter_mut().chain(&mut self.next).map(|(_, response)| response);
        known.chain(&mut self.baked_response).for_each(|response| response.weigh(receiving));
    }

    /// Adds the change of the mean first-bounce radiosity of each patch. It adds nothing before all responses have
    /// samples.
    pub fn add(&self, weights: &[Vec3], sums: &mut [Vec3]) {
        self.responses().for_each(|(strength, response)| response.add(strength, weights, sums));
    }

    /// Continues adaptive sampling of a response within a ray budget. Returns the number of rays.
    pub fn refine(&mut self, kind: ResponseKind, lit: &Scene, receiving: &Receiving, budget: u64) -> u64 {
        let shape = self.shape(kind);
        let sampler = shape.sampler(lit);
        let mut rays = 0;
        while let Some(response) = self.response_mut(kind).filter(|response| rays < budget && !response.is_fine()) {
            rays += response.refine(sampler.as_ref(), receiving);
        }
        rays
    }

    /// Returns the next refinement stage of each added or removed part.
    pub fn to_follow(&self) -> impl Iterator<Item = (Stage, ResponseKind)> {
        let next = |(strength, kind)| Some((self.response(kind)?.refinement.next(is_added(strength))?, kind));
        self.changes().filter_map(next)
    }

    /// Returns the refined results with their strengths. None before the first solve of both parts.
    ///
    /// The patch solution has nearly the same error for a lamp at two near places. So both parts are replaced together.
    pub fn followed(&self) -> impl Iterator<Item = (Vec3, &ElementRefinement)> {
        let is_followed = self.responses().all(|(_, response)| response.refinement.is_known());
        self.responses().filter(move |_| is_followed).map(|(strength, response)| (strength, &response.refinement))
    }

    /// Gives up its cache entry and discards its refined results.
    pub fn give_up_own(&mut self) {
        self.keeps_own = false;
        for kind in [ResponseKind::Baked, ResponseKind::Next, ResponseKind::Current] {
            self.response_mut(kind).into_iter().for_each(|response| response.refinement = ElementRefinement::default());
        }
    }

    /// Chooses between its stored contribution and its response. With displaced or recolored surfaces the contribution
    /// stands in until the response is complete. Returns true when the choice is new.
    pub fn choose_contribution(&mut self, is_as_baked: bool, order: &Order) -> bool {
        if is_as_baked {
            self.baked_response = None;
        }
        let is_known = self.baked_response.as_ref().is_some_and(|response| response.is_done(order));
        let before = core::mem::replace(&mut self.shows_contribution, !is_known);
        before != self.shows_contribution
    }

    /// Returns the added and removed parts, each with its strength. None before both have samples.
    pub fn changes(&self) -> impl Iterator<Item = (Vec3, ResponseKind)> {
        let strength = self.now.strength;
        let (added, removed) = match self.baked {
            Some(baked) if !self.has_moved() => (None, Some((strength - baked.strength, ResponseKind::Baked))),
            baked => {
                let added = (strength != Vec3::ZERO).then_some((strength, ResponseKind::Current));
                (added, baked.map(|baked| (-baked.strength, ResponseKind::Baked)))
            }
        };
        let removed = removed.filter(|_| !self.shows_contribution);
        let changes = added.into_iter().chain(removed);
        let is_begun = |(_, kind)| self.response(kind).is_some_and(LightResponse::is_begun);
        let is_known = self.is_changed() && changes.clone().all(is_begun);
        changes.filter(move |_| is_known)
    }

    /// Returns the added and removed parts, each with its strength and response.
    pub fn responses(&self) -> impl Iterator<Item = (Vec3, &LightResponse)> {
        self.changes().filter_map(|(strength, kind)| Some((strength, self.response(kind)?)))
    }

    /// Returns the change of its direct light for pages that hold it: a factor, and the receivers. `None` before it is
    /// known, and where its stored contribution holds direct light.
    pub fn direct(&self) -> Option<(Vec3, &[Received])> {
        let baked = self.baked.filter(|_| self.is_changed() && !self.shows_contribution)?;
        let receivers = self.baked_response.as_ref()?.receivers()?;
        let factor = if self.has_moved() { -baked.strength } else { self.now.strength - baked.strength };
        Some((factor, receivers))
    }
}
