// What a camera sees where, and from where it is seen: the twin of `pathtrace::View`.

/// One sample of some rows of a picture, or some of the light paths that bring it light.
struct Pass {
    /// Where the camera stands.
    eye: vec3<f32>,
    /// The sample's number.
    sample_index: u32,
    /// Unit vector that the camera looks along.
    forward: vec3<f32>,
    /// Which random numbers.
    seed: u32,
    /// From the middle of the picture to its right, where it is as high as wide.
    right: vec3<f32>,
    /// Most bounces of a path.
    most_bounces: u32,
    /// From the middle of the picture to its top.
    up: vec3<f32>,
    /// Radius of the lens in metres; zero for a pinhole.
    lens_radius: f32,
    /// Columns and rows of the picture.
    size: vec2<u32>,
    /// The first row that is drawn, or light path that is followed.
    first: u32,
    /// The one after the last.
    end: u32,
    /// Distance in metres of what is sharp.
    focus: f32,
    /// One for pixels that weigh their neighbourhood by a tent, zero for a box.
    tent: u32,
    /// One for lines of sight that run along each other, zero for those that meet in the eye.
    parallel: f32,
    /// One where reflected rays end at lightmaps.
    ends_at_lightmaps: u32,
    /// One where light paths bring what is seen of all but mirrors and glass, which paths from the eye bring.
    in_hybrid: u32,
    /// Fixed-point units of one cd/m2 that a light path brings a pixel.
    units: f32,
    padding_0: u32,
    padding_1: u32,
}

@group(1) @binding(0) var<uniform> settings: Pass;

fn tent(u: f32) -> f32 {
    return select(1.0 - sqrt(max(2.0 - 2.0 * u, 0.0)), sqrt(2.0 * u) - 1.0, u < 0.5);
}

/// From the middle of the lens to the place that two numbers choose.
fn on_lens_at(u: vec2<f32>) -> vec3<f32> {
    let turned = sin_cos_turns(u.y);
    return (normalize(settings.right) * turned.y + normalize(settings.up) * turned.x)
        * (settings.lens_radius * sqrt(u.x));
}

/// The ray of a sample of a pixel.
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

/// How a point is seen.
struct Sight {
    /// Where in the picture, in pixels from the top left; it may lie beyond the edges.
    place: vec2<f32>,
    /// Pixels per steradian at `origin`, in the direction of what is seen; zero for what is behind the camera.
    importance: f32,
    /// From which point of the lens.
    origin: vec3<f32>,
}

/// How a point is seen from a place of the lens that two numbers choose.
fn sight_of(point: vec3<f32>, on_lens: vec2<f32>) -> Sight {
    let size = vec2<f32>(settings.size);
    let half_height = length(settings.up);
    let pixel = 2.0 * half_height / size.y;
    let origin = settings.eye + on_lens_at(on_lens);
    let offset = point - origin;
    let depth = dot(offset, settings.forward);
    // Where the line meets the plane that is sharp; lines that run along each other meet it where the point is.
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

/// The pixels that light at a place of the picture counts to: two by two of them from the first one on.
struct Shares {
    first: vec2<i32>,
    /// What part of it the second column, and row, get.
    beyond: vec2<f32>,
}

fn shares_at(place: vec2<f32>) -> Shares {
    let is_tent = settings.tent == 1u;
    // Floats beyond these are no places of any picture.
    let near = clamp(place, vec2(-10.0), vec2(1e6)) - select(0.0, 0.5, is_tent);
    let first = floor(near);
    return Shares(vec2<i32>(first), select(vec2(0.0), near - first, is_tent));
}

/// What part of the light one of the four pixels gets; zero for those outside the picture.
fn share_of(shares: Shares, pixel: u32) -> f32 {
    let step = vec2(pixel & 1u, pixel >> 1u);
    let place = shares.first + vec2<i32>(step);
    let share = mix(1.0 - shares.beyond, shares.beyond, vec2<f32>(step));
    let is_inside = all(place >= vec2(0)) && all(place < vec2<i32>(settings.size));
    return select(0.0, share.x * share.y, is_inside);
}

/// The number of one of the four pixels.
fn pixel_of(shares: Shares, pixel: u32) -> u32 {
    let place = vec2<u32>(shares.first + vec2<i32>(vec2(pixel & 1u, pixel >> 1u)));
    return place.y * settings.size.x + place.x;
}
