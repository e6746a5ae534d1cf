// Sampling of emitted light rays; counterpart of `lights::EmissionSampler`.

/// Emitters and alias table for sampling light paths.
struct Emissions {
    /// Center of the scene's bounding sphere, through which distant light enters, in meters.
    center: vec3<f32>,
    /// Radius of the sphere, in meters.
    radius: f32,
    /// Number of entries: all emitters, and the sky if uniform.
    count: u32,
    /// Index of the uniform sky's entry.
    sky: u32,
    padding_0: u32,
    padding_1: u32,
    entries: array<AliasEntry>,
}

/// Alias table entry of an emitter.
struct AliasEntry {
    threshold: f32,
    alias_index: u32,
    probability: f32,
}

/// Emitted light ray.
struct Emission {
    ray: Ray,
    /// Luminous flux of the ray in lumens, divided by the PDF; zero for none.
    power: vec3<f32>,
    /// Range of a lamp, in meters.
    range: f32,
}

/// Maximum range. Ranges are squared, and the square must stay finite.
const FARTHEST: f32 = 1e18;

@group(1) @binding(1) var<storage, read> emissions: Emissions;

fn no_emission() -> Emission {
    return Emission(Ray(vec3(0.0), 0.0, vec3(0.0), 0.0), vec3(0.0), FARTHEST);
}

/// Samples a light ray.
fn emitted(choice: f32, u: vec4<f32>) -> Emission {
    let place = choice * f32(emissions.count);
    let own = min(u32(place), emissions.count - 1u);
    let is_own = place - f32(own) < emissions.entries[own].threshold;
    let drawn = select(emissions.entries[own].alias_index, own, is_own);
    var emission = emitted_by(drawn, u);
    emission.power /= emissions.entries[drawn].probability;
    return emission;
}

fn emitted_by(emitter: u32, u: vec4<f32>) -> Emission {
    if emitter == emissions.sky {
        let ray = ray_from_afar(uniform_sphere(u.zw), u.xy);
        return Emission(ray, scene.sky_radiance * (2.0 * TAU * disc_area()), FARTHEST);
    }
    let light = emitters[emitter];
    switch light.kind {
        case SUN: {
            let ray = ray_from_afar(uniform_cone(light.axis, light.radius, u.zw), u.xy);
            return Emission(ray, light.strength * disc_area(), FARTHEST);
        }
        case RECTANGLE: {
            let origin = light.place + light.width * u.x + light.height * u.y;
            let ray = Ray(origin, 0.0, from_local(light.axis, cosine_hemisphere(u.zw)), FAR);
            let area = length(light.width) * length(light.height);
            return Emission(ray, light.strength * (PI * area), FARTHEST);
        }
        case SURFACE: {
            return emitted_by_surface(light.table, u);
        }
        case ENVIRONMENT: {
            let chosen = choose_skyward(emitter, u.zw);
            if chosen.pdf <= 0.0 {
                return no_emission();
            }
            let power = environment_radiance(emitter, chosen.uv) * (disc_area() / chosen.pdf);
            return Emission(ray_from_afar(-chosen.direction, u.xy), power, FARTHEST);
        }
        case SPOT: {
            let height = 1.0 - light.outer_cosine;
            let direction = uniform_cap(light.axis, height, u.zw);
            let power = light.strength * (cone_falloff(light, direction) * TAU * height);
            return Emission(ray_of_lamp(light, direction, u.xy), power, light.range);
        }
        default: {
            return Emission(ray_of_lamp(light, uniform_sphere(u.zw), u.xy), light.strength * (2.0 * TAU), light.range);
        }
    }
}

fn ray_of_lamp(light: Emitter, direction: vec3<f32>, u: vec2<f32>) -> Ray {
    return Ray(light.place + disc(direction, u) * light.radius, 0.0, direction, FAR);
}

/// Returns a ray into the scene's bounding sphere in a given direction.
fn ray_from_afar(direction: vec3<f32>, u: vec2<f32>) -> Ray {
    return Ray(emissions.center + (disc(direction, u) - direction) * emissions.radius, 0.0, direction, FAR);
}

/// Returns the cross-section of the scene's bounding sphere, in square meters.
fn disc_area() -> f32 {
    return PI * emissions.radius * emissions.radius;
}

fn emitted_by_surface(table: u32, u: vec4<f32>) -> Emission {
    let count = tables[table];
    let choice = choose(table + 1u, count, u.x);
    let triangle = tables[table + 2u + count + choice.index];
    if triangle == NONE {
        return no_emission();
    }
    let barycentric = uniform_triangle(vec2(choice.rest, u.y));
    let surface = surface_of(triangle);
    let has_both = (surfaces[surface].flags & BOTH_SIDES) != 0u;
    // The choice of side takes one of many bits of the random number.
    let side = select(1.0, -1.0, has_both && u.z >= 0.5);
    let along = select(u.z, fract(u.z * 2.0), has_both);
    let scaled = scaled_normal(triangle);
    let area = length(scaled) * select(0.5, 1.0, has_both);
    let normal = normalize(scaled) * side;
    let radiance = emission_at(surface, triangle, barycentric) * coverage(surface, triangle, barycentric);
    let point = point_on(triangle, barycentric);
    let origin = point + normal * (1e-5 * max(largest(abs(point)), 1.0));
    let direction = from_local(normal, cosine_hemisphere(vec2(along, u.w)));
    return Emission(Ray(origin, 0.0, direction, FAR), radiance * (PI * area / choice.probability), FARTHEST);
}
