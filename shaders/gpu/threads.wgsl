// Thread indices of two-dimensional dispatches.

/// Returns the linear index of this thread over all rows of workgroups.
fn thread_index(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.x + id.y * groups.x * 64u;
}
