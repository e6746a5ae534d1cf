// Indirect light from direct light, by products with packed matrices; counterpart of `low_rank`.

/// Number of rows that share tiles, and number of interleaved rows.
const BLOCK: u32 = 32u;
const GROUP: u32 = 4u;

/// Number of columns of a tile.
const LANES: u32 = 8u;

/// Scale of unpacked values, before the scale of each row.
const ONE: f32 = 65535.0;

/// Parameters of a product.
struct Product {
    /// Number of rows of the matrix, or of patches to sum.
    count: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
    /// One for each channel to add.
    channels: vec4<f32>,
}

@group(0) @binding(0) var<uniform> settings: Product;
/// Tile ranges of the blocks, or element ranges of the patches, with the total at the end.
@group(0) @binding(1) var<storage, read> offsets: array<u32>;
/// Column group of each tile.
@group(0) @binding(2) var<storage, read> tiles: array<u32>;
/// Eight 16-bit values for each row of each tile, in the order of `Packed`.
@group(0) @binding(3) var<storage, read> values: array<vec4<u32>>;
/// Scale of each row; or the radiosity of a patch per lux on each element.
@group(0) @binding(4) var<storage, read> weights: array<vec4<f32>>;
/// Input vector of all channels, padded with zeros.
@group(0) @binding(5) var<storage, read> vector: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> products: array<vec4<f32>>;

/// Returns true if all channels are finite. Other values count as zero.
fn is_finite(light: vec3<f32>) -> bool {
    let exponent = bitcast<vec3<u32>>(light) & vec3(0x7f800000u);
    return all(exponent != vec3(0x7f800000u));
}

var<workgroup> partial_sums: array<vec3<f32>, 64>;

/// Computes V^T: the weighted sum of each patch's elements, with one workgroup per patch.
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

/// Adds the product of a row and the vector to the output.
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
