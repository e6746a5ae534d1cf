// Elements: points on them, and lookup of the element at a hit. Counterpart of `lightmap::Elements`.
//
// All data lie in one buffer of words, divided into sections. The first words hold the sections' offsets.
// `gpu::bake::elements` writes the buffer.

@group(1) @binding(1) var<storage, read> element_tables: array<u32>;

/// Header word with the offset of the elements section. Each element has `ELEMENT_WORDS` words: offset of its pieces;
/// their number, with `BACK` for the back of a surface; clearance above the surface.
const ELEMENTS: u32 = 0u;
/// Header word with the offset of centers, normals and radii of elements. Present only if emitters are selected by
/// receiver.
const PLACES: u32 = 1u;
/// Header word with the offset of the sheets, which map surfaces to elements; see `SHEET_WORDS`.
const SHEETS: u32 = 2u;
/// Header word with the offset of the emitters' selection data; see `light_pmf.wgsl`.
const EXPECTATIONS: u32 = 3u;
/// Header word with the number of emitters. May be zero.
const EMITTER_COUNT: u32 = 4u;
/// Header word with the offset of the elements sampled as lights; see `bright.wgsl`.
const BRIGHT: u32 = 5u;

const ELEMENT_WORDS: u32 = 3u;
/// Flag in the number of pieces for the back of a surface.
const BACK: u32 = 0x80000000u;
/// Shape of a piece, in the lowest bits of its second word. The piece is its whole triangle, the whole texel, or a
/// polygon whose corners follow.
const WHOLE_TRIANGLE: u32 = 0u;
const WHOLE_TEXEL: u32 = 1u;
/// Flag in the shape if the triangle was reversed during unwrapping. The bits above hold the number of corners.
const TURNED: u32 = 4u;
/// Minimum distance of sample points from a texel's edge, in texels.
const TEXEL_INSET: f32 = 2.5e-4;

/// Words of a sheet: flags; first elements of front and back, or `NONE`; first reversed triangle; columns and rows;
/// offsets of its grid, triangles and charts of footprints.
const SHEET_WORDS: u32 = 9u;
/// Flags of a sheet: has texels; has separate texels for both sides; has a closed mesh.
const HAS_TEXELS: u32 = 1u;
const TWO_SIDED: u32 = 2u;
const CLOSED: u32 = 4u;
/// Flag in a triangle's home footprint if that footprint covers the whole triangle.
const WHOLE: u32 = 0x80000000u;
/// Flag in a grid texel that is divided into parts. The other bits hold the offset of its cuts.
const DIVIDED: u32 = 0x80000000u;
/// Flag in a branch of a cut that leads to a part.
const PART: u32 = 0x80000000u;
/// Maximum number of cuts on the way to a part.
const MAX_CUTS: u32 = 4u;

fn element_float(word: u32) -> f32 {
    return bitcast<f32>(element_tables[word]);
}

fn element_vec2(word: u32) -> vec2<f32> {
    return vec2(element_float(word), element_float(word + 1u));
}

fn element_vec3(word: u32) -> vec3<f32> {
    return vec3(element_vec2(word), element_float(word + 2u));
}

/// Returns the number of words of a piece: triangle, shape and area. Pieces that are not whole triangles add the
/// weights at the texel's corner, and their gradients along its edges. Polygons add one word per corner, with two
/// coordinates in 65535ths of a texel.
fn words_of_piece(shape: u32) -> u32 {
    return select(9u + (shape >> 3u), 3u, (shape & 3u) == WHOLE_TRIANGLE);
}

/// Samples a point of an element, uniformly in area.
fn point_of_element(element: u32, u: vec2<f32>) -> SurfacePoint {
    let record = element_tables[ELEMENTS] + ELEMENT_WORDS * element;
    let pieces = element_tables[record + 1u] & ~BACK;
    var piece = element_tables[record];
    var x = u.x;
    if pieces > 1u {
        var area = 0.0;
        var at = piece;
        for (var index = 0u; index < pieces; index++) {
            area += element_float(at + 2u);
            at += words_of_piece(element_tables[at + 1u]);
        }
        var rest = u.x * area;
        for (var index = 0u; index < pieces; index++) {
            let weight = element_float(piece + 2u);
            if rest < weight || index + 1u == pieces {
                x = clamp(rest / weight, 0.0, 1.0 - 1.1920929e-7);
                break;
            }
            rest -= weight;
            piece += words_of_piece(element_tables[piece + 1u]);
        }
    }
    let shape = element_tables[piece + 1u];
    var barycentric = point_of_piece(piece, shape, vec2(x, u.y));
    if (shape & TURNED) != 0u {
        barycentric = barycentric.yx;
    }
    var point = surface_point(element_tables[piece], barycentric, (element_tables[record + 1u] & BACK) != 0u);
    point.clearance = element_float(record + 2u);
    return point;
}

/// Samples weights of the second and third corner of a piece's triangle.
fn point_of_piece(piece: u32, shape: u32, u: vec2<f32>) -> vec2<f32> {
    if (shape & 3u) == WHOLE_TRIANGLE {
        return uniform_triangle(u);
    }
    var local = u;
    if (shape & 3u) != WHOLE_TEXEL {
        local = point_of_polygon(piece + 9u, shape >> 3u, u);
    }
    let inset = TEXEL_INSET + local * (1.0 - 2.0 * TEXEL_INSET);
    let weights = element_vec2(piece + 3u) + element_vec2(piece + 5u) * inset.x + element_vec2(piece + 7u) * inset.y;
    let inside = max(weights, vec2(0.0));
    return inside / max(inside.x + inside.y, 1.0);
}

fn polygon_corner(word: u32) -> vec2<f32> {
    let packed = element_tables[word];
    return vec2<f32>(vec2(packed & 0xffffu, packed >> 16u)) / 65535.0;
}

fn twice_signed_area(a: vec2<f32>, b: vec2<f32>, c: vec2<f32>) -> f32 {
    let ab = b - a;
    let ac = c - a;
    return ab.x * ac.y - ab.y * ac.x;
}

fn point_of_polygon(corners: u32, count: u32, u: vec2<f32>) -> vec2<f32> {
    let first = polygon_corner(corners);
    var area = 0.0;
    for (var index = 2u; index < count; index++) {
        area += twice_signed_area(first, polygon_corner(corners + index - 1u), polygon_corner(corners + index));
    }
    var rest = u.x * abs(area);
    var sampled = first;
    for (var index = 2u; index < count; index++) {
        let b = polygon_corner(corners + index - 1u);
        let c = polygon_corner(corners + index);
        let own = abs(twice_signed_area(first, b, c));
        if own > 0.0 {
            let weights = uniform_triangle(vec2(min(rest / own, 1.0), u.y));
            sampled = first + (b - first) * weights.x + (c - first) * weights.y;
        }
        if rest < own {
            break;
        }
        rest -= own;
    }
    return sampled;
}

fn sheet_of(triangle: u32) -> u32 {
    return element_tables[SHEETS] + SHEET_WORDS * surface_of(triangle);
}

/// Returns the element at a hit, or `NONE` if the surface has no elements on that side.
fn element_at(hit: Hit, back: bool) -> u32 {
    let sheet = sheet_of(hit.triangle);
    let flags = element_tables[sheet];
    let first = element_tables[sheet + select(1u, 2u, back)];
    if (flags & HAS_TEXELS) == 0u || first == NONE {
        return NONE;
    }
    var triangle = triangles[hit.triangle].index;
    var barycentric = hit.barycentric;
    if back && (flags & TWO_SIDED) != 0u {
        triangle += element_tables[sheet + 3u];
        barycentric = barycentric.yx;
    }
    let footprint = footprint_at(sheet, triangle, barycentric);
    return select(first + footprint, NONE, footprint == NONE);
}

/// Returns the footprint at a point of a triangle: that of its texel if the triangle's chart covers the texel, else the
/// nearest covered footprint. `NONE` for triangles without area.
fn footprint_at(sheet: u32, triangle: u32, barycentric: vec2<f32>) -> u32 {
    // Record layout: three corners in texels, home footprint, chart.
    let record = element_tables[sheet + 7u] + 8u * triangle;
    let home = element_tables[record + 6u];
    if home == NONE || (home & WHOLE) != 0u {
        return select(home & ~WHOLE, NONE, home == NONE);
    }
    let a = element_vec2(record);
    let point = a + (element_vec2(record + 2u) - a) * barycentric.x + (element_vec2(record + 4u) - a) * barycentric.y;
    let chart = element_tables[record + 7u];
    let texel_there = vec2<i32>(point);
    let own = covered(sheet, texel_there, point, chart);
    if own != NONE {
        return own;
    }
    var nearest = home;
    var nearest_distance = FAR;
    for (var neighbor = 0; neighbor < 9; neighbor++) {
        let beside = texel_there + vec2(neighbor % 3 - 1, neighbor / 3 - 1);
        let corner = vec2<f32>(beside);
        let away = point - clamp(point, corner, corner + 1.0);
        let distance = dot(away, away);
        if neighbor != 4 && distance < nearest_distance {
            let footprint = covered(sheet, beside, point, chart);
            if footprint != NONE {
                nearest = footprint;
                nearest_distance = distance;
            }
        }
    }
    return nearest;
}

/// Returns the footprint of a texel, or of the part that contains the point, if the chart covers it.
fn covered(sheet: u32, place: vec2<i32>, point: vec2<f32>, chart: u32) -> u32 {
    let size = vec2(element_tables[sheet + 4u], element_tables[sheet + 5u]);
    let inside = vec2<u32>(clamp(place, vec2(0), vec2<i32>(size) - 1));
    var footprint = element_tables[element_tables[sheet + 6u] + inside.y * size.x + inside.x];
    if footprint == NONE {
        return NONE;
    }
    if (footprint & DIVIDED) != 0u {
        footprint = part_at(footprint & ~DIVIDED, point - vec2<f32>(inside));
    }
    return select(NONE, footprint, element_tables[element_tables[sheet + 8u] + footprint] == chart);
}

/// Returns the footprint of the part that contains a point, in texels from the texel's corner. The table holds the
/// first footprint, then for each cut the line's normal and height, and the branches below and above.
fn part_at(division: u32, point: vec2<f32>) -> u32 {
    var branch = 0u;
    for (var cuts = 0u; cuts < MAX_CUTS && (branch & PART) == 0u; cuts++) {
        let cut = division + 1u + 5u * branch;
        let height = dot(element_vec2(cut), point) + element_float(cut + 2u);
        branch = element_tables[cut + select(3u, 4u, height >= 0.0)];
    }
    return element_tables[division] + (branch & ~PART);
}
