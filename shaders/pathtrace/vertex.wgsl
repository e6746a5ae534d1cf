// Path vertices at ray hits.

/// Path vertex on a surface.
struct Vertex {
    /// Position offset to the front side, in meters.
    position: vec3<f32>,
    /// Position offset to the other side, in meters.
    behind: vec3<f32>,
    /// Unit normal on the side that the ray hit.
    geometric_normal: vec3<f32>,
    /// Interpolated unit normal.
    shading_normal: vec3<f32>,
}

fn point_on(triangle: u32, barycentric: vec2<f32>) -> vec3<f32> {
    let a = triangles[triangle].a;
    return a + (triangles[triangle].b - a) * barycentric.x + (triangles[triangle].c - a) * barycentric.y;
}

/// Returns twice the area of a triangle times the unit normal of its front.
fn scaled_normal(triangle: u32) -> vec3<f32> {
    let a = triangles[triangle].a;
    let normal = cross(triangles[triangle].b - a, triangles[triangle].c - a);
    return select(normal, -normal, (surfaces[surface_of(triangle)].flags & MIRRORED) != 0u);
}

/// Returns the interpolated unit normal of a triangle's front. Returns `geometric` if there is none, or if the
/// interpolated normal faces away.
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

/// Applies the normal map of a surface to a shading normal, if there is one.
fn bumpy_normal(triangle: u32, barycentric: vec2<f32>, smooth_normal: vec3<f32>, geometric: vec3<f32>) -> vec3<f32> {
    let surface = surface_of(triangle);
    let place = texture_place(surface, NORMALS, triangle, barycentric);
    if !place.is_there {
        return smooth_normal;
    }
    let value = sample_texture(surfaces[surface].textures[NORMALS].words, place.uv).xyz * 2.0 - 1.0;
    let scale = surfaces[surface].normal_scale;
    let texture = value * vec3(scale, scale, 1.0);
    let a = triangles[triangle].a;
    let ab = triangles[triangle].b - a;
    let ac = triangles[triangle].c - a;
    // Position derivatives by u and v, times twice the triangle's signed area in texture space.
    let area = place.along_b.x * place.along_c.y - place.along_b.y * place.along_c.x;
    let turn = select(1.0, -1.0, area < 0.0);
    let with_u = (ab * place.along_c.y - ac * place.along_b.y) * turn;
    let with_v = (ac * place.along_b.x - ab * place.along_c.x) * turn;
    let along = with_u - smooth_normal * dot(smooth_normal, with_u);
    let squared = dot(along, along);
    if squared < 1e-30 {
        return smooth_normal;
    }
    let tangent = along * inverseSqrt(squared);
    let across = cross(smooth_normal, tangent);
    let bitangent = select(across, -across, dot(across, with_v) > 0.0);
    let bump = tangent * texture.x + bitangent * texture.y + smooth_normal * texture.z;
    if dot(bump, geometric) <= 0.0 {
        return geometric;
    }
    return normalize(bump);
}

/// Returns true if a ray hit the back of a triangle, with mirrored transforms taken into account.
fn is_back(hit: Hit) -> bool {
    return hit.back != ((surfaces[surface_of(hit.triangle)].flags & MIRRORED) != 0u);
}

fn vertex_of(hit: Hit) -> Vertex {
    let side = select(1.0, -1.0, is_back(hit));
    let geometric = normalize(scaled_normal(hit.triangle));
    let smooth_normal = shading_normal(hit.triangle, hit.barycentric, geometric);
    let shading = bumpy_normal(hit.triangle, hit.barycentric, smooth_normal, geometric);
    let position = point_on(hit.triangle, hit.barycentric);
    let ray_epsilon = 1e-5 * max(largest(abs(position)), 1.0);
    let offset = geometric * (side * ray_epsilon);
    return Vertex(position + offset, position - offset, geometric * side, shading * side);
}
