// Ray traversal of the KD-trees.
//
// One tree holds all static triangles, in world space. Each moving mesh has a tree in object space. A ray is
// transformed there without normalization, so that t keeps its meaning. Triangles are always intersected in world
// space, so that hits do not depend on the tree. One loop visits the leaves of all trees. A thread that finishes a tree
// continues with the next tree whose box its ray hits.
//
// `descend` and `advance` are those of `stack.wgsl` or `ropes.wgsl`.
//
// A constant from `gpu::shader` precedes this file. `TRACES_MOVERS` is false for scenes without moving objects: on
// lavapipe, threads wait for each other even over unused code.

/// State of a traversal.
struct Traversal {
    /// Ray origin in the tree's space.
    origin: vec3<f32>,
    /// First triangle of the tree's object. Leaves index relative to this triangle.
    first_triangle: u32,
    /// Reciprocal of the direction, with components moved away from zero.
    inverse: vec3<f32>,
    /// Rounding error bound on each axis, in units of t.
    slack: vec3<f32>,
    /// Node to visit.
    node: u32,
    /// Parameter at which the ray enters the node's cell.
    t0: f32,
    /// Parameter at which the ray leaves the node's cell.
    t1: f32,
    /// Number of splits from `restart` to the node at which the ray crosses both sides.
    level: u32,
    /// For each such split, from the highest bit down: one if the nearer side is done.
    trail: u32,
    /// Number of valid stack entries.
    held: u32,
    /// Index of the next stack entry; the stack is a ring.
    top: u32,
    /// Deepest node above which nothing is left to visit.
    restart: u32,
    /// Parameters at which the ray enters and leaves the restart node's cell.
    restart_t0: f32,
    restart_t1: f32,
    /// Number of visited nodes of all trees.
    steps: u32,
    /// Next entry of the list of moving objects; zero at the start.
    next_mover: u32,
}

/// Hit of a ray on a triangle.
struct Hit {
    /// Distance along the ray, in units of its direction.
    t: f32,
    /// Index of the triangle in the tree, or `NONE`.
    triangle: u32,
    /// Weights of the second and third corner.
    barycentric: vec2<f32>,
    /// Tint of blended surfaces on the way.
    filtered: vec3<f32>,
    /// True if the ray hit the back, where the corners are clockwise.
    back: bool,
    /// Number of visited nodes.
    steps: u32,
    /// True if the tint may include surfaces behind the hit.
    is_overtinted: bool,
}

/// Outward margin of boxes, relative to the largest coordinate: eight single-precision roundings.
const MARGIN: f32 = 1.0 / 1048576.0;
/// Nodes per entry of the list of moving objects.
const MOVER_ENTRY: u32 = 4u;
/// Maximum number of visited nodes, so that a faulty tree cannot hang a device.
const STEP_LIMIT: u32 = 16384u;

/// Number of this thread's walks that ended at the step limit, so that their answers may be wrong.
var<private> unfinished_walks: u32 = 0u;

fn axis_of(v: vec3<f32>, axis: u32) -> f32 {
    return select(select(v.z, v.y, axis == 1u), v.x, axis == 0u);
}

/// Returns the reciprocal of a direction. Components this small move the ray by less than rounding within reach.
/// Clamping them keeps all products finite.
fn inverse_of(direction: vec3<f32>) -> vec3<f32> {
    let smallest = largest(abs(direction)) * 1e-9;
    return 1.0 / select(direction, vec3(smallest), abs(direction) < vec3(smallest));
}

/// Returns the parameters at which a ray enters and leaves a box whose faces may be off by `slack`. The ray misses if
/// the second is smaller.
fn cross_box(origin: vec3<f32>, inverse: vec3<f32>, slack: vec3<f32>, low: vec3<f32>, high: vec3<f32>) -> vec2<f32> {
    let below = (low - origin) * inverse;
    let above = (high - origin) * inverse;
    let enter = min(below, above) - slack;
    let leave = max(below, above) + slack;
    return vec2(largest(enter), min(leave.x, min(leave.y, leave.z)));
}

/// Starts at the root of the static tree; `t0 > t1` if the ray misses the tree.
fn start_traversal(ray: Ray, t_max: f32, steps: u32) -> Traversal {
    let margin = max(largest(abs(ray.origin)), scene.reach) * MARGIN;
    let inverse = inverse_of(ray.direction);
    let slack = abs(inverse) * margin;
    let crossed = cross_box(ray.origin, inverse, slack, scene.bounds_min, scene.bounds_max);
    let t0 = max(ray.t_min, crossed.x);
    let t1 = min(t_max, crossed.y);
    return Traversal(ray.origin, 0u, inverse, slack, 0u, t0, t1, 0u, 0u, 0u, 0u, 0u, t0, t1, steps, 0u);
}

/// Moves to the root of the next object tree whose box the ray hits before `t_max`. Returns false if there is none.
///
/// The list is a bounding volume hierarchy in depth-first order, with skip links. A thread therefore needs to remember
/// only its position.
fn enter_next_mover(traversal: ptr<function, Traversal>, ray: Ray, t_max: f32) -> bool {
    let list = nodes[1];
    var entry = max((*traversal).next_mover, list.x);
    if entry >= list.y {
        return false;
    }
    let inverse = inverse_of(ray.direction);
    let slack = abs(inverse) * (largest(abs(ray.origin)) * MARGIN);
    while entry < list.y && (*traversal).steps < STEP_LIMIT {
        (*traversal).steps++;
        let a = bitcast<vec2<f32>>(nodes[entry]);
        let b = bitcast<vec2<f32>>(nodes[entry + 1u]);
        let c = bitcast<vec2<f32>>(nodes[entry + 2u]);
        // Skip link past the box's contents, and the surface of a leaf.
        let rest = nodes[entry + 3u];
        let crossed = cross_box(ray.origin, inverse, slack, vec3(a, b.x), vec3(b.y, c));
        if max(ray.t_min, crossed.x) > min(t_max, crossed.y) {
            entry = rest.x;
            continue;
        }
        entry += MOVER_ENTRY;
        if rest.y != NONE && enter_mover(traversal, ray, t_max, rest.y) {
            (*traversal).next_mover = entry;
            return true;
        }
    }
    (*traversal).next_mover = entry;
    return false;
}

/// Moves to the root of an object's tree. Returns false if the ray misses the tree.
fn enter_mover(traversal: ptr<function, Traversal>, ray: Ray, t_max: f32, surface: u32) -> bool {
    let x_row = surfaces[surface].placement.from_world[0];
    let y_row = surfaces[surface].placement.from_world[1];
    let z_row = surfaces[surface].placement.from_world[2];
    let from_world = transpose(mat3x3(x_row.xyz, y_row.xyz, z_row.xyz));
    let origin = from_world * ray.origin + vec3(x_row.w, y_row.w, z_row.w);
    let inverse = inverse_of(from_world * ray.direction);
    let reach = surfaces[surface].placement.reach;
    let margin = (reach + surfaces[surface].placement.stretch * largest(abs(ray.origin))) * MARGIN;
    let slack = abs(inverse) * margin;
    let tree_min = surfaces[surface].placement.tree_min;
    let tree_max = surfaces[surface].placement.tree_max;
    let crossed = cross_box(origin, inverse, slack, tree_min, tree_max);
    let t0 = max(ray.t_min, crossed.x);
    let t1 = min(t_max, crossed.y);
    let first_triangle = surfaces[surface].placement.first_triangle;
    let root = surfaces[surface].placement.root;
    let steps = (*traversal).steps;
    *traversal = Traversal(origin, first_triangle, inverse, slack, root, t0, t1, 0u, 0u, 0u, 0u, root, t0, t1, steps, 0u);
    return t0 <= t1;
}

fn hit_triangle(sheared: ShearedRay, origin: vec3<f32>, triangle: u32) -> TriangleHit {
    let corners = triangles[triangle];
    return intersect_triangle(sheared, origin, corners.a, corners.b, corners.c);
}

/// Returns the distance used to order hits.
fn counts_at(ray: Ray, triangle: u32, hit: TriangleHit) -> f32 {
    if (triangles[triangle].surface & TWIN) == 0u {
        return hit.t;
    }
    let is_mirrored = (surfaces[surface_of(triangle)].flags & MIRRORED) != 0u;
    return select(hit.t, hit.t + twin_gap(ray, hit.t), hit.back != is_mirrored);
}

/// Returns the closest triangle that stops the ray; its index is `NONE` if there is none.
fn closest_hit(ray: Ray) -> Hit {
    var hit = Hit(ray.t_max, NONE, vec2(0.0), vec3(1.0), false, 0u, false);
    loop {
        hit = closest_before(ray, hit.t);
        if !hit.is_overtinted {
            break;
        }
        // Repeat with the known end of the ray.
    }
    unfinished_walks += u32(hit.steps >= STEP_LIMIT);
    return hit;
}

/// Returns the closest triangle that stops the ray before `t_max`.
fn closest_before(ray: Ray, t_max: f32) -> Hit {
    let sheared = sheared_ray(ray);
    var traversal = start_traversal(ray, t_max, 0u);
    var goes_on = traversal.t0 <= traversal.t1;
    var best = Hit(t_max, NONE, vec2(0.0), vec3(1.0), false, 0u, false);
    // Ordering distance of the closest hit so far.
    var nearest = t_max;
    // True if the ray passed tinted surfaces of earlier trees.
    var was_tinted = false;
    loop {
        while goes_on {
            let leaf = descend(&traversal);
            let first = leaf.x;
            let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
            var tinted = false;
            for (var reference = first; reference < end; reference++) {
                let triangle = traversal.first_triangle + references[reference];
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
                let t1 = min(traversal.t1, best.t);
                best.filtered *= tints_in_leaf(ray, sheared, traversal.first_triangle, first, end, traversal.t0, t1);
            }
            goes_on = advance(&traversal);
            goes_on = goes_on && traversal.t0 <= nearest;
        }
        if !TRACES_MOVERS {
            break;
        }
        was_tinted = was_tinted || any(best.filtered != vec3(1.0));
        goes_on = enter_next_mover(&traversal, ray, best.t);
        if !goes_on {
            break;
        }
    }
    best.steps = traversal.steps;
    return best;
}

/// Returns the product of tints of the blended surfaces that a ray passes in a leaf. A triangle in several leaves
/// counts where the hit lies.
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

/// Returns the transmittance of the ray's interval, per channel.
fn light_through(ray: Ray) -> vec3<f32> {
    let sheared = sheared_ray(ray);
    var traversal = start_traversal(ray, ray.t_max, 0u);
    var goes_on = traversal.t0 <= traversal.t1;
    var through = vec3(1.0);
    loop {
        while goes_on {
            let leaf = descend(&traversal);
            let end = select(leaf.x, leaf.x + (leaf.y >> 2u), (leaf.y & 3u) == 3u);
            for (var reference = leaf.x; reference < end; reference++) {
                let triangle = traversal.first_triangle + references[reference];
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
                if hit.t >= traversal.t0 && hit.t < traversal.t1 {
                    through *= let_through;
                }
            }
            goes_on = advance(&traversal);
        }
        if !TRACES_MOVERS {
            break;
        }
        goes_on = enter_next_mover(&traversal, ray, ray.t_max);
        if !goes_on {
            break;
        }
    }
    unfinished_walks += u32(traversal.steps >= STEP_LIMIT);
    return through;
}
