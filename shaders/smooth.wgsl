// Light averaged over neighbours that see alike: the twin of `radiosity::low_rank::Smoothing`.

/// A row that counts, and how much.
struct Neighbour {
    row: u32,
    weight: f32,
}

/// How many rows there are.
@group(0) @binding(0) var<uniform> rows: vec4<u32>;
/// Where the neighbours of each row start, and their number.
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> neighbours: array<Neighbour>;
/// Irradiance that patches spread, and what is shown beside it as it is, lux.
@group(0) @binding(3) var<storage, read> spread: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> beside: array<vec4<f32>>;
/// All of it.
@group(0) @binding(5) var<storage, read_write> light: array<vec4<f32>>;

@compute @workgroup_size(64)
fn smooth_light(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = thread_index(id, groups);
    if row >= rows.x {
        return;
    }
    var sum = vec3(0.0);
    for (var place = offsets[row]; place < offsets[row + 1u]; place++) {
        let neighbour = neighbours[place];
        sum += spread[neighbour.row].xyz * neighbour.weight;
    }
    light[row] = vec4(sum + beside[row].xyz, 0.0);
}
