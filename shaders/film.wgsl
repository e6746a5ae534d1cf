// What a camera has gathered: the twin of `gpu::GpuFilm`.

/// What the samples of a pixel say of its light.
struct RadiancePixel {
    /// Mean radiance, cd/m2.
    mean: vec3<f32>,
    /// How many samples there are.
    samples: u32,
    /// Sum of the squared differences from the mean.
    squares: vec3<f32>,
    /// Mean of how many nodes of the tree the rays from the camera visited.
    nodes: f32,
}

/// What the samples of a pixel say of the surfaces that it sees.
struct FeaturePixel {
    /// Mean share of light that they reflect; zero for the sky.
    albedo: vec3<f32>,
    /// Distance in metres to the nearest; the largest float where only the sky was seen.
    depth: f32,
    /// Mean of their normals.
    normal: vec3<f32>,
    /// What the first sample saw, since no filter could do with the mean of two surfaces: which, or `NONE`.
    surface: u32,
    /// Its unit normal, packed.
    first_normal: u32,
    /// Its distance in metres.
    first_depth: f32,
    padding_0: u32,
    padding_1: u32,
}

/// A unit vector in 32 bits: the octahedron that its coordinates are projected on, unfolded.
fn pack_normal(normal: vec3<f32>) -> u32 {
    let sum = abs(normal.x) + abs(normal.y) + abs(normal.z);
    var flat = normal.xy / max(sum, 1e-20);
    if normal.z < 0.0 {
        flat = (1.0 - abs(flat.yx)) * select(vec2(-1.0), vec2(1.0), flat >= vec2(0.0));
    }
    return pack2x16snorm(flat);
}

fn unpack_normal(packed: u32) -> vec3<f32> {
    let flat = unpack2x16snorm(packed);
    var normal = vec3(flat, 1.0 - abs(flat.x) - abs(flat.y));
    let folded = max(-normal.z, 0.0);
    normal.x -= select(-folded, folded, normal.x >= 0.0);
    normal.y -= select(-folded, folded, normal.y >= 0.0);
    return normalize(normal);
}
