//! Trees and walks of `radiosity rays`, and the work of each.

use rayon::prelude::*;
use serde::Serialize;

use super::Failure;
use crate::accel::{BruteForce, Planes, Preset, Walk, WalkCost, World};
use crate::geometry::{Hit, Ray, RayQuery};
use crate::scene::{Role, Scene};

/// Builder of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum TreeBuilder {
    /// The cheapest plane of all axes by the surface area heuristic
    #[default]
    Sah,
    /// The cheapest plane across the longest edge
    LongestAxis,
    /// The middle, across X, Y and Z in turns
    Median,
}

impl TreeBuilder {
    /// Returns the preset for a traversal. Wide nodes test eight triangles at once, the others one.
    pub fn preset(self, traversal: Traversal) -> Preset {
        let planes = match self {
            Self::Sah => Planes::AnyAxis,
            Self::LongestAxis => Planes::LongestAxis,
            Self::Median => Planes::Middle,
        };
        match traversal {
            Traversal::Wide | Traversal::BruteForce => Preset { planes, ..Preset::best() },
            Traversal::Stack | Traversal::Restart | Traversal::Ropes => Preset::with_planes(planes),
        }
    }
}

/// Traversal of the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum Traversal {
    /// Nodes with eight children, as bakes and pictures do
    #[default]
    Wide,
    /// The binary tree with a stack
    Stack,
    /// The binary tree without a stack: from the root again after each leaf (KD-restart)
    Restart,
    /// The binary tree without a stack: along links from leaf to leaf (ropes)
    Ropes,
    /// No tree: all triangles of each ray
    BruteForce,
}

impl Traversal {
    /// Refuses what a traversal cannot do.
    pub fn check(self, any_hit: bool, scene: &Scene) -> Result<(), Failure> {
        if any_hit && matches!(self, Self::Stack | Self::Restart | Self::Ropes) {
            return Err("--any-hit is not for --traversal stack, restart and ropes, which find the closest hit".into());
        }
        if self == Self::BruteForce && scene.surfaces.iter().any(|surface| surface.role == Role::Mover) {
            return Err(
                "the scene has objects that move, which --traversal brute-force leaves out: choose another".into()
            );
        }
        Ok(())
    }
}

/// Scene that answers rays by a chosen traversal.
pub enum Answers<'a> {
    Wide(&'a World),
    Walk(&'a World, Walk),
    BruteForce(&'a World, BruteForce<'a>),
}

/// Work per ray, on average. What a traversal does not have is left out.
#[derive(Debug, Serialize)]
pub struct Work {
    nodes: usize,
    depth: usize,
    steps_per_ray: f64,
    triangles_per_ray: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    restarts_per_ray: Option<f64>,
}

/// Returns the warning about walks that ended at a step limit, if there are any.
pub fn unfinished_warning(walks: u64, max_steps: u64, remedy: &str) -> Option<String> {
    (walks > 0).then(|| {
        format!("{walks} walks through the tree ended after {max_steps} steps, so their results may be wrong: {remedy}")
    })
}

/// Remedy for unfinished walks on a graphics card.
#[cfg(feature = "gpu")]
pub const USE_PROCESSOR: &str = "use --backend cpu, which has no such limit";

impl<'a> Answers<'a> {
    pub fn new(traversal: Traversal, world: &'a World) -> Self {
        match traversal {
            Traversal::Wide => Self::Wide(world),
            Traversal::Stack => Self::Walk(world, Walk::Stack),
            Traversal::Restart => Self::Walk(world, Walk::Restart),
            Traversal::Ropes => Self::Walk(world, Walk::Ropes),
            Traversal::BruteForce => Self::BruteForce(world, BruteForce::new(world.scene())),
        }
    }

    pub fn closest(&self, ray: &Ray) -> Option<Hit> {
        match self {
            Self::Wide(world) => world.closest(ray),
            Self::Walk(world, walk) => world.closest_by(*walk, ray, &mut WalkCost::default()),
            Self::BruteForce(_, naive) => naive.closest(ray),
        }
    }

    pub fn is_blocked(&self, ray: &Ray) -> bool {
        match self {
            Self::Wide(world) | Self::Walk(world, _) => world.blocked(ray).is_blocked(),
            Self::BruteForce(_, naive) => naive.blocked(ray).is_blocked(),
        }
    }

    /// Traces all rays to the closest hit once more. Returns the work, and the number of rays that ended at
    /// [`MAX_STEPS`](crate::accel::MAX_STEPS).
    pub fn work(&self, rays: &[Ray]) -> (Work, u64) {
        let (Self::Wide(world) | Self::Walk(world, _) | Self::BruteForce(world, _)) = self;
        let statistics = world.statistics();
        let of_ray = |ray: &Ray| {
            let mut cost = WalkCost::default();
            match self {
                Self::Wide(world) => {
                    let wide = world.cost(ray);
                    (cost.steps, cost.triangles) = (wide.nodes.into(), wide.triangles.into());
                }
                Self::Walk(world, walk) => _ = world.closest_by(*walk, ray, &mut cost),
                Self::BruteForce(..) => cost.triangles = statistics.triangles as u64,
            }
            cost
        };
        let valid = rays.par_iter().filter(|ray| ray.is_valid());
        let WalkCost { steps, triangles, restarts, unfinished } =
            valid.map(of_ray).reduce(WalkCost::default, WalkCost::plus);
        let per_ray = |count: u64| count as f64 / rays.len().max(1) as f64;
        let work = Work {
            nodes: statistics.nodes,
            depth: statistics.depth,
            steps_per_ray: per_ray(steps),
            triangles_per_ray: per_ray(triangles),
            restarts_per_ray: matches!(self, Self::Walk(_, Walk::Restart)).then(|| per_ray(restarts)),
        };
        (work, unfinished)
    }
}

impl core::fmt::Display for Work {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        let Self { nodes, depth, steps_per_ray, triangles_per_ray, .. } = self;
        write!(
            f,
            "tree of {nodes} nodes, {depth} deep; {steps_per_ray:.2} steps and {triangles_per_ray:.2} triangles a ray"
        )?;
        match self.restarts_per_ray {
            Some(restarts) => write!(f, ", {restarts:.2} restarts"),
            None => Ok(()),
        }
    }
}
