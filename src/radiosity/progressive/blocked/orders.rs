//! Orders of the master, and reports of ranks.

use std::borrow::Cow;

use glam::Vec3;

use super::rank::RoundCount;
use crate::cluster::{DecodeError, Decoder, Encoder};
use crate::radiosity::cpu::REFINE;
use crate::radiosity::solver_checkpoint::Shots;

/// Order to all ranks. Each answers with a [`Report`].
#[derive(Clone, Debug, PartialEq)]
pub enum Order<'a> {
    /// Divide the scene, and prepare the own subscene.
    Prepare {
        /// Visible fraction of each element.
        visible: Cow<'a, [f32]>,
        /// Initial radiosity of each element, in lm/m2.
        sources: Cow<'a, [Vec3]>,
        /// Weight of each element's power, or nothing if all weights are one.
        weights: Cow<'a, [f32]>,
    },
    /// Shoot patches in a round.
    Shoot {
        /// Power above which patches shoot, in lumens.
        threshold: f64,
        /// Number of the master's first shot.
        first: u64,
    },
    /// Add irradiance to the elements of the whole scene, in lux.
    Add(Cow<'a, [Vec3]>),
    /// Go on from the light and ray counts of all ranks.
    Restore(Cow<'a, Shots>),
}

impl Order<'_> {
    pub fn encode(&self) -> Vec<u8> {
        let kind = |kind: u32| Encoder::new().value([REFINE, kind]);
        match self {
            Self::Prepare { visible, sources, weights } => kind(0).slice(visible).slice(sources).slice(weights),
            Self::Shoot { threshold, first } => kind(1).value(*threshold).value(*first),
            Self::Add(light) => kind(2).slice(light),
            Self::Restore(light) => with_light(kind(3), light),
        }
        .finish()
    }

    pub fn decode(bytes: &[u8]) -> Result<Order<'static>, DecodeError> {
        let mut content = Decoder::new(bytes);
        let order = match content.value::<[u32; 2]>()? {
            [REFINE, 0] => Order::Prepare {
                visible: content.slice()?.into(),
                sources: content.slice()?.into(),
                weights: content.slice()?.into(),
            },
            [REFINE, 1] => Order::Shoot { threshold: content.value()?, first: content.value()? },
            [REFINE, 2] => Order::Add(content.slice()?.into()),
            [REFINE, 3] => Order::Restore(Cow::Owned(light(&mut content)?)),
            _ => return Err(DecodeError),
        };
        content.finish().map(|()| order)
    }
}

/// State of a rank after an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Polygons of the last round.
    pub count: RoundCount,
    /// Weighted unshot power of the strongest patch, in lumens. Zero if all power has been shot.
    pub strongest: f64,
    /// Weighted unshot power of all patches, in lumens.
    pub unshot_power: f64,
    /// Number of traced rays.
    pub traced: u64,
    /// Light of the rank's patches, and its ray counts.
    pub light: Shots,
}

impl Report {
    /// Encodes a report, or the reason why a rank has none.
    pub fn encode(report: &Result<Self, String>) -> Vec<u8> {
        match report {
            Ok(Self { count: RoundCount { shot, received, sent }, strongest, unshot_power, traced, light }) => {
                let encoder = Encoder::new().value(0u32).value([*shot, *received, *sent, *traced]);
                with_light(encoder.value([*strongest, *unshot_power]), light)
            }
            Err(reason) => Encoder::new().value(1u32).slice(reason.as_bytes()),
        }
        .finish()
    }

    pub fn decode(bytes: &[u8]) -> Result<Result<Self, String>, DecodeError> {
        let mut content = Decoder::new(bytes);
        let report = match content.value()? {
            0u32 => {
                let [shot, received, sent, traced] = content.value()?;
                let [strongest, unshot_power] = content.value()?;
                let light = light(&mut content)?;
                Ok(Self { count: RoundCount { shot, received, sent }, strongest, unshot_power, traced, light })
            }
            1 => Err(String::from_utf8(content.slice()?).map_err(|_| DecodeError)?),
            _ => return Err(DecodeError),
        };
        content.finish().map(|()| report)
    }
}

fn with_light(encoder: Encoder, Shots { rays, received, unshot, power, .. }: &Shots) -> Encoder {
    encoder.slice(rays).slice(received).slice(unshot).slice(power)
}

fn light(content: &mut Decoder) -> Result<Shots, DecodeError> {
    let (rays, received) = (content.slice()?, content.slice()?);
    Ok(Shots { rays, received, unshot: content.slice()?, power: content.slice()?, ..Shots::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_reports_are_read_as_they_were_written() {
        let light = Shots { rays: vec![5, 6], received: vec![Vec3::X], unshot: vec![Vec3::Y], ..Shots::default() };
        let orders = [
            Order::Shoot { threshold: 0.5, first: 7 },
            Order::Add(vec![Vec3::Z].into()),
            Order::Restore(Cow::Borrowed(&light)),
            Order::Prepare { visible: vec![1.0].into(), sources: vec![Vec3::X].into(), weights: vec![].into() },
        ];
        for order in orders {
            let bytes = order.encode();
            assert_eq!(Order::decode(&bytes), Ok(order));
            assert_eq!(Order::decode(&bytes[..bytes.len() - 1]), Err(DecodeError));
        }
        let count = RoundCount { shot: 1, received: 2, sent: 5 };
        let report = Report { count, strongest: 3.0, unshot_power: 4.0, traced: 9, light };
        for report in [Ok(report), Err("too little memory".to_owned())] {
            let bytes = Report::encode(&report);
            assert_eq!(Report::decode(&bytes), Ok(report));
            assert_eq!(Report::decode(&bytes[..bytes.len() - 1]), Err(DecodeError));
        }
    }
}
