//! Conversion of Bevy's assets and components to the plain scene, one kind per file.
//!
//! No function here accesses the ECS. Each takes a Bevy value and returns ours, or the reason why it cannot.
//!
//! | file | contents |
//! | --- | --- |
//! | `mesh` | meshes to indexed triangle lists |
//! | `image` | images to decoded textures |
//! | `cube` | cube maps to equirectangular environment maps |
//! | `material` | standard materials without their textures |
//! | `pictures` | textures and UV channels of standard materials |
//! | `light` | lights to candela, lux and cd/m2 |

mod cube;
mod image;
mod light;
mod material;
mod mesh;
mod pictures;

pub use cube::{direction_on_face, picture_of_cube};
pub use image::{ImageProblem, texture_from_image};
pub use light::{directional_light, linear_rgb, point_light, rect_light, spot_light};
pub use material::{emission_of, material_from_standard, sides_of};
pub use mesh::{MeshProblem, mesh_from_bevy};
pub use pictures::{NORMAL_MAP_FIELD, PICTURE_FIELDS, Picture, drawn_uv, ignored_picture, move_to_uv0, pictures_of};
