// Draws a live view's picture, or a feature of its pixels, over the camera's output. The geometry is one triangle that
// covers the viewport.

struct Frame {
    /// Upper left corner of the viewport in the target, in pixels.
    origin: vec2<f32>,
    /// Columns and rows of the viewport.
    size: vec2<f32>,
    /// Columns and rows of the picture.
    picture: vec2<u32>,
    /// Factor from cd/m2 to output.
    exposure: f32,
    /// Number of vectors per pixel of the picture.
    apart: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
/// Film buffer of light or surfaces, as in `film.wgsl`, or a filtered picture. The first three numbers of each pixel
/// are its radiance in cd/m2.
@group(0) @binding(1) var<storage, read> colors: array<vec4<f32>>;

/// Maximum half float. Brighter pixels would become infinite.
const BRIGHTEST: f32 = 65504.0;

@vertex
fn corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    let place = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return vec4<f32>(place, 0.0, 1.0);
}

fn radiance_at(pixel: vec2<i32>) -> vec3<f32> {
    let inside = vec2<u32>(clamp(pixel, vec2<i32>(0), vec2<i32>(frame.picture) - 1));
    return colors[(inside.y * frame.picture.x + inside.x) * frame.apart].xyz;
}

@fragment
fn show(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    // For a picture of the viewport's size, samples fall on pixel centers, and pixels are shown unchanged.
    let place = (position.xy - frame.origin) / frame.size * vec2<f32>(frame.picture) - 0.5;
    let first = vec2<i32>(floor(place));
    let part = place - floor(place);
    let upper = mix(radiance_at(first), radiance_at(first + vec2<i32>(1, 0)), part.x);
    let lower = mix(radiance_at(first + vec2<i32>(0, 1)), radiance_at(first + vec2<i32>(1, 1)), part.x);
    return vec4<f32>(clamp(mix(upper, lower, part.y) * frame.exposure, vec3<f32>(0.0), vec3<f32>(BRIGHTEST)), 1.0);
}

/// Returns the index of the pixel at a position of the target, without interpolation.
fn index_at(position: vec2<f32>) -> u32 {
    let place = (position - frame.origin) / frame.size * vec2<f32>(frame.picture);
    let inside = min(vec2<u32>(max(place, vec2<f32>(0.0))), frame.picture - 1u);
    return (inside.y * frame.picture.x + inside.x) * frame.apart;
}

/// Maps [0, 1] to a color scale: blue, cyan, green, yellow, red.
fn scale(part: f32) -> vec4<f32> {
    let place = 1.0 + 2.0 * clamp(part, 0.0, 1.0);
    return vec4<f32>(clamp(1.5 - abs(2.0 * place - vec3<f32>(6.0, 4.0, 2.0)), vec3<f32>(0.0), vec3<f32>(1.0)), 1.0);
}

@fragment
fn show_albedo(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return vec4<f32>(colors[index_at(position.xy)].xyz, 1.0);
}

@fragment
fn show_normal(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return vec4<f32>(colors[index_at(position.xy) + 1u].xyz * 0.5 + 0.5, 1.0);
}

/// Number of nodes that is shown red.
const MANY_NODES: f32 = 128.0;

@fragment
fn show_tree_cost(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return scale(colors[index_at(position.xy) + 1u].w / MANY_NODES);
}

/// Shows the standard error of light relative to the light: 1 % is blue, 10 % green, 100 % red.
@fragment
fn show_noise(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let index = index_at(position.xy);
    let samples = f32(bitcast<u32>(colors[index].w));
    let variance = luminance(colors[index + 1u].xyz) / max(samples * (samples - 1.0), 1.0);
    let error = sqrt(variance) / max(luminance(colors[index].xyz), 1e-6);
    return scale(1.0 + 0.5 * log2(max(error, 0.01)) / log2(10.0));
}
