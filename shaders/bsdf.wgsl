// How surfaces scatter light, a matt base under a glossy layer or glass: the twin of `pathtrace::Bsdf`.

/// What one point of a surface looks like.
struct Appearance {
    base_color: vec3<f32>,
    metallic: f32,
    reflectance: vec3<f32>,
    roughness: f32,
    /// How much is covered by varnish.
    clearcoat: f32,
    clearcoat_roughness: f32,
    /// The part of the light that goes into glass.
    transmission: f32,
    /// Index of refraction beyond the surface over that before it.
    relative_ior: f32,
    /// The part of diffuse light that is scattered through the surface.
    diffuse_transmission: f32,
}

/// A direction that light may come from.
struct Scattered {
    /// Unit vector away from the surface, on either side of it.
    direction: vec3<f32>,
    /// Density of the choice per steradian; zero for light that comes through the surface.
    density: f32,
    /// What radiance from there counts toward the viewer, divided by the density; zero where there is none.
    weight: vec3<f32>,
    /// It comes through the surface.
    through: bool,
}

/// How a point scatters light toward one direction.
struct Bsdf {
    /// Tangent, bitangent and shading normal.
    frame: mat3x3<f32>,
    /// Toward the viewer, in the frame.
    outgoing: vec3<f32>,
    /// Perceptual roughness.
    roughness: f32,
    /// Reflectance of a microfacet that light falls on straight.
    straight: vec3<f32>,
    /// The same at a grazing angle.
    grazing: f32,
    /// Colour of light that microfacets have scattered several times.
    multiple: vec3<f32>,
    /// Chance of sampling the microfacets rather than the base.
    glossy_chance: f32,
    /// Reflectance of the matt base.
    base: vec3<f32>,
    /// What share of light white facets reflect, and those that shine only at the rim: all angles.
    albedo: vec2<f32>,
    /// The same toward the viewer.
    albedo_outgoing: vec2<f32>,
    /// Colour of light that goes through the surface.
    tint: vec3<f32>,
    /// The share of glass, the rest is as opaque as plastic.
    glass: f32,
    /// Index of refraction beyond the surface over that before it.
    relative_ior: f32,
    /// Share of light toward the viewer that glass loses in one go, and its means over all directions before and behind.
    lost: f32,
    lost_before: f32,
    lost_behind: f32,
    /// How much is covered by varnish, and how rough that is.
    coat: f32,
    coat_roughness: f32,
    /// What share of light varnish mirrors toward the viewer, and over all directions.
    coat_albedo_outgoing: f32,
    coat_albedo: f32,
    /// Chance of sampling it rather than what is below.
    coat_chance: f32,
}

/// Smallest perceptual roughness.
const LEAST_ROUGHNESS: f32 = 0.03;
/// Smallest cosine toward the viewer.
const LEAST_COSINE: f32 = 1e-3;
/// Perceptual roughness up to which a surface counts as smooth.
const SMOOTH: f32 = 0.2;
/// Nearest to one that a relative index of refraction comes.
const LEAST_BEND: f32 = 1e-3;
/// Entries along each axis of the table of albedos.
const ALBEDO_STEPS: u32 = 32u;

/// Albedos over roughness and the square root of the cosine, then their means over all directions; two to an entry.
@group(0) @binding(2) var<uniform> layer_albedos: array<vec4<f32>, 528>;

/// Entries of the table of what rough glass loses over cosine, roughness and bend, and its rows for each side.
const LOSS_COSINES: u32 = 16u;
const LOSS_ROUGHNESSES: u32 = 12u;
const LOSS_BENDS: u32 = 12u;
const LOSS_ROWS: u32 = 144u;
/// Mean losses below which facets count as smooth.
const LEAST_LOSS: f32 = 1e-5;
/// What varnish mirrors straight on.
const COAT_STRAIGHT: f32 = 0.04;

/// What rough glass loses in one go, as `pathtrace::Losses` lists it.
@group(0) @binding(12) var<uniform> glass_losses: array<vec4<f32>, 1224>;

fn loss_entry(index: u32) -> f32 {
    return glass_losses[index / 4u][index % 4u];
}

/// The entry before a number between zero and one, and how far beyond it the number is, along an axis of some entries.
fn place_among(value: f32, entries: u32) -> vec2<f32> {
    let position = clamp(value, 0.0, 1.0) * f32(entries - 1u);
    let before = min(floor(position), f32(entries - 2u));
    return vec2(before, position - before);
}

/// The first of four rows around a border, and how far beyond it the border is in roughness and bend.
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

/// The share of light that glass loses toward a direction with this cosine to the normal.
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

/// The mean over all directions, weighted by their cosine.
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

/// What share of light varnish mirrors.
fn coat_share(strength: f32, albedo: vec2<f32>) -> f32 {
    return strength * (COAT_STRAIGHT * (albedo.x - albedo.y) + albedo.y);
}

fn table_albedo(index: u32) -> vec2<f32> {
    let pair = layer_albedos[index / 2u];
    return select(pair.xy, pair.zw, (index & 1u) == 1u);
}

/// The entry before a number between zero and one, and how far beyond it the number is.
fn table_place(value: f32) -> vec2<f32> {
    let position = clamp(value, 0.0, 1.0) * f32(ALBEDO_STEPS - 1u);
    let before = min(floor(position), f32(ALBEDO_STEPS - 2u));
    return vec2(before, position - before);
}

fn albedo_in_row(row: u32, column: vec2<f32>) -> vec2<f32> {
    let entry = row * ALBEDO_STEPS + u32(column.x);
    return mix(table_albedo(entry), table_albedo(entry + 1u), column.y);
}

/// What share of light a layer reflects toward a direction with this cosine to the normal.
fn albedo_toward(cosine: f32, roughness: f32) -> vec2<f32> {
    let row = table_place(roughness);
    let column = table_place(sqrt(max(cosine, 0.0)));
    return mix(albedo_in_row(u32(row.x), column), albedo_in_row(u32(row.x) + 1u, column), row.y);
}

/// The mean over all directions, weighted by their cosine.
fn mean_albedo(roughness: f32) -> vec2<f32> {
    let row = table_place(roughness);
    let entry = ALBEDO_STEPS * ALBEDO_STEPS + u32(row.x);
    return mix(table_albedo(entry), table_albedo(entry + 1u), row.y);
}

/// The normal, or the nearest to it that the viewer is in front of.
fn facing_viewer(normal: vec3<f32>, outgoing: vec3<f32>) -> vec3<f32> {
    let cosine = dot(normal, outgoing);
    if cosine >= LEAST_COSINE {
        return normal;
    }
    return normalize(normal + outgoing * (LEAST_COSINE - cosine) * 1.01);
}

fn to_local(frame: mat3x3<f32>, direction: vec3<f32>) -> vec3<f32> {
    return vec3(dot(direction, frame[0]), dot(direction, frame[1]), dot(direction, frame[2]));
}

/// The share of light that a layer reflects in one go.
fn single_albedo(bsdf: Bsdf, albedo: vec2<f32>) -> vec3<f32> {
    return bsdf.straight * (albedo.x - albedo.y) + bsdf.grazing * albedo.y;
}

/// What share the layer reflects, in one go and in several.
fn layer_albedo(bsdf: Bsdf, albedo: vec2<f32>) -> vec3<f32> {
    return single_albedo(bsdf, albedo) + bsdf.multiple * (1.0 - albedo.x);
}

/// What is seen along `outgoing`, a unit vector away from a surface with this unit normal.
fn make_bsdf(appearance: Appearance, surface_normal: vec3<f32>, outgoing: vec3<f32>) -> Bsdf {
    var bsdf: Bsdf;
    let normal = facing_viewer(surface_normal, outgoing);
    bsdf.frame = orthonormal_basis(normal);
    bsdf.outgoing = to_local(bsdf.frame, outgoing);
    bsdf.roughness = max(appearance.roughness, LEAST_ROUGHNESS);
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
    bsdf.relative_ior = select(appearance.relative_ior, 1.0 + select(LEAST_BEND, -LEAST_BEND, bend < 0.0), abs(bend) < LEAST_BEND);
    let glossy = luminance(single_albedo(bsdf, bsdf.albedo_outgoing));
    let matt = luminance(bsdf.base * (vec3(1.0) - layer_albedo(bsdf, bsdf.albedo_outgoing))
        + bsdf.multiple * (1.0 - bsdf.albedo_outgoing.x));
    bsdf.glossy_chance = select(0.0, glossy / (glossy + matt), glossy + matt > 0.0);
    bsdf.coat = appearance.clearcoat;
    bsdf.coat_roughness = max(appearance.clearcoat_roughness, LEAST_ROUGHNESS);
    if bsdf.coat > 0.0 {
        bsdf.coat_albedo_outgoing = coat_share(bsdf.coat, albedo_toward(bsdf.outgoing.z, bsdf.coat_roughness));
        bsdf.coat_albedo = coat_share(bsdf.coat, mean_albedo(bsdf.coat_roughness));
        let below = (1.0 - bsdf.coat_albedo_outgoing) * (glossy + matt);
        bsdf.coat_chance = bsdf.coat_albedo_outgoing / (bsdf.coat_albedo_outgoing + below);
    }
    if bsdf.glass > 0.0 {
        bsdf.lost = loss_toward(bsdf.outgoing.z, bsdf.roughness, bsdf.relative_ior);
        bsdf.lost_before = mean_loss(bsdf.roughness, bsdf.relative_ior);
        bsdf.lost_behind = mean_loss(bsdf.roughness, 1.0 / bsdf.relative_ior);
    }
    return bsdf;
}

/// Area of facets per solid angle of their normals and per area of the surface.
fn facet_distribution(alpha: f32, facet: vec3<f32>) -> f32 {
    let alpha_squared = alpha * alpha;
    let spread = dot(facet.xy, facet.xy) + alpha_squared * facet.z * facet.z;
    return alpha_squared / (PI * spread * spread);
}

/// Smith's ratio of hidden to visible facets.
fn hidden_facets(alpha: f32, direction: vec3<f32>) -> f32 {
    let slope_squared = dot(direction.xy, direction.xy) / (direction.z * direction.z);
    return 0.5 * (sqrt(1.0 + alpha * alpha * slope_squared) - 1.0);
}

fn half_way(outgoing: vec3<f32>, incoming: vec3<f32>) -> vec3<f32> {
    let sum = outgoing + incoming;
    let squared = dot(sum, sum);
    return select(vec3(0.0, 0.0, 1.0), sum * inverseSqrt(squared), squared > 0.0);
}

/// What perfectly reflecting facets of some roughness scatter between two directions, per steradian, in one go.
fn evaluate_facets(bsdf: Bsdf, roughness: f32, incoming: vec3<f32>, facet: vec3<f32>) -> f32 {
    let alpha = roughness * roughness;
    let visible = 1.0 / (1.0 + hidden_facets(alpha, bsdf.outgoing) + hidden_facets(alpha, incoming));
    return facet_distribution(alpha, facet) * visible / (4.0 * bsdf.outgoing.z * incoming.z);
}

/// Density per steradian of the reflections at `visible_normal`.
fn facets_density(bsdf: Bsdf, roughness: f32, facet: vec3<f32>) -> f32 {
    let alpha = roughness * roughness;
    return facet_distribution(alpha, facet) / ((1.0 + hidden_facets(alpha, bsdf.outgoing)) * 4.0 * bsdf.outgoing.z);
}

/// A facet's normal, chosen as often as facets are seen.
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

/// The square of the cosine beyond a border; negative under total reflection.
fn refracted_square(cosine: f32, relative_ior: f32) -> f32 {
    return 1.0 - (1.0 - cosine * cosine) / (relative_ior * relative_ior);
}

/// The part of unpolarised light that a border mirrors.
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

/// What facets mirror in one go below a coat.
fn evaluate_glossy(bsdf: Bsdf, incoming: vec3<f32>, facet: vec3<f32>) -> vec3<f32> {
    let rim = clamp(1.0 - dot(incoming, facet), 0.0, 1.0);
    let rim_squared = rim * rim;
    let fresnel = bsdf.straight + (vec3(bsdf.grazing) - bsdf.straight) * (rim_squared * rim_squared * rim);
    return fresnel * evaluate_facets(bsdf, bsdf.roughness, incoming, facet);
}

/// What facets scatter several times, and the base under them.
fn evaluate_matt(bsdf: Bsdf, incoming: vec3<f32>) -> vec3<f32> {
    if bsdf.glossy_chance == 0.0 {
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

/// The part that is no glass: light from a direction in the frame.
fn evaluate_opaque(bsdf: Bsdf, incoming: vec3<f32>, facet: vec3<f32>) -> vec3<f32> {
    var glossy = vec3(0.0);
    if bsdf.glossy_chance > 0.0 {
        glossy = evaluate_glossy(bsdf, incoming, facet);
    }
    let matt = evaluate_matt(bsdf, incoming);
    if bsdf.coat == 0.0 {
        return glossy + matt;
    }
    let rim = clamp(1.0 - dot(incoming, facet), 0.0, 1.0);
    let rim_squared = rim * rim;
    let fresnel = COAT_STRAIGHT + (1.0 - COAT_STRAIGHT) * (rim_squared * rim_squared * rim);
    let coat = bsdf.coat * fresnel * evaluate_facets(bsdf, bsdf.coat_roughness, incoming, facet);
    let passed = passed_coat(bsdf, incoming);
    return vec3(coat) + glossy * passed.x + matt * passed.y;
}

/// What gets through a coat twice, on the way in and out again: of what is glossy below it, and of what is matt.
fn passed_coat(bsdf: Bsdf, incoming: vec3<f32>) -> vec2<f32> {
    let there = 1.0 - coat_share(bsdf.coat, albedo_toward(incoming.z, bsdf.coat_roughness));
    let back = 1.0 - bsdf.coat_albedo_outgoing;
    return vec2(min(there, back), there * back / max(1.0 - bsdf.coat_albedo, 1e-6));
}

/// True when it mirrors or refracts so clearly that one ray can stand for what is seen there.
fn is_smooth(bsdf: Bsdf) -> bool {
    let is_coat_smooth = bsdf.coat > 0.0 && bsdf.coat_roughness <= SMOOTH;
    return is_coat_smooth || (bsdf.roughness <= SMOOTH && bsdf.glass + bsdf.glossy_chance > 0.0);
}

/// True when paths from the eye are better at finding what is seen there than paths from lights.
fn is_for_eye_paths(bsdf: Bsdf) -> bool {
    return is_smooth(bsdf) || bsdf.glass > 0.0;
}

/// `evaluate_bsdf` without what microfacets mirror in one go, where there are any that mirror smoothly.
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
    return evaluate_matt(bsdf, incoming) * ((1.0 - bsdf.glass) * passed);
}

/// What glass loses in one go on both sides; a direction behind counts as many as it bends to before.
fn lost_mean(bsdf: Bsdf) -> f32 {
    return bsdf.lost_before + bsdf.relative_ior * bsdf.relative_ior * bsdf.lost_behind;
}

/// What glass mirrors in one go, from a direction in the frame.
fn mirrored_once(bsdf: Bsdf, incoming: vec3<f32>, facet: vec3<f32>) -> f32 {
    return mirrored_share(dot(incoming, facet), bsdf.relative_ior)
        * evaluate_facets(bsdf, bsdf.roughness, incoming, facet);
}

/// Radiance toward the viewer per irradiance from a direction, per steradian; without light that comes through.
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
        if lost_mean(bsdf) >= LEAST_LOSS {
            let lost = loss_toward(incoming.z, bsdf.roughness, bsdf.relative_ior);
            glass += bsdf.lost * lost / (PI * lost_mean(bsdf));
        }
        sum += bsdf.glass * glass;
    }
    return sum;
}

/// Probability density per steradian with which `sample_bsdf` chooses a direction before the surface.
fn bsdf_density(bsdf: Bsdf, direction: vec3<f32>) -> f32 {
    let incoming = to_local(bsdf.frame, direction);
    if incoming.z <= 0.0 {
        return 0.0;
    }
    let facet = half_way(bsdf.outgoing, incoming);
    var opaque = (1.0 - bsdf.glossy_chance) * incoming.z / PI;
    if bsdf.glossy_chance > 0.0 {
        opaque += bsdf.glossy_chance * facets_density(bsdf, bsdf.roughness, facet);
    }
    if bsdf.coat > 0.0 {
        opaque = mix(opaque, facets_density(bsdf, bsdf.coat_roughness, facet), bsdf.coat_chance);
    }
    var glass = 0.0;
    if bsdf.glass > 0.0 {
        glass = mirrored_once(bsdf, incoming, facet) * incoming.z;
        if lost_mean(bsdf) >= LEAST_LOSS {
            glass += bsdf.lost * bsdf.lost_before / lost_mean(bsdf) / TAU;
        }
    }
    return bsdf.glass * glass + (1.0 - bsdf.glass) * opaque;
}

/// Light that comes through glass from a direction in the frame.
fn through_glass(bsdf: Bsdf, local: vec3<f32>, weight: f32) -> Scattered {
    return Scattered(normalize(bsdf.frame * local), 0.0, bsdf.tint * weight, true);
}

/// A direction that light may come from, on either side of the surface.
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
        // What is left of the number decides whether the light gets out.
        let rest = select((within - mirrored) / (1.0 - mirrored), within / mirrored, is_mirrored);
        let alpha = bsdf.roughness * bsdf.roughness;
        let hidden = hidden_facets(alpha, bsdf.outgoing);
        let lit_of_seen = (1.0 + hidden) / (1.0 + hidden + hidden_facets(alpha, local));
        let is_out = (local.z > 0.0) == is_mirrored && local.z != 0.0 && rest < lit_of_seen;
        if is_out && !is_mirrored {
            return through_glass(bsdf, local, 1.0);
        }
        if !is_out {
            if lost_mean(bsdf) < LEAST_LOSS {
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
        let is_coat = among_opaque < bsdf.coat_chance;
        if is_coat || among_opaque < bsdf.coat_chance + (1.0 - bsdf.coat_chance) * bsdf.glossy_chance {
            let facet = visible_normal(bsdf, select(bsdf.roughness, bsdf.coat_roughness, is_coat), u);
            local = facet * (2.0 * dot(bsdf.outgoing, facet)) - bsdf.outgoing;
        }
    }
    if local.z <= 0.0 {
        return nothing;
    }
    let direction = normalize(bsdf.frame * local);
    let density = bsdf_density(bsdf, direction);
    if density <= 0.0 {
        return nothing;
    }
    let weight = evaluate_bsdf(bsdf, direction) * (dot(direction, bsdf.frame[2]) / density);
    return Scattered(direction, density, weight, false);
}

/// What the base and the layer reflect together of light that comes alike from everywhere.
fn bsdf_albedo(bsdf: Bsdf) -> vec3<f32> {
    let layer = layer_albedo(bsdf, bsdf.albedo_outgoing);
    let below = layer + bsdf.base * (vec3(1.0) - layer);
    let opaque = below * (1.0 - bsdf.coat_albedo_outgoing) + bsdf.coat_albedo_outgoing;
    let mirrored = mirrored_share(bsdf.outgoing.z, bsdf.relative_ior);
    return opaque * (1.0 - bsdf.glass) + (bsdf.tint * (1.0 - mirrored) + mirrored) * bsdf.glass;
}

/// The appearance of a surface where a ray met it.
fn appearance_at(surface: u32, hit: Hit, back: bool) -> Appearance {
    let pictures = read_pictures(surface, hit.triangle, hit.barycentric);
    let base = base_color_of(surface, pictures[BASE_COLOR], hit.triangle, hit.barycentric);
    let ior = surfaces[surface].ior;
    return Appearance(
        clamp(base.xyz, vec3(0.0), vec3(1.0)),
        clamp(surfaces[surface].metallic * pictures[METALLIC_ROUGHNESS].z, 0.0, 1.0),
        surfaces[surface].reflectance * pictures[SPECULAR].w * pictures[SPECULAR_TINT].xyz,
        clamp(surfaces[surface].roughness * pictures[METALLIC_ROUGHNESS].y, 0.0, 1.0),
        clamp(surfaces[surface].clearcoat * pictures[CLEARCOAT].x, 0.0, 1.0),
        clamp(surfaces[surface].clearcoat_roughness * pictures[CLEARCOAT_ROUGHNESS].y, 0.0, 1.0),
        clamp(surfaces[surface].transmission * pictures[TRANSMISSION].x, 0.0, 1.0),
        select(ior, 1.0 / ior, back),
        clamp(surfaces[surface].diffuse_transmission, 0.0, 1.0),
    );
}

/// The far side of a surface that a ray met, if light is scattered through it and chance has the path go on there.
struct Crossing {
    goes: bool,
    /// What the side counts on which the path goes on.
    weight: f32,
    vertex: Vertex,
    bsdf: Bsdf,
    /// Toward the ray's origin, as the far side sees it.
    outgoing: vec3<f32>,
}

/// By chance, the far side of a surface, else the near one.
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
        let color = surfaces[surface].diffuse_transmission_color;
        let look = Look(
            appearance.base_color, appearance.metallic, layer, coat, color, appearance.diffuse_transmission);
        let chance = crossing_chance(look);
        crossing.goes = unit_float(random) < chance;
        if crossing.goes {
            crossing.vertex.position = near.behind;
            crossing.vertex.behind = near.position;
            crossing.vertex.geometric_normal = -near.geometric_normal;
            crossing.vertex.shading_normal = -near.shading_normal;
            crossing.outgoing = outgoing - near.shading_normal * (2.0 * dot(outgoing, near.shading_normal));
            let tint = scattered_through(look) / chance;
            seen = Appearance(tint, 0.0, vec3(0.0), 1.0, 0.0, 0.0, 0.0, 1.0, 0.0);
        } else {
            crossing.weight = 1.0 / (1.0 - chance);
        }
    }
    crossing.bsdf = make_bsdf(seen, crossing.vertex.shading_normal, crossing.outgoing);
    return crossing;
}
