// Camera rays, and projection of points to pixels; counterpart of `pathtrace::View`.

/// Settings of a pass: one sample for a range of picture rows, or a range of light paths.
struct CameraPass {
    /// Camera position, in meters.
    eye: vec3<f32>,
    /// Index of the sample.
    sample_index: u32,
    /// Unit viewing direction.
    forward: vec3<f32>,
    /// Random seed.
    seed: u32,
    /// Vector from the center of a square picture to its right edge.
    right: vec3<f32>,
    /// Maximum number of bounces of a path.
    max_bounces: u32,
    /// Vector from the center of the picture to its top edge.
    up: vec3<f32>,
    /// Radius of the lens in meters; zero for a pinhole.
    lens_radius: f32,
    /// Columns and rows of the picture.
    size: vec2<u32>,
    /// First row to draw, or first light path to trace.
    first: u32,
    /// End of the range of rows or light paths.
    end: u32,
    /// Distance of the plane in focus, in meters.
    focus: f32,
    /// One for the tent filter, zero for the box filter.
    tent: u32,
    /// One for an orthographic camera, zero for a perspective camera.
    parallel: f32,
    /// One to end reflected rays at lightmaps.
    ends_at_lightmaps: u32,
    /// One if light paths render everything but mirrors and glass, which camera paths render.
    in_hybrid: u32,
    /// Fixed-point units per cd/m2 of a light path's contribution to a pixel.
    units: f32,
    padding_0: u32,
    padding_1: u32,
    /// Radiance of camera rays that leave a scene without a sky, in cd/m2.
    background: vec3<f32>,
    padding_2: u32,
}

@group(1) @binding(0) var<uniform> settings: CameraPass;

fn tent(u: f32) -> f32 {
    return select(1.0 - sqrt(max(2.0 - 2.0 * u, 0.0)), sqrt(2.0 * u) - 1.0, u < 0.5);
}

/// Returns the offset from the lens center to the lens point selected by two numbers.
fn on_lens_at(u: vec2<f32>) -> vec3<f32> {
    let turned = sin_cos_turns(u.y);
    return (normalize(settings.right) * turned.y + normalize(settings.up) * turned.x)
        * (settings.lens_radius * sqrt(u.x));
}

/// Returns the camera ray of a pixel sample.
fn camera_ray(pixel: vec2<u32>, u: vec4<f32>) -> Ray {
    let in_pixel = select(u.xy, vec2(tent(u.x), tent(u.y)) + 0.5, settings.tent == 1u);
    let size = vec2<f32>(settings.size);
    let place = ((vec2<f32>(pixel) + in_pixel) * 2.0 - size) / size.y;
    let aside = settings.right * place.x - settings.up * place.y;
    let direction = normalize(settings.forward + aside * (1.0 - settings.parallel));
    let sharp = direction * (settings.focus / dot(direction, settings.forward));
    let across = on_lens_at(u.zw);
    let through_lens = select(direction, normalize(sharp - across), settings.lens_radius > 0.0);
    return Ray(settings.eye + aside * settings.parallel + across, 0.0, through_lens, FAR);
}

/// Projection of a point into the picture.
struct Sight {
    /// Position in pixels from the top left; may lie outside the picture.
    place: vec2<f32>,
    /// Pixels per steradian at `origin`, in the direction of the point; zero behind the camera.
    importance: f32,
    /// Point of the lens.
    origin: vec3<f32>,
}

/// Projects a point through the lens point selected by two numbers.
fn sight_of(point: vec3<f32>, on_lens: vec2<f32>) -> Sight {
    let size = vec2<f32>(settings.size);
    let half_height = length(settings.up);
    let pixel = 2.0 * half_height / size.y;
    let origin = settings.eye + on_lens_at(on_lens);
    let offset = point - origin;
    let depth = dot(offset, settings.forward);
    // Intersection with the plane in focus. For an orthographic camera, the point itself.
    let sharp = origin + offset * select(settings.focus / depth, 1.0, settings.parallel > 0.0) - settings.eye;
    let half_heights = half_height * half_height * select(settings.focus, 1.0, settings.parallel > 0.0);
    let aside = vec2(dot(sharp, settings.right), -dot(sharp, settings.up)) / half_heights;
    let cosine = depth / length(offset);
    let importance = select(1.0 / (cosine * cosine * cosine), depth * depth, settings.parallel > 0.0) / (pixel * pixel);
    return Sight(
        (aside * size.y + size) * 0.5,
        select(0.0, importance, depth > 0.0),
        select(origin, point - settings.forward * depth, settings.parallel > 0.0),
    );
}

/// Filter footprint of a picture position: 2 x 2 pixels from the first one on.
struct Shares {
    first: vec2<i32>,
    /// Weights of the second column and row.
    beyond: vec2<f32>,
}

fn shares_at(place: vec2<f32>) -> Shares {
    let is_tent = settings.tent == 1u;
    // Positions far outside any picture are clamped, so that conversion to integers is defined.
    let near = clamp(place, vec2(-10.0), vec2(1e6)) - select(0.0, 0.5, is_tent);
    let first = floor(near);
    return Shares(vec2<i32>(first), select(vec2(0.0), near - first, is_tent));
}

/// Returns the weight of one of the four pixels; zero outside the picture.
fn share_of(shares: Shares, pixel: u32) -> f32 {
    let step = vec2(pixel & 1u, pixel >> 1u);
    let place = shares.first + vec2<i32>(step);
    let share = mix(1.0 - shares.beyond, shares.beyond, vec2<f32>(step));
    let is_inside = all(place >= vec2(0)) && all(place < vec2<i32>(settings.size));
    return select(0.0, share.x * share.y, is_inside);
}

/// Returns the index of one of the four pixels.
fn pixel_of(shares: Shares, pixel: u32) -> u32 {
    let place = vec2<u32>(shares.first + vec2<i32>(vec2(pixel & 1u, pixel >> 1u)));
    return place.y * settings.size.x + place.x;
}
