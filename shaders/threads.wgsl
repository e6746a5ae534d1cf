// Threads of workgroups that stand in rows.

/// The number of this thread when all workgroups stand in one row.
fn thread_index(id: vec3<u32>, groups: vec3<u32>) -> u32 {
    return id.x + id.y * groups.x * 64u;
}
