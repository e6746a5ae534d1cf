// Smoothing of light over similar neighbors; counterpart of `low_rank::Smoothing`.

/// Neighboring row with its weight.
struct WeightedRow {
    row: u32,
    weight: f32,
}

/// Number of rows, in x.
@group(0) @binding(0) var<uniform> rows: vec4<u32>;
/// Start of each row's neighbors, plus the total at the end.
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
@group(0) @binding(2) var<storage, read> neighbors: array<WeightedRow>;
/// Irradiance from patches, to be smoothed, and irradiance to add unsmoothed, in lux.
@group(0) @binding(3) var<storage, read> spread: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> beside: array<vec4<f32>>;
/// Total irradiance, in lux.
@group(0) @binding(5) var<storage, read_write> light: array<vec4<f32>>;

@compute @workgroup_size(64)
fn smooth_light(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = thread_index(id, groups);
    if row >= rows.x {
        return;
    }
    var sum = vec3(0.0);
    for (var place = offsets[row]; place < offsets[row + 1u]; place++) {
        let neighbor = neighbors[place];
        sum += spread[neighbor.row].xyz * neighbor.weight;
    }
    light[row] = vec4(sum + beside[row].xyz, 0.0);
}
