// Selection among many lights by their estimated contribution; counterpart of `lights::LightTree`.

/// Index in `tables` of the offset of the trees' nodes. The first node is the root of distant lights, the second the
/// root of nearby lights.
const LIGHT_TREE: u32 = 1u;
/// Words of a node: minimum corner of its box, strength, maximum corner, range, axis, cosines of spread and end angle,
/// child, and a flag for emitters.
const LIGHT_NODE: u32 = 16u;
const STRENGTH: u32 = 3u;
const RANGE: u32 = 7u;
const AXIS: u32 = 8u;
const SPREAD: u32 = 11u;
const END: u32 = 12u;
const BELOW: u32 = 13u;
const IS_EMITTER: u32 = 14u;
/// Upper bound on the number of levels.
const MAX_LEVELS: u32 = 33u;
/// Minimum squared distance to a box, relative to its squared half diagonal.
const FILLED: f32 = 0.1;
/// Minimum probability of each child.
const MIN_PROBABILITY: f32 = 0.02;

/// Selected emitter with its probability, which is zero if no emitter contributes.
struct DrawnEmitter {
    emitter: u32,
    probability: f32,
}

/// Returns the cosine of the difference of two angles in [0, pi], given their sines and cosines; one if the second is
/// larger.
fn cosine_of_rest(angle: vec2<f32>, other: vec2<f32>) -> f32 {
    return select(angle.y * other.y + angle.x * other.x, 1.0, angle.y > other.y);
}

/// Returns sine and cosine of an angle in [0, pi].
fn with_sine(cosine: f32) -> vec2<f32> {
    return vec2(sqrt(max(1.0 - cosine * cosine, 0.0)), cosine);
}

/// Estimates the illuminance that a node may bring to a point with a unit normal, in lux.
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
    // Angle that the box's bounding sphere subtends.
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

/// Returns the probability of the first child; negative if neither child contributes.
fn probability_of_left(node: u32, at: vec3<f32>, normal: vec3<f32>) -> f32 {
    let left = light_node(tables[node + BELOW]);
    let right = left + LIGHT_NODE;
    let a = expected_of_node(left, at, normal);
    let b = expected_of_node(right, at, normal);
    if a <= 0.0 || b <= 0.0 {
        return select(select(-1.0, 0.0, b > 0.0), 1.0, a > 0.0);
    }
    return clamp(a / (a + b), MIN_PROBABILITY, 1.0 - MIN_PROBABILITY);
}

/// Returns the offset of a node in `tables`.
fn light_node(index: u32) -> u32 {
    return tables[LIGHT_TREE] + LIGHT_NODE * index;
}

/// Selects an emitter below one of the two roots, for a point with a unit normal, by a number in [0, 1).
fn draw_emitter(root: u32, at: vec3<f32>, normal: vec3<f32>, choice: f32) -> DrawnEmitter {
    var node = light_node(root);
    var u = choice;
    var probability = select(0.0, 1.0, table_float(node + STRENGTH) > 0.0);
    for (var level = 0u; level < MAX_LEVELS; level++) {
        if tables[node + IS_EMITTER] == 1u {
            break;
        }
        let left = probability_of_left(node, at, normal);
        if left < 0.0 {
            return DrawnEmitter(0u, 0.0);
        }
        let goes_left = u < left;
        let taken = select(1.0 - left, left, goes_left);
        u = min(select(u - left, u, goes_left) / taken, 1.0 - 1.1920929e-7);
        probability *= taken;
        node = light_node(tables[node + BELOW] + u32(!goes_left));
    }
    return DrawnEmitter(tables[node + BELOW], probability);
}

/// Returns the probability with which `draw_emitter` selects an emitter.
fn probability_of_emitter(emitter: u32, at: vec3<f32>, normal: vec3<f32>) -> f32 {
    var trail = emitters[emitter].trail;
    var node = light_node(trail & 1u);
    trail >>= 1u;
    var probability = 1.0;
    for (var level = 0u; level < MAX_LEVELS; level++) {
        if tables[node + IS_EMITTER] == 1u {
            break;
        }
        let left = probability_of_left(node, at, normal);
        if left < 0.0 {
            return 0.0;
        }
        let goes_left = (trail & 1u) == 0u;
        probability *= select(1.0 - left, left, goes_left);
        node = light_node(tables[node + BELOW] + u32(!goes_left));
        trail >>= 1u;
    }
    return probability;
}
