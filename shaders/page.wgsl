// From light of elements to the texels of a page: the twin of `relight::texels`.

/// A page's size, and that of its picture.
struct Page {
    texels: u32,
    columns: u32,
    /// Words from one row of the picture to the next.
    stride: u32,
    padding: u32,
}

/// A row that a texel shows some of.
struct Source {
    row: u32,
    share: f32,
}

const ONE_OVER_PI: f32 = 0.31830988618379067;

@group(0) @binding(0) var<uniform> page: Page;
/// Which list of rows each texel shows.
@group(0) @binding(1) var<storage, read> lists: array<u32>;
/// Where each list starts, and the number of all.
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> sources: array<Source>;
/// Irradiance of all elements that has come and gone, lux.
@group(0) @binding(4) var<storage, read> light: array<vec4<f32>>;
/// Irradiance / pi as it was baked, three numbers a texel.
@group(0) @binding(5) var<storage, read> baked: array<f32>;
@group(0) @binding(6) var<storage, read_write> picture: array<u32>;

fn shown(texel: u32) -> vec3<f32> {
    let list = lists[texel];
    var mean = vec3(0.0);
    for (var place = offsets[list]; place < offsets[list + 1u]; place++) {
        let source = sources[place];
        mean += light[source.row].xyz * source.share;
    }
    return vec3(baked[3u * texel], baked[3u * texel + 1u], baked[3u * texel + 2u]) + mean * ONE_OVER_PI;
}

@compute @workgroup_size(64)
fn draw_half_floats(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let texel = thread_index(id, groups);
    if texel >= page.texels {
        return;
    }
    let words = half_floats(shown(texel));
    let place = texel / page.columns * page.stride + 2u * (texel % page.columns);
    picture[place] = words.x;
    picture[place + 1u] = words.y;
}

@compute @workgroup_size(64)
fn draw_shared_exponents(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let texel = thread_index(id, groups);
    if texel >= page.texels {
        return;
    }
    picture[texel / page.columns * page.stride + texel % page.columns] = shared_exponent(shown(texel));
}
