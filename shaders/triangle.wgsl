// The watertight triangle test: the twin of `geometry::Triangle::intersect`.

/// A piece of a straight line in world space, `origin + t * direction`.
struct Ray {
    /// Where t is zero, in metres.
    origin: vec3<f32>,
    /// The nearest t that counts.
    t_min: f32,
    /// How far one unit of t reaches, in metres.
    direction: vec3<f32>,
    /// The farthest t that counts.
    t_max: f32,
}

/// A ray prepared for triangles: axes permuted so that it is steepest along the last, and the shear that makes it parallel
/// to that axis.
struct ShearedRay {
    /// Slopes of x and y over z, and the reciprocal of the direction's z.
    shear: vec3<f32>,
    /// The axis of the world that became z.
    steepest: u32,
    /// The direction points against that axis, which turns the winding of what is seen.
    mirrored: bool,
}

/// Where a ray met a triangle.
struct TriangleHit {
    /// Distance along the ray; far behind its origin for a miss.
    t: f32,
    /// Weights of the second and third corner.
    barycentric: vec2<f32>,
    /// The ray came from the side where the corners turn clockwise.
    back: bool,
    /// Of triangles that share an edge or corner which the ray goes through, this is the one that counts where light passes.
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

/// Which side of the origin the edge from p to q passes. Evaluated in an order of the corners that both triangles of the
/// edge share, so that they agree to the last bit however the compiler fuses the products.
fn edge(p: vec3<f32>, q: vec3<f32>) -> f32 {
    let swapped = p.x > q.x || (p.x == q.x && p.y > q.y);
    let a = select(p, q, swapped);
    let b = select(q, p, swapped);
    let side = a.x * b.y - a.y * b.x;
    return select(side, -side, swapped);
}

/// The same where it may be zero: a ray through an edge counts as moved by an infinitely small step along x, and an infinitely
/// smaller one along y.
fn crossing_side(side: f32, p: vec3<f32>, q: vec3<f32>) -> f32 {
    return select(select(q.x - p.x, p.y - q.y, p.y != q.y), side, side != 0.0);
}

/// Where the ray meets the triangle, edges and corners included.
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
