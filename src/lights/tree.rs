//! Light trees: importance sampling of many lights (Conty and Kulla 2018, "Importance Sampling of Many Lights with
//! Adaptive Tree Splitting").
//!
//! A leaf is an emitter. An inner node bounds the position, direction, strength and range of the light below it. A draw
//! descends from a root, and picks a child at random in proportion to its expected unoccluded contribution. That
//! estimate is zero only if the contribution is certainly zero.
//!
//! Distant light has a tree of its own, and each draw also samples one emitter from that tree. Choosing between a sun
//! and a lamp by strength fails: the sun is a thousand times stronger where it is visible, but walls occlude it nearly
//! everywhere.

use core::f32::consts::PI;

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use crate::geometry::Aabb;

/// Node of a light tree: one emitter, or bounds of several. Shaders read the same layout.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LightNode {
    /// Minimum corner of the box around the light sources, in meters.
    min: Vec3,
    /// Luminous intensity in candela along the axis; illuminance in lux for distant light.
    strength: f32,
    /// Maximum corner of the box. For distant light, its x coordinate lies below that of `min`.
    max: Vec3,
    /// Range in meters at which lamps end.
    range: f32,
    /// Central direction of emission, a unit vector.
    axis: Vec3,
    /// Cosine of the angle around `axis` that contains the axes of all parts.
    spread: f32,
    /// Cosine of the angle to a part's own axis at which its emission ends.
    end: f32,
    /// Index of the first of two adjacent children, or of the emitter.
    below: u32,
    /// One for emitters, zero for inner nodes.
    is_emitter: u32,
    padding: u32,
}

/// Maximum range in meters, whose square stays finite.
const FARTHEST: f32 = 1e18;
/// Lower bound of squared distances, in square meters.
const NEAREST_SQUARED: f32 = 1e-4;
/// Lower bound of the squared distance to a box, as a fraction of its squared half diagonal. In a test building of 64
/// rooms, the bound selects the room's own lamp 1.5 times as often as distances to box centers.
const FILLED: f32 = 0.1;
/// Minimum probability of each child.
const MIN_PROBABILITY: f32 = 0.02;
/// Number of levels split by cost. Levels below split in halves, so that a trail fits the bits of one word.
const CHOSEN_LEVELS: u32 = 12;

/// Returns the cosine of the first angle minus the second, both between 0 and 180 degrees; one if the second is larger.
fn cosine_of_rest([sine, cosine]: [f32; 2], [other_sine, other_cosine]: [f32; 2]) -> f32 {
    if cosine > other_cosine { 1.0 } else { cosine * other_cosine + sine * other_sine }
}

/// Returns sine and cosine of an angle between 0 and 180 degrees.
fn with_sine(cosine: f32) -> [f32; 2] {
    [(1.0 - cosine * cosine).max(0.0).sqrt(), cosine]
}

impl LightNode {
    /// Creates a leaf for light from a box. Emission axes lie within an angle of `axis`, and emission ends at another
    /// angle to its axis. `spread` and `end` are the cosines of both.
    pub(super) fn near(bounds: Aabb, strength: f32, axis: Vec3, [spread, end]: [f32; 2]) -> Self {
        Self {
            min: bounds.min,
            strength,
            max: bounds.max,
            range: FARTHEST,
            axis,
            spread,
            end,
            below: 0,
            is_emitter: 1,
            padding: 0,
        }
    }

    /// Creates a leaf for distant light of some illuminance in lux, along directions within an angle of `axis`.
    pub(super) fn far(illuminance: f32, axis: Vec3, spread: f32) -> Self {
        Self { min: Vec3::ZERO, max: Vec3::NEG_ONE, ..Self::near(Aabb::EMPTY, illuminance, axis, [spread, 1.0]) }
    }

    /// Returns a node without light.
    pub(crate) fn dark() -> Self {
        Self::far(0.0, Vec3::NEG_Y, 1.0)
    }

    /// Limits the node's range, in meters.
    pub(super) fn within(self, range: f32) -> Self {
        Self { range: range.min(FARTHEST), ..self }
    }

    fn is_far(&self) -> bool {
        self.max.x < self.min.x
    }

    fn bounds(&self) -> Aabb {
        Aabb { min: self.min, max: self.max }
    }

    /// Returns the approximate unoccluded illuminance in lux at a point with a unit normal. The estimate is zero only
    /// if the light certainly does not reach the point.
    #[inline]
    fn expected(&self, at: Vec3, normal: Vec3) -> f32 {
        if self.is_far() {
            return self.strength * cosine_of_rest(with_sine(-normal.dot(self.axis)), with_sine(self.spread)).max(0.0);
        }
        let half = 0.5 * (self.max - self.min);
        let offset = self.min + half - at;
        let (distance_squared, radius_squared) = (offset.length_squared(), half.length_squared());
        let is_within = distance_squared <= radius_squared;
        let toward = offset * distance_squared.max(1e-30).sqrt().recip();
        // Angle subtended by the sphere around the box.
        let sine_squared = radius_squared / distance_squared.max(1e-30);
        let span = if is_within { [0.0, -1.0] } else { [sine_squared.sqrt(), (1.0 - sine_squared).max(0.0).sqrt()] };
        let facing = if is_within { 1.0 } else { cosine_of_rest(with_sine(normal.dot(toward)), span) };
        let leaving = if self.spread <= -1.0 {
            1.0
        } else {
            let leaving = cosine_of_rest(with_sine(-toward.dot(self.axis)), with_sine(self.spread));
            cosine_of_rest(with_sine(leaving), span)
        };
        if facing <= 0.0 || leaving < self.end || leaving <= 0.0 {
            return 0.0;
        }
        let nearest_squared = (at - at.clamp(self.min, self.max)).length_squared();
        let fading = super::lamp::range_window(nearest_squared, self.range);
        // Near emitters are visible more often, so the nearest point counts, as far as the emitters may fill their box.
        let clearance_squared = nearest_squared.max(FILLED * radius_squared).max(NEAREST_SQUARED);
        self.strength * facing * leaving * fading / clearance_squared
    }

    /// Returns the bounds of two nodes, both nearby or both distant.
    fn and(&self, other: &Self) -> Self {
        let (axis, spread) = joined_cones((self.axis, self.spread), (other.axis, other.spread));
        let bounds = if self.is_far() { self.bounds() } else { self.bounds().union(other.bounds()) };
        Self {
            min: bounds.min,
            strength: self.strength + other.strength,
            max: bounds.max,
            range: self.range.max(other.range),
            axis,
            spread,
            end: self.end.min(other.end),
            ..*self
        }
    }
}

/// Returns the smallest cone around two cones, each given by its axis and the cosine of its angle.
pub(super) fn joined_cones(one: (Vec3, f32), other: (Vec3, f32)) -> (Vec3, f32) {
    let (wide, narrow) = if one.1 <= other.1 { (one, other) } else { (other, one) };
    let [wide_angle, narrow_angle] = [wide.1, narrow.1].map(|cosine| libm::acosf(cosine.clamp(-1.0, 1.0)));
    let between = libm::acosf(wide.0.dot(narrow.0).clamp(-1.0, 1.0));
    if between + narrow_angle <= wide_angle {
        return wide;
    }
    let angle = 0.5 * (wide_angle + between + narrow_angle);
    let across = (narrow.0 - wide.0 * wide.0.dot(narrow.0)).normalize_or_zero();
    if angle >= PI || across == Vec3::ZERO {
        return (wide.0, -1.0);
    }
    let (sine, cosine) = libm::sincosf(angle - wide_angle);
    // Slightly wider, to compensate for rounding.
    (wide.0 * cosine + across * sine, libm::cosf((angle + 1e-3).min(PI)))
}

/// Light trees over all emitters of a scene.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LightTree {
    /// Nodes: first the root of distant light, then that of nearby light. The root of an empty tree is dark.
    nodes: Vec<LightNode>,
    /// Trail of each emitter: the root in the lowest bit, then the child taken at each level.
    trails: Vec<u32>,
}

impl LightTree {
    /// Builds the trees from the leaves of all emitters, in emitter order.
    pub(crate) fn new(emitters: &[LightNode]) -> Self {
        let mut tree = Self { nodes: vec![LightNode::dark(); 2], trails: vec![0; emitters.len()] };
        let leaf = |(index, node): (usize, &LightNode)| LightNode { below: index as u32, ..*node };
        let (far, near): (Vec<_>, Vec<_>) = emitters.iter().enumerate().map(leaf).partition(LightNode::is_far);
        for (root, mut leaves) in [far, near].into_iter().enumerate().filter(|(_, leaves)| !leaves.is_empty()) {
            tree.build(root, &mut leaves, 1, root as u32);
        }
        tree
    }

    /// Builds the node of some leaves. `level` is the number of bits of its trail.
    fn build(&mut self, place: usize, leaves: &mut [LightNode], level: u32, trail: u32) {
        if let [leaf] = leaves {
            self.trails[leaf.below as usize] = trail;
            self.nodes[place] = *leaf;
            return;
        }
        let all = leaves.iter().skip(1).fold(leaves[0], |all, leaf| all.and(leaf));
        let below = self.nodes.len();
        self.nodes[place] = LightNode { below: below as u32, is_emitter: 0, ..all };
        self.nodes.extend([all; 2]);
        let middle = divide(leaves, level);
        let (left, right) = leaves.split_at_mut(middle);
        self.build(below, left, level + 1, trail);
        self.build(below + 1, right, level + 1, trail | 1 << level);
    }

    /// Samples one distant and one nearby emitter for a point with a unit normal, by a number in `[0, 1)`. Returns
    /// index and probability, or `None` where the estimate is zero.
    #[inline]
    pub fn draw(&self, at: Vec3, normal: Vec3, u: f32) -> [Option<(usize, f32)>; 2] {
        [self.draw_below(0, at, normal, u), self.draw_below(1, at, normal, u)]
    }

    #[inline(always)]
    fn draw_below(&self, root: usize, at: Vec3, normal: Vec3, u: f32) -> Option<(usize, f32)> {
        let root = self.nodes.get(root).filter(|root| root.strength > 0.0)?;
        if root.is_emitter == 1 { Some((root.below as usize, 1.0)) } else { self.descend(root, at, normal, u) }
    }

    fn descend(&self, root: &LightNode, at: Vec3, normal: Vec3, mut u: f32) -> Option<(usize, f32)> {
        let mut node = root;
        let mut probability = 1.0;
        while node.is_emitter == 0 {
            let left = self.probability_of_left(node, at, normal)?;
            let goes_left = u < left;
            let taken = if goes_left { left } else { 1.0 - left };
            u = ((if goes_left { u } else { u - left }) / taken).min(1.0 - f32::EPSILON);
            probability *= taken;
            node = &self.nodes[node.below as usize + usize::from(!goes_left)];
        }
        Some((node.below as usize, probability))
    }

    /// Returns the probability with which [`LightTree::draw`] draws an emitter.
    pub fn probability_of(&self, emitter: usize, at: Vec3, normal: Vec3) -> f32 {
        let trail = self.trails[emitter];
        let (mut node, mut trail) = (&self.nodes[(trail & 1) as usize], trail >> 1);
        let mut probability = 1.0;
        while node.is_emitter == 0 {
            let Some(left) = self.probability_of_left(node, at, normal) else { return 0.0 };
            let goes_left = trail & 1 == 0;
            probability *= if goes_left { left } else { 1.0 - left };
            node = &self.nodes[node.below as usize + usize::from(!goes_left)];
            trail >>= 1;
        }
        probability
    }

    /// Returns the probability of taking the first child; `None` if both children are estimated as zero.
    #[inline]
    fn probability_of_left(&self, node: &LightNode, at: Vec3, normal: Vec3) -> Option<f32> {
        let below = node.below as usize;
        let [left, right] = [&self.nodes[below], &self.nodes[below + 1]];
        let [a, b] = [left, right].map(|node| node.expected(at, normal));
        if a <= 0.0 || b <= 0.0 {
            return (a > 0.0 || b > 0.0).then_some(if a > 0.0 { 1.0 } else { 0.0 });
        }
        Some((a / (a + b)).clamp(MIN_PROBABILITY, 1.0 - MIN_PROBABILITY))
    }

    /// Returns all nodes, the two roots first.
    #[cfg(feature = "gpu")]
    pub(crate) fn nodes(&self) -> &[LightNode] {
        &self.nodes
    }

    /// Returns each emitter's trail: the root in the lowest bit, then the child taken at each level.
    #[cfg(feature = "gpu")]
    pub(crate) fn trails(&self) -> &[u32] {
        &self.trails
    }
}

/// Sorts leaves into two groups by the best split found, and returns the size of the first group.
fn divide(leaves: &mut [LightNode], level: u32) -> usize {
    let key = |leaf: &LightNode, axis: usize| {
        if leaf.is_far() { leaf.axis[axis] } else { leaf.min[axis] + leaf.max[axis] }
    };
    let sort = |leaves: &mut [LightNode], axis: usize| {
        leaves.sort_by(|a, b| key(a, axis).total_cmp(&key(b, axis)).then(a.below.cmp(&b.below)));
    };
    let mut best = (f32::INFINITY, 0, leaves.len() / 2);
    for axis in 0..3 {
        sort(leaves, axis);
        // Bounds of all leaves from each position to the end.
        let mut after = leaves.to_vec();
        for place in (0..leaves.len() - 1).rev() {
            after[place] = after[place].and(&after[place + 1]);
        }
        let mut before = leaves[0];
        for place in 1..leaves.len() {
            let is_middle = place == leaves.len() / 2;
            let cost = cost_of(&before) + cost_of(&after[place]);
            if cost < best.0 && (level < CHOSEN_LEVELS || is_middle) {
                best = (cost, axis, place);
            }
            before = before.and(&leaves[place]);
        }
    }
    sort(leaves, best.1);
    best.2
}

/// Returns the split cost of a node: its strength times the looseness of its bounds.
fn cost_of(node: &LightNode) -> f32 {
    let size = if node.is_far() { 1.0 } else { (node.max - node.min).length_squared() };
    node.strength * (size + NEAREST_SQUARED) * (1.5 - node.spread)
}

#[cfg(test)]
mod tests;
