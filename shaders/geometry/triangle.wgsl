// Watertight triangle intersection; counterpart of `geometry::Triangle::intersect`.

/// Ray segment in world space, `origin + t * direction`.
struct Ray {
    /// Point at t = 0, in meters.
    origin: vec3<f32>,
    /// Minimum t of a hit.
    t_min: f32,
    /// Displacement per unit of t, in meters.
    direction: vec3<f32>,
    /// Maximum t of a hit.
    t_max: f32,
}

/// Ray prepared for triangle tests. Axes are permuted so that the direction is steepest along the last, and the shear
/// makes the ray parallel to that axis.
struct ShearedRay {
    /// Slopes of x and y over z, and the reciprocal of the direction's z.
    shear: vec3<f32>,
    /// World axis that becomes z.
    steepest: u32,
    /// True if the direction points against that axis, which reverses the apparent winding.
    mirrored: bool,
}

/// Hit of a ray on a triangle.
struct TriangleHit {
    /// Distance along the ray; a large negative number for a miss.
    t: f32,
    /// Weights of the second and third corner.
    barycentric: vec2<f32>,
    /// True if the ray hit the back, where the corners are clockwise.
    back: bool,
    /// True if the triangle counts the crossing when the ray passes exactly through a shared edge or corner.
    is_crossed: bool,
}

/// Cycles the axes until the steepest is the last.
fn permuted(v: vec3<f32>, steepest: u32) -> vec3<f32> {
    if steepest == 2u {
        return v;
    }
    return select(v.zxy, v.yzx, steepest == 0u);
}

fn sheared_ray(ray: Ray) -> ShearedRay {
    let d = abs(ray.direction);
    var steepest = 2u;
    if d.x >= d.y && d.x >= d.z {
        steepest = 0u;
    } else if d.y >= d.z {
        steepest = 1u;
    }
    let direction = permuted(ray.direction, steepest);
    return ShearedRay(vec3(direction.xy, 1.0) / direction.z, steepest, direction.z < 0.0);
}

fn sheared(ray: ShearedRay, origin: vec3<f32>, point: vec3<f32>) -> vec3<f32> {
    let p = permuted(point - origin, ray.steepest);
    return vec3(p.xy - ray.shear.xy * p.z, ray.shear.z * p.z);
}

/// Returns the side on which the edge from p to q passes the origin. Both triangles of an edge evaluate the corners in
/// one order. Results therefore agree bit for bit, however the compiler fuses the products.
fn edge(p: vec3<f32>, q: vec3<f32>) -> f32 {
    let swapped = p.x > q.x || (p.x == q.x && p.y > q.y);
    let a = select(p, q, swapped);
    let b = select(q, p, swapped);
    let side = a.x * b.y - a.y * b.x;
    return select(side, -side, swapped);
}

/// Resolves a side that may be zero. A ray through the edge counts as moved by an infinitesimal step along x, and a
/// smaller one along y.
fn crossing_side(side: f32, p: vec3<f32>, q: vec3<f32>) -> f32 {
    return select(select(q.x - p.x, p.y - q.y, p.y != q.y), side, side != 0.0);
}

/// Intersects the ray with the triangle, edges and corners included.
fn intersect_triangle(
    ray: ShearedRay,
    origin: vec3<f32>,
    corner_a: vec3<f32>,
    corner_b: vec3<f32>,
    corner_c: vec3<f32>,
) -> TriangleHit {
    let missed = TriangleHit(-3.0e38, vec2(0.0), false, false);
    let a = sheared(ray, origin, corner_a);
    let b = sheared(ray, origin, corner_b);
    let c = sheared(ray, origin, corner_c);
    let u = edge(c, b);
    let v = edge(a, c);
    let w = edge(b, a);
    if min(u, min(v, w)) < 0.0 && max(u, max(v, w)) > 0.0 {
        return missed;
    }
    let determinant = u + v + w;
    if determinant == 0.0 {
        return missed;
    }
    let t = (u * a.z + v * b.z + w * c.z) / determinant;
    var is_crossed = true;
    if u == 0.0 || v == 0.0 || w == 0.0 {
        let sides = vec3(crossing_side(u, c, b), crossing_side(v, a, c), crossing_side(w, b, a));
        is_crossed = all(sides > vec3(0.0)) || all(sides < vec3(0.0));
    }
    return TriangleHit(t, vec2(v, w) / determinant, (determinant < 0.0) != ray.mirrored, is_crossed);
}

fn largest(v: vec3<f32>) -> f32 {
    return max(v.x, max(v.y, v.z));
}

/// Returns the extra distance of a hit at `t` on the back of a twin, in units of the ray's direction. Twins are
/// coincident faces with opposite normals. Counterpart of `accel::twin_gap`.
fn twin_gap(ray: Ray, t: f32) -> f32 {
    return 2e-5 + 4e-6 * (largest(abs(ray.origin)) + abs(t));
}
