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
            let look = match material.plain_appearance() {
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
