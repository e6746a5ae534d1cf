//! Cornell box of 2 m, with the reflectances of most renderers' scenes.

use glam::{Affine3A, Quat, Vec3, vec3};

use super::gltf_writer::{Document, Material, MaterialRef, Pose};
use super::shapes::{Face, Shape};

const WHITE: Vec3 = vec3(0.885_809, 0.698_859, 0.666_422);
const GREEN: Vec3 = vec3(0.105_421, 0.377_98, 0.076_425);
const RED: Vec3 = vec3(0.570_068, 0.043_013_5, 0.044_370_6);
const LIGHT: Vec3 = vec3(18.387, 13.9873, 6.753_57);

/// Returns the box from -1 to 1 m. It is open at +Z, with two blocks and a light just below the ceiling.
pub fn cornell_box() -> Document {
    let mut file = Document::default();
    let white = file.material(Material::diffuse("white", WHITE));
    let green = file.material(Material::diffuse("green", GREEN));
    let red = file.material(Material::diffuse("red", RED));
    let light = file.material(Material { emission: LIGHT, ..Material::diffuse("light", Vec3::ZERO) });

    let mut add = |name: &str, shape: &Shape, material: MaterialRef| {
        let mesh = file.mesh(name, &[(shape, material)]);
        file.place(name, mesh, Pose::HERE);
    };
    let mut wall = |name: &str, corner: Vec3, right: Vec3, up: Vec3, material: MaterialRef| {
        let mut shape = Shape::default();
        shape.rectangle(corner, right, up);
        add(name, &shape, material);
    };
    let (x, y, z) = (Vec3::X * 2.0, Vec3::Y * 2.0, Vec3::Z * 2.0);
    wall("floor", vec3(-1.0, -1.0, 1.0), x, -z, white);
    wall("ceiling", vec3(-1.0, 1.0, -1.0), x, z, white);
    wall("back", vec3(-1.0, -1.0, -1.0), x, y, white);
    wall("left", vec3(-1.0, -1.0, 1.0), -z, y, red);
    wall("right", vec3(1.0, -1.0, -1.0), z, y, green);
    wall("light", vec3(-0.23, 0.99, -0.19), Vec3::X * 0.46, Vec3::Z * 0.38, light);

    let mut block = |name: &str, middle: Vec3, half: Vec3, degrees: f32| {
        let mut shape = Shape::default();
        shape.cuboid(-half, half, &[Face::Bottom]);
        let turn = Quat::from_rotation_y(degrees.to_radians());
        add(name, &shape.moved(Affine3A::from_rotation_translation(turn, middle)), white);
    };
    block("small_block", vec3(0.335, -0.7, 0.38), Vec3::splat(0.3), -17.0);
    block("large_block", vec3(-0.33, -0.4, -0.28), vec3(0.3, 0.6, 0.3), 18.25);
    file
}
