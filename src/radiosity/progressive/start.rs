//! What shots begin with, whether all patches shoot at once or subscene by subscene.

use glam::Vec3;

use super::Place;
use super::bare::{Pieces, pieces};
use super::patches::Patch;
use super::receivers::{ElementReceivers, Receiver, ReceiverId, Response};
use super::refinement::{Brightness, State};

/// All patches before any shot.
pub struct Start {
    /// Those of elements, then those of surfaces without texels.
    pub patches: Vec<Patch>,
    /// How each receiver responds, by its number.
    pub responses: Vec<Response>,
    /// Light of each patch.
    pub states: Vec<State>,
    /// How bright the scene is.
    pub brightness: Brightness,
    /// The receivers of surfaces without texels, whose numbers come after those of all elements.
    pub bare: Vec<Receiver>,
}

impl Start {
    /// Joins patches of elements with those of surfaces without texels; `sources` is what elements send out of themselves,
    /// lm/m2.
    pub fn new(place: Place, of_elements: &ElementReceivers, mut patches: Vec<Patch>, sources: &[Vec3]) -> Self {
        let Pieces { patches: bare_patches, receivers: bare, responses: bare_responses } = pieces(place);
        patches.extend(bare_patches);
        let mut responses = of_elements.responses();
        responses.extend(bare_responses);
        let source = |id: &ReceiverId| sources.get(id.index()).copied().unwrap_or(Vec3::ZERO);
        let states: Vec<State> = patches.iter().map(|patch| State::new(patch, &responses, source)).collect();
        let brightness = Brightness::of(&patches, &responses, &states);
        Self { patches, responses, states, brightness, bare }
    }
}
