//! Choice of the charting method.

use serde::{Deserialize, Serialize};

/// Method that groups a mesh's triangles into charts and flattens them. Packing, and the guarantees of the result, do
/// not depend on the method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum Unwrapper {
    /// Merges neighbors within a cone of normals and projects them. Gives few charts with straight edges, suited to
    /// levels. The default.
    #[default]
    Charts,
    /// xatlas: charts flattened by least squares conformal maps, which follow rounded shapes.
    #[cfg(feature = "xatlas")]
    Xatlas,
}
