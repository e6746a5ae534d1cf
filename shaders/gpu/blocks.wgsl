// Thread indices of two-dimensional dispatches, in workgroups whose number of threads may be chosen.

/// Number of threads of a workgroup.
override BLOCK: u32 = 64u;

/// Returns the linear index of this thread over all rows of workgroups.
fn thread_index(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.x + id.y * groups.x * BLOCK;
}
