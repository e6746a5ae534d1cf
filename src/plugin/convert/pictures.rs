//! Textures of standard materials.
//!
//! Some fields exist only with Bevy's features `pbr_transmission_textures`, `pbr_multi_layer_material_textures` and
//! `pbr_specular_textures`. This crate does not enable them, so it finds these fields by reflection.

use bevy::mesh::UvChannel as BevyUvChannel;
use bevy::pbr::StandardMaterial;
use bevy::prelude::{Handle, Image};
use bevy::reflect::structs::Struct;

use crate::scene::{Problem, TEXTURE_SLOTS, UvChannel, UvSets};

/// Texture and its UV channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picture<'a> {
    pub image: &'a Handle<Image>,
    pub channel: &'a BevyUvChannel,
}

/// Field of `StandardMaterial` that each texture of [`pictures_of`] comes from, for messages.
pub const PICTURE_FIELDS: [&str; TEXTURE_SLOTS] = [
    "base_color_texture",
    "metallic_roughness_texture",
    "emissive_texture",
    NORMAL_MAP_FIELD,
    "clearcoat_texture",
    "clearcoat_roughness_texture",
    "specular_transmission_texture",
    "specular_texture",
    "specular_tint_texture",
    "diffuse_transmission_texture",
    "base_color_texture",
];

/// Field of the only texture without a factor.
pub const NORMAL_MAP_FIELD: &str = "normal_map_texture";

/// Returns the relevant textures of a material, for bakes or for views, in the order of
/// [`crate::scene::Material::textures_mut`].
pub fn pictures_of(material: &StandardMaterial, is_for_view: bool) -> [Option<Picture<'_>>; TEXTURE_SLOTS] {
    fn known<'a>(image: &'a Option<Handle<Image>>, channel: &'a BevyUvChannel) -> Option<Picture<'a>> {
        image.as_ref().map(|image| Picture { image, channel })
    }
    let has_coat = material.clearcoat > 0.0;
    let is_translucent = material.diffuse_transmission > 0.0;
    let optional = |name, matters: bool| if matters { optional_picture(material, name) } else { None };
    [
        known(&material.base_color_texture, &material.base_color_channel),
        known(&material.metallic_roughness_texture, &material.metallic_roughness_channel),
        known(&material.emissive_texture, &material.emissive_channel),
        known(&material.normal_map_texture, &material.normal_map_channel).filter(|_| is_for_view),
        optional("clearcoat", has_coat),
        optional("clearcoat_roughness", has_coat),
        optional("specular_transmission", material.specular_transmission > 0.0),
        optional("specular", true),
        optional("specular_tint", true),
        optional("diffuse_transmission", is_translucent),
        // Bevy draws what is scattered through in the base color.
        known(&material.base_color_texture, &material.base_color_channel).filter(|_| is_translucent),
    ]
}

/// Returns the UV channels that Bevy reads for a material. Occlusion does not count, since bakes include it.
pub fn drawn_uv(material: &StandardMaterial) -> UvSets {
    let mut sets = UvSets::default();
    for picture in pictures_but_occlusion(material) {
        sets.insert(match picture.channel {
            BevyUvChannel::Uv0 => UvChannel::Uv0,
            BevyUvChannel::Uv1 => UvChannel::Uv1,
        });
    }
    sets
}

fn pictures_but_occlusion(material: &StandardMaterial) -> impl Iterator<Item = Picture<'_>> {
    let names = (0..material.field_len()).filter_map(move |index| material.name_at(index)?.strip_suffix("_texture"));
    names.filter(|name| *name != "occlusion").filter_map(move |name| optional_picture(material, name))
}

/// Switches all textures from UV_1 to UV_0.
pub fn move_to_uv0(material: &mut StandardMaterial) {
    for index in 0..material.field_len() {
        let channel = Struct::field_at_mut(material, index).and_then(|field| field.try_downcast_mut::<BevyUvChannel>());
        if let Some(channel) = channel {
            *channel = BevyUvChannel::Uv0;
        }
    }
}

/// Returns the problem of a relevant texture that is not supported, if the material has one.
pub fn ignored_picture(name: &str, material: &StandardMaterial, is_for_view: bool) -> Option<Problem> {
    let has_bumpy_coat =
        is_for_view && material.clearcoat > 0.0 && optional_picture(material, "clearcoat_normal").is_some();
    has_bumpy_coat.then(|| Problem::IgnoredTexture {
        material: name.to_owned(),
        texture: "clearcoat_normal_texture".to_owned(),
        reason: "a clear coat has the bumps of what is below it".to_owned(),
    })
}

/// Returns a texture from fields that a material may lack.
fn optional_picture<'a>(material: &'a dyn Struct, name: &str) -> Option<Picture<'a>> {
    let image = material.field(&format!("{name}_texture"))?.try_downcast_ref::<Option<Handle<Image>>>()?.as_ref()?;
    let channel = material.field(&format!("{name}_channel"))?.try_downcast_ref()?;
    Some(Picture { image, channel })
}

#[cfg(test)]
mod tests {
    use bevy::reflect::Reflect;

    use super::*;

    #[test]
    fn pictures_that_only_some_apps_have_are_found_by_name() {
        #[derive(Reflect)]
        struct Coating {
            clearcoat_texture: Option<Handle<Image>>,
            clearcoat_channel: BevyUvChannel,
            unset_texture: Option<Handle<Image>>,
            unset_channel: BevyUvChannel,
        }
        let coating = Coating {
            clearcoat_texture: Some(Handle::default()),
            clearcoat_channel: BevyUvChannel::Uv1,
            unset_texture: None,
            unset_channel: BevyUvChannel::Uv0,
        };
        let expected = Picture { image: &Handle::default(), channel: &BevyUvChannel::Uv1 };
        assert_eq!(optional_picture(&coating, "clearcoat"), Some(expected));
        assert_eq!(optional_picture(&coating, "unset"), None);
        assert_eq!(optional_picture(&coating, "specular_transmission"), None);
    }

    /// Creates a coated pane with all textures that this build of Bevy has. Also returns how many of `names` it has.
    fn coated_pane(names: &[&str]) -> (StandardMaterial, usize) {
        let factors = StandardMaterial { clearcoat: 1.0, specular_transmission: 1.0, ..StandardMaterial::default() };
        let mut material = StandardMaterial { normal_map_texture: Some(Handle::default()), ..factors };
        let mut set = |name: &&&str| {
            let field = Struct::field_mut(&mut material, &format!("{name}_texture"));
            field.is_some_and(|field| {
                field.apply(&Some(Handle::<Image>::default()));
                true
            })
        };
        let known = names.iter().filter(&mut set).count();
        (material, known)
    }

    #[test]
    fn views_read_all_that_bevy_has_and_bakes_all_but_bumps() {
        let names = ["base_color", "clearcoat", "clearcoat_roughness", "specular_transmission"];
        let (mut material, known) = coated_pane(&names);
        println!("this build of Bevy has {known} of {names:?}");
        let count =
            |material: &StandardMaterial, is_for_view| pictures_of(material, is_for_view).iter().flatten().count();
        assert_eq!(count(&material, true), known + 1);
        assert_eq!(count(&material, false), known);
        (material.clearcoat, material.specular_transmission) = (0.0, 0.0);
        assert_eq!(count(&material, true), 2);
    }

    #[test]
    fn a_picture_that_is_not_read_is_named() {
        let (material, known) = coated_pane(&["clearcoat_normal"]);
        let sentences: Vec<String> = ignored_picture("pane", &material, true).iter().map(ToString::to_string).collect();
        assert_eq!(sentences.len(), known, "{sentences:?}");
        assert!(sentences.iter().all(|sentence| sentence.contains("_texture of material 'pane' is ignored")));
    }

    #[test]
    fn what_is_scattered_through_a_leaf_has_the_color_of_its_picture() {
        let mut leaf = StandardMaterial { base_color_texture: Some(Handle::default()), ..StandardMaterial::default() };
        assert_eq!(pictures_of(&leaf, false).iter().flatten().count(), 1);
        leaf.diffuse_transmission = 0.5;
        let pictures = pictures_of(&leaf, false);
        assert_eq!((pictures[0], pictures.iter().flatten().count()), (pictures[TEXTURE_SLOTS - 1], 2));
    }
}
