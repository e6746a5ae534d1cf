//! Car under an environment map, in place of the detailed object in Martinez's project on ray tracing clusters
//! (Zaragoza, 2016). Mesh and map are made by code.

use std::sync::Arc;

use glam::{Affine3A, Mat3, Quat, UVec3, Vec2, Vec3, Vec4};

use super::builder::Builder;
use super::finishes::metal;
use super::model::{Model, faces, tipped};
use crate::scene::shapes::{floor, implicit, lathe, torus};
use crate::scene::{EnvironmentMap, Material, MeshData, MipChains, Sky, Texels, Texture, Wrap};

/// Distance of the axles from the middle, and of the wheels' middles from the middle plane, in meters.
const AXLE: f32 = 1.3;
const TRACK: f32 = 0.72;
/// Radius of a wheel with its tire, in meters.
const WHEEL: f32 = 0.34;

/// Builds a car that faces positive X, on a gray floor.
pub(super) fn car() -> Builder {
    let mut builder = Builder::default();
    builder.add(floor("floor", 14.0), Vec3::splat(0.35), Vec3::ZERO);
    let paint = Material {
        clearcoat: 1.0,
        clearcoat_perceptual_roughness: 0.03,
        ..plastic("paint", Vec3::new(0.55, 0.02, 0.015), 0.5)
    };
    let cells = |size: Vec3, edge: f32| (size / edge).ceil().as_uvec3();
    let body = |name: &str, corner: Vec3, size: Vec3, distance: fn(Vec3) -> f32| {
        const EDGE: f32 = 0.05;
        implicit(name, corner, EDGE, cells(size, EDGE) + UVec3::ONE, distance)
    };
    let corner = Vec3::new(-2.25, 0.1, -0.95);
    builder.add_made_of(body("body", corner, Vec3::new(4.5, 0.95, 1.9), body_distance), paint.clone());
    let corner = Vec3::new(-1.6, 0.6, -0.8);
    let windows = plastic("windows", Vec3::splat(0.01), 0.0);
    builder.add_made_of(body("windows", corner, Vec3::new(2.8, 0.9, 1.6), cabin_distance), windows);
    let corner = Vec3::new(-1.2, 1.28, -0.65);
    builder.add_made_of(
        body("roof", corner, Vec3::new(1.8, 0.25, 1.3), roof_distance),
        Material { name: "roof".into(), ..paint },
    );
    let wheels = [-AXLE, AXLE].into_iter().flat_map(|x| [-TRACK, TRACK].map(|z| Vec3::new(x, WHEEL, z)));
    let tire = builder.make_diffuse(torus("tire", WHEEL - 0.1, 0.1, 48, 16), Vec3::splat(0.03));
    let rim = builder.make(rim(), metal("rim", Vec3::new(0.8, 0.8, 0.82), 0.25));
    for (index, at) in wheels.enumerate() {
        // The axis of rings is vertical.
        let quarter = tipped(core::f32::consts::FRAC_PI_2);
        let place = Affine3A::from_mat3_translation(Mat3::from(quarter.matrix3), at);
        builder.place(&format!("tire_{index}"), tire, place);
        builder.place(&format!("rim_{index}"), rim, place);
    }
    let lights = Model::new("lights").cuboid([2.08, 0.58, -0.68], [2.16, 0.68, -0.4], faces::WHOLE).cuboid(
        [2.08, 0.58, 0.4],
        [2.16, 0.68, 0.68],
        faces::WHOLE,
    );
    builder.add_made_of(lights.mesh(), metal("lights", Vec3::splat(0.95), 0.05));
    builder.scene.sky = Sky::Map(environment());
    builder.add_camera("whole", Vec3::new(4.6, 1.7, 4.4), Vec3::new(0.1, 0.55, 0.0), 34.0);
    builder
}

fn plastic(name: &str, color: Vec3, perceptual_roughness: f32) -> Material {
    Material { name: name.into(), base_color: color.extend(1.0), perceptual_roughness, ..Material::default() }
}

/// Returns the distance to a box with round edges, in meters, negative inside.
fn to_box(place: Vec3, half: Vec3, radius: f32) -> f32 {
    let outside = place.abs() - (half - radius);
    outside.max(Vec3::ZERO).length() + outside.max_element().min(0.0) - radius
}

/// Returns the approximate distance to the body: a box that falls towards its ends, without the wheel arches.
fn body_distance(place: Vec3) -> f32 {
    let end = (place.x.abs() - 0.9).max(0.0);
    // The bonnet is lower than the boot.
    let fall = if place.x > 0.0 { 0.1 } else { 0.05 } * end * end;
    let narrow = 0.05 * end * end;
    let body =
        to_box(place - Vec3::new(0.0, 0.58 - 0.5 * fall, 0.0), Vec3::new(2.12, 0.36 - 0.5 * fall, 0.86 - narrow), 0.16);
    let to_axle = Vec2::new(place.x.abs() - AXLE, place.y - WHEEL).length() - (WHEEL + 0.07);
    let arch = to_axle.max(0.5 - place.z.abs());
    body.max(-arch)
}

/// Returns the approximate distance to the cabin, which becomes smaller upwards.
fn cabin_distance(place: Vec3) -> f32 {
    let rise = (place.y - 0.85).max(0.0);
    let half = Vec3::new(1.25 - 0.9 * rise, 0.36, 0.72 - 0.28 * rise);
    0.7 * to_box(place - Vec3::new(-0.3, 1.05, 0.0), half, 0.12)
}

fn roof_distance(place: Vec3) -> f32 {
    to_box(place - Vec3::new(-0.3, 1.4, 0.0), Vec3::new(0.75, 0.045, 0.55), 0.04)
}

fn rim() -> MeshData {
    let profile = [[0.0, -0.07], [0.2, -0.07], [0.2, 0.07], [0.15, 0.05], [0.05, 0.05], [0.0, 0.07]];
    lathe("rim", &profile.map(Vec2::from), 48)
}

/// Returns a sky that is brighter at the horizon, with a soft sun and dark ground.
fn environment() -> EnvironmentMap {
    const SIZE: [u32; 2] = [64, 32];
    let texel = |index: u32| {
        let (column, row) = (index % SIZE[0], index / SIZE[0]);
        let height = 1.0 - (row as f32 + 0.5) / (SIZE[1] / 2) as f32;
        let sky = Vec3::new(0.9, 0.95, 1.0).lerp(Vec3::new(0.2, 0.35, 0.8), height.clamp(0.0, 1.0));
        let is_sun = (6..=8).contains(&row) && (42..=44).contains(&column);
        if is_sun {
            Vec4::new(120.0, 110.0, 95.0, 1.0)
        } else if height < 0.0 {
            Vec4::new(0.12, 0.1, 0.08, 1.0)
        } else {
            sky.extend(1.0)
        }
    };
    let texture = Texture {
        name: "sky".into(),
        width: SIZE[0],
        height: SIZE[1],
        texels: Texels::Float((0..SIZE[0] * SIZE[1]).map(texel).collect()),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: MipChains::default(),
    };
    EnvironmentMap { texture: Arc::new(texture), scale: 2000.0, rotation: Quat::IDENTITY }
}
