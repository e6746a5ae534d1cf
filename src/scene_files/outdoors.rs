//! Sky and sun, parsed from a user's text.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use glam::Vec3;

use super::budget::Budget;
use super::images::{self, ColorSpace};
use crate::geometry::rotation_y;
use crate::input;
use crate::scene::check::STRONGEST;
use crate::scene::{EnvironmentMap, Light, LightKind, Sky, Texels, Texture, Wrap};

/// Mean angular diameter of the sun, seen from the earth, degrees.
const SUN_DIAMETER_DEGREES: f32 = 0.533;

/// Error of a sky or sun that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OutdoorsError {
    /// The text is neither a color nor a picture.
    #[error(
        "'{0}' is no sky: give R,G,B in cd/m2, each from 0 to 1e11, or FILE.hdr or FILE.exr, perhaps with ,STRENGTH (cd/m2 of the value one) and ,DEGREES (a turn)"
    )]
    NoSky(String),
    /// The text is not a sun.
    #[error("'{0}' is no sun: give AZIMUTH,ELEVATION,LUX and perhaps ,DIAMETER, in degrees and at most 1e11 lux")]
    NoSun(String),
    /// The sky's picture cannot be used.
    #[error("the sky {file} cannot be read ({reason}): give an equirectangular .hdr or .exr picture")]
    Unreadable {
        /// Name of the file.
        file: String,
        /// Description of the fault.
        reason: String,
    },
}

/// Direction, illuminance and size of the sun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sun {
    /// Azimuth in degrees clockwise from north (-Z), seen from above: 90 is east (+X).
    pub azimuth: f32,
    /// Elevation in degrees above the horizon.
    pub elevation: f32,
    /// Illuminance of a surface that faces the sun, lux.
    pub illuminance: f32,
    /// Angular diameter in degrees; zero for sharp shadows.
    pub diameter: f32,
}

impl Sun {
    /// Returns the sun as a light of the scene.
    pub fn to_light(self) -> Light {
        let (sin_azimuth, cos_azimuth) = libm::sincosf(self.azimuth.to_radians());
        let (sin_elevation, cos_elevation) = libm::sincosf(self.elevation.to_radians());
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

    /// Parses `AZIMUTH,ELEVATION,LUX[,DIAMETER_DEG]`.
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

    /// Parses a sky, without a limit of memory.
    fn from_str(text: &str) -> Result<Self, OutdoorsError> {
        Self::read(text, None)
    }
}

impl Sky {
    /// Parses `R,G,B` in cd/m2, or `FILE[,STRENGTH[,DEGREES]]` for an equirectangular picture.
    ///
    /// STRENGTH is the radiance of the picture's value one, in cd/m2. DEGREES turns the picture clockwise, seen from
    /// above, as a [`Sun`]'s azimuth is counted. At zero degrees the picture's middle is in the east (+X). The picture
    /// may take up to `memory_mib` MiB; `None` is unlimited.
    ///
    /// # Errors
    /// When the text is not a sky, or its picture cannot be read or takes more memory.
    pub fn read(text: &str, memory_mib: Option<u32>) -> Result<Self, OutdoorsError> {
        if let Some(channels) = numbers(text) {
            return match channels[..] {
                [r, g, b] if channels.iter().all(|channel| (0.0..=STRONGEST).contains(channel)) => {
                    Ok(Self::Uniform(Vec3::new(r, g, b)))
                }
                _ => Err(OutdoorsError::NoSky(text.to_owned())),
            };
        }
        let no_sky = || OutdoorsError::NoSky(text.to_owned());
        let (file, scale, degrees) = file_and_numbers(text).ok_or_else(no_sky)?;
        let unreadable = |reason: String| OutdoorsError::Unreadable { file: file.to_owned(), reason };
        let budget = Budget::new(memory_mib);
        let what = || format!("'{file}'");
        let (bytes, _loan) =
            budget.read(Path::new(file), input::LARGEST_IMAGE, what).map_err(|error| unreadable(error.to_string()))?;
        let image = images::decode_within(&budget, file, &bytes, ColorSpace::Srgb, [Wrap::Repeat, Wrap::Clamp]);
        let image = Arc::new(without_faults(image.map_err(unreadable)?));
        Ok(Self::Map(EnvironmentMap { texture: image, scale, rotation: rotation_y(-degrees.to_radians()) }))
    }
}

/// Splits a file, its strength, and its turn in degrees. Commas in the file's name are allowed if the file exists.
fn file_and_numbers(text: &str) -> Option<(&str, f32, f32)> {
    if Path::new(text).is_file() || !text.contains(',') {
        return Some((text, 1.0, 0.0));
    }
    let number = |word: &str| word.trim().parse().ok().filter(|number: &f32| number.is_finite());
    let (before, last) = text.rsplit_once(',')?;
    let last = number(last)?;
    let (file, scale, degrees) = match before.rsplit_once(',').and_then(|(file, word)| Some((file, number(word)?))) {
        Some((file, scale)) => (file, scale, last),
        None => (before, last, 0.0),
    };
    (scale >= 0.0).then_some((file, scale, degrees))
}

/// Replaces NaN and negative values by zero. Some panoramas have them where the sun was cut out.
fn without_faults(mut image: Texture) -> Texture {
    if let Texels::Float(texels) = &mut image.texels {
        for channel in texels.iter_mut().flat_map(|texel| texel.as_mut()) {
            *channel = if channel.is_finite() { channel.max(0.0) } else { 0.0 };
        }
    }
    image
}

/// Parses finite numbers between commas. `None` if anything else is among them.
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
        for text in ["1,2", "1,2,-3", "1,2,3,4", "sky.hdr,-1", "sky.hdr,x", "sky.hdr,1,x", "sky.hdr,-1,90"] {
            assert!(text.parse::<Sky>().unwrap_err().to_string().contains("R,G,B"), "{text}");
        }
        assert!("lost.hdr".parse::<Sky>().unwrap_err().to_string().contains("lost.hdr"));
    }

    #[test]
    fn a_sky_is_a_color_or_a_picture_with_a_scale() {
        assert_eq!("1, 2,3".parse(), Ok(Sky::Uniform(Vec3::new(1.0, 2.0, 3.0))));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("sky.png");
        image::RgbImage::from_pixel(4, 2, image::Rgb([255, 0, 255])).save(&file).unwrap();
        let sky: Sky = format!("{},250", file.display()).parse().unwrap();
        assert!((sky.radiance(Vec3::Y) - Vec3::new(250.0, 0.0, 250.0)).length() < 1e-3);
    }

    #[test]
    fn the_middle_of_a_sky_picture_is_in_the_east_and_turns_as_the_sun_does() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("bright, in the middle.exr");
        let bright = |x, _| image::Rgb(if (3..5).contains(&x) { [20.0, 10.0, 5.0] } else { [0.0; 3] });
        image::Rgb32FImage::from_fn(8, 4, bright).save(&file).unwrap();
        for (numbers, azimuth, strength) in [("", 90, 1.0), (",2", 90, 2.0), (",3,90", 180, 3.0), (",1,-90", 0, 1.0)] {
            let sky: Sky = format!("{}{numbers}", file.display()).parse().unwrap();
            let LightKind::Directional { direction, .. } =
                format!("{azimuth},0,1").parse::<Sun>().unwrap().to_light().kind
            else {
                panic!()
            };
            let expected = Vec3::new(20.0, 10.0, 5.0) * strength;
            assert!((sky.radiance(-direction) - expected).length() < 1e-3, "{numbers}");
            assert_eq!(sky.radiance(direction), Vec3::ZERO, "{numbers}");
        }
    }
}
