// Rays through the KD-tree.
//
// A thread keeps the cells that it has yet to visit in a short stack (Horn et al. 2007). When that has run out of
// entries that it had to drop, the walk starts again at the deepest node above which nothing is left to do, and finds
// its way by a trail with a bit for each split on the way whose nearer side is done (Laine 2010, "Restart trail"). The
// trail counts where distances would have to be compared, so cells may overlap by what rounding can shift.
//
// `STACK_SIZE` is set by whoever joins the shader: 8 is the default, 0 restarts always, 32 never.

/// A walk through the tree.
struct Walk {
    /// One over the direction; directions are bent away from zero.
    inverse: vec3<f32>,
    /// How far, in t, rounding may shift what happens along each axis.
    slack: vec3<f32>,
    /// The cell that is to be visited.
    node: u32,
    /// Where the ray enters it.
    t0: f32,
    /// Where the ray leaves it.
    t1: f32,
    /// How many splits above the cell have both sides crossed, from `restart` on.
    level: u32,
    /// For each of them, from the highest bit down, whether the nearer side is done.
    trail: u32,
    /// Entries of the stack that hold.
    held: u32,
    /// Where the next entry goes; the stack is a ring.
    top: u32,
    /// The deepest node above which there is nothing left to visit.
    restart: u32,
    /// Where the ray enters and leaves it.
    restart_t0: f32,
    restart_t1: f32,
    /// Nodes that were visited.
    steps: u32,
}

/// A triangle that a ray met.
struct Hit {
    /// Distance along the ray, in units of its direction.
    t: f32,
    /// Its number in the tree, or `NONE`.
    triangle: u32,
    /// Weights of its second and third corner.
    barycentric: vec2<f32>,
    /// What blended surfaces on the way let through.
    filtered: vec3<f32>,
    /// The ray came from the side where its corners turn clockwise.
    back: bool,
    /// Nodes that were visited.
    steps: u32,
}

/// How far boxes are moved outwards, in parts of the largest coordinate: eight roundings of single precision.
const MARGIN: f32 = 1.0 / 1048576.0;
/// Nodes after which a walk is given up, so that no fault of a tree can hang a device.
const STEP_LIMIT: u32 = 16384u;

/// Cells to visit: the node, and the bits of where the ray leaves it. The ray enters where it left the cell before.
var<private> stack: array<vec2<u32>, STACK_ENTRIES>;

fn axis_of(v: vec3<f32>, axis: u32) -> f32 {
    return select(select(v.z, v.y, axis == 1u), v.x, axis == 0u);
}

fn largest(v: vec3<f32>) -> f32 {
    return max(v.x, max(v.y, v.z));
}

/// A walk at the root; `t0` lies behind `t1` when the ray misses the tree.
fn start_walk(ray: Ray) -> Walk {
    let margin = max(largest(abs(ray.origin)), scene.reach) * MARGIN;
    // Along the other axes a ray covers less than the margin before it is out of reach. So much it may be bent, which
    // keeps all products finite.
    let least = largest(abs(ray.direction)) * 1e-9;
    let inverse = 1.0 / select(ray.direction, vec3(least), abs(ray.direction) < vec3(least));
    let slack = abs(inverse) * margin;
    let below = (scene.bounds_min - ray.origin) * inverse;
    let above = (scene.bounds_max - ray.origin) * inverse;
    let enter = min(below, above) - slack;
    let leave = max(below, above) + slack;
    let t0 = max(ray.t_min, largest(enter));
    let t1 = min(ray.t_max, min(leave.x, min(leave.y, leave.z)));
    return Walk(inverse, slack, 0u, t0, t1, 0u, 0u, 0u, 0u, 0u, t0, t1, 0u);
}

/// Notes that nothing is left to do above the current node: the splits on the way from there are counted anew.
fn restart_here(walk: ptr<function, Walk>) {
    (*walk).restart = (*walk).node;
    (*walk).restart_t0 = (*walk).t0;
    (*walk).restart_t1 = (*walk).t1;
    (*walk).level = 0u;
    (*walk).trail <<= 1u;
}

/// Goes down to a leaf, nearer sides first, and answers it. `t0` and `t1` of all leaves together tile the ray.
fn descend(walk: ptr<function, Walk>, origin: vec3<f32>) -> vec2<u32> {
    var node = nodes[(*walk).node];
    while (node.y & 3u) != 3u && (*walk).steps < STEP_LIMIT {
        (*walk).steps++;
        let axis = node.y & 3u;
        let inverse = axis_of((*walk).inverse, axis);
        let slack = axis_of((*walk).slack, axis);
        let t = (bitcast<f32>(node.x) - axis_of(origin, axis)) * inverse;
        let falls = u32(inverse < 0.0);
        let near = (node.y >> 2u) + falls;
        let far = (node.y >> 2u) + 1u - falls;
        let near_only = t - slack > (*walk).t1;
        if near_only || t + slack < (*walk).t0 {
            (*walk).node = select(far, near, near_only);
            if (*walk).level == 0u {
                (*walk).restart = (*walk).node;
            }
        } else {
            let bit = 0x80000000u >> (*walk).level;
            (*walk).level++;
            if ((*walk).trail & bit) != 0u {
                (*walk).node = far;
                (*walk).t0 = max((*walk).t0, t);
                if (*walk).level == 1u {
                    restart_here(walk);
                }
            } else {
                if STACK_SIZE > 0u {
                    stack[(*walk).top] = vec2(far, bitcast<u32>((*walk).t1));
                    (*walk).top = ((*walk).top + 1u) % STACK_ENTRIES;
                    (*walk).held = min((*walk).held + 1u, STACK_SIZE);
                }
                (*walk).node = near;
                (*walk).t1 = min((*walk).t1, t);
            }
        }
        node = nodes[(*walk).node];
    }
    return node;
}

/// Goes on after a leaf: false when the whole ray has been walked.
fn advance(walk: ptr<function, Walk>) -> bool {
    let levels = select(0xffffffffu << (32u - (*walk).level), 0u, (*walk).level == 0u);
    let undone = ~(*walk).trail & levels;
    if undone == 0u || (*walk).steps >= STEP_LIMIT {
        return false;
    }
    // The deepest split whose far side is still to be visited; what lies below it is forgotten.
    let bit = undone & (~undone + 1u);
    (*walk).trail = ((*walk).trail & ~(bit - 1u)) | bit;
    if (*walk).held > 0u {
        (*walk).held--;
        (*walk).top = ((*walk).top + STACK_ENTRIES - 1u) % STACK_ENTRIES;
        let entry = stack[(*walk).top];
        (*walk).node = entry.x;
        (*walk).t0 = (*walk).t1;
        (*walk).t1 = bitcast<f32>(entry.y);
        (*walk).level = countLeadingZeros(bit) + 1u;
        if (*walk).level == 1u {
            restart_here(walk);
        }
    } else {
        (*walk).node = (*walk).restart;
        (*walk).t0 = (*walk).restart_t0;
        (*walk).t1 = (*walk).restart_t1;
        (*walk).level = 0u;
    }
    return true;
}

fn hit_triangle(sheared: ShearedRay, origin: vec3<f32>, triangle: u32) -> TriangleHit {
    let corners = triangles[triangle];
    return intersect_triangle(sheared, origin, corners.a, corners.b, corners.c);
}

/// The nearest triangle that stops the ray, or one whose number is `NONE`.
fn closest_hit(ray: Ray) -> Hit {
    let sheared = sheared_ray(ray);
    var walk = start_walk(ray);
    var best = Hit(ray.t_max, NONE, vec2(0.0), vec3(1.0), false, 0u);
    if walk.t0 > walk.t1 {
        return best;
    }
    loop {
        let leaf = descend(&walk, ray.origin);
        let first = leaf.x;
        let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
        var tinted = false;
        for (var reference = first; reference < end; reference++) {
            let triangle = references[reference];
            let hit = hit_triangle(sheared, ray.origin, triangle);
            if hit.t >= ray.t_min && (hit.t < best.t || (hit.t == best.t && triangle < best.triangle)) {
                if (triangles[triangle].surface & PASSABLE) != 0u {
                    let tint = passing_tint(ray, triangle, hit);
                    if tint.x >= 0.0 {
                        tinted = tinted || any(tint != vec3(1.0));
                        continue;
                    }
                }
                best.t = hit.t;
                best.triangle = triangle;
                best.barycentric = hit.barycentric;
                best.back = hit.back;
            }
        }
        if tinted {
            best.filtered *= tints_in_leaf(ray, sheared, first, end, walk.t0, min(walk.t1, best.t));
        }
        if !advance(&walk) || walk.t0 > best.t {
            break;
        }
    }
    best.steps = walk.steps;
    return best;
}

/// What the blended surfaces that a ray passes in a leaf let through together. A triangle in several leaves counts in the
/// one where the ray meets it.
fn tints_in_leaf(ray: Ray, sheared: ShearedRay, first: u32, end: u32, t0: f32, t1: f32) -> vec3<f32> {
    var product = vec3(1.0);
    for (var reference = first; reference < end; reference++) {
        let triangle = references[reference];
        if (triangles[triangle].surface & PASSABLE) == 0u {
            continue;
        }
        let hit = hit_triangle(sheared, ray.origin, triangle);
        if hit.t >= t0 && hit.t < t1 {
            let tint = passing_tint(ray, triangle, hit);
            product *= select(vec3(1.0), tint, tint.x >= 0.0);
        }
    }
    return product;
}

/// How much light crosses the ray's interval, per channel.
fn light_through(ray: Ray) -> vec3<f32> {
    let sheared = sheared_ray(ray);
    var walk = start_walk(ray);
    var through = vec3(1.0);
    if walk.t0 > walk.t1 {
        return through;
    }
    loop {
        let leaf = descend(&walk, ray.origin);
        let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
        for (var reference = leaf.x; reference < end; reference++) {
            let triangle = references[reference];
            let hit = hit_triangle(sheared, ray.origin, triangle);
            if hit.t < ray.t_min || hit.t > ray.t_max {
                continue;
            }
            if (triangles[triangle].surface & PASSABLE) == 0u {
                return vec3(0.0);
            }
            let let_through = transmittance(triangle, hit.barycentric);
            if all(let_through == vec3(0.0)) {
                return vec3(0.0);
            }
            if hit.t >= walk.t0 && hit.t < walk.t1 {
                through *= let_through;
            }
        }
        if !advance(&walk) {
            break;
        }
    }
    return through;
}
