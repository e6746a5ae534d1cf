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
    /// By how much the last sample changed the mean's luminance, cd/m2.
    change: f32,
    /// One where that sample brought light.
    is_brighter: u32,
}

/// A pixel, or one without samples.
fn started(pixel: RadiancePixel, starts: bool) -> RadiancePixel {
    return RadiancePixel(
        select(pixel.mean, vec3(0.0), starts),
        select(pixel.samples, 0u, starts),
        select(pixel.squares, vec3(0.0), starts),
        select(pixel.nodes, 0.0, starts),
    );
}

/// A pixel with one sample more.
fn with_sample(pixel: RadiancePixel, light: vec3<f32>) -> RadiancePixel {
    var result = pixel;
    result.samples++;
    let difference = light - pixel.mean;
    result.mean += difference / f32(result.samples);
    result.squares += difference * (light - result.mean);
    return result;
}

/// What is seen, with how much light the last sample brought.
fn noting_change(features: FeaturePixel, before: RadiancePixel, now: RadiancePixel) -> FeaturePixel {
    var result = features;
    result.change = luminance(abs(now.mean - before.mean));
    let sums = vec2(largest_channel(before) * f32(before.samples), largest_channel(now) * f32(now.samples));
    result.is_brighter = u32(sums.y > sums.x);
    return result;
}

fn largest_channel(pixel: RadiancePixel) -> f32 {
    return max(pixel.mean.x, max(pixel.mean.y, pixel.mean.z));
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
