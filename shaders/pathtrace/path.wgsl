// Path tracing kernel with next-event estimation; counterpart of `pathtrace::PathTracer`.

/// Returns the MIS weight of a direction sampled with PDF `own`: the balance heuristic.
fn balance_heuristic(own: f32, other: f32) -> f32 {
    let densities = min(vec2(own, other), vec2(MAX_PDF));
    return select(0.0, densities.x / (densities.x + densities.y), own > 0.0);
}

/// Returns the radiance of the sky in a direction. With a PDF above zero, applies the MIS weight against light sampling
/// from a point with the given normal.
fn eval_environment(ray: Ray, normal: vec3<f32>, pdf: f32) -> vec3<f32> {
    let radiance = sky_radiance_toward(ray.direction);
    let emitter = tables[SKY_EMITTER];
    if emitter == NONE || pdf <= 0.0 {
        return radiance;
    }
    let probability = probability_of_emitter(emitter, ray.origin, normal);
    return radiance * balance_heuristic(pdf, probability * environment_pdf(emitter, ray.direction));
}

/// Returns the emitted radiance at a hit. With a PDF above zero, applies the MIS weight against light sampling from a
/// point with the given normal.
fn eval_emission(ray: Ray, normal: vec3<f32>, hit: Hit, pdf: f32) -> vec3<f32> {
    let radiance = emitted_radiance(hit);
    let emitter = surfaces[surface_of(hit.triangle)].emitter;
    if pdf <= 0.0 || emitter == NONE || all(radiance == vec3(0.0)) {
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
fn trace(first: Ray, sample_index: u32, seed: u32) -> Seen {
    var seen = nothing_seen();
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
            seen.radiance += weight * with_background(eval_environment(ray, normal, pdf), bounces == 0u);
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
