// Texels of a lightmap page from the light of elements; counterpart of `relight::texel_receivers`.

/// Size of a page and of its buffer.
struct Page {
    texels: u32,
    columns: u32,
    /// Words from one row of the buffer to the next.
    stride: u32,
    padding: u32,
}

/// Weighted row that contributes to a texel.
struct Source {
    row: u32,
    share: f32,
}

const ONE_OVER_PI: f32 = 0.31830988618379067;

@group(0) @binding(0) var<uniform> page: Page;
/// List of sources for each texel.
@group(0) @binding(1) var<storage, read> lists: array<u32>;
/// Start of each list, plus the total at the end.
@group(0) @binding(2) var<storage, read> offsets: array<u32>;
@group(0) @binding(3) var<storage, read> sources: array<Source>;
/// Change of each element's irradiance since the bake, in lux.
@group(0) @binding(4) var<storage, read> light: array<vec4<f32>>;
/// Baked irradiance divided by pi, three numbers per texel.
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
