// Draws a live view's film over what the camera has drawn, as one triangle that covers its viewport.

struct Frame {
    /// Upper left corner of the viewport in the target, pixels.
    origin: vec2f,
    /// Its columns and rows.
    size: vec2f,
    /// Columns and rows of the film.
    film: vec2u,
    /// From cd/m2 to what is drawn.
    exposure: f32,
}

struct RadiancePixel {
    /// Mean radiance, cd/m2.
    mean: vec3f,
    samples: u32,
    /// Sum of squared differences from the mean.
    squares: vec3f,
    unused: u32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> radiance: array<RadiancePixel>;

/// Largest number of a half float, which brighter pixels would leave infinite.
const BRIGHTEST: f32 = 65504.0;

@vertex
fn corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    let place = vec2f(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return vec4f(place, 0.0, 1.0);
}

fn radiance_at(pixel: vec2i) -> vec3f {
    let inside = vec2u(clamp(pixel, vec2i(0), vec2i(frame.film) - 1));
    return radiance[inside.y * frame.film.x + inside.x].mean;
}

@fragment
fn show(@builtin(position) position: vec4f) -> @location(0) vec4f {
    // A film as large as the viewport is met in the middle of its pixels, where it shows them as they are.
    let place = (position.xy - frame.origin) / frame.size * vec2f(frame.film) - 0.5;
    let first = vec2i(floor(place));
    let part = place - floor(place);
    let upper = mix(radiance_at(first), radiance_at(first + vec2i(1, 0)), part.x);
    let lower = mix(radiance_at(first + vec2i(0, 1)), radiance_at(first + vec2i(1, 1)), part.x);
    return vec4f(clamp(mix(upper, lower, part.y) * frame.exposure, vec3f(0.0), vec3f(BRIGHTEST)), 1.0);
}
