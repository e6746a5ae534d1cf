// The scene as all passes see it: the buffers of `gpu::GpuScene`.
//
// No branch of any shader may depend on uniforms alone: lavapipe compiles a shader anew, for half a second, whenever one
// of them may have changed that decides a branch. What must decide one is read from a storage buffer.

/// What concerns the whole scene.
struct SceneHeader {
    /// The corner of the box around all that stands still with the smallest coordinates, metres.
    bounds_min: vec3<f32>,
    /// How many emitters there are; one that is dark where there is none.
    emitters: u32,
    /// The corner with the largest coordinates, metres.
    bounds_max: vec3<f32>,
    /// The largest absolute coordinate of the box.
    reach: f32,
    /// Radiance of a uniform sky, or the factor on its picture, cd/m2.
    sky_radiance: vec3<f32>,
    padding: f32,
}

/// One triangle in world space, be it of something that stands still or of a mover.
struct TriangleRecord {
    /// The first corner.
    a: vec3<f32>,
    /// The surface that it belongs to; the highest bits tell what rays must ask about.
    surface: u32,
    /// The second corner.
    b: vec3<f32>,
    /// Its number in the surface's mesh.
    index: u32,
    /// The third corner.
    c: vec3<f32>,
    /// Where in `tables` its normals and texture coordinates start; `NONE` without any.
    attributes: u32,
}

/// Where in `tables` the number of the emitter is that the environment map is; `NONE` without.
const SKY_EMITTER: u32 = 0u;
/// No index.
const NONE: u32 = 0xffffffffu;
/// Set in the surface of a triangle that rays may pass.
const PASSABLE: u32 = 0x80000000u;
/// Set in the surface of a triangle of which nothing can see the front, or the back.
const SEALED_FRONT: u32 = 0x40000000u;
const SEALED_BACK: u32 = 0x20000000u;
/// Set in the surface of a triangle that lies in one place with another which looks the other way.
const TWIN: u32 = 0x10000000u;
/// The bits of a triangle's surface that number it.
const SURFACE_NUMBER: u32 = 0x0fffffffu;

@group(0) @binding(0) var<uniform> scene: SceneHeader;
/// Nodes of the KD-trees, as `kdtree::Node` packs them: first the tree of all that stands still, which leaves the second
/// place free, then those of moving meshes. Behind them is the list of movers, which the second node tells start and end of:
/// corners of a box; where the list goes on behind all that lies in the box; the surface that is all of it, or `NONE`.
@group(0) @binding(3) var<storage, read> nodes: array<vec2<u32>>;
/// Triangles of the leaves, counted from the first one of what the tree is of.
@group(0) @binding(4) var<storage, read> references: array<u32>;
@group(0) @binding(5) var<storage, read> triangles: array<TriangleRecord>;
