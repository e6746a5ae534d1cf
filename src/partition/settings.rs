//! Settings of a partition.

use serde::{Deserialize, Serialize};

use super::{Factor, Partition, PartitionError};

/// Method of partitioning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum PartitionKind {
    /// Grid of equal boxes, for any count. Cells have few neighbors but uneven loads.
    Uniform,
    /// Recursive bisection into halves of equal load, for powers of two. Cells have more neighbors.
    #[default]
    Balanced,
    /// Octree: eight equal boxes, and boxes above the mean load are split again. A compromise between the others.
    Hybrid,
}

/// Choice of the axis on which a balanced partition halves a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(rename_all = "lowercase")]
pub enum AxisChoice {
    /// Axis on which a plane through the middle divides the load best (thesis section 3.1).
    Middle,
    /// Axis on which the best-balanced plane leaves the most equal volumes, so that few rays cross the plane (thesis
    /// section 4.2.1).
    #[default]
    Volume,
}

/// Settings of [`Partition::new`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "plugin", derive(bevy::reflect::Reflect))]
#[serde(default, deny_unknown_fields)]
pub struct PartitionSettings {
    /// Method of partitioning. Default balanced.
    pub kind: PartitionKind,
    /// Number of cells. A power of two for balanced partitions, an upper limit for hybrid ones. Default 8.
    pub count: u32,
    /// Maximum level of hybrid cells: a limit n allows 8^n cells. The thesis most likely limits levels alone. `None`
    /// limits only the number of cells. Default `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level_limit: Option<u32>,
    /// Load to balance. Uniform partitions ignore this setting. Default area.
    pub factor: Factor,
    /// Axis choice of balanced partitions. Default by volume.
    pub axis: AxisChoice,
    /// Accepted imbalance of the halves of a cut, as [`imbalance_of_two`](super::imbalance_of_two) measures it. Lower
    /// values balance loads better but search longer. Default 1e-3.
    pub tolerance: f64,
}

impl Default for PartitionSettings {
    fn default() -> Self {
        Self {
            kind: PartitionKind::default(),
            count: 8,
            level_limit: None,
            factor: Factor::default(),
            axis: AxisChoice::default(),
            tolerance: 1e-3,
        }
    }
}

impl PartitionSettings {
    /// Checks for settings that fit no scene.
    ///
    /// # Errors
    /// Returns an error that names the invalid setting and the valid values.
    pub fn check(&self) -> Result<(), PartitionError> {
        let count = self.count;
        if count == 0 {
            return Err(PartitionError::NoCells);
        }
        if count > Partition::MAX_CELLS {
            return Err(PartitionError::TooMany { count, max: Partition::MAX_CELLS });
        }
        match (self.level_limit, self.kind) {
            (Some(0), PartitionKind::Hybrid) => return Err(PartitionError::LevelZero),
            (Some(_), PartitionKind::Uniform | PartitionKind::Balanced) => return Err(PartitionError::NoLevels),
            _ => {}
        }
        match self.kind {
            PartitionKind::Balanced if !count.is_power_of_two() => {
                let above = count.next_power_of_two();
                Err(PartitionError::NoPowerOfTwo { count, below: above / 2, above })
            }
            PartitionKind::Hybrid if count < 8 => Err(PartitionError::FewerThanEight { count }),
            _ => Ok(()),
        }
    }
}
