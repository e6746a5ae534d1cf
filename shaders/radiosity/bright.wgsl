// Elements that gather rays sample as lights; counterpart of `radiosity::bright`.
//
// Their section of `element_tables` starts with their number. Each has `BRIGHT_WORDS` words: the element, its selection
// probability, its area in square meters, and its sampled radiosity in lm/m2.

const BRIGHT_WORDS: u32 = 6u;

/// Hash constant that separates these sample points from the other random numbers of a ray.
const OTHER_POINTS: u32 = 0x5bd1e995u;

fn bright_count() -> u32 {
    return element_tables[element_tables[BRIGHT]];
}

fn bright_record(index: u32) -> u32 {
    return element_tables[BRIGHT] + 1u + BRIGHT_WORDS * index;
}

/// Returns the record of an element, or `NONE` if the element is not sampled.
fn record_of_bright(element: u32) -> u32 {
    for (var index = 0u; index < bright_count(); index++) {
        if element_tables[bright_record(index)] == element {
            return bright_record(index);
        }
    }
    return NONE;
}

/// Returns the PDF per steradian at a point of a sampled element, for a squared distance and a cosine at the element.
fn bright_pdf(record: u32, distance_squared: f32, cosine: f32) -> f32 {
    let seen = max(abs(cosine) * element_float(record + 2u), 1.1754944e-38);
    return element_float(record + 1u) * distance_squared / seen;
}

/// Samples a point on one sampled element. Returns its irradiance in lux, with shadows and the MIS weight against
/// gather rays. `seed` is that of the accompanying gather ray.
fn light_of_bright(point: SurfacePoint, seed: u32) -> Found {
    let u = sobol_point(seed ^ OTHER_POINTS, 0u);
    var all = 0.0;
    for (var index = 0u; index < bright_count(); index++) {
        all += element_float(bright_record(index) + 1u);
    }
    var rest = u.x * all;
    var chosen = 0u;
    while chosen + 1u < bright_count() && rest >= element_float(bright_record(chosen) + 1u) {
        rest -= element_float(bright_record(chosen) + 1u);
        chosen++;
    }
    let record = bright_record(chosen);
    let lit = point_of_element(element_tables[record], u.yz);
    let origin = origin_of(point);
    let offset = origin_of(lit) - origin;
    let distance_squared = dot(offset, offset);
    if !(distance_squared > 0.0) {
        return Found(vec3(0.0), 0u);
    }
    let direction = offset * inverseSqrt(distance_squared);
    let cosine = dot(point.shading_normal, direction);
    let leaving = -dot(lit.geometric_normal, direction);
    if cosine <= 0.0 || leaving <= 0.0 || dot(direction, point.geometric_normal) <= 0.0 {
        return Found(vec3(0.0), 0u);
    }
    let cosine_pdf = cosine / PI;
    let pdf = bright_pdf(record, distance_squared, leaving);
    let part = cosine_pdf * power_heuristic(pdf, cosine_pdf) / pdf;
    return Found(light_through(Ray(origin, 0.0, offset, SHORTER)) * element_vec3(record + 3u) * part, 1u);
}
