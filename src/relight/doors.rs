//! A level some of which stands elsewhere than it was baked: doors.
//!
//! ```text
//! rays of baked lights that come by the doors, before and after   --> change of direct light, by patch and receiver
//! elements that see the doors, asked before and after (`follow`)  --> two transports, and light by way of doors alone
//! after x direct light after - before x direct light before       --> what pages gain or lose
//! ```
//!
//! Both sides are asked with the same rays, so what a door has nothing to do with cancels out, and every place is worked out
//! from what was baked: pages know no way that a door has come.

use std::collections::BTreeSet;
use std::sync::Arc;

use glam::{Affine3A, Vec3};

use super::level::Level;
use super::lights::{Shining, baked_lights, lit};
use super::near::Near;
use super::order::Order;
use super::reach::{Reach, Receiving};
use super::slot::rounds;
use super::texels::Texels;
use crate::geometry::{Aabb, RayQuery, SurfaceId};
use crate::kdtree::{Preset, World};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::low_rank::{Moved, Precomputed};
use crate::radiosity::{Content, StepError};
use crate::scene::{Role, Scene};

/// What elements that see doors are asked with.
const SEED: u32 = 0x0d00_25ed;

/// Gather rays of each half of an element that sees doors: fewer than a bake's, since doors move while the game runs.
const RAYS: u32 = 128;

/// The share of what an element sees that may be simplified away: nothing, since doorways are small and all the light that
/// many an element gets.
const LOSS: f32 = 0.0;

/// How far apart, in metres, two numbers of the same place may be.
const ROUNDING: f32 = 1e-5;

/// Where a surface is that may move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Door {
    /// A surface of the baked scene.
    pub surface: SurfaceId,
    /// Where it is; none for one that is gone. One that this flattens, or whose numbers are not finite, counts as gone.
    pub to_world: Option<Affine3A>,
}

/// A level with its doors somewhere.
#[derive(Clone)]
pub struct Placed {
    /// What it is lit with there; its pages are those of the baked lights.
    pub level: Level,
    /// Boxes around doors that are not where they were baked, there and here.
    pub boxes: Vec<Aabb>,
    /// Elements that had to be asked anew what they see.
    pub asked: usize,
}

/// Works out what becomes of a level when its doors move.
pub struct Doors {
    level: Level,
    lit: Arc<Scene>,
    order: Order,
    texels: Vec<Texels>,
    /// Weights of all receivers of each patch.
    weights: Vec<Vec3>,
    lights: Vec<Shining>,
    /// Mean radiosity of each patch that reflects the baked lights once, where the doors were baked.
    first: Vec<Vec3>,
    /// The tree of all but some surfaces.
    tree: Option<(BTreeSet<SurfaceId>, World)>,
}

impl Doors {
    /// Prepares a level: asks all receivers for the lights that it was baked with.
    ///
    /// # Errors
    /// When the monitor asks for it.
    pub fn new(level: Level, monitor: &dyn Monitor) -> Result<Self, Cancelled> {
        let Precomputed { transport, receivers, .. } = &*level.precomputed;
        let order = Order::new(&transport.patches, &receivers.visible);
        let lights: Vec<Shining> = baked_lights(&level.scene).into_iter().map(|(_, shining)| shining).collect();
        let mut doors = Self {
            lit: lit(&level.scene),
            texels: Texels::of_pages(&level.pages, receivers, &transport.sorted(&level.elements.area)),
            weights: order.weights(transport),
            first: vec![Vec3::ZERO; transport.patches.len()],
            order,
            lights,
            tree: None,
            level,
        };
        let receiving = doors.receiving(&*doors.level.world);
        let mut first = vec![Vec3::ZERO; doors.first.len()];
        for light in &doors.lights {
            let aim = light.shape.aim(&doors.lit);
            let mut reach = Reach::new(&receiving, rounds(&light.shape, false));
            while !reach.is_done(&doors.order) {
                monitor.check()?;
                reach.step(aim.as_ref(), &receiving);
            }
            reach.add(light.strength, &doors.weights, &mut first);
        }
        doors.first = first;
        Ok(doors)
    }

    /// Why a surface cannot be a door; `None` when it can.
    pub fn fault_of(&self, surface: SurfaceId) -> Option<&'static str> {
        let Self { level, .. } = self;
        if !level.elements.of_surface(surface).is_empty() {
            Some("it has a lightmap of its own: bake it as an occluder or a mover")
        } else if level.scene.material_of(surface).emission != Vec3::ZERO {
            Some("it shines")
        } else {
            None
        }
    }

    /// The level with doors somewhere. Those that are not named, or [cannot be doors](Doors::fault_of), are where they
    /// were baked.
    ///
    /// # Errors
    /// When the monitor asks for it.
    pub fn place(&mut self, doors: &[Door], monitor: &dyn Monitor) -> Result<Placed, StepError> {
        let doors: Vec<Door> = doors.iter().map(Door::sound).filter(|door| self.has_moved(door)).collect();
        if doors.is_empty() {
            return Ok(Placed { level: self.level.clone(), boxes: Vec::new(), asked: 0 });
        }
        let scene = self.scene_with(&doors);
        let world = self.world_with(&doors);
        let boxes: Vec<Aabb> = (doors.iter())
            .flat_map(|door| [self.box_at_rest(door), door.to_world.map(|_| bounds(&scene, door.surface))])
            .flatten()
            .collect();
        let (mut first, mut more) = self.first_with(&world, &boxes, monitor)?;
        let Level { precomputed, content, elements, .. } = &self.level;
        let moved = |scene, world| Moved { scene, world, elements, boxes: &boxes, rays: RAYS, seed: SEED, loss: LOSS };
        let mut transport = precomputed.transport.clone();
        let at_rest = transport.follow(&moved(&self.level.scene, &*self.level.world), monitor)?;
        let before = transport.spread(&self.first);
        let mut transport = precomputed.transport.clone();
        let followed = transport.follow(&moved(&scene, &world), monitor)?;
        let mut detours = vec![Vec3::ZERO; elements.len()];
        at_rest.detours.iter().for_each(|&(row, light)| detours[row as usize] -= light);
        followed.detours.iter().for_each(|&(row, light)| detours[row as usize] += light);
        let reflected = transport.first_bounce(&detours);
        first.iter_mut().zip(reflected).for_each(|(first, reflected)| *first += Vec3::from(reflected));
        let after = transport.spread(&first);
        for (row, more) in more.iter_mut().enumerate() {
            *more += after[row] - before[row] + detours[row];
        }
        let mut pages = self.level.pages.to_vec();
        for ((page, baked), texels) in pages.iter_mut().zip(&*self.level.pages).zip(&self.texels) {
            texels.draw(&baked.texels, &more, &mut page.texels);
        }
        let mut hits = precomputed.hits.clone();
        at_rest.detours.iter().chain(&followed.detours).for_each(|&(row, _)| hits.forget(row as usize));
        let precomputed = Arc::new(Precomputed { transport, receivers: precomputed.receivers.clone(), hits });
        let level = Level {
            scene,
            world: Arc::new(world),
            elements: Arc::clone(elements),
            precomputed,
            pages: pages.into(),
            content: *content,
        };
        Ok(Placed { level, boxes, asked: followed.elements })
    }

    fn receiving<'a>(&'a self, world: &'a dyn RayQuery) -> Receiving<'a> {
        Receiving { level: &self.level, world, order: &self.order, is_spread: self.level.content == Content::Full }
    }

    fn has_moved(&self, door: &Door) -> bool {
        let surface = self.level.scene.surface(door.surface);
        let is_apart = |place: Affine3A| !place.abs_diff_eq(surface.to_world, ROUNDING);
        self.fault_of(door.surface).is_none()
            && if surface.is_in_bake() { door.to_world.is_none_or(is_apart) } else { door.to_world.is_some() }
    }

    /// Around a door as it was baked, if it was.
    fn box_at_rest(&self, door: &Door) -> Option<Aabb> {
        let scene = &self.level.scene;
        scene.surface(door.surface).is_in_bake().then(|| bounds(scene, door.surface))
    }

    fn scene_with(&self, doors: &[Door]) -> Arc<Scene> {
        let mut scene = Scene::clone(&self.level.scene);
        for door in doors {
            let surface = &mut scene.surfaces[door.surface.index()];
            (surface.role, surface.to_world) = match door.to_world {
                Some(to_world) => (Role::Occluder, to_world),
                None => (Role::Excluded, surface.to_world),
            };
        }
        Arc::new(scene)
    }

    fn world_with(&mut self, doors: &[Door]) -> World {
        let surfaces: BTreeSet<SurfaceId> = doors.iter().map(|door| door.surface).collect();
        if self.tree.as_ref().is_none_or(|(without, _)| *without != surfaces) {
            let mut scene = Scene::clone(&self.level.scene);
            surfaces.iter().for_each(|door| scene.surfaces[door.index()].role = Role::Mover);
            self.tree = Some((surfaces, World::build(Arc::new(scene), Preset::fast())));
        }
        let mut world = self.tree.as_ref().map(|(_, world)| world.clone()).expect("just built");
        world.set_movers(doors.iter().filter_map(|door| Some((door.surface, door.to_world?))));
        world
    }

    /// Mean radiosity of each patch that reflects the baked lights once, in another world, and what each receiver gets
    /// more there, if pages show that.
    fn first_with(
        &self,
        world: &World,
        boxes: &[Aabb],
        monitor: &dyn Monitor,
    ) -> Result<(Vec<Vec3>, Vec<Vec3>), StepError> {
        let [before, after] = [&*self.level.world as &dyn RayQuery, world].map(|world| Near { world, boxes });
        let [before, after] = [&before, &after].map(|near| self.receiving(near));
        let shows_direct = self.level.content == Content::Full;
        let mut first = self.first.clone();
        let mut direct = vec![Vec3::ZERO; self.level.elements.len()];
        for light in &self.lights {
            monitor.check()?;
            let rounds = rounds(&light.shape, shows_direct);
            let mut change = Reach::dark(&before, rounds, &self.weights);
            change.follow(light.shape.aim(&self.lit).as_ref(), &before, &after);
            change.add(light.strength, &self.weights, &mut first);
            for received in change.receivers().filter(|_| shows_direct).unwrap_or_default() {
                direct[received.row as usize] += received.light * light.strength;
            }
        }
        Ok((first, direct))
    }
}

impl Door {
    fn sound(&self) -> Self {
        let is_sound = |to_world: &Affine3A| to_world.is_finite() && to_world.inverse().is_finite();
        Self { to_world: self.to_world.filter(is_sound), ..*self }
    }
}

fn bounds(scene: &Scene, surface: SurfaceId) -> Aabb {
    let triangles = 0..scene.mesh_of(surface).triangles.len() as u32;
    triangles.map(|triangle| scene.triangle(surface, triangle).bounds()).fold(Aabb::EMPTY, Aabb::union)
}
