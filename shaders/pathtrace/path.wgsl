// Path tracing kernel with next-event estimation; counterpart of `pathtrace::PathTracer`.

/// Result of a path.
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

/// Returns the MIS weight of a direction sampled with PDF `own`: the balance heuristic.
fn balance_heuristic(own: f32, other: f32) -> f32 {
    let densities = min(vec2(own, other), vec2(MAX_PDF));
    return select(0.0, densities.x / (densities.x + densities.y), own > 0.0);
}

/// Returns the radiance of the sky in a direction. With a PDF above zero, applies the MIS weight against light sampling
/// from a point with the given normal.
fn eval_environment(ray: Ray, normal: vec3<f32>, pdf: f32) -> vec3<f32> {
    let direction = ray.direction;
    let emitter = tables[SKY_EMITTER];
    if emitter == NONE {
        return scene.sky_radiance;
    }
    let radiance = environment_radiance(emitter, environment_uv(emitter, direction));
    if pdf <= 0.0 {
        return radiance;
    }
    let probability = probability_of_emitter(emitter, ray.origin, normal);
    return radiance * balance_heuristic(pdf, probability * environment_pdf(emitter, direction));
}

/// Returns the emitted radiance at a hit. With a PDF above zero, applies the MIS weight against light sampling from a
/// point with the given normal.
fn eval_emission(ray: Ray, normal: vec3<f32>, hit: Hit, pdf: f32) -> vec3<f32> {
    let surface = surface_of(hit.triangle);
    if all(surfaces[surface].emission == vec3(0.0)) {
        return vec3(0.0);
    }
    if is_back(hit) && (surfaces[surface].flags & BOTH_SIDES) == 0u {
        return vec3(0.0);
    }
    let radiance = emission_at(surface, hit.triangle, hit.barycentric);
    let emitter = surfaces[surface].emitter;
    if pdf <= 0.0 || emitter == NONE {
        return radiance;
    }
    let probability = probability_of_emitter(emitter, ray.origin, normal);
    return radiance * balance_heuristic(pdf, probability * hit_pdf(emitter, ray, hit));
}

/// Samples direct light of one distant and one nearby emitter. Returns the reflected radiance.
fn light_from_emitters(vertex: Vertex, normal: vec3<f32>, bsdf: Bsdf, u: vec3<f32>) -> vec3<f32> {
    var sum = vec3(0.0);
    for (var root = 0u; root < 2u; root++) {
        sum += light_from_emitter(draw_emitter(root, vertex.position, normal, u.z), vertex, normal, bsdf, u.xy);
    }
    return sum;
}

/// Samples direct light of one emitter. Returns the reflected radiance.
fn light_from_emitter(drawn: DrawnEmitter, vertex: Vertex, normal: vec3<f32>, bsdf: Bsdf, u: vec2<f32>) -> vec3<f32> {
    if drawn.probability <= 0.0 {
        return vec3(0.0);
    }
    let light = sample_emitter(drawn.emitter, vertex.position, normal, u);
    if largest(light.irradiance) <= 0.0 || !(largest(light.irradiance) < FAR)
        || dot(light.direction, vertex.geometric_normal) <= 0.0 {
        return vec3(0.0);
    }
    let scattered = evaluate_bsdf(bsdf, light.direction) * light.irradiance;
    if all(scattered == vec3(0.0)) {
        return vec3(0.0);
    }
    var part = 1.0 / drawn.probability;
    if light.pdf >= 0.0 {
        part *= balance_heuristic(drawn.probability * light.pdf, bsdf_pdf(bsdf, light.direction));
    }
    return scattered * light_through(light.ray) * part;
}

/// Traces one path along a camera ray.
fn trace_path(first: Ray, sample_index: u32, seed: u32) -> Seen {
    var seen = Seen(vec3(0.0), vec3(0.0), vec3(0.0), FAR, NONE, 0.0);
    var ray = first;
    var weight = vec3(1.0);
    // Absorption coefficient of the medium that the ray passes, per meter.
    var absorption = vec3(0.0);
    // PDF of the direction at the last vertex; zero for the camera and inside glass.
    var pdf = 0.0;
    // Shading normal at the last vertex.
    var normal = vec3(0.0);
    for (var bounces = 0u; bounces < LONGEST_PATH; bounces++) {
        let hit = closest_hit(ray);
        seen.nodes = select(seen.nodes, f32(hit.steps), bounces == 0u);
        weight *= hit.filtered * exponential(-absorption * min(hit.t, 1e30));
        if hit.triangle == NONE {
            let is_dark = tables[SKY_EMITTER] == NONE && all(scene.sky_radiance == vec3(0.0));
            let environment = eval_environment(ray, normal, pdf);
            seen.radiance += weight * select(environment, settings.background, is_dark && bounces == 0u);
            break;
        }
        seen.radiance += weight * eval_emission(ray, normal, hit, pdf);
        let surface = surface_of(hit.triangle);
        let near = vertex_of(hit);
        let back = is_back(hit);
        let absorbs = back && (surfaces[surface].flags & BOTH_SIDES) == 0u;
        let random = hash2(hash2(seed, ~bounces), sample_index);
        let crossing = crossing_of(appearance_at(surface, hit, back), surface, near, -ray.direction, random);
        let vertex = crossing.vertex;
        let bsdf = crossing.bsdf;
        weight *= crossing.weight;
        // Baked light belongs to the near side, so a crossing path must not end here.
        pdf = select(pdf, 0.0, crossing.goes);
        if bounces == 0u {
            seen.albedo = select(bsdf_albedo(bsdf), vec3(0.0), absorbs);
            seen.normal = select(bsdf.frame[2], vertex.shading_normal, absorbs);
            seen.depth = hit.t;
            seen.surface = surface;
        }
        let is_theirs = bounces == 0u && !is_for_eye_paths(bsdf);
        if absorbs || bounces >= select(settings.max_bounces, 0u, is_theirs && settings.in_hybrid == 1u) {
            break;
        }
        let sobol = sobol_point(hash2(seed, 2u * bounces), sample_index);
        let way = sobol_point(hash2(seed, 2u * bounces + 1u), sample_index);
        // Inside glass, only BSDF sampling finds light, because the surface blocks all shadow rays.
        let is_glass = surfaces[surface].transmission > 0.0;
        let is_within = back && is_glass;
        // A PDF marks reflected rays, as opposed to camera rays and rays through glass.
        var lightmap = NONE;
        if pdf * f32(settings.ends_at_lightmaps) > 0.0 && !is_glass {
            lightmap = lightmap_coordinates(surface, hit.triangle);
        }
        if !is_within && (lightmap == NONE || (surfaces[surface].flags & LIT_DIRECTLY) == 0u) {
            seen.radiance += weight * light_from_emitters(vertex, bsdf.frame[2], bsdf, sobol.xyz);
        }
        if lightmap != NONE {
            seen.radiance += weight * bsdf_albedo(bsdf) * baked_light(surface, lightmap, hit.barycentric);
            break;
        }

        let scattered = sample_bsdf(bsdf, way.xy, way.z);
        let behind = dot(scattered.direction, vertex.geometric_normal) < 0.0;
        if all(scattered.direction == vec3(0.0)) || behind != scattered.through {
            break;
        }
        weight *= scattered.weight;
        let survival = survival_of(weight, bounces);
        if sobol.w >= survival {
            break;
        }
        weight /= survival;
        pdf = select(scattered.pdf, 0.0, is_within);
        normal = bsdf.frame[2];
        if scattered.through {
            absorption = select(surfaces[surface].absorption, vec3(0.0), is_within);
        }
        ray = Ray(select(vertex.position, vertex.behind, scattered.through), 0.0, scattered.direction, FAR);
    }
    return seen;
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
    let seen = trace_path(ray, settings.sample_index, seed);

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
