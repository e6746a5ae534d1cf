// Rays from a buffer, for tests, benches and `radiosity rays`.

/// What a ray met.
struct RayAnswer {
    /// Distance along the ray; for any-hit rays how much of the brightest channel gets through.
    t: f32,
    /// The triangle in the tree, or `NONE`.
    triangle: u32,
    /// Weights of the triangle's second and third corner.
    barycentric: vec2<f32>,
}

/// How many rays there are.
@group(1) @binding(0) var<uniform> ray_count: vec4<u32>;
@group(1) @binding(1) var<storage, read> rays: array<Ray>;
@group(1) @binding(2) var<storage, read_write> answers: array<RayAnswer>;

/// The nearest triangle of each ray.
@compute @workgroup_size(64)
fn trace_closest(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = thread_index(id, groups);
    if index < ray_count.x {
        let hit = closest_hit(rays[index]);
        answers[index] = RayAnswer(hit.t, hit.triangle, hit.barycentric);
    }
}

/// How much light gets along each ray.
@compute @workgroup_size(64)
fn trace_any(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = thread_index(id, groups);
    if index < ray_count.x {
        let through = largest(light_through(rays[index]));
        answers[index] = RayAnswer(through, select(0u, NONE, through > 0.0), vec2(0.0));
    }
}
