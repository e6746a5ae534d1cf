//! Sky and sun as a user writes them.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use glam::{Quat, Vec3};

use super::pictures::{self, ColorSpace};
use crate::scene::check::STRONGEST;
use crate::scene::{EnvironmentMap, Light, LightKind, Sky, Texels, Texture, Wrap};

/// The sun's mean angular diameter seen from the earth, degrees.
const SUN_DIAMETER_DEGREES: f32 = 0.533;

/// Why a sky or sun could not be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutdoorsError {
    /// Neither a colour nor a picture.
    #[error("'{0}' is no sky: give R,G,B in cd/m2, each from 0 to 1e11, or FILE.hdr with an optional ,SCALE")]
    NoSky(String),
    /// Not a sun.
    #[error("'{0}' is no sun: give AZIMUTH,ELEVATION,LUX and perhaps ,DIAMETER, in degrees and at most 1e11 lux")]
    NoSun(String),
    /// The picture cannot be used.
    #[error("the sky {file} cannot be read ({reason}): give an equirectangular .hdr picture")]
    Unreadable {
        /// The file.
        file: String,
        /// What is wrong.
        reason: String,
    },
}

/// Where the sun stands and how bright it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Degrees clockwise from north (-Z), seen from above: 90 is east (+X).
    pub azimuth: f32,
    /// Degrees above the horizon.
    pub elevation: f32,
    /// Illuminance in lux on a surface that faces it.
    pub illuminance: f32,
    /// Degrees that its disc spans; zero for sharp shadows.
    pub diameter: f32,
}

impl Sun {
    /// The sun as a light of the scene.
    pub fn to_light(self) -> Light {
        let (sin_azimuth, cos_azimuth) = self.azimuth.to_radians().sin_cos();
        let (sin_elevation, cos_elevation) = self.elevation.to_radians().sin_cos();
        let towards = Vec3::new(sin_azimuth * cos_elevation, sin_elevation, -cos_azimuth * cos_elevation);
        let kind = LightKind::Directional {
            direction: -towards.normalize(),
            illuminance: Vec3::splat(self.illuminance),
            angular_diameter: self.diameter.to_radians(),
        };
        Light { name: "sun".to_owned(), kind }
    }
}

impl FromStr for Sun {
    type Err = OutdoorsError;

    /// Reads `AZIMUTH,ELEVATION,LUX[,DIAMETER_DEG]`.
    fn from_str(text: &str) -> Result<Self, OutdoorsError> {
        let wrong = || OutdoorsError::NoSun(text.to_owned());
        let (azimuth, elevation, illuminance, diameter) = match numbers(text).ok_or_else(wrong)?[..] {
            [azimuth, elevation, illuminance] => (azimuth, elevation, illuminance, SUN_DIAMETER_DEGREES),
            [azimuth, elevation, illuminance, diameter] => (azimuth, elevation, illuminance, diameter),
            _ => return Err(wrong()),
        };
        let is_sun = (-90.0..=90.0).contains(&elevation)
            && (0.0..=STRONGEST).contains(&illuminance)
            && (0.0..180.0).contains(&diameter);
        is_sun.then_some(Self { azimuth, elevation, illuminance, diameter }).ok_or_else(wrong)
    }
}

impl FromStr for Sky {
    type Err = OutdoorsError;

    /// Reads `R,G,B` in cd/m2 or `FILE[,SCALE]`, an equirectangular picture and the radiance of its value one.
    fn from_str(text: &str) -> Result<Self, OutdoorsError> {
        if let Some(channels) = numbers(text) {
            return match channels[..] {
                [r, g, b] if channels.iter().all(|channel| (0.0..=STRONGEST).contains(channel)) => {
                    Ok(Self::Uniform(Vec3::new(r, g, b)))
                }
                _ => Err(OutdoorsError::NoSky(text.to_owned())),
            };
        }
        let (file, scale) = match text.rsplit_once(',') {
            Some((file, scale)) => (file, scale.trim().parse().ok().filter(|scale: &f32| *scale >= 0.0)),
            None => (text, Some(1.0)),
        };
        let scale = scale.filter(|scale| scale.is_finite()).ok_or_else(|| OutdoorsError::NoSky(text.to_owned()))?;
        let unreadable = |reason: String| OutdoorsError::Unreadable { file: file.to_owned(), reason };
        let bytes = std::fs::read(Path::new(file)).map_err(|error| unreadable(error.to_string()))?;
        let picture = pictures::decode(file, &bytes, ColorSpace::Srgb, [Wrap::Repeat, Wrap::Clamp]);
        let picture = Arc::new(without_faults(picture.map_err(unreadable)?));
        Ok(Self::Map(EnvironmentMap { picture, scale, rotation: Quat::IDENTITY }))
    }
}

/// Some panoramas have a NaN or negative texel where the sun was cut out: it becomes black.
fn without_faults(mut picture: Texture) -> Texture {
    if let Texels::Float(texels) = &mut picture.texels {
        for channel in texels.iter_mut().flat_map(|texel| texel.as_mut()) {
            *channel = if channel.is_finite() { channel.max(0.0) } else { 0.0 };
        }
    }
    picture
}

/// Finite numbers between commas, `None` when something else is among them.
fn numbers(text: &str) -> Option<Vec<f32>> {
    let number = |word: &str| word.trim().parse().ok().filter(|number: &f32| number.is_finite());
    text.split(',').map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azimuth_turns_clockwise_from_north() {
        for (text, direction) in [
            ("0,0,1000", Vec3::Z),
            ("90,0,1000", Vec3::NEG_X),
            ("180, 0, 1000, 0", Vec3::NEG_Z),
            ("12,90,1000", Vec3::NEG_Y),
            ("-90,45,1000", Vec3::new(1.0, -1.0, 0.0).normalize()),
        ] {
            let light = text.parse::<Sun>().unwrap().to_light();
            let LightKind::Directional { direction: found, illuminance, .. } = light.kind else { panic!() };
            assert!((found - direction).length() < 1e-6, "{text}: {found}");
            assert_eq!(illuminance, Vec3::splat(1000.0));
        }
        assert_eq!("0,10,1,2".parse::<Sun>().unwrap().diameter, 2.0);
        assert_eq!("0,10,1".parse::<Sun>().unwrap().diameter, SUN_DIAMETER_DEGREES);
    }

    #[test]
    fn what_is_no_sun_or_sky_says_what_is_expected() {
        for text in ["", "1,2", "0,100,5", "0,1,-5", "0,1,nan", "a,b,c", "1,2,3,4,5"] {
            assert!(text.parse::<Sun>().unwrap_err().to_string().contains("AZIMUTH"), "{text}");
        }
        for text in ["1,2", "1,2,-3", "1,2,3,4", "sky.hdr,-1", "sky.hdr,x"] {
            assert!(text.parse::<Sky>().unwrap_err().to_string().contains("R,G,B"), "{text}");
        }
        assert!("lost.hdr".parse::<Sky>().unwrap_err().to_string().contains("lost.hdr"));
    }

    #[test]
    fn a_sky_is_a_colour_or_a_picture_with_a_scale() {
        assert_eq!("1, 2,3".parse(), Ok(Sky::Uniform(Vec3::new(1.0, 2.0, 3.0))));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("sky.png");
        image::RgbImage::from_pixel(4, 2, image::Rgb([255, 0, 255])).save(&file).unwrap();
        let sky: Sky = format!("{},250", file.display()).parse().unwrap();
        assert!((sky.radiance(Vec3::Y) - Vec3::new(250.0, 0.0, 250.0)).length() < 1e-3);
    }
}
