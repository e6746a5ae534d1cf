//! A level some of which stands elsewhere than it was baked, doors, or has another colour.
//!
//! ```text
//! rays of baked lights that come by the doors, before and after   --> change of direct light, by receiver
//! elements that see the doors, asked before and after (`follow`)  --> two transports, and light by way of doors alone
//! other colours (`colours`)                                       --> what the second of them reflects
//! after x direct light after - before x direct light before       --> smoothed: what pages gain or lose
//! ```
//!
//! Both sides are asked with the same rays, so what a door has nothing to do with cancels out, and every place is worked out
//! from what was baked: pages know no way that a door has come.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use glam::{Affine3A, Vec3};

use super::colours::{Paint, painted, reflectance};
use super::level::Level;
use super::lights::{Shining, baked_lights, lit};
use super::near::Near;
use super::order::Order;
use super::reach::{Reach, Receiving};
use super::showing::{LazyShowing, Showing};
use super::slot::rounds;
use crate::geometry::{Aabb, RayQuery, SurfaceId};
use crate::kdtree::{Preset, World};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::low_rank::{Followed, LowRank, Moved, Precomputed};
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

/// A level with its doors somewhere, in its colours as they are.
#[derive(Clone)]
pub struct Placed {
    /// What it is lit with there; its pages are those of the baked lights.
    pub level: Level,
    /// Boxes around doors that are not where they were baked, there and here.
    pub boxes: Vec<Aabb>,
    /// Elements that had to be asked anew what they see.
    pub asked: usize,
}

/// Works out what becomes of a level when its doors move and its colours change.
pub struct Doors {
    level: Level,
    lit: Arc<Scene>,
    order: Order,
    showing: Arc<Showing>,
    lights: Vec<Shining>,
    /// Direct irradiance of all receivers from the baked lights, lux, where the doors were baked.
    direct: Vec<Vec3>,
    /// Colours as they are, what elements reflect in them, and transport, where the doors were baked.
    paints: Vec<Paint>,
    reflectance: Vec<Vec3>,
    painted: Arc<Precomputed>,
    /// What was placed last: doors that are not where they were baked, and transport in their colours.
    placed: (Vec<Door>, Arc<Precomputed>),
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
            showing: level.shown(),
            direct: vec![Vec3::ZERO; transport.elements()],
            paints: Vec::new(),
            reflectance: level.elements.reflectance.clone(),
            painted: Arc::clone(&level.precomputed),
            placed: (Vec::new(), Arc::clone(&level.precomputed)),
            order,
            lights,
            tree: None,
            level,
        };
        let receiving = doors.receiving(&*doors.level.world);
        let mut direct = doors.direct.clone();
        for light in &doors.lights {
            let aim = light.shape.aim(&doors.lit);
            let mut reach = Reach::new(&receiving, rounds(&light.shape, false));
            while !reach.is_done(&doors.order) {
                monitor.check()?;
                reach.step(aim.as_ref(), &receiving);
            }
            reach.add_direct(light.strength, &mut direct);
        }
        doors.direct = direct;
        Ok(doors)
    }

    /// Gives surfaces other colours in all places that are worked out from now on. Those that are not named, or
    /// [cannot be painted](Paint::fault), have those that they were baked with.
    pub fn paint(&mut self, paints: &[Paint]) {
        // Doors move more often than colours change.
        if paints == self.paints {
            return;
        }
        self.paints = paints.to_vec();
        let reflectance = reflectance(&self.level, paints);
        if reflectance != self.reflectance {
            self.painted = painted(&self.level, &reflectance);
            self.reflectance = reflectance;
        }
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

    /// The level with doors somewhere; none when that is how it was placed last, or baked. Doors that are not named, or
    /// [cannot be doors](Doors::fault_of), are where they were baked.
    ///
    /// # Errors
    /// When the monitor asks for it.
    pub fn place(&mut self, doors: &[Door], monitor: &dyn Monitor) -> Result<Option<Placed>, StepError> {
        let doors: Vec<Door> = doors.iter().map(Door::sound).filter(|door| self.has_moved(door)).collect();
        if doors == self.placed.0 && Arc::ptr_eq(&self.painted, &self.placed.1) {
            return Ok(None);
        }
        let placed = self.place_anew(&doors, monitor)?;
        self.placed = (doors, Arc::clone(&self.painted));
        Ok(Some(placed))
    }

    fn place_anew(&mut self, doors: &[Door], monitor: &dyn Monitor) -> Result<Placed, StepError> {
        let is_painted = !Arc::ptr_eq(&self.painted, &self.level.precomputed);
        if doors.is_empty() && !is_painted {
            return Ok(Placed { level: self.level.clone(), boxes: Vec::new(), asked: 0 });
        }
        let scene = self.scene_with(doors);
        let world: Arc<dyn RayQuery + Send + Sync> =
            if doors.is_empty() { Arc::clone(&self.level.world) } else { Arc::new(self.world_with(doors)) };
        let boxes: Vec<Aabb> = (doors.iter())
            .flat_map(|door| [self.box_at_rest(door), door.to_world.map(|_| bounds(&scene, door.surface))])
            .flatten()
            .collect();
        let change = self.change_of_direct(&*world, &boxes, monitor)?;
        let Level { precomputed, content, elements, .. } = &self.level;
        let moved = |scene, world| Moved { scene, world, elements, boxes: &boxes, rays: RAYS, seed: SEED, loss: LOSS };
        let rest = moved(&self.level.scene, &*self.level.world);
        let (transport, at_rest) = follow(&precomputed.transport, &rest, monitor)?;
        let before = spread(&transport, &self.direct);
        let (transport, followed) = follow(&self.painted.transport, &moved(&scene, &*world), monitor)?;
        let mut detours = vec![Vec3::ZERO; elements.len()];
        at_rest.detours.iter().for_each(|&(row, light)| detours[row as usize] -= light);
        followed.detours.iter().for_each(|&(row, light)| detours[row as usize] += light);
        let direct: Vec<Vec3> = (0..elements.len()).map(|row| self.direct[row] + change[row] + detours[row]).collect();
        let mut more = spread(&transport, &direct);
        more.iter_mut().zip(before).for_each(|(after, before)| *after -= before);
        let mut smooth = vec![Vec3::ZERO; elements.len()];
        self.showing.smoothing.smooth(&more, &mut smooth);
        let shown = if *content == Content::Full { &*change } else { &[] };
        let more: Vec<Vec3> = (0..elements.len())
            .map(|row| smooth[row] + detours[row] + shown.get(row).copied().unwrap_or_default())
            .collect();
        let mut pages = self.level.pages.to_vec();
        for ((page, baked), texels) in pages.iter_mut().zip(&*self.level.pages).zip(&self.showing.texels) {
            texels.draw(&baked.texels, &more, &mut page.texels);
        }
        let precomputed = match transport {
            Cow::Borrowed(_) => Arc::clone(&self.painted),
            Cow::Owned(transport) => {
                let mut hits = self.painted.hits.clone();
                at_rest.detours.iter().chain(&followed.detours).for_each(|&(row, _)| hits.forget(row as usize));
                Arc::new(Precomputed { transport, receivers: precomputed.receivers.clone(), hits })
            }
        };
        let level = Level {
            scene,
            world,
            elements: Arc::clone(elements),
            precomputed,
            pages: pages.into(),
            content: *content,
            showing: LazyShowing::default(),
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

    /// How much more direct irradiance from the baked lights each receiver gets in another world, lux.
    fn change_of_direct(
        &self,
        world: &dyn RayQuery,
        boxes: &[Aabb],
        monitor: &dyn Monitor,
    ) -> Result<Vec<Vec3>, StepError> {
        let mut direct = vec![Vec3::ZERO; self.level.elements.len()];
        if boxes.is_empty() {
            return Ok(direct);
        }
        let [before, after] = [&*self.level.world, world].map(|world| Near { world, boxes });
        let [before, after] = [&before, &after].map(|near| self.receiving(near));
        let shows_direct = self.level.content == Content::Full;
        for light in &self.lights {
            monitor.check()?;
            let rounds = rounds(&light.shape, shows_direct);
            let mut change = Reach::dark(&before, rounds);
            change.follow(light.shape.aim(&self.lit).as_ref(), &before, &after);
            change.add_direct(light.strength, &mut direct);
        }
        Ok(direct)
    }
}

impl Door {
    fn sound(&self) -> Self {
        let is_sound = |to_world: &Affine3A| to_world.is_finite() && to_world.inverse().is_finite();
        Self { to_world: self.to_world.filter(is_sound), ..*self }
    }
}

/// Transport past the doors, and what had to be redone; the same where none has moved.
fn follow<'a>(
    transport: &'a LowRank,
    moved: &Moved,
    monitor: &dyn Monitor,
) -> Result<(Cow<'a, LowRank>, Followed), StepError> {
    let mut transport = Cow::Borrowed(transport);
    let followed =
        if moved.boxes.is_empty() { Followed::default() } else { transport.to_mut().follow(moved, monitor)? };
    Ok((transport, followed))
}

/// Indirect irradiance that direct irradiance comes to, both lux by row.
fn spread(transport: &LowRank, direct: &[Vec3]) -> Vec<Vec3> {
    let mut indirect = vec![Vec3::ZERO; direct.len()];
    transport.relight(direct, &mut indirect);
    indirect
}

fn bounds(scene: &Scene, surface: SurfaceId) -> Aabb {
    let triangles = 0..scene.mesh_of(surface).triangles.len() as u32;
    triangles.map(|triangle| scene.triangle(surface, triangle).bounds()).fold(Aabb::EMPTY, Aabb::union)
}
