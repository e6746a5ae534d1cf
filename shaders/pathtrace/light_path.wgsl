// Light tracing kernel; counterpart of `pathtrace::LightTracer`.

/// Deposits of light paths. The header holds the number of contributions in two words, an overflow flag, and the number
/// of walks that ended at the step limit. Each pixel follows with three radiance sums of two words, in units of the pass.
@group(1) @binding(2) var<storage, read_write> deposits: array<atomic<u32>>;

/// Number of header words.
const DEPOSITS_HEADER: u32 = 4u;
const OVERFLOW: u32 = 2u;
const UNFINISHED: u32 = 3u;
/// Weight of the upper word of a sum.
const UPPER: f32 = 4294967296.0;
/// Upper word of a half-full sum, which counts as overflow.
const HALF_FULL: u32 = 0x80000000u;

/// Deposits a value that may take both words of a sum, and flags overflow.
fn deposit_units(word: u32, units: f32) {
    let upper = floor(units / UPPER);
    if upper >= f32(HALF_FULL) {
        atomicMax(&deposits[OVERFLOW], 1u);
        return;
    }
    deposit(word, u32(round(units - upper * UPPER)));
    if upper > 0.0 && atomicAdd(&deposits[word + 1u], u32(upper)) + u32(upper) >= HALF_FULL {
        atomicMax(&deposits[OVERFLOW], 1u);
    }
}

/// Returns the ratio of the shading cosine to the geometric cosine of incident light.
fn irradiance_correction(vertex: Vertex, normal: vec3<f32>, toward_light: vec3<f32>) -> f32 {
    let cosine = max(abs(dot(toward_light, vertex.geometric_normal)), 1e-37);
    return abs(dot(toward_light, normal)) / cosine;
}

/// Deposits the contribution of a path vertex in the pixels that see the vertex. Returns one if a pixel does, else
/// zero.
fn splat(vertex: Vertex, bsdf: Bsdf, toward_light: vec3<f32>, power: vec3<f32>, on_lens: vec2<f32>) -> u32 {
    let seen_from = sight_of(vertex.position, on_lens);
    let offset = seen_from.origin - vertex.position;
    let direction = normalize(offset);
    let cosine = dot(direction, vertex.geometric_normal);
    let is_theirs = is_for_eye_paths(bsdf) && settings.in_hybrid == 1u;
    if is_theirs || seen_from.importance <= 0.0 || cosine <= 0.0 {
        return 0u;
    }
    let shares = shares_at(seen_from.place);
    let parts = vec4(share_of(shares, 0u), share_of(shares, 1u), share_of(shares, 2u), share_of(shares, 3u));
    if all(parts == vec4(0.0)) {
        return 0u;
    }
    let correction = irradiance_correction(vertex, bsdf.frame[2], toward_light);
    let scattered = evaluate_diffuse(bsdf, direction) * (correction * cosine / dot(offset, offset));
    if largest(scattered) <= 0.0 {
        return 0u;
    }
    let through = light_through(Ray(vertex.position, 0.0, offset, SHORTER));
    let radiance = power * scattered * seen_from.importance * through;
    if largest(radiance) <= 0.0 || !(largest(radiance) < FAR) {
        return 0u;
    }
    let units = radiance * settings.units;
    for (var pixel = 0u; pixel < 4u; pixel++) {
        if parts[pixel] > 0.0 {
            let word = DEPOSITS_HEADER + 6u * pixel_of(shares, pixel);
            deposit_units(word, units.x * parts[pixel]);
            deposit_units(word + 2u, units.y * parts[pixel]);
            deposit_units(word + 4u, units.z * parts[pixel]);
        }
    }
    return 1u;
}

/// Follows one path from an emitter to its end. Returns the number of contributions.
fn follow(path: u32) -> u32 {
    let emission = emitted(sobol_point(hash2(settings.seed, 0u), path).x, sobol_point(hash2(settings.seed, 1u), path));
    if largest(emission.power) <= 0.0 || !(largest(emission.power) < FAR) {
        return 0u;
    }
    var ray = emission.ray;
    var power = emission.power;
    var left = vec3(1.0);
    // Absorption coefficient of the medium that the ray passes, per meter.
    var absorption = vec3(0.0);
    var contributions = 0u;
    for (var bounces = 0u; bounces < LONGEST_PATH; bounces++) {
        let hit = closest_hit(ray);
        if hit.triangle == NONE || bounces >= settings.max_bounces {
            break;
        }
        power *= select(1.0, range_window(hit.t * hit.t, emission.range), bounces == 0u);
        left *= hit.filtered * exponential(-absorption * hit.t);
        let surface = surface_of(hit.triangle);
        let near = vertex_of(hit);
        let back = is_back(hit);
        if back && (surfaces[surface].flags & BOTH_SIDES) == 0u {
            break;
        }
        let random = hash2(hash2(settings.seed, ~bounces), path);
        let crossing = crossing_of(appearance_at(surface, hit, back), surface, near, -ray.direction, random);
        let vertex = crossing.vertex;
        let bsdf = crossing.bsdf;
        let toward_light = crossing.outgoing;
        left *= crossing.weight;
        let way = sobol_point(hash2(settings.seed, 2u * bounces + 2u), path);
        let on_lens = sobol_point(hash2(settings.seed, 2u * bounces + 3u), path).xy;
        let is_within = back && surfaces[surface].transmission > 0.0;
        if !is_within {
            contributions += splat(vertex, bsdf, toward_light, power * left, on_lens);
        }

        let scattered = sample_bsdf(bsdf, way.xy, way.z);
        let outward = dot(scattered.direction, vertex.geometric_normal);
        if all(scattered.direction == vec3(0.0)) || scattered.through != (outward < 0.0) {
            break;
        }
        // Power spreads by the geometric normal, while the BSDF uses the shading normal.
        let correction = irradiance_correction(vertex, bsdf.frame[2], toward_light) * abs(outward)
            / abs(dot(scattered.direction, bsdf.frame[2]));
        left *= scattered.weight * correction;
        let survival = survival_of(left, bounces);
        if way.w >= survival || !(largest(abs(left)) < FAR) {
            break;
        }
        left /= survival;
        if scattered.through {
            absorption = select(surfaces[surface].absorption, vec3(0.0), is_within);
        }
        ray = Ray(select(vertex.position, vertex.behind, scattered.through), 0.0, scattered.direction, FAR);
    }
    return contributions;
}

/// Follows a range of a pass's paths.
@compute @workgroup_size(BLOCK)
fn follow_paths(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let path = settings.first + thread_index(id, groups);
    if path >= settings.end {
        return;
    }
    deposit(0u, follow(path));
    if unfinished_walks > 0u {
        atomicAdd(&deposits[UNFINISHED], unfinished_walks);
    }
}
