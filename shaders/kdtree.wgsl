// Rays through the KD-trees.
//
// One tree holds all that stands still, in world space. What moves has the tree of its mesh, in the mesh's own space; a
// ray is taken there, and its direction keeps its length, so that t means the same everywhere. Triangles are met in world
// space all the same, so that a hit does not depend on the tree that led to it. One loop walks the leaves of all trees: a
// thread that is done with one tree goes on with the next whose box its ray meets.
//
// A thread keeps the cells that it has yet to visit in a short stack (Horn et al. 2007). When that has run out of
// entries that it had to drop, the walk starts again at the deepest node above which nothing is left to do, and finds
// its way by a trail with a bit for each split on the way whose nearer side is done (Laine 2010, "Restart trail"). The
// trail counts where distances would have to be compared, so cells may overlap by what rounding can shift.
//
// `STACK_SIZE` is set by whoever joins the shader: 8 is the default, 0 restarts always, 32 never. So is `WALKS_MOVERS`, false
// for scenes without any: on lavapipe, threads wait for each other over code that none of them needs.

/// A walk through a tree.
struct Walk {
    /// Where the ray starts in the tree's space.
    origin: vec3<f32>,
    /// The first of the triangles that the tree's leaves count from.
    first_triangle: u32,
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
    /// Nodes that were visited, of all trees.
    steps: u32,
    /// Where the list of movers goes on; zero at its start.
    next_mover: u32,
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
    /// Something behind it may have been filtered, too.
    is_overtinted: bool,
}

/// How far boxes are moved outwards, in parts of the largest coordinate: eight roundings of single precision.
const MARGIN: f32 = 1.0 / 1048576.0;
/// Pairs of words of an entry of the list of movers.
const MOVER_ENTRY: u32 = 4u;
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

/// One over a direction. Along the other axes a ray covers less than rounding shifts it before it is out of reach. So much
/// it may be bent, which keeps all products finite.
fn inverse_of(direction: vec3<f32>) -> vec3<f32> {
    let least = largest(abs(direction)) * 1e-9;
    return 1.0 / select(direction, vec3(least), abs(direction) < vec3(least));
}

/// Where a ray enters and leaves a box whose faces may be shifted by `slack`, in t; it misses the box when it leaves
/// before it enters.
fn cross_box(origin: vec3<f32>, inverse: vec3<f32>, slack: vec3<f32>, low: vec3<f32>, high: vec3<f32>) -> vec2<f32> {
    let below = (low - origin) * inverse;
    let above = (high - origin) * inverse;
    let enter = min(below, above) - slack;
    let leave = max(below, above) + slack;
    return vec2(largest(enter), min(leave.x, min(leave.y, leave.z)));
}

/// Goes to the root of the tree of all that stands still; `t0` lies behind `t1` when the ray misses it.
fn start_walk(ray: Ray, t_max: f32, steps: u32) -> Walk {
    let margin = max(largest(abs(ray.origin)), scene.reach) * MARGIN;
    let inverse = inverse_of(ray.direction);
    let slack = abs(inverse) * margin;
    let crossed = cross_box(ray.origin, inverse, slack, scene.bounds_min, scene.bounds_max);
    let t0 = max(ray.t_min, crossed.x);
    let t1 = min(t_max, crossed.y);
    return Walk(ray.origin, 0u, inverse, slack, 0u, t0, t1, 0u, 0u, 0u, 0u, 0u, t0, t1, steps, 0u);
}

/// Goes to the root of the next mover's tree whose box the ray meets before `t_max`: false when there is none left.
///
/// Movers are the leaves of boxes within boxes, listed from the outermost inwards: behind each box stands what lies in it.
/// So all that a thread needs to know is how far down the list it is.
fn enter_next_mover(walk: ptr<function, Walk>, ray: Ray, t_max: f32) -> bool {
    let list = nodes[1];
    var entry = max((*walk).next_mover, list.x);
    if entry >= list.y {
        return false;
    }
    let inverse = inverse_of(ray.direction);
    let slack = abs(inverse) * (largest(abs(ray.origin)) * MARGIN);
    while entry < list.y && (*walk).steps < STEP_LIMIT {
        (*walk).steps++;
        let a = bitcast<vec2<f32>>(nodes[entry]);
        let b = bitcast<vec2<f32>>(nodes[entry + 1u]);
        let c = bitcast<vec2<f32>>(nodes[entry + 2u]);
        // Where the list goes on behind all that lies in the box, and the mover that is all of it.
        let rest = nodes[entry + 3u];
        let crossed = cross_box(ray.origin, inverse, slack, vec3(a, b.x), vec3(b.y, c));
        if max(ray.t_min, crossed.x) > min(t_max, crossed.y) {
            entry = rest.x;
            continue;
        }
        entry += MOVER_ENTRY;
        if rest.y != NONE && enter_mover(walk, ray, t_max, rest.y) {
            (*walk).next_mover = entry;
            return true;
        }
    }
    (*walk).next_mover = entry;
    return false;
}

/// Goes to the root of a mover's tree: false when the ray misses it.
fn enter_mover(walk: ptr<function, Walk>, ray: Ray, t_max: f32, surface: u32) -> bool {
    let x_row = surfaces[surface].from_world[0];
    let y_row = surfaces[surface].from_world[1];
    let z_row = surfaces[surface].from_world[2];
    let from_world = transpose(mat3x3(x_row.xyz, y_row.xyz, z_row.xyz));
    let origin = from_world * ray.origin + vec3(x_row.w, y_row.w, z_row.w);
    let inverse = inverse_of(from_world * ray.direction);
    let margin = (surfaces[surface].reach + surfaces[surface].stretch * largest(abs(ray.origin))) * MARGIN;
    let slack = abs(inverse) * margin;
    let crossed = cross_box(origin, inverse, slack, surfaces[surface].tree_min, surfaces[surface].tree_max);
    let t0 = max(ray.t_min, crossed.x);
    let t1 = min(t_max, crossed.y);
    let first_triangle = surfaces[surface].first_triangle;
    let root = surfaces[surface].root;
    let steps = (*walk).steps;
    *walk = Walk(origin, first_triangle, inverse, slack, root, t0, t1, 0u, 0u, 0u, 0u, root, t0, t1, steps, 0u);
    return t0 <= t1;
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
fn descend(walk: ptr<function, Walk>) -> vec2<u32> {
    var node = nodes[(*walk).node];
    while (node.y & 3u) != 3u && (*walk).steps < STEP_LIMIT {
        (*walk).steps++;
        let axis = node.y & 3u;
        let inverse = axis_of((*walk).inverse, axis);
        let slack = axis_of((*walk).slack, axis);
        let t = (bitcast<f32>(node.x) - axis_of((*walk).origin, axis)) * inverse;
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

/// Goes on after a leaf: false when nothing of the tree is left.
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

/// How much farther than it is the back of a triangle counts that lies in one place with another which looks the other way:
/// the twin of `kdtree::twins`.
fn twin_gap(ray: Ray, t: f32) -> f32 {
    return 2e-5 + 4e-6 * (largest(abs(ray.origin)) + abs(t));
}

/// How far away a hit counts as.
fn counts_at(ray: Ray, triangle: u32, hit: TriangleHit) -> f32 {
    if (triangles[triangle].surface & TWIN) == 0u {
        return hit.t;
    }
    let is_mirrored = (surfaces[surface_of(triangle)].flags & MIRRORED) != 0u;
    return select(hit.t, hit.t + twin_gap(ray, hit.t), hit.back != is_mirrored);
}

/// The nearest triangle that stops the ray, or one whose number is `NONE`.
fn closest_hit(ray: Ray) -> Hit {
    var hit = Hit(ray.t_max, NONE, vec2(0.0), vec3(1.0), false, 0u, false);
    loop {
        hit = closest_before(ray, hit.t);
        if !hit.is_overtinted {
            break;
        }
        // Once more, now that it is known where the ray ends.
    }
    return hit;
}

/// The nearest triangle that stops the ray before `t_max`.
fn closest_before(ray: Ray, t_max: f32) -> Hit {
    let sheared = sheared_ray(ray);
    var walk = start_walk(ray, t_max, 0u);
    var goes_on = walk.t0 <= walk.t1;
    var best = Hit(t_max, NONE, vec2(0.0), vec3(1.0), false, 0u, false);
    // How far away the nearest counts as.
    var nearest = t_max;
    // Whether trees that were walked before have let the ray pass something tinted.
    var was_tinted = false;
    loop {
        while goes_on {
            let leaf = descend(&walk);
            let first = leaf.x;
            let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
            var tinted = false;
            for (var reference = first; reference < end; reference++) {
                let triangle = walk.first_triangle + references[reference];
                let hit = hit_triangle(sheared, ray.origin, triangle);
                if hit.t >= ray.t_min && (hit.t < nearest || (hit.t == nearest && triangle < best.triangle)) {
                    var counted = counts_at(ray, triangle, hit);
                    if best.triangle == NONE {
                        counted = min(counted, t_max);
                    }
                    if counted > nearest || (counted == nearest && triangle >= best.triangle) {
                        continue;
                    }
                    if (triangles[triangle].surface & PASSABLE) != 0u {
                        if !hit.is_crossed {
                            continue;
                        }
                        let tint = passing_tint(ray, triangle, hit);
                        if tint.x >= 0.0 {
                            tinted = tinted || any(tint != vec3(1.0));
                            continue;
                        }
                    }
                    nearest = counted;
                    best.t = hit.t;
                    best.triangle = triangle;
                    best.barycentric = hit.barycentric;
                    best.back = hit.back;
                    best.is_overtinted = best.is_overtinted || (was_tinted && hit.t < t_max);
                }
            }
            if tinted {
                let t1 = min(walk.t1, best.t);
                best.filtered *= tints_in_leaf(ray, sheared, walk.first_triangle, first, end, walk.t0, t1);
            }
            goes_on = advance(&walk);
            goes_on = goes_on && walk.t0 <= nearest;
        }
        if !WALKS_MOVERS {
            break;
        }
        was_tinted = was_tinted || any(best.filtered != vec3(1.0));
        goes_on = enter_next_mover(&walk, ray, best.t);
        if !goes_on {
            break;
        }
    }
    best.steps = walk.steps;
    return best;
}

/// What the blended surfaces that a ray passes in a leaf let through together. A triangle in several leaves counts in the
/// one where the ray meets it.
fn tints_in_leaf(
    ray: Ray,
    sheared: ShearedRay,
    first_triangle: u32,
    first: u32,
    end: u32,
    t0: f32,
    t1: f32,
) -> vec3<f32> {
    var product = vec3(1.0);
    for (var reference = first; reference < end; reference++) {
        let triangle = first_triangle + references[reference];
        if (triangles[triangle].surface & PASSABLE) == 0u {
            continue;
        }
        let hit = hit_triangle(sheared, ray.origin, triangle);
        if hit.is_crossed && hit.t >= t0 && hit.t < t1 {
            let tint = passing_tint(ray, triangle, hit);
            product *= select(vec3(1.0), tint, tint.x >= 0.0);
        }
    }
    return product;
}

/// How much light crosses the ray's interval, per channel.
fn light_through(ray: Ray) -> vec3<f32> {
    let sheared = sheared_ray(ray);
    var walk = start_walk(ray, ray.t_max, 0u);
    var goes_on = walk.t0 <= walk.t1;
    var through = vec3(1.0);
    loop {
        while goes_on {
            let leaf = descend(&walk);
            let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
            for (var reference = leaf.x; reference < end; reference++) {
                let triangle = walk.first_triangle + references[reference];
                let hit = hit_triangle(sheared, ray.origin, triangle);
                if hit.t < ray.t_min || hit.t > ray.t_max {
                    continue;
                }
                if (triangles[triangle].surface & PASSABLE) == 0u {
                    return vec3(0.0);
                }
                if !hit.is_crossed {
                    continue;
                }
                let let_through = transmittance(triangle, hit.barycentric);
                if all(let_through == vec3(0.0)) {
                    return vec3(0.0);
                }
                if hit.t >= walk.t0 && hit.t < walk.t1 {
                    through *= let_through;
                }
            }
            goes_on = advance(&walk);
        }
        if !WALKS_MOVERS {
            break;
        }
        goes_on = enter_next_mover(&walk, ray, ray.t_max);
        if !goes_on {
            break;
        }
    }
    return through;
}
