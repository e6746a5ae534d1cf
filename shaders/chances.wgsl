// Which emitters a sample of a place's direct light visits: the twin of `scene::Chances`.

/// A place that light falls on.
struct Place {
    /// Its middle.
    at: vec3<f32>,
    /// How far around the middle it reaches, metres.
    radius: f32,
    /// The unit normal of its surface.
    normal: vec3<f32>,
}

/// What the chance of each emitter follows from.
struct Chances {
    place: Place,
    /// Chance of an emitter that one lux is expected of.
    scale: f32,
    /// The least chance of any; one where all are visited.
    least: f32,
    /// The emitters that are visited for certain, or `NONE`.
    certain: vec4<u32>,
}

/// What a place gets of an emitter that it faces away from.
const LEAST_FACING: f32 = 0.1;
/// What is expected in the dark around the cone of a spot.
const LEAST_IN_CONE: f32 = 0.05;
/// The least chance of an emitter, as part of what it would have if all were alike.
const LEAST_SHARE: f32 = 0.1;
/// Words of what is expected of an emitter: the box around a surface, its luminous flux, and the area of its sides.
const EXPECTATION_WORDS: u32 = 8u;

fn facing(place: Place, toward: vec3<f32>) -> f32 {
    return LEAST_FACING + (1.0 - LEAST_FACING) * max(dot(place.normal, toward), 0.0);
}

/// Squared distance to a point, and how well the place faces it.
fn view_of(place: Place, point: vec3<f32>) -> vec2<f32> {
    let offset = point - place.at;
    let distance_squared = dot(offset, offset);
    let nearest = max(place.radius * place.radius, NEAREST_SQUARED);
    if distance_squared > nearest {
        return vec2(distance_squared, facing(place, offset * inverseSqrt(distance_squared)));
    }
    return vec2(nearest, 1.0);
}

fn expected_of_matt(power: f32, area: f32, view: vec2<f32>) -> f32 {
    return power / PI * view.y / (view.x + area / PI);
}

/// About what illuminance in lux an emitter brings to a place if nothing stands in the way.
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
            return expected_of_matt(PI * luminance(light.strength) * area, area, view_of(place, nearest));
        }
        case SURFACE: {
            let nearest = clamp(place.at, element_vec3(more), element_vec3(more + 3u));
            return expected_of_matt(element_float(more + 6u), element_float(more + 7u), view_of(place, nearest));
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
                falloff = max(ramp * ramp, LEAST_IN_CONE);
            }
            return luminance(light.strength) * view.y * window * window / view.x * falloff;
        }
    }
}

fn is_certain(chances: Chances, emitter: u32) -> bool {
    return any(chances.certain == vec4(emitter));
}

/// The chances of all emitters at a place, so that a sample visits about `visits` of them, at most four.
fn chances_at(place: Place, visits: u32) -> Chances {
    let count = element_tables[EMITTER_COUNT];
    var chances = Chances(place, 0.0, 1.0, vec4(NONE));
    if count <= visits {
        return chances;
    }
    chances.least = LEAST_SHARE * f32(visits) / f32(count);
    var certain = 0u;
    // Each round either finds a certain one more or is the last.
    for (var round = 0u; round < 5u; round++) {
        var rest = 0.0;
        for (var emitter = 0u; emitter < count; emitter++) {
            if !is_certain(chances, emitter) {
                rest += expected(emitter, place);
            }
        }
        chances.scale = select(0.0, f32(visits - certain) / rest, rest > 0.0);
        let before = certain;
        for (var emitter = 0u; emitter < count && certain < visits; emitter++) {
            if !is_certain(chances, emitter) && expected(emitter, place) * chances.scale >= 1.0 {
                chances.certain[certain] = emitter;
                certain++;
            }
        }
        if certain == before {
            break;
        }
    }
    return chances;
}

/// The chance with which a sample visits an emitter.
fn chance_of(chances: Chances, emitter: u32) -> f32 {
    if chances.least == 1.0 || is_certain(chances, emitter) {
        return 1.0;
    }
    return clamp(expected(emitter, chances.place) * chances.scale, chances.least, 1.0);
}

/// Where systematic sampling stands after an emitter.
struct Visit {
    /// Sum of the number that was drawn and the chances of the uncertain emitters so far.
    sum: f32,
    /// Whether the emitter is visited.
    is_made: bool,
}

/// An emitter is visited when the sum of chances crosses an integer at it.
fn visit(sum: f32, chance: f32) -> Visit {
    if chance >= 1.0 {
        return Visit(sum, true);
    }
    return Visit(sum + chance, floor(sum + chance) > floor(sum));
}
