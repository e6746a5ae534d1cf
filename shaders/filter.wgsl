// Makes a picture of few samples watchable: light is gathered over time and smoothed over surfaces, and given to what
// reflects it afterwards. Method: Schied et al. 2017, "Spatiotemporal Variance-Guided Filtering". The twin of
// `gpu::filter::twin`.

/// How a picture is filtered.
struct Filter {
    /// Where the camera stands.
    eye: vec3<f32>,
    /// How much of what is shown is filtered, from 0 to 1.
    share: f32,
    /// Unit vector that the camera looks along.
    forward: vec3<f32>,
    /// Most samples that earlier pictures may count for.
    most_history: f32,
    /// From the middle of the picture to its right, where it is as high as wide.
    right: vec3<f32>,
    /// One where earlier pictures were of another scene.
    is_suspect: u32,
    /// From the middle of the picture to its top.
    up: vec3<f32>,
    /// One for lines of sight that run along each other, zero for those that meet in the eye.
    parallel: f32,
    /// The same of the earlier picture.
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
    /// Those of the earlier picture; zero where there is none.
    before_size: vec2<u32>,
}

/// Light that has been gathered over time, and where it was seen.
struct LitPixel {
    /// Light that arrives, as far as the surface's own colour has been divided out.
    light: vec3<f32>,
    /// Samples that it is the mean of.
    samples: f32,
    /// Unit normal, packed.
    normal: u32,
    /// Distance in metres.
    depth: f32,
    surface: u32,
    /// Mean of the squared luminance of light.
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
/// How far apart, in pixels, are those that are smoothed together.
@group(0) @binding(8) var<uniform> stride: vec4<u32>;

/// The surface of pixels that saw the sky.
const SKY: u32 = 0xffffffffu;
/// Colours are divided by no less.
const DARKEST: f32 = 0.02;
/// Samples from which on the variance over time is trusted more than that of the surroundings.
const TRUSTED: f32 = 4.0;
/// How many standard deviations brighter than its surroundings a pixel may be, and how many others those must be: what is
/// brighter is a speck, light that so few samples find too seldom for any filter to spread.
const NO_SPECK: f32 = 4.0;
const ENOUGH_OTHERS: f32 = 4.0;
/// How far off a surface's plane, as a part of the distance, a point still belongs to it.
const OFF_PLANE: f32 = 0.02;

/// What light is multiplied with by the surface that a pixel sees.
fn colour(pixel: FeaturePixel) -> vec3<f32> {
    return select(max(pixel.albedo, vec3(DARKEST)), vec3(1.0), pixel.surface == SKY);
}

fn light_of(index: u32) -> vec3<f32> {
    return radiance[index].mean / colour(features[index]);
}

/// How far aside the middle of a pixel is.
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

/// What the earlier picture knows of a point; no samples where it did not see it.
fn recall(position: vec3<f32>, normal: vec3<f32>, surface: u32) -> LitPixel {
    var found = LitPixel(vec3(0.0), 0.0, 0u, 0.0, surface, 0.0);
    let from_eye = position - settings.before_eye;
    let ahead = dot(from_eye, settings.before_forward);
    // Not `||`: see `scene.wgsl` on branches.
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

/// Sums of the luminance of light around a pixel, as far as its surface goes, and of its squares, and how many others there
/// are.
fn surroundings(pixel: vec2<i32>, normal: vec3<f32>, surface: u32) -> vec3<f32> {
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

/// The part of a pixel's light that its surroundings make believable.
fn believable_part(bright: f32, around: vec3<f32>) -> f32 {
    let mean = around.x / max(around.z, 1.0);
    let variance = max(around.y / max(around.z, 1.0) - mean * mean, 0.0);
    let most = mean + NO_SPECK * sqrt(variance);
    return select(1.0, most / max(bright, 1e-30), around.z >= ENOUGH_OTHERS && bright > most);
}

/// Keeps what is remembered within what is seen around a pixel now.
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

/// Joins a picture's light with that of the one before.
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
    let around = surroundings(pixel, normal, seen.surface);
    let part = believable_part(luminance(found_light), around);
    let light = found_light * part;
    let bright = luminance(light);
    let spread = luminance(sqrt(max(film.squares, vec3(0.0))) / colour(seen)) * part;
    let moment = bright * bright + spread * spread / samples;

    let found = recall(point_at(pixel, seen.first_depth), normal, seen.surface);
    let remembered = min(found.samples, settings.most_history);
    let total = remembered + samples;
    var earlier = found.light;
    // Nothing that is remembered can be wrong where nothing is; see `scene.wgsl` on branches.
    if remembered * f32(settings.is_suspect) > 0.0 {
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

/// Variance around a pixel, which varies less than that of a single one.
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

/// One step of smoothing: a pixel and 24 others, some way apart.
@compute @workgroup_size(8, 8)
fn smooth_out(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= settings.size) {
        return;
    }
    let pixel = vec2<i32>(id.xy);
    let index = index_of(pixel);
    let own = lit[index];
    let centre = rough[index];
    if own.surface == SKY {
        smooth_light[index] = centre;
        return;
    }
    let normal = unpack_normal(own.normal);
    let position = point_at(pixel, own.depth);
    let bright = luminance(centre.xyz);
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
    // The pixel itself always counts.
    smooth_light[index] = vec4(light / total, variance / (total * total));
}

/// Gives light back the colours of surfaces.
@compute @workgroup_size(8, 8)
fn colour_light(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= settings.size) {
        return;
    }
    let index = index_of(vec2<i32>(id.xy));
    let filtered = rough[index].xyz * colour(features[index]);
    picture[index] = vec4(mix(radiance[index].mean, filtered, settings.share), 1.0);
}
