//! Patches: groups of neighboring elements that shoot together.

use glam::{Vec2, Vec3};

use crate::geometry::sampling::{choose, uniform_triangle};
use crate::geometry::{Aabb, Triangle, define_id};
use crate::lightmap::{ElementId, Elements, Texel};
use crate::radiosity::blocks::blocks;
use crate::radiosity::form_factor::MAX_CORNERS;
use crate::scene::Scene;

use super::groups::Groups;
use super::receivers::ReceiverId;

define_id! {
    /// Index of a patch.
    PatchId
}

/// Maximum number of patches in a scene, exceeded only if charts are too scattered for larger blocks. The work of a
/// solution grows with this number.
pub const MAX_PATCHES: usize = 2048;

/// Minimum cosine between the normals of coplanar facets.
const COPLANAR: f32 = 1.0 - 1e-6;

/// Unit of shooting: neighboring elements on one side and chart of a surface, or a piece of an unmapped surface.
#[derive(Clone, Debug)]
pub struct Patch {
    /// Receivers of the patch.
    pub receivers: Vec<ReceiverId>,
    /// Hierarchy of the receivers.
    pub groups: Groups,
    /// Emitting polygons: a convex one for each triangle under the patch.
    pub facets: Vec<Facet>,
    /// Common unit normal of all facets, or `None` if they are not coplanar.
    pub plane_normal: Option<Vec3>,
    /// Visible area, in square meters.
    pub visible_area: f32,
}

/// Emitting polygons of a group of receivers.
#[derive(Clone, Debug)]
pub struct Part {
    /// Convex polygon for each triangle under the group.
    pub facets: Vec<Facet>,
    /// Bounding box of the facets.
    pub bounds: Aabb,
}

/// Convex polygon of a patch.
#[derive(Clone, Debug)]
pub struct Facet {
    /// Corners, counter-clockwise as seen from the emitting side.
    pub corners: Vec<Vec3>,
    /// Unit normal of the emitting side.
    pub normal: Vec3,
    /// Area, in square meters.
    pub area: f32,
}

impl Patch {
    /// Creates a patch, or returns `None` without facets.
    pub fn new(receivers: Vec<ReceiverId>, groups: Groups, facets: Vec<Facet>, visible_area: f32) -> Option<Self> {
        let first = facets.first()?;
        let height = first.normal.dot(first.corners[0]);
        let tolerance = 1e-6 * (1.0 + first.corners[0].abs().max_element());
        let in_plane = |facet: &Facet| {
            facet.normal.dot(first.normal) >= COPLANAR
                && facet.corners.iter().all(|corner| (first.normal.dot(*corner) - height).abs() <= tolerance)
        };
        let plane_normal = facets.iter().all(in_plane).then_some(first.normal);
        Some(Self { receivers, groups, facets, plane_normal, visible_area })
    }

    /// Returns the bounding box of the facets.
    pub fn bounds(&self) -> Aabb {
        Aabb::around(self.facets.iter().flat_map(|facet| facet.corners.iter().copied()))
    }

    /// Returns a point uniform in area, and its normal. `u` must be uniform in the unit square.
    pub fn sample(&self, u: Vec2) -> (Vec3, Vec3) {
        let (chosen, x) = choose(self.facets.iter().map(|facet| facet.area), u.x);
        let facet = &self.facets[chosen];
        (facet.sample(Vec2::new(x, u.y)), facet.normal)
    }
}

impl Part {
    pub fn new(facets: Vec<Facet>) -> Self {
        Self { bounds: Aabb::around(facets.iter().flat_map(|facet| facet.corners.iter().copied())), facets }
    }
}

impl Facet {
    /// Creates a convex polygon with a normal, for corners in either order. Returns `None` if the area is zero.
    pub fn new(mut corners: Vec<Vec3>, normal: Vec3) -> Option<Self> {
        let turn = |a: Vec3, b: Vec3, c: Vec3| (b - a).cross(c - a);
        let scaled: Vec3 = corners.windows(2).skip(1).map(|pair| turn(corners[0], pair[0], pair[1])).sum();
        if scaled.dot(normal) < 0.0 {
            corners.reverse();
        }
        let area = 0.5 * scaled.length();
        (area > 0.0).then_some(Self { corners, normal, area })
    }

    fn sample(&self, u: Vec2) -> Vec3 {
        let (chosen, x) = choose(self.fan().map(|triangle| triangle.area()), u.x);
        self.triangle(chosen).at(uniform_triangle(Vec2::new(x, u.y)))
    }

    /// Returns the triangles of a fan around the first corner.
    fn fan(&self) -> impl ExactSizeIterator<Item = Triangle> + Clone {
        (0..self.corners.len() - 2).map(|index| self.triangle(index))
    }

    fn triangle(&self, index: usize) -> Triangle {
        Triangle::new(self.corners[0], self.corners[index + 1], self.corners[index + 2])
    }
}

/// Groups elements into patches. The patches are the smallest blocks of texels that do not exceed [`MAX_PATCHES`].
///
/// Elements with a visible fraction of zero belong to no patch. `visible` is the visible fraction of each element.
pub fn patches(scene: &Scene, elements: &Elements, visible: &[f32]) -> Vec<Patch> {
    let groups = groups(elements, visible);
    groups.iter().filter_map(|group| patch(scene, elements, visible, group)).collect()
}

/// Groups elements into patches as [`patches`] does, and splits patches by the `place` of their elements.
pub fn patches_apart<P: Copy + Eq>(
    scene: &Scene,
    elements: &Elements,
    visible: &[f32],
    place: impl Fn(ElementId) -> P,
) -> Vec<Patch> {
    let mut apart: Vec<Vec<ElementId>> = Vec::new();
    for group in groups(elements, visible) {
        let first = apart.len();
        for id in group {
            match apart[first..].iter_mut().find(|part| place(part[0]) == place(id)) {
                Some(part) => part.push(id),
                None => apart.push(vec![id]),
            }
        }
    }
    apart.iter().filter_map(|group| patch(scene, elements, visible, group)).collect()
}

fn groups(elements: &Elements, visible: &[f32]) -> Vec<Vec<ElementId>> {
    let max_groups = MAX_PATCHES.max(elements.surface_offsets.len());
    let mut edge = 1;
    let group = |edge| blocks(elements, edge, |id| visible[id.index()] > 0.0);
    let mut groups = group(edge);
    while groups.len() > max_groups && edge < 1 << 12 {
        edge *= 2;
        groups = group(edge);
    }
    groups
}

/// Creates a patch from elements on one side of a surface, or returns `None` if they have no area.
pub fn patch(scene: &Scene, elements: &Elements, visible: &[f32], group: &[ElementId]) -> Option<Patch> {
    let visible_area = group.iter().map(|id| elements.area[id.index()] * visible[id.index()]).sum();
    let facets = facets_of(scene, elements, group);
    let mut group = group.to_vec();
    let groups = Groups::halve(&mut group, |id| {
        let Texel { x, y, .. } = elements.texel[id.index()];
        [x, y]
    });
    Patch::new(group.iter().map(|id| ReceiverId(id.0)).collect(), groups, facets, visible_area)
}

/// Returns the emitting polygons of each group of a patch. `element` maps receivers to elements. Patches of unmapped
/// surfaces have only one receiver.
pub fn parts(
    scene: &Scene,
    elements: &Elements,
    patch: &Patch,
    element: impl Fn(ReceiverId) -> ElementId,
) -> Vec<Part> {
    if patch.receivers.len() == 1 {
        return vec![Part::new(patch.facets.clone())];
    }
    let of_one = |receiver: usize| outlines(elements, &[element(patch.receivers[receiver])]);
    let all = patch.groups.join(of_one, |first, second| {
        let mut both = first.clone();
        second.iter().for_each(|(triangle, corners)| add_outline(&mut both, *triangle, corners));
        both.iter_mut().for_each(|(_, corners)| *corners = convex_hull(core::mem::take(corners)));
        both
    });
    let one = element(patch.receivers[0]);
    all.into_iter().map(|outlines| Part::new(facets(scene, elements, one, outlines))).collect()
}

/// Returns the emitting polygons of elements on one side of a surface, one for each triangle.
pub fn facets_of(scene: &Scene, elements: &Elements, group: &[ElementId]) -> Vec<Facet> {
    facets(scene, elements, group[0], outlines(elements, group))
}

/// Corners of the area of some elements for each triangle, as barycentric weights of its second and third vertex.
type Outlines = Vec<(u32, Vec<Vec2>)>;

fn outlines(elements: &Elements, group: &[ElementId]) -> Outlines {
    let mut outlines = Outlines::new();
    for piece in group.iter().flat_map(|&id| elements.pieces(id)) {
        add_outline(&mut outlines, piece.triangle, &piece.outline);
    }
    outlines
}

fn add_outline(outlines: &mut Outlines, triangle: u32, corners: &[Vec2]) {
    match outlines.iter_mut().find(|(known, _)| *known == triangle) {
        Some((_, known)) => known.extend(corners),
        None => outlines.push((triangle, corners.to_vec())),
    }
}

/// Returns the convex hulls of outlines as polygons. `one` is an element on the same side of the same surface.
fn facets(scene: &Scene, elements: &Elements, one: ElementId, outlines: Outlines) -> Vec<Facet> {
    let (surface, back) = (elements.surface(one), elements.back[one.index()]);
    let facet = |(triangle, corners): (u32, Vec<Vec2>)| {
        let normal = scene.geometric_normal(surface, triangle) * if back { -1.0 } else { 1.0 };
        let flat = scene.triangle(surface, triangle);
        Facet::new(convex_hull(corners).into_iter().map(|corner| flat.at(corner)).collect(), normal)
    };
    outlines.into_iter().filter_map(facet).collect()
}

/// Returns the convex hull of points, counter-clockwise (Andrew 1979), with at most [`MAX_CORNERS`] - 2 corners.
fn convex_hull(mut points: Vec<Vec2>) -> Vec<Vec2> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    points.dedup();
    let mut hull: Vec<Vec2> = Vec::new();
    let add = |hull: &mut Vec<Vec2>, min_length: usize, point: Vec2| {
        while hull.len() >= min_length && !turns_left(hull[hull.len() - 2], hull[hull.len() - 1], point) {
            hull.pop();
        }
        hull.push(point);
    };
    points.iter().for_each(|&point| add(&mut hull, 2, point));
    let min_length = hull.len() + 1;
    points.iter().rev().skip(1).for_each(|&point| add(&mut hull, min_length, point));
    hull.pop();
    while hull.len() > MAX_CORNERS - 2 {
        drop_flattest(&mut hull);
    }
    hull
}

/// Returns true if the path turns left, beyond rounding errors of texture coordinates.
fn turns_left(a: Vec2, b: Vec2, c: Vec2) -> bool {
    (b - a).perp_dot(c - a) > 1e-9
}

/// Removes the corner that cuts off the smallest area.
fn drop_flattest(hull: &mut Vec<Vec2>) {
    let count = hull.len();
    let cut = |index: usize| {
        let (before, after) = (hull[(index + count - 1) % count], hull[(index + 1) % count]);
        (hull[index] - before).perp_dot(after - before)
    };
    if let Some(flattest) = (0..count).min_by(|&a, &b| cut(a).abs().total_cmp(&cut(b).abs())) {
        hull.remove(flattest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn blocks_of_texels_become_patches_whose_facets_cover_them() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z * 2.0, Vec3::X * 3.0, [90, 60], gray(0.5));
        let elements = test.elements();
        let patches = patches(&test.scene, &elements, &vec![1.0; elements.len()]);
        // 5400 texels are too many for patches of one texel. Blocks of two by two give 1350.
        assert_eq!(patches.len(), 1350);
        for patch in &patches {
            let area: f32 = patch.facets.iter().map(|facet| facet.area).sum();
            assert!((area - patch.visible_area).abs() < 1e-4 * area, "{area} {}", patch.visible_area);
            assert_eq!(patch.receivers.len(), 4);
            assert_eq!(patch.plane_normal, Some(Vec3::Y));
            for facet in &patch.facets {
                let turned: Vec3 = facet.fan().map(|triangle| triangle.scaled_normal()).sum();
                assert!(turned.normalize().y > 0.999);
            }
        }
    }

    #[test]
    fn buried_elements_belong_to_no_patch() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4, 4], gray(0.5));
        let elements = test.elements();
        let mut visible = vec![1.0; elements.len()];
        visible[3] = 0.0;
        visible[7] = 0.5;
        let patches = patches(&test.scene, &elements, &visible);
        assert_eq!(patches.iter().map(|patch| patch.receivers.len()).sum::<usize>(), 15);
        let area: f32 = patches.iter().map(|patch| patch.visible_area).sum();
        assert!((area - 14.5 / 16.0).abs() < 1e-6, "{area}");
    }

    #[test]
    fn points_of_a_patch_are_spread_evenly() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X * 2.0, [1, 1], gray(0.5));
        let elements = test.elements();
        let patch = &patches(&test.scene, &elements, &[1.0])[0];
        assert_eq!(patch.facets.len(), 2);
        let numbers = crate::geometry::sobol::OwenSobol::new(3);
        let mean: Vec3 = (0..4096)
            .map(|index| {
                let [x, y, ..] = numbers.point(index);
                patch.sample(Vec2::new(x, y)).0
            })
            .sum::<Vec3>()
            / 4096.0;
        assert!((mean - Vec3::new(1.0, 0.0, 0.5)).length() < 2e-3, "{mean}");
    }

    #[test]
    fn the_hull_of_a_grid_is_its_four_corners() {
        let points = (0..25).map(|index| Vec2::new((index % 5) as f32, (index / 5) as f32) * 0.25).collect();
        assert_eq!(convex_hull(points), [Vec2::ZERO, Vec2::X, Vec2::ONE, Vec2::Y]);
    }
}
