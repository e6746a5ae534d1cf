//! What cells are to share out evenly.

use serde::{Deserialize, Serialize};

use super::{PartitionError, Polygons};

/// Beside this weight of power, areas vanish in sums.
const MOST_WEIGHT: f64 = 1e12;

/// What the load of a polygon is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// Its area: about its share of the elements, and of the rays once light is everywhere.
    #[default]
    Area,
    /// The power that it emits: its share of the rays at first.
    Power,
    /// So many times its share of the power, and its share of the area (equation 4.11 of the thesis, which has 0 to 15).
    Both(f64),
}

impl Factor {
    /// The load of each polygon; the sum is 1, or 1 more than the weight of power.
    ///
    /// # Errors
    /// When power is to be shared out and there is none, or its weight is no weight.
    pub fn loads(self, polygons: &Polygons) -> Result<Vec<f64>, PartitionError> {
        let (of_power, of_area) = match self {
            Self::Area => (0.0, 1.0),
            Self::Power => (1.0, 0.0),
            Self::Both(weight) if (0.0..=MOST_WEIGHT).contains(&weight) => (weight, 1.0),
            Self::Both(weight) => return Err(PartitionError::Weight(weight)),
        };
        let areas: Vec<f64> = (0..polygons.len()).map(|polygon| polygons.area(polygon)).collect();
        let area: f64 = areas.iter().sum();
        let power: f64 = (0..polygons.len()).map(|polygon| polygons.power(polygon)).sum();
        if of_power > 0.0 && power <= 0.0 {
            return Err(PartitionError::NoPower);
        }
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let load = |(polygon, part)| of_power * share(polygons.power(polygon), power) + of_area * share(part, area);
        Ok(areas.into_iter().enumerate().map(load).collect())
    }
}
