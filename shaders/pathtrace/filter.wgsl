// Denoiser for pictures with few samples. Demodulated light is accumulated over time, smoothed over surfaces, and
// modulated again. Method: Schied et al. 2017, "Spatiotemporal Variance-Guided Filtering". Counterpart of
// `gpu::filter::twin`.

/// Filter settings.
struct Filter {
    /// Camera position, in meters.
    eye: vec3<f32>,
    /// Weight of the filtered picture, from 0 to 1.
    share: f32,
    /// Unit viewing direction.
    forward: vec3<f32>,
    /// Maximum number of history samples.
    max_history: f32,
    /// Vector from the center of a square picture to its right edge.
    right: vec3<f32>,
    /// One if the scene has changed since the earlier picture.
    is_outdated: u32,
    /// Vector from the center of the picture to its top edge.
    up: vec3<f32>,
    /// One for an orthographic camera, zero for a perspective camera.
    parallel: f32,
    /// Camera of the earlier picture.
    before_eye: vec3<f32>,
    before_parallel: f32,
    before_forward: vec3<f32>,
    padding_0: u32,
    before_right: vec3<f32>,
    padding_1: u32,
    before_up: vec3<f32>,
    padding_2: u32,
    /// Columns and rows.
    size: vec2<u32>,
    /// Columns and rows of the earlier picture; zero without one.
    before_size: vec2<u32>,
}

/// Accumulated light of a pixel, with its surface point.
struct LitPixel {
    /// Incident light, with the albedo divided out.
    light: vec3<f32>,
    /// Number of accumulated samples.
    samples: f32,
    /// Packed unit normal.
    normal: u32,
    /// Distance, in meters.
    depth: f32,
    surface: u32,
    /// Mean squared luminance.
    moment: f32,
}

@group(0) @binding(0) var<uniform> settings: Filter;
@group(0) @binding(1) var<storage, read> radiance: array<RadiancePixel>;
@group(0) @binding(2) var<storage, read> features: array<FeaturePixel>;
@group(0) @binding(3) var<storage, read> before: array<LitPixel>;
@group(0) @binding(4) var<storage, read_write> lit: array<LitPixel>;
/// Light, and the variance of its luminance.
@group(0) @binding(5) var<storage, read> rough: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> smooth_light: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> picture: array<vec4<f32>>;
/// Distance between neighboring filter taps, in pixels.
@group(0) @binding(8) var<uniform> stride: vec4<u32>;

/// Surface index of pixels that see the sky.
const SKY: u32 = 0xffffffffu;
/// Minimum albedo for demodulation.
const DARKEST: f32 = 0.02;
/// Number of samples from which temporal variance replaces spatial variance.
const TRUSTED: f32 = 4.0;
/// Maximum deviation of a pixel from its neighbors, in standard deviations, and minimum number of neighbors. Brighter
/// pixels are outliers: light found too rarely for any filter to spread.
const NO_SPECK: f32 = 4.0;
const ENOUGH_OTHERS: f32 = 4.0;
/// Maximum distance from a surface's plane, relative to the viewing distance.
const OFF_PLANE: f32 = 0.02;

/// Returns the albedo of the surface that a pixel sees, for modulation.
fn color(pixel: FeaturePixel) -> vec3<f32> {
    return select(max(pixel.albedo, vec3(DARKEST)), vec3(1.0), pixel.surface == SKY);
}

fn light_of(index: u32) -> vec3<f32> {
    return radiance[index].mean / color(features[index]);
}

/// Returns the offset of a pixel's center from the viewing axis.
fn aside(pixel: vec2<i32>, size: vec2<u32>, right: vec3<f32>, up: vec3<f32>) -> vec3<f32> {
    let place = ((vec2<f32>(pixel) + 0.5) * 2.0 - vec2<f32>(size)) / f32(size.y);
    return right * place.x - up * place.y;
}

fn point_at(pixel: vec2<i32>, depth: f32) -> vec3<f32> {
    let off = aside(pixel, settings.size, settings.right, settings.up);
    let parallel = settings.parallel;
    return settings.eye + off * parallel + normalize(settings.forward + off * (1.0 - parallel)) * depth;
}

fn point_before(pixel: vec2<i32>, depth: f32) -> vec3<f32> {
    let off = aside(pixel, settings.before_size, settings.before_right, settings.before_up);
    let parallel = settings.before_parallel;
    return settings.before_eye + off * parallel + normalize(settings.before_forward + off * (1.0 - parallel)) * depth;
}

fn is_inside(pixel: vec2<i32>, size: vec2<u32>) -> bool {
    return all(pixel >= vec2(0)) && all(pixel < vec2<i32>(size));
}

fn index_of(pixel: vec2<i32>) -> u32 {
    return u32(pixel.y) * settings.size.x + u32(pixel.x);
}

/// Looks up a point in the earlier picture by reprojection. Returns zero samples if the point was not visible.
fn recall(position: vec3<f32>, normal: vec3<f32>, surface: u32) -> LitPixel {
    var found = LitPixel(vec3(0.0), 0.0, 0u, 0.0, surface, 0.0);
    let from_eye = position - settings.before_eye;
    let ahead = dot(from_eye, settings.before_forward);
    // Not `||`, because of branches; see `scene.wgsl`.
    if (ahead <= 0.0) | (settings.before_size.x == 0u) {
        return found;
    }
    let right = settings.before_right;
    let up = settings.before_up;
    let distance = mix(ahead, 1.0, settings.before_parallel);
    let place = vec2(dot(from_eye, right) / dot(right, right), -dot(from_eye, up) / dot(up, up)) / distance;
    let size = vec2<f32>(settings.before_size);
    let at = (place * size.y + size) * 0.5 - 0.5;
    if any(at < vec2(-1.0)) || any(at > size) {
        return found;
    }
    let first = vec2<i32>(floor(at));
    let part = at - floor(at);
    var total = 0.0;
    for (var corner = 0; corner < 4; corner++) {
        let step = vec2(corner & 1, corner >> 1u);
        let pixel = first + step;
        if !is_inside(pixel, settings.before_size) {
            continue;
        }
        let seen = before[u32(pixel.y) * settings.before_size.x + u32(pixel.x)];
        if seen.surface != surface || dot(unpack_normal(seen.normal), normal) < 0.8 {
            continue;
        }
        let apart = point_before(pixel, seen.depth) - position;
        if abs(dot(apart, normal)) > OFF_PLANE * length(from_eye) {
            continue;
        }
        let near = mix(1.0 - part, part, vec2<f32>(step));
        let weight = near.x * near.y;
        found.light += weight * seen.light;
        found.samples += weight * seen.samples;
        found.moment += weight * seen.moment;
        total += weight;
    }
    if total < 0.05 {
        found.samples = 0.0;
        return found;
    }
    found.light /= total;
    found.samples /= total;
    found.moment /= total;
    return found;
}

/// Returns the sum of luminance, the sum of squares, and the count over neighbors of the same surface.
fn neighborhood(pixel: vec2<i32>, normal: vec3<f32>, surface: u32) -> vec3<f32> {
    var sum = vec3(0.0);
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            let other = pixel + vec2(x, y);
            if !is_inside(other, settings.size) || (x == 0 && y == 0) {
                continue;
            }
            let index = index_of(other);
            if features[index].surface != surface || dot(unpack_normal(features[index].first_normal), normal) < 0.8 {
                continue;
            }
            let bright = luminance(light_of(index));
            sum += vec3(bright, bright * bright, 1.0);
        }
    }
    return sum;
}

/// Returns the factor that clamps an outlier to the range of its neighbors.
fn believable_part(bright: f32, around: vec3<f32>) -> f32 {
    let mean = around.x / max(around.z, 1.0);
    let variance = max(around.y / max(around.z, 1.0) - mean * mean, 0.0);
    let limit = mean + NO_SPECK * sqrt(variance);
    return select(1.0, limit / max(bright, 1e-30), around.z >= ENOUGH_OTHERS && bright > limit);
}

/// Clamps history to the range of current neighbors.
fn believable(remembered: vec3<f32>, pixel: vec2<i32>) -> vec3<f32> {
    var low = vec3(3.4e38);
    var high = vec3(0.0);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let other = pixel + vec2(x, y);
            if is_inside(other, settings.size) {
                let light = light_of(index_of(other));
                low = min(low, light);
                high = max(high, light);
            }
        }
    }
    return clamp(remembered, low, high);
}

/// Accumulates light with that of the earlier picture.
@compute @workgroup_size(8, 8)
fn gather_light(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= settings.size) {
        return;
    }
    let pixel = vec2<i32>(id.xy);
    let index = index_of(pixel);
    let seen = features[index];
    let film = radiance[index];
    let samples = max(f32(film.samples), 1.0);
    let found_light = light_of(index);
    if seen.surface == SKY {
        lit[index] = LitPixel(found_light, samples, 0u, seen.first_depth, SKY, 0.0);
        smooth_light[index] = vec4(found_light, 0.0);
        return;
    }
    let normal = unpack_normal(seen.first_normal);
    let around = neighborhood(pixel, normal, seen.surface);
    let part = believable_part(luminance(found_light), around);
    let light = found_light * part;
    let bright = luminance(light);
    let spread = luminance(sqrt(max(film.squares, vec3(0.0))) / color(seen)) * part;
    let moment = bright * bright + spread * spread / samples;

    let found = recall(point_at(pixel, seen.first_depth), normal, seen.surface);
    let remembered = min(found.samples, settings.max_history);
    let total = remembered + samples;
    var earlier = found.light;
    // Without history there is nothing to clamp. The condition depends on data; see `scene.wgsl` on branches.
    if remembered * f32(settings.is_outdated) > 0.0 {
        earlier = believable(earlier, pixel);
    }
    let joined = (earlier * remembered + light * samples) / total;
    let joined_moment = (found.moment * remembered + moment * samples) / total;
    lit[index] = LitPixel(joined, total, pack_normal(normal), seen.first_depth, seen.surface, joined_moment);

    var statistics = vec2(luminance(joined), joined_moment);
    if total < TRUSTED {
        statistics = (around.xy + vec2(bright, bright * bright)) / (around.z + 1.0);
    }
    let variance = max(statistics.y - statistics.x * statistics.x, 0.0) / select(total, samples, total < TRUSTED);
    smooth_light[index] = vec4(joined, variance);
}

/// Returns the variance filtered over neighbors, which is more stable than that of a single pixel.
fn variance_around(pixel: vec2<i32>) -> f32 {
    var sum = vec2(0.0);
    for (var y = -1; y <= 1; y++) {
        for (var x = -1; x <= 1; x++) {
            let other = pixel + vec2(x, y);
            if is_inside(other, settings.size) {
                let weight = f32((2 - abs(x)) * (2 - abs(y)));
                sum += weight * vec2(rough[index_of(other)].w, 1.0);
            }
        }
    }
    return sum.x / sum.y;
}

/// Applies one a-trous step to a pixel and its 24 taps.
@compute @workgroup_size(8, 8)
fn smooth_out(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= settings.size) {
        return;
    }
    let pixel = vec2<i32>(id.xy);
    let index = index_of(pixel);
    let own = lit[index];
    let center = rough[index];
    if own.surface == SKY {
        smooth_light[index] = center;
        return;
    }
    let normal = unpack_normal(own.normal);
    let position = point_at(pixel, own.depth);
    let bright = luminance(center.xyz);
    let tolerance = 4.0 * sqrt(variance_around(pixel)) + 1e-3 * bright + 1e-9;
    var light = vec3(0.0);
    var variance = 0.0;
    var total = 0.0;
    for (var y = -2; y <= 2; y++) {
        for (var x = -2; x <= 2; x++) {
            let other = pixel + vec2(x, y) * i32(stride.x);
            if !is_inside(other, settings.size) {
                continue;
            }
            let theirs = lit[index_of(other)];
            if theirs.surface != own.surface {
                continue;
            }
            let near = vec2(f32(abs(x)), f32(abs(y)));
            let kernel = select(select(vec2(0.0625), vec2(0.25), near < vec2(1.5)), vec2(0.375), near < vec2(0.5));
            let apart = point_at(other, theirs.depth) - position;
            let off_plane = abs(dot(apart, normal)) / (OFF_PLANE * own.depth + 1e-9);
            let facing = pow(max(dot(unpack_normal(theirs.normal), normal), 0.0), 64.0);
            let value = rough[index_of(other)];
            let contrast = abs(luminance(value.xyz) - bright) / tolerance;
            let weight = kernel.x * kernel.y * facing * exp(-off_plane - contrast);
            light += weight * value.xyz;
            variance += weight * weight * value.w;
            total += weight;
        }
    }
    // The pixel itself always has weight.
    smooth_light[index] = vec4(light / total, variance / (total * total));
}

/// Modulates light by the albedo of surfaces.
@compute @workgroup_size(8, 8)
fn color_light(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= settings.size) {
        return;
    }
    let index = index_of(vec2<i32>(id.xy));
    let filtered = rough[index].xyz * color(features[index]);
    picture[index] = vec4(mix(radiance[index].mean, filtered, settings.share), 1.0);
}
