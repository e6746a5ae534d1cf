// Start points of a bake's rays on surfaces; counterpart of `lightmap::SurfacePoint`.

/// Point on one side of a surface.
struct SurfacePoint {
    /// Position on the triangle, in meters.
    position: vec3<f32>,
    /// Unit normal of the triangle, on the point's side.
    geometric_normal: vec3<f32>,
    /// Interpolated unit normal, on the point's side.
    shading_normal: vec3<f32>,
    /// Height of other surfaces that lie on this one. Rays start above them.
    clearance: f32,
}

/// Cosine above which corner normals count as the face normal.
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

/// Returns the origin of rays: slightly off the surface, and off surfaces that lie on it.
fn origin_of(point: SurfacePoint) -> vec3<f32> {
    let ray_epsilon = 1e-5 + 1e-6 * largest(abs(point.position));
    return point.position + point.geometric_normal * (ray_epsilon + point.clearance);
}

fn ray_from(point: SurfacePoint, direction: vec3<f32>) -> Ray {
    return Ray(origin_of(point), 0.0, direction, FAR);
}
