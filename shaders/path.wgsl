// Pictures by paths with next-event estimation: the twin of `pathtrace::PathTracer`.

/// What a path brought.
struct Seen {
    radiance: vec3<f32>,
    /// What the first surface reflects.
    albedo: vec3<f32>,
    normal: vec3<f32>,
    /// Distance to the first surface.
    depth: f32,
    /// The first surface, or `NONE`.
    surface: u32,
    /// Nodes of the tree that the way there led through.
    nodes: f32,
}

/// The sequence that places samples on the film and on the lens.
const CAMERA: u32 = 0xffffffffu;

@group(1) @binding(1) var<storage, read_write> film_radiance: array<RadiancePixel>;
@group(1) @binding(2) var<storage, read_write> film_features: array<FeaturePixel>;

/// The weight of light in a direction that was chosen with density `own`: the balance heuristic.
fn share(own: f32, other: f32) -> f32 {
    let densities = min(vec2(own, other), vec2(MOST_DENSITY));
    return select(0.0, densities.x / (densities.x + densities.y), own > 0.0);
}

/// Radiance of the sky in a direction; its share where a point with some normal chose the ray's direction with some density,
/// above zero.
fn met_sky(ray: Ray, normal: vec3<f32>, density: f32) -> vec3<f32> {
    let direction = ray.direction;
    let emitter = tables[SKY_EMITTER];
    if emitter == NONE {
        return scene.sky_radiance;
    }
    let radiance = environment_radiance(emitter, environment_uv(emitter, direction));
    if density <= 0.0 {
        return radiance;
    }
    let chance = chance_of_emitter(emitter, ray.origin, normal);
    return radiance * share(density, chance * environment_density(emitter, direction));
}

/// Radiance of the surface that a ray met; its share where a point with some normal chose the ray with some density,
/// above zero.
fn met_emission(ray: Ray, normal: vec3<f32>, hit: Hit, density: f32) -> vec3<f32> {
    let surface = surface_of(hit.triangle);
    if all(surfaces[surface].emission == vec3(0.0)) {
        return vec3(0.0);
    }
    if is_back(hit) && (surfaces[surface].flags & BOTH_SIDES) == 0u {
        return vec3(0.0);
    }
    let radiance = emission_at(surface, hit.triangle, hit.barycentric);
    let emitter = surfaces[surface].emitter;
    if density <= 0.0 || emitter == NONE {
        return radiance;
    }
    let chance = chance_of_emitter(emitter, ray.origin, normal);
    return radiance * share(density, chance * hit_density(emitter, ray, hit));
}

/// Radiance toward the viewer of light that comes straight from an emitter far away and from one that is near.
fn light_from_emitters(vertex: Vertex, normal: vec3<f32>, bsdf: Bsdf, u: vec3<f32>) -> vec3<f32> {
    var sum = vec3(0.0);
    for (var root = 0u; root < 2u; root++) {
        sum += light_from_emitter(draw_emitter(root, vertex.position, normal, u.z), vertex, normal, bsdf, u.xy);
    }
    return sum;
}

/// Radiance toward the viewer of light that comes straight from one emitter.
fn light_from_emitter(drawn: DrawnEmitter, vertex: Vertex, normal: vec3<f32>, bsdf: Bsdf, u: vec2<f32>) -> vec3<f32> {
    if drawn.chance <= 0.0 {
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
    var part = 1.0 / drawn.chance;
    if light.density >= 0.0 {
        part *= share(drawn.chance * light.density, bsdf_density(bsdf, light.direction));
    }
    return scattered * light_through(light.ray) * part;
}

/// What one path brings along a ray.
fn trace_path(first: Ray, sample_index: u32, seed: u32) -> Seen {
    var seen = Seen(vec3(0.0), vec3(0.0), vec3(0.0), FAR, NONE, 0.0);
    var ray = first;
    var weight = vec3(1.0);
    // What the ray runs through takes this much of it, per metre.
    var absorption = vec3(0.0);
    // With what density the last vertex chose its direction; zero for the camera, and behind glass.
    var density = 0.0;
    // The normal there.
    var normal = vec3(0.0);
    for (var bounces = 0u; bounces < LONGEST_PATH; bounces++) {
        let hit = closest_hit(ray);
        seen.nodes = select(seen.nodes, f32(hit.steps), bounces == 0u);
        weight *= hit.filtered * exponential(-absorption * min(hit.t, 1e30));
        if hit.triangle == NONE {
            seen.radiance += weight * met_sky(ray, normal, density);
            break;
        }
        seen.radiance += weight * met_emission(ray, normal, hit, density);
        let surface = surface_of(hit.triangle);
        let near = vertex_of(hit);
        let back = is_back(hit);
        let absorbs = back && (surfaces[surface].flags & BOTH_SIDES) == 0u;
        let random = hash2(hash2(seed, ~bounces), sample_index);
        let crossing = crossing_of(appearance_at(surface, hit, back), surface, near, -ray.direction, random);
        let vertex = crossing.vertex;
        let bsdf = crossing.bsdf;
        weight *= crossing.weight;
        // What is baked is light of the near side.
        density = select(density, 0.0, crossing.goes);
        if bounces == 0u {
            seen.albedo = select(bsdf_albedo(bsdf), vec3(0.0), absorbs);
            seen.normal = select(bsdf.frame[2], vertex.shading_normal, absorbs);
            seen.depth = hit.t;
            seen.surface = surface;
        }
        let is_theirs = bounces == 0u && !is_for_eye_paths(bsdf);
        if absorbs || bounces >= select(settings.most_bounces, 0u, is_theirs && settings.in_hybrid == 1u) {
            break;
        }
        let aim = sobol_point(hash2(seed, 2u * bounces), sample_index);
        let way = sobol_point(hash2(seed, 2u * bounces + 1u), sample_index);
        // Within glass, light is found by chance alone: its walls hide all lamps.
        let is_glass = surfaces[surface].transmission > 0.0;
        let is_within = back && is_glass;
        // A density tells a reflected ray from those of the eye, and from what glass lets through.
        var lightmap = NONE;
        if density * f32(settings.ends_at_lightmaps) > 0.0 && !is_glass {
            lightmap = lightmap_coordinates(surface, hit.triangle);
        }
        if !is_within && (lightmap == NONE || (surfaces[surface].flags & LIT_DIRECTLY) == 0u) {
            seen.radiance += weight * light_from_emitters(vertex, bsdf.frame[2], bsdf, aim.xyz);
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
        if aim.w >= survival {
            break;
        }
        weight /= survival;
        density = select(scattered.density, 0.0, is_within);
        normal = bsdf.frame[2];
        if scattered.through {
            absorption = select(surfaces[surface].absorption, vec3(0.0), is_within);
        }
        ray = Ray(select(vertex.position, vertex.behind, scattered.through), 0.0, scattered.direction, FAR);
    }
    return seen;
}

/// Adds one sample to each pixel of some rows; the first one starts the means.
@compute @workgroup_size(8, 8)
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
    // No branch: see `scene.wgsl`.
    let starts = settings.sample_index == 0u;
    radiance = with_sample(started(radiance, starts), seen.radiance);
    features = noting_change(features, started(film_radiance[index], starts), radiance);
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
