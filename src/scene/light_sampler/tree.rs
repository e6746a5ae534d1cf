//! Choosing among many lights by what they may bring to a point: trees of lights (Conty and Kulla 2018, "Importance
//! Sampling of Many Lights with Adaptive Tree Splitting").
//!
//! A leaf is an emitter, a node bounds what lies below it: where light comes from, which way it goes, how much there is and
//! how far it gets. A draw goes down from a root and takes at each node the side by chance that may bring more, if nothing
//! stood in the way. What is expected is never nothing but where nothing can come from.
//!
//! Light from far away has a tree of its own, of which something is drawn as well. Choosing between a sun and a lamp by
//! strength fails: the sun is a thousand times stronger where it comes in, and walls stop it nearly everywhere.

use core::f32::consts::PI;

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use crate::geometry::Aabb;

/// Something that shines, or several of them, as seen from afar. Shaders read the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LightNode {
    /// A corner of the box that light comes from, metres.
    min: Vec3,
    /// Luminous intensity in candela along the axis; of light from far away the illuminance in lux.
    strength: f32,
    /// The opposite corner. The first coordinate lies below that of `min` for light from far away.
    max: Vec3,
    /// Where the light of lamps ends, metres.
    range: f32,
    /// The middle of the directions that light goes in, a unit vector.
    axis: Vec3,
    /// Cosine of the angle that the axes of all parts lie within.
    spread: f32,
    /// Cosine of the angle to its axis at which the light of a part ends.
    end: f32,
    /// The first of two nodes below, which stand next to each other, or the emitter that it is.
    below: u32,
    /// One for emitters.
    is_emitter: u32,
    padding: u32,
}

/// Ranges are squared, and nothing is farther.
const FARTHEST: f32 = 1e18;
/// Squared distance in metres below which nothing looks nearer.
const NEAREST_SQUARED: f32 = 1e-4;
/// The squared distance that a box counts as at least, in parts of its squared half diagonal. In a building of 64 rooms this
/// draws the lamp of the room half as often again as distances to the boxes' middles do.
const FILLED: f32 = 0.1;
/// The least chance of each side.
const LEAST: f32 = 0.02;
/// Splits that are chosen by what they bound; those below halve, so that there are no more than a word has bits.
const CHOSEN_LEVELS: u32 = 12;

/// The cosine of the difference of two angles in half a circle; one where the second is larger.
fn cosine_of_rest([sine, cosine]: [f32; 2], [other_sine, other_cosine]: [f32; 2]) -> f32 {
    if cosine > other_cosine { 1.0 } else { cosine * other_cosine + sine * other_sine }
}

/// Sine and cosine of an angle in half a circle.
fn with_sine(cosine: f32) -> [f32; 2] {
    [(1.0 - cosine * cosine).max(0.0).sqrt(), cosine]
}

impl LightNode {
    /// Light that leaves a box in directions of which the axes lie within an angle of `axis`, and that ends at another angle
    /// to those; by the cosines of both.
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

    /// Light of some illuminance in lux that comes from far away, along directions within an angle of `axis`.
    pub(super) fn far(illuminance: f32, axis: Vec3, spread: f32) -> Self {
        Self { min: Vec3::ZERO, max: Vec3::NEG_ONE, ..Self::near(Aabb::EMPTY, illuminance, axis, [spread, 1.0]) }
    }

    /// Nothing.
    pub(crate) fn dark() -> Self {
        Self::far(0.0, Vec3::NEG_Y, 1.0)
    }

    /// The same with a range in metres.
    pub(super) fn within(self, range: f32) -> Self {
        Self { range: range.min(FARTHEST), ..self }
    }

    fn is_far(&self) -> bool {
        self.max.x < self.min.x
    }

    fn bounds(&self) -> Aabb {
        Aabb { min: self.min, max: self.max }
    }

    /// About what illuminance in lux it may bring to a point with a unit normal if nothing stands in the way; zero
    /// only where it brings nothing.
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
        // The angle that the sphere around the box spans.
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
        // What is nearer is more often in sight, so the nearest of it counts, as far as what it bounds may fill its box.
        let clearance_squared = nearest_squared.max(FILLED * radius_squared).max(NEAREST_SQUARED);
        self.strength * facing * leaving * fading / clearance_squared
    }

    /// What bounds two of them, which are both near or both far.
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

/// The smallest cone around two, each told by its axis and the cosine of its angle.
pub(super) fn joined_cones(one: (Vec3, f32), other: (Vec3, f32)) -> (Vec3, f32) {
    let (wide, narrow) = if one.1 <= other.1 { (one, other) } else { (other, one) };
    let [wide_angle, narrow_angle] = [wide.1, narrow.1].map(|cosine| cosine.clamp(-1.0, 1.0).acos());
    let between = wide.0.dot(narrow.0).clamp(-1.0, 1.0).acos();
    if between + narrow_angle <= wide_angle {
        return wide;
    }
    let angle = 0.5 * (wide_angle + between + narrow_angle);
    let across = (narrow.0 - wide.0 * wide.0.dot(narrow.0)).normalize_or_zero();
    if angle >= PI || across == Vec3::ZERO {
        return (wide.0, -1.0);
    }
    let turn = angle - wide_angle;
    // A little wider, for what rounding takes.
    (wide.0 * turn.cos() + across * turn.sin(), (angle + 1e-3).min(PI).cos())
}

/// Trees over all emitters of a scene.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LightTree {
    /// First the root of all light from far away, then that of what is near. One of nothing is dark.
    nodes: Vec<LightNode>,
    /// For each emitter which root, and the sides to take from there, in the order of bits from the lowest one on.
    trails: Vec<u32>,
}

impl LightTree {
    /// Of emitters, in their order.
    pub(crate) fn new(emitters: &[LightNode]) -> Self {
        let mut tree = Self { nodes: vec![LightNode::dark(); 2], trails: vec![0; emitters.len()] };
        let leaf = |(index, node): (usize, &LightNode)| LightNode { below: index as u32, ..*node };
        let (far, near): (Vec<_>, Vec<_>) = emitters.iter().enumerate().map(leaf).partition(LightNode::is_far);
        for (root, mut leaves) in [far, near].into_iter().enumerate().filter(|(_, leaves)| !leaves.is_empty()) {
            tree.build(root, &mut leaves, 1, root as u32);
        }
        tree
    }

    /// Makes a node of some leaves, whose trail has so many bits.
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

    /// Draws an emitter far away and one that is near, for a point with a unit normal by a number in `[0, 1)`: which, and
    /// with what chance; `None` where it comes to lights that bring nothing.
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
        let mut chance = 1.0;
        while node.is_emitter == 0 {
            let left = self.chance_of_left(node, at, normal)?;
            let goes_left = u < left;
            let taken = if goes_left { left } else { 1.0 - left };
            u = ((if goes_left { u } else { u - left }) / taken).min(1.0 - f32::EPSILON);
            chance *= taken;
            node = &self.nodes[node.below as usize + usize::from(!goes_left)];
        }
        Some((node.below as usize, chance))
    }

    /// With what chance [`LightTree::draw`] draws an emitter.
    pub fn chance_of(&self, emitter: usize, at: Vec3, normal: Vec3) -> f32 {
        let trail = self.trails[emitter];
        let (mut node, mut trail) = (&self.nodes[(trail & 1) as usize], trail >> 1);
        let mut chance = 1.0;
        while node.is_emitter == 0 {
            let Some(left) = self.chance_of_left(node, at, normal) else { return 0.0 };
            let goes_left = trail & 1 == 0;
            chance *= if goes_left { left } else { 1.0 - left };
            node = &self.nodes[node.below as usize + usize::from(!goes_left)];
            trail >>= 1;
        }
        chance
    }

    /// With what chance the first of the two nodes below is taken; `None` where neither brings anything.
    #[inline]
    fn chance_of_left(&self, node: &LightNode, at: Vec3, normal: Vec3) -> Option<f32> {
        let below = node.below as usize;
        let [left, right] = [&self.nodes[below], &self.nodes[below + 1]];
        let [a, b] = [left, right].map(|node| node.expected(at, normal));
        if a <= 0.0 || b <= 0.0 {
            return (a > 0.0 || b > 0.0).then_some(if a > 0.0 { 1.0 } else { 0.0 });
        }
        Some((a / (a + b)).clamp(LEAST, 1.0 - LEAST))
    }

    /// All nodes, the two roots first.
    #[cfg(feature = "gpu")]
    pub(crate) fn nodes(&self) -> &[LightNode] {
        &self.nodes
    }

    /// For each emitter which root, and the sides to take from there, in the order of bits from the lowest one on.
    #[cfg(feature = "gpu")]
    pub(crate) fn trails(&self) -> &[u32] {
        &self.trails
    }
}

/// Puts leaves that belong together side by side, and says how many stand on the first side.
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
        // What bounds all leaves from each place on.
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

/// How loosely a node bounds how much light.
fn cost_of(node: &LightNode) -> f32 {
    let size = if node.is_far() { 1.0 } else { (node.max - node.min).length_squared() };
    node.strength * (size + NEAREST_SQUARED) * (1.5 - node.spread)
}

#[cfg(test)]
mod tests;
