// Kernels before and after the rays of a bake: assignment of rays to elements, and summation. Sums add the rays of an
// element in order, so results do not depend on scheduling.

@group(0) @binding(0) var<uniform> batch: Batch;
@group(0) @binding(1) var<storage, read> items: array<Item>;
@group(0) @binding(2) var<storage, read_write> ray_tasks: array<RayTask>;
/// Reflected radiosity of each element. Two more entries follow: zero for rays that bring nothing, and zero for rays
/// that do not count.
@group(0) @binding(3) var<storage, read> radiosities: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> tallies: array<Tally>;
/// Hit of each ray: an element, or one of the two extra entries of `radiosities`.
@group(0) @binding(5) var<storage, read_write> hits: array<u32>;
@group(0) @binding(6) var<storage, read_write> tinted_hits: array<TintedHit>;
/// Deposits of shots: for each element three fixed-point sums, lower word first; then the number of rays.
@group(0) @binding(7) var<storage, read_write> deposits: array<atomic<u32>>;

/// Sums over the rays of an item.
struct Tally {
    /// Direct irradiance: of shadow rays, or of emitters that gather rays hit, in lux.
    direct: vec3<f32>,
    /// Number of gather rays that count.
    valid: u32,
    /// Indirect irradiance collected at bounces. For shadow rays, x holds the sum of squared luminances.
    continuation: vec3<f32>,
    /// Number of rays that escaped or were absorbed.
    lost: u32,
    /// Indirect irradiance from the radiosities read at hits, in lux.
    read: vec3<f32>,
    /// Number of rays that started inside a solid.
    inside: u32,
    /// Number of rays traced.
    rays: u32,
    /// Number of hits with a tint.
    tinted: u32,
    padding_0: u32,
    padding_1: u32,
}

/// Hit of a ray that was tinted on its way.
struct TintedHit {
    element: u32,
    hit: u32,
    tint: array<f32, 3>,
}

const LOST: u32 = 0xfffffffeu;
const INSIDE: u32 = 0xffffffffu;

/// Binary logarithm of the maximum number of items per batch.
const LOG_OF_MAX_ITEMS: u32 = 17u;
/// Fixed-point one.
const ONE: f32 = 1073741824.0;

/// Assigns each ray of the batch to its element.
@compute @workgroup_size(64)
fn send_out(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    // Fixed number of iterations, because no branch may depend on a uniform; see `scene.wgsl`.
    var below = 0u;
    var above = batch.items;
    for (var halving = 0u; halving < LOG_OF_MAX_ITEMS; halving++) {
        let middle = (below + above) / 2u;
        let is_before = items[middle].first_ray <= thread;
        below = select(below, middle, is_before);
        above = select(middle, above, is_before);
    }
    let item = items[below];
    let index = item.first_index + thread - item.first_ray;
    ray_tasks[thread] = RayTask(vec3(1.0), index, vec3(0.0), item.flags, vec3(0.0), item.element);
}

fn is_tinted(ray_task: RayTask) -> bool {
    return ray_task.end < LOST && any(ray_task.tint != vec3(1.0));
}

/// Sums gather rays that read radiosities at their hits.
@compute @workgroup_size(64)
fn collect_and_read(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        var tally = collected(thread);
        for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
            if ray_tasks[ray].end < LOST {
                tally.read += ray_tasks[ray].tint * radiosities[ray_tasks[ray].end].xyz;
            }
        }
        tallies[thread] = tally;
    }
}

/// Sums gather rays, and stores their hits.
@compute @workgroup_size(64)
fn collect_and_store(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        tallies[thread] = collected(thread);
        let brings_nothing = batch.elements;
        let item = items[thread];
        for (var ray = item.first_ray; ray < items[thread + 1u].first_ray; ray++) {
            var hit = ray_tasks[ray].end;
            if hit == INSIDE {
                hit = brings_nothing + 1u;
            } else if hit == LOST || is_tinted(ray_tasks[ray]) {
                hit = brings_nothing;
            }
            hits[item.hits_at + ray - item.first_ray] = hit;
        }
    }
}

fn collected(thread: u32) -> Tally {
    var tally = Tally(vec3(0.0), 0u, vec3(0.0), 0u, vec3(0.0), 0u, 0u, 0u, 0u, 0u);
    for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
        let ray_task = ray_tasks[ray];
        tally.rays += ray_task.rays;
        if ray_task.end == INSIDE {
            // A direction below the surface is excluded from the mean, but does not mark the point as inside a solid.
            tally.inside += select(0u, 1u, ray_task.rays > 0u);
            continue;
        }
        tally.valid++;
        tally.direct += ray_task.direct;
        tally.continuation += ray_task.continuation;
        tally.lost += select(0u, 1u, ray_task.end == LOST);
        tally.tinted += select(0u, 1u, is_tinted(ray_task));
    }
    return tally;
}

/// Writes the tinted hits of each item to the item's range.
@compute @workgroup_size(64)
fn list_tinted(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        var place = items[thread].tinted_at;
        for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
            let ray_task = ray_tasks[ray];
            if is_tinted(ray_task) {
                tinted_hits[place] =
                    TintedHit(ray_task.element, ray_task.end, array(ray_task.tint.x, ray_task.tint.y, ray_task.tint.z));
                place++;
            }
        }
    }
}

/// Sums samples of direct light.
@compute @workgroup_size(64)
fn collect_light_samples(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        var tally = Tally(vec3(0.0), 0u, vec3(0.0), 0u, vec3(0.0), 0u, 0u, 0u, 0u, 0u);
        for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
            let light = ray_tasks[ray].direct;
            let brightness = luminance(light);
            tally.direct += light;
            tally.continuation.x += brightness * brightness;
            tally.rays += ray_tasks[ray].rays;
        }
        tallies[thread] = tally;
    }
}

/// Deposits the power of shots at the elements they hit. `radiosities` holds the colors of the emitting elements. The
/// channels of a color sum to three, so two words never overflow.
@compute @workgroup_size(64)
fn deposit_shots(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let ray_task = ray_tasks[thread];
    deposit(6u * batch.elements, ray_task.rays);
    if ray_task.end >= LOST {
        return;
    }
    let share = vec3<u32>(round(radiosities[ray_task.element].xyz * ray_task.tint * ONE));
    deposit(6u * ray_task.end, share.x);
    deposit(6u * ray_task.end + 2u, share.y);
    deposit(6u * ray_task.end + 4u, share.z);
}
