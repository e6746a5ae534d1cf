//! The pictures of standard materials.
//!
//! Some exist only in apps that switch on Bevy's features `pbr_transmission_textures`,
//! `pbr_multi_layer_material_textures` and `pbr_specular_textures`. This crate does not, so those fields are looked up by
//! name.

use bevy::mesh::UvChannel as BevyUvChannel;
use bevy::pbr::StandardMaterial;
use bevy::prelude::{Handle, Image};
use bevy::reflect::structs::Struct;

use crate::scene::{PICTURES, Problem, UvChannel, UvSets};

/// A picture, and the texture coordinates that it is read with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Picture<'a> {
    pub image: &'a Handle<Image>,
    pub channel: &'a BevyUvChannel,
}

/// The pictures of a material that matter, for bakes or for views, in the order of [`crate::scene::Material::textures_mut`].
pub fn pictures_of(material: &StandardMaterial, is_for_view: bool) -> [Option<Picture<'_>>; PICTURES] {
    fn known<'a>(image: &'a Option<Handle<Image>>, channel: &'a BevyUvChannel) -> Option<Picture<'a>> {
        image.as_ref().map(|image| Picture { image, channel })
    }
    let has_coat = material.clearcoat > 0.0;
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
    ]
}

/// The texture coordinates that Bevy reads for a material, but for occlusion: what is baked has that already.
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

/// Lets all textures that are read with UV_1 read UV_0.
pub fn move_to_uv0(material: &mut StandardMaterial) {
    for index in 0..material.field_len() {
        let channel = Struct::field_at_mut(material, index).and_then(|field| field.try_downcast_mut::<BevyUvChannel>());
        if let Some(channel) = channel {
            *channel = BevyUvChannel::Uv0;
        }
    }
}

/// The pictures of a material that would matter and are not read.
pub fn ignored_pictures(name: &str, material: &StandardMaterial, is_for_view: bool) -> Vec<Problem> {
    let has_coat = is_for_view && material.clearcoat > 0.0;
    let is_translucent = material.diffuse_transmission > 0.0;
    let candidates = [
        ("clearcoat_normal", has_coat, "a clear coat has the bumps of what is below it"),
        ("diffuse_transmission", is_translucent, "its factor alone is used"),
    ];
    let matters =
        candidates.into_iter().filter(|(field, matters, _)| *matters && optional_picture(material, field).is_some());
    matters
        .map(|(field, _, reason)| Problem::IgnoredTexture {
            material: name.to_owned(),
            texture: format!("{field}_texture"),
            reason: reason.to_owned(),
        })
        .collect()
}

/// A picture in fields that a material may not have.
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
        struct Varnish {
            clearcoat_texture: Option<Handle<Image>>,
            clearcoat_channel: BevyUvChannel,
            bare_texture: Option<Handle<Image>>,
            bare_channel: BevyUvChannel,
        }
        let varnish = Varnish {
            clearcoat_texture: Some(Handle::default()),
            clearcoat_channel: BevyUvChannel::Uv1,
            bare_texture: None,
            bare_channel: BevyUvChannel::Uv0,
        };
        let expected = Picture { image: &Handle::default(), channel: &BevyUvChannel::Uv1 };
        assert_eq!(optional_picture(&varnish, "clearcoat"), Some(expected));
        assert_eq!(optional_picture(&varnish, "bare"), None);
        assert_eq!(optional_picture(&varnish, "specular_transmission"), None);
    }

    /// A coated pane of glass with all the pictures that this build of Bevy knows, and how many of some it knows.
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
    fn pictures_that_are_not_read_are_named() {
        let names = ["clearcoat_normal", "diffuse_transmission"];
        let (mut material, known) = coated_pane(&names);
        material.diffuse_transmission = 0.5;
        let sentences: Vec<String> =
            ignored_pictures("pane", &material, true).iter().map(ToString::to_string).collect();
        assert_eq!(sentences.len(), known, "{sentences:?}");
        assert!(sentences.iter().all(|sentence| sentence.contains("_texture of material 'pane' is ignored")));
    }
}
