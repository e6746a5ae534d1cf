// Traversal of a KD-tree with a short stack.
//
// A thread keeps the cells to visit in a short stack (Horn et al. 2007), which drops its oldest entries. When the stack
// is empty, traversal restarts at the deepest node above which nothing is left. A trail guides the descent, with a bit
// for each split whose nearer side is done (Laine 2010, "Restart trail"). The trail replaces comparisons of distances,
// so cells may overlap by rounding errors.
//
// Constants from `gpu::shader` precede this file. `STACK_SIZE` is 8 by default; 0 always restarts, 32 never.

/// Stack of cells: node, and bits of the parameter at which the ray leaves. The ray enters where the previous cell
/// ends.
var<private> stack: array<vec2<u32>, STACK_ENTRIES>;

/// Makes the current node the restart node, because nothing is left to visit above. Levels count from there.
fn restart_here(traversal: ptr<function, Traversal>) {
    (*traversal).restart = (*traversal).node;
    (*traversal).restart_t0 = (*traversal).t0;
    (*traversal).restart_t1 = (*traversal).t1;
    (*traversal).level = 0u;
    (*traversal).trail <<= 1u;
}

/// Descends to a leaf, nearer sides first, and returns the leaf. The intervals of all leaves tile the ray.
fn descend(traversal: ptr<function, Traversal>) -> vec2<u32> {
    var node = nodes[(*traversal).node];
    while (node.y & 3u) != 3u && (*traversal).steps < STEP_LIMIT {
        (*traversal).steps++;
        let axis = node.y & 3u;
        let inverse = axis_of((*traversal).inverse, axis);
        let slack = axis_of((*traversal).slack, axis);
        let t = (bitcast<f32>(node.x) - axis_of((*traversal).origin, axis)) * inverse;
        let falls = u32(inverse < 0.0);
        let near = (node.y >> 2u) + falls;
        let far = (node.y >> 2u) + 1u - falls;
        let near_only = t - slack > (*traversal).t1;
        if near_only || t + slack < (*traversal).t0 {
            (*traversal).node = select(far, near, near_only);
            if (*traversal).level == 0u {
                (*traversal).restart = (*traversal).node;
            }
        } else {
            let bit = 0x80000000u >> (*traversal).level;
            (*traversal).level++;
            if ((*traversal).trail & bit) != 0u {
                (*traversal).node = far;
                (*traversal).t0 = max((*traversal).t0, t);
                if (*traversal).level == 1u {
                    restart_here(traversal);
                }
            } else {
                if STACK_SIZE > 0u {
                    stack[(*traversal).top] = vec2(far, bitcast<u32>((*traversal).t1));
                    (*traversal).top = ((*traversal).top + 1u) % STACK_ENTRIES;
                    (*traversal).held = min((*traversal).held + 1u, STACK_SIZE);
                }
                (*traversal).node = near;
                (*traversal).t1 = min((*traversal).t1, t);
            }
        }
        node = nodes[(*traversal).node];
    }
    return node;
}

/// Continues after a leaf. Returns false if nothing of the tree is left.
fn advance(traversal: ptr<function, Traversal>) -> bool {
    let levels = select(0xffffffffu << (32u - (*traversal).level), 0u, (*traversal).level == 0u);
    let undone = ~(*traversal).trail & levels;
    if undone == 0u || (*traversal).steps >= STEP_LIMIT {
        return false;
    }
    // Deepest split whose far side is still to be visited. Lower levels of the trail are cleared.
    let bit = undone & (~undone + 1u);
    (*traversal).trail = ((*traversal).trail & ~(bit - 1u)) | bit;
    if (*traversal).held > 0u {
        (*traversal).held--;
        (*traversal).top = ((*traversal).top + STACK_ENTRIES - 1u) % STACK_ENTRIES;
        let entry = stack[(*traversal).top];
        (*traversal).node = entry.x;
        (*traversal).t0 = (*traversal).t1;
        (*traversal).t1 = bitcast<f32>(entry.y);
        (*traversal).level = countLeadingZeros(bit) + 1u;
        if (*traversal).level == 1u {
            restart_here(traversal);
        }
    } else {
        (*traversal).node = (*traversal).restart;
        (*traversal).t0 = (*traversal).restart_t0;
        (*traversal).t1 = (*traversal).restart_t1;
        (*traversal).level = 0u;
    }
    return true;
}
