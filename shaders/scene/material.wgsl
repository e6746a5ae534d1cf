// Materials of surfaces; counterpart of `scene::Material`.

/// Texture of a material with its UV transform.
struct TextureRecord {
    /// Layer, corner, size, and wrap modes with flags and UV channel.
    words: vec4<u32>,
    /// UV transform: the columns of a matrix, and an offset.
    uv_matrix: vec4<f32>,
    uv_offset: vec2<f32>,
    padding_a: u32,
    padding_b: u32,
}

/// Surface with its material.
struct Surface {
    /// Factor on the base color, linear, with alpha last.
    base_color: vec4<f32>,
    /// Emitted radiance, cd/m2.
    emission: vec3<f32>,
    /// Factor on metallic.
    metallic: f32,
    /// Specular reflectance of dielectrics, per channel.
    reflectance: vec3<f32>,
    /// Factor on perceptual roughness.
    roughness: f32,
    padding_before_a: u32,
    padding_before_b: u32,
    /// Alpha below which a ray passes the surface.
    alpha_threshold: f32,
    /// Alpha mode (`MASK` or `BLEND`, else opaque) and the flags below.
    flags: u32,
    /// Absorption coefficient inside glass, per meter.
    absorption: vec3<f32>,
    /// Transmission of solid glass; zero for other materials.
    transmission: f32,
    /// Factors on the color of diffusely transmitted light, and on the transmitted fraction of diffuse light.
    diffuse_transmission_color: vec3<f32>,
    diffuse_transmission: f32,
    /// Textures, in the order of the constants below.
    textures: array<TextureRecord, TEXTURE_SLOTS>,
    /// Lightmap page.
    lightmap: vec4<u32>,
    /// Rectangle of the surface on the page, in fractions of the page.
    lightmap_corner: vec2<f32>,
    lightmap_size: vec2<f32>,
    /// Emitter index, or `NONE`.
    emitter: u32,
    /// Index of refraction of glass.
    ior: f32,
    /// Strength of the normal map.
    normal_scale: f32,
    /// Strength of the clear coat.
    clearcoat: f32,
    clearcoat_roughness: f32,
    /// Transmission of a thin pane, without refraction.
    pane: f32,
    padding_0: u32,
    padding_1: u32,
    /// Place of a moving surface.
    placement: Placement,
}

/// Place of a moving surface, for rays into object space.
struct Placement {
    /// Transform from world space to object space: the rows of a matrix.
    from_world: array<vec4<f32>, 3>,
    /// Minimum corner of the mesh's bounds, in object space.
    tree_min: vec3<f32>,
    /// First triangle of the surface.
    first_triangle: u32,
    /// Maximum corner of the mesh's bounds.
    tree_max: vec3<f32>,
    /// Root of the mesh's tree.
    root: u32,
    /// Bound on the numbers subject to rounding in the transform, on each axis of object space ...
    reach: vec3<f32>,
    padding_0: u32,
    /// ... and its growth per meter of the ray origin's distance from the world's origin.
    stretch: vec3<f32>,
    padding_1: u32,
}

const ALPHA_MODE: u32 = 3u;
const MASK: u32 = 1u;
const BLEND: u32 = 2u;
/// Flag: both sides reflect and emit.
const BOTH_SIDES: u32 = 4u;
/// Flag: the transform mirrors the surface.
const MIRRORED: u32 = 8u;
/// Flag: the lightmap contains direct light.
const LIT_DIRECTLY: u32 = 16u;
/// Flag: the mesh has vertex colors.
const COLORED: u32 = 128u;
/// Flag: blending tints the light that passes.
const TINTS: u32 = 32u;
/// Flag: rays may pass the surface.
const CAN_BE_PASSED: u32 = 64u;

/// First bit of the UV channel in the last word of a texture reference.
const UV_SHIFT: u32 = 8u;
/// Flag: there is a texture.
const IS_TEXTURE: u32 = 32u;
/// Flag: the color is sRGB; alpha is linear.
const IS_SRGB: u32 = 64u;
/// Flag: the texture is in the float array.
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
const DIFFUSE_TRANSMISSION: u32 = 9u;
const DIFFUSE_TRANSMISSION_COLOR: u32 = 10u;
const TEXTURE_SLOTS: u32 = 11u;

/// Flags of the attributes that a triangle has, in the first attribute word: normals, colors and UV coordinates. Flags
/// of further UV channels follow.
const HAS_NORMALS: u32 = 1u;
const HAS_COLORS: u32 = 2u;
const HAS_UV: u32 = 4u;

@group(0) @binding(6) var<storage, read> tables: array<u32>;
@group(0) @binding(7) var<storage, read> surfaces: array<Surface>;
/// Linear value of each sRGB channel value. Hardware decoding differs by up to a thousandth.
@group(0) @binding(9) var<uniform> linear_of_srgb: array<vec4<f32>, 64>;
@group(0) @binding(10) var eight_bit_textures: texture_2d_array<f32>;
@group(0) @binding(11) var float_textures: texture_2d_array<f32>;

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

/// Maps a texel index to a row or column by a wrap mode, numbered as in `scene::Wrap`.
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

fn texel(texture: vec4<u32>, x: i32, y: i32) -> vec4<f32> {
    let size = vec2<i32>(vec2(texture.z & 0xffffu, texture.z >> 16u));
    let place = vec2(wrapped(x, size.x, texture.w & 3u), wrapped(y, size.y, (texture.w >> 2u) & 3u))
        + vec2<i32>(vec2(texture.y & 0xffffu, texture.y >> 16u));
    if (texture.w & IS_FLOAT) != 0u {
        return textureLoad(float_textures, place, i32(texture.x), 0);
    }
    let value = textureLoad(eight_bit_textures, place, i32(texture.x), 0);
    if (texture.w & IS_SRGB) != 0u {
        return vec4(decoded(value.x), decoded(value.y), decoded(value.z), value.w);
    }
    return value;
}

fn decoded(channel: f32) -> f32 {
    let index = u32(channel * 255.0 + 0.5);
    return linear_of_srgb[index / 4u][index % 4u];
}

/// Maps a coordinate near the unit square without rounding, such that the same texel is sampled. `wrap` is a
/// `scene::Wrap`.
fn folded(coordinate: f32, wrap: u32) -> f32 {
    return select(coordinate - 2.0 * floor(0.5 * coordinate), clamp(coordinate, -1.0, 2.0), wrap == 2u);
}

/// Samples a texture bilinearly in linear space, given its words: layer, corner, size, wrap modes and flags.
fn sample_texture(texture: vec4<u32>, uv: vec2<f32>) -> vec4<f32> {
    let size = vec2<f32>(vec2(texture.z & 0xffffu, texture.z >> 16u));
    var position = uv * size - 0.5;
    // Beyond this limit, floats no longer separate texels.
    if !all(abs(position) < vec2(1e9)) {
        if !all(abs(uv) <= vec2(3.4028234e38)) {
            return vec4(1.0);
        }
        position = vec2(folded(uv.x, texture.w & 3u), folded(uv.y, (texture.w >> 2u) & 3u)) * size - 0.5;
    }
    let corner = floor(position);
    let blend = position - corner;
    let x = i32(corner.x);
    let y = i32(corner.y);
    let top = mix(texel(texture, x, y), texel(texture, x + 1, y), blend.x);
    let bottom = mix(texel(texture, x, y + 1), texel(texture, x + 1, y + 1), blend.x);
    return mix(top, bottom, blend.y);
}

/// Returns the offset of a UV channel in a triangle's attributes, or `NONE`.
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

/// Returns the interpolated vertex color; white if the mesh has none.
fn vertex_color(triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    let attributes = triangles[triangle].attributes;
    if attributes == NONE || (tables[attributes] & HAS_COLORS) == 0u {
        return vec4(1.0);
    }
    let place = attributes + 1u + select(0u, 9u, (tables[attributes] & HAS_NORMALS) != 0u);
    let a = table_vec4(place);
    return a + (table_vec4(place + 4u) - a) * barycentric.x + (table_vec4(place + 8u) - a) * barycentric.y;
}

/// Texture coordinates at a point of a triangle, and their change along both edges from the first corner.
struct TexturePlace {
    uv: vec2<f32>,
    along_b: vec2<f32>,
    along_c: vec2<f32>,
    /// False if the surface has no such texture, or the mesh lacks its UV channel.
    is_there: bool,
}

fn texture_place(surface: u32, which: u32, triangle: u32, barycentric: vec2<f32>) -> TexturePlace {
    let nowhere = TexturePlace(vec2(0.0), vec2(0.0), vec2(0.0), false);
    let flags = surfaces[surface].textures[which].words.w;
    if (flags & IS_TEXTURE) == 0u {
        return nowhere;
    }
    let place = coordinates_of(triangles[triangle].attributes, flags >> UV_SHIFT);
    if place == NONE {
        return nowhere;
    }
    let a = table_vec2(place);
    let b = table_vec2(place + 2u) - a;
    let c = table_vec2(place + 4u) - a;
    let columns = surfaces[surface].textures[which].uv_matrix;
    let matrix = mat2x2(columns.xy, columns.zw);
    let uv = matrix * (a + b * barycentric.x + c * barycentric.y) + surfaces[surface].textures[which].uv_offset;
    return TexturePlace(uv, matrix * b, matrix * c, true);
}

/// Samples a texture of a surface at a point of a triangle; one without a texture.
fn read_texture(surface: u32, which: u32, triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    let place = texture_place(surface, which, triangle, barycentric);
    if !place.is_there {
        return vec4(1.0);
    }
    return sample_texture(surfaces[surface].textures[which].words, place.uv);
}

/// Samples all textures that affect reflection, at a point of a triangle. A single loop samples all, because compilers
/// inline the long sampling code.
fn read_textures(surface: u32, triangle: u32, barycentric: vec2<f32>) -> array<vec4<f32>, TEXTURE_SLOTS> {
    var textures: array<vec4<f32>, TEXTURE_SLOTS>;
    for (var which = 0u; which < TEXTURE_SLOTS; which++) {
        if which != EMISSION && which != NORMALS {
            textures[which] = read_texture(surface, which, triangle, barycentric);
        }
    }
    return textures;
}

/// Returns the offset of a triangle's lightmap coordinates in its attributes, or `NONE` without a lightmap.
fn lightmap_coordinates(surface: u32, triangle: u32) -> u32 {
    if (surfaces[surface].lightmap.w & IS_TEXTURE) == 0u {
        return NONE;
    }
    return coordinates_of(triangles[triangle].attributes, 1u);
}

/// Returns baked irradiance / pi at a point of a triangle, whose lightmap coordinates start at `place`.
fn baked_light(surface: u32, place: u32, barycentric: vec2<f32>) -> vec3<f32> {
    let a = table_vec2(place);
    let uv = a + (table_vec2(place + 2u) - a) * barycentric.x + (table_vec2(place + 4u) - a) * barycentric.y;
    let corner = surfaces[surface].lightmap_corner;
    return sample_texture(surfaces[surface].lightmap, corner + uv * surfaces[surface].lightmap_size).xyz;
}

fn base_color_at(surface: u32, triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    return base_color_of(surface, read_texture(surface, BASE_COLOR, triangle, barycentric), triangle, barycentric);
}

/// Returns base color and alpha at a point of a triangle, given the texture sample.
fn base_color_of(surface: u32, texture: vec4<f32>, triangle: u32, barycentric: vec2<f32>) -> vec4<f32> {
    let color = surfaces[surface].base_color * texture;
    if (surfaces[surface].flags & COLORED) == 0u {
        return color;
    }
    return min(color * vertex_color(triangle, barycentric), vec4(1.0));
}

/// Returns the emitted radiance at a point of a triangle, in cd/m2.
fn emission_at(surface: u32, triangle: u32, barycentric: vec2<f32>) -> vec3<f32> {
    return surfaces[surface].emission * read_texture(surface, EMISSION, triangle, barycentric).xyz;
}

/// Passage of rays at a point of a surface; counterpart of `scene::Passage`.
struct Passage {
    /// Transmittance, per channel.
    transmittance: vec3<f32>,
    /// Probability that a ray passes.
    probability: f32,
}

fn passage_at(triangle: u32, barycentric: vec2<f32>) -> Passage {
    let surface = surface_of(triangle);
    let flags = surfaces[surface].flags;
    if (flags & CAN_BE_PASSED) == 0u {
        return Passage(vec3(0.0), 0.0);
    }
    let mode = flags & ALPHA_MODE;
    // A single loop samples all textures, because compilers inline the long sampling code.
    var base = vec4(1.0);
    var pane = surfaces[surface].pane;
    var slots = array<u32, 3>(BASE_COLOR, TRANSMISSION, METALLIC_ROUGHNESS);
    for (var index = 0u; index < select(1u, 3u, pane > 0.0); index++) {
        let slot = slots[index];
        let texture = read_texture(surface, slot, triangle, barycentric);
        if slot == BASE_COLOR {
            base = base_color_of(surface, texture, triangle, barycentric);
        } else if slot == TRANSMISSION {
            pane *= texture.x;
        } else {
            pane *= 1.0 - surfaces[surface].metallic * texture.z;
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

/// Returns the transmittance of a triangle, per channel.
fn transmittance(triangle: u32, barycentric: vec2<f32>) -> vec3<f32> {
    return passage_at(triangle, barycentric).transmittance;
}

/// Quantization step of the hash; see `accel::passage`.
const ALIKE: f32 = 1.0 / 16384.0;

/// Returns the tint of a ray that passes a triangle, or minus one if the ray stops. The decision is a pure function of
/// the ray's direction and the hit point.
fn passing_tint(ray: Ray, triangle: u32, hit: TriangleHit) -> vec3<f32> {
    let passage = passage_at(triangle, hit.barycentric);
    let probability = passage.probability;
    if probability <= 0.0 {
        return vec3(-1.0);
    }
    var word = hash2(surface_of(triangle), triangles[triangle].index);
    let place = vec2<u32>(vec2<i32>(floor(hit.barycentric / ALIKE + 0.5)));
    let direction = vec3<u32>(vec3<i32>(floor(ray.direction / largest(abs(ray.direction)) / ALIKE + 0.5)));
    word = hash2(hash2(word, place.x), place.y);
    word = hash2(hash2(hash2(word, direction.x), direction.y), direction.z);
    return select(vec3(-1.0), passage.transmittance / probability, unit_float(word) < probability);
}
