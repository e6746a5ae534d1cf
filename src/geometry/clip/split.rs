//! Splitting of a convex polygon in two.

/// Splits a convex polygon where a linear function is negative and positive; points where the function is zero belong
/// to both parts (Sutherland and Hodgman 1974). Points may be of any kind. `cross` makes the point between two corners,
/// given the parameter at which the function is zero.
#[inline]
pub(crate) fn split<Point: Copy>(
    corners: &[Point],
    height: impl Fn(&Point) -> f64,
    cross: impl Fn(&Point, &Point, f64) -> Point,
    mut below: impl FnMut(Point),
    mut above: impl FnMut(Point),
) {
    let Some(mut previous) = corners.last() else { return };
    let mut before = height(previous);
    for corner in corners {
        let now = height(corner);
        if (before < 0.0 && now > 0.0) || (before > 0.0 && now < 0.0) {
            let crossing = cross(previous, corner, before / (before - now));
            below(crossing);
            above(crossing);
        }
        if now <= 0.0 {
            below(*corner);
        }
        if now >= 0.0 {
            above(*corner);
        }
        (previous, before) = (corner, now);
    }
}
