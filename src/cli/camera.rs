//! Camera of `render` and `view`.

use glam::Vec3;

use super::Failure;
use super::arguments::Opened;
use crate::accel::{Preset, World};
use crate::pathtrace::{DEFAULT_FOV, default_eye};
use crate::scene::{Camera, Projection};

/// Camera of the scene's file, or one given by arguments.
#[derive(clap::Args)]
pub struct CameraArguments {
    /// Camera of the file [default: its first]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["eye", "target"])]
    camera: Option<String>,
    /// Position of the camera
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    eye: Option<String>,
    /// Point that the camera looks at
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    target: Option<String>,
    /// Vertical field of view, degrees
    #[arg(long, value_name = "DEG")]
    fov: Option<f32>,
}

impl CameraArguments {
    /// Returns the requested camera. If the file has none, the default camera stands inside a room and looks at its
    /// center. Other scenes are framed from outside.
    pub fn camera(&self, opened: &Opened) -> Result<Camera, Failure> {
        let base = self.base(opened)?;
        let projection = match self.fov {
            Some(degrees) if degrees > 0.0 && degrees < 180.0 => {
                Projection::Perspective { vertical_fov: degrees.to_radians() }
            }
            Some(degrees) => return Err(format!("--fov {degrees} is no angle between 0 and 180 degrees").into()),
            None => base.map_or(Projection::Perspective { vertical_fov: DEFAULT_FOV }, |camera| camera.projection),
        };
        if let (Some(camera), None, None) = (base, &self.eye, &self.target) {
            return Ok(Camera { projection, ..camera.clone() });
        }
        let bounds = opened.scene.bounds();
        let middle = (bounds.min + bounds.max) * 0.5;
        let eye = match &self.eye {
            Some(eye) => point(eye)?,
            None => base.map_or_else(
                || {
                    let world = World::build(opened.scene.shared().clone(), Preset::fast());
                    default_eye(&opened.scene, &world, self.fov.map_or(DEFAULT_FOV, f32::to_radians))
                },
                |camera| camera.position,
            ),
        };
        let target = match &self.target {
            Some(target) => point(target)?,
            None => base.map_or(middle, |camera| camera.position + camera.forward),
        };
        Camera::looking_at(eye, target, DEFAULT_FOV)
            .map(|camera| Camera { projection, ..camera })
            .ok_or_else(|| format!("a camera at {eye} cannot look at {target}: give another --eye or --target").into())
    }

    fn base<'a>(&self, opened: &'a Opened) -> Result<Option<&'a Camera>, Failure> {
        let Some(name) = &self.camera else {
            return Ok(opened.cameras.first());
        };
        let found = opened.cameras.iter().find(|camera| camera.name == *name);
        found.map(Some).ok_or_else(|| {
            let names: Vec<&str> = opened.cameras.iter().map(|camera| camera.name.as_str()).collect();
            let known =
                if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
            format!("the scene has no camera '{name}': {known}").into()
        })
    }
}

fn point(text: &str) -> Result<Vec3, Failure> {
    let numbers: Result<Vec<f32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[x, y, z]) if Vec3::new(x, y, z).is_finite() => Ok(Vec3::new(x, y, z)),
        _ => Err(format!("'{text}' is no point: give three numbers, such as 0,1.7,4").into()),
    }
}
