// Rays between elements and lights, and what they carry: the twin of `radiosity::cpu`.

/// What a gather ray found.
struct Arrival {
    /// The element that was met, `LOST` or `BURIED`.
    end: u32,
    /// Rays traced.
    rays: u32,
    /// Share of the end's radiosity that arrives, per channel.
    tint: vec3<f32>,
    /// Irradiance that the ray stands for: direct light of what it met.
    direct: vec3<f32>,
    /// Indirect light that it collected where it bounced, or met on a bright element.
    detour: vec3<f32>,
}

/// The ray escaped or was absorbed.
const LOST: u32 = 0xfffffffeu;
/// It started inside other geometry, or below its own surface: it does not count.
const BURIED: u32 = 0xffffffffu;

/// Emitters that a sample of an element's direct light visits, and one on a surface without elements.
const VISITS: u32 = 4u;
const DETOUR_VISITS: u32 = 2u;
/// Bounces that a ray makes before chance decides whether it goes on, and after which it counts as absorbed.
const CERTAIN_BOUNCES: u32 = 3u;
const MOST_BOUNCES: u32 = 1024u;

/// Slope above the surface at which a point looks around, directions that it looks in, how many of them must leave a
/// solid, and surfaces that one look passes at most.
const HORIZON: f32 = 0.1;
const LOOKS: u32 = 5u;
const ENOUGH_LOOKS: u32 = 4u;
const MOST_PASSED: u32 = 16u;
/// Solids that one look is inside of at a time, and faces in one place, at most.
const MOST_ENTERED: u32 = 32u;
const MOST_IN_PLACE: u32 = 8u;
/// Weights of a corner below which a hit lies on the edge across from it.
const EDGE: f32 = 1e-6;

/// The weight of light found in a way that finds it with density `own`, where another way finds it with density `other`:
/// the power heuristic.
fn power_share(own: f32, other: f32) -> f32 {
    let densities = min(vec2(own, other), vec2(MOST_DENSITY));
    let squares = densities * densities;
    return select(0.0, squares.x / (squares.x + squares.y), own > 0.0);
}

/// The place of an element, for choosing emitters.
fn place_of_element(element: u32) -> Place {
    if element_tables[EMITTER_COUNT] <= VISITS {
        return Place(vec3(0.0), 0.0, vec3(0.0));
    }
    let record = element_tables[PLACES] + 7u * element;
    return Place(element_vec3(record), element_float(record + 6u), element_vec3(record + 3u));
}

/// Light, and how many rays it took to find it.
struct Found {
    light: vec3<f32>,
    rays: u32,
}

/// Irradiance that one point of one emitter brings, shadows and the weight of aimed rays included. `chance` is that of the
/// visit.
fn aimed_light(emitter: u32, chance: f32, point: SurfacePoint, u: vec2<f32>) -> Found {
    let light = sample_emitter(emitter, origin_of(point), point.shading_normal, u);
    if !(largest(light.irradiance) > 0.0) || !(largest(light.irradiance) < FAR)
        || dot(light.direction, point.geometric_normal) <= 0.0 {
        return Found(vec3(0.0), 0u);
    }
    var part = 1.0 / chance;
    if light.density >= 0.0 {
        let by_chance = max(dot(point.shading_normal, light.direction), 0.0) / PI;
        part *= power_share(chance * light.density, by_chance);
    }
    return Found(light_through(light.ray) * light.irradiance * part, 1u);
}

/// True when a ray met a side that takes all light: the back of a single-sided surface, or a side that nothing can see.
fn absorbs(hit: Hit) -> bool {
    return side_absorbs(hit.triangle, is_back(hit));
}

fn side_absorbs(triangle: u32, back: bool) -> bool {
    let has_no_back = back && (surfaces[surface_of(triangle)].flags & BOTH_SIDES) == 0u;
    return has_no_back || (triangles[triangle].surface & select(SEALED_FRONT, SEALED_BACK, back)) != 0u;
}

/// Irradiance that a ray stands for which met a shining surface or the sky by chance, weighed against rays aimed there by
/// one of so many visits at a place.
fn met_light(ray: Ray, hit: Hit, by_chance: f32, place: Place, visits: u32) -> vec3<f32> {
    var radiance = scene.sky_radiance;
    var emitter = tables[SKY_EMITTER];
    var density = 0.0;
    if hit.triangle == NONE {
        if emitter != NONE {
            radiance = environment_radiance(emitter, environment_uv(emitter, ray.direction));
            density = environment_density(emitter, ray.direction);
        }
    } else {
        emitter = surfaces[surface_of(hit.triangle)].emitter;
        if emitter == NONE || absorbs(hit) {
            return vec3(0.0);
        }
        radiance = emission_at(surface_of(hit.triangle), hit.triangle, hit.barycentric);
        density = hit_density(emitter, ray, hit);
    }
    if emitter != NONE {
        density *= chance_of(chances_at(place, visits), emitter);
    }
    return radiance * (PI * power_share(by_chance, density));
}

/// Follows a gather ray from a point of an element, along a direction that was chosen with a density of cosine over pi.
///
/// A point of a suspect element, one that has buried points, is asked first whether it is one of them; other points only
/// when their ray meets a back that absorbs. `orders` are those of `Item`.
fn gather(element: u32, point: SurfacePoint, direction: vec3<f32>, seed: u32, orders: u32) -> Arrival {
    var arrival = Arrival(LOST, 0u, vec3(1.0), vec3(0.0), vec3(0.0));
    if dot(direction, point.geometric_normal) <= 0.0 {
        arrival.end = BURIED;
        return arrival;
    }
    let ray = ray_from(point, direction);
    let hit = closest_hit(ray);
    arrival.rays = 1u;
    let is_absorbed = hit.triangle != NONE && absorbs(hit);
    if (orders & 1u) != 0u || is_absorbed {
        let looks = look_around(point, direction);
        arrival.rays += looks.y;
        if looks.x >= ENOUGH_LOOKS {
            arrival.end = BURIED;
            return arrival;
        }
    }
    if is_absorbed {
        return arrival;
    }
    let by_chance = dot(point.shading_normal, direction) / PI;
    arrival.direct = met_light(ray, hit, by_chance, place_of_element(element), VISITS) * hit.filtered;
    if hit.triangle == NONE {
        return arrival;
    }
    arrival.tint = hit.filtered;
    var followed = follow(hit, orders >> 1u, seed, arrival);
    let record = record_of_bright(followed.end);
    if record != NONE {
        // Where a ray has bounced, nothing was aimed at bright elements.
        var weight = 1.0;
        if followed.rays == arrival.rays {
            let leaving = dot(direction, normalize(scaled_normal(hit.triangle)));
            weight = power_share(by_chance, bright_density(record, hit.t * hit.t, leaving));
        }
        followed.detour += followed.tint * element_vec3(record + 3u) * weight;
    }
    return followed;
}

/// The element that a ray ends at, or `NONE` for one that bounces off elements too.
fn end_at(hit: Hit, bounces: u32) -> u32 {
    return select(NONE, element_at(hit, is_back(hit)), bounces == 0u);
}

/// Ends a ray at the element that it met, or carries on as a path tracer does: before the surface, or behind it with a tint.
fn follow(first: Hit, bounces: u32, ray_seed: u32, before: Arrival) -> Arrival {
    var arrival = before;
    var hit = first;
    let most_bounces = select(bounces, MOST_BOUNCES, bounces == 0u);
    for (var bounce = 0u; bounce <= most_bounces; bounce++) {
        let met = end_at(hit, bounces);
        let is_translucent = surfaces[surface_of(hit.triangle)].diffuse_transmission > 0.0;
        var crosses = false;
        if met == NONE || is_translucent {
            let look = look_at(hit);
            let chance = crossing_chance(look);
            crosses = is_translucent && unit_float(hash2(hash2(ray_seed, bounce), 3u)) < chance;
            if crosses {
                arrival.tint *= scattered_through(look) / chance;
            } else if met == NONE {
                arrival.tint *= stopped_reflectance(look);
            }
        }
        if met != NONE && !crosses {
            arrival.end = met;
            return arrival;
        }
        if bounce == most_bounces {
            return arrival;
        }
        let seed = hash2(ray_seed, bounce);
        // Those that go on stand for those that do not.
        let stays = select(largest(arrival.tint), 1.0, bounce < CERTAIN_BOUNCES);
        if largest(arrival.tint) == 0.0 || unit_float(hash2(seed, 2u)) >= stays {
            return arrival;
        }
        arrival.tint /= stays;
        let point = surface_point(hit.triangle, hit.barycentric, is_back(hit) != crosses);
        let u = sobol_point(seed, 0u);
        let place = Place(point.position, 0.0, point.geometric_normal);
        let chances = chances_at(place, DETOUR_VISITS);
        var sum = unit_float(hash2(seed, 1u));
        for (var emitter = 0u; emitter < element_tables[EMITTER_COUNT]; emitter++) {
            let chance = chance_of(chances, emitter);
            let drawn = visit(sum, chance);
            sum = drawn.sum;
            if drawn.is_made {
                let found = aimed_light(emitter, chance, point, u.zw);
                arrival.detour += arrival.tint * found.light;
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
        let by_chance = dot(point.shading_normal, direction) / PI;
        arrival.tint *= hit.filtered;
        arrival.detour += arrival.tint * met_light(ray, hit, by_chance, place, DETOUR_VISITS);
        if hit.triangle == NONE {
            return arrival;
        }
    }
    return arrival;
}

/// Looks around along the surface: how many looks leave a solid that the point lies in, as all do from within one, and the
/// number of rays that it took.
fn look_around(point: SurfacePoint, direction: vec3<f32>) -> vec2<u32> {
    let normal = point.geometric_normal;
    let along = direction - normal * dot(direction, normal);
    let square = dot(along, along);
    let basis = orthonormal_basis(normal);
    let across = select(basis[0], along * inverseSqrt(max(square, 1e-37)), square > 1e-37);
    let aside = cross(normal, across);
    var leaving = 0u;
    var rays = 0u;
    for (var look = 0u; look < LOOKS; look++) {
        let turned = sin_cos_turns(f32(look) / f32(LOOKS));
        let looks = leaves_a_solid(ray_from(point, across * turned.y + aside * turned.x + normal * HORIZON));
        leaving += looks.x;
        rays += looks.y;
        if leaving >= ENOUGH_LOOKS || leaving + LOOKS - 1u - look < ENOUGH_LOOKS {
            break;
        }
    }
    return vec2(leaving, rays);
}

/// Follows a ray through sides by which it enters solids, and out of those again, until it leaves a solid that it has not
/// entered. One or zero, and the number of rays.
fn leaves_a_solid(look: Ray) -> vec2<u32> {
    var ray = look;
    var entered: array<u32, MOST_ENTERED>;
    var solids = 0u;
    for (var passed = 0u; passed < MOST_PASSED; passed++) {
        let nearest = closest_hit(ray);
        if nearest.triangle == NONE {
            return vec2(0u, passed + 1u);
        }
        let gap = twin_gap(ray, nearest.t);
        let count = find_all_in_place(ray, nearest, gap);
        // Solids before this place, and those that are entered in it.
        var before = solids;
        // Sides that enter solids first, then those that leave them, then open sheets.
        for (var turn = 0u; turn < 3u * count; turn++) {
            let face = faces_in_place[turn % count];
            let enters = side_absorbs(face.triangle, !is_back(face));
            let rank = select(select(2u, 1u, absorbs(face)), 0u, enters);
            if rank != turn / count {
                continue;
            }
            // Open surfaces may bound solids together, and count as one.
            let is_closed = (element_tables[sheet_of(face.triangle)] & CLOSED) != 0u;
            let solid = select(NONE, surface_of(face.triangle), is_closed);
            if rank == 0u {
                if solids < MOST_ENTERED {
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
                // Those that are entered here stay behind those from before.
                before--;
                entered[place] = entered[before];
                solids--;
                entered[before] = entered[solids];
            } else if solids > before {
                // Where one solid is left and another entered, or a wall was doubled, nothing changes.
                solids--;
            } else {
                return vec2(1u, passed + 1u);
            }
        }
        ray.t_min = nearest.t + gap;
    }
    return vec2(0u, MOST_PASSED);
}

/// Faces that solids which are flush with each other have in one place.
var<private> faces_in_place: array<Hit, MOST_IN_PLACE>;

/// Notes all faces that a ray meets where it meets the nearest, and answers how many. A ray through an edge meets the
/// triangles on both sides of it, which count as one.
fn find_all_in_place(ray: Ray, nearest: Hit, gap: f32) -> u32 {
    let sheared = sheared_ray(ray);
    let first = max(nearest.t - gap, ray.t_min);
    let last = nearest.t + gap;
    var walk = start_walk(Ray(ray.origin, first, ray.direction, last), last, 0u);
    var goes_on = walk.t0 <= walk.t1;
    var count = 0u;
    while goes_on {
        let leaf = descend(&walk);
        let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
        for (var reference = leaf.x; reference < end; reference++) {
            let triangle = walk.first_triangle + references[reference];
            let met = hit_triangle(sheared, ray.origin, triangle);
            let is_passable = (triangles[triangle].surface & PASSABLE) != 0u;
            if !(met.t >= first && met.t <= last) || count == MOST_IN_PLACE || is_passable {
                continue;
            }
            add_in_place(Hit(met.t, triangle, met.barycentric, vec3(1.0), met.back, 0u, false), &count);
        }
        goes_on = advance(&walk);
    }
    if count < 2u {
        faces_in_place[0] = nearest;
        return 1u;
    }
    return count;
}

/// Notes a face, unless it is noted already or is the other side of an edge.
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

/// True when a ray met a triangle at its rim, as far as rounding tells.
fn is_on_edge(hit: Hit) -> bool {
    return min(hit.barycentric.x, hit.barycentric.y) <= EDGE || hit.barycentric.x + hit.barycentric.y >= 1.0 - EDGE;
}
