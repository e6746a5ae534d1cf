// Choosing among many lights by what they may bring to a point: the twin of `scene::LightTree`.

/// Where in `tables` it is told where the nodes of the trees start: first the root of all light from far away, then that of
/// what is near.
const LIGHT_TREE: u32 = 1u;
/// Words of a node: a corner of its box, strength, the opposite corner, range, axis, cosines of spread and end, what is below,
/// and whether that is an emitter.
const LIGHT_NODE: u32 = 16u;
const STRENGTH: u32 = 3u;
const RANGE: u32 = 7u;
const AXIS: u32 = 8u;
const SPREAD: u32 = 11u;
const END: u32 = 12u;
const BELOW: u32 = 13u;
const IS_EMITTER: u32 = 14u;
/// More levels than any tree has.
const MOST_LEVELS: u32 = 33u;
/// The squared distance that a box counts as at least, in parts of its squared half diagonal.
const FILLED: f32 = 0.1;
/// The least chance of each side.
const LEAST: f32 = 0.02;

/// An emitter that was drawn, and with what chance; the chance is zero where none brings anything.
struct DrawnEmitter {
    emitter: u32,
    chance: f32,
}

/// The cosine of the difference of two angles in half a circle, by their sines and cosines; one where the second is larger.
fn cosine_of_rest(angle: vec2<f32>, other: vec2<f32>) -> f32 {
    return select(angle.y * other.y + angle.x * other.x, 1.0, angle.y > other.y);
}

/// Sine and cosine of an angle in half a circle.
fn with_sine(cosine: f32) -> vec2<f32> {
    return vec2(sqrt(max(1.0 - cosine * cosine, 0.0)), cosine);
}

/// About what illuminance in lux a node may bring to a point with a unit normal.
fn expected_of_node(node: u32, at: vec3<f32>, normal: vec3<f32>) -> f32 {
    let low = table_vec3(node);
    let high = table_vec3(node + 4u);
    let strength = table_float(node + STRENGTH);
    let axis = table_vec3(node + AXIS);
    let spread = with_sine(table_float(node + SPREAD));
    if high.x < low.x {
        return strength * max(cosine_of_rest(with_sine(-dot(normal, axis)), spread), 0.0);
    }
    let half = 0.5 * (high - low);
    let offset = low + half - at;
    let distance_squared = dot(offset, offset);
    let radius_squared = dot(half, half);
    let toward = offset * inverseSqrt(max(distance_squared, 1e-30));
    // The angle that the sphere around the box spans.
    let sine_squared = radius_squared / max(distance_squared, 1e-30);
    let outside = vec2(sqrt(sine_squared), sqrt(max(1.0 - sine_squared, 0.0)));
    let span = select(outside, vec2(0.0, -1.0), distance_squared <= radius_squared);
    let facing = cosine_of_rest(with_sine(dot(normal, toward)), span);
    let leaving = cosine_of_rest(with_sine(cosine_of_rest(with_sine(-dot(toward, axis)), spread)), span);
    if facing <= 0.0 || leaving < table_float(node + END) || leaving <= 0.0 {
        return 0.0;
    }
    let nearest = at - clamp(at, low, high);
    let nearest_squared = dot(nearest, nearest);
    let fading = range_window(nearest_squared, table_float(node + RANGE));
    return strength * facing * leaving * fading / max(max(nearest_squared, FILLED * radius_squared), NEAREST_SQUARED);
}

/// With what chance the first of the two nodes below is taken; negative where neither brings anything.
fn chance_of_left(node: u32, at: vec3<f32>, normal: vec3<f32>) -> f32 {
    let left = light_node(tables[node + BELOW]);
    let right = left + LIGHT_NODE;
    let a = expected_of_node(left, at, normal);
    let b = expected_of_node(right, at, normal);
    if a <= 0.0 || b <= 0.0 {
        return select(select(-1.0, 0.0, b > 0.0), 1.0, a > 0.0);
    }
    return clamp(a / (a + b), LEAST, 1.0 - LEAST);
}

/// Where in `tables` a node is.
fn light_node(index: u32) -> u32 {
    return tables[LIGHT_TREE] + LIGHT_NODE * index;
}

/// Draws an emitter below one of the two roots for a point with a unit normal by a number in [0, 1).
fn draw_emitter(root: u32, at: vec3<f32>, normal: vec3<f32>, choice: f32) -> DrawnEmitter {
    var node = light_node(root);
    var u = choice;
    var chance = select(0.0, 1.0, table_float(node + STRENGTH) > 0.0);
    for (var level = 0u; level < MOST_LEVELS; level++) {
        if tables[node + IS_EMITTER] == 1u {
            break;
        }
        let left = chance_of_left(node, at, normal);
        if left < 0.0 {
            return DrawnEmitter(0u, 0.0);
        }
        let goes_left = u < left;
        let taken = select(1.0 - left, left, goes_left);
        u = min(select(u - left, u, goes_left) / taken, 1.0 - 1.1920929e-7);
        chance *= taken;
        node = light_node(tables[node + BELOW] + u32(!goes_left));
    }
    return DrawnEmitter(tables[node + BELOW], chance);
}

/// With what chance `draw_emitter` draws an emitter.
fn chance_of_emitter(emitter: u32, at: vec3<f32>, normal: vec3<f32>) -> f32 {
    var trail = emitters[emitter].trail;
    var node = light_node(trail & 1u);
    trail >>= 1u;
    var chance = 1.0;
    for (var level = 0u; level < MOST_LEVELS; level++) {
        if tables[node + IS_EMITTER] == 1u {
            break;
        }
        let left = chance_of_left(node, at, normal);
        if left < 0.0 {
            return 0.0;
        }
        let goes_left = (trail & 1u) == 0u;
        chance *= select(1.0 - left, left, goes_left);
        node = light_node(tables[node + BELOW] + u32(!goes_left));
        trail >>= 1u;
    }
    return chance;
}
