//! Crossings of a ray with a bicubic Bezier patch, by subdivision and Newton's method (Toth 1985).

use core::array::from_fn;

use glam::{DVec2, DVec3};

/// Control points in the ray's coordinates: the ray is the Z axis.
type Control = [[DVec3; 4]; 4];

/// Number of times that a patch is halved in both directions where it cannot be decided otherwise: at silhouettes, and
/// at edges that are points. Pieces are then a 16000th of the patch.
const MAX_DEPTH: u32 = 14;

/// Returns the smallest Z within `range` at which the patch crosses the Z axis.
pub fn first_crossing(control: &Control, range: [f64; 2]) -> Option<f64> {
    let size = control.iter().flatten().map(|point| point.abs().max_element()).fold(0.0, f64::max);
    let mut search = Search { tolerance: 1e-13 * size, point_size: 1e-9 * size, range, found: None };
    search.visit(control, 0);
    search.found
}

struct Search {
    /// Distance from the axis at which Newton's method ends.
    tolerance: f64,
    /// Size across the axis below which a piece is seen as a point.
    point_size: f64,
    /// Values of Z that are still of interest.
    range: [f64; 2],
    found: Option<f64>,
}

impl Search {
    fn visit(&mut self, control: &Control, depth: u32) {
        let all = || control.iter().flatten().copied();
        let [min, max] = [all().fold(DVec3::INFINITY, DVec3::min), all().fold(DVec3::NEG_INFINITY, DVec3::max)];
        if !self.may_cross(min, max) {
            return;
        }
        // A patch that is a point, or a line along the ray, would be halved without end.
        let is_point = (max - min).truncate().max_element() <= self.point_size;
        let is_single = !is_point && crosses_at_most_once(control);
        if is_single && let Some(uv) = self.newton(control) {
            self.accept(point(control, uv).z);
        } else if is_point || depth == MAX_DEPTH {
            // A piece without a fold that Newton's method leaves is missed.
            if !is_single {
                self.accept(point(control, DVec2::splat(0.5)).z);
            }
        } else {
            // The nearest first: a crossing there rules out the pieces behind it.
            let mut quarters = split(control).map(|half| split(&transposed(&half)));
            let nearest =
                |quarter: &Control| quarter.iter().flatten().map(|point| point.z).fold(f64::INFINITY, f64::min);
            quarters.as_flattened_mut().sort_by(|a, b| nearest(a).total_cmp(&nearest(b)));
            for quarter in quarters.as_flattened() {
                self.visit(quarter, depth + 1);
            }
        }
    }

    /// Returns true if a box of control points, which holds their patch, meets the axis within the range.
    fn may_cross(&self, min: DVec3, max: DVec3) -> bool {
        let is_across = |axis: usize| min[axis] <= self.tolerance && max[axis] >= -self.tolerance;
        is_across(0) && is_across(1) && min.z <= self.range[1] && max.z >= self.range[0]
    }

    /// Returns the coordinates of the crossing within the patch. `None` if the iteration leaves it.
    fn newton(&self, control: &Control) -> Option<DVec2> {
        const STEPS: usize = 12;
        /// Distance that counts as within the patch, so that no ray slips between two of its parts.
        const SLACK: f64 = 1e-9;
        let mut uv = DVec2::splat(0.5);
        for _ in 0..STEPS {
            let place = point(control, uv).truncate();
            if place.abs().max_element() <= self.tolerance {
                return (uv.cmpge(DVec2::splat(-SLACK)) & uv.cmple(DVec2::splat(1.0 + SLACK))).all().then_some(uv);
            }
            let [along_u, along_v] = tangents(control, uv).map(DVec3::truncate);
            let determinant = along_u.perp_dot(along_v);
            uv -= DVec2::new(place.perp_dot(along_v), along_u.perp_dot(place)) / determinant;
            if !uv.is_finite() {
                return None;
            }
        }
        None
    }

    fn accept(&mut self, z: f64) {
        if (self.range[0]..=self.range[1]).contains(&z) {
            self.found = Some(z);
            self.range[1] = z;
        }
    }
}

/// Returns true if a line along Z crosses the patch at most once: seen along Z, no edge of the control net to the right
/// is parallel to one upwards, and all turn alike. Means of such edges are not parallel either.
fn crosses_at_most_once(control: &Control) -> bool {
    let across: [[DVec2; 3]; 4] = from_fn(|row| from_fn(|at| (control[row][at + 1] - control[row][at]).truncate()));
    let upward: [[DVec2; 4]; 3] =
        from_fn(|at| from_fn(|column| (control[at + 1][column] - control[at][column]).truncate()));
    let turns = || across.iter().flatten().flat_map(|right| upward.iter().flatten().map(|up| right.perp_dot(*up)));
    turns().all(|turn| turn > 0.0) || turns().all(|turn| turn < 0.0)
}

/// Halves a cubic curve by de Casteljau's algorithm.
fn halves([a, b, c, d]: [DVec3; 4]) -> [[DVec3; 4]; 2] {
    let [ab, bc, cd] = [a.midpoint(b), b.midpoint(c), c.midpoint(d)];
    let [abc, bcd] = [ab.midpoint(bc), bc.midpoint(cd)];
    let middle = abc.midpoint(bcd);
    [[a, ab, abc, middle], [middle, bcd, cd, d]]
}

/// Halves a patch along its rows.
fn split(control: &Control) -> [Control; 2] {
    let rows = control.map(halves);
    [rows.map(|row| row[0]), rows.map(|row| row[1])]
}

fn transposed(control: &Control) -> Control {
    from_fn(|row| from_fn(|column| control[column][row]))
}

/// Returns the point at `t` of a cubic curve, and its derivative.
fn on_curve([a, b, c, d]: [DVec3; 4], t: f64) -> (DVec3, DVec3) {
    let [ab, bc, cd] = [a.lerp(b, t), b.lerp(c, t), c.lerp(d, t)];
    let [abc, bcd] = [ab.lerp(bc, t), bc.lerp(cd, t)];
    (abc.lerp(bcd, t), 3.0 * (bcd - abc))
}

fn point(control: &Control, uv: DVec2) -> DVec3 {
    on_curve(control.map(|row| on_curve(row, uv.x).0), uv.y).0
}

/// Returns the derivatives along the rows and upwards.
fn tangents(control: &Control, uv: DVec2) -> [DVec3; 2] {
    let rows = control.map(|row| on_curve(row, uv.x));
    [on_curve(rows.map(|row| row.1), uv.y).0, on_curve(rows.map(|row| row.0), uv.y).1]
}

#[cfg(test)]
mod tests {
    use glam::{DAffine3, Vec3};
    use proptest::prelude::*;

    use crate::geometry::{Ray, Shape};

    /// Returns the patch of y = x^2 + 2 z^2 over the square of edge two around the origin.
    fn bowl() -> Shape {
        let square = |at: usize| [1.0, -1.0 / 3.0, -1.0 / 3.0, 1.0][at];
        let place = |at: usize| at as f32 * 2.0 / 3.0 - 1.0;
        Shape::Bezier(vec![core::array::from_fn(|row| {
            core::array::from_fn(|column| Vec3::new(place(column), square(column) + 2.0 * square(row), -place(row)))
        })])
    }

    fn hit(shape: &Shape, ray: &Ray) -> Option<f32> {
        shape.intersect(ray, &DAffine3::IDENTITY)
    }

    #[test]
    fn a_ray_down_into_a_bowl_meets_it_at_its_height() {
        for (x, z) in [(0.0, 0.0), (0.5, -0.25), (-0.99, 0.99), (1.0, 1.0)] {
            let met = hit(&bowl(), &Ray::new(Vec3::new(x, 5.0, z), Vec3::NEG_Y)).unwrap();
            assert!((met - (5.0 - x * x - 2.0 * z * z)).abs() < 1e-6, "{met}");
        }
        assert_eq!(hit(&bowl(), &Ray::new(Vec3::new(1.01, 5.0, 0.0), Vec3::NEG_Y)), None);
    }

    #[test]
    fn a_ray_across_a_bowl_meets_its_near_side_and_then_its_far_side() {
        let ray = Ray::new(Vec3::new(-3.0, 0.25, 0.0), Vec3::X);
        let near = hit(&bowl(), &ray).unwrap();
        assert!((near - 2.5).abs() < 1e-6, "{near}");
        let far = hit(&bowl(), &Ray { t_min: 2.6, ..ray }).unwrap();
        assert!((far - 3.5).abs() < 1e-6, "{far}");
        assert_eq!(hit(&bowl(), &Ray { t_min: 3.6, ..ray }), None);
        assert_eq!(hit(&bowl(), &Ray::new(Vec3::new(-3.0, -0.01, 0.0), Vec3::X)), None);
    }

    #[test]
    fn a_fan_with_an_edge_that_is_a_point_is_met_there_too() {
        let fan = Shape::Bezier(vec![core::array::from_fn(|row: usize| {
            core::array::from_fn(|column: usize| {
                Vec3::new((column as f32 / 3.0 - 0.5) * row as f32, 0.0, -(row as f32))
            })
        })]);
        for z in [0.0, -1e-4, -1.0, -2.9] {
            let met = hit(&fan, &Ray::new(Vec3::new(0.0, 2.0, z), Vec3::NEG_Y));
            assert!(met.is_some_and(|met| (met - 2.0).abs() < 1e-4), "{z}: {met:?}");
        }
        assert_eq!(hit(&fan, &Ray::new(Vec3::new(0.0, 2.0, 0.01), Vec3::NEG_Y)), None);
    }

    #[test]
    fn a_ray_within_a_flat_patch_is_answered() {
        let flat = Shape::Bezier(vec![core::array::from_fn(|row: usize| {
            core::array::from_fn(|column: usize| Vec3::new(column as f32, 0.0, -(row as f32)))
        })]);
        let met = hit(&flat, &Ray::new(Vec3::new(-1.0, 0.0, -1.5), Vec3::X));
        assert!(met.is_none_or(|met| (1.0..4.001).contains(&met)), "{met:?}");
    }

    #[test]
    fn patches_that_are_a_point_or_a_line_are_answered_at_once() {
        let line = |step: Vec3| {
            Shape::Bezier(vec![core::array::from_fn(|row: usize| {
                core::array::from_fn(|column: usize| Vec3::Z + step * (row + column) as f32)
            })])
        };
        for step in [Vec3::ZERO, Vec3::Z, Vec3::X, Vec3::new(1.0, 1.0, 1.0)] {
            let started = std::time::Instant::now();
            let _ = hit(&line(step), &Ray::new(Vec3::NEG_Z, Vec3::Z));
            assert!(started.elapsed().as_secs_f32() < 1.0, "{step}");
        }
    }

    proptest! {
        #[test]
        fn every_ray_at_a_bowl_meets_the_nearer_root_of_its_equation(
            from in (-3.0f32..3.0, -1.0f32..6.0, -3.0f32..3.0),
            to in (-0.8f32..0.8, 0.0f32..2.0, -0.8f32..0.8),
        ) {
            let (origin, target) = (Vec3::from(from), Vec3::from(to));
            prop_assume!(origin.distance(target) > 0.1);
            let direction = target - origin;
            let [o, d] = [origin, direction].map(|vector| vector.as_dvec3());
            // Roots of x^2 + 2 z^2 - y along the ray, over the square.
            let a = d.x * d.x + 2.0 * d.z * d.z;
            let b = 2.0 * o.x * d.x + 4.0 * o.z * d.z - d.y;
            let c = o.x * o.x + 2.0 * o.z * o.z - o.y;
            prop_assume!(a > 1e-3);
            let discriminant = b * b - 4.0 * a * c;
            // Rays that graze the bowl or its edge may count or not.
            prop_assume!(discriminant.abs() > 1e-3);
            let root = discriminant.sqrt();
            let roots = [(-b - root) / (2.0 * a), (-b + root) / (2.0 * a)];
            let reach = |t: f64| (o + d * t).x.abs().max((o + d * t).z.abs());
            prop_assume!(roots.iter().all(|t| !((reach(*t) - 1.0).abs() < 1e-6 || t.abs() < 1e-6)));
            let expected = roots.into_iter().find(|t| *t >= 0.0 && reach(*t) <= 1.0);
            let met = hit(&bowl(), &Ray::new(origin, direction));
            match (met, expected) {
                (Some(met), Some(expected)) => {
                    prop_assert!((f64::from(met) - expected).abs() < 1e-5 * expected.max(1.0), "{met} {expected}");
                }
                _ => prop_assert_eq!(met.is_some(), expected.is_some(), "{:?} {:?}", met, expected),
            }
        }
    }
}
