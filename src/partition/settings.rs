//! What kind of partition is wanted.

use serde::{Deserialize, Serialize};

use super::{Factor, Partition, PartitionError};

/// How cells are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartitionKind {
    /// Boxes of one size in rows, for any count: few neighbours, whatever the load.
    Uniform,
    /// Boxes that are halved so that both halves have the same load, for counts that are powers of two: more neighbours.
    #[default]
    Balanced,
    /// Eight boxes of one size; those with more than the mean load become eight in turn: between the two.
    Hybrid,
}

/// Along which axis a balanced partition halves a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AxisChoice {
    /// Where a plane through the middle divides the load best (section 3.1 of the thesis).
    Middle,
    /// Where the plane that divides the load best leaves the most equal volumes, so that few rays cross it (section
    /// 4.2.1 there).
    #[default]
    Volume,
}

/// How a scene is to be cut into cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PartitionSettings {
    /// How cells are made.
    pub kind: PartitionKind,
    /// How many: a power of two for balanced partitions, at most so many for hybrid ones.
    pub count: u32,
    /// What is shared out evenly. Uniform partitions do not look at it.
    pub factor: Factor,
    /// Along which axis balanced partitions cut.
    pub axis: AxisChoice,
    /// How unequal the halves of a cut may be, as [`imbalance_of_two`](super::imbalance_of_two) says it: less makes
    /// loads more equal and the search longer.
    pub tolerance: f64,
}

impl Default for PartitionSettings {
    fn default() -> Self {
        Self {
            kind: PartitionKind::default(),
            count: 8,
            factor: Factor::default(),
            axis: AxisChoice::default(),
            tolerance: 1e-3,
        }
    }
}

impl PartitionSettings {
    /// Finds settings that no scene can be cut with.
    ///
    /// # Errors
    /// Names what is wrong, and what may be asked for.
    pub fn check(&self) -> Result<(), PartitionError> {
        let count = self.count;
        if count == 0 {
            return Err(PartitionError::NoCells);
        }
        if count > Partition::MOST_CELLS {
            return Err(PartitionError::TooMany { count, most: Partition::MOST_CELLS });
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
