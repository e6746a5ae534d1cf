// Samples of pixels by an integrator from the camera. Shaders that use this piece must define `trace`.

/// Result of an integrator along a camera ray.
struct Seen {
    radiance: vec3<f32>,
    /// Albedo of the first surface.
    albedo: vec3<f32>,
    normal: vec3<f32>,
    /// Distance to the first surface, in meters.
    depth: f32,
    /// Index of the first surface, or `NONE`.
    surface: u32,
    /// Number of tree nodes visited by the camera ray.
    nodes: f32,
}

/// Number of rows of a workgroup, each of eight pixels.
override BLOCK_ROWS: u32 = 8u;

/// Sequence number for film and lens positions.
const CAMERA: u32 = 0xffffffffu;

@group(1) @binding(1) var<storage, read_write> film_radiance: array<RadiancePixel>;
@group(1) @binding(2) var<storage, read_write> film_features: array<FeaturePixel>;

/// Returns the result of a ray that meets nothing.
fn nothing_seen() -> Seen {
    return Seen(vec3(0.0), vec3(0.0), vec3(0.0), FAR, NONE, 0.0);
}

/// Returns the radiance of the sky in a direction.
fn sky_radiance_toward(direction: vec3<f32>) -> vec3<f32> {
    let emitter = tables[SKY_EMITTER];
    if emitter == NONE {
        return scene.sky_radiance;
    }
    return environment_radiance(emitter, environment_uv(emitter, direction));
}

/// Returns the radiance of the sky, or for a camera ray the background of a scene without a sky.
fn with_background(sky: vec3<f32>, is_camera_ray: bool) -> vec3<f32> {
    let is_dark = tables[SKY_EMITTER] == NONE && all(scene.sky_radiance == vec3(0.0));
    return select(sky, settings.background, is_dark && is_camera_ray);
}

/// Returns the emitted radiance at a hit.
fn emitted_radiance(hit: Hit) -> vec3<f32> {
    let surface = surface_of(hit.triangle);
    if all(surfaces[surface].emission == vec3(0.0)) {
        return vec3(0.0);
    }
    if is_back(hit) && (surfaces[surface].flags & BOTH_SIDES) == 0u {
        return vec3(0.0);
    }
    return emission_at(surface, hit.triangle, hit.barycentric);
}

/// Adds one sample to each pixel of a range of rows. Sample 0 restarts the means.
@compute @workgroup_size(8, BLOCK_ROWS)
fn trace_pixels(@builtin(global_invocation_id) id: vec3<u32>) {
    let pixel = vec2(id.x, settings.first + id.y);
    if pixel.x >= settings.size.x || pixel.y >= settings.end {
        return;
    }
    let seed = hash2(hash2(settings.seed, pixel.y), pixel.x);
    let ray = camera_ray(pixel, sobol_point(hash2(seed, CAMERA), settings.sample_index));
    let seen = trace(ray, settings.sample_index, seed);

    let index = pixel.y * settings.size.x + pixel.x;
    var radiance = film_radiance[index];
    var features = film_features[index];
    // Without branches; see `scene.wgsl`.
    let starts = settings.sample_index == 0u;
    radiance = with_sample(started(radiance, starts), seen.radiance);
    features = noting_change(features, started(film_radiance[index], starts), radiance);
    features.tally += unfinished_walks << 1u;
    radiance.nodes += (seen.nodes - radiance.nodes) / f32(radiance.samples);
    features.albedo = select(features.albedo, vec3(0.0), starts);
    features.normal = select(features.normal, vec3(0.0), starts);
    features.depth = select(features.depth, FAR, starts);
    let part = 1.0 / f32(radiance.samples);
    features.albedo += (seen.albedo - features.albedo) * part;
    features.normal += (seen.normal - features.normal) * part;
    features.depth = min(features.depth, seen.depth);
    features.surface = select(features.surface, seen.surface, starts);
    features.first_normal = select(features.first_normal, pack_normal(seen.normal), starts);
    features.first_depth = select(features.first_depth, seen.depth, starts);
    film_radiance[index] = radiance;
    film_features[index] = features;
}
