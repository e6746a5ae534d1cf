// Counter-based random numbers and Owen-scrambled Sobol points: the twin of `geometry::sobol`, equal bit for bit.

/// What each value of each group of four bits of a reversed index contributes to the four dimensions.
@group(0) @binding(1) var<uniform> sobol_contributions: array<vec4<u32>, 128>;

/// Mixes a word thoroughly.
fn hash(value: u32) -> u32 {
    let state = value * 747796405u + 2891336453u;
    let word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}

/// Mixes two words into one.
fn hash2(a: u32, b: u32) -> u32 {
    return hash(hash(a) ^ (b * 0x9E3779B9u));
}

/// A number in [0, 1) from the upper 24 bits of a word.
fn unit_float(word: u32) -> f32 {
    return f32(word >> 8u) * (1.0 / 16777216.0);
}

/// An Owen scramble of words with reversed bits.
fn scramble_reversed(reversed: vec4<u32>, seeds: vec4<u32>) -> vec4<u32> {
    var x = reversed;
    x ^= x * 0x3d20adeau;
    x += seeds;
    x *= (seeds >> vec4(16u)) | vec4(1u);
    x ^= x * 0x05526c56u;
    x ^= x * 0x53a22864u;
    return x;
}

/// The point at `index` of the four-dimensional sequence of a seed.
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
