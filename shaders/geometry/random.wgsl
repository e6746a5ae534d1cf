// Counter-based random numbers and Owen-scrambled Sobol points; counterpart of `geometry::sobol`, bit for bit.

/// Contribution of each value of each 4-bit group of a reversed index to the four dimensions.
@group(0) @binding(1) var<uniform> sobol_contributions: array<vec4<u32>, 128>;

/// Hashes a word.
fn hash(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

/// Hashes two words into one.
fn hash2(a: u32, b: u32) -> u32 {
    return hash(hash(a) ^ (b * 0x9E3779B9u));
}

/// Converts the upper 24 bits of a word to a number in [0, 1).
fn unit_float(word: u32) -> f32 {
    return f32(word >> 8u) * (1.0 / 16777216.0);
}

/// Applies an Owen scramble to bit-reversed words.
fn scramble_reversed(reversed: vec4<u32>, seeds: vec4<u32>) -> vec4<u32> {
    var x = reversed;
    x ^= x * 0x3d20adeau;
    x += seeds;
    x *= (seeds >> vec4(16u)) | vec4(1u);
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return x;
}

/// Returns the point at `index` of a seed's four-dimensional sequence.
fn sobol_point(sequence: u32, index: u32) -> vec4<f32> {
    let seed = hash(sequence);
    let shuffled = scramble_reversed(vec4(reverseBits(index)), vec4(seed)).x;
    var words = vec4(0u);
    for (var group = 0u; group < 8u; group++) {
        words ^= sobol_contributions[group * 16u + ((shuffled >> (4u * group)) & 15u)];
    }
    let seeds = vec4(hash2(seed, 0u), hash2(seed, 1u), hash2(seed, 2u), hash2(seed, 3u));
    let bits = reverseBits(scramble_reversed(words, seeds));
    return vec4<f32>(bits >> vec4(8u)) * (1.0 / 16777216.0);
}
