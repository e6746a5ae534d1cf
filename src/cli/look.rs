//! Where `render` and `view` look from.

use std::sync::Arc;

use glam::{Vec2, Vec3};

use super::Failure;
use super::arguments::Opened;
use crate::geometry::sampling::uniform_sphere;
use crate::geometry::sobol::OwenSobol;
use crate::geometry::{Ray, RayQuery};
use crate::kdtree::{Preset, World};
use crate::scene::{Camera, Projection, Scene};

/// A camera of the scene's file, or one that is described.
#[derive(clap::Args)]
pub struct LookArguments {
    /// The camera of the file to look through; its first when left out
    #[arg(long, value_name = "NAME", conflicts_with_all = ["eye", "target"])]
    camera: Option<String>,
    /// Where to look from
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    eye: Option<String>,
    /// What to look at
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    target: Option<String>,
    /// Angle from the bottom to the top of the picture, degrees
    #[arg(long, value_name = "DEG")]
    fov: Option<f32>,
}

/// Radians that are seen from bottom to top where nothing says it.
const DEFAULT_FOV: f32 = 1.0;

impl LookArguments {
    /// The camera that was asked for. Without one in the file, it stands inside a room and looks to its middle, and frames
    /// anything else from outside.
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
            None => base.map_or_else(|| usual_eye(&opened.scene, projection), |camera| camera.position),
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

/// Directions that tell the inside of a room from a thing that is looked at from outside.
const LOOKS: u32 = 256;

/// Where a camera stands that nothing was said of: in a room, if most of what is seen from there are the fronts of
/// surfaces; else far enough away to see everything.
fn usual_eye(scene: &Arc<Scene>, projection: Projection) -> Vec3 {
    let bounds = scene.bounds();
    let (middle, size) = ((bounds.min + bounds.max) * 0.5, bounds.max - bounds.min);
    let within = middle + size * Vec3::new(0.2, 0.1, 0.35);
    let world = World::build(scene.clone(), Preset::fast());
    let points = OwenSobol::new(0);
    let sees_front = |index: &u32| {
        let [x, y, ..] = points.point(*index);
        let hit = world.closest(&Ray::new(within, uniform_sphere(Vec2::new(x, y))));
        // The inside of a lone double-sided solid is no room.
        hit.is_some_and(|hit| !hit.back || (scene.surfaces.len() > 1 && !scene.absorbs(&hit)))
    };
    let is_room = (0..LOOKS).filter(sees_front).count() * 2 > LOOKS as usize;
    let Projection::Perspective { vertical_fov } = projection else { return within };
    if is_room {
        return within;
    }
    let distance = 0.5 * bounds.diagonal() / (0.5 * vertical_fov).sin();
    middle + Vec3::new(0.5, 0.4, 1.0).normalize() * distance
}

fn point(text: &str) -> Result<Vec3, Failure> {
    let numbers: Result<Vec<f32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[x, y, z]) if Vec3::new(x, y, z).is_finite() => Ok(Vec3::new(x, y, z)),
        _ => Err(format!("'{text}' is no point: give three numbers, such as 0,1.7,4").into()),
    }
}
