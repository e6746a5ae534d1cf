//! Load factors: quantities that a partition balances.

use serde::{Deserialize, Serialize};

use super::{PartitionError, Polygons};

/// Upper limit of the weight of power. Beyond this weight, areas are lost to rounding.
const MAX_WEIGHT: f64 = 1e12;

/// Load of a polygon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// Area of the polygon. Approximates its share of elements, and of rays once light has spread.
    #[default]
    Area,
    /// Emitted power of the polygon, which is its share of the first rays.
    Power,
    /// Weighted share of the power plus share of the area (equation 4.11 of the thesis, which uses weights from 0 to
    /// 15).
    Both(f64),
}

impl Factor {
    /// Returns the load of each polygon. Loads sum to 1, plus the weight for [`Factor::Both`].
    ///
    /// # Errors
    /// Returns an error if the load depends on power and there is none, or if the weight is invalid.
    pub fn loads(self, polygons: &Polygons) -> Result<Vec<f64>, PartitionError> {
        let (of_power, of_area) = match self {
            Self::Area => (0.0, 1.0),
            Self::Power => (1.0, 0.0),
            Self::Both(weight) if (0.0..=MAX_WEIGHT).contains(&weight) => (weight, 1.0),
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
