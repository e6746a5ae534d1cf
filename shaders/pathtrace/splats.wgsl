// Conversion of light path deposits to a sample of each pixel, and measurement of the picture's change.

struct Splats {
    /// Radiance of a fixed-point unit, in cd/m2; negative to subtract it.
    unit: f32,
    /// Index of the sample. Index 0 starts a new picture.
    sample_index: u32,
    /// Range of pixels.
    first: u32,
    end: u32,
}

/// Change of a group of pixels by the last sample.
struct Change {
    /// Sum of luminance changes over lit pixels, in cd/m2.
    sum: f32,
    /// Number of lit pixels.
    lit: u32,
    /// Number of pixels that received light.
    brighter: u32,
    padding: u32,
}

@group(0) @binding(0) var<uniform> splats: Splats;
@group(0) @binding(1) var<storage, read> deposits: array<u32>;
@group(0) @binding(2) var<storage, read_write> film_radiance: array<RadiancePixel>;
@group(0) @binding(3) var<storage, read_write> film_features: array<FeaturePixel>;
/// Changes of 64 pixels each.
@group(0) @binding(4) var<storage, read_write> changes: array<Change>;

/// Number of header words.
const DEPOSITS_HEADER: u32 = 4u;

var<workgroup> of_pixels: array<Change, 64>;

fn deposited_sum(word: u32) -> f32 {
    return (f32(deposits[word + 1u]) * 4294967296.0 + f32(deposits[word])) * splats.unit;
}

/// Returns the radiance that light paths deposited in a pixel.
fn deposited_radiance(pixel: u32) -> vec3<f32> {
    let word = DEPOSITS_HEADER + 6u * pixel;
    return vec3(deposited_sum(word), deposited_sum(word + 2u), deposited_sum(word + 4u));
}

@compute @workgroup_size(64)
fn add_splats(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let pixel = splats.first + thread_index(id, groups);
    if pixel >= splats.end {
        return;
    }
    let before = started(film_radiance[pixel], splats.sample_index == 0u);
    let now = with_sample(before, deposited_radiance(pixel));
    film_features[pixel] = noting_change(film_features[pixel], before, now);
    film_radiance[pixel] = now;
}

/// Shifts the mean by the deposits, without another sample.
@compute @workgroup_size(64)
fn shift_by_splats(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let pixel = splats.first + thread_index(id, groups);
    if pixel < splats.end {
        film_radiance[pixel].mean += deposited_radiance(pixel);
    }
}

@compute @workgroup_size(64)
fn sum_changes(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let pixel = splats.first + thread_index(id, groups);
    let is_there = pixel < splats.end;
    let index = min(pixel, splats.end - 1u);
    let is_lit = is_there && any(film_radiance[index].mean != vec3(0.0));
    let is_brighter = select(0u, film_features[index].tally & 1u, is_there);
    of_pixels[local] = Change(select(0.0, film_features[index].change, is_lit), u32(is_lit), is_brighter, 0u);
    workgroupBarrier();
    if local == 0u && is_there {
        var sum = of_pixels[0];
        for (var other = 1u; other < 64u; other++) {
            sum.sum += of_pixels[other].sum;
            sum.lit += of_pixels[other].lit;
            sum.brighter += of_pixels[other].brighter;
        }
        changes[pixel / 64u] = sum;
    }
}
