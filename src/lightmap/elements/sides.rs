//! Sides of a surface that have elements, and the side that its texels show.

use glam::Vec2;
use rayon::prelude::*;

use super::SurfacePoint;
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{RayQuery, SurfaceId};
use crate::scene::{Role, Scene};

/// Number of sample points per side for measuring view depth.
const SAMPLES: u32 = 64;

/// Sides of a surface that have elements, and the side that its texels show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenSides {
    /// Only the front.
    Front,
    /// Only the back: the front of a double-sided surface faces a closed space.
    Back,
    /// Both sides; texels show the front.
    BothShowFront,
    /// Both sides; texels show the back.
    BothShowBack,
}

impl OpenSides {
    /// Returns the number of sides with elements.
    pub fn count(self) -> usize {
        match self {
            Self::Front | Self::Back => 1,
            Self::BothShowFront | Self::BothShowBack => 2,
        }
    }

    /// Returns true if texels show the back.
    pub fn shows_back(self) -> bool {
        matches!(self, Self::Back | Self::BothShowBack)
    }

    /// Returns the position of a side's elements among the surface's: 0 or 1; `None` if the side has none.
    pub(super) fn index_of(self, back: bool) -> Option<usize> {
        match self {
            Self::Front => (!back).then_some(0),
            Self::Back => back.then_some(0),
            Self::BothShowFront | Self::BothShowBack => Some(usize::from(back)),
        }
    }

    /// Finds the visible sides of a surface, see [`Scene::with_sealed_sides`]. If both are visible and share texels,
    /// the texels show the side with the longer view depth.
    pub fn find(scene: &Scene, world: &dyn RayQuery, surface: SurfaceId) -> Self {
        match scene.open_sides(surface) {
            [_, false] => Self::Front,
            [false, true] => Self::Back,
            [true, true] => match depths(scene, world, surface) {
                [front, back] if back > front => Self::BothShowBack,
                _ => Self::BothShowFront,
            },
        }
    }

    /// Returns, for each surface of a scene, whether both sides are visible and so need separate texels. Shared texels
    /// would show the light of one side on both.
    pub fn deserving_texels_each(scene: &Scene) -> Vec<bool> {
        let deserves =
            |surface: SurfaceId| scene.surface(surface).role == Role::Static && scene.open_sides(surface) == [true; 2];
        (0..scene.surfaces.len()).into_par_iter().map(SurfaceId::from_index).map(deserves).collect()
    }
}

/// Returns the mean view depth of front and back: 0 for absorbed rays, 1 for rays that escape, 0.5 for a hit at one
/// meter.
fn depths(scene: &Scene, world: &dyn RayQuery, surface: SurfaceId) -> [f32; 2] {
    let points = AreaPoints::new(scene, surface);
    [false, true].map(|back| {
        let depth = |index: u32| {
            let point = points.point(index, back);
            let [x, y, ..] = OwenSobol::new(hash2(0x51DE, 0)).point(index);
            match world.closest(&point.ray(cosine_hemisphere(point.geometric_normal, Vec2::new(x, y)))) {
                None => 1.0,
                Some(hit) if scene.absorbs(&hit) => 0.0,
                Some(hit) => hit.t / (1.0 + hit.t),
            }
        };
        (0..SAMPLES).map(depth).sum::<f32>() / SAMPLES as f32
    })
}

/// Sampler of points distributed uniformly over a surface's area.
struct AreaPoints<'a> {
    scene: &'a Scene,
    surface: SurfaceId,
    /// Cumulative areas of the triangles.
    sums: Vec<f64>,
}

impl<'a> AreaPoints<'a> {
    fn new(scene: &'a Scene, surface: SurfaceId) -> Self {
        let mut sum = 0.0;
        let sums = (0..scene.mesh_of(surface).triangles.len() as u32)
            .map(|triangle| {
                sum += f64::from(scene.triangle(surface, triangle).area());
                sum
            })
            .collect();
        Self { scene, surface, sums }
    }

    fn point(&self, index: u32, back: bool) -> SurfacePoint {
        let [x, y, z, _] = OwenSobol::new(0x51DE).point(index);
        let wanted = f64::from(z) * self.sums.last().copied().unwrap_or(0.0);
        let triangle = self.sums.partition_point(|&sum| sum <= wanted).min(self.sums.len().saturating_sub(1));
        SurfacePoint::new(self.scene, self.surface, triangle as u32, uniform_triangle(Vec2::new(x, y)), back)
    }
}
