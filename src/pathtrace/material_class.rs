//! Precomputed surface properties for path tracing.

use glam::Vec3;

use crate::lights::LightSampler;
use crate::scene::{Appearance, Scene, Sides};

/// Material class of a surface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum MaterialClass {
    /// Diffuse, without normal map, with constant albedo.
    Diffuse(Vec3),
    /// Constant appearance without textures.
    Constant(Appearance),
    /// Textured appearance.
    Textured,
}

/// Surface properties that a path needs at a hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct SurfaceProperties {
    pub class: MaterialClass,
    /// True if the back absorbs all light.
    pub is_one_sided: bool,
    /// True if the surface emits light, whether light sampling knows the emitter or not.
    pub shines: bool,
}

impl SurfaceProperties {
    /// Computes the properties of all surfaces of a scene.
    pub fn of_all(scene: &Scene, lights: &LightSampler) -> Vec<Self> {
        let properties = |id| {
            let material = scene.material_of(id);
            let is_smooth = material.normal_texture.is_none() && material.solid_glass().is_none();
            let class = match material.constant_appearance(scene.mesh_of(id)) {
                Some(appearance) if is_smooth && appearance.is_diffuse() => {
                    MaterialClass::Diffuse(appearance.base_color)
                }
                Some(appearance) => MaterialClass::Constant(appearance),
                None => MaterialClass::Textured,
            };
            let is_one_sided = scene.surface(id).sides == Sides::Front;
            Self { class, is_one_sided, shines: lights.emitter_of(id).is_some() || material.is_emissive() }
        };
        scene.surface_ids().map(properties).collect()
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::pathtrace::fixtures::{add_part, clear_glass};
    use crate::scene::{Material, Role, TextureId, TextureRef, shapes};

    #[test]
    fn only_what_is_diffuse_all_over_and_smooth_is_taken_for_diffuse() {
        let brown = Vec3::new(0.4, 0.2, 0.1);
        let diffuse = Material::diffuse("diffuse", brown);
        let picture = Some(TextureRef::new(TextureId(0)));
        let mut scene = Scene::default();
        for material in [
            diffuse.clone(),
            Material { clearcoat: 0.5, ..diffuse.clone() },
            Material { normal_texture: picture, ..diffuse.clone() },
            Material { base_color_texture: picture, ..diffuse.clone() },
            clear_glass(1.5, Vec3::ZERO),
        ] {
            add_part(&mut scene, shapes::cuboid("part", Vec3::NEG_ONE, Vec3::ONE), material);
        }
        let scene = scene.with_solid_glass();
        let classes: Vec<MaterialClass> = SurfaceProperties::of_all(&scene, &LightSampler::new(&scene))
            .iter()
            .map(|properties| properties.class)
            .collect();
        assert_eq!(classes[0], MaterialClass::Diffuse(brown));
        assert!(
            matches!(
                classes[1..],
                [
                    MaterialClass::Constant(_),
                    MaterialClass::Constant(_),
                    MaterialClass::Textured,
                    MaterialClass::Constant(_)
                ]
            ),
            "{classes:?}"
        );
    }

    #[test]
    fn lamps_that_move_shine_though_they_are_no_emitters() {
        let mut scene = Scene::default();
        let shining = Material { emission: Vec3::ONE, ..Material::default() };
        for (material, role) in
            [(Material::default(), Role::Mover), (shining.clone(), Role::Static), (shining, Role::Mover)]
        {
            add_part(&mut scene, shapes::cuboid("part", Vec3::NEG_ONE, Vec3::ONE), material).role = role;
        }
        let shines: Vec<bool> = SurfaceProperties::of_all(&scene, &LightSampler::new(&scene))
            .iter()
            .map(|properties| properties.shines)
            .collect();
        assert_eq!(shines, [false, true, true]);
    }
}
