//! Initial state of progressive refinement, for the whole scene or for subscenes.

use glam::Vec3;

use super::Place;
use super::patches::Patch;
use super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::refinement::{Brightness, State};
use super::unmapped::{Pieces, pieces};

/// All patches before any shot.
pub struct Start {
    /// Patches of elements, followed by those of unmapped surfaces.
    pub patches: Vec<Patch>,
    /// Response of each receiver, by index.
    pub responses: Vec<Response>,
    /// Light of each patch.
    pub states: Vec<State>,
    /// Brightness of the scene.
    pub brightness: Brightness,
    /// Receivers of unmapped surfaces, with indices after those of all elements.
    pub unmapped: Vec<Receiver>,
}

impl Start {
    /// Joins patches of elements with those of unmapped surfaces. `sources` is the initial radiosity of elements, in
    /// lm/m2.
    pub fn new(place: Place, of_elements: &ElementReceivers, mut patches: Vec<Patch>, sources: &[Vec3]) -> Self {
        let Pieces { patches: unmapped_patches, receivers: unmapped, responses: unmapped_responses } = pieces(place);
        patches.extend(unmapped_patches);
        let mut responses = of_elements.responses();
        responses.extend(unmapped_responses);
        let source = |id: &ReceiverId| sources.get(id.index()).copied().unwrap_or(Vec3::ZERO);
        let states: Vec<State> = patches.iter().map(|patch| State::new(patch, &responses, source)).collect();
        let brightness = Brightness::of(&patches, &responses, &states);
        Self { patches, responses, states, brightness, unmapped }
    }
}
