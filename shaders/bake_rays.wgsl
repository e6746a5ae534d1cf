// The rays of a bake, one a thread.

@group(1) @binding(0) var<uniform> batch: Batch;
@group(1) @binding(2) var<storage, read_write> errands: array<Errand>;

/// Points that a shot tries to leave its element from before it gives up: some are buried.
const TRIES: u32 = 4u;

/// Gather rays: what an element sees.
@compute @workgroup_size(64)
fn trace_gather(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let errand = errands[thread];
    let seed = hash2(batch.seed, errand.element);
    let u = sobol_point(seed, errand.end);
    let point = point_of_element(errand.element, u.xy);
    let direction = from_local(point.shading_normal, cosine_hemisphere(u.zw));
    var arrival = gather(errand.element, point, direction, hash2(seed, errand.end), errand.rays);
    if bright_count() > 0u && arrival.end != BURIED {
        let found = light_of_bright(point, hash2(seed, errand.end));
        arrival.detour += found.light;
        arrival.rays += found.rays;
    }
    errands[thread] =
        Errand(arrival.tint, arrival.end, arrival.direct, arrival.rays, arrival.detour, errand.element);
}

/// Shots: where the power of an element lands.
@compute @workgroup_size(64)
fn trace_shots(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let errand = errands[thread];
    let seed = hash2(hash2(batch.seed, errand.element), batch.other_seed);
    var arrival = Arrival(BURIED, 0u, vec3(0.0), vec3(0.0), vec3(0.0));
    var rays = 0u;
    for (var attempt = 0u; attempt < TRIES && arrival.end == BURIED; attempt++) {
        let u = sobol_point(seed + attempt, errand.end);
        let point = point_of_element(errand.element, u.xy);
        let direction = from_local(point.geometric_normal, cosine_hemisphere(u.zw));
        arrival = gather(errand.element, point, direction, hash2(seed, errand.end), errand.rays);
        rays += arrival.rays;
    }
    errands[thread] = Errand(arrival.tint, arrival.end, vec3(0.0), rays, vec3(0.0), errand.element);
}

/// Samples of direct light: points of emitters, aimed at from points of an element.
@compute @workgroup_size(64)
fn trace_aimed(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let errand = errands[thread];
    let seed = hash2(batch.seed, errand.element);
    let chances = chances_at(place_of_element(errand.element), VISITS);
    var sum = sobol_point(hash2(batch.other_seed, errand.element), errand.end).x;
    var found = Found(vec3(0.0), 0u);
    for (var emitter = 0u; emitter < element_tables[EMITTER_COUNT]; emitter++) {
        let chance = chance_of(chances, emitter);
        let drawn = visit(sum, chance);
        sum = drawn.sum;
        if drawn.is_made {
            let u = sobol_point(seed + emitter, errand.end);
            let one = aimed_light(emitter, chance, point_of_element(errand.element, u.xy), u.zw);
            found.light += one.light;
            found.rays += one.rays;
        }
    }
    errands[thread] = Errand(vec3(1.0), LOST, found.light, found.rays, vec3(0.0), errand.element);
}
