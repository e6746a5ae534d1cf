// Colours as textures hold them, to the bit: the twin of `lightmap::files::rgb9e5`. Drivers may round conversions of their
// own either way, and what a bake has written is not to change.

/// The largest values of either format.
const MOST_HALF: f32 = 65504.0;
const MOST_SHARED: f32 = 65408.0;

/// The half float that is nearest to a value from zero to `MOST_HALF`; of two, the even one.
fn half_float(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let even = (bits >> 13u) & 1u;
    let normal = ((bits + 0xfffu + even) >> 13u) - (112u << 10u);
    // Below 2^-14 the exponent stays, and a step is 2^-24.
    return select(u32(round(value * 16777216.0)), normal, bits >= 0x38800000u);
}

/// `Rgba16Float`, opaque.
fn half_floats(colour: vec3<f32>) -> vec2<u32> {
    let within = clamp(colour, vec3(0.0), vec3(MOST_HALF));
    return vec2(
        half_float(within.x) | (half_float(within.y) << 16u),
        half_float(within.z) | (0x3c00u << 16u),
    );
}

/// The nearest whole number; of two, the larger one.
fn nearest(values: vec3<f32>) -> vec3<u32> {
    let whole = floor(values);
    return vec3<u32>(whole) + select(vec3(0u), vec3(1u), values - whole >= vec3(0.5));
}

/// One over what the lowest bit of a mantissa of nine bits stands for.
fn step_reciprocal(exponent: i32) -> f32 {
    return bitcast<f32>(u32(24 - exponent + 127) << 23u);
}

/// `Rgb9e5Ufloat`.
fn shared_exponent(colour: vec3<f32>) -> u32 {
    let within = clamp(colour, vec3(0.0), vec3(MOST_SHARED));
    let largest = max(within.x, max(within.y, within.z));
    // The exponent bits of a positive float are its floored logarithm, exactly.
    let logarithm = i32(bitcast<u32>(largest) >> 23u) - 127;
    var exponent = max(logarithm, -16) + 16;
    let is_next = nearest(vec3(largest * step_reciprocal(exponent))).x == 512u;
    exponent = select(exponent, exponent + 1, is_next);
    let mantissas = nearest(within * step_reciprocal(exponent));
    return mantissas.x | (mantissas.y << 9u) | (mantissas.z << 18u) | (u32(exponent) << 27u);
}
