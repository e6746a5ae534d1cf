// Conversion of a bounce's counts to power for the next bounce; counterpart of `CpuCounters::update`.

struct Update {
    /// Power of a ray, in lumens.
    power_of_ray: f32,
    elements: u32,
    padding_0: u32,
    padding_1: u32,
}

@group(0) @binding(0) var<uniform> settings: Update;
@group(0) @binding(1) var<storage, read> counts: array<u32>;
@group(0) @binding(2) var<storage, read> reflectances: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> unshot: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> power: array<vec4<f32>>;

@compute @workgroup_size(64)
fn update(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let element = thread_index(id, groups);
    if element >= settings.elements {
        return;
    }
    let first = 3u * element;
    let arrived = vec3<f32>(vec3(counts[first], counts[first + 1u], counts[first + 2u]));
    let received = vec4(reflectances[element].xyz * (settings.power_of_ray * arrived), 0.0);
    unshot[element] = received;
    power[element] += received;
}
