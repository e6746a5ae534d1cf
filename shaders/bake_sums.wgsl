// What surrounds the rays of a bake: sending them out, and adding up what they bring, the rays of an element in their
// order.

@group(0) @binding(0) var<uniform> batch: Batch;
@group(0) @binding(1) var<storage, read> items: array<Item>;
@group(0) @binding(2) var<storage, read_write> errands: array<Errand>;
/// Reflected radiosity of each element; then zeros for rays that bring nothing, and for those that do not count.
@group(0) @binding(3) var<storage, read> radiosities: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> tallies: array<Tally>;
/// What the rays of elements met: an element, or one of the two entries of `radiosities` behind them.
@group(0) @binding(5) var<storage, read_write> hits: array<u32>;
@group(0) @binding(6) var<storage, read_write> tinted_hits: array<TintedHit>;
/// Where shots land: for each element three sums in fixed point, the lower word first; then the number of rays.
@group(0) @binding(7) var<storage, read_write> landed: array<atomic<u32>>;

/// What the rays of an item brought together.
struct Tally {
    /// Direct irradiance: of aimed rays, or what gather rays met.
    direct: vec3<f32>,
    /// Gather rays that count.
    valid: u32,
    /// Indirect irradiance from where rays bounced; of aimed rays the squares of their luminance, in x.
    detour: vec3<f32>,
    /// Those that escaped or were absorbed.
    lost: u32,
    /// Indirect irradiance by the radiosities that were read.
    read: vec3<f32>,
    /// Those that started inside other geometry.
    buried: u32,
    /// Rays traced.
    rays: u32,
    /// Hits that were coloured on their way.
    tinted: u32,
    padding_0: u32,
    padding_1: u32,
}

/// A ray that was coloured before it hit an element.
struct TintedHit {
    element: u32,
    hit: u32,
    tint_r: f32,
    tint_g: f32,
    tint_b: f32,
}

const LOST: u32 = 0xfffffffeu;
const BURIED: u32 = 0xffffffffu;

/// No batch has more items than two to the power of this.
const LOG_OF_MOST_ITEMS: u32 = 17u;
/// Fixed-point one.
const ONE: f32 = 1073741824.0;

/// Finds the element of each ray.
@compute @workgroup_size(64)
fn send_out(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    // No loop or branch by the number of items: see `scene.wgsl`.
    var below = 0u;
    var above = batch.items;
    for (var halving = 0u; halving < LOG_OF_MOST_ITEMS; halving++) {
        let middle = (below + above) / 2u;
        let is_before = items[middle].first_ray <= thread;
        below = select(below, middle, is_before);
        above = select(middle, above, is_before);
    }
    let item = items[below];
    let index = item.first_index + thread - item.first_ray;
    errands[thread] = Errand(vec3(1.0), index, vec3(0.0), item.orders, vec3(0.0), item.element);
}

fn is_tinted(errand: Errand) -> bool {
    return errand.end < LOST && any(errand.tint != vec3(1.0));
}

/// Adds up gather rays whose hits are read at once.
@compute @workgroup_size(64)
fn collect_and_read(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        var tally = collected(thread);
        for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
            if errands[ray].end < LOST {
                tally.read += errands[ray].tint * radiosities[errands[ray].end].xyz;
            }
        }
        tallies[thread] = tally;
    }
}

/// Adds up gather rays, and stores what they hit.
@compute @workgroup_size(64)
fn collect_and_store(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        tallies[thread] = collected(thread);
        let brings_nothing = batch.elements;
        let item = items[thread];
        for (var ray = item.first_ray; ray < items[thread + 1u].first_ray; ray++) {
            var hit = errands[ray].end;
            if hit == BURIED {
                hit = brings_nothing + 1u;
            } else if hit == LOST || is_tinted(errands[ray]) {
                hit = brings_nothing;
            }
            hits[item.hits_at + ray - item.first_ray] = hit;
        }
    }
}

fn collected(thread: u32) -> Tally {
    var tally = Tally(vec3(0.0), 0u, vec3(0.0), 0u, vec3(0.0), 0u, 0u, 0u, 0u, 0u);
    for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
        let errand = errands[ray];
        tally.rays += errand.rays;
        if errand.end == BURIED {
            // A direction below the surface is left out of the mean; it does not make the point a buried one.
            tally.buried += select(0u, 1u, errand.rays > 0u);
            continue;
        }
        tally.valid++;
        tally.direct += errand.direct;
        tally.detour += errand.detour;
        tally.lost += select(0u, 1u, errand.end == LOST);
        tally.tinted += select(0u, 1u, is_tinted(errand));
    }
    return tally;
}

/// Lists the tinted hits of each item where the item says.
@compute @workgroup_size(64)
fn list_tinted(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        var place = items[thread].tinted_at;
        for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
            let errand = errands[ray];
            if is_tinted(errand) {
                tinted_hits[place] =
                    TintedHit(errand.element, errand.end, errand.tint.x, errand.tint.y, errand.tint.z);
                place++;
            }
        }
    }
}

/// Adds up samples of direct light.
@compute @workgroup_size(64)
fn collect_aimed(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread < batch.items {
        var tally = Tally(vec3(0.0), 0u, vec3(0.0), 0u, vec3(0.0), 0u, 0u, 0u, 0u, 0u);
        for (var ray = items[thread].first_ray; ray < items[thread + 1u].first_ray; ray++) {
            let light = errands[ray].direct;
            let brightness = luminance(light);
            tally.direct += light;
            tally.detour.x += brightness * brightness;
            tally.rays += errands[ray].rays;
        }
        tallies[thread] = tally;
    }
}

/// Adds the power of shots to the elements where they ended. `radiosities` are the colours of the elements that they come
/// from; a colour's channels add up to three, so no number of rays brings more than two words hold.
@compute @workgroup_size(64)
fn land_shots(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= batch.rays {
        return;
    }
    let errand = errands[thread];
    land(6u * batch.elements, errand.rays);
    if errand.end >= LOST {
        return;
    }
    let share = vec3<u32>(round(radiosities[errand.element].xyz * errand.tint * ONE));
    land(6u * errand.end, share.x);
    land(6u * errand.end + 2u, share.y);
    land(6u * errand.end + 4u, share.z);
}
