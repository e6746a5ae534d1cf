// Elements of fine triangles; counterpart of `partition::tracer::fine`.

/// Returns the element at a hit, or `NONE` on a back side without elements.
fn element_at(hit: CellHit) -> u32 {
    let divisions = triangles[hit.triangle].divisions;
    let side = u32(hit.back);
    if side >= triangles[hit.triangle].sides {
        return NONE;
    }
    let last = divisions - 1u;
    let place = max(hit.barycentric * f32(divisions), vec2(0.0));
    var i = min(u32(place.x), last);
    var j = min(u32(place.y), last - i);
    if (place.x - f32(i)) + (place.y - f32(j)) > 1.0 && i + j < last {
        i = last - i;
        j = last - j;
    }
    return triangles[hit.triangle].first_element + side * divisions * divisions + j * divisions + i;
}

/// Returns a point of a part of a triangle, given the weights of the part's second and third corner.
fn point_of_part(triangle: u32, part: u32, weights: vec2<f32>) -> vec3<f32> {
    let divisions = triangles[triangle].divisions;
    let last = divisions - 1u;
    let i = part % divisions;
    let j = part / divisions;
    var place = vec2(f32(i), f32(j)) + weights;
    if i + j > last {
        place = vec2(f32(last - i + 1u), f32(last - j + 1u)) - weights;
    }
    let share = place / f32(divisions);
    let a = triangles[triangle].a;
    return a + (triangles[triangle].b - a) * share.x + (triangles[triangle].c - a) * share.y;
}
