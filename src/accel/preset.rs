//! Build parameters of a tree.

/// Cost weights and quality limits of the builder.
///
/// Costs are relative to the cost of one node visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Cost of one leaf test of up to [`Preset::leaf_width`] triangles. Higher values make deeper trees.
    pub intersection_cost: f32,
    /// Factor on the cost of a split that cuts off empty space. Lower values cut off more empty space.
    pub empty_bonus: f32,
    /// Number of triangles tested at once: a leaf of `n` costs `ceil(n / leaf_width)` tests.
    pub leaf_width: u32,
    /// Number of references up to which a node tries every plane. Larger nodes use bins.
    pub exact_below: usize,
    /// Number of bins per axis. More bins find better planes but build slower.
    pub bins: usize,
    /// Maximum depth in splits. The builder's own depth limit applies too.
    pub deepest: usize,
    /// True to clip triangles to their cells, which leaves fewer references.
    pub clip: bool,
    /// Planes among which splits are chosen.
    pub planes: Planes,
}

/// Planes among which the builder chooses a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planes {
    /// The cheapest plane of all axes by the surface area heuristic.
    #[default]
    AnyAxis,
    /// The cheapest plane across the longest edge of the cell; of equal edges X comes before Y and Y before Z (`004`
    /// 4.5.2).
    LongestAxis,
    /// The middle of the cell, across X, Y and Z in turns (`004` 4.5.2), down to leaves of eight triangles.
    Middle,
}

impl Preset {
    /// Returns the preset for interactive rebuilds: twice as fast to build, a few percent slower to trace.
    pub const fn fast() -> Self {
        Self { exact_below: 256, bins: 64, clip: false, ..Self::best() }
    }

    /// Returns the preset for bakes: fastest to trace.
    pub const fn best() -> Self {
        Self {
            // Measured on Sponza: values from 0.7 to 2.0 make little difference, and lower values build faster.
            intersection_cost: 0.8,
            empty_bonus: 0.9,
            leaf_width: LEAF_WIDTH as u32,
            exact_below: 65_536,
            bins: 128,
            deepest: usize::MAX,
            clip: true,
            planes: Planes::AnyAxis,
        }
    }

    /// Returns the preset for comparisons of planes. Every plane is tried, and triangles are tested one by one.
    pub const fn with_planes(planes: Planes) -> Self {
        Self { exact_below: usize::MAX, intersection_cost: 1.0, leaf_width: 1, planes, ..Self::best() }
    }

    /// Returns the preset for tracers that test triangles one by one, as GPU threads do.
    pub const fn narrow() -> Self {
        Self { intersection_cost: 1.0, leaf_width: 2, ..Self::best() }
    }
}

impl Default for Preset {
    fn default() -> Self {
        Self::best()
    }
}

/// Number of triangles that a CPU tests at once.
pub(super) const LEAF_WIDTH: usize = 8;
