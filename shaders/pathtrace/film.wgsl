// Film pixels; counterpart of `gpu::GpuFilm`.

/// Light statistics of a pixel's samples.
struct RadiancePixel {
    /// Mean radiance, in cd/m2.
    mean: vec3<f32>,
    /// Number of samples.
    samples: u32,
    /// Sum of squared differences from the mean.
    squares: vec3<f32>,
    /// Mean number of tree nodes visited by camera rays.
    nodes: f32,
}

/// Surface statistics of a pixel's samples.
struct FeaturePixel {
    /// Mean albedo of the visible surfaces; zero for the sky.
    albedo: vec3<f32>,
    /// Distance to the nearest visible surface, in meters; the maximum float if only the sky is visible.
    depth: f32,
    /// Mean normal of the visible surfaces.
    normal: vec3<f32>,
    /// Surface seen by the first sample, or `NONE`. Filters cannot use the mean of two surfaces.
    surface: u32,
    /// Packed unit normal seen by the first sample.
    first_normal: u32,
    /// Distance seen by the first sample, in meters.
    first_depth: f32,
    /// Change of the mean's luminance by the last sample, in cd/m2.
    change: f32,
    /// Lowest bit: one if the last sample brought light. Other bits: number of walks of all samples that ended at the
    /// step limit.
    tally: u32,
}

/// Returns the pixel, or an empty pixel if a new picture starts.
fn started(pixel: RadiancePixel, starts: bool) -> RadiancePixel {
    return RadiancePixel(
        select(pixel.mean, vec3(0.0), starts),
        select(pixel.samples, 0u, starts),
        select(pixel.squares, vec3(0.0), starts),
        select(pixel.nodes, 0.0, starts),
    );
}

/// Returns the pixel with one more sample.
fn with_sample(pixel: RadiancePixel, light: vec3<f32>) -> RadiancePixel {
    var result = pixel;
    result.samples++;
    let difference = light - pixel.mean;
    result.mean += difference / f32(result.samples);
    result.squares += difference * (light - result.mean);
    return result;
}

/// Records the change of the pixel by the last sample.
fn noting_change(features: FeaturePixel, before: RadiancePixel, now: RadiancePixel) -> FeaturePixel {
    var result = features;
    result.change = luminance(abs(now.mean - before.mean));
    let sums = vec2(largest_channel(before) * f32(before.samples), largest_channel(now) * f32(now.samples));
    result.tally = select(features.tally & ~1u, 0u, before.samples == 0u) | u32(sums.y > sums.x);
    return result;
}

fn largest_channel(pixel: RadiancePixel) -> f32 {
    return max(pixel.mean.x, max(pixel.mean.y, pixel.mean.z));
}

/// Packs a unit vector into 32 bits by octahedral mapping.
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
