//! Which sides of a double-sided surface see open space.

use glam::Vec2;
use rayon::prelude::*;

use super::SurfacePoint;
use crate::geometry::sampling::{cosine_hemisphere, uniform_triangle};
use crate::geometry::sobol::{OwenSobol, hash2};
use crate::geometry::{Ray, RayQuery, SurfaceId};
use crate::scene::{LightKind, Role, Scene, Sides};

/// Points on each side that are asked what they see.
const SAMPLES: u32 = 64;
/// Surfaces that a look may bounce off before it counts as lost in a closed space.
const BOUNCES: u32 = 8;
/// Lights that each point of a look is held against.
const LIGHTS: usize = 4;
/// A side is open when at least this share of its points is: less is rounding, or a crack.
const LEAST_OPEN: f32 = 0.1;
/// A side that sees less far than two centimetres, as a picture's towards its wall, is one that nobody looks at.
const LEAST_DEPTH: f32 = 0.02;

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
    pub fn find(scene: &Scene, world: &dyn RayQuery, surface: SurfaceId) -> Self {
        if scene.surface(surface).sides == Sides::Front {
            return Self::Front;
        }
        let [front, back] = Openness::of_sides(scene, world, surface);
        match (front.is_open(), back.is_open()) {
            (_, false) => Self::Front,
            (false, true) => Self::Back,
            (true, true) if back.depth > front.depth => Self::BothShowBack,
            (true, true) => Self::BothShowFront,
        }
    }

    /// For each surface of a scene, whether its sides are worth texels of their own: both are open, and both may be
    /// looked at. A page shows one light on both, whichever side it is of.
    ///
    /// Two sides of a closed mesh count only if light shines on both: an inside that sees no more than other things
    /// has solids sticking in it.
    pub fn deserving_texels_each(scene: &Scene, world: &dyn RayQuery) -> Vec<bool> {
        let deserves = |surface: SurfaceId| {
            let placed = scene.surface(surface);
            if placed.role != Role::Static || placed.sides == Sides::Front {
                return false;
            }
            let sides = Openness::of_sides(scene, world, surface);
            sides.iter().all(|side| side.is_open() && side.depth >= LEAST_DEPTH)
                && (sides.iter().all(Openness::is_shone_on) || !scene.mesh_of(surface).is_closed())
        };
        (0..scene.surfaces.len()).into_par_iter().map(SurfaceId::from_index).map(deserves).collect()
    }
}

/// What the points of one side see.
struct Openness {
    /// Share of the points that light can come to.
    share: f32,
    /// Share of the points to which light comes from a light, from something that shines, or from beyond the scene.
    shone_on: f32,
    /// How far they see, from 0 (nothing) to 1 (to the end of the world), a metre being half way.
    depth: f32,
}

impl Openness {
    /// Of the front and of the back.
    fn of_sides(scene: &Scene, world: &dyn RayQuery, surface: SurfaceId) -> [Self; 2] {
        let points = AreaPoints::new(scene, surface);
        [false, true].map(|back| Self::measure(scene, world, &points, back))
    }

    fn measure(scene: &Scene, world: &dyn RayQuery, points: &AreaPoints, back: bool) -> Self {
        let (mut open, mut shone_on, mut depth) = (0, 0, 0.0);
        for index in 0..SAMPLES {
            let look = Look::from(scene, world, points.point(index, back), index);
            open += u32::from(look.end != LookEnd::Lost);
            shone_on += u32::from(look.end == LookEnd::Source);
            depth += look.depth;
        }
        let share = |count: u32| count as f32 / SAMPLES as f32;
        Self { share: share(open), shone_on: share(shone_on), depth: depth / SAMPLES as f32 }
    }

    fn is_open(&self) -> bool {
        self.share >= LEAST_OPEN
    }

    fn is_shone_on(&self) -> bool {
        self.shone_on >= LEAST_OPEN
    }
}

/// What one point sees.
struct Look {
    end: LookEnd,
    depth: f32,
}

/// Where a look ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LookEnd {
    /// In a closed space, or at the back of something single-sided.
    Lost,
    /// At a front, to which light may come.
    Front,
    /// At a light, at something that shines, or beyond the scene.
    Source,
}

impl Look {
    fn from(scene: &Scene, world: &dyn RayQuery, start: SurfacePoint, index: u32) -> Self {
        let mut point = start;
        let mut depth = 1.0;
        for bounce in 0..BOUNCES {
            if sees_light(scene, world, &point, index * BOUNCES + bounce) {
                return Self { end: LookEnd::Source, depth };
            }
            let [x, y, ..] = OwenSobol::new(hash2(0x51DE, bounce)).point(index);
            let Some(hit) = world.closest(&point.ray(cosine_hemisphere(point.geometric_normal, Vec2::new(x, y))))
            else {
                return Self { end: LookEnd::Source, depth };
            };
            if bounce == 0 {
                depth = hit.t / (1.0 + hit.t);
            }
            if scene.absorbs(&hit) {
                return Self { end: LookEnd::Lost, depth: 0.0 };
            }
            if scene.material_of(hit.surface).is_emissive() {
                return Self { end: LookEnd::Source, depth };
            }
            if !hit.back {
                return Self { end: LookEnd::Front, depth };
            }
            point = SurfacePoint::from_hit(scene, &hit);
        }
        Self { end: LookEnd::Lost, depth }
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
