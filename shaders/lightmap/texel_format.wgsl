// Exact conversion of colors to texture formats; counterpart of `lightmap::files::rgb9e5`. Drivers may round their own
// conversions either way, and baked texels must not change.

/// Maximum value of each format.
const MAX_HALF: f32 = 65504.0;
const MAX_SHARED_EXPONENT: f32 = 65408.0;

/// Converts a value from zero to `MAX_HALF` to the nearest half float; ties go to even.
fn half_float(value: f32) -> u32 {
    let bits = bitcast<u32>(value);
    let even = (bits >> 13u) & 1u;
    let normal = ((bits + 0xfffu + even) >> 13u) - (112u << 10u);
    // Below 2^-14 numbers are subnormal, with a step of 2^-24.
    return select(u32(round(value * 16777216.0)), normal, bits >= 0x38800000u);
}

/// Packs an opaque `Rgba16Float` texel.
fn half_floats(color: vec3<f32>) -> vec2<u32> {
    let within = clamp(color, vec3(0.0), vec3(MAX_HALF));
    return vec2(
        half_float(within.x) | (half_float(within.y) << 16u),
        half_float(within.z) | (0x3c00u << 16u),
    );
}

/// Rounds to the nearest integer; ties go up.
fn nearest(values: vec3<f32>) -> vec3<u32> {
    let whole = floor(values);
    return vec3<u32>(whole) + select(vec3(0u), vec3(1u), values - whole >= vec3(0.5));
}

/// Returns the reciprocal of the value of a 9-bit mantissa's lowest bit.
fn step_reciprocal(exponent: i32) -> f32 {
    return bitcast<f32>(u32(24 - exponent + 127) << 23u);
}

/// Packs an `Rgb9e5Ufloat` texel.
fn shared_exponent(color: vec3<f32>) -> u32 {
    let within = clamp(color, vec3(0.0), vec3(MAX_SHARED_EXPONENT));
    let largest = max(within.x, max(within.y, within.z));
    // The exponent bits of a positive float are exactly its floored binary logarithm.
    let logarithm = i32(bitcast<u32>(largest) >> 23u) - 127;
    var exponent = max(logarithm, -16) + 16;
    let is_next = nearest(vec3(largest * step_reciprocal(exponent))).x == 512u;
    exponent = select(exponent, exponent + 1, is_next);
    let mantissas = nearest(within * step_reciprocal(exponent));
    return mantissas.x | (mantissas.y << 9u) | (mantissas.z << 18u) | (u32(exponent) << 27u);
}
