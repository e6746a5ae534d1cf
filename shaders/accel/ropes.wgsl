// Traversal of a KD-tree along ropes: links from each leaf to the nodes beyond its faces (Popov et al. 2007).
//
// A thread needs no stack, and repeats no steps. Twelve words precede the references of a leaf. They are the lower and
// upper corner of its cell, and the nodes beyond its lower and upper faces. A node is `NONE` beyond the tree. The counterpart in Rust is `Walk::Ropes`.

/// Words before a leaf's references.
const ROPE_WORDS: u32 = 12u;
/// First of these words that is a node.
const BEYOND: u32 = 6u;

/// Descends to the leaf at the start of the interval, and returns the leaf. The interval then ends where the ray leaves
/// the leaf, and the node to visit is the one beyond. The intervals of all leaves tile the ray.
fn descend(traversal: ptr<function, Traversal>) -> vec2<u32> {
    var node = nodes[(*traversal).node];
    while (node.y & 3u) != 3u && (*traversal).steps < STEP_LIMIT {
        (*traversal).steps++;
        let axis = node.y & 3u;
        let inverse = axis_of((*traversal).inverse, axis);
        let t = (bitcast<f32>(node.x) - axis_of((*traversal).origin, axis)) * inverse;
        let is_passed = t <= (*traversal).t0;
        (*traversal).node = (node.y >> 2u) + u32((inverse < 0.0) != is_passed);
        node = nodes[(*traversal).node];
    }
    if (*traversal).steps < STEP_LIMIT {
        (*traversal).steps++;
        leave(traversal, node.x - ROPE_WORDS);
    }
    return node;
}

/// Ends the interval where the ray leaves a leaf, given the leaf's first word.
fn leave(traversal: ptr<function, Traversal>, first: u32) {
    var exit = (*traversal).restart_t1;
    var beyond = NONE;
    for (var axis = 0u; axis < 3u; axis++) {
        let inverse = axis_of((*traversal).inverse, axis);
        let face = first + axis + select(3u, 0u, inverse < 0.0);
        let t = (bitcast<f32>(references[face]) - axis_of((*traversal).origin, axis)) * inverse;
        if t < exit {
            exit = t;
            beyond = references[face + BEYOND];
        }
    }
    (*traversal).node = beyond;
    // Rounding must not lead back.
    (*traversal).t1 = select(max((*traversal).t0, exit), (*traversal).restart_t1, beyond == NONE);
}

/// Continues after a leaf. Returns false if nothing of the tree is left.
fn advance(traversal: ptr<function, Traversal>) -> bool {
    (*traversal).t0 = (*traversal).t1;
    return (*traversal).node != NONE && (*traversal).steps < STEP_LIMIT;
}
