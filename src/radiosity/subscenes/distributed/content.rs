//! Content of the messages of a bounce.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use crate::cluster::{DecodeError, Decoder, Encoder, IdleReport};
use crate::geometry::Ray;

/// Ray on its way to another subscene: 36 bytes (`000` equation 4.12).
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct RayMessage {
    origin: [f32; 3],
    direction: [f32; 3],
    /// One in the channel of the ray, and zero in the others.
    rgb: [f32; 3],
}

impl RayMessage {
    pub fn new(ray: &Ray, channel: usize) -> Self {
        Self { origin: ray.origin.to_array(), direction: ray.direction.to_array(), rgb: Vec3::AXES[channel].to_array() }
    }

    pub fn ray(&self) -> Ray {
        Ray::new(Vec3::from_array(self.origin), Vec3::from_array(self.direction))
    }

    /// Returns the channel of the ray.
    pub fn channel(&self) -> Result<usize, DecodeError> {
        self.rgb.iter().position(|&share| share == 1.0).ok_or(DecodeError)
    }
}

/// Message of a bounce. All but reports are packets, which ranks count.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    /// Rays that enter the receiver's subscene.
    Rays(Vec<RayMessage>),
    /// Hits of the receiver's elements outside its subscene: three times the index of the element, plus the channel.
    Arrivals(Vec<u32>),
    Report(IdleReport),
}

impl Content {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Rays(rays) => Encoder::new().value(0u32).slice(rays),
            Self::Arrivals(numbers) => Encoder::new().value(1u32).slice(numbers),
            Self::Report(report) => Encoder::new().value(2u32).value(*report),
        }
        .finish()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut content = Decoder::new(bytes);
        let decoded = match content.value()? {
            0u32 => Self::Rays(content.slice()?),
            1 => Self::Arrivals(content.slice()?),
            2 => Self::Report(content.value()?),
            _ => return Err(DecodeError),
        };
        content.finish().map(|()| decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_has_36_bytes_and_messages_are_read_as_they_were_written() {
        assert_eq!(size_of::<RayMessage>(), 36);
        let ray = Ray::new(Vec3::new(1.0, 2.0, 3.0), Vec3::new(0.0, 0.6, 0.8));
        for channel in 0..3 {
            let message = RayMessage::new(&ray, channel);
            assert_eq!((message.ray(), message.channel()), (ray, Ok(channel)));
            for content in [
                Content::Rays(vec![message; 3]),
                Content::Arrivals(vec![7, 8]),
                Content::Report(IdleReport { sent: 1, received: 2, total_sent: 3, total_received: 4 }),
            ] {
                let bytes = content.encode();
                assert_eq!(Content::decode(&bytes), Ok(content));
                assert_eq!(Content::decode(&bytes[1..]), Err(DecodeError));
            }
        }
    }
}
