//! Encoding of messages between ranks: a copy of the shot patch, its light, and its mask on a border.

use std::sync::Arc;

use glam::Vec3;

use super::super::groups::Groups;
use super::super::patches::{Facet, Part, Patch};
use super::super::shooter::Target;
use super::message::{Flash, Message, Shape};
use crate::cluster::{DecodeError, Decoder, Encoder};
use crate::geometry::Aabb;
use crate::partition::masks::{InMask, Mask, MaskSource, Viewpoint};
use crate::partition::{BorderId, CellId};

impl Message {
    /// Encodes the message for the rank that it goes to.
    pub fn encode(&self, encoder: Encoder) -> Encoder {
        let Flash { number, patch, shape, parts, groups, weight } = &*self.flash;
        let [min, max] = [shape.bounds.min, shape.bounds.max];
        let encoder = encoder.value(*number).value(*patch as u64).value(*weight).slice(groups);
        let encoder = encoder.value(shape.glow).value(shape.patch.visible_area).value([min, max, shape.source.place()]);
        let viewpoints: Vec<[Vec3; 2]> = shape.targets.iter().map(|target| [target.position, target.normal]).collect();
        let encoder = facets(encoder.slice(&viewpoints).slice(shape.patch.groups.counts()), &shape.patch.facets);
        let encoder = encoder.value(parts.len() as u64);
        let encoder = parts.iter().fold(encoder, |encoder, part| facets(encoder, &part.facets));
        encoder.value(self.mask.border.0).slice(self.mask.mask.words())
    }

    /// Decodes a message that has come to a subscene.
    pub fn decode(to: CellId, mut content: Decoder) -> Result<Self, DecodeError> {
        let (number, patch, weight) = (content.value()?, content.value::<u64>()? as usize, content.value()?);
        let groups = content.slice()?;
        let (glow, visible_area) = (content.value()?, content.value()?);
        let [min, max, place] = content.value::<[Vec3; 3]>()?;
        let viewpoints: Vec<[Vec3; 2]> = content.slice()?;
        let target = |(viewpoint, &[position, normal]): (usize, &[Vec3; 2])| Target { position, normal, viewpoint };
        let targets = viewpoints.iter().enumerate().map(target).collect();
        let viewpoints = viewpoints.iter().map(|&[position, normal]| Viewpoint { position, normal }).collect();
        let halves = Groups::from_counts(content.slice()?);
        let shines = Patch::new(Vec::new(), halves, read_facets(&mut content)?, visible_area).ok_or(DecodeError)?;
        let source = MaskSource::new(place, viewpoints);
        let shape = Arc::new(Shape { patch: shines, glow, bounds: Aabb { min, max }, source, targets });
        let count: u64 = content.value()?;
        let parts = (0..count).map(|_| Ok(Part::new(read_facets(&mut content)?))).collect::<Result<_, _>>()?;
        let border = BorderId(content.value()?);
        let mask = InMask { border, mask: Arc::new(Mask::from_words(content.slice()?)) };
        content.finish()?;
        Ok(Self { to, flash: Arc::new(Flash { number, patch, shape, parts, groups, weight }), mask })
    }
}

fn facets(encoder: Encoder, facets: &[Facet]) -> Encoder {
    let encoder = encoder.value(facets.len() as u64);
    facets
        .iter()
        .fold(encoder, |encoder, Facet { corners, normal, area }| encoder.slice(corners).value(*normal).value(*area))
}

fn read_facets(content: &mut Decoder) -> Result<Vec<Facet>, DecodeError> {
    let count: u64 = content.value()?;
    let facet = |_| Ok(Facet { corners: content.slice()?, normal: content.value()?, area: content.value()? });
    (0..count).map(facet).collect()
}
