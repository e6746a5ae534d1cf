// How much light a material reflects in all: the twin of `scene::albedo`.

/// Reflection at a point of a surface, and scattering through it.
struct Look {
    base_color: vec3<f32>,
    metallic: f32,
    /// Mean albedo of the glossy layer.
    layer: vec3<f32>,
    /// Mean albedo of the clear coat.
    coat: f32,
    /// Color of light that is scattered through, and the part of diffuse light that is.
    through_color: vec3<f32>,
    through: f32,
}

/// Smallest perceptual roughness, and what varnish reflects straight on.
const MIN_ROUGHNESS: f32 = 0.03;
const COAT_STRAIGHT_ON: f32 = 0.04;

/// Mean albedos of microfacets that light leaves after one reflection: white ones, and those that reflect at the rim alone.
fn mean_facet_albedo(perceptual_roughness: f32) -> vec2<f32> {
    let r = clamp(perceptual_roughness, MIN_ROUGHNESS, 1.0);
    let white = 0.99904 + r * (0.02085 + r * (0.18866 + r * (-2.00548 + r * 1.20642)));
    let rim = 0.04557
        + r * (0.01041 + r * (-0.00368 + r * (-1.16431 + r * (2.99195 + r * (-2.79167 + r * 0.91450)))));
    return vec2(min(white, 1.0), rim);
}

/// The share that a glossy layer reflects, in one go and in several.
fn mean_layer_albedo(base_color: vec3<f32>, metallic: f32, reflectance: vec3<f32>, roughness: f32) -> vec3<f32> {
    let straight = clamp(mix(0.16 * reflectance * reflectance, base_color, metallic), vec3(0.0), vec3(1.0));
    if all(straight == vec3(0.0)) {
        return vec3(0.0);
    }
    let grazing = min(dot(straight, vec3(50.0 * 0.33)), 1.0);
    let facets = mean_facet_albedo(roughness);
    let once = straight * (facets.x - facets.y) + grazing * facets.y;
    let mean = straight + (vec3(grazing) - straight) / 21.0;
    let multiple = mean * mean * facets.x / (vec3(1.0) - mean * (1.0 - facets.x));
    return clamp(once + multiple * (1.0 - facets.x), vec3(0.0), vec3(1.0));
}

/// The share of rays that go on behind a surface, since light is scattered through it.
fn crossing_chance(look: Look) -> f32 {
    let reflected = largest(look.layer) * (1.0 - look.coat) + look.coat;
    return (1.0 - reflected) * look.through * (1.0 - look.metallic);
}

/// The share of light that is reflected where rays stay before a surface.
fn stopped_reflectance(look: Look) -> vec3<f32> {
    let base = look.base_color * ((1.0 - look.metallic) * (1.0 - look.through));
    let reflected = (look.layer + base * (vec3(1.0) - look.layer)) * (1.0 - look.coat) + look.coat;
    if look.through <= 0.0 {
        return reflected;
    }
    return min(reflected / max(1.0 - crossing_chance(look), 1.1754944e-38), vec3(1.0));
}

/// The share of light that is scattered through a surface.
fn scattered_through(look: Look) -> vec3<f32> {
    let through = look.through_color * (look.through * (1.0 - look.metallic));
    return through * (vec3(1.0) - look.layer) * (1.0 - look.coat);
}

/// The share that a clear coat of some strength reflects.
fn mean_coat_albedo(strength: f32, roughness: f32) -> f32 {
    let facets = mean_facet_albedo(roughness);
    return strength * (COAT_STRAIGHT_ON * (facets.x - facets.y) + facets.y);
}

/// The look of a surface where a ray met it.
fn look_at(hit: Hit) -> Look {
    let surface = surface_of(hit.triangle);
    let pictures = read_pictures(surface, hit.triangle, hit.barycentric);
    let base = base_color_of(surface, pictures[BASE_COLOR], hit.triangle, hit.barycentric);
    let color = clamp(base.xyz, vec3(0.0), vec3(1.0));
    let metallic = clamp(surfaces[surface].metallic * pictures[METALLIC_ROUGHNESS].z, 0.0, 1.0);
    let roughness = surfaces[surface].roughness * pictures[METALLIC_ROUGHNESS].y;
    let reflectance = surfaces[surface].reflectance * pictures[SPECULAR].w * pictures[SPECULAR_TINT].xyz;
    let layer = mean_layer_albedo(color, metallic, reflectance, roughness);
    let coat = clamp(surfaces[surface].clearcoat * pictures[CLEARCOAT].x, 0.0, 1.0);
    let coat_roughness = surfaces[surface].clearcoat_roughness * pictures[CLEARCOAT_ROUGHNESS].y;
    let coat_albedo = mean_coat_albedo(coat, coat_roughness);
    let through = surfaces[surface].diffuse_transmission;
    return Look(color, metallic, layer, coat_albedo, surfaces[surface].diffuse_transmission_color, through);
}
