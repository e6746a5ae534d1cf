// What surfaces are made of: the twin of `scene::Material`.

/// A picture of a material, and how it is laid on the surface.
struct Picture {
    /// Layer; corner; size; wrapping, flags and the number of the texture coordinates.
    words: vec4<u32>,
    /// From those coordinates to the picture's own: the columns of a matrix, and what is added.
    uv_matrix: vec4<f32>,
    uv_offset: vec2<f32>,
    padding_a: u32,
    padding_b: u32,
}

/// One surface and its material.
struct Surface {
    /// Factor on the base colour, linear; alpha last.
    base_color: vec4<f32>,
    /// Emitted radiance, cd/m2.
    emission: vec3<f32>,
    /// Factor on metalness.
    metallic: f32,
    /// How strongly it shines where it is no metal, per channel.
    reflectance: vec3<f32>,
    /// Factor on perceptual roughness.
    roughness: f32,
    padding_before_a: u32,
    padding_before_b: u32,
    /// Alpha below which a ray passes.
    alpha_threshold: f32,
    /// `OPAQUE`, `MASK` or `BLEND`, and the others below.
    flags: u32,
    /// How fast light fades within, per metre.
    absorption: vec3<f32>,
    /// The part of the light that goes into solid glass; zero for anything else.
    transmission: f32,
    /// Color of the light that is scattered through the surface, and the part of diffuse light that is.
    diffuse_transmission_color: vec3<f32>,
    diffuse_transmission: f32,
    /// Its pictures, in the order of the constants below.
    pictures: array<Picture, PICTURES>,
    /// The page of its lightmap.
    lightmap: vec4<u32>,
    /// Its rectangle of the page, in parts of it.
    lightmap_corner: vec2<f32>,
    lightmap_size: vec2<f32>,
    /// The emitter that it is, or `NONE`.
    emitter: u32,
    /// Index of refraction of glass.
    ior: f32,
    /// How steep the bumps of the picture of normals are.
    normal_scale: f32,
    /// How much is covered by varnish.
    clearcoat: f32,
    clearcoat_roughness: f32,
    /// The part of the light that goes straight through, as through a thin pane.
    pane: f32,
    padding_b: u32,
    /// The root of its mesh's tree. It and all that follows tell of movers alone.
    root: u32,
    /// From the world to the mesh's own space: the rows of a matrix.
    from_world: array<vec4<f32>, 3>,
    /// The corner of the box around its mesh's triangles with the smallest coordinates, in their own space.
    tree_min: vec3<f32>,
    /// The first of its triangles.
    first_triangle: u32,
    /// The corner with the largest coordinates.
    tree_max: vec3<f32>,
    padding: u32,
    /// The largest number, along each axis of the mesh's space, that rounding may be part of on the way there ...
    reach: vec3<f32>,
    padding_of_reach: u32,
    /// ... and how much larger it gets with each metre that the ray starts away from the world's origin.
    stretch: vec3<f32>,
    padding_of_stretch: u32,
}

const ALPHA_MODE: u32 = 3u;
const MASK: u32 = 1u;
const BLEND: u32 = 2u;
/// Its back reflects and shines too.
const BOTH_SIDES: u32 = 4u;
/// Its transform turns left into right.
const MIRRORED: u32 = 8u;
/// Its lightmap holds direct light, too.
const LIT_DIRECTLY: u32 = 16u;
/// Its mesh has vertex colors.
const COLORED: u32 = 128u;
/// What blending lets through is tinted.
const TINTS: u32 = 32u;
/// Rays must ask whether it stops them.
const CAN_BE_PASSED: u32 = 64u;

/// From this bit of a picture's last word on there is the number of its texture coordinates.
const UV_SHIFT: u32 = 8u;
/// Set where there is a picture at all.
const IS_PICTURE: u32 = 32u;
/// Set where its colour is sRGB; its alpha is linear.
const IS_SRGB: u32 = 64u;
/// Set where it is in the array of floats.
const IS_FLOAT: u32 = 128u;

const BASE_COLOR: u32 = 0u;
const METALLIC_ROUGHNESS: u32 = 1u;
const EMISSION: u32 = 2u;
const NORMALS: u32 = 3u;
const CLEARCOAT: u32 = 4u;
const CLEARCOAT_ROUGHNESS: u32 = 5u;
const TRANSMISSION: u32 = 6u;
const SPECULAR: u32 = 7u;
const SPECULAR_TINT: u32 = 8u;
const PICTURES: u32 = 9u;

/// Set where a triangle has normals, colors and texture coordinates, in the first word of its attributes. Further sets of
/// coordinates have the bits that follow.
const HAS_NORMALS: u32 = 1u;
const HAS_COLORS: u32 = 2u;
const HAS_UV: u32 = 4u;

@group(0) @binding(6) var<storage, read> tables: array<u32>;
@group(0) @binding(7) var<storage, read> surfaces: array<Surface>;
/// Linear light of each value of an sRGB channel: what devices decode by themselves differs by a thousandth.
@group(0) @binding(9) var<uniform> linear_of_srgb: array<vec4<f32>, 64>;
@group(0) @binding(10) var eight_bit_pictures: texture_2d_array<f32>;
@group(0) @binding(11) var float_pictures: texture_2d_array<f32>;

fn table_float(index: u32) -> f32 {
    return bitcast<f32>(tables[index]);
}

fn table_vec2(index: u32) -> vec2<f32> {
    return vec2(table_float(index), table_float(index + 1u));
}

fn table_vec3(index: u32) -> vec3<f32> {
    return vec3(table_float(index), table_float(index + 1u), table_float(index + 2u));
}

fn table_vec4(index: u32) -> vec4<f32> {
    return vec4(table_vec3(index), table_float(index + 3u));
}

fn surface_of(triangle: u32) -> u32 {
    return triangles[triangle].surface & SURFACE_NUMBER;
}

/// The texel of a row or column that is seen at an index which may lie beyond it; `wrap` as `scene::Wrap` counts.
fn wrapped(texel: i32, size: i32, wrap: u32) -> i32 {
    if texel >= 0 && texel < size {
        return texel;
    }
    if wrap == 2u {
        return clamp(texel, 0, size - 1);
    }
    let period = select(size, 2 * size, wrap == 1u);
    let folded = ((texel % period) + period) % period;
    return select(folded, 2 * size - 1 - folded, folded >= size);
}

fn texel(picture: vec4<u32>, x: i32, y: i32) -> vec4<f32> {
    let size = vec2<i32>(vec2(picture.z & 0xffffu, picture.z >> 16u));
    let place = vec2(wrapped(x, size.x, picture.w & 3u), wrapped(y, size.y, (picture.w >> 2u) & 3u))
        + vec2<i32>(vec2(picture.y & 0xffffu, picture.y >> 16u));
    if (picture.w & IS_FLOAT) != 0u {
        return textureLoad(float_pictures, place, i32(picture.x), 0);
    }
    let value = textureLoad(eight_bit_pictures, place, i32(picture.x), 0);
    if (picture.w & IS_SRGB) != 0u {
        return vec4(decoded(value.x), decoded(value.y), decoded(value.z), value.w);
    }
    return value;
}

fn decoded(channel: f32) -> f32 {
    let index = u32(channel * 255.0 + 0.5);
    return linear_of_srgb[index / 4u][index % 4u];
}

/// A coordinate near the unit square that shows the same texel, without rounding. `wrap` is a `scene::Wrap`.
fn folded(coordinate: f32, wrap: u32) -> f32 {
    return select(coordinate - 2.0 * floor(0.5 * coordinate), clamp(coordinate, -1.0, 2.0), wrap == 2u);
}

/// A picture, bilinearly filtered in linear light. Its words: layer; corner; size; wrapping and flags.
fn sample_picture(picture: vec4<u32>, uv: vec2<f32>) -> vec4<f32> {
    let size = vec2<f32>(vec2(picture.z & 0xffffu, picture.z >> 16u));
    var position = uv * size - 0.5;
    // Beyond it floats no longer tell texels apart.
    if !all(abs(position) < vec2(1e9)) {
        if !all(abs(uv) <= vec2(3.4028234e38)) {
            return vec4(1.0);
        }
        position = vec2(folded(uv.x, picture.w & 3u), folded(uv.y, (picture.w >> 2u) & 3u)) * size - 0.5;
    }
    let corner = floor(position);
    let blend = position - corner;
    let x = i32(corner.x);
    let y = i32(corner.y);
    let top = mix(texel(picture, x, y), texel(picture, x + 1, y), blend.x);
    let bottom = mix(texel(picture, x, y + 1), texel(picture, x + 1, y + 1), blend.x);
    return mix(top, bottom, blend.y);
}

/// Where a set of texture coordinates starts in the attributes of a triangle, or `NONE`.
fn coordinates_of(attributes: u32, uv_set: u32) -> u32 {
    if attributes == NONE {
        return NONE;
    }
    let present = tables[attributes];
    let flag = HAS_UV << uv_set;
    if (present & flag) == 0u {
        return NONE;
    }
    let before = select(0u, 9u, (present & HAS_NORMALS) != 0u) + select(0u, 12u, (present & HAS_COLORS) != 0u)
        + 6u * countOneBits(present & (flag - HAS_UV));
    return attributes + 1u + before;
}

/// The interpolated color of a triangle's vertices; white where it has none.
fn vertex_color(triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    let attributes = triangles[triangle].attributes;
    if attributes == NONE || (tables[attributes] & HAS_COLORS) == 0u {
        return vec4(1.0);
    }
    let place = attributes + 1u + select(0u, 9u, (tables[attributes] & HAS_NORMALS) != 0u);
    let a = table_vec4(place);
    return a + (table_vec4(place + 4u) - a) * barycentric.x + (table_vec4(place + 8u) - a) * barycentric.y;
}

/// Where a picture of a surface is read at a point of a triangle, and how that changes along the triangle's two edges from
/// its first corner.
struct PicturePlace {
    uv: vec2<f32>,
    along_b: vec2<f32>,
    along_c: vec2<f32>,
    /// False where the surface has no such picture, or its mesh no coordinates for it.
    is_there: bool,
}

fn picture_place(surface: u32, which: u32, triangle: u32, barycentric: vec2<f32>) -> PicturePlace {
    let nowhere = PicturePlace(vec2(0.0), vec2(0.0), vec2(0.0), false);
    let flags = surfaces[surface].pictures[which].words.w;
    if (flags & IS_PICTURE) == 0u {
        return nowhere;
    }
    let place = coordinates_of(triangles[triangle].attributes, flags >> UV_SHIFT);
    if place == NONE {
        return nowhere;
    }
    let a = table_vec2(place);
    let b = table_vec2(place + 2u) - a;
    let c = table_vec2(place + 4u) - a;
    let columns = surfaces[surface].pictures[which].uv_matrix;
    let matrix = mat2x2(columns.xy, columns.zw);
    let uv = matrix * (a + b * barycentric.x + c * barycentric.y) + surfaces[surface].pictures[which].uv_offset;
    return PicturePlace(uv, matrix * b, matrix * c, true);
}

/// A picture of a surface at a point of a triangle; one where there is none.
fn read_picture(surface: u32, which: u32, triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    let place = picture_place(surface, which, triangle, barycentric);
    if !place.is_there {
        return vec4(1.0);
    }
    return sample_picture(surfaces[surface].pictures[which].words, place.uv);
}

/// The pictures of a surface that say how it reflects, at a point of a triangle. One place in the code reads all: pictures are
/// long where compilers inline.
fn read_pictures(surface: u32, triangle: u32, barycentric: vec2<f32>) -> array<vec4<f32>, PICTURES> {
    var pictures: array<vec4<f32>, PICTURES>;
    for (var which = 0u; which < PICTURES; which++) {
        if which != EMISSION && which != NORMALS {
            pictures[which] = read_picture(surface, which, triangle, barycentric);
        }
    }
    return pictures;
}

/// Where the lightmap's coordinates of a triangle start in its attributes, or `NONE` without a lightmap.
fn lightmap_coordinates(surface: u32, triangle: u32) -> u32 {
    if (surfaces[surface].lightmap.w & IS_PICTURE) == 0u {
        return NONE;
    }
    return coordinates_of(triangles[triangle].attributes, 1u);
}

/// Irradiance / pi that was baked for a point of a triangle, whose coordinates start at `place`.
fn baked_light(surface: u32, place: u32, barycentric: vec2<f32>) -> vec3<f32> {
    let a = table_vec2(place);
    let uv = a + (table_vec2(place + 2u) - a) * barycentric.x + (table_vec2(place + 4u) - a) * barycentric.y;
    let corner = surfaces[surface].lightmap_corner;
    return sample_picture(surfaces[surface].lightmap, corner + uv * surfaces[surface].lightmap_size).xyz;
}

fn base_color_at(surface: u32, triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    return base_color_of(surface, read_picture(surface, BASE_COLOR, triangle, barycentric), triangle, barycentric);
}

/// Base color and alpha of a point of a triangle, from those of the picture there.
fn base_color_of(surface: u32, picture: vec4<f32>, triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    let color = surfaces[surface].base_color * picture;
    if (surfaces[surface].flags & COLORED) == 0u {
        return color;
    }
    return min(color * vertex_color(triangle, barycentric), vec4(1.0));
}

/// Emitted radiance at a point of a triangle, cd/m2.
fn emission_at(surface: u32, triangle: u32, barycentric: vec2<f32>) -> vec3<f32> {
    return surfaces[surface].emission * read_picture(surface, EMISSION, triangle, barycentric).xyz;
}

/// What becomes of rays that meet a point of a surface: the twin of `scene::Passage`.
struct Passage {
    /// The share of light that passes, per channel.
    transmittance: vec3<f32>,
    /// The share of rays that pass.
    chance: f32,
}

fn passage_at(triangle: u32, barycentric: vec2<f32>) -> Passage {
    let surface = surface_of(triangle);
    let flags = surfaces[surface].flags;
    if (flags & CAN_BE_PASSED) == 0u {
        return Passage(vec3(0.0), 0.0);
    }
    let mode = flags & ALPHA_MODE;
    // One place in the code reads all: pictures are long where compilers inline.
    var base = vec4(1.0);
    var pane = surfaces[surface].pane;
    var slots = array<u32, 3>(BASE_COLOR, TRANSMISSION, METALLIC_ROUGHNESS);
    for (var index = 0u; index < select(1u, 3u, pane > 0.0); index++) {
        let slot = slots[index];
        let picture = read_picture(surface, slot, triangle, barycentric);
        if slot == BASE_COLOR {
            base = base_color_of(surface, picture, triangle, barycentric);
        } else if slot == TRANSMISSION {
            pane *= picture.x;
        } else {
            pane *= 1.0 - surfaces[surface].metallic * picture.z;
        }
    }
    var coverage = 1.0;
    if mode == MASK {
        coverage = select(0.0, 1.0, base.w >= surfaces[surface].alpha_threshold);
    } else if mode == BLEND {
        coverage = clamp(base.w, 0.0, 1.0);
    }
    let color = clamp(base.xyz, vec3(0.0), vec3(1.0));
    let straight = coverage * pane;
    let open = 1.0 - coverage;
    let tint = select(vec3(1.0), color, mode == BLEND && (flags & TINTS) != 0u);
    return Passage(tint * open + color * straight, clamp(open + straight, 0.0, 1.0));
}

/// How much of the light crosses a triangle, per channel.
fn transmittance(triangle: u32, barycentric: vec2<f32>) -> vec3<f32> {
    return passage_at(triangle, barycentric).transmittance;
}

/// See `kdtree::passage`.
const ALIKE: f32 = 1.0 / 16384.0;

/// The tint with which a ray passes a triangle, or minus one where it stops there: chance decides, as a pure function of the
/// ray's direction and of where it meets the triangle.
fn passing_tint(ray: Ray, triangle: u32, hit: TriangleHit) -> vec3<f32> {
    let passage = passage_at(triangle, hit.barycentric);
    let chance = passage.chance;
    if chance <= 0.0 {
        return vec3(-1.0);
    }
    var word = hash2(surface_of(triangle), triangles[triangle].index);
    let place = vec2<u32>(vec2<i32>(floor(hit.barycentric / ALIKE + 0.5)));
    let direction = vec3<u32>(vec3<i32>(floor(ray.direction / largest(abs(ray.direction)) / ALIKE + 0.5)));
    word = hash2(hash2(word, place.x), place.y);
    word = hash2(hash2(hash2(word, direction.x), direction.y), direction.z);
    return select(vec3(-1.0), passage.transmittance / chance, unit_float(word) < chance);
}
