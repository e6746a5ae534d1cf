// The points that rays meet.

/// A point of a surface that light reaches.
struct Vertex {
    /// Lifted off its surface.
    position: vec3<f32>,
    /// The unit normal of the side that was met.
    geometric_normal: vec3<f32>,
    /// The interpolated one.
    shading_normal: vec3<f32>,
}

fn point_on(triangle: u32, barycentric: vec2<f32>) -> vec3<f32> {
    let a = triangles[triangle].a;
    return a + (triangles[triangle].b - a) * barycentric.x + (triangles[triangle].c - a) * barycentric.y;
}

/// Twice the area of a triangle times the unit normal of its front.
fn scaled_normal(triangle: u32) -> vec3<f32> {
    let a = triangles[triangle].a;
    let normal = cross(triangles[triangle].b - a, triangles[triangle].c - a);
    return select(normal, -normal, (surfaces[surface_of(triangle)].flags & MIRRORED) != 0u);
}

/// The interpolated unit normal of a triangle's front, or `geometric` where it has none or one that points the other way.
fn shading_normal(triangle: u32, barycentric: vec2<f32>, geometric: vec3<f32>) -> vec3<f32> {
    let attributes = triangles[triangle].attributes;
    if attributes == NONE || (tables[attributes] & HAS_NORMALS) == 0u {
        return geometric;
    }
    let a = table_vec3(attributes + 1u);
    let b = table_vec3(attributes + 4u);
    let c = table_vec3(attributes + 7u);
    let normal = a + (b - a) * barycentric.x + (c - a) * barycentric.y;
    if dot(normal, geometric) <= 0.0 {
        return geometric;
    }
    return normalize(normal);
}

/// True when a ray met the back of a triangle, as its surface sees it.
fn is_back(hit: Hit) -> bool {
    return hit.back != ((surfaces[surface_of(hit.triangle)].flags & MIRRORED) != 0u);
}

fn vertex_of(hit: Hit) -> Vertex {
    let side = select(1.0, -1.0, is_back(hit));
    let geometric = normalize(scaled_normal(hit.triangle));
    let shading = shading_normal(hit.triangle, hit.barycentric, geometric);
    let position = point_on(hit.triangle, hit.barycentric);
    let lift = 1e-5 * max(largest(abs(position)), 1.0);
    return Vertex(position + geometric * (side * lift), geometric * side, shading * side);
}
