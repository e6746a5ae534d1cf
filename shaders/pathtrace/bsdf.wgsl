// BSDF of a diffuse base under glossy layers, or of glass; counterpart of `pathtrace::Bsdf`.

/// Material appearance at a point of a surface.
struct Appearance {
    base_color: vec3<f32>,
    metallic: f32,
    reflectance: vec3<f32>,
    roughness: f32,
    /// Strength of the clear coat.
    clearcoat: f32,
    clearcoat_roughness: f32,
    /// Transmission of glass.
    transmission: f32,
    /// Index of refraction beyond the surface divided by the index before the surface.
    relative_ior: f32,
    /// Fraction of diffuse light that is transmitted.
    diffuse_transmission: f32,
    /// Color of that light.
    diffuse_transmission_color: vec3<f32>,
}

/// Sampled direction of incident light.
struct Scattered {
    /// Unit vector away from the surface, on either side.
    direction: vec3<f32>,
    /// PDF per steradian; zero for transmitted light.
    pdf: f32,
    /// Weight of radiance from the direction, divided by the PDF; zero for no sample.
    weight: vec3<f32>,
    /// True for transmitted light.
    through: bool,
}

/// BSDF at a point, for one viewing direction.
struct Bsdf {
    /// Tangent, bitangent and shading normal.
    frame: mat3x3<f32>,
    /// Direction to the viewer, in the frame.
    outgoing: vec3<f32>,
    /// Perceptual roughness.
    roughness: f32,
    /// Reflectance of a microfacet at normal incidence.
    straight: vec3<f32>,
    /// Reflectance of a microfacet at grazing incidence.
    grazing: f32,
    /// Color of light scattered several times by microfacets.
    multiple: vec3<f32>,
    /// Probability of sampling the microfacets instead of the base.
    glossy_probability: f32,
    /// Albedo of the diffuse base.
    base: vec3<f32>,
    /// Mean single-scattering albedos of microfacets with reflectance 1, and with reflectance `(1 - cosine)^5`.
    albedo: vec2<f32>,
    /// Directional albedos towards the viewer, in parts as above.
    albedo_outgoing: vec2<f32>,
    /// Color of transmitted light.
    tint: vec3<f32>,
    /// Fraction of glass. The remaining fraction is opaque.
    glass: f32,
    /// Index of refraction beyond the surface divided by the index before the surface.
    relative_ior: f32,
    /// Single-scattering loss of glass towards the viewer, and mean losses over all directions before and behind.
    lost: f32,
    lost_before: f32,
    lost_behind: f32,
    /// Strength and roughness of the clear coat.
    coat: f32,
    coat_roughness: f32,
    /// Directional albedo of the clear coat towards the viewer, and its mean albedo.
    coat_albedo_outgoing: f32,
    coat_albedo: f32,
    /// Probability of sampling the clear coat.
    coat_probability: f32,
}

/// Minimum cosine to the viewer.
const MIN_COSINE: f32 = 1e-3;
/// Perceptual roughness up to which a surface counts as smooth.
const SMOOTH: f32 = 0.2;
/// Minimum difference of the relative index of refraction from 1.
const MIN_BEND: f32 = 1e-3;
/// Number of entries on each axis of the albedo table.
const ALBEDO_STEPS: u32 = 32u;

/// Albedos over roughness and square root of the cosine, then mean albedos; two per entry.
@group(0) @binding(2) var<uniform> layer_albedos: array<vec4<f32>, 528>;

/// Sizes of the loss table of rough glass: cosine, roughness, strength of refraction, and rows per side.
const LOSS_COSINES: u32 = 16u;
const LOSS_ROUGHNESSES: u32 = 12u;
const LOSS_BENDS: u32 = 12u;
const LOSS_ROWS: u32 = 144u;
/// Mean loss below which an interface counts as smooth.
const MIN_LOSS: f32 = 1e-5;
/// Reflectance of a clear coat at normal incidence.
const COAT_STRAIGHT: f32 = 0.04;

/// Single-scattering losses of rough glass, in the order of `pathtrace::Losses`.
@group(0) @binding(12) var<uniform> glass_losses: array<vec4<f32>, 1224>;

fn loss_entry(index: u32) -> f32 {
    return glass_losses[index / 4u][index % 4u];
}

/// Returns the index of the entry before a value in [0, 1], and the interpolation weight of the next entry.
fn place_among(value: f32, entries: u32) -> vec2<f32> {
    let position = clamp(value, 0.0, 1.0) * f32(entries - 1u);
    let before = min(floor(position), f32(entries - 2u));
    return vec2(before, position - before);
}

/// Index of the first of four rows, and interpolation weights in roughness and strength of refraction.
struct LossPlace {
    row: u32,
    beyond: vec2<f32>,
}

fn loss_place(roughness: f32, relative_ior: f32) -> LossPlace {
    let is_leaving = relative_ior < 1.0;
    let denser = select(relative_ior, 1.0 / relative_ior, is_leaving);
    let bend = place_among(sqrt(2.0 * (denser - 1.0) / (denser + 1.0)), LOSS_BENDS);
    let rough = place_among(roughness, LOSS_ROUGHNESSES);
    let row = select(0u, LOSS_ROWS, is_leaving) + u32(bend.x) * LOSS_ROUGHNESSES + u32(rough.x);
    return LossPlace(row, vec2(rough.y, bend.y));
}

fn loss_in_row(row: u32, column: vec2<f32>) -> f32 {
    let entry = row * LOSS_COSINES + u32(column.x);
    return mix(loss_entry(entry), loss_entry(entry + 1u), column.y);
}

/// Returns the single-scattering loss of glass towards a direction with the given cosine to the normal.
fn loss_toward(cosine: f32, roughness: f32, relative_ior: f32) -> f32 {
    let place = loss_place(roughness, relative_ior);
    let column = place_among(sqrt(max(cosine, 0.0)), LOSS_COSINES);
    let next = place.row + LOSS_ROUGHNESSES;
    return mix(
        mix(loss_in_row(place.row, column), loss_in_row(place.row + 1u, column), place.beyond.x),
        mix(loss_in_row(next, column), loss_in_row(next + 1u, column), place.beyond.x),
        place.beyond.y,
    );
}

/// Returns the cosine-weighted mean loss over all directions.
fn mean_loss(roughness: f32, relative_ior: f32) -> f32 {
    let place = loss_place(roughness, relative_ior);
    let entry = 2u * LOSS_ROWS * LOSS_COSINES + place.row;
    let next = entry + LOSS_ROUGHNESSES;
    return mix(
        mix(loss_entry(entry), loss_entry(entry + 1u), place.beyond.x),
        mix(loss_entry(next), loss_entry(next + 1u), place.beyond.x),
        place.beyond.y,
    );
}

/// Returns the albedo of a clear coat.
fn coat_share(strength: f32, albedo: vec2<f32>) -> f32 {
    return strength * (COAT_STRAIGHT * (albedo.x - albedo.y) + albedo.y);
}

fn table_albedo(index: u32) -> vec2<f32> {
    let pair = layer_albedos[index / 2u];
    return select(pair.xy, pair.zw, (index & 1u) == 1u);
}

/// Returns the index of the entry before a value in [0, 1], and the interpolation weight of the next entry.
fn table_place(value: f32) -> vec2<f32> {
    let position = clamp(value, 0.0, 1.0) * f32(ALBEDO_STEPS - 1u);
    let before = min(floor(position), f32(ALBEDO_STEPS - 2u));
    return vec2(before, position - before);
}

fn albedo_in_row(row: u32, column: vec2<f32>) -> vec2<f32> {
    let entry = row * ALBEDO_STEPS + u32(column.x);
    return mix(table_albedo(entry), table_albedo(entry + 1u), column.y);
}

/// Returns the directional albedos of a layer for a cosine to the normal.
fn albedo_toward(cosine: f32, roughness: f32) -> vec2<f32> {
    let row = table_place(roughness);
    let column = table_place(sqrt(max(cosine, 0.0)));
    return mix(albedo_in_row(u32(row.x), column), albedo_in_row(u32(row.x) + 1u, column), row.y);
}

/// Returns the cosine-weighted mean albedos over all directions.
fn mean_albedo(roughness: f32) -> vec2<f32> {
    let row = table_place(roughness);
    let entry = ALBEDO_STEPS * ALBEDO_STEPS + u32(row.x);
    return mix(table_albedo(entry), table_albedo(entry + 1u), row.y);
}

/// Returns the normal, bent just enough to face the viewer.
fn facing_viewer(normal: vec3<f32>, outgoing: vec3<f32>) -> vec3<f32> {
    let cosine = dot(normal, outgoing);
    if cosine >= MIN_COSINE {
        return normal;
    }
    return normalize(normal + outgoing * (MIN_COSINE - cosine) * 1.01);
}

fn to_local(frame: mat3x3<f32>, direction: vec3<f32>) -> vec3<f32> {
    return vec3(dot(direction, frame[0]), dot(direction, frame[1]), dot(direction, frame[2]));
}

/// Returns the single-scattering albedo of a layer.
fn single_albedo(bsdf: Bsdf, albedo: vec2<f32>) -> vec3<f32> {
    return bsdf.straight * (albedo.x - albedo.y) + bsdf.grazing * albedo.y;
}

/// Returns the albedo of a layer, multiple scattering included.
fn layer_albedo(bsdf: Bsdf, albedo: vec2<f32>) -> vec3<f32> {
    return single_albedo(bsdf, albedo) + bsdf.multiple * (1.0 - albedo.x);
}

/// Creates the BSDF of an appearance. `outgoing` is the unit direction to the viewer.
fn make_bsdf(appearance: Appearance, surface_normal: vec3<f32>, outgoing: vec3<f32>) -> Bsdf {
    var bsdf: Bsdf;
    let normal = facing_viewer(surface_normal, outgoing);
    bsdf.frame = orthonormal_basis(normal);
    bsdf.outgoing = to_local(bsdf.frame, outgoing);
    bsdf.roughness = max(appearance.roughness, MIN_ROUGHNESS);
    let dielectric = 0.16 * appearance.reflectance * appearance.reflectance;
    let straight = mix(dielectric, appearance.base_color, appearance.metallic);
    bsdf.straight = clamp(straight, vec3(0.0), vec3(1.0));
    bsdf.grazing = min(dot(bsdf.straight, vec3(50.0 * 0.33)), 1.0);
    bsdf.albedo = mean_albedo(bsdf.roughness);
    bsdf.albedo_outgoing = albedo_toward(bsdf.outgoing.z, bsdf.roughness);
    let mean = bsdf.straight + (vec3(bsdf.grazing) - bsdf.straight) / 21.0;
    bsdf.multiple = mean * mean * bsdf.albedo.x / (vec3(1.0) - mean * (1.0 - bsdf.albedo.x));
    bsdf.base = appearance.base_color * ((1.0 - appearance.metallic) * (1.0 - appearance.diffuse_transmission));
    bsdf.tint = appearance.base_color;
    bsdf.glass = appearance.transmission * (1.0 - appearance.metallic);
    let bend = appearance.relative_ior - 1.0;
    bsdf.relative_ior = select(appearance.relative_ior, 1.0 + select(MIN_BEND, -MIN_BEND, bend < 0.0), abs(bend) < MIN_BEND);
    let glossy = luminance(single_albedo(bsdf, bsdf.albedo_outgoing));
    let diffuse = luminance(bsdf.base * (vec3(1.0) - layer_albedo(bsdf, bsdf.albedo_outgoing))
        + bsdf.multiple * (1.0 - bsdf.albedo_outgoing.x));
    bsdf.glossy_probability = select(0.0, glossy / (glossy + diffuse), glossy + diffuse > 0.0);
    bsdf.coat = appearance.clearcoat;
    bsdf.coat_roughness = max(appearance.clearcoat_roughness, MIN_ROUGHNESS);
    if bsdf.coat > 0.0 {
        bsdf.coat_albedo_outgoing = coat_share(bsdf.coat, albedo_toward(bsdf.outgoing.z, bsdf.coat_roughness));
        bsdf.coat_albedo = coat_share(bsdf.coat, mean_albedo(bsdf.coat_roughness));
        let below = (1.0 - bsdf.coat_albedo_outgoing) * (glossy + diffuse);
        bsdf.coat_probability = bsdf.coat_albedo_outgoing / (bsdf.coat_albedo_outgoing + below);
    }
    if bsdf.glass > 0.0 {
        bsdf.lost = loss_toward(bsdf.outgoing.z, bsdf.roughness, bsdf.relative_ior);
        bsdf.lost_before = mean_loss(bsdf.roughness, bsdf.relative_ior);
        bsdf.lost_behind = mean_loss(bsdf.roughness, 1.0 / bsdf.relative_ior);
    }
    return bsdf;
}

/// Returns the normal distribution: facet area per solid angle of normals and per surface area.
fn facet_distribution(alpha: f32, facet: vec3<f32>) -> f32 {
    let alpha_squared = alpha * alpha;
    let spread = dot(facet.xy, facet.xy) + alpha_squared * facet.z * facet.z;
    return alpha_squared / (PI * spread * spread);
}

/// Returns Smith's lambda: the ratio of masked to visible facets.
fn hidden_facets(alpha: f32, direction: vec3<f32>) -> f32 {
    let slope_squared = dot(direction.xy, direction.xy) / (direction.z * direction.z);
    return 0.5 * (sqrt(1.0 + alpha * alpha * slope_squared) - 1.0);
}

fn half_way(outgoing: vec3<f32>, incoming: vec3<f32>) -> vec3<f32> {
    let sum = outgoing + incoming;
    let squared = dot(sum, sum);
    return select(vec3(0.0, 0.0, 1.0), sum * inverseSqrt(squared), squared > 0.0);
}

/// Returns the single-scattering BRDF of perfectly reflecting facets, per steradian.
fn evaluate_facets(bsdf: Bsdf, roughness: f32, incoming: vec3<f32>, facet: vec3<f32>) -> f32 {
    let alpha = roughness * roughness;
    let visible = 1.0 / (1.0 + hidden_facets(alpha, bsdf.outgoing) + hidden_facets(alpha, incoming));
    return facet_distribution(alpha, facet) * visible / (4.0 * bsdf.outgoing.z * incoming.z);
}

/// Returns the PDF of reflection at `visible_normal`, per steradian.
fn microfacet_pdf(bsdf: Bsdf, roughness: f32, facet: vec3<f32>) -> f32 {
    let alpha = roughness * roughness;
    return facet_distribution(alpha, facet) / ((1.0 + hidden_facets(alpha, bsdf.outgoing)) * 4.0 * bsdf.outgoing.z);
}

/// Samples a facet normal in proportion to visible area.
fn visible_normal(bsdf: Bsdf, roughness: f32, u: vec2<f32>) -> vec3<f32> {
    let alpha = roughness * roughness;
    let stretch = vec3(alpha, alpha, 1.0);
    let toward = normalize(bsdf.outgoing * stretch);
    let z = (1.0 - u.x) * (1.0 + toward.z) - toward.z;
    let radius = sqrt(max(1.0 - z * z, 0.0));
    let cap = vec3(sin_cos_turns(u.y).yx * radius, z) + toward;
    let scaled = cap * stretch;
    let squared = dot(scaled, scaled);
    return select(vec3(0.0, 0.0, 1.0), scaled * inverseSqrt(squared), squared > 0.0);
}

/// Returns the squared cosine beyond an interface; negative under total internal reflection.
fn refracted_square(cosine: f32, relative_ior: f32) -> f32 {
    return 1.0 - (1.0 - cosine * cosine) / (relative_ior * relative_ior);
}

/// Returns the Fresnel reflectance of unpolarized light.
fn mirrored_share(cosine_to_border: f32, relative_ior: f32) -> f32 {
    let cosine = clamp(cosine_to_border, 0.0, 1.0);
    let square = refracted_square(cosine, relative_ior);
    if square <= 0.0 {
        return 1.0;
    }
    let beyond = sqrt(square);
    let parallel = (relative_ior * cosine - beyond) / (relative_ior * cosine + beyond);
    let perpendicular = (cosine - relative_ior * beyond) / (cosine + relative_ior * beyond);
    return 0.5 * (parallel * parallel + perpendicular * perpendicular);
}

/// Returns the single scattering of microfacets below a coat.
fn evaluate_glossy(bsdf: Bsdf, incoming: vec3<f32>, facet: vec3<f32>) -> vec3<f32> {
    let rim = clamp(1.0 - dot(incoming, facet), 0.0, 1.0);
    let rim_squared = rim * rim;
    let fresnel = bsdf.straight + (vec3(bsdf.grazing) - bsdf.straight) * (rim_squared * rim_squared * rim);
    return fresnel * evaluate_facets(bsdf, bsdf.roughness, incoming, facet);
}

/// Returns the diffuse part: multiple scattering by microfacets, and the base below.
fn evaluate_base_diffuse(bsdf: Bsdf, incoming: vec3<f32>) -> vec3<f32> {
    if bsdf.glossy_probability == 0.0 {
        return bsdf.base / PI;
    }
    let albedo_incoming = albedo_toward(incoming.z, bsdf.roughness);
    let scattered_often = bsdf.multiple * ((1.0 - bsdf.albedo_outgoing.x) * (1.0 - albedo_incoming.x)
        / (PI * max(1.0 - bsdf.albedo.x, 1e-6)));
    let through = (vec3(1.0) - layer_albedo(bsdf, bsdf.albedo_outgoing))
        * (vec3(1.0) - layer_albedo(bsdf, albedo_incoming))
        / max(vec3(1.0) - layer_albedo(bsdf, bsdf.albedo), vec3(1e-6));
    return scattered_often + bsdf.base * through / PI;
}

/// Returns the BSDF of the opaque part, for an incident direction in the frame.
fn evaluate_opaque(bsdf: Bsdf, incoming: vec3<f32>, facet: vec3<f32>) -> vec3<f32> {
    var glossy = vec3(0.0);
    if bsdf.glossy_probability > 0.0 {
        glossy = evaluate_glossy(bsdf, incoming, facet);
    }
    let diffuse = evaluate_base_diffuse(bsdf, incoming);
    if bsdf.coat == 0.0 {
        return glossy + diffuse;
    }
    let rim = clamp(1.0 - dot(incoming, facet), 0.0, 1.0);
    let rim_squared = rim * rim;
    let fresnel = COAT_STRAIGHT + (1.0 - COAT_STRAIGHT) * (rim_squared * rim_squared * rim);
    let coat = bsdf.coat * fresnel * evaluate_facets(bsdf, bsdf.coat_roughness, incoming, facet);
    let passed = passed_coat(bsdf, incoming);
    return vec3(coat) + glossy * passed.x + diffuse * passed.y;
}

/// Returns the transmittance of the coat for light that enters and leaves: for glossy and for diffuse reflection below.
fn passed_coat(bsdf: Bsdf, incoming: vec3<f32>) -> vec2<f32> {
    let there = 1.0 - coat_share(bsdf.coat, albedo_toward(incoming.z, bsdf.coat_roughness));
    let back = 1.0 - bsdf.coat_albedo_outgoing;
    return vec2(min(there, back), there * back / max(1.0 - bsdf.coat_albedo, 1e-6));
}

/// Returns true if single mirrored and refracted rays approximate the appearance well.
fn is_smooth(bsdf: Bsdf) -> bool {
    let is_coat_smooth = bsdf.coat > 0.0 && bsdf.coat_roughness <= SMOOTH;
    return is_coat_smooth || (bsdf.roughness <= SMOOTH && bsdf.glass + bsdf.glossy_probability > 0.0);
}

/// Returns true if camera paths render the surface better than light paths.
fn is_for_eye_paths(bsdf: Bsdf) -> bool {
    return is_smooth(bsdf) || bsdf.glass > 0.0;
}

/// Returns `evaluate_bsdf`, for smooth surfaces without single scattering of microfacets.
fn evaluate_diffuse(bsdf: Bsdf, direction: vec3<f32>) -> vec3<f32> {
    if !is_smooth(bsdf) {
        return evaluate_bsdf(bsdf, direction);
    }
    let incoming = to_local(bsdf.frame, direction);
    if incoming.z <= 0.0 {
        return vec3(0.0);
    }
    var passed = 1.0;
    if bsdf.coat > 0.0 {
        passed = passed_coat(bsdf, incoming).y;
    }
    return evaluate_base_diffuse(bsdf, incoming) * ((1.0 - bsdf.glass) * passed);
}

/// Returns the total loss on both sides. The solid angle behind scales with the squared relative index of refraction.
fn lost_mean(bsdf: Bsdf) -> f32 {
    return bsdf.lost_before + bsdf.relative_ior * bsdf.relative_ior * bsdf.lost_behind;
}

/// Returns the single-scattering reflection of glass, for an incident direction in the frame.
fn mirrored_once(bsdf: Bsdf, incoming: vec3<f32>, facet: vec3<f32>) -> f32 {
    return mirrored_share(dot(incoming, facet), bsdf.relative_ior)
        * evaluate_facets(bsdf, bsdf.roughness, incoming, facet);
}

/// Returns the BSDF for a direction, per steradian. Transmission is not included.
fn evaluate_bsdf(bsdf: Bsdf, direction: vec3<f32>) -> vec3<f32> {
    let incoming = to_local(bsdf.frame, direction);
    if incoming.z <= 0.0 {
        return vec3(0.0);
    }
    let facet = half_way(bsdf.outgoing, incoming);
    var sum = vec3(0.0);
    if bsdf.glass < 1.0 {
        sum += (1.0 - bsdf.glass) * evaluate_opaque(bsdf, incoming, facet);
    }
    if bsdf.glass > 0.0 {
        var glass = mirrored_once(bsdf, incoming, facet);
        if lost_mean(bsdf) >= MIN_LOSS {
            let lost = loss_toward(incoming.z, bsdf.roughness, bsdf.relative_ior);
            glass += bsdf.lost * lost / (PI * lost_mean(bsdf));
        }
        sum += bsdf.glass * glass;
    }
    return sum;
}

/// Returns the PDF of `sample_bsdf` for a direction before the surface, per steradian.
fn bsdf_pdf(bsdf: Bsdf, direction: vec3<f32>) -> f32 {
    let incoming = to_local(bsdf.frame, direction);
    if incoming.z <= 0.0 {
        return 0.0;
    }
    let facet = half_way(bsdf.outgoing, incoming);
    var opaque = (1.0 - bsdf.glossy_probability) * incoming.z / PI;
    if bsdf.glossy_probability > 0.0 {
        opaque += bsdf.glossy_probability * microfacet_pdf(bsdf, bsdf.roughness, facet);
    }
    if bsdf.coat > 0.0 {
        opaque = mix(opaque, microfacet_pdf(bsdf, bsdf.coat_roughness, facet), bsdf.coat_probability);
    }
    var glass = 0.0;
    if bsdf.glass > 0.0 {
        glass = mirrored_once(bsdf, incoming, facet) * incoming.z;
        if lost_mean(bsdf) >= MIN_LOSS {
            glass += bsdf.lost * bsdf.lost_before / lost_mean(bsdf) / TAU;
        }
    }
    return bsdf.glass * glass + (1.0 - bsdf.glass) * opaque;
}

/// Creates a sample of light transmitted by glass, from a direction in the frame.
fn through_glass(bsdf: Bsdf, local: vec3<f32>, weight: f32) -> Scattered {
    return Scattered(normalize(bsdf.frame * local), 0.0, bsdf.tint * weight, true);
}

/// Samples a direction of incident light, on either side of the surface.
fn sample_bsdf(bsdf: Bsdf, u: vec2<f32>, choice: f32) -> Scattered {
    let nothing = Scattered(vec3(0.0), 0.0, vec3(0.0), false);
    var local = cosine_hemisphere(u);
    if choice < bsdf.glass {
        let facet = visible_normal(bsdf, bsdf.roughness, u);
        let cosine = dot(bsdf.outgoing, facet);
        let within = choice / bsdf.glass;
        let mirrored = mirrored_share(cosine, bsdf.relative_ior);
        let is_mirrored = within < mirrored;
        let square = max(refracted_square(cosine, bsdf.relative_ior), 0.0);
        let refracted = (facet * cosine - bsdf.outgoing) / bsdf.relative_ior - facet * sqrt(square);
        local = select(refracted, facet * (2.0 * cosine) - bsdf.outgoing, is_mirrored);
        // The rest of the random number decides between single and multiple scattering.
        let rest = select((within - mirrored) / (1.0 - mirrored), within / mirrored, is_mirrored);
        let alpha = bsdf.roughness * bsdf.roughness;
        let hidden = hidden_facets(alpha, bsdf.outgoing);
        let lit_of_seen = (1.0 + hidden) / (1.0 + hidden + hidden_facets(alpha, local));
        let is_out = (local.z > 0.0) == is_mirrored && local.z != 0.0 && rest < lit_of_seen;
        if is_out && !is_mirrored {
            return through_glass(bsdf, local, 1.0);
        }
        if !is_out {
            if lost_mean(bsdf) < MIN_LOSS {
                return nothing;
            }
            let word = hash2(bitcast<u32>(u.x), bitcast<u32>(u.y));
            let z = unit_float(hash2(word, 0u));
            local = vec3(sin_cos_turns(unit_float(hash2(word, 1u))).yx * sqrt(max(1.0 - z * z, 0.0)), z);
            if unit_float(hash2(word, 2u)) * lost_mean(bsdf) >= bsdf.lost_before {
                let lost = loss_toward(z, bsdf.roughness, 1.0 / bsdf.relative_ior);
                return through_glass(bsdf, -local, 2.0 * z * lost / bsdf.lost_behind);
            }
        }
    } else {
        let among_opaque = (choice - bsdf.glass) / (1.0 - bsdf.glass);
        let is_coat = among_opaque < bsdf.coat_probability;
        if is_coat || among_opaque < bsdf.coat_probability + (1.0 - bsdf.coat_probability) * bsdf.glossy_probability {
            let facet = visible_normal(bsdf, select(bsdf.roughness, bsdf.coat_roughness, is_coat), u);
            local = facet * (2.0 * dot(bsdf.outgoing, facet)) - bsdf.outgoing;
        }
    }
    if local.z <= 0.0 {
        return nothing;
    }
    let direction = normalize(bsdf.frame * local);
    let pdf = bsdf_pdf(bsdf, direction);
    if pdf <= 0.0 {
        return nothing;
    }
    let weight = evaluate_bsdf(bsdf, direction) * (dot(direction, bsdf.frame[2]) / pdf);
    return Scattered(direction, pdf, weight, false);
}

/// Returns the albedo under uniform illumination from before, with transmittance of glass included.
fn bsdf_albedo(bsdf: Bsdf) -> vec3<f32> {
    let layer = layer_albedo(bsdf, bsdf.albedo_outgoing);
    let below = layer + bsdf.base * (vec3(1.0) - layer);
    let opaque = below * (1.0 - bsdf.coat_albedo_outgoing) + bsdf.coat_albedo_outgoing;
    let mirrored = mirrored_share(bsdf.outgoing.z, bsdf.relative_ior);
    return opaque * (1.0 - bsdf.glass) + (bsdf.tint * (1.0 - mirrored) + mirrored) * bsdf.glass;
}

/// Evaluates the appearance of a surface at a hit.
fn appearance_at(surface: u32, hit: Hit, back: bool) -> Appearance {
    let textures = read_textures(surface, hit.triangle, hit.barycentric);
    let base = base_color_of(surface, textures[BASE_COLOR], hit.triangle, hit.barycentric);
    let ior = surfaces[surface].ior;
    return Appearance(
        clamp(base.xyz, vec3(0.0), vec3(1.0)),
        clamp(surfaces[surface].metallic * textures[METALLIC_ROUGHNESS].z, 0.0, 1.0),
        surfaces[surface].reflectance * textures[SPECULAR].w * textures[SPECULAR_TINT].xyz,
        clamp(surfaces[surface].roughness * textures[METALLIC_ROUGHNESS].y, 0.0, 1.0),
        clamp(surfaces[surface].clearcoat * textures[CLEARCOAT].x, 0.0, 1.0),
        clamp(surfaces[surface].clearcoat_roughness * textures[CLEARCOAT_ROUGHNESS].y, 0.0, 1.0),
        clamp(surfaces[surface].transmission * textures[TRANSMISSION].x, 0.0, 1.0),
        select(ior, 1.0 / ior, back),
        clamp(surfaces[surface].diffuse_transmission * textures[DIFFUSE_TRANSMISSION].w, 0.0, 1.0),
        clamp(
            surfaces[surface].diffuse_transmission_color * textures[DIFFUSE_TRANSMISSION_COLOR].xyz,
            vec3(0.0), vec3(1.0)),
    );
}

/// Side of a surface on which a path continues after a possible crossing by diffuse transmission.
struct Crossing {
    goes: bool,
    /// Weight of the chosen side.
    weight: f32,
    vertex: Vertex,
    bsdf: Bsdf,
    /// Direction to the ray's origin, mirrored to the far side after a crossing.
    outgoing: vec3<f32>,
}

/// Chooses randomly between the near side and the far side of a surface.
fn crossing_of(appearance: Appearance, surface: u32, near: Vertex, outgoing: vec3<f32>, random: u32) -> Crossing {
    var crossing: Crossing;
    crossing.weight = 1.0;
    crossing.vertex = near;
    crossing.outgoing = outgoing;
    var seen = appearance;
    if appearance.diffuse_transmission > 0.0 {
        let layer = mean_layer_albedo(
            appearance.base_color, appearance.metallic, appearance.reflectance, appearance.roughness);
        let coat = mean_coat_albedo(appearance.clearcoat, appearance.clearcoat_roughness);
        let reflection = Reflection(
            appearance.base_color, appearance.metallic, layer, coat, appearance.diffuse_transmission_color,
            appearance.diffuse_transmission);
        let probability = crossing_probability(reflection);
        crossing.goes = unit_float(random) < probability;
        if crossing.goes {
            crossing.vertex.position = near.behind;
            crossing.vertex.behind = near.position;
            crossing.vertex.geometric_normal = -near.geometric_normal;
            crossing.vertex.shading_normal = -near.shading_normal;
            crossing.outgoing = outgoing - near.shading_normal * (2.0 * dot(outgoing, near.shading_normal));
            let tint = scattered_through(reflection) / probability;
            seen = Appearance(tint, 0.0, vec3(0.0), 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, vec3(1.0));
        } else {
            crossing.weight = 1.0 / (1.0 - probability);
        }
    }
    crossing.bsdf = make_bsdf(seen, crossing.vertex.shading_normal, crossing.outgoing);
    return crossing;
}
