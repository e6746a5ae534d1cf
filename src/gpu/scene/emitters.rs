//! Emitters and light trees.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use super::NONE;
use super::surfaces;
use super::textures::Textures;
use super::tree::GpuTree;
use crate::geometry::{SurfaceId, sin_cos_turns};
use crate::lights::{EmitterDescription, LightNode, LightSampler, LightTree, light_node_of, weigh_surface};
use crate::scene::{LightKind, Scene, Sky};

/// Lights of a scene, and the sky.
#[derive(Clone)]
pub(super) struct Emitters {
    /// Records of all lights. A scene without lights has one dark record, so that shaders need no special case.
    pub records: Vec<Record>,
    /// Light tree leaves of all emitters, and luminous flux in lumens of emissive surfaces.
    leaves: Vec<LightNode>,
    powers: Vec<f32>,
    /// Word offset in the tables of the light tree nodes.
    pub tree_at: u32,
    /// Radiance of a uniform sky in cd/m2, or the scale of the environment map.
    pub sky_radiance: Vec3,
    pub sky_emitter: Option<u32>,
}

/// Counterpart of `Emitter` in `light.wgsl`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Record {
    place: [f32; 3],
    kind: u32,
    axis: [f32; 3],
    range: f32,
    strength: [f32; 3],
    radius: f32,
    width: [f32; 3],
    inner_cosine: f32,
    height: [f32; 3],
    outer_cosine: f32,
    padding: [u32; 2],
    trail: u32,
    table: u32,
}

const POINT: u32 = 0;
const SPOT: u32 = 1;
const SUN: u32 = 2;
const RECTANGLE: u32 = 3;
const SURFACE: u32 = 4;
const ENVIRONMENT: u32 = 5;

/// Maximum range, in meters. Shaders square ranges, and WGSL has no infinities.
const FARTHEST: f32 = 1e18;

impl Emitters {
    /// Describes all lights, and stores the emitter index in the record of each emissive surface.
    pub fn new(
        scene: &Scene,
        lights: &LightSampler,
        trees: &GpuTree,
        textures: &Textures,
        surfaces: &mut [surfaces::Record],
        tables: &mut Vec<u32>,
    ) -> Self {
        for id in scene.surface_ids() {
            let record = &mut surfaces[id.index()];
            match lights.emitter_of(id) {
                Some(emitter) => record.emitter = emitter as u32,
                // Surfaces too weak to be emitters emit nothing.
                None => record.emission = [0.0; 3],
            }
        }
        let first_triangles = scene.first_triangles();
        let numbers = numbers_in_tree(scene, &first_triangles, &trees.sources);
        let mut powers = Vec::with_capacity(lights.emitters());
        let records = lights.descriptions().map(|description| {
            let mut power_of_surface = 0.0;
            let record = match description {
                EmitterDescription::Lamp(kind) => of_lamp(kind),
                EmitterDescription::Rectangle { corner, width, height, normal, radiance } => Record {
                    kind: RECTANGLE,
                    place: corner.to_array(),
                    width: width.to_array(),
                    height: height.to_array(),
                    axis: normal.to_array(),
                    strength: radiance.to_array(),
                    ..Record::default()
                },
                EmitterDescription::Surface { surface, cumulative, power, .. } => {
                    power_of_surface = power;
                    let table = tables.len() as u32;
                    let triangles = cumulative.len() - 1;
                    tables.push(triangles as u32);
                    tables.extend(cumulative.iter().map(|sum| sum.to_bits()));
                    let first = first_triangles[surface.index()] as usize;
                    tables.extend(&numbers[first..first + triangles]);
                    Record { kind: SURFACE, table, ..Record::default() }
                }
                EmitterDescription::Environment { map, columns, rows, cumulative, .. } => {
                    let table = tables.len() as u32;
                    tables.extend([columns as u32, rows as u32]);
                    tables.extend(textures.words_of_sky(&map.texture));
                    tables.extend(map.rotation.to_array().map(f32::to_bits));
                    tables.extend(cumulative.iter().map(|sum| sum.to_bits()));
                    Record { kind: ENVIRONMENT, table, ..Record::default() }
                }
            };
            powers.push(power_of_surface);
            record
        });
        let sky_emitter = lights.sky_emitter().map(|emitter| emitter as u32);
        let sky_radiance = match &scene.sky {
            Sky::Uniform(radiance) => *radiance,
            Sky::Map(map) if sky_emitter.is_some() => Vec3::splat(map.scale),
            Sky::Dark | Sky::Map(_) => Vec3::ZERO,
        };
        let mut records: Vec<Record> = records.collect();
        let mut leaves = lights.light_nodes();
        if records.is_empty() {
            records.push(Record { range: 1.0, ..Record::default() });
            leaves.push(LightNode::dark());
        }
        let mut emitters = Self { records, leaves, powers, tree_at: tables.len() as u32, sky_radiance, sky_emitter };
        tables.extend(emitters.grow_tree());
        emitters
    }

    /// Recomputes the sampling table of an emissive surface. Returns its word offset and the cumulative probabilities
    /// of triangles, or `None` without emission.
    pub fn weigh_surface(&mut self, scene: &Scene, surface: SurfaceId, emitter: u32) -> Option<(u32, Vec<f32>)> {
        let (power, cumulative) = weigh_surface(scene, surface)?;
        self.powers[emitter as usize] = power;
        Some((self.records[emitter as usize].table + 1, cumulative))
    }

    /// Updates the light tree leaf of a surface after a move.
    pub fn place_surface(&mut self, scene: &Scene, surface: SurfaceId, emitter: u32) {
        self.leaves[emitter as usize] = light_node_of(scene, surface, self.powers[emitter as usize]);
    }

    /// Rebuilds the light trees from their leaves. Returns the words of the nodes, whose number never changes.
    pub fn grow_tree(&mut self) -> Vec<u32> {
        let tree = LightTree::new(&self.leaves);
        for (record, &trail) in self.records.iter_mut().zip(tree.trails()) {
            record.trail = trail;
        }
        bytemuck::cast_slice(tree.nodes()).to_vec()
    }
}

fn of_lamp(kind: LightKind) -> Record {
    match kind {
        LightKind::Point { position, intensity, radius, range } => Record {
            kind: POINT,
            place: position.to_array(),
            strength: intensity.to_array(),
            radius,
            range: range.min(FARTHEST),
            ..Record::default()
        },
        LightKind::Spot { position, direction, intensity, radius, range, inner_angle, outer_angle } => {
            let [inner_cosine, outer_cosine] = [inner_angle, outer_angle].map(cosine_of_cone);
            Record {
                kind: SPOT,
                place: position.to_array(),
                axis: direction.to_array(),
                strength: intensity.to_array(),
                radius,
                range: range.min(FARTHEST),
                inner_cosine,
                outer_cosine,
                ..Record::default()
            }
        }
        LightKind::Directional { direction, illuminance, angular_diameter } => Record {
            kind: SUN,
            axis: direction.to_array(),
            strength: illuminance.to_array(),
            radius: 0.5 * angular_diameter,
            ..Record::default()
        },
        // Rectangles are described elsewhere.
        LightKind::Rectangle { .. } => Record::default(),
    }
}

fn cosine_of_cone(angle: f32) -> f32 {
    use core::f32::consts::{FRAC_PI_2, TAU};
    sin_cos_turns(angle.min(FRAC_PI_2) / TAU).1
}

/// Returns the tree index of each triangle of the scene, in scene order. Degenerate triangles are not in the tree.
pub(super) fn numbers_in_tree(scene: &Scene, first_triangles: &[u32], sources: &[(SurfaceId, u32)]) -> Vec<u32> {
    let mut numbers = vec![NONE; scene.triangle_count()];
    for (number, &(surface, triangle)) in sources.iter().enumerate() {
        numbers[(first_triangles[surface.index()] + triangle) as usize] = number as u32;
    }
    numbers
}

#[cfg(test)]
crate::gpu::layouts::test_layouts! {
    Record as Emitter {
        place, kind, axis, range, strength, radius, width, inner_cosine, height, outer_cosine, padding, trail, table
    }
}
