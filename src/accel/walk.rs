//! Ray traversal of the binary tree as it was published for graphics cards, for comparison with [`Tracer`].
//!
//! The walks test one triangle at a time and count their work. [`Tracer`] is many times as fast.

use glam::Vec3;

use crate::geometry::{Aabb, Ray, WatertightRay};

use super::{NodeKind, Tree, TreeHit};

#[cfg(doc)]
use super::Tracer;

/// Traversal of a binary tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The farther of two crossed children waits on a stack (Wald 2004).
    Stack,
    /// No memory: after each leaf without a hit the walk starts again at the root, past that leaf. This is KD-restart by
    /// Foley and Sugerman (2005), `004` algorithm 1, with the errors of its printed form corrected.
    ///
    /// It chooses one child by comparing distances, so a ray along a plane or through a corner of cells may miss what
    /// only touches it there.
    Restart,
    /// No memory and no restarts: each leaf has links to the nodes beyond its faces, called ropes (Popov et al. 2007). They
    /// take several times the memory of the tree, and are made for the first ray. Chooses children as restarts do.
    Ropes,
}

/// Work of walks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkCost {
    /// Number of visited splits and leaves.
    pub steps: u64,
    /// Number of triangle tests.
    pub triangles: u64,
    /// Number of times that walks started again at the root.
    pub restarts: u64,
    /// Number of walks that ended at [`MAX_STEPS`], so that their answers may be wrong.
    pub unfinished: u64,
}

/// Maximum number of steps of a walk. Only a faulty tree or ray could need more.
pub const MAX_STEPS: u64 = 1 << 20;

/// Entries of the stack: above the depth of any tree (see `build::depth_limit`).
const STACK: usize = 64;

/// Margin of comparisons, relative to the largest coordinate: sixteen single-precision roundings.
const MARGIN: f32 = 1.0 / (1 << 20) as f32;

impl WalkCost {
    /// Returns the sum of both costs.
    pub fn plus(self, other: Self) -> Self {
        Self {
            steps: self.steps + other.steps,
            triangles: self.triangles + other.triangles,
            restarts: self.restarts + other.restarts,
            unfinished: self.unfinished + other.unfinished,
        }
    }
}

impl Tree {
    /// Returns the closest hit, as [`Tracer::closest`] does if all triangles are marked. Adds the work to `cost`.
    pub(super) fn closest(
        &self,
        walk: Walk,
        ray: &Ray,
        accept: impl FnMut(TreeHit, bool) -> Option<f32>,
        cost: &mut WalkCost,
    ) -> Option<TreeHit> {
        let crossing = Crossing::new(ray, self.bounds);
        let mut search = Search {
            tree: self,
            ray: WatertightRay::new(ray),
            best: None,
            nearest: ray.t_max,
            accept,
            last_step: cost.steps.saturating_add(MAX_STEPS),
            cost,
        };
        let (t0, t1) = crossing.of_box(ray, self.bounds);
        if t0 <= t1 {
            let is_finished = match walk {
                Walk::Stack => search.with_stack(&crossing, t0, t1),
                Walk::Restart => search.with_restarts(&crossing, t0, t1),
                Walk::Ropes => search.with_ropes(&crossing, t0, t1),
            };
            search.cost.unfinished += u64::from(!is_finished);
        }
        search.best
    }
}

/// Ray prepared to cross planes.
struct Crossing {
    origin: Vec3,
    /// Reciprocal of the direction, with components moved away from zero.
    inverse: Vec3,
    /// Rounding error bound on each axis, in units of t.
    slack: Vec3,
}

impl Crossing {
    fn new(ray: &Ray, bounds: Aabb) -> Self {
        // A component this small moves the ray by less than the margin within reach; others keep products finite.
        let smallest = ray.direction.abs().max_element() * 1e-9;
        let inverse = ray.direction.map(|part| if part.abs() < smallest { smallest } else { part }.recip());
        let reach = bounds.min.abs().max(bounds.max.abs()).max(ray.origin.abs()).max_element();
        Self { origin: ray.origin, inverse, slack: inverse.abs() * (reach * MARGIN) }
    }

    /// Returns the part of the ray within a box that is larger by the slack.
    fn of_box(&self, ray: &Ray, bounds: Aabb) -> (f32, f32) {
        let (low, high) = ((bounds.min - self.origin) * self.inverse, (bounds.max - self.origin) * self.inverse);
        let (enter, leave) = (low.min(high) - self.slack, low.max(high) + self.slack);
        (enter.max_element().max(ray.t_min), leave.min_element().min(ray.t_max))
    }

    /// Returns the distance of a plane, its rounding error bound, and the nearer and the farther child.
    fn of_plane(&self, axis: usize, position: f32, first: u32) -> (f32, f32, u32, u32) {
        let falls = u32::from(self.inverse[axis] < 0.0);
        let t = (position - self.origin[axis]) * self.inverse[axis];
        (t, self.slack[axis], first + falls, first + 1 - falls)
    }
}

/// Search for the closest triangle.
struct Search<'a, A> {
    tree: &'a Tree,
    ray: WatertightRay,
    best: Option<TreeHit>,
    /// Ordering distance of the closest hit.
    nearest: f32,
    accept: A,
    last_step: u64,
    cost: &'a mut WalkCost,
}

impl<A: FnMut(TreeHit, bool) -> Option<f32>> Search<'_, A> {
    /// Walks with a stack. Returns false at the step limit.
    fn with_stack(&mut self, crossing: &Crossing, t0: f32, t1: f32) -> bool {
        let mut pending = [(0, t0, t1); STACK];
        let mut held = 1;
        while held > 0 {
            held -= 1;
            let (mut node, t0, mut t1) = pending[held];
            if t0 > self.nearest {
                continue;
            }
            while let Some((axis, position, first)) = self.step(node) {
                let (t, slack, near, far) = crossing.of_plane(axis, position, first);
                node = if t - slack > t1 {
                    near
                } else if t + slack < t0 {
                    far
                } else {
                    let Some(entry) = pending.get_mut(held) else { return false };
                    *entry = (far, t0.max(t), t1);
                    held += 1;
                    t1 = t1.min(t);
                    near
                };
            }
            if self.cost.steps >= self.last_step {
                return false;
            }
        }
        true
    }

    /// Walks by restarts. Returns false at the step limit.
    fn with_restarts(&mut self, crossing: &Crossing, start: f32, end: f32) -> bool {
        let mut t1 = start;
        loop {
            let (mut node, t0) = (0, t1);
            t1 = end;
            while let Some((axis, position, first)) = self.step(node) {
                let (t, _, near, far) = crossing.of_plane(axis, position, first);
                node = if t <= t0 { far } else { near };
                if t > t0 && t < t1 {
                    t1 = t;
                }
            }
            if self.cost.steps >= self.last_step {
                return false;
            }
            // Another leaf may hold a hit that is nearer by rounding errors.
            let is_certain = self.best.is_some() && self.nearest + self.nearest.abs() * MARGIN < t1;
            if is_certain || t1 >= end {
                return true;
            }
            self.cost.restarts += 1;
        }
    }

    /// Walks from leaf to leaf along ropes. Returns false at the step limit.
    fn with_ropes(&mut self, crossing: &Crossing, start: f32, end: f32) -> bool {
        let ropes = self.tree.ropes();
        let (mut node, mut t0) = (0, start);
        loop {
            while let Some((axis, position, first)) = self.step(node) {
                let (t, _, near, far) = crossing.of_plane(axis, position, first);
                node = if t <= t0 { far } else { near };
            }
            if self.cost.steps >= self.last_step {
                return false;
            }
            let Some(leaf) = ropes.leaf(node) else { return true };
            let (exit, beyond) = leaf.exit(crossing.origin, crossing.inverse);
            let is_certain = self.best.is_some() && self.nearest + self.nearest.abs() * MARGIN < exit;
            let Some(next) = beyond.filter(|_| !is_certain && exit < end) else { return true };
            // Rounding must not lead back.
            (node, t0) = (next, t0.max(exit));
        }
    }

    /// Visits a node: returns a split, or tests the triangles of a leaf. At the step limit nodes count as leaves.
    fn step(&mut self, node: u32) -> Option<(usize, f32, u32)> {
        self.cost.steps += 1;
        match self.tree.nodes[node as usize].kind() {
            NodeKind::Split { axis, position, first } => {
                (self.cost.steps < self.last_step).then_some((axis, position, first))
            }
            NodeKind::Leaf { first, count } => {
                let tree = self.tree;
                let references = tree.references.get(first as usize..(first + count) as usize);
                references.into_iter().flatten().for_each(|&triangle| self.test(triangle));
                None
            }
        }
    }

    fn test(&mut self, triangle: u32) {
        self.cost.triangles += 1;
        let shape = &self.tree.triangles[triangle as usize];
        let Some(place) = shape.intersect(&self.ray) else { return };
        let hit = TreeHit { triangle, place };
        if !self.is_nearer(place.t, triangle) {
            return;
        }
        let Some(mut counted) = (self.accept)(hit, shape.counts_crossing(&self.ray)) else { return };
        // The end of the ray's interval is not a hit, so it must not win a comparison.
        if self.best.is_none() {
            counted = counted.min(self.nearest);
        }
        if self.is_nearer(counted, triangle) {
            (self.best, self.nearest) = (Some(hit), counted);
        }
    }

    fn is_nearer(&self, t: f32, triangle: u32) -> bool {
        let other = self.best.map_or(u32::MAX, |best| best.triangle);
        t < self.nearest || (t == self.nearest && triangle < other)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::accel::tests::{awkward_rays, scene_of, soup};
    use crate::accel::{BruteForce, Node, Planes, Preset, World};
    use crate::builtin_scenes;
    use crate::geometry::sampling::uniform_sphere;
    use crate::geometry::sobol::OwenSobol;
    use crate::geometry::{RayQuery, Triangle};
    use crate::scene::{Material, MaterialId, MeshId, Scene, Surface, SurfaceKey, shapes};
    use glam::Vec2;

    const PRESETS: [Preset; 3] = [
        Preset::with_planes(Planes::AnyAxis),
        Preset::with_planes(Planes::LongestAxis),
        Preset::with_planes(Planes::Middle),
    ];

    fn world(scene: &Arc<Scene>, preset: Preset) -> World {
        let world = World::build(scene.clone(), preset);
        world.tree().validate().unwrap();
        world
    }

    /// Returns rays between random points in and around a cube with edges of 2 m.
    fn random_rays(count: u32) -> impl Iterator<Item = Ray> {
        (0..count).map(|index| {
            let [x, y, z, _] = OwenSobol::new(5).point(index);
            let direction = uniform_sphere(Vec2::from_slice(&OwenSobol::new(6).point(index)));
            Ray::new(Vec3::new(x, y, z) * 4.0 - 2.0, direction)
        })
    }

    #[test]
    fn walks_meet_what_brute_force_meets_in_trees_of_all_builders() {
        const RAYS: u32 = 4_000;
        for (scene, preset) in [
            scene_of(soup(21, 300, 0.4, None, Vec3::ZERO)),
            scene_of(soup(23, 2_000, 0.1, None, Vec3::ZERO)),
            scene_of(soup(25, 300, 0.4, Some(4.0), Vec3::ZERO)),
        ]
        .into_iter()
        .flat_map(|scene| PRESETS.map(|preset| (Arc::new(scene.clone()), preset)))
        {
            let (world, naive) = (world(&scene, preset), BruteForce::new(&scene));
            let mut cost = WalkCost::default();
            let rays = awkward_rays(world.tree(), RAYS, Vec3::ZERO);
            assert_eq!(rays.len(), RAYS as usize);
            for (index, ray) in rays.iter().enumerate() {
                let expected = naive.closest(ray);
                assert_eq!(world.closest_by(Walk::Stack, ray, &mut cost), expected, "{index}: {ray:?}");
                // Rays within planes, along edges and to corners only touch what a restart or a rope may miss.
                if ![3, 5, 6].contains(&(index % 8)) {
                    assert_eq!(world.closest_by(Walk::Restart, ray, &mut cost), expected, "{index}: {ray:?}");
                    assert_eq!(world.closest_by(Walk::Ropes, ray, &mut cost), expected, "{index}: {ray:?}");
                }
            }
            assert_eq!(cost.unfinished, 0);
        }
    }

    #[test]
    fn restarts_repeat_steps_and_test_the_same_triangles_as_a_stack() {
        let scene = Arc::new(scene_of(soup(21, 300, 0.4, None, Vec3::ZERO)));
        let world = world(&scene, Preset::with_planes(Planes::AnyAxis));
        let [stack, restart] = [Walk::Stack, Walk::Restart].map(|walk| {
            let mut cost = WalkCost::default();
            random_rays(3_000).for_each(|ray| _ = world.closest_by(walk, &ray, &mut cost));
            cost
        });
        assert_eq!(stack.restarts, 0);
        assert!(restart.restarts > 3_000 && restart.steps > stack.steps, "{restart:?} {stack:?}");
        // Leaves are the same but where distances are equal up to rounding.
        assert!((restart.triangles as f64 / stack.triangles as f64 - 1.0).abs() < 0.01, "{restart:?} {stack:?}");
    }

    /// Returns the hit distance by algorithm 1 as it was printed.
    fn published(tree: &Tree, ray: &Ray) -> Option<f32> {
        let crossing = Crossing::new(ray, tree.bounds);
        let watertight = WatertightRay::new(ray);
        let (mut t_min, mut t_max) = crossing.of_box(ray, tree.bounds);
        let mut node = 0;
        while t_min <= t_max && t_max != f32::INFINITY {
            match tree.nodes[node as usize].kind() {
                NodeKind::Leaf { first, count } => {
                    let held = &tree.references[first as usize..(first + count) as usize];
                    let hits = held.iter().filter_map(|held| tree.triangles[*held as usize].intersect(&watertight));
                    let nearest = hits.map(|hit| hit.t).fold(f32::INFINITY, f32::min);
                    if nearest < t_max {
                        return Some(nearest);
                    }
                    (t_min, t_max, node) = (t_max, f32::INFINITY, 0);
                }
                NodeKind::Split { axis, position, first } => {
                    let (t, _, near, far) = crossing.of_plane(axis, position, first);
                    node = if t <= t_min { far } else { near };
                }
            }
        }
        None
    }

    #[test]
    fn algorithm_1_as_printed_misses_most_hits_and_the_corrected_one_none() {
        // The first leaf has a triangle beside the ray, the second one that the ray meets.
        let beside = [Vec3::new(0.0, 1.0, 0.0), Vec3::new(0.5, 2.0, 0.0), Vec3::new(0.0, 2.0, 0.5)];
        let met = [Vec3::new(10.0, -1.0, -1.0), Vec3::new(10.0, 2.0, -1.0), Vec3::new(10.0, -1.0, 2.0)];
        let narrow = Preset { intersection_cost: 10.0, ..Preset::with_planes(Planes::AnyAxis) };
        let tree = Tree::build(vec![Triangle { corners: beside }, Triangle { corners: met }], &narrow);
        let ray = Ray::new(Vec3::NEG_X, Vec3::X);
        let mut cost = WalkCost::default();
        let found = tree.closest(Walk::Restart, &ray, |hit, _| Some(hit.place.t), &mut cost);
        assert_eq!((found.map(|hit| hit.place.t), published(&tree, &ray)), (Some(11.0), None));
        assert!(cost.restarts >= 1, "{cost:?}");

        let scene = Arc::new(scene_of(soup(21, 300, 0.4, None, Vec3::ZERO)));
        let world = world(&scene, Preset::with_planes(Planes::AnyAxis));
        let (mut hits, mut missed) = (0, 0);
        for ray in random_rays(3_000) {
            let hit = world.closest(&ray);
            assert_eq!(world.closest_by(Walk::Restart, &ray, &mut cost), hit);
            hits += u32::from(hit.is_some());
            missed += u32::from(hit.is_some() && published(world.tree(), &ray).is_none());
        }
        assert!(hits > 500 && missed * 2 > hits, "{missed} of {hits}");
    }

    #[test]
    fn walks_in_a_tree_that_leads_back_to_its_root_are_reported() {
        let mut tree = Tree::build(vec![Triangle { corners: [Vec3::ZERO, Vec3::X, Vec3::Y] }], &Preset::best());
        tree.nodes[0] = Node::split(0, 0.5, 0);
        for walk in [Walk::Stack, Walk::Restart, Walk::Ropes] {
            let mut cost = WalkCost::default();
            let ray = Ray::new(Vec3::new(0.2, 0.2, 1.0), Vec3::NEG_Z);
            tree.closest(walk, &ray, |hit, _| Some(hit.place.t), &mut cost);
            assert_eq!((cost.unfinished, cost.steps), (1, MAX_STEPS), "{walk:?}");
        }
    }

    /// Returns a ring of `2 * around * across` triangles.
    fn ring(around: u32, across: u32) -> Arc<Scene> {
        let mesh = shapes::torus("ring", 1.0, 0.5, around, across);
        Arc::new(Scene {
            meshes: vec![Arc::new(mesh)],
            surfaces: vec![Surface::new(SurfaceKey("ring".into()), MeshId(0), MaterialId(0))],
            materials: vec![Material::default()],
            ..Scene::default()
        })
    }

    #[test]
    fn every_walk_meets_in_a_hundred_thousand_triangles_what_the_wide_nodes_and_brute_force_meet() {
        let scene = ring(250, 200);
        assert_eq!(scene.triangle_count(), 100_000);
        let (world, naive) = (world(&scene, PRESETS[0]), BruteForce::new(&scene));
        let mut cost = WalkCost::default();
        for (index, ray) in random_rays(20_000).enumerate() {
            let expected = world.closest(&ray);
            for walk in [Walk::Stack, Walk::Restart, Walk::Ropes] {
                assert_eq!(world.closest_by(walk, &ray, &mut cost), expected, "{walk:?} {index}: {ray:?}");
            }
            if index % 200 == 0 {
                assert_eq!(naive.closest(&ray), expected, "{index}: {ray:?}");
            }
        }
        assert_eq!(cost.unfinished, 0);
    }

    #[test]
    fn work_grows_slower_than_the_number_of_triangles() {
        // The sizes of Venegas Tamayo 2013, table 5.4.
        let steps = [(22, 22), (54, 46), (79, 40), (319, 118), (250, 200)].map(|(around, across)| {
            let world = world(&ring(around, across), PRESETS[0]);
            let mut cost = WalkCost::default();
            random_rays(2_000).for_each(|ray| _ = world.closest_by(Walk::Stack, &ray, &mut cost));
            (2 * around * across, (cost.steps + cost.triangles) as f64 / 2_000.0)
        });
        println!("{steps:?}");
        let [(few, least), .., (many, most)] = steps;
        assert_eq!((few, many), (968, 100_000));
        // A search in a balanced tree takes log2 n steps, 1.7 times as many here.
        assert!(steps.iter().all(|(_, work)| *work < 3.0 * least) && most > least, "{steps:?}");
    }

    #[test]
    fn planes_by_the_heuristic_cost_rays_less_than_middles() {
        let (scene, cameras) = builtin_scenes::open("habitacion").unwrap();
        let scene = Arc::new(scene);
        let eye = cameras[0].position;
        let rays: Vec<Ray> = random_rays(2_000).map(|ray| Ray { origin: eye, ..ray }).collect();
        let [best, longest, middle] = PRESETS.map(|preset| {
            let world = world(&scene, preset);
            let mut cost = WalkCost::default();
            let hits: Vec<_> = rays.iter().map(|ray| world.closest_by(Walk::Stack, ray, &mut cost)).collect();
            (cost.steps + cost.triangles, hits)
        });
        assert!(best.1 == longest.1 && best.1 == middle.1);
        assert!(best.0 * 10 < middle.0 * 9 && longest.0 < middle.0, "{} {} {}", best.0, longest.0, middle.0);
    }
}
