//! Output of pictures: format, exposure and tonemapping.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::Failure;
use crate::accel::TraversalCost;
use crate::output::write_atomic;
use crate::pathtrace::{Exposure, Film, Tonemapping};

#[derive(Clone, Debug, clap::Args)]
pub struct PictureArguments {
    /// Exposure of a .png (EV100), or auto: as metered
    #[arg(long, value_name = "auto|N", default_value = "auto", allow_hyphen_values = true)]
    ev: Ev,
    /// Tonemapping of a .png, as Bevy's of that name
    #[arg(long, value_enum, default_value_t)]
    tonemapping: Tone,
}

impl PictureArguments {
    /// Returns true if the user has given none of them.
    pub fn are_default(&self) -> bool {
        self.ev == Ev(None) && self.tonemapping == Tone::default()
    }

    /// Returns the writer of a picture.
    pub fn writer(&self, path: &Path) -> Result<PictureWriter, Failure> {
        let (format, tonemapping) = (Format::of(path)?, self.tonemapping.tonemapping()?);
        Ok(PictureWriter { path: path.into(), format, ev: self.ev, tonemapping })
    }
}

/// Writer of one picture.
pub struct PictureWriter {
    path: PathBuf,
    format: Format,
    ev: Ev,
    tonemapping: Tonemapping,
}

impl PictureWriter {
    /// Returns the bytes of a pixel on film, in channels to be written, and in the file.
    pub fn bytes_per_pixel(&self) -> u64 {
        match self.format {
            Format::Png => 70,
            Format::Exr => 170,
        }
    }

    /// Writes the picture, with more `channels` if it is .exr. `meter` returns the exposure where none is given. Returns
    /// the exposure (EV100).
    pub fn write(
        &self,
        film: &Film,
        channels: impl FnOnce() -> [(&'static str, Vec<u32>); 2],
        meter: impl FnOnce() -> f32,
    ) -> Result<f32, Failure> {
        let ev100 = self.ev.0.unwrap_or_else(meter);
        let bytes = match self.format {
            Format::Png => film.to_png(Exposure { ev100 }, self.tonemapping)?,
            Format::Exr => film.to_exr(channels())?,
        };
        write_atomic(&self.path, &bytes)?;
        Ok(ev100)
    }
}

/// Returns traversal costs as channels of an image.
pub fn cost_channels(costs: &[TraversalCost]) -> [(&'static str, Vec<u32>); 2] {
    let channel = |of: fn(&TraversalCost) -> u32| costs.iter().map(of).collect();
    [("cost.nodes", channel(|cost| cost.nodes)), ("cost.triangles", channel(|cost| cost.triangles))]
}

#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
enum Tone {
    /// Values above white are clipped
    None,
    /// x / (1 + x) of each channel
    Reinhard,
    /// x / (1 + x) of luminance: colors stay
    ReinhardLuminance,
    /// High contrast, with hue shifts
    #[default]
    AcesFitted,
    /// Soft, with bright colors desaturated as on film
    #[value(name = "agx")]
    AgX,
    /// Between Reinhard's two
    SomewhatBoringDisplayTransform,
    /// Bevy's default: keeps perceived hues, adds no contrast
    TonyMcMapface,
    /// For product shots: keeps base colors under gray light
    KhronosPbrNeutral,
    #[value(hide = true)]
    BlenderFilmic,
}

impl Tone {
    fn tonemapping(self) -> Result<Tonemapping, Failure> {
        Ok(match self {
            Self::None => Tonemapping::None,
            Self::Reinhard => Tonemapping::Reinhard,
            Self::ReinhardLuminance => Tonemapping::ReinhardLuminance,
            Self::AcesFitted => Tonemapping::AcesFitted,
            Self::AgX => Tonemapping::AgX,
            Self::SomewhatBoringDisplayTransform => Tonemapping::SomewhatBoringDisplayTransform,
            Self::TonyMcMapface => Tonemapping::TonyMcMapface,
            Self::KhronosPbrNeutral => Tonemapping::KhronosPbrNeutral,
            Self::BlenderFilmic => {
                let reason = "blender-filmic needs a table that nothing says may be passed on";
                return Err(format!("{reason}: choose agx, which is by the same author").into());
            }
        })
    }
}

/// Exposure (EV100); `None` to meter it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ev(Option<f32>);

impl FromStr for Ev {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self(None));
        }
        let number = text.parse().ok().filter(|number: &f32| number.is_finite());
        number.map(|number| Self(Some(number))).ok_or_else(|| "give a number or auto".to_owned())
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Png,
    Exr,
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        match extension.as_deref() {
            Some("png") => Ok(Self::Png),
            Some("exr") => Ok(Self::Exr),
            _ => Err(format!("{} is no picture that can be written: call it .png or .exr", path.display()).into()),
        }
    }
}
