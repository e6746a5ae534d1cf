//! Doors and recolored surfaces: a level that differs from its bake.
//!
//! ```text
//! rays of baked lights near the doors, before and after           --> change of direct light, by receiver
//! elements that see the doors, sampled before and after (`follow`)--> two transports, and light by way of doors alone
//! other colors (`colors`)                                        --> reflectance of the second transport
//! after x direct light after  -  before x direct light before     --> smoothed: change of the pages
//! ```
//!
//! Both sides use the same rays, so that everything a door does not affect cancels out. Each placement starts from the
//! bake. So pages do not depend on the path that a door has taken.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use glam::{Affine3A, Vec3};

use super::colors::{Paint, painted, reflectance};
use super::input::RelightInput;
use super::lights::{Emitter, baked_lights, lit};
use super::order::Order;
use super::receiving::Receiving;
use super::response::{LightResponse, Received, rounds};
use super::restricted_query::RestrictedQuery;
use super::texel_mapping::{LazyTexelMapping, TexelMapping};
use crate::accel::{Preset, World};
use crate::geometry::{Aabb, RayQuery, SurfaceId};
use crate::low_rank::{Contributions, Followed, LowRank, MovedSurfaces, Precomputed};
use crate::progress::{Cancelled, Monitor};
use crate::radiosity::{Content, StepError};
use crate::scene::{Role, Scene};

/// Seed of the samples of elements that see doors.
const SEED: u32 = 0x0d00_25ed;

/// Gather rays for each half of an element that sees doors. A bake uses more; doors move while the game runs.
const RAYS: u32 = 128;

/// Fraction of a transport row that may be simplified away. It is zero: a small doorway may be all that an element
/// sees.
const LOSS: f32 = 0.0;

/// Tolerance for transforms of the same place, in meters.
const ROUNDING: f32 = 1e-5;

/// Current placement of a movable surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Door {
    /// Surface of the baked scene.
    pub surface: SurfaceId,
    /// Transform from object to world space, or `None` for a removed surface. A singular or non-finite transform counts
    /// as `None`.
    pub to_world: Option<Affine3A>,
}

/// Level with its doors and colors applied.
#[derive(Clone)]
pub struct PlacedOccluder {
    /// Relit level. Its pages show the baked lights.
    pub level: RelightInput,
    /// World-space boxes around displaced doors, both at their baked and at their current places.
    pub boxes: Vec<Aabb>,
    /// Number of elements with a newly sampled view.
    pub asked: usize,
}

/// Updates a level when its doors move or its colors change.
pub struct Doors {
    level: RelightInput,
    lit: Arc<Scene>,
    order: Order,
    texel_mapping: Arc<TexelMapping>,
    lights: Vec<Emitter>,
    /// Direct irradiance of all receivers from the baked lights, in lux, with doors as baked.
    direct: Vec<Vec3>,
    /// Current colors, and the resulting reflectance and transport with doors as baked.
    paints: Vec<Paint>,
    reflectance: Vec<Vec3>,
    painted: Arc<Precomputed>,
    /// Most recent placement: displaced doors, and the transport of their colors.
    placed: (Vec<Door>, Arc<Precomputed>),
    /// BVH without some surfaces, and the set of these surfaces.
    tree: Option<(BTreeSet<SurfaceId>, World)>,
}

impl Doors {
    /// Prepares a level: computes the direct irradiance of the baked lights at all receivers.
    ///
    /// # Errors
    ///
    /// Returns [`Cancelled`] when the monitor cancels.
    pub fn new(level: RelightInput, monitor: &dyn Monitor) -> Result<Self, Cancelled> {
        let Precomputed { transport, receivers, .. } = &*level.precomputed;
        let order = Order::new(&transport.patches, &receivers.visible);
        let lights: Vec<Emitter> = baked_lights(&level.scene).into_iter().map(|(_, emitter)| emitter).collect();
        let mut doors = Self {
            lit: lit(&level.scene),
            texel_mapping: level.texel_mapping(),
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
        let (receiving, is_spread) = (doors.receiving(&*doors.level.world), doors.level.content == Content::Full);
        let mut direct = doors.direct.clone();
        for light in &doors.lights {
            let sampler = light.shape.sampler(&doors.lit);
            let mut response = LightResponse::new(light.shape, rounds(&light.shape, false), is_spread, &receiving);
            while !response.is_done() {
                monitor.check()?;
                response.step(sampler.as_ref(), &receiving);
            }
            add_direct(&response, light.strength, &mut direct);
        }
        doors.direct = direct;
        Ok(doors)
    }

    /// Sets the colors for all later placements. Surfaces that are absent or have a [fault](Paint::fault) keep their
    /// baked color.
    pub fn paint(&mut self, paints: &[Paint]) {
        // Doors move more often than colors change.
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

    /// Returns the reason why a surface cannot be a door, or `None` if it can.
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

    /// Places the doors. Returns `None` if nothing has changed since the last placement, or since the bake.
    ///
    /// Surfaces that are absent or have a [fault](Doors::fault_of) stay at their baked places.
    ///
    /// # Errors
    ///
    /// Returns an error when the monitor cancels or a solver step fails.
    pub fn place(&mut self, doors: &[Door], monitor: &dyn Monitor) -> Result<Option<PlacedOccluder>, StepError> {
        let doors: Vec<Door> = doors.iter().map(Door::sound).filter(|door| self.has_moved(door)).collect();
        if doors == self.placed.0 && Arc::ptr_eq(&self.painted, &self.placed.1) {
            return Ok(None);
        }
        let placed = self.place_anew(&doors, monitor)?;
        self.placed = (doors, Arc::clone(&self.painted));
        Ok(Some(placed))
    }

    fn place_anew(&mut self, doors: &[Door], monitor: &dyn Monitor) -> Result<PlacedOccluder, StepError> {
        let is_painted = !Arc::ptr_eq(&self.painted, &self.level.precomputed);
        if doors.is_empty() && !is_painted {
            return Ok(PlacedOccluder { level: self.level.clone(), boxes: Vec::new(), asked: 0 });
        }
        let scene = self.scene_with(doors);
        let world: Arc<dyn RayQuery + Send + Sync> =
            if doors.is_empty() { Arc::clone(&self.level.world) } else { Arc::new(self.world_with(doors)) };
        let boxes: Vec<Aabb> = (doors.iter())
            .flat_map(|door| [self.box_at_rest(door), door.to_world.map(|_| bounds(&scene, door.surface))])
            .flatten()
            .collect();
        let change = self.change_of_direct(&*world, &boxes, monitor)?;
        let RelightInput { precomputed, content, elements, .. } = &self.level;
        let moved =
            |scene, world| MovedSurfaces { scene, world, elements, boxes: &boxes, rays: RAYS, seed: SEED, loss: LOSS };
        let rest = moved(&self.level.scene, &*self.level.world);
        let (transport, of_baked) = follow(&precomputed.transport, &rest, monitor)?;
        let before = spread(&transport, &self.direct);
        let (transport, followed) = follow(&self.painted.transport, &moved(&scene, &*world), monitor)?;
        let mut continuations = vec![Vec3::ZERO; elements.len()];
        of_baked.continuations.iter().for_each(|&(row, light)| continuations[row as usize] -= light);
        followed.continuations.iter().for_each(|&(row, light)| continuations[row as usize] += light);
        let direct: Vec<Vec3> =
            (0..elements.len()).map(|row| self.direct[row] + change[row] + continuations[row]).collect();
        let mut more = spread(&transport, &direct);
        more.iter_mut().zip(before).for_each(|(after, before)| *after -= before);
        let mut smooth = vec![Vec3::ZERO; elements.len()];
        self.texel_mapping.smoothing.smooth(&more, &mut smooth);
        let direct = if *content == Content::Full { &*change } else { &[] };
        let more: Vec<Vec3> = (0..elements.len())
            .map(|row| smooth[row] + continuations[row] + direct.get(row).copied().unwrap_or_default())
            .collect();
        let mut pages = self.level.pages.to_vec();
        for ((page, baked), texels) in pages.iter_mut().zip(&*self.level.pages).zip(&self.texel_mapping.texels) {
            texels.draw(&baked.texels, &more, 0, &mut page.texels);
        }
        let precomputed = match transport {
            Cow::Borrowed(_) => Arc::clone(&self.painted),
            Cow::Owned(transport) => {
                let mut hits = self.painted.hits.clone();
                of_baked
                    .continuations
                    .iter()
                    .chain(&followed.continuations)
                    .for_each(|&(row, _)| hits.forget(row as usize));
                Arc::new(Precomputed {
                    transport,
                    receivers: precomputed.receivers.clone(),
                    hits,
                    contributions: Contributions::default(),
                })
            }
        };
        let level = RelightInput {
            scene,
            world,
            elements: Arc::clone(elements),
            precomputed,
            pages: pages.into(),
            content: *content,
            texel_mapping: LazyTexelMapping::default(),
        };
        Ok(PlacedOccluder { level, boxes, asked: followed.elements })
    }

    fn receiving<'a>(&'a self, world: &'a dyn RayQuery) -> Receiving<'a> {
        Receiving { level: &self.level, world, order: &self.order, lit: &self.lit }
    }

    fn has_moved(&self, door: &Door) -> bool {
        let surface = self.level.scene.surface(door.surface);
        let is_apart = |place: Affine3A| !place.abs_diff_eq(surface.to_world, ROUNDING);
        self.fault_of(door.surface).is_none()
            && if surface.is_in_bake() { door.to_world.is_none_or(is_apart) } else { door.to_world.is_some() }
    }

    /// Returns the world-space bounds of a door at its baked place, or `None` if it was not in the bake.
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

    /// Returns the change of direct irradiance from the baked lights at each receiver in another world, in lux.
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
        let [before, after] = [&*self.level.world, world].map(|world| RestrictedQuery { world, boxes });
        let [before, after] = [&before, &after].map(|near| self.receiving(near));
        let shows_direct = self.level.content == Content::Full;
        for light in &self.lights {
            monitor.check()?;
            let rounds = rounds(&light.shape, shows_direct);
            let mut change = LightResponse::dark(light.shape, rounds, shows_direct, &before);
            change.follow(&before, &after);
            add_direct(&change, light.strength, &mut direct);
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

/// Returns the transport with displaced doors and the recomputed rows. The transport is borrowed where no door has
/// moved.
fn follow<'a>(
    transport: &'a LowRank,
    moved: &MovedSurfaces,
    monitor: &dyn Monitor,
) -> Result<(Cow<'a, LowRank>, Followed), StepError> {
    let mut transport = Cow::Borrowed(transport);
    let followed =
        if moved.boxes.is_empty() { Followed::default() } else { transport.to_mut().follow(moved, monitor)? };
    Ok((transport, followed))
}

/// Adds the direct irradiance of receivers, in lux by row.
fn add_direct(response: &LightResponse, strength: Vec3, sums: &mut [Vec3]) {
    response.receivers().iter().for_each(|&Received { row, light }| sums[row as usize] += light * strength);
}

/// Returns the indirect irradiance for a direct irradiance, both in lux by row.
fn spread(transport: &LowRank, direct: &[Vec3]) -> Vec<Vec3> {
    let mut indirect = vec![Vec3::ZERO; direct.len()];
    transport.relight(direct, &mut indirect);
    indirect
}

fn bounds(scene: &Scene, surface: SurfaceId) -> Aabb {
    let triangles = 0..scene.mesh_of(surface).triangles.len() as u32;
    triangles.map(|triangle| scene.triangle(surface, triangle).bounds()).fold(Aabb::EMPTY, Aabb::union)
}
