//! Support of extensions, and warnings about the others.

use gltf::json::Root;

use crate::scene::Problem;
use crate::scene_files::source::Source;
use crate::scene_files::{Purpose, SceneError};

/// Support of an extension.
enum Support {
    /// The extension is read, or does not affect any picture or lightmap.
    Full,
    /// Only pictures are affected, as the text says; lightmaps are not.
    Pictures(&'static str),
    /// The light is affected, as the text says.
    Light(&'static str),
    /// The geometry is compressed in an unsupported way. The text tells how to decompress it.
    Packed(&'static str),
}

use Support::{Full, Light, Packed, Pictures};

const UNPACK_MESHES: &str = "export it without compression (in Blender, switch Compression off)";

/// All known extensions.
const KNOWN: [(&str, Support); 56] = [
    ("KHR_lights_punctual", Full),
    ("KHR_animation_pointer", Full),
    ("KHR_node_visibility", Full),
    ("KHR_mesh_quantization", Full),
    ("EXT_mesh_gpu_instancing", Full),
    ("KHR_texture_transform", Full),
    ("KHR_texture_basisu", Full),
    ("EXT_texture_webp", Full),
    ("EXT_texture_avif", Full),
    ("MSFT_texture_dds", Full),
    ("KHR_materials_clearcoat", Full),
    ("KHR_materials_diffuse_transmission", Full),
    ("KHR_materials_emissive_strength", Full),
    ("KHR_materials_ior", Full),
    ("KHR_materials_pbrSpecularGlossiness", Full),
    ("KHR_materials_specular", Full),
    ("KHR_materials_transmission", Full),
    ("KHR_materials_unlit", Full),
    ("KHR_materials_volume", Full),
    ("KHR_materials_anisotropy", Pictures("highlights are round")),
    ("KHR_materials_dispersion", Pictures("glass does not part colors")),
    ("KHR_materials_iridescence", Pictures("nothing is iridescent")),
    ("KHR_materials_sheen", Light("fabrics have no sheen")),
    ("KHR_materials_volume_scatter", Light("solids do not scatter light within")),
    ("KHR_materials_subsurface", Light("solids do not scatter light within")),
    ("KHR_materials_variants", Light("each surface has its default material, no variant")),
    ("KHR_techniques_webgl", Light("materials that are shaders have glTF's default looks")),
    ("EXT_lights_image_based", Light("the sky is dark; give it by --sky")),
    ("EXT_lights_ies", Light("lamps shine alike in all directions")),
    ("KHR_lights_environment", Light("the sky is dark; give it by --sky")),
    ("KHR_lights_image_based", Light("the sky is dark; give it by --sky")),
    ("KHR_environment_map", Light("the sky is dark; give it by --sky")),
    ("CESIUM_RTC", Light("its center is not added to positions")),
    ("KHR_draco_mesh_compression", Packed(UNPACK_MESHES)),
    ("EXT_meshopt_compression", Packed(UNPACK_MESHES)),
    ("KHR_meshopt_compression", Packed(UNPACK_MESHES)),
    ("MESHOPT_compression", Packed(UNPACK_MESHES)),
    ("KHR_audio", Full),
    ("KHR_audio_emitter", Full),
    ("KHR_interactivity", Full),
    ("KHR_node_hoverability", Full),
    ("KHR_node_selectability", Full),
    ("KHR_physics_rigid_bodies", Full),
    ("KHR_implicit_shapes", Full),
    ("KHR_collision_shapes", Full),
    ("KHR_xmp", Full),
    ("KHR_xmp_json_ld", Full),
    ("EXT_structural_metadata", Full),
    ("EXT_mesh_features", Full),
    ("EXT_instance_features", Full),
    ("EXT_mesh_manifold", Full),
    ("FB_geometry_metadata", Full),
    ("GODOT_single_root", Full),
    ("MSFT_lod", Full),
    ("OMI_physics_body", Full),
    ("OMI_physics_shape", Full),
];

/// Reports the effects of extensions that are not fully supported.
///
/// # Errors
/// When the file requires an unknown extension, or one that compresses its geometry.
pub fn report(root: &Root, source: &Source, purpose: Purpose, warnings: &mut Vec<Problem>) -> Result<(), SceneError> {
    let mut names: Vec<&String> = root.extensions_used.iter().chain(&root.extensions_required).collect();
    names.sort();
    names.dedup();
    for name in names {
        let is_required = root.extensions_required.contains(name);
        let support = KNOWN.iter().find(|(known, _)| known == name).map(|(_, support)| support);
        match support {
            Some(Full) => {}
            Some(Pictures(_)) if purpose == Purpose::Bake => {}
            Some(Pictures(loss) | Light(loss)) => {
                warnings.push(Problem::ExtensionNotDrawn { name: name.clone(), loss });
            }
            // Compressed geometry that is not required has an uncompressed fallback.
            Some(Packed(_)) if !is_required => {}
            Some(Packed(remedy)) => {
                let (file, extension) = (source.name.clone(), name.clone());
                return Err(SceneError::PackedGeometry { file, extension, remedy });
            }
            None if is_required => {
                return Err(SceneError::RequiredExtension { file: source.name.clone(), extension: name.clone() });
            }
            None => warnings.push(Problem::UnknownExtension { name: name.clone() }),
        }
    }
    Ok(())
}
