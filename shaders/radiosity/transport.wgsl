// Light transport between elements and lights; counterpart of `radiosity::cpu`.

/// Result of a gather ray.
struct Arrival {
    /// Hit element, `LOST` or `INSIDE`.
    end: u32,
    /// Number of rays traced.
    rays: u32,
    /// Fraction of the radiosity at the end that arrives, per channel.
    tint: vec3<f32>,
    /// Direct irradiance of the ray, from an emitter that the ray hit, in lux.
    direct: vec3<f32>,
    /// Indirect irradiance collected at bounces, or from an element sampled as a light, in lux.
    continuation: vec3<f32>,
}

/// End of a ray that escaped or was absorbed.
const LOST: u32 = 0xfffffffeu;
/// End of a ray that started inside a solid or below its own surface, and does not count.
const INSIDE: u32 = 0xffffffffu;

/// Number of emitters visited per sample of direct light: at an element, and at a surface without elements.
const VISITS: u32 = 4u;
const CONTINUATION_VISITS: u32 = 2u;
/// Number of bounces before Russian roulette starts, and number after which a ray counts as absorbed.
const CERTAIN_BOUNCES: u32 = 3u;
const MAX_BOUNCES: u32 = 1024u;

/// Test whether a point lies inside a solid: slope of the test rays above the surface, number of test rays, number that
/// must leave a solid, and maximum number of surfaces that a test ray passes.
const HORIZON: f32 = 0.1;
const HORIZON_RAYS: u32 = 5u;
const MIN_LEAVING: u32 = 4u;
const MAX_PASSED: u32 = 16u;
/// Maximum number of nested solids of a test ray, and maximum number of coincident faces.
const MAX_ENTERED: u32 = 32u;
const MAX_IN_PLACE: u32 = 8u;
/// Corner weight below which a hit lies on the opposite edge.
const EDGE: f32 = 1e-6;

/// Returns the MIS weight of a technique with PDF `own` against another with PDF `other`: the power heuristic.
fn power_heuristic(own: f32, other: f32) -> f32 {
    let densities = min(vec2(own, other), vec2(MAX_PDF));
    let squares = densities * densities;
    return select(0.0, squares.x / (squares.x + squares.y), own > 0.0);
}

/// Returns an element as a receiver, for the selection of emitters.
fn place_of_element(element: u32) -> Place {
    if element_tables[EMITTER_COUNT] <= VISITS {
        return Place(vec3(0.0), 0.0, vec3(0.0));
    }
    let record = element_tables[PLACES] + 7u * element;
    return Place(element_vec3(record), element_float(record + 6u), element_vec3(record + 3u));
}

/// Light, and the number of rays traced to find the light.
struct Found {
    light: vec3<f32>,
    rays: u32,
}

/// Samples a point of one emitter. Returns its irradiance in lux, with shadows and MIS weight. `probability` is the
/// selection probability.
fn sample_direct_light(emitter: u32, probability: f32, point: SurfacePoint, u: vec2<f32>) -> Found {
    let light = sample_emitter(emitter, origin_of(point), point.shading_normal, u);
    if !(largest(light.irradiance) > 0.0) || !(largest(light.irradiance) < FAR)
        || dot(light.direction, point.geometric_normal) <= 0.0 {
        return Found(vec3(0.0), 0u);
    }
    var part = 1.0 / probability;
    if light.pdf >= 0.0 {
        let cosine_pdf = max(dot(point.shading_normal, light.direction), 0.0) / PI;
        part *= power_heuristic(probability * light.pdf, cosine_pdf);
    }
    return Found(light_through(light.ray) * light.irradiance * part, 1u);
}

/// Returns true if the side hit absorbs all light: the back of a one-sided surface, or an invisible side.
fn absorbs(hit: Hit) -> bool {
    return side_absorbs(hit.triangle, is_back(hit));
}

fn side_absorbs(triangle: u32, back: bool) -> bool {
    let has_no_back = back && (surfaces[surface_of(triangle)].flags & BOTH_SIDES) == 0u;
    return has_no_back || (triangles[triangle].surface & select(SEALED_FRONT, SEALED_BACK, back)) != 0u;
}

/// Returns the irradiance of a gather ray from an emitter hit, or from the sky. Applies the MIS weight against light
/// sampling with `visits` visits at a receiver.
fn eval_light(ray: Ray, hit: Hit, cosine_pdf: f32, place: Place, visits: u32) -> vec3<f32> {
    var radiance = scene.sky_radiance;
    var emitter = tables[SKY_EMITTER];
    var pdf = 0.0;
    if hit.triangle == NONE {
        if emitter != NONE {
            radiance = environment_radiance(emitter, environment_uv(emitter, ray.direction));
            pdf = environment_pdf(emitter, ray.direction);
        }
    } else {
        emitter = surfaces[surface_of(hit.triangle)].emitter;
        if emitter == NONE || absorbs(hit) {
            return vec3(0.0);
        }
        radiance = emission_at(surface_of(hit.triangle), hit.triangle, hit.barycentric);
        pdf = hit_pdf(emitter, ray, hit);
    }
    if emitter != NONE {
        pdf *= probability_of(light_pmf_at(place, visits), emitter);
    }
    return radiance * (PI * power_heuristic(cosine_pdf, pdf));
}

/// Traces a gather ray from a point of an element, in a direction sampled with PDF cosine / pi.
///
/// Points of elements known to have points inside solids are always tested. Other points are tested only if their ray
/// hits an absorbing back side. `flags` are those of `Item`.
fn gather(element: u32, point: SurfacePoint, direction: vec3<f32>, seed: u32, flags: u32) -> Arrival {
    var arrival = Arrival(LOST, 0u, vec3(1.0), vec3(0.0), vec3(0.0));
    if dot(direction, point.geometric_normal) <= 0.0 {
        arrival.end = INSIDE;
        return arrival;
    }
    let ray = ray_from(point, direction);
    let hit = closest_hit(ray);
    arrival.rays = 1u;
    let is_absorbed = hit.triangle != NONE && absorbs(hit);
    if (flags & 1u) != 0u || is_absorbed {
        let counts = trace_horizon(point, direction);
        arrival.rays += counts.y;
        if counts.x >= MIN_LEAVING {
            arrival.end = INSIDE;
            return arrival;
        }
    }
    if is_absorbed {
        return arrival;
    }
    let cosine_pdf = dot(point.shading_normal, direction) / PI;
    arrival.direct = eval_light(ray, hit, cosine_pdf, place_of_element(element), VISITS) * hit.filtered;
    if hit.triangle == NONE {
        return arrival;
    }
    arrival.tint = hit.filtered;
    var followed = follow(hit, flags >> 1u, seed, arrival);
    let record = record_of_bright(followed.end);
    if record != NONE {
        // At bounces, elements sampled as lights were not sampled.
        var weight = 1.0;
        if followed.rays == arrival.rays {
            let leaving = dot(direction, normalize(scaled_normal(hit.triangle)));
            weight = power_heuristic(cosine_pdf, bright_pdf(record, hit.t * hit.t, leaving));
        }
        followed.continuation += followed.tint * element_vec3(record + 3u) * weight;
    }
    return followed;
}

/// Returns the element that ends a ray at a hit, or `NONE` if the ray bounces at elements.
fn end_at(hit: Hit, bounces: u32) -> u32 {
    return select(NONE, element_at(hit, is_back(hit)), bounces == 0u);
}

/// Ends a ray at the element hit, or continues as in path tracing: before the surface, or behind with a tint.
fn follow(first: Hit, bounces: u32, ray_seed: u32, before: Arrival) -> Arrival {
    var arrival = before;
    var hit = first;
    let max_bounces = select(bounces, MAX_BOUNCES, bounces == 0u);
    for (var bounce = 0u; bounce <= max_bounces; bounce++) {
        let end = end_at(hit, bounces);
        let is_translucent = surfaces[surface_of(hit.triangle)].diffuse_transmission > 0.0;
        var crosses = false;
        if end == NONE || is_translucent {
            let reflection = reflection_at(hit);
            let probability = crossing_probability(reflection);
            crosses = is_translucent && unit_float(hash2(hash2(ray_seed, bounce), 3u)) < probability;
            if crosses {
                arrival.tint *= scattered_through(reflection) / probability;
            } else if end == NONE {
                arrival.tint *= stopped_reflectance(reflection);
            }
        }
        if end != NONE && !crosses {
            arrival.end = end;
            return arrival;
        }
        if bounce == max_bounces {
            return arrival;
        }
        let seed = hash2(ray_seed, bounce);
        // Surviving rays are weighted for those that end.
        let stays = select(largest(arrival.tint), 1.0, bounce < CERTAIN_BOUNCES);
        if largest(arrival.tint) == 0.0 || unit_float(hash2(seed, 2u)) >= stays {
            return arrival;
        }
        arrival.tint /= stays;
        let point = surface_point(hit.triangle, hit.barycentric, is_back(hit) != crosses);
        let u = sobol_point(seed, 0u);
        let place = Place(point.position, 0.0, point.geometric_normal);
        let light_pmf = light_pmf_at(place, CONTINUATION_VISITS);
        var sum = unit_float(hash2(seed, 1u));
        for (var emitter = 0u; emitter < element_tables[EMITTER_COUNT]; emitter++) {
            let probability = probability_of(light_pmf, emitter);
            let drawn = visit(sum, probability);
            sum = drawn.sum;
            if drawn.is_made {
                let found = sample_direct_light(emitter, probability, point, u.zw);
                arrival.continuation += arrival.tint * found.light;
                arrival.rays += found.rays;
            }
        }
        let direction = from_local(point.shading_normal, cosine_hemisphere(u.xy));
        if dot(direction, point.geometric_normal) <= 0.0 {
            return arrival;
        }
        let ray = ray_from(point, direction);
        arrival.rays++;
        hit = closest_hit(ray);
        if hit.triangle != NONE && absorbs(hit) {
            return arrival;
        }
        let cosine_pdf = dot(point.shading_normal, direction) / PI;
        arrival.tint *= hit.filtered;
        arrival.continuation += arrival.tint * eval_light(ray, hit, cosine_pdf, place, CONTINUATION_VISITS);
        if hit.triangle == NONE {
            return arrival;
        }
    }
    return arrival;
}

/// Traces test rays along the surface. Returns how many leave a solid that contains the point, and the number of rays.
/// Inside a solid, all of them do.
fn trace_horizon(point: SurfacePoint, direction: vec3<f32>) -> vec2<u32> {
    let normal = point.geometric_normal;
    let along = direction - normal * dot(direction, normal);
    let square = dot(along, along);
    let basis = orthonormal_basis(normal);
    let across = select(basis[0], along * inverseSqrt(max(square, 1e-37)), square > 1e-37);
    let aside = cross(normal, across);
    var leaving = 0u;
    var rays = 0u;
    for (var index = 0u; index < HORIZON_RAYS; index++) {
        let turned = sin_cos_turns(f32(index) / f32(HORIZON_RAYS));
        let counts = leaves_a_solid(ray_from(point, across * turned.y + aside * turned.x + normal * HORIZON));
        leaving += counts.x;
        rays += counts.y;
        if leaving >= MIN_LEAVING || leaving + HORIZON_RAYS - 1u - index < MIN_LEAVING {
            break;
        }
    }
    return vec2(leaving, rays);
}

/// Follows a ray through sides that enter and leave solids, until the ray leaves a solid that it has not entered.
/// Returns one or zero, and the number of rays.
fn leaves_a_solid(first: Ray) -> vec2<u32> {
    var ray = first;
    var entered: array<u32, MAX_ENTERED>;
    var solids = 0u;
    for (var passed = 0u; passed < MAX_PASSED; passed++) {
        let nearest = closest_hit(ray);
        if nearest.triangle == NONE {
            return vec2(0u, passed + 1u);
        }
        let gap = twin_gap(ray, nearest.t);
        let count = find_all_in_place(ray, nearest, gap);
        // Number of solids entered before this position. Those entered here come later in the array.
        var before = solids;
        // Sides that enter solids come first, then sides that leave solids, then open surfaces.
        for (var turn = 0u; turn < 3u * count; turn++) {
            let face = faces_in_place[turn % count];
            let enters = side_absorbs(face.triangle, !is_back(face));
            let rank = select(select(2u, 1u, absorbs(face)), 0u, enters);
            if rank != turn / count {
                continue;
            }
            // Open surfaces may bound a solid together, so they count as one.
            let is_closed = (element_tables[sheet_of(face.triangle)] & CLOSED) != 0u;
            let solid = select(NONE, surface_of(face.triangle), is_closed);
            if rank == 0u {
                if solids < MAX_ENTERED {
                    entered[solids] = solid;
                    solids++;
                }
                continue;
            }
            if rank == 2u {
                return vec2(0u, passed + 1u);
            }
            var place = 0u;
            while place < before && entered[place] != solid {
                place++;
            }
            if place < before {
                // Keeps solids entered here behind those entered before.
                before--;
                entered[place] = entered[before];
                solids--;
                entered[before] = entered[solids];
            } else if solids > before {
                // Leaving one solid and entering another, or a doubled wall, changes nothing.
                solids--;
            } else {
                return vec2(1u, passed + 1u);
            }
        }
        ray.t_min = nearest.t + gap;
    }
    return vec2(0u, MAX_PASSED);
}

/// Coincident faces of adjacent solids.
var<private> faces_in_place: array<Hit, MAX_IN_PLACE>;

/// Collects all faces that coincide with the nearest hit, and returns their number. A ray through an edge hits the
/// triangles on both sides, which count as one.
fn find_all_in_place(ray: Ray, nearest: Hit, gap: f32) -> u32 {
    let sheared = sheared_ray(ray);
    let first = max(nearest.t - gap, ray.t_min);
    let last = nearest.t + gap;
    var traversal = start_traversal(Ray(ray.origin, first, ray.direction, last), last, 0u);
    var goes_on = traversal.t0 <= traversal.t1;
    var count = 0u;
    while goes_on {
        let leaf = descend(&traversal);
        let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
        for (var reference = leaf.x; reference < end; reference++) {
            let triangle = traversal.first_triangle + references[reference];
            let found = hit_triangle(sheared, ray.origin, triangle);
            let is_passable = (triangles[triangle].surface & PASSABLE) != 0u;
            if !(found.t >= first && found.t <= last) || count == MAX_IN_PLACE || is_passable {
                continue;
            }
            add_in_place(Hit(found.t, triangle, found.barycentric, vec3(1.0), found.back, 0u, false), &count);
        }
        goes_on = advance(&traversal);
    }
    if count < 2u {
        faces_in_place[0] = nearest;
        return 1u;
    }
    return count;
}

/// Adds a face, unless the face is already listed or lies across an edge of a listed face.
fn add_in_place(face: Hit, count: ptr<function, u32>) {
    for (var index = 0u; index < *count; index++) {
        let noted = faces_in_place[index];
        if noted.triangle == face.triangle {
            return;
        }
        let is_alike = surface_of(noted.triangle) == surface_of(face.triangle) && noted.back == face.back;
        if is_alike && (is_on_edge(noted) || is_on_edge(face)) {
            if is_on_edge(noted) {
                faces_in_place[index] = face;
            }
            return;
        }
    }
    faces_in_place[*count] = face;
    *count += 1u;
}

/// Returns true if a hit lies on an edge of its triangle, within rounding.
fn is_on_edge(hit: Hit) -> bool {
    return min(hit.barycentric.x, hit.barycentric.y) <= EDGE || hit.barycentric.x + hit.barycentric.y >= 1.0 - EDGE;
}
