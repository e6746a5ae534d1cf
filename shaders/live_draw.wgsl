// Draws a live view's picture, or what else is known of its pixels, over what the camera has drawn, as one triangle that
// covers its viewport.

struct Frame {
    /// Upper left corner of the viewport in the target, pixels.
    origin: vec2<f32>,
    /// Its columns and rows.
    size: vec2<f32>,
    /// Columns and rows of the picture.
    picture: vec2<u32>,
    /// From cd/m2 to what is drawn.
    exposure: f32,
    /// How many vectors apart the picture's pixels are.
    apart: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
/// A film's light or its surfaces, as `film.wgsl` lays them out, or a filtered picture. The first three numbers of each
/// pixel of the picture are its radiance, cd/m2.
@group(0) @binding(1) var<storage, read> colours: array<vec4<f32>>;

/// Largest number of a half float, which brighter pixels would leave infinite.
const BRIGHTEST: f32 = 65504.0;

@vertex
fn corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    let place = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return vec4<f32>(place, 0.0, 1.0);
}

fn radiance_at(pixel: vec2<i32>) -> vec3<f32> {
    let inside = vec2<u32>(clamp(pixel, vec2<i32>(0), vec2<i32>(frame.picture) - 1));
    return colours[(inside.y * frame.picture.x + inside.x) * frame.apart].xyz;
}

@fragment
fn show(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    // A picture as large as the viewport is met in the middle of its pixels, where it shows them as they are.
    let place = (position.xy - frame.origin) / frame.size * vec2<f32>(frame.picture) - 0.5;
    let first = vec2<i32>(floor(place));
    let part = place - floor(place);
    let upper = mix(radiance_at(first), radiance_at(first + vec2<i32>(1, 0)), part.x);
    let lower = mix(radiance_at(first + vec2<i32>(0, 1)), radiance_at(first + vec2<i32>(1, 1)), part.x);
    return vec4<f32>(clamp(mix(upper, lower, part.y) * frame.exposure, vec3<f32>(0.0), vec3<f32>(BRIGHTEST)), 1.0);
}

/// Where the pixel stands that a point of the target shows: numbers are shown as they are, not blurred.
fn index_at(position: vec2<f32>) -> u32 {
    let place = (position - frame.origin) / frame.size * vec2<f32>(frame.picture);
    let inside = min(vec2<u32>(max(place, vec2<f32>(0.0))), frame.picture - 1u);
    return (inside.y * frame.picture.x + inside.x) * frame.apart;
}

/// Blue for zero, then cyan, green and yellow, red for one.
fn scale(part: f32) -> vec4<f32> {
    let place = 1.0 + 2.0 * clamp(part, 0.0, 1.0);
    return vec4<f32>(clamp(1.5 - abs(2.0 * place - vec3<f32>(6.0, 4.0, 2.0)), vec3<f32>(0.0), vec3<f32>(1.0)), 1.0);
}

@fragment
fn show_albedo(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return vec4<f32>(colours[index_at(position.xy)].xyz, 1.0);
}

@fragment
fn show_normal(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return vec4<f32>(colours[index_at(position.xy) + 1u].xyz * 0.5 + 0.5, 1.0);
}

/// Nodes that are shown red.
const MANY_NODES: f32 = 128.0;

@fragment
fn show_tree_cost(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    return scale(colours[index_at(position.xy) + 1u].w / MANY_NODES);
}

/// The standard error of the light relative to the light: a hundredth is blue, a tenth green, all of it red.
@fragment
fn show_noise(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let index = index_at(position.xy);
    let samples = f32(bitcast<u32>(colours[index].w));
    let variance = luminance(colours[index + 1u].xyz) / max(samples * (samples - 1.0), 1.0);
    let error = sqrt(variance) / max(luminance(colours[index].xyz), 1e-6);
    return scale(1.0 + 0.5 * log2(max(error, 0.01)) / log2(10.0));
}
