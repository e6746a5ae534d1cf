// Sampling of points on lights; counterpart of `lights::LightSampler`.

/// Emitter.
struct Emitter {
    /// Position of a lamp, or corner of a rectangle, in meters.
    place: vec3<f32>,
    /// One of `POINT`, `SPOT`, `SUN`, `RECTANGLE`, `SURFACE` and `ENVIRONMENT`.
    kind: u32,
    /// Unit direction of a spot or sun; normal of a rectangle.
    axis: vec3<f32>,
    /// Range of a lamp, in meters.
    range: f32,
    /// Candela of a lamp, lux of the sun, cd/m2 of a rectangle.
    strength: vec3<f32>,
    /// Radius of a lamp in meters; half the angular diameter of the sun in radians.
    radius: f32,
    /// First edge of a rectangle, in meters.
    width: vec3<f32>,
    /// Cosine of the inner cone angle of a spot.
    inner_cosine: f32,
    /// Second edge of a rectangle, in meters.
    height: vec3<f32>,
    /// Cosine of the outer cone angle of a spot.
    outer_cosine: f32,
    padding_0: u32,
    padding_1: u32,
    /// Path in the light trees: the lowest bit selects the tree, and each further bit a child, from the root on.
    trail: u32,
    /// Offset in `tables` of further data. For a surface: number of triangles, their cumulative probabilities, and
    /// their tree indices. For the environment: columns and rows, texture, rotation, and cumulative probabilities of
    /// cells.
    table: u32,
}

/// Sampled point on a light.
struct LightSample {
    /// Shadow ray.
    ray: Ray,
    /// Unit direction from the receiver to the point.
    direction: vec3<f32>,
    /// PDF of the direction per steradian; negative for lights that rays cannot hit.
    pdf: f32,
    /// Unshadowed irradiance in lux, divided by the PDF; zero for no sample.
    irradiance: vec3<f32>,
}

const POINT: u32 = 0u;
const SPOT: u32 = 1u;
const SUN: u32 = 2u;
const RECTANGLE: u32 = 3u;
const SURFACE: u32 = 4u;
const ENVIRONMENT: u32 = 5u;

/// Maximum length of a ray.
// Browsers refuse decimal forms that are rounded up.
const FAR: f32 = 0x1.fffffep+127f;
/// Length of shadow rays relative to the distance.
const SHORTER: f32 = 1.0 - 1e-4;
/// Minimum squared distance for the selection of emitters, in square meters.
const NEAREST_SQUARED: f32 = 1e-4;
/// Minimum squared distance for the falloff of lamps, in square meters.
const NEAREST_LAMP_SQUARED: f32 = 1e-8;
/// Maximum PDF for MIS weights, per steradian. Squares and sums stay finite.
const MAX_PDF: f32 = 1e18;
/// Solid angle below which azimuth sampling of a rectangle loses precision, in steradians.
const MINIMUM_SOLID_ANGLE: f32 = 3e-3;

@group(0) @binding(8) var<storage, read> emitters: array<Emitter>;

fn no_light() -> LightSample {
    return LightSample(Ray(vec3(0.0), 0.0, vec3(0.0), 0.0), vec3(0.0), -1.0, vec3(0.0));
}

/// Selected index, its probability, and the remapped random number.
struct Choice {
    index: u32,
    probability: f32,
    rest: f32,
}

/// Selects one of `count` entries whose cumulative probabilities start at `table`.
fn choose(table: u32, count: u32, u: f32) -> Choice {
    var below = 0u;
    var above = count + 1u;
    while below < above {
        let middle = (below + above) / 2u;
        if table_float(table + middle) <= u {
            below = middle + 1u;
        } else {
            above = middle;
        }
    }
    let index = min(max(below, 1u) - 1u, count - 1u);
    let start = table_float(table + index);
    let probability = table_float(table + index + 1u) - start;
    return Choice(index, probability, clamp((u - start) / probability, 0.0, 1.0 - 1.1920929e-7));
}

/// Samples a point of an emitter, for a receiver at `at` with unit normal `normal`.
fn sample_emitter(emitter: u32, at: vec3<f32>, normal: vec3<f32>, u: vec2<f32>) -> LightSample {
    switch emitters[emitter].kind {
        case SUN: {
            let axis = emitters[emitter].axis;
            let toward = uniform_cone(-axis, emitters[emitter].radius, u);
            let irradiance = emitters[emitter].strength * max(dot(normal, -axis), 0.0);
            return LightSample(Ray(at, 0.0, toward, FAR), toward, -1.0, irradiance);
        }
        case RECTANGLE: {
            return sample_rectangle(emitter, at, normal, u);
        }
        case SURFACE: {
            return sample_surface(emitter, at, normal, u);
        }
        case ENVIRONMENT: {
            return sample_environment(emitter, at, normal, u);
        }
        default: {
            return sample_lamp(emitter, at, normal, u);
        }
    }
}

/// Returns the attenuation of a lamp towards its range, at a squared distance.
fn range_window(distance_squared: f32, range: f32) -> f32 {
    let ratio = distance_squared / (range * range);
    let window = clamp(1.0 - ratio * ratio, 0.0, 1.0);
    return window * window;
}

/// Returns the cone attenuation of a lamp in a direction.
fn cone_falloff(light: Emitter, direction: vec3<f32>) -> f32 {
    if light.kind != SPOT {
        return 1.0;
    }
    let depth = max(light.inner_cosine - light.outer_cosine, 1e-4);
    let ramp = clamp((dot(direction, light.axis) - light.outer_cosine) / depth, 0.0, 1.0);
    return ramp * ramp;
}

fn sample_lamp(emitter: u32, at: vec3<f32>, normal: vec3<f32>, u: vec2<f32>) -> LightSample {
    let light = emitters[emitter];
    let offset = light.place - at;
    let distance_squared = dot(offset, offset);
    if distance_squared == 0.0 {
        return no_light();
    }
    let toward = offset * inverseSqrt(distance_squared);
    let fading = range_window(distance_squared, light.range) * cone_falloff(light, -toward);
    let strength = max(dot(normal, toward), 0.0) * fading / max(distance_squared, NEAREST_LAMP_SQUARED);
    if strength <= 0.0 {
        return no_light();
    }
    let to_target = offset + disc(toward, u) * light.radius;
    return LightSample(Ray(at, 0.0, to_target, SHORTER), normalize(to_target), -1.0, light.strength * strength);
}

fn sample_rectangle(emitter: u32, at: vec3<f32>, normal: vec3<f32>, u: vec2<f32>) -> LightSample {
    let light = emitters[emitter];
    let offset = light.place - at;
    if dot(offset, light.axis) >= 0.0 {
        return no_light();
    }
    let x_axis = normalize(light.width);
    let y_axis = normalize(light.height);
    var z_axis = cross(x_axis, y_axis);
    var z0 = dot(offset, z_axis);
    if z0 > 0.0 {
        z_axis = -z_axis;
        z0 = -z0;
    }
    let x0 = dot(offset, x_axis);
    let y0 = dot(offset, y_axis);
    let x1 = x0 + length(light.width);
    let y1 = y0 + length(light.height);
    let corner_a = vec3(x0, y0, z0);
    let corner_b = vec3(x1, y0, z0);
    let corner_c = vec3(x1, y1, z0);
    let corner_d = vec3(x0, y1, z0);
    let volume = abs(z0) * (x1 - x0) * (y1 - y0);
    var solid_angle = triangle_angle(volume, corner_a, corner_b, corner_c)
        + triangle_angle(volume, corner_a, corner_c, corner_d);
    var to_point: vec3<f32>;
    if solid_angle < MINIMUM_SOLID_ANGLE {
        to_point = offset + light.width * u.x + light.height * u.y;
        let distance_squared = dot(to_point, to_point);
        let cosine = -dot(to_point, light.axis) * inverseSqrt(distance_squared);
        if cosine <= 0.0 {
            return no_light();
        }
        solid_angle = length(light.width) * length(light.height) * cosine / distance_squared;
    } else {
        let bottom = plane_through(-y0, z0);
        let top = plane_through(y1, z0);
        let left = plane_through(-x0, z0);
        let azimuth = u.x * solid_angle + TAU - angle_between(top, left) - angle_between(left, bottom);
        let turned = sin_cos_turns(azimuth / TAU);
        let f = (turned.y * bottom.x - top.x) / turned.x;
        let towards = select(1.0, -1.0, f < 0.0);
        let cu = clamp(towards / sqrt(f * f + bottom.x * bottom.x), -1.0, 1.0);
        let x = clamp(-(cu * z0) / sqrt(max((1.0 - cu) * (1.0 + cu), 1e-12)), x0, x1);
        let along = sqrt(x * x + z0 * z0);
        let h0 = y0 / sqrt(along * along + y0 * y0);
        let h1 = y1 / sqrt(along * along + y1 * y1);
        let h = h0 + u.y * (h1 - h0);
        let rest = 1.0 - h * h;
        var y = y1;
        if rest > 1e-6 {
            y = clamp(h * along / sqrt(rest), y0, y1);
        }
        to_point = x_axis * x + y_axis * y + z_axis * z0;
    }
    let direction = normalize(to_point);
    let irradiance = light.strength * (max(dot(normal, direction), 0.0) * solid_angle);
    return LightSample(Ray(at, 0.0, to_point, SHORTER), direction, -1.0, irradiance);
}

/// Returns the solid angle of a triangle, in steradians. `volume` is its triple product with the origin.
fn triangle_angle(volume: f32, a: vec3<f32>, b: vec3<f32>, c: vec3<f32>) -> f32 {
    let la = length(a);
    let lb = length(b);
    let lc = length(c);
    return 2.0 * arc_tangent(volume, la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb);
}

/// Returns the z component of the normal of a plane through the receiver and an edge, and the complementary component.
fn plane_through(across: f32, z0: f32) -> vec2<f32> {
    return vec2(across, z0) / sqrt(z0 * z0 + across * across);
}

fn angle_between(a: vec2<f32>, b: vec2<f32>) -> f32 {
    return arc_tangent(sqrt(a.y * a.y + a.x * a.x * b.y * b.y), -a.x * b.x);
}

fn sample_surface(emitter: u32, at: vec3<f32>, normal: vec3<f32>, u: vec2<f32>) -> LightSample {
    let table = emitters[emitter].table;
    let count = tables[table];
    let choice = choose(table + 1u, count, u.x);
    let triangle = tables[table + 2u + count + choice.index];
    if triangle == NONE {
        return no_light();
    }
    let barycentric = uniform_triangle(vec2(choice.rest, u.y));
    let offset = point_on(triangle, barycentric) - at;
    let distance_squared = dot(offset, offset);
    if distance_squared == 0.0 {
        return no_light();
    }
    let direction = offset * inverseSqrt(distance_squared);
    let cosine = dot(normal, direction);
    let pdf = choice.probability * pdf_on(triangle, direction, distance_squared);
    if cosine <= 0.0 || pdf <= 0.0 {
        return no_light();
    }
    let surface = surface_of(triangle);
    let radiance = emission_at(surface, triangle, barycentric) * coverage(surface, triangle, barycentric);
    return LightSample(Ray(at, 0.0, offset, SHORTER), direction, pdf, radiance * (cosine / pdf));
}

/// Returns the fraction of rays that an emissive surface stops.
fn coverage(surface: u32, triangle: u32, barycentric: vec2<f32>) -> f32 {
    return 1.0 - passage_at(triangle, barycentric).probability;
}

/// Returns the PDF per steradian of a direction to a selected triangle; zero on its dark side.
fn pdf_on(triangle: u32, direction: vec3<f32>, distance_squared: f32) -> f32 {
    let flags = surfaces[surface_of(triangle)].flags;
    let scaled = scaled_normal(triangle);
    // Twice the area times the cosine.
    var facing = -dot(direction, scaled);
    if (flags & BOTH_SIDES) != 0u {
        facing = abs(facing);
    }
    if facing <= 0.0 {
        return 0.0;
    }
    return 2.0 * distance_squared / facing;
}

/// Returns the PDF of light sampling for a ray that hit an emissive surface.
fn hit_pdf(emitter: u32, ray: Ray, hit: Hit) -> f32 {
    let table = emitters[emitter].table;
    let entry = table + 1u + triangles[hit.triangle].index;
    let probability = table_float(entry + 1u) - table_float(entry);
    let speed = length(ray.direction);
    let distance = hit.t * speed;
    return probability * pdf_on(hit.triangle, ray.direction / speed, distance * distance);
}

/// Returns columns and rows of the environment's cells.
fn environment_grid(table: u32) -> vec2<u32> {
    return vec2(tables[table], tables[table + 1u]);
}

fn environment_radiance(emitter: u32, uv: vec2<f32>) -> vec3<f32> {
    let table = emitters[emitter].table + 2u;
    let texture = vec4(tables[table], tables[table + 1u], tables[table + 2u], tables[table + 3u]);
    return sample_texture(texture, uv).xyz * scene.sky_radiance;
}

fn environment_rotation(emitter: u32) -> vec4<f32> {
    let table = emitters[emitter].table + 6u;
    return vec4(table_vec3(table), table_float(table + 3u));
}

/// Rotates a vector by a unit quaternion.
fn rotated(rotation: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let axis = rotation.xyz;
    return v * (rotation.w * rotation.w - dot(axis, axis)) + axis * (2.0 * dot(v, axis))
        + cross(axis, v) * (2.0 * rotation.w);
}

/// Returns the texture coordinates of a direction in the environment map.
fn environment_uv(emitter: u32, direction: vec3<f32>) -> vec2<f32> {
    let d = rotated(environment_rotation(emitter) * vec4(-1.0, -1.0, -1.0, 1.0), direction);
    return vec2(0.5 + arc_tangent(d.z, d.x) / TAU, arc_tangent(length(d.xz), d.y) / PI);
}

/// Returns the cosines of the polar angles that bound a row of cells.
fn row_cosines(row: u32, rows: u32) -> vec2<f32> {
    return vec2(sin_cos_turns(0.5 * f32(row) / f32(rows)).y, sin_cos_turns(0.5 * f32(row + 1u) / f32(rows)).y);
}

/// Returns the solid angle of a cell, in steradians.
fn cell_angle(cosines: vec2<f32>, columns: u32) -> f32 {
    return (cosines.x - cosines.y) * TAU / f32(columns);
}

/// Sampled direction to the environment.
struct Skyward {
    /// Texture coordinates in the environment map.
    uv: vec2<f32>,
    /// Unit direction.
    direction: vec3<f32>,
    /// PDF per steradian.
    pdf: f32,
}

/// Samples a direction to the environment.
fn choose_skyward(emitter: u32, u: vec2<f32>) -> Skyward {
    let table = emitters[emitter].table;
    let grid = environment_grid(table);
    let choice = choose(table + 10u, grid.x * grid.y, u.x);
    let row = choice.index / grid.x;
    let column = choice.index % grid.x;
    let cosines = row_cosines(row, grid.y);
    let polar = arc_cosine(cosines.x + (cosines.y - cosines.x) * u.y) / PI;
    let uv = vec2((f32(column) + choice.rest) / f32(grid.x), polar);
    let up = sin_cos_turns(uv.y * 0.5);
    let around = sin_cos_turns(uv.x - 0.5);
    let local = vec3(up.x * around.y, up.y, up.x * around.x);
    let direction = normalize(rotated(environment_rotation(emitter), local));
    return Skyward(uv, direction, choice.probability / cell_angle(cosines, grid.x));
}

fn sample_environment(emitter: u32, at: vec3<f32>, normal: vec3<f32>, u: vec2<f32>) -> LightSample {
    let chosen = choose_skyward(emitter, u);
    let cosine = dot(normal, chosen.direction);
    if cosine <= 0.0 || chosen.pdf <= 0.0 {
        return no_light();
    }
    let irradiance = environment_radiance(emitter, chosen.uv) * (cosine / chosen.pdf);
    return LightSample(Ray(at, 0.0, chosen.direction, FAR), chosen.direction, chosen.pdf, irradiance);
}

/// Returns the PDF of light sampling for a direction to the environment.
fn environment_pdf(emitter: u32, direction: vec3<f32>) -> f32 {
    let table = emitters[emitter].table;
    let grid = environment_grid(table);
    let uv = environment_uv(emitter, direction);
    let column = min(u32(max(uv.x, 0.0) * f32(grid.x)), grid.x - 1u);
    let row = min(u32(max(uv.y, 0.0) * f32(grid.y)), grid.y - 1u);
    let entry = table + 10u + row * grid.x + column;
    let probability = table_float(entry + 1u) - table_float(entry);
    return probability / cell_angle(row_cosines(row, grid.y), grid.x);
}
