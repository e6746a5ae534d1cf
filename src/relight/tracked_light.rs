//! One tracked light: its baked state, its current state, the responses to both, and its progress.

use glam::Vec3;

use super::element_refinement::{ElementRefinement, Stage, is_added};
use super::lights::{Emitter, Shape};
use super::receiving::Receiving;
use super::response::{LightResponse, Received, rounds};

/// Kind of a response of a light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResponseKind {
    /// Response at the baked place.
    Baked,
    /// Response at the current place, or at an earlier one until the current one has samples.
    Current,
}

/// Progress of a light, from a change to a result that needs no more samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LightState {
    /// The pages of the bake show it, or it is dark and was not baked.
    Baked,
    /// The game excludes it: it keeps its baked state, or stays dark if it was not baked.
    Excluded,
    /// It has changed, and a response that it needs has no samples. Pages show its earlier state.
    Unsampled,
    /// It has changed, and its responses have some samples.
    Tracing,
    /// It has changed, and its responses are complete. The refinement queue may hold it.
    Settled,
}

/// Baked state of a light.
#[derive(Clone, Debug)]
struct BakedState {
    emitter: Emitter,
    /// True while its stored contribution stands for this state, instead of a response.
    shows_contribution: bool,
}

/// Tracked light and its responses.
#[derive(Clone, Debug)]
pub struct TrackedLight {
    pub name: String,
    /// Id in the running game. `None` for a light that has not been seen there, or has gone.
    pub entity: Option<u64>,
    /// `None` for an added light.
    baked: Option<BakedState>,
    current: Emitter,
    /// Responses by [`ResponseKind`].
    responses: [Option<LightResponse>; 2],
    /// Place without samples that the next response is for.
    awaited: Option<Shape>,
    /// State at the latest update.
    pub state: LightState,
    /// True for a light of a file that Bevy's glTF loader has spawned; see [`Emitter::in_file`].
    is_by_loader: bool,
    /// Number of the update that last traced it.
    last_traced: u64,
    /// True when it has its own cache entry for the refined result.
    pub keeps_own: bool,
}

impl TrackedLight {
    /// Creates a light that is in the pages.
    pub fn baked(name: &str, emitter: Emitter) -> Self {
        let baked = Some(BakedState { emitter, shows_contribution: false });
        Self { baked, ..Self::added(name, None, emitter) }
    }

    /// Creates a light that is not in the pages.
    pub fn added(name: &str, entity: Option<u64>, current: Emitter) -> Self {
        Self {
            name: name.to_owned(),
            entity,
            baked: None,
            current,
            responses: [None, None],
            awaited: None,
            state: LightState::Baked,
            is_by_loader: false,
            last_traced: 0,
            keeps_own: false,
        }
    }

    pub fn baked_emitter(&self) -> Option<&Emitter> {
        self.baked.as_ref().map(|baked| &baked.emitter)
    }

    #[cfg(test)]
    pub fn current(&self) -> &Emitter {
        &self.current
    }

    /// Takes the state of its light in the game. Rounding does not tell it from the bake. Returns true when that changes its
    /// emitter.
    pub fn follow(&mut self, mut now: Emitter, is_excluded: bool) -> bool {
        if let Some(&baked) = self.baked_emitter() {
            let in_file = now.in_file(&baked);
            self.is_by_loader |= in_file.is_nearly(&baked) && !now.is_nearly(&baked);
            now = if self.is_by_loader { in_file } else { now }.snapped_to(&baked);
        }
        self.set(now, is_excluded)
    }

    /// Sets its current emitter, unless it is excluded. Returns true when that changes.
    pub fn set(&mut self, now: Emitter, is_excluded: bool) -> bool {
        let now = if is_excluded { self.baked_emitter().copied().unwrap_or(self.dark()) } else { now };
        match (is_excluded, self.state) {
            (true, _) => self.state = LightState::Excluded,
            (false, LightState::Excluded) => self.state = LightState::Baked,
            _ => {}
        }
        core::mem::replace(&mut self.current, now) != now
    }

    /// Marks it as gone. Returns true when its emitter changes.
    pub fn leave(&mut self) -> bool {
        self.entity = None;
        self.set(self.dark(), self.state == LightState::Excluded)
    }

    /// Returns its current emitter with zero strength.
    fn dark(&self) -> Emitter {
        Emitter { strength: Vec3::ZERO, ..self.current }
    }

    fn is_dark(&self) -> bool {
        self.current.strength == Vec3::ZERO
    }

    /// Returns true when its shape or place differs from the bake.
    pub fn has_moved(&self) -> bool {
        self.baked_emitter().is_none_or(|baked| baked.shape != self.current.shape)
    }

    /// Returns true when its current emitter differs from the bake.
    fn differs(&self) -> bool {
        match self.baked_emitter() {
            Some(baked) => self.current != *baked && !(self.is_dark() && baked.strength == Vec3::ZERO),
            None => !self.is_dark(),
        }
    }

    /// Returns true when it differed from the bake at the latest update.
    fn is_changed(&self) -> bool {
        !matches!(self.state, LightState::Baked | LightState::Excluded)
    }

    fn shows_contribution(&self) -> bool {
        self.baked.as_ref().is_some_and(|baked| baked.shows_contribution)
    }

    /// Returns true when it differs from the bake by more than a factor on its stored contribution.
    pub fn needs_responses(&self) -> bool {
        let is_scaled = !self.has_moved() || self.is_dark();
        self.is_changed() && !(self.shows_contribution() && is_scaled)
    }

    /// Updates its responses to its current place, and its state. `shows_direct` is true for pages that hold direct
    /// light. `has_contributions` is true while no surface is displaced or recolored, so that stored contributions
    /// hold.
    pub fn prepare(&mut self, receiving: &Receiving, shows_direct: bool, has_contributions: bool) {
        if self.differs() {
            if let Some(baked) = self.baked.as_ref().filter(|baked| !(baked.shows_contribution && has_contributions)) {
                let shape = baked.emitter.shape;
                let new = || LightResponse::new(shape, rounds(&shape, shows_direct), shows_direct, receiving);
                self.responses[ResponseKind::Baked as usize].get_or_insert_with(new);
            }
            if !self.has_moved() {
                (self.responses[ResponseKind::Current as usize], self.awaited) = (None, None);
            } else if self.response(ResponseKind::Current).is_some_and(|known| known.shape == self.current.shape) {
                self.awaited = None;
            } else if !self.is_dark() {
                self.awaited = Some(self.current.shape);
            }
        }
        self.update_state();
    }

    /// Finds its state after a change of its emitter or its responses.
    pub fn update_state(&mut self) {
        self.state = match self.unfinished().map(|(steps, _)| steps).min() {
            _ if self.state == LightState::Excluded => LightState::Excluded,
            _ if !self.differs() => LightState::Baked,
            Some(0) => LightState::Unsampled,
            Some(_) => LightState::Tracing,
            None => LightState::Settled,
        };
    }

    /// Returns the unfinished responses, each with its number of steps.
    fn unfinished(&self) -> impl Iterator<Item = (u32, ResponseKind)> {
        let steps = |response: &LightResponse| (!response.is_done()).then_some(response.steps());
        let is_current = |response: &&LightResponse| response.shape == self.current.shape && !self.is_dark();
        let of_current = self.response(ResponseKind::Current).filter(is_current).and_then(steps);
        let of_current = if self.awaited.is_some() { Some(0) } else { of_current };
        let of_baked = self.response(ResponseKind::Baked).and_then(steps);
        let of_baked = of_baked.map(|steps| (steps, ResponseKind::Baked));
        of_baked.into_iter().chain(of_current.map(|steps| (steps, ResponseKind::Current)))
    }

    /// Returns the responses that need samples. The least comes first: fewest samples, then the longest wait.
    pub fn pending(&self) -> impl Iterator<Item = (u32, u64, ResponseKind)> {
        let is_pending = matches!(self.state, LightState::Unsampled | LightState::Tracing);
        self.unfinished().filter(move |_| is_pending).map(|(steps, kind)| (steps, self.last_traced, kind))
    }

    /// Returns a response to sample. [`update_state`](Self::update_state) must follow.
    pub fn begin(&mut self, kind: ResponseKind, update: u64, receiving: &Receiving) -> Option<&mut LightResponse> {
        self.last_traced = update;
        let awaited = if kind == ResponseKind::Current { self.awaited.take() } else { None };
        if let Some(shape) = awaited {
            let response = LightResponse::new(shape, rounds(&shape, false), false, receiving);
            self.responses[kind as usize] = Some(response);
        }
        self.response_mut(kind)
    }

    /// Returns true when its responses were complete before an update.
    pub fn is_settled_before(&self, update: u64) -> bool {
        self.state == LightState::Settled && self.last_traced < update
    }

    pub fn response(&self, kind: ResponseKind) -> Option<&LightResponse> {
        self.responses[kind as usize].as_ref()
    }

    pub fn response_mut(&mut self, kind: ResponseKind) -> Option<&mut LightResponse> {
        self.responses[kind as usize].as_mut()
    }

    pub fn responses_mut(&mut self) -> impl Iterator<Item = &mut LightResponse> {
        self.responses.iter_mut().flatten()
    }

    /// Gives up its cache entry and discards its refined results.
    pub fn give_up_own(&mut self) {
        self.keeps_own = false;
        self.responses_mut().for_each(|response| response.refinement = ElementRefinement::default());
    }

    /// Returns the added and removed parts, each with its strength. None before both have samples.
    pub fn changes(&self) -> impl Iterator<Item = (Vec3, ResponseKind)> {
        let strength = self.current.strength;
        let (added, removed) = match self.baked_emitter() {
            Some(baked) if !self.has_moved() => (None, Some((strength - baked.strength, ResponseKind::Baked))),
            baked => {
                let added = (!self.is_dark()).then_some((strength, ResponseKind::Current));
                (added, baked.map(|baked| (-baked.strength, ResponseKind::Baked)))
            }
        };
        let changes = added.into_iter().chain(removed.filter(|_| !self.shows_contribution()));
        let is_begun = |(_, kind)| self.response(kind).is_some_and(|response| response.steps() > 0);
        let is_known = self.is_changed() && changes.clone().all(is_begun);
        changes.filter(move |_| is_known)
    }

    /// Returns the added and removed parts, each with its strength and response.
    pub fn shown(&self) -> impl Iterator<Item = (Vec3, &LightResponse)> {
        self.changes().filter_map(|(strength, kind)| Some((strength, self.response(kind)?)))
    }

    /// Returns the next refinement stage of each added or removed part.
    pub fn unrefined(&self) -> impl Iterator<Item = (Stage, ResponseKind)> {
        let next = |(strength, kind)| Some((self.response(kind)?.refinement.next(is_added(strength))?, kind));
        self.changes().filter_map(next)
    }

    /// Returns the refined results with their strengths. None before the first solve of both parts.
    ///
    /// The patch solution has nearly the same error for a lamp at two near places. So both parts are replaced together.
    pub fn refined(&self) -> impl Iterator<Item = (Vec3, &ElementRefinement)> {
        let is_refined = self.shown().all(|(_, response)| response.refinement.is_known());
        self.shown().filter(move |_| is_refined).map(|(strength, response)| (strength, &response.refinement))
    }

    /// Chooses between its stored contribution and its response. With displaced or recolored surfaces the contribution
    /// stands in until the response is complete. Returns true when the choice is new.
    pub fn choose_contribution(&mut self, has_contributions: bool) -> bool {
        let response = &mut self.responses[ResponseKind::Baked as usize];
        response.take_if(|_| has_contributions);
        let shows = !response.as_ref().is_some_and(LightResponse::is_done);
        self.baked.as_mut().is_some_and(|baked| core::mem::replace(&mut baked.shows_contribution, shows) != shows)
    }

    /// Returns true when its light has left its contribution for a response, whole or in part.
    pub fn is_by_response(&self) -> bool {
        !self.shows_contribution() || self.changes().next().is_some()
    }

    /// Returns the change of strength of its stored contribution to show. A light that has moved keeps the change
    /// `before` until its current place has samples.
    pub fn contribution_change(&self, before: Option<Vec3>) -> Vec3 {
        let changed = self.baked_emitter().filter(|_| self.shows_contribution() && self.is_changed());
        changed.map_or(Vec3::ZERO, |baked| {
            if !self.has_moved() {
                self.current.strength - baked.strength
            } else if self.is_dark() || self.response(ResponseKind::Current).is_some() {
                -baked.strength
            } else {
                before.unwrap_or_default()
            }
        })
    }

    /// Returns the change of its direct light for pages that hold it: a factor, and the receivers. `None` before it is
    /// known, and where its stored contribution holds direct light.
    pub fn direct(&self) -> Option<(Vec3, &[Received])> {
        let baked = self.baked_emitter().filter(|_| self.is_changed() && !self.shows_contribution())?;
        let response = self.response(ResponseKind::Baked).filter(|response| response.is_done())?;
        let factor = if self.has_moved() { -baked.strength } else { self.current.strength - baked.strength };
        Some((factor, response.receivers()))
    }
}
