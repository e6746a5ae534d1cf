// Whitted ray tracing kernel; counterpart of `pathtrace::WhittedTracer`.

/// Ray of a tree of rays that is still to be followed.
struct Branch {
    origin: vec3<f32>,
    /// Number of reflections and refractions before the ray.
    bounces: u32,
    direction: vec3<f32>,
    /// Weight of radiance along the ray at the camera.
    weight: vec3<f32>,
    /// Absorption coefficient of the medium that the ray passes, per meter.
    absorption: vec3<f32>,
}

/// Index in `tables` of the number of emitters. May be zero.
const EMITTERS: u32 = 2u;
/// Minimum weight of a ray, below the steps of an 8-bit picture.
const MIN_WEIGHT: f32 = 0.00390625;
/// Maximum number of reflections and refractions on a path, however little they absorb.
const MAX_BOUNCES: u32 = 30u;
/// Size of the stack. Each bounce leaves at most one ray behind.
const MAX_PENDING: u32 = 32u;
/// Upper bound on the rays of a tree. Surfaces do not amplify light, so that the rays after as many bounces have a total
/// weight of at most one in each of three channels. Thus there are at most 768 of them.
const MAX_RAYS: u32 = 23808u;

var<private> pending: array<Branch, MAX_PENDING>;
var<private> pending_count: u32;

/// Adds a ray to the stack, unless it counts too little.
fn push(branch: Branch) {
    if largest(branch.weight) >= MIN_WEIGHT && branch.bounces <= MAX_BOUNCES {
        pending[pending_count] = branch;
        pending_count++;
    }
}

/// Returns the reflected direct light of all emitters, and of a uniform sky. `seed` is that of the hit.
fn direct_light(vertex: Vertex, bsdf: Bsdf, sample_index: u32, seed: u32) -> vec3<f32> {
    let normal = bsdf.frame[2];
    let count = tables[EMITTERS];
    var sum = vec3(0.0);
    for (var emitter = 0u; emitter < count; emitter++) {
        let u = sobol_point(hash2(seed, emitter), sample_index).xy;
        let light = sample_emitter(emitter, vertex.position, normal, u);
        if largest(light.irradiance) <= 0.0 || !(largest(light.irradiance) < FAR)
            || dot(light.direction, vertex.geometric_normal) <= 0.0 {
            continue;
        }
        // A smooth surface shows emitters that rays can hit in its mirror reflection.
        var scattered = vec3(0.0);
        if light.pdf >= 0.0 {
            scattered = evaluate_diffuse(bsdf, light.direction);
        } else {
            scattered = evaluate_bsdf(bsdf, light.direction);
        }
        if any(scattered != vec3(0.0)) {
            sum += scattered * light.irradiance * light_through(light.ray);
        }
    }
    let u = sobol_point(hash2(seed, count), sample_index).xy;
    let direction = from_local(normal, cosine_hemisphere(u));
    // Not `&&`, because of branches; see `scene.wgsl`.
    if (tables[SKY_EMITTER] == NONE) & any(scene.sky_radiance > vec3(0.0))
        & (dot(direction, vertex.geometric_normal) > 0.0) {
        let sky = scene.sky_radiance * light_through(Ray(vertex.position, 0.0, direction, FAR));
        sum += evaluate_diffuse(bsdf, direction) * sky * PI;
    }
    return sum;
}

/// Adds the mirrored and the refracted ray of a smooth surface to the stack.
fn push_smooth(vertex: Vertex, bsdf: Bsdf, branch: Branch, absorption_beyond: vec3<f32>) {
    let mirrored = mirrored_share(bsdf.outgoing.z, bsdf.relative_ior);
    let layer = single_albedo(bsdf, bsdf.albedo_outgoing);
    let coated = layer * (1.0 - bsdf.coat_albedo_outgoing) + bsdf.coat_albedo_outgoing;
    let reflected = normalize(bsdf.frame * vec3(-bsdf.outgoing.xy, bsdf.outgoing.z));
    if dot(reflected, vertex.geometric_normal) > 0.0 {
        let share = coated * (1.0 - bsdf.glass) + bsdf.glass * mirrored;
        push(Branch(vertex.position, branch.bounces, reflected, branch.weight * share, branch.absorption));
    }
    let square = refracted_square(bsdf.outgoing.z, bsdf.relative_ior);
    let transmitted = bsdf.glass * (1.0 - mirrored);
    if square <= 0.0 || transmitted <= 0.0 {
        return;
    }
    let into = vec3(0.0, 0.0, bsdf.outgoing.z);
    let local = (into - bsdf.outgoing) / bsdf.relative_ior - vec3(0.0, 0.0, sqrt(square));
    let refracted = normalize(bsdf.frame * local);
    if dot(refracted, vertex.geometric_normal) < 0.0 {
        let weight = branch.weight * bsdf.tint * transmitted;
        push(Branch(vertex.behind, branch.bounces, refracted, weight, absorption_beyond));
    }
}

/// Traces the tree of rays of a camera ray.
fn trace(first: Ray, sample_index: u32, seed: u32) -> Seen {
    var seen = nothing_seen();
    pending_count = 0u;
    push(Branch(first.origin, 0u, first.direction, vec3(1.0), vec3(0.0)));
    for (var followed = 1u; followed <= MAX_RAYS; followed++) {
        if pending_count == 0u {
            break;
        }
        pending_count--;
        var branch = pending[pending_count];
        let is_first = followed == 1u;
        let hit = closest_hit(Ray(branch.origin, 0.0, branch.direction, FAR));
        seen.nodes = select(seen.nodes, f32(hit.steps), is_first);
        branch.weight *= hit.filtered;
        if hit.triangle == NONE {
            seen.radiance += branch.weight * with_background(sky_radiance_toward(branch.direction), is_first);
            continue;
        }
        branch.weight *= exponential(-branch.absorption * hit.t);
        seen.radiance += branch.weight * emitted_radiance(hit);
        let surface = surface_of(hit.triangle);
        let near = vertex_of(hit);
        let back = is_back(hit);
        let absorbs = back && (surfaces[surface].flags & BOTH_SIDES) == 0u;
        let bsdf = make_bsdf(appearance_at(surface, hit, back), near.shading_normal, -branch.direction);
        if is_first {
            seen.albedo = select(bsdf_albedo(bsdf), vec3(0.0), absorbs);
            seen.normal = select(bsdf.frame[2], near.shading_normal, absorbs);
            seen.depth = hit.t;
            seen.surface = surface;
        }
        if absorbs {
            continue;
        }
        let is_within = back && surfaces[surface].transmission > 0.0;
        if !is_within {
            seen.radiance += branch.weight * direct_light(near, bsdf, sample_index, hash2(seed, followed));
        }
        if is_smooth(bsdf) {
            branch.bounces++;
            push_smooth(near, bsdf, branch, select(surfaces[surface].absorption, vec3(0.0), is_within));
        }
    }
    return seen;
}
