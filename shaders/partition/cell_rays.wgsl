// Tracing of rays from a buffer through the cells of a partition, for tests and benchmarks.

/// Ray with the cell that it starts in.
struct CellRay {
    ray: Ray,
    /// Index of the cell; `NONE` for a ray that misses the scene.
    cell: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

/// Hit of a ray, and the work done to find the hit.
struct CellAnswer {
    t: f32,
    triangle: u32,
    barycentric: vec2<f32>,
    cells: u32,
    surfaces: u32,
    borders: u32,
    /// Element at the hit; `NONE` without a hit, or on a back side without elements.
    element: u32,
}

@group(1) @binding(0) var<uniform> ray_count: vec4<u32>;
@group(1) @binding(1) var<storage, read> rays: array<CellRay>;
@group(1) @binding(2) var<storage, read_write> answers: array<CellAnswer>;

@compute @workgroup_size(BLOCK)
fn trace_cells(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = thread_index(id, groups);
    if index >= ray_count.x {
        return;
    }
    var answer = CellAnswer(0.0, NONE, vec2(0.0), 0u, 0u, 0u, NONE);
    if rays[index].cell != NONE {
        let hit = closest_in_cells(rays[index].ray, rays[index].cell);
        answer = CellAnswer(hit.t, hit.triangle, hit.barycentric, hit.cells, hit.surfaces, hit.borders, NONE);
        if hit.triangle != NONE {
            answer.element = element_at(hit);
        }
    }
    answers[index] = answer;
}
