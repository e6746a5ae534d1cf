//! What hits ask about surfaces, worked out once.

use glam::Vec3;

use crate::scene::{Appearance, LightSampler, Scene, Sides};

/// What a surface looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Look {
    /// Matt and smooth, with the same reflectance everywhere.
    Matt(Vec3),
    /// The same everywhere.
    Plain(Appearance),
    /// As pictures say.
    Pictured,
}

/// What a surface is to a path that meets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub look: Look,
    /// Its back takes all light.
    pub is_one_sided: bool,
    /// It gives off light, be it an emitter to aim at or not.
    pub shines: bool,
}

impl Facts {
    /// Of all surfaces of a scene.
    pub fn of_all(scene: &Scene, lights: &LightSampler) -> Vec<Self> {
        let facts = |id| {
            let material = scene.material_of(id);
            let is_smooth = material.normal_texture.is_none() && material.solid_glass().is_none();
            let look = match material.plain_appearance(scene.mesh_of(id)) {
                Some(appearance) if is_smooth && appearance.is_matt() => Look::Matt(appearance.base_color),
                Some(appearance) => Look::Plain(appearance),
                None => Look::Pictured,
            };
            let is_one_sided = scene.surface(id).sides == Sides::Front;
            Self { look, is_one_sided, shines: lights.emitter_of(id).is_some() || material.is_emissive() }
        };
        scene.surface_ids().map(facts).collect()
    }
}

#[cfg(test)]
mod tests {
    use glam::Vec3;

    use super::*;
    use crate::pathtrace::fixtures::{add_part, clear_glass};
    use crate::scene::{Material, Role, TextureId, TextureRef, shapes};

    #[test]
    fn only_what_is_matt_all_over_and_smooth_is_taken_for_matt() {
        let brown = Vec3::new(0.4, 0.2, 0.1);
        let matt = Material::diffuse("matt", brown);
        let picture = Some(TextureRef::new(TextureId(0)));
        let mut scene = Scene::default();
        for material in [
            matt.clone(),
            Material { clearcoat: 0.5, ..matt.clone() },
            Material { normal_texture: picture, ..matt.clone() },
            Material { base_color_texture: picture, ..matt.clone() },
            clear_glass(1.5, Vec3::ZERO),
        ] {
            add_part(&mut scene, shapes::cuboid("part", Vec3::NEG_ONE, Vec3::ONE), material);
        }
        let scene = scene.with_solid_glass();
        let looks: Vec<Look> =
            Facts::of_all(&scene, &LightSampler::new(&scene)).iter().map(|facts| facts.look).collect();
        assert_eq!(looks[0], Look::Matt(brown));
        assert!(matches!(looks[1..], [Look::Plain(_), Look::Plain(_), Look::Pictured, Look::Plain(_)]), "{looks:?}");
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
        let shines: Vec<bool> =
            Facts::of_all(&scene, &LightSampler::new(&scene)).iter().map(|facts| facts.shines).collect();
        assert_eq!(shines, [false, true, true]);
    }
}
