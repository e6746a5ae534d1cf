//! Who makes charts.

use serde::{Deserialize, Serialize};

/// Who groups a mesh's triangles into charts and lays them flat. Packing, and what is promised of the result, are the
/// same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unwrapper {
    /// Neighbours merged within a cone of normals and projected: few charts with straight edges, for levels.
    #[default]
    Charts,
    /// xatlas: charts laid flat by least squares conformal maps, which bend with rounded shapes.
    #[cfg(feature = "xatlas")]
    Xatlas,
}
