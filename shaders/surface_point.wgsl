// Points of surfaces that a bake's rays start from: the twin of `lightmap::SurfacePoint`.

/// A point of one side of a surface.
struct SurfacePoint {
    /// On the triangle.
    position: vec3<f32>,
    /// The triangle's unit normal on the point's side.
    geometric_normal: vec3<f32>,
    /// The interpolated unit normal on the point's side.
    shading_normal: vec3<f32>,
    /// Height of other surfaces that lie on this one, which rays start above.
    clearance: f32,
}

/// Corner normals that lean less than this from the face are the face's own.
const FLAT_COSINE: f32 = 1.0 - 4e-7;

fn unit_or_zero(v: vec3<f32>) -> vec3<f32> {
    let square = dot(v, v);
    return select(vec3(0.0), v * inverseSqrt(max(square, 1e-37)), square > 1e-37);
}

fn surface_point(triangle: u32, barycentric: vec2<f32>, back: bool) -> SurfacePoint {
    let front = normalize(scaled_normal(triangle));
    let side = select(1.0, -1.0, back);
    var point = SurfacePoint(point_on(triangle, barycentric), front * side, front * side, 0.0);
    let attributes = triangles[triangle].attributes;
    if attributes == NONE || (tables[attributes] & HAS_NORMALS) == 0u {
        return point;
    }
    let weights = vec3(1.0 - barycentric.x - barycentric.y, barycentric);
    var smooth_normal = vec3(0.0);
    var is_flat = true;
    for (var corner = 0u; corner < 3u; corner++) {
        let normal = table_vec3(attributes + 1u + 3u * corner);
        let unit = unit_or_zero(normal);
        is_flat = is_flat && dot(unit, front) >= FLAT_COSINE;
        smooth_normal += normal * weights[corner];
    }
    if is_flat {
        return point;
    }
    let unit = unit_or_zero(smooth_normal);
    point.shading_normal = select(front, unit, dot(unit, front) > 0.0) * side;
    return point;
}

/// Where rays start: a hair off the surface and off what lies on it.
fn origin_of(point: SurfacePoint) -> vec3<f32> {
    let hair = 1e-5 + 1e-6 * largest(abs(point.position));
    return point.position + point.geometric_normal * (hair + point.clearance);
}

fn ray_from(point: SurfacePoint, direction: vec3<f32>) -> Ray {
    return Ray(origin_of(point), 0.0, direction, FAR);
}
