// Indirect light from direct light by a product with packed matrices: the twin of `radiosity::low_rank`.

/// Rows of a packed matrix that share their tiles, and those that lie side by side.
const BLOCK: u32 = 32u;
const GROUP: u32 = 4u;

/// Columns of a tile.
const LANES: u32 = 8u;

/// What a value of one stands for before its row's scale.
const ONE: f32 = 65535.0;

/// One matrix or vector, and which of its channels count.
struct Product {
    /// Rows of the matrix, or patches to sum over.
    count: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
    /// One for channels that are added to.
    channels: vec4<f32>,
}

@group(0) @binding(0) var<uniform> settings: Product;
/// Where each block's tiles start, and their number; or where each patch's elements do.
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
/// The columns of each tile, by number.
@group(0) @binding(2) var<storage, read> tiles: array<u32>;
/// Eight values of sixteen bits for each row of each tile, in the order of `Packed`.
@group(0) @binding(3) var<storage, read> values: array<vec4<u32>>;
/// What the values of each row count in; or how much a patch's radiosity grows with each lux on an element.
@group(0) @binding(4) var<storage, read> weights: array<vec4<f32>>;
/// The vector for all channels, zeros behind its end.
@group(0) @binding(5) var<storage, read> vector: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> products: array<vec4<f32>>;

/// What is not finite counts as darkness.
fn is_finite(light: vec3<f32>) -> bool {
    let exponent = bitcast<vec3<u32>>(light) & vec3(0x7f800000u);
    return all(exponent != vec3(0x7f800000u));
}

var<workgroup> partial_sums: array<vec3<f32>, 64>;

/// V^T: for each patch the sum of its elements' weighted light, by one workgroup.
@compute @workgroup_size(64)
fn sum_patches(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let patch_index = min(group.x + group.y * groups.x, settings.count - 1u);
    let end = offsets[patch_index + 1u];
    var sum = vec3(0.0);
    for (var element = offsets[patch_index] + local; element < end; element += 64u) {
        sum += weights[element].xyz * vector[element].xyz;
    }
    partial_sums[local] = sum;
    workgroupBarrier();
    if local == 0u {
        var all_together = vec3(0.0);
        for (var other = 0u; other < 64u; other++) {
            all_together += partial_sums[other];
        }
        products[patch_index] = vec4(select(vec3(0.0), all_together, is_finite(all_together)), 0.0);
    }
}

/// Adds the product of a row with the vector to what is there.
@compute @workgroup_size(64)
fn add_product(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = thread_index(id, groups);
    if row >= settings.count {
        return;
    }
    let block = row / BLOCK;
    let within = row % BLOCK;
    let first = offsets[block];
    let last = offsets[block + 1u];
    var place = first * BLOCK + ((within / GROUP) * (last - first)) * GROUP + within % GROUP;
    var sum = vec3(0.0);
    for (var tile = first; tile < last; tile++) {
        let of_row = values[place];
        let column = tiles[tile] * LANES;
        for (var pair = 0u; pair < LANES / 2u; pair++) {
            let two = unpack2x16unorm(of_row[pair]);
            sum += two.x * vector[column + 2u * pair].xyz + two.y * vector[column + 2u * pair + 1u].xyz;
        }
        place += GROUP;
    }
    products[row] += vec4(sum * (ONE * weights[row].x), 0.0) * settings.channels;
}
