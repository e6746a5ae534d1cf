// Rays of one stage of a bounce, one per thread; counterpart of `radiosity::subscenes::counters`.

/// Rays of one channel of one element.
struct RaySource {
    /// Unit normal on the element's side.
    normal: vec3<f32>,
    /// First ray in the stage. The next source's rays follow.
    first_ray: u32,
    /// Three times the element index, plus the channel.
    number: u32,
    triangle: u32,
    /// Index of the element within the triangle.
    part: u32,
    /// Cell that contains the element's center.
    cell: u32,
}

/// Parameters of a dispatch.
struct Dispatch {
    /// Range of the stage's rays: first and end.
    first_ray: u32,
    end_ray: u32,
    /// Number of sources in the stage.
    sources: u32,
    seed: u32,
    /// Number of element counters. Two counters of lost rays follow.
    counters: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}

@group(1) @binding(0) var<uniform> batch: Dispatch;
@group(1) @binding(1) var<storage, read> sources: array<RaySource>;
/// Number of rays that arrived, per channel of each element; then escaped rays and absorbed rays.
@group(1) @binding(2) var<storage, read_write> counts: array<atomic<u32>>;

/// Binary logarithm of the maximum number of sources per stage.
const LOG_OF_MAX_SOURCES: u32 = 28u;
/// Offset of ray origins from the surface, relative to the largest coordinate, or to one meter.
const RAY_EPSILON: f32 = 1e-5;

@compute @workgroup_size(BLOCK)
fn shoot(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = batch.first_ray + thread_index(id, groups);
    if thread >= batch.end_ray {
        return;
    }
    // Fixed number of iterations, because no branch may depend on a uniform; see `scene.wgsl`.
    var below = 0u;
    var above = batch.sources;
    for (var halving = 0u; halving < LOG_OF_MAX_SOURCES; halving++) {
        let middle = (below + above) / 2u;
        let is_before = sources[middle].first_ray <= thread;
        below = select(below, middle, is_before);
        above = select(middle, above, is_before);
    }
    let source = sources[below];
    let u = sobol_point(hash2(batch.seed, source.number), thread - source.first_ray);
    let position = point_of_part(source.triangle, source.part, uniform_triangle(u.xy));
    let size = abs(position);
    let origin = position + source.normal * (RAY_EPSILON * max(max(size.x, size.y), max(size.z, 1.0)));
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
