// Scene buffers of all tracing kernels, filled by `gpu::GpuScene`.
//
// No branch in any shader may depend on uniforms alone. Lavapipe recompiles a shader, for half a second, whenever a
// uniform that decides a branch may have changed. Branch conditions must therefore read storage buffers.

/// Parameters of the whole scene.
struct SceneHeader {
    /// Minimum corner of the bounds of static surfaces, in meters.
    bounds_min: vec3<f32>,
    padding_0: u32,
    /// Maximum corner of the bounds of static surfaces, in meters.
    bounds_max: vec3<f32>,
    /// Maximum absolute coordinate of the bounds.
    reach: f32,
    /// Radiance of a uniform sky in cd/m2, or scale of the environment map.
    sky_radiance: vec3<f32>,
    padding_1: u32,
}

/// Triangle in world space, static or moving.
struct TriangleRecord {
    /// First corner.
    a: vec3<f32>,
    /// Surface index. The highest bits are flags for traversal.
    surface: u32,
    /// Second corner.
    b: vec3<f32>,
    /// Index in the surface's mesh.
    index: u32,
    /// Third corner.
    c: vec3<f32>,
    /// Offset in `tables` of its normals, colors and texture coordinates; `NONE` without any.
    attributes: u32,
}

/// Index in `tables` of the environment map's emitter, or `NONE`.
const SKY_EMITTER: u32 = 0u;
/// Null index.
const NONE: u32 = 0xffffffffu;
/// Flag of triangles that rays may pass.
const PASSABLE: u32 = 0x80000000u;
/// Flags of triangles whose front or back cannot be seen.
const SEALED_FRONT: u32 = 0x40000000u;
const SEALED_BACK: u32 = 0x20000000u;
/// Flag of triangles that coincide with triangles facing the opposite way.
const TWIN: u32 = 0x10000000u;
/// Mask of the surface index.
const SURFACE_NUMBER: u32 = 0x0fffffffu;

@group(0) @binding(0) var<uniform> scene: SceneHeader;
/// Nodes of the KD-trees, packed as in `accel::Node`. The static tree comes first, with an unused second node, then
/// the trees of moving meshes. The list of moving objects follows; the second node holds its start and end. Each list
/// entry has the corners of a box, the skip index past the box's contents, and the surface of a leaf, or `NONE`.
@group(0) @binding(3) var<storage, read> nodes: array<vec2<u32>>;
/// Triangles of the leaves, relative to the first triangle of the tree's object. `ropes.wgsl` needs links before them.
@group(0) @binding(4) var<storage, read> references: array<u32>;
@group(0) @binding(5) var<storage, read> triangles: array<TriangleRecord>;
