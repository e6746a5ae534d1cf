//! From Bevy's assets and components to the scene's plain data, one kind a file.
//!
//! Nothing here touches the ECS: each function takes a Bevy value and yields ours, or says why it cannot.

mod cube;
mod image;
mod light;
mod material;
mod mesh;
mod pictures;

pub use cube::{direction_on_face, picture_of_cube};
pub use image::{ImageProblem, texture_from_image};
pub use light::{directional_light, linear_rgb, point_light, rect_light, spot_light};
pub use material::{emission_factor, material_from_standard, sides_of};
pub use mesh::{MeshProblem, mesh_from_bevy};
pub use pictures::{Picture, drawn_uv, ignored_pictures, move_to_uv0, pictures_of};
