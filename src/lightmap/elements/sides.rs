//! Which sides of a double-sided surface see open space.

use glam::Vec2;

use super::SurfacePoint;
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::scene::{LightKind, Scene, Sides};

/// Points on each side that are asked what they see.
const SAMPLES: u32 = 64;
/// Surfaces that a look may bounce off before it counts as lost in a closed space.
const BOUNCES: u32 = 8;
/// Lights that each point of a look is held against.
const LIGHTS: usize = 4;
/// A side is open when at least this share of its points is: less is rounding, or a crack.
const LEAST_OPEN: f32 = 0.1;

/// The sides of a surface that have elements, and which of them its texels show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenSides {
    /// The front alone.
    Front,
    /// The back alone: the front of a double-sided surface faces a closed space.
    Back,
    /// Both, and the texels show the front.
    BothShowFront,
    /// Both, and the texels show the back.
    BothShowBack,
}

impl OpenSides {
    /// How many sides have elements.
    pub fn count(self) -> usize {
        match self {
            Self::Front | Self::Back => 1,
            Self::BothShowFront | Self::BothShowBack => 2,
        }
    }

    /// True when texels show the back.
    pub fn shows_back(self) -> bool {
        matches!(self, Self::Back | Self::BothShowBack)
    }

    /// Where a side's elements stand among the surface's: first or second; `None` when it has none.
    pub(super) fn index_of(self, back: bool) -> Option<usize> {
        match self {
            Self::Front => (!back).then_some(0),
            Self::Back => back.then_some(0),
            Self::BothShowFront | Self::BothShowBack => Some(usize::from(back)),
        }
    }

    /// Looks around from points on both sides of a surface.
    ///
    /// Nearly every file marks closed solids as double-sided, and elements inside them would cost half the rays of a
    /// bake; so a side has elements only if light can come to it. A point is open when a look from it, bounced on at
    /// most a few times, leaves the scene, meets a front or something that shines, or sees a light.
    ///
    /// A layout that has asked this before it is built can give both sides of a surface texels of their own.
    pub fn find(scene: &Scene, world: &dyn RayQuery, surface: SurfaceId) -> Self {
        if scene.surface(surface).sides == Sides::Front {
            return Self::Front;
        }
        let points = AreaPoints::new(scene, surface);
        let [front, back] = [false, true].map(|back| Openness::measure(scene, world, &points, back));
        match (front.share >= LEAST_OPEN, back.share >= LEAST_OPEN) {
            (_, false) => Self::Front,
            (false, true) => Self::Back,
            (true, true) if back.depth > front.depth => Self::BothShowBack,
            (true, true) => Self::BothShowFront,
        }
    }
}

/// What the points of one side see.
struct Openness {
    /// Share of the points that light can come to.
    share: f32,
    /// How far they see, from 0 (nothing) to 1 (to the end of the world), a metre being half way.
    depth: f32,
}

impl Openness {
    fn measure(scene: &Scene, world: &dyn RayQuery, points: &AreaPoints, back: bool) -> Self {
        let (mut open, mut depth) = (0, 0.0);
        for index in 0..SAMPLES {
            let look = Look::from(scene, world, points.point(index, back), index);
            open += u32::from(look.open);
            depth += look.depth;
        }
        Self { share: open as f32 / SAMPLES as f32, depth: depth / SAMPLES as f32 }
    }
}

/// What one point sees.
struct Look {
    open: bool,
    depth: f32,
}

impl Look {
    fn from(scene: &Scene, world: &dyn RayQuery, start: SurfacePoint, index: u32) -> Self {
        let mut point = start;
        let mut depth = 1.0;
        for bounce in 0..BOUNCES {
            if sees_light(scene, world, &point, index * BOUNCES + bounce) {
                return Self { open: true, depth };
            }
            let [x, y, ..] = OwenSobol::new(hash2(0x51DE, bounce)).point(index);
            let Some(hit) = world.closest(&point.ray(cosine_hemisphere(point.geometric_normal, Vec2::new(x, y))))
            else {
                return Self { open: true, depth };
            };
            if bounce == 0 {
                depth = hit.t / (1.0 + hit.t);
            }
            let single_sided = scene.surface(hit.surface).sides == Sides::Front;
            if hit.back && single_sided {
                return Self { open: false, depth: 0.0 };
            }
            if !hit.back || scene.material_of(hit.surface).is_emissive() {
                return Self { open: true, depth };
            }
            point = SurfacePoint::from_hit(scene, &hit);
        }
        Self { open: false, depth }
    }
}

/// True when one of a few lights, others for each `pick`, shines on the point.
fn sees_light(scene: &Scene, world: &dyn RayQuery, point: &SurfacePoint, pick: u32) -> bool {
    let count = scene.lights.len();
    let picked = (0..count.min(LIGHTS)).map(|index| &scene.lights[(pick as usize * LIGHTS + index) % count]);
    picked.into_iter().any(|light| {
        let place = match light.kind {
            LightKind::Point { position, range, .. } | LightKind::Spot { position, range, .. } => {
                (position.distance(point.position) < range).then_some(position)
            }
            LightKind::Rectangle { centre, .. } => Some(centre),
            // Whoever sees the sun sees past the scene, which the look finds by itself.
            LightKind::Directional { .. } => None,
        };
        place.is_some_and(|place| {
            let above = (place - point.position).dot(point.geometric_normal) > 0.0;
            above && !world.blocked(&Ray::between(point.origin(), place)).is_blocked()
        })
    })
}

/// Points spread evenly over the area of a surface.
struct AreaPoints<'a> {
    scene: &'a Scene,
    surface: SurfaceId,
    /// Area of all triangles up to and with each.
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
