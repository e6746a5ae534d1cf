//! How a tree is built, as data.

/// What the builder weighs and how hard it tries.
///
/// Costs are in one unit, the price of crossing a node; only their ratio matters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// The price of one leaf test of up to [`Preset::leaf_width`] triangles. More makes deeper trees.
    pub intersection_cost: f32,
    /// Factor on the cost of a split that cuts off empty space. Less cuts off more of it.
    pub empty_bonus: f32,
    /// Triangles that the tracer tests at once: a leaf of `n` costs `ceil(n / leaf_width)` tests.
    pub leaf_width: u32,
    /// Nodes with more references than this try bins instead of every plane.
    pub exact_below: usize,
    /// Bins per axis. More finds better planes and takes longer.
    pub bins: usize,
    /// Most splits above a leaf, where the number of triangles does not set a lower bound.
    pub deepest: usize,
    /// Whether references are shrunk to what of their triangle lies in the node, which leaves fewer of them.
    pub clip: bool,
}

impl Preset {
    /// For rebuilds while someone waits: a few percent slower to trace, twice as fast to build.
    pub const fn fast() -> Self {
        Self { exact_below: 256, bins: 64, clip: false, ..Self::best() }
    }

    /// For bakes: the tree that rays like best.
    pub const fn best() -> Self {
        Self {
            // Measured on Sponza: from 0.7 to 2.0 makes little difference, and less is built sooner.
            intersection_cost: 0.8,
            empty_bonus: 0.9,
            leaf_width: LEAF_WIDTH as u32,
            exact_below: 65_536,
            bins: 128,
            deepest: usize::MAX,
            clip: true,
        }
    }

    /// For tracers that test triangles one by one, as GPU threads do.
    pub const fn narrow() -> Self {
        Self { intersection_cost: 1.0, leaf_width: 2, ..Self::best() }
    }
}

impl Default for Preset {
    fn default() -> Self {
        Self::best()
    }
}

/// Triangles that a CPU tests at once.
pub(super) const LEAF_WIDTH: usize = 8;
