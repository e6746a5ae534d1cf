// Total reflectance of materials; counterpart of `scene::albedo`.

/// Reflection at a point of a surface, and scattering through it.
struct Reflection {
    base_color: vec3<f32>,
    metallic: f32,
    /// Mean albedo of the glossy layer.
    layer: vec3<f32>,
    /// Mean albedo of the clear coat.
    coat: f32,
    /// Color of diffusely transmitted light, and the transmitted fraction of diffuse light.
    through_color: vec3<f32>,
    through: f32,
}

/// Minimum perceptual roughness, and the reflectance of a clear coat at normal incidence.
const MIN_ROUGHNESS: f32 = 0.03;
const COAT_STRAIGHT_ON: f32 = 0.04;

/// Returns mean single-scattering albedos of microfacets, in parts for Schlick's Fresnel term: reflectance 1, and `(1 -
/// cosine)^5`.
fn mean_facet_albedo(perceptual_roughness: f32) -> vec2<f32> {
    let r = clamp(perceptual_roughness, MIN_ROUGHNESS, 1.0);
    let white = 0.99904 + r * (0.02085 + r * (0.18866 + r * (-2.00548 + r * 1.20642)));
    let rim = 0.04557
        + r * (0.01041 + r * (-0.00368 + r * (-1.16431 + r * (2.99195 + r * (-2.79167 + r * 0.91450)))));
    return vec2(min(white, 1.0), rim);
}

/// Returns the mean albedo of a glossy layer, multiple scattering included.
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

/// Returns the probability that a ray crosses a surface by diffuse transmission.
fn crossing_probability(reflection: Reflection) -> f32 {
    let reflected = largest(reflection.layer) * (1.0 - reflection.coat) + reflection.coat;
    return (1.0 - reflected) * reflection.through * (1.0 - reflection.metallic);
}

/// Returns the albedo for rays that stay before a surface.
fn stopped_reflectance(reflection: Reflection) -> vec3<f32> {
    let base = reflection.base_color * ((1.0 - reflection.metallic) * (1.0 - reflection.through));
    let below_coat = reflection.layer + base * (vec3(1.0) - reflection.layer);
    let reflected = below_coat * (1.0 - reflection.coat) + reflection.coat;
    if reflection.through <= 0.0 {
        return reflected;
    }
    return min(reflected / max(1.0 - crossing_probability(reflection), 1.1754944e-38), vec3(1.0));
}

/// Returns the diffuse transmittance of a surface.
fn scattered_through(reflection: Reflection) -> vec3<f32> {
    let through = reflection.through_color * (reflection.through * (1.0 - reflection.metallic));
    return through * (vec3(1.0) - reflection.layer) * (1.0 - reflection.coat);
}

/// Returns the mean albedo of a clear coat of the given strength.
fn mean_coat_albedo(strength: f32, roughness: f32) -> f32 {
    let facets = mean_facet_albedo(roughness);
    return strength * (COAT_STRAIGHT_ON * (facets.x - facets.y) + facets.y);
}

/// Evaluates the material of a surface at a hit.
fn reflection_at(hit: Hit) -> Reflection {
    let surface = surface_of(hit.triangle);
    let textures = read_textures(surface, hit.triangle, hit.barycentric);
    let base = base_color_of(surface, textures[BASE_COLOR], hit.triangle, hit.barycentric);
    let color = clamp(base.xyz, vec3(0.0), vec3(1.0));
    let metallic = clamp(surfaces[surface].metallic * textures[METALLIC_ROUGHNESS].z, 0.0, 1.0);
    let roughness = surfaces[surface].roughness * textures[METALLIC_ROUGHNESS].y;
    let reflectance = surfaces[surface].reflectance * textures[SPECULAR].w * textures[SPECULAR_TINT].xyz;
    let layer = mean_layer_albedo(color, metallic, reflectance, roughness);
    let coat = clamp(surfaces[surface].clearcoat * textures[CLEARCOAT].x, 0.0, 1.0);
    let coat_roughness = surfaces[surface].clearcoat_roughness * textures[CLEARCOAT_ROUGHNESS].y;
    let coat_albedo = mean_coat_albedo(coat, coat_roughness);
    let through = clamp(surfaces[surface].diffuse_transmission * textures[DIFFUSE_TRANSMISSION].w, 0.0, 1.0);
    let through_color = surfaces[surface].diffuse_transmission_color * textures[DIFFUSE_TRANSMISSION_COLOR].xyz;
    return Reflection(color, metallic, layer, coat_albedo, clamp(through_color, vec3(0.0), vec3(1.0)), through);
}
