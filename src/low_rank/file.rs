//! Serialization of precomputed transport, stored beside its level.
//!
//! ```text
//! magic  hash of the baked level  elements  patches       56 bytes
//! patches: order, offsets, shares    weights
//! receivers: texels, centers, geometric normals, shading normals, visible fractions
//! hits: number of step bytes and of tinted rays, row offsets, scales, reflectances, steps, tinted rays
//! U, then K of each channel: number of tiles, tile offsets, tile numbers, values, scales
//! contributions: number of lights, 1 if there is a rest; for each light its number, errors and irradiances; the rest
//! ```
//!
//! All values are little-endian, and arrays have their layout in memory, so reading is a copy.

use core::mem::size_of;
use std::sync::Arc;

use glam::Vec3;

use super::{
    BakedLightId, Contributions, LANES, LightContribution, LowRank, Packed, PackedParts, Patches, Receivers,
    StoredTransport,
};
use bytemuck::{AnyBitPattern, NoUninit, cast_slice, pod_collect_to_vec};

/// File signature. It changes whenever bytes change their meaning.
const MAGIC: &[u8; 8] = b"RADLIVE4";

/// Error of bytes that are not valid precomputed transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrecomputedError {
    /// Truncated or inconsistent bytes.
    #[error("it is cut short or damaged: bake again with --relight")]
    Damaged,
    /// Different signature.
    #[error("it is of another version of this program: bake again with --relight")]
    Format,
    /// Data of another level.
    #[error("the level has changed since its transport was precomputed: bake again with --relight")]
    Stale,
}

/// Precomputed data for relighting a static level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Precomputed {
    /// Transport between elements and patches.
    pub transport: LowRank,
    /// Position and texel of each element, in the order of the patches.
    pub receivers: Receivers,
    /// Stored hits of the elements' gather rays, in the order of the patches.
    pub hits: StoredTransport,
    /// Contributions of baked lights, in the order of the patches.
    pub contributions: Contributions,
}

impl Precomputed {
    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        self.transport.bytes() + self.receivers.bytes() + self.hits.bytes() + self.contributions.bytes()
    }

    /// Sets the reflectances of the elements, in their own order; see [`LowRank::set_reflectance`]. Contributions of
    /// lights are dropped.
    pub fn set_reflectance(&mut self, reflectance: &[Vec3]) {
        self.transport.set_reflectance(reflectance);
        self.hits.set_reflectance(&self.transport.patches.order, reflectance);
        self.contributions = Contributions::default();
    }

    /// Serializes all data. `content` identifies the baked level.
    pub fn to_bytes(&self, content: [u8; 32]) -> Vec<u8> {
        let LowRank { patches, weights, views, bounces } = &self.transport;
        let Receivers { texel, center, geometric_normal, shading_normal, visible } = &self.receivers;
        let mut bytes = Vec::with_capacity(self.bytes() + 256);
        bytes.extend(MAGIC);
        bytes.extend(content);
        push(&mut bytes, &[patches.order.len() as u64, patches.len() as u64]);
        push(&mut bytes, &patches.order);
        push(&mut bytes, &patches.offsets);
        push(&mut bytes, &patches.shares);
        push(&mut bytes, weights);
        push(&mut bytes, texel);
        [center, geometric_normal, shading_normal].iter().for_each(|vectors| push(&mut bytes, vectors));
        push(&mut bytes, visible);
        let StoredTransport { offsets, steps, scales, tinted, reflectance } = &self.hits;
        push(&mut bytes, &[steps.len() as u64, tinted.len() as u64]);
        push(&mut bytes, offsets);
        push(&mut bytes, scales);
        push(&mut bytes, reflectance);
        push(&mut bytes, steps);
        push(&mut bytes, tinted);
        for matrix in core::iter::once(views).chain(bounces) {
            let PackedParts { tile_offsets, tiles, values, scales } = matrix.parts();
            push(&mut bytes, &[tiles.len() as u64]);
            push(&mut bytes, tile_offsets);
            push(&mut bytes, tiles);
            push(&mut bytes, values);
            push(&mut bytes, scales);
        }
        let Contributions { lights, rest } = &self.contributions;
        push(&mut bytes, &[lights.len() as u64, u64::from(!rest.is_empty())]);
        for LightContribution { light, irradiance, error, mean_error } in lights {
            push(&mut bytes, &[light.0]);
            push(&mut bytes, &[*error, *mean_error]);
            push(&mut bytes, irradiance);
        }
        push(&mut bytes, rest);
        bytes
    }

    /// Reads serialized data.
    ///
    /// # Errors
    /// Returns an error if the bytes belong to another version or another `content`, or if they are damaged.
    pub fn from_bytes(bytes: &[u8], content: [u8; 32]) -> Result<Self, PrecomputedError> {
        let mut rest = bytes;
        if take(&mut rest, MAGIC.len())? != MAGIC {
            return Err(PrecomputedError::Format);
        }
        if take(&mut rest, content.len())? != content {
            return Err(PrecomputedError::Stale);
        }
        let [elements, count] = counts(&mut rest)?;
        let patches = Patches {
            order: array(&mut rest, elements)?,
            offsets: array(&mut rest, count.saturating_add(1))?,
            shares: array(&mut rest, elements)?,
        };
        let weights = array(&mut rest, elements)?;
        let receivers = Receivers {
            texel: array(&mut rest, elements)?,
            center: array(&mut rest, elements)?,
            geometric_normal: array(&mut rest, elements)?,
            shading_normal: array(&mut rest, elements)?,
            visible: array(&mut rest, elements)?,
        };
        let [steps, tinted] = counts(&mut rest)?;
        let hits = StoredTransport {
            offsets: array(&mut rest, elements.saturating_add(1))?,
            scales: array(&mut rest, elements)?,
            reflectance: array(&mut rest, elements)?,
            steps: Arc::new(array(&mut rest, steps)?),
            tinted: array(&mut rest, tinted)?,
        };
        let views = matrix(&mut rest, [elements, count])?;
        let mut bounces = [Packed::default(), Packed::default(), Packed::default()];
        for bounces in &mut bounces {
            *bounces = matrix(&mut rest, [count, count])?;
        }
        let contributions = contributions(&mut rest, elements)?;
        if !patches.are_whole() || !hits.is_whole() || !contributions.is_whole(elements) || !rest.is_empty() {
            return Err(PrecomputedError::Damaged);
        }
        let read = Self { transport: LowRank { patches, weights, views, bounces }, receivers, hits, contributions };
        if read.is_finite() { Ok(read) } else { Err(PrecomputedError::Damaged) }
    }

    /// Returns false if a value is NaN or infinite, because it would spread to all light.
    fn is_finite(&self) -> bool {
        let Self { transport: LowRank { patches, weights, .. }, receivers, hits, .. } = self;
        let Receivers { center, geometric_normal, shading_normal, visible, .. } = receivers;
        let numbers = [&patches.shares, visible, &hits.scales].into_iter().flatten();
        let vectors = [weights, center, geometric_normal, shading_normal, &hits.reflectance].into_iter().flatten();
        let tints = hits.tinted.iter().map(|hit| &hit.tint);
        numbers.copied().all(f32::is_finite) && vectors.chain(tints).all(|vector| vector.is_finite())
    }
}

fn matrix(rest: &mut &[u8], size: [usize; 2]) -> Result<Packed, PrecomputedError> {
    let tiles = array::<u64>(rest, 1)?.first().map_or(0, |&tiles| tiles as usize);
    let blocks = size[0].div_ceil(Packed::BLOCK);
    let tile_offsets = array(rest, blocks + 1)?;
    let numbers = array(rest, tiles)?;
    let values: Vec<[u16; LANES]> = array(rest, tiles.saturating_mul(Packed::BLOCK))?;
    let scales = array(rest, size[0])?;
    Packed::from_parts(size, tile_offsets, numbers, values, scales).ok_or(PrecomputedError::Damaged)
}

fn contributions(rest: &mut &[u8], elements: usize) -> Result<Contributions, PrecomputedError> {
    let [count, has_rest] = counts(rest)?;
    let mut lights = Vec::new();
    for _ in 0..count {
        let light = array(rest, 1)?.first().copied().map(BakedLightId).ok_or(PrecomputedError::Damaged)?;
        let [error, mean_error] =
            <[f32; 2]>::try_from(array::<f32>(rest, 2)?).map_err(|_| PrecomputedError::Damaged)?;
        lights.push(LightContribution { light, irradiance: array(rest, elements)?, error, mean_error });
    }
    match has_rest {
        0 => Ok(Contributions { lights, rest: Vec::new() }),
        1 => Ok(Contributions { lights, rest: array(rest, elements)? }),
        _ => Err(PrecomputedError::Damaged),
    }
}

fn counts(rest: &mut &[u8]) -> Result<[usize; 2], PrecomputedError> {
    let counts = <[u64; 2]>::try_from(array::<u64>(rest, 2)?).unwrap_or_default();
    Ok(counts.map(|count| usize::try_from(count).unwrap_or(usize::MAX)))
}

fn push<T: NoUninit>(bytes: &mut Vec<u8>, values: &[T]) {
    bytes.extend_from_slice(cast_slice(values));
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Result<&'a [u8], PrecomputedError> {
    rest.split_off(..count).ok_or(PrecomputedError::Damaged)
}

/// Reads an array of `count` values. A damaged count allocates no memory.
fn array<T: NoUninit + AnyBitPattern>(rest: &mut &[u8], count: usize) -> Result<Vec<T>, PrecomputedError> {
    Ok(pod_collect_to_vec(take(rest, count.saturating_mul(size_of::<T>()))?))
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::low_rank::{Rows, Smoothing};
    use crate::radiosity::StoredHits;
    use crate::radiosity::TintedHit;
    use crate::radiosity::test_scene::{TestScene, gray};

    const CONTENT: [u8; 32] = [7; 32];

    fn small() -> Precomputed {
        let mut test = TestScene::default();
        test.room(Vec3::ONE, 6, |_| gray(0.5));
        let elements = test.elements();
        let visible = vec![1.0; elements.len()];
        let patches = Patches::uniform(&elements, &visible, 24);
        let rows = Rows::of_form_factors(&patches, |_, to| (to % 5) as f32 / 500.0);
        let transport = LowRank::new(patches, &elements.reflectance, &rows, 0.0);
        let receivers = Receivers::new(&elements, &visible, &transport.patches);
        let hits: Vec<u32> = elements.ids().flat_map(|id| [(id.0 * 7) % 216, (id.0 * 11) % 216]).collect();
        let tinted = vec![TintedHit { element: 3, hit: 5, tint: Vec3::X }];
        let stored = StoredHits { offsets: (0..=216).map(|row| 2 * row).collect(), hits, tinted };
        let hits = StoredTransport::new(&transport.patches.order, &elements.reflectance, [&stored]);
        let lit = |light, lux| LightContribution {
            light: BakedLightId(light),
            irradiance: vec![Vec3::splat(lux); 216],
            error: 0.1,
            mean_error: 0.1,
        };
        let contributions = Contributions { lights: vec![lit(0, 1.0), lit(3, 2.0)], rest: vec![Vec3::Y; 216] };
        Precomputed { transport, receivers, hits, contributions }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let precomputed = small();
        let bytes = precomputed.to_bytes(CONTENT);
        assert_eq!(Precomputed::from_bytes(&bytes, CONTENT), Ok(precomputed));
    }

    #[test]
    fn a_level_that_has_changed_is_noticed() {
        let bytes = small().to_bytes(CONTENT);
        assert_eq!(Precomputed::from_bytes(&bytes, [8; 32]), Err(PrecomputedError::Stale));
    }

    #[test]
    fn wherever_a_file_ends_too_soon_that_is_said() {
        let bytes = small().to_bytes(CONTENT);
        for length in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
            assert_eq!(Precomputed::from_bytes(&bytes[..length], CONTENT), Err(PrecomputedError::Damaged), "{length}");
        }
        let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
        assert_eq!(Precomputed::from_bytes(&longer, CONTENT), Err(PrecomputedError::Damaged));
        assert_eq!(Precomputed::from_bytes(&[0; 100], CONTENT), Err(PrecomputedError::Format));
    }

    #[test]
    fn numbers_that_are_none_are_damage() {
        let mut sound = small();
        sound.hits.scales[4] = f32::NAN;
        assert_eq!(Precomputed::from_bytes(&sound.to_bytes(CONTENT), CONTENT), Err(PrecomputedError::Damaged));
        let mut sound = small();
        sound.contributions.lights[1].irradiance[5].x = -1.0;
        assert_eq!(Precomputed::from_bytes(&sound.to_bytes(CONTENT), CONTENT), Err(PrecomputedError::Damaged));
        let mut sound = small();
        sound.receivers.center[4].y = f32::INFINITY;
        assert_eq!(Precomputed::from_bytes(&sound.to_bytes(CONTENT), CONTENT), Err(PrecomputedError::Damaged));
    }

    #[test]
    fn damaged_numbers_end_in_a_sentence_or_in_other_light() {
        let bytes = small().to_bytes(CONTENT);
        for place in (40..bytes.len()).step_by(61) {
            let mut damaged = bytes.clone();
            damaged[place] = 0xff;
            if let Ok(read) = Precomputed::from_bytes(&damaged, CONTENT) {
                let mut indirect = vec![Vec3::ZERO; read.transport.elements()];
                read.transport.relight(&vec![Vec3::ONE; indirect.len()], &mut indirect);
                read.hits.sweep(&vec![Vec3::ONE; indirect.len()], &mut indirect);
                Smoothing::new(&read).smooth(&indirect.clone(), &mut indirect);
            }
        }
    }
}
