// Selection probabilities of emitters for direct light samples; counterpart of `lights::LightPmf`.

/// Receiver of direct light.
struct Place {
    /// Center of the receiver, in meters.
    at: vec3<f32>,
    /// Radius of the receiver around its center, in meters.
    radius: f32,
    /// Unit normal of the receiver.
    normal: vec3<f32>,
}

/// Parameters that determine the selection probability of each emitter.
struct LightPmf {
    place: Place,
    /// Selection probability per lux of expected illuminance.
    scale: f32,
    /// Minimum selection probability; one if all emitters are visited.
    min_probability: f32,
    /// Emitters with probability one, or `NONE`.
    certain: vec4<u32>,
}

/// Facing factor of an emitter behind the receiver.
const MIN_FACING: f32 = 0.1;
/// Minimum falloff outside the cone of a spot light.
const MIN_IN_CONE: f32 = 0.05;
/// Minimum selection probability, relative to uniform selection.
const MIN_SHARE: f32 = 0.1;
/// Words per emitter in the expectations section: bounding box of a surface, luminous flux, and area of its sides.
const EXPECTATION_WORDS: u32 = 8u;

fn facing(place: Place, toward: vec3<f32>) -> f32 {
    return MIN_FACING + (1.0 - MIN_FACING) * max(dot(place.normal, toward), 0.0);
}

/// Returns the squared distance to a point, and the receiver's facing factor.
fn view_of(place: Place, point: vec3<f32>) -> vec2<f32> {
    let offset = point - place.at;
    let distance_squared = dot(offset, offset);
    let nearest = max(place.radius * place.radius, NEAREST_SQUARED);
    if distance_squared > nearest {
        return vec2(distance_squared, facing(place, offset * inverseSqrt(distance_squared)));
    }
    return vec2(nearest, 1.0);
}

fn expected_of_diffuse(power: f32, area: f32, view: vec2<f32>) -> f32 {
    return power / PI * view.y / (view.x + area / PI);
}

/// Estimates the unshadowed illuminance of a receiver by an emitter, in lux.
fn expected(emitter: u32, place: Place) -> f32 {
    let light = emitters[emitter];
    let more = element_tables[EXPECTATIONS] + EXPECTATION_WORDS * emitter;
    switch light.kind {
        case SUN: {
            return luminance(light.strength) * facing(place, -light.axis);
        }
        case RECTANGLE: {
            let offset = place.at - light.place;
            let along = clamp(dot(offset, light.width) / dot(light.width, light.width), 0.0, 1.0);
            let across = clamp(dot(offset, light.height) / dot(light.height, light.height), 0.0, 1.0);
            let nearest = light.place + light.width * along + light.height * across;
            let area = length(light.width) * length(light.height);
            return expected_of_diffuse(PI * luminance(light.strength) * area, area, view_of(place, nearest));
        }
        case SURFACE: {
            let nearest = clamp(place.at, element_vec3(more), element_vec3(more + 3u));
            return expected_of_diffuse(element_float(more + 6u), element_float(more + 7u), view_of(place, nearest));
        }
        case ENVIRONMENT: {
            return 0.25 * element_float(more + 6u);
        }
        default: {
            let view = view_of(place, light.place);
            let nearest = max(sqrt(view.x) - place.radius, 0.0);
            let ratio = nearest * nearest / (light.range * light.range);
            let window = clamp(1.0 - ratio * ratio, 0.0, 1.0);
            var falloff = 1.0;
            if light.kind == SPOT {
                let offset = place.at - light.place;
                let square = dot(offset, offset);
                let toward = select(light.axis, offset * inverseSqrt(max(square, 1e-37)), square > 1e-37);
                let depth = max(light.inner_cosine - light.outer_cosine, 1e-4);
                let ramp = clamp((dot(toward, light.axis) - light.outer_cosine) / depth, 0.0, 1.0);
                falloff = max(ramp * ramp, MIN_IN_CONE);
            }
            return luminance(light.strength) * view.y * window * window / view.x * falloff;
        }
    }
}

fn is_certain(light_pmf: LightPmf, emitter: u32) -> bool {
    return any(light_pmf.certain == vec4(emitter));
}

/// Computes selection probabilities for a receiver, so that a sample visits about `visits` emitters, at most four.
fn light_pmf_at(place: Place, visits: u32) -> LightPmf {
    let count = element_tables[EMITTER_COUNT];
    var light_pmf = LightPmf(place, 0.0, 1.0, vec4(NONE));
    if count <= visits {
        return light_pmf;
    }
    light_pmf.min_probability = MIN_SHARE * f32(visits) / f32(count);
    var certain = 0u;
    // Each round finds at least one more certain emitter, or is the last.
    for (var round = 0u; round < 5u; round++) {
        var rest = 0.0;
        for (var emitter = 0u; emitter < count; emitter++) {
            if !is_certain(light_pmf, emitter) {
                rest += expected(emitter, place);
            }
        }
        light_pmf.scale = select(0.0, f32(visits - certain) / rest, rest > 0.0);
        let before = certain;
        for (var emitter = 0u; emitter < count && certain < visits; emitter++) {
            if !is_certain(light_pmf, emitter) && expected(emitter, place) * light_pmf.scale >= 1.0 {
                light_pmf.certain[certain] = emitter;
                certain++;
            }
        }
        if certain == before {
            break;
        }
    }
    return light_pmf;
}

/// Returns the selection probability of an emitter.
fn probability_of(light_pmf: LightPmf, emitter: u32) -> f32 {
    if light_pmf.min_probability == 1.0 || is_certain(light_pmf, emitter) {
        return 1.0;
    }
    return clamp(expected(emitter, light_pmf.place) * light_pmf.scale, light_pmf.min_probability, 1.0);
}

/// State of systematic sampling after an emitter.
struct Visit {
    /// Random number plus the probabilities of all uncertain emitters so far.
    sum: f32,
    /// True if the emitter is selected.
    is_made: bool,
}

/// Selects an emitter if the sum of probabilities crosses an integer.
fn visit(sum: f32, probability: f32) -> Visit {
    if probability >= 1.0 {
        return Visit(sum, true);
    }
    return Visit(sum + probability, floor(sum + probability) > floor(sum));
}
