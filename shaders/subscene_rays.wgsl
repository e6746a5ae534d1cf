// The rays of a stage of a bounce, one a thread: the twin of `radiosity::subscenes::counters`.

/// The rays of one channel of one element.
struct Source {
    /// The unit normal of the element's side.
    normal: vec3<f32>,
    /// The first of its rays in the stage; those of the next source follow.
    first_ray: u32,
    /// Three times the number of the element, and that of the channel.
    number: u32,
    triangle: u32,
    /// Which part of the triangle the element is.
    part: u32,
    /// The cell that holds the element's middle.
    cell: u32,
}

/// What concerns all rays of a dispatch.
struct Dispatch {
    /// The first ray of the stage that is in it, and the one behind its last.
    first_ray: u32,
    end_ray: u32,
    /// Sources in the stage.
    sources: u32,
    seed: u32,
    /// Counters of elements; those of what was lost stand behind them.
    counters: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

@group(1) @binding(0) var<uniform> batch: Dispatch;
@group(1) @binding(1) var<storage, read> sources: array<Source>;
/// Rays that arrived, for each channel of each element; then those that escaped, and those that were absorbed.
@group(1) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

/// No stage has more sources than two to the power of this.
const LOG_OF_MOST_SOURCES: u32 = 28u;
/// How far above its element a ray begins, in parts of the largest coordinate, or of a metre.
const LIFT: f32 = 1e-5;

@compute @workgroup_size(64)
fn shoot(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = batch.first_ray + thread_index(id, groups);
    if thread >= batch.end_ray {
        return;
    }
    // No loop or branch by the number of sources: see `scene.wgsl`.
    var below = 0u;
    var above = batch.sources;
    for (var halving = 0u; halving < LOG_OF_MOST_SOURCES; halving++) {
        let middle = (below + above) / 2u;
        let is_before = sources[middle].first_ray <= thread;
        below = select(below, middle, is_before);
        above = select(middle, above, is_before);
    }
    let source = sources[below];
    let u = sobol_point(hash2(batch.seed, source.number), thread - source.first_ray);
    let position = point_of_part(source.triangle, source.part, uniform_triangle(u.xy));
    let size = abs(position);
    let origin = position + source.normal * (LIFT * max(max(size.x, size.y), max(size.z, 1.0)));
    let direction = from_local(source.normal, cosine_hemisphere(u.zw));
    let middle = point_of_part(source.triangle, source.part, vec2(1.0 / 3.0));
    let cell = cell_towards(middle, origin, source.cell);
    let hit = closest_in_cells(Ray(origin, 0.0, direction, FARTHEST), cell);
    var counter = batch.counters;
    if hit.triangle != NONE {
        let element = element_at(hit);
        counter = select(3u * element + source.number % 3u, batch.counters + 1u, element == NONE);
    }
    atomicAdd(&counts[counter], 1u);
}
