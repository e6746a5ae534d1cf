// Ray tracing kernels of a bake, one ray per thread.

@group(1) @binding(0) var<uniform> batch: Batch;
@group(1) @binding(2) var<storage, read_write> ray_tasks: array<RayTask>;

/// Number of start points that a shot tries, because some lie inside solids.
const TRIES: u32 = 4u;

/// Traces gather rays from elements.
@compute @workgroup_size(64)
fn trace_gather(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let ray_task = ray_tasks[thread];
    let seed = hash2(batch.seed, ray_task.element);
    let u = sobol_point(seed, ray_task.end);
    let point = point_of_element(ray_task.element, u.xy);
    let direction = from_local(point.shading_normal, cosine_hemisphere(u.zw));
    var arrival = gather(ray_task.element, point, direction, hash2(seed, ray_task.end), ray_task.rays);
    if bright_count() > 0u && arrival.end != INSIDE {
        let found = light_of_bright(point, hash2(seed, ray_task.end));
        arrival.continuation += found.light;
        arrival.rays += found.rays;
    }
    ray_tasks[thread] =
        RayTask(arrival.tint, arrival.end, arrival.direct, arrival.rays, arrival.continuation, ray_task.element);
}

/// Traces shots, which carry the power of elements.
@compute @workgroup_size(64)
fn trace_shots(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let ray_task = ray_tasks[thread];
    let seed = hash2(hash2(batch.seed, ray_task.element), batch.other_seed);
    var arrival = Arrival(INSIDE, 0u, vec3(0.0), vec3(0.0), vec3(0.0));
    var rays = 0u;
    for (var attempt = 0u; attempt < TRIES && arrival.end == INSIDE; attempt++) {
        let u = sobol_point(seed + attempt, ray_task.end);
        let point = point_of_element(ray_task.element, u.xy);
        let direction = from_local(point.geometric_normal, cosine_hemisphere(u.zw));
        arrival = gather(ray_task.element, point, direction, hash2(seed, ray_task.end), ray_task.rays);
        rays += arrival.rays;
    }
    ray_tasks[thread] = RayTask(arrival.tint, arrival.end, vec3(0.0), rays, vec3(0.0), ray_task.element);
}

/// Samples direct light: shadow rays from points of elements to points of emitters.
@compute @workgroup_size(64)
fn trace_light_samples(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let ray_task = ray_tasks[thread];
    let seed = hash2(batch.seed, ray_task.element);
    let light_pmf = light_pmf_at(place_of_element(ray_task.element), VISITS);
    var sum = sobol_point(hash2(batch.other_seed, ray_task.element), ray_task.end).x;
    var found = Found(vec3(0.0), 0u);
    for (var emitter = 0u; emitter < element_tables[EMITTER_COUNT]; emitter++) {
        let probability = probability_of(light_pmf, emitter);
        let drawn = visit(sum, probability);
        sum = drawn.sum;
        if drawn.is_made {
            let u = sobol_point(seed + emitter, ray_task.end);
            let one = sample_direct_light(emitter, probability, point_of_element(ray_task.element, u.xy), u.zw);
            found.light += one.light;
            found.rays += one.rays;
        }
    }
    ray_tasks[thread] = RayTask(vec3(1.0), LOST, found.light, found.rays, vec3(0.0), ray_task.element);
}
