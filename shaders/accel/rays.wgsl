// Tracing of rays from a buffer, for tests, benchmarks and `radiosity rays`.

/// Answer for one ray.
struct RayAnswer {
    /// Distance along the ray. For any-hit rays, the transmittance of the brightest channel.
    t: f32,
    /// Index of the triangle in the tree, or `NONE`.
    triangle: u32,
    /// Weights of the triangle's second and third corner.
    barycentric: vec2<f32>,
}

/// Answers for all rays.
struct Answers {
    /// Number of walks that ended at the step limit.
    unfinished: atomic<u32>,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
    of_rays: array<RayAnswer>,
}

/// Number of rays, in x.
@group(1) @binding(0) var<uniform> ray_count: vec4<u32>;
@group(1) @binding(1) var<storage, read> rays: array<Ray>;
@group(1) @binding(2) var<storage, read_write> answers: Answers;

/// Adds this thread's unfinished walks to those of all threads.
fn count_unfinished() {
    if unfinished_walks > 0u {
        atomicAdd(&answers.unfinished, unfinished_walks);
    }
}

/// Finds the closest hit of each ray.
@compute @workgroup_size(BLOCK)
fn trace_closest(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = thread_index(id, groups);
    if index < ray_count.x {
        let hit = closest_hit(rays[index]);
        answers.of_rays[index] = RayAnswer(hit.t, hit.triangle, hit.barycentric);
        count_unfinished();
    }
}

/// Computes the transmittance along each ray.
@compute @workgroup_size(BLOCK)
fn trace_any(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = thread_index(id, groups);
    if index < ray_count.x {
        let through = largest(light_through(rays[index]));
        answers.of_rays[index] = RayAnswer(through, select(0u, NONE, through > 0.0), vec2(0.0));
        count_unfinished();
    }
}
