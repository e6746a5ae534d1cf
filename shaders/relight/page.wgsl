// Texels of a lightmap page from the light of elements; counterpart of `relight::texel_receivers`.

/// Size of a page and of its buffer.
struct PageSize {
    texels: u32,
    columns: u32,
    /// Words from one row of the buffer to the next.
    stride: u32,
    padding: u32,
}

/// Row that contributes to a texel, with its weight.
struct WeightedRow {
    row: u32,
    weight: f32,
}

/// Start of a list of sources, and the texel that has it for its own. Texels of the margin share it.
struct ListStart {
    start: u32,
    home: u32,
}

const ONE_OVER_PI: f32 = 0.31830988618379067;

@group(0) @binding(0) var<uniform> page: PageSize;
/// List of sources for each texel.
@group(0) @binding(1) var<storage, read> lists: array<u32>;
/// All lists, plus the total at the end.
@group(0) @binding(2) var<storage, read> starts: array<ListStart>;
@group(0) @binding(3) var<storage, read> sources: array<WeightedRow>;
/// Change of each element's irradiance since the bake, in lux.
@group(0) @binding(4) var<storage, read> light: array<vec4<f32>>;
/// Baked irradiance divided by pi, three numbers per texel.
@group(0) @binding(5) var<storage, read> baked: array<f32>;
@group(0) @binding(6) var<storage, read_write> picture: array<u32>;

fn baked_light(texel: u32) -> vec3<f32> {
    return vec3(baked[3u * texel], baked[3u * texel + 1u], baked[3u * texel + 2u]);
}

fn shown(texel: u32) -> vec3<f32> {
    let list = lists[texel];
    let place = starts[list];
    var mean = vec3(0.0);
    for (var at = place.start; at < starts[list + 1u].start; at++) {
        let source = sources[at];
        mean += light[source.row].xyz * source.weight;
    }
    return with_change(baked_light(texel), baked_light(place.home), mean * ONE_OVER_PI);
}

/// Texel after the texel that it belongs to has changed. A margin gains as much light, and loses the same fraction.
fn with_change(own: vec3<f32>, home: vec3<f32>, change: vec3<f32>) -> vec3<f32> {
    let left = select(vec3(0.0), max(home + change, vec3(0.0)) / home, home > vec3(0.0));
    return own * select(vec3(1.0), left, change < vec3(0.0)) + max(change, vec3(0.0));
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
