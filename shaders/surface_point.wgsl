// Points of surfaces that a bake's rays start from: the twin of `lightmap::SurfacePoint`.

/// A point of one side of a surface.
struct SurfacePoint {
    /// On the triangle, lifted to the smooth surface where the shading normals ask for it.
    position: vec3<f32>,
    /// The triangle's unit normal on the point's side.
    geometric_normal: vec3<f32>,
    /// The interpolated unit normal on the point's side.
    shading_normal: vec3<f32>,
}

/// Vertices whose normal leans further than this from the face are not those of a smooth surface.
const LEAST_SMOOTH_COSINE: f32 = 0.8;
/// Corner normals that lean less than this from the face are the face's own.
const FLAT_COSINE: f32 = 1.0 - 4e-7;

fn unit_or_zero(v: vec3<f32>) -> vec3<f32> {
    let square = dot(v, v);
    return select(vec3(0.0), v * inverseSqrt(max(square, 1e-37)), square > 1e-37);
}

fn surface_point(triangle: u32, barycentric: vec2<f32>, back: bool) -> SurfacePoint {
    let front = normalize(scaled_normal(triangle));
    let side = select(1.0, -1.0, back);
    var point = SurfacePoint(point_on(triangle, barycentric), front * side, front * side);
    let attributes = triangles[triangle].attributes;
    if attributes == NONE || (tables[attributes] & HAS_NORMALS) == 0u {
        return point;
    }
    let weights = vec3(1.0 - barycentric.x - barycentric.y, barycentric);
    var smooth_normal = vec3(0.0);
    var lift = vec3(0.0);
    var is_flat = true;
    for (var corner = 0u; corner < 3u; corner++) {
        let normal = table_vec3(attributes + 1u + 3u * corner);
        let unit = unit_or_zero(normal);
        let lean = dot(unit, front);
        is_flat = is_flat && lean >= FLAT_COSINE;
        smooth_normal += normal * weights[corner];
        if lean >= LEAST_SMOOTH_COSINE {
            let outward = unit * side;
            let below = min(dot(point.position - corner_of(triangle, corner), outward), 0.0);
            lift -= outward * (below * weights[corner]);
        }
    }
    if is_flat {
        return point;
    }
    let unit = unit_or_zero(smooth_normal);
    point.position += lift;
    point.shading_normal = select(front, unit, dot(unit, front) > 0.0) * side;
    return point;
}

fn corner_of(triangle: u32, corner: u32) -> vec3<f32> {
    if corner == 0u {
        return triangles[triangle].a;
    }
    return select(triangles[triangle].c, triangles[triangle].b, corner == 1u);
}

/// Where rays start: a hair off the surface.
fn origin_of(point: SurfacePoint) -> vec3<f32> {
    let hair = 1e-5 + 1e-6 * largest(abs(point.position));
    return point.position + point.geometric_normal * hair;
}

fn ray_from(point: SurfacePoint, direction: vec3<f32>) -> Ray {
    return Ray(origin_of(point), 0.0, direction, FAR);
}
