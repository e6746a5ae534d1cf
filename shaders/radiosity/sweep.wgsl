// Iteration of radiosities over stored hits; counterpart of `radiosity::cpu::iterate`.

/// Element range of a chunk of stored hits, and extrapolation.
struct Sweep {
    /// First element.
    first: u32,
    /// Number of elements.
    count: u32,
    padding_0: u32,
    padding_1: u32,
    /// Factor of the last change to add, per channel.
    series: vec4<f32>,
}

/// Stored hit with a tint.
struct Tinted {
    tint: vec3<f32>,
    hit: u32,
}

@group(0) @binding(0) var<uniform> settings: Sweep;
/// Radiosity of each element, with fourth component 1. Two entries follow: black, and one that does not count.
@group(0) @binding(1) var<storage, read> radiosities: array<vec4<f32>>;
/// Start of each element's hits and tinted hits, plus the totals at the end.
@group(0) @binding(2) var<storage, read> offsets: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> hits: array<u32>;
@group(0) @binding(4) var<storage, read> tinted: array<Tinted>;
/// Sum of radiosities at each element's hits, and number of hits that count; later the next radiosities.
@group(0) @binding(5) var<storage, read_write> sums: array<vec4<f32>>;
/// Reflected direct light of each element, with the weight of its changes; then its reflectance.
@group(0) @binding(6) var<storage, read> sources: array<vec4<f32>>;
/// Weighted change of radiosities in each workgroup, and their sum.
@group(0) @binding(7) var<storage, read_write> changes: array<vec4<f32>>;

/// Adds the radiosities at the stored hits of a chunk.
@compute @workgroup_size(64)
fn add_hits(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let thread = thread_index(id, groups);
    if thread >= settings.count {
        return;
    }
    let start = offsets[thread];
    let end = offsets[thread + 1u];
    var sum = vec4(0.0);
    for (var hit = start.x; hit < end.x; hit++) {
        sum += radiosities[hits[hit]];
    }
    for (var index = start.y; index < end.y; index++) {
        sum += vec4(tinted[index].tint * radiosities[tinted[index].hit].xyz, 0.0);
    }
    sums[settings.first + thread] += sum;
}

var<workgroup> group_change: array<vec3<f32>, 64>;
var<workgroup> group_total: array<vec3<f32>, 64>;

/// Computes the next radiosities from the sums, and their change.
@compute @workgroup_size(64)
fn reflect_sums(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let element = thread_index(id, groups);
    var change = vec3(0.0);
    var total = vec3(0.0);
    if element < settings.count {
        let source = sources[2u * element];
        let sum = sums[element];
        let radiosity = source.xyz + sources[2u * element + 1u].xyz * (sum.xyz / max(sum.w, 1.0));
        change = abs(radiosity - radiosities[element].xyz) * source.w;
        total = radiosity * source.w;
        sums[element] = vec4(radiosity, 1.0);
    }
    group_change[local] = change;
    group_total[local] = total;
    workgroupBarrier();
    if local == 0u {
        var changed = vec3(0.0);
        var all_together = vec3(0.0);
        for (var other = 0u; other < 64u; other++) {
            changed += group_change[other];
            all_together += group_total[other];
        }
        let group = element / 64u;
        changes[2u * group] = vec4(changed, 0.0);
        changes[2u * group + 1u] = vec4(all_together, 0.0);
    }
}

/// Extrapolates: adds a multiple of the last change to the next radiosities.
@compute @workgroup_size(64)
fn add_series(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let element = thread_index(id, groups);
    if element < settings.count {
        // Overshooting must not make a radiosity negative.
        sums[element] = max(sums[element] + (sums[element] - radiosities[element]) * settings.series, vec4(0.0));
    }
}
