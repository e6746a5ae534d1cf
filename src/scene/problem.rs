//! What is wrong with a scene, said so that its author can find it.

use super::SurfaceKey;

/// Severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; the result is as meant.
    Info,
    /// The result is not what the author drew.
    Warning,
}

/// One thing that is wrong with a scene, and what was done about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A texture's file or data is not there.
    #[error("texture '{texture}' of material '{material}' cannot be read ({reason}): its factor alone is used")]
    MissingTexture {
        /// The material that wants it.
        material: String,
        /// The image's name or file.
        texture: String,
        /// The reason.
        reason: String,
    },
    /// A texture's meaning is not known.
    #[error("{texture} of material '{material}' is ignored: {reason}")]
    IgnoredTexture {
        /// The material that wants it.
        material: String,
        /// Name of the texture in the file or in Bevy.
        texture: String,
        /// The treatment that it gets instead.
        reason: String,
    },
    /// A material's lines cannot mean what they say.
    #[error("material '{material}' {guess}")]
    GuessedMaterial {
        /// The material.
        material: String,
        /// The oddity, its treatment, and the remedy.
        guess: String,
    },
    /// A file of materials is not there.
    #[error("material file {file} cannot be read ({reason}): its materials are light grey")]
    MissingMaterials {
        /// The file.
        file: String,
        /// The reason.
        reason: String,
    },
    /// A file uses something that this reader does not know.
    #[error("extension {name} is not known and ignored")]
    UnknownExtension {
        /// The extension's name.
        name: String,
    },
    /// A file uses an extension that changes what is seen, and that is not read.
    #[error("extension {name} is not read: {loss}")]
    ExtensionNotDrawn {
        /// The extension's name.
        name: String,
        /// The difference from the file's meaning.
        loss: &'static str,
    },
    /// Part of a file cannot be understood.
    #[error("{part} is damaged: {reason}")]
    DamagedPart {
        /// The part.
        part: String,
        /// The fault and its repair.
        reason: String,
    },
    /// An animation cannot be played.
    #[error("animation '{animation}' is damaged and moves nothing: {reason}")]
    BrokenAnimation {
        /// The animation.
        animation: String,
        /// The fault.
        reason: String,
    },
    /// An animation changes a material or a light.
    #[error("animation '{animation}' changes {target}{}, baked as at rest", and_more(*.more))]
    AnimatedLook {
        /// The animation.
        animation: String,
        /// The first thing that it changes.
        target: String,
        /// Number of further targets that it changes.
        more: usize,
    },
    /// An animation moves nodes.
    #[error(
        "animation '{animation}' moves '{node}'{}: what it moves counts as a mover and is not baked; set radiosity_role to static on a node to bake it where it stands",
        and_more(*.more)
    )]
    AnimatedNodes {
        /// The animation.
        animation: String,
        /// The first node with a mesh or a light that it moves.
        node: String,
        /// Number of further nodes that it moves.
        more: usize,
    },
    /// Nodes are hidden.
    #[error("'{node}'{} hidden by KHR_node_visibility and not there for light", if *.more > 0 { format!(" and {} more nodes are", .more) } else { " is".to_owned() })]
    HiddenNodes {
        /// The first hidden node.
        node: String,
        /// Number of further ones.
        more: usize,
    },
    /// Surfaces have a material that no light falls on.
    #[error(
        "material '{material}' of '{node}'{} is unlit: it neither blocks nor gives light and gets no texels; set radiosity_role to occluder or static on a node to bake it like any other",
        and_more(*.more)
    )]
    Unlit {
        /// The material.
        material: String,
        /// The first node or entity that has it.
        node: String,
        /// Number of further nodes that have it.
        more: usize,
    },
    /// A material is a metal because its file says nothing else.
    #[error(
        "material '{material}' of '{node}' has neither metalness nor roughness, as Blender writes Diffuse BSDF, Mix and Add Shader: by glTF it is a metal and reflects nothing diffusely; use a Principled BSDF or --default-metallic 0"
    )]
    MetalByOmission {
        /// The material.
        material: String,
        /// The first node that has it.
        node: String,
    },
    /// The sun that was asked for stands in for directional lights of the scene.
    #[error("--sun replaces the scene's directional light '{light}'{}", and_more(*.more))]
    SunReplaced {
        /// The first of them.
        light: String,
        /// Number of further directional lights.
        more: usize,
    },
    /// Lamps and emission seem to have different units.
    #[error(
        "light '{lamp}' has {candela:.0} cd and material '{material}' glows with {radiance:.1} cd/m2, implausibly far apart: Blender's lighting mode Standard multiplies lamps alone by 683; if Blender wrote the file, use --units blender"
    )]
    UnitsApart {
        /// The strongest lamp.
        lamp: String,
        /// Its intensity, candela, or illuminance, lux.
        candela: f32,
        /// The brightest emissive material.
        material: String,
        /// Its luminance, cd/m2.
        radiance: f32,
    },
    /// A node shows its mesh in many places, not all of which can be read.
    #[error("instances of '{node}' are left out: {reason}")]
    SkippedInstances {
        /// The node.
        node: String,
        /// The fault.
        reason: String,
    },
    /// Part of a mesh could not be read.
    #[error("primitive {primitive} of mesh '{mesh}' is left out: {reason}")]
    SkippedPrimitive {
        /// The mesh.
        mesh: String,
        /// Index of the primitive in it.
        primitive: usize,
        /// The reason.
        reason: String,
    },
    /// A vertex attribute could not be read.
    #[error("{attribute} of mesh '{mesh}' is ignored: {reason}")]
    IgnoredAttribute {
        /// The mesh.
        mesh: String,
        /// The attribute's name in the file.
        attribute: String,
        /// The reason.
        reason: String,
    },
    /// Triangles refer to vertices that do not exist.
    #[error("{count} triangles of mesh '{mesh}' refer to vertices that do not exist and are dropped")]
    IndexOutOfRange {
        /// The mesh.
        mesh: String,
        /// Number of triangles.
        count: usize,
    },
    /// Vertices are NaN, infinite or absurdly far away.
    #[error(
        "{count} triangles of mesh '{mesh}' have vertices that are NaN, infinite or more than 1e9 m from the origin and are dropped"
    )]
    NonFiniteVertices {
        /// The mesh.
        mesh: String,
        /// Number of triangles.
        count: usize,
    },
    /// Triangles have no area.
    #[error("{count} triangles of mesh '{mesh}' have no area: they neither stop nor receive light")]
    DegenerateTriangles {
        /// The mesh.
        mesh: String,
        /// Number of triangles.
        count: usize,
    },
    /// Normals have no direction.
    #[error("{count} normals of mesh '{mesh}' are zero or not finite: the normals of their faces are used")]
    UnusableNormals {
        /// The mesh.
        mesh: String,
        /// Number of vertices.
        count: usize,
    },
    /// Vertex colors are negative or no numbers.
    #[error("mesh '{mesh}': {count} vertex colors are negative or not a number; they are black, or white")]
    UnusableColors {
        /// The mesh.
        mesh: String,
        /// Number of vertices.
        count: usize,
    },
    /// A mesh has no triangles.
    #[error("mesh '{mesh}' has no triangles")]
    EmptyMesh {
        /// The mesh.
        mesh: String,
    },
    /// Texture coordinates are NaN or infinite.
    #[error("{count} texture coordinates of mesh '{mesh}' are NaN or infinite and are set to zero")]
    NonFiniteUv {
        /// The mesh.
        mesh: String,
        /// Number of vertices.
        count: usize,
    },
    /// Meshes have no lightmap coordinates.
    #[error("mesh '{mesh}'{} no UV_1: unwrapping makes it", if *.more > 0 { format!(" and {} more have", .more) } else { " has".to_owned() })]
    MissingLightmapUv {
        /// The first such mesh.
        mesh: String,
        /// Number of further ones.
        more: usize,
    },
    /// Lightmap coordinates leave the unit square.
    #[error("UV_1 of mesh '{mesh}' leaves the unit square: it is fitted or unwrapped anew")]
    LightmapUvOutOfRange {
        /// The mesh.
        mesh: String,
    },
    /// Lightmap coordinates lie on top of each other.
    #[error("UV_1 of mesh '{mesh}' overlaps itself: it is unwrapped anew")]
    OverlappingLightmapUv {
        /// The mesh.
        mesh: String,
    },
    /// A surface stands nowhere.
    #[error("surface '{surface}' has a transform that is not finite and is left out")]
    NonFiniteTransform {
        /// The surface or node.
        surface: String,
    },
    /// A surface reaches farther than its numbers can say.
    #[error(
        "surface '{surface}' reaches more than a billion meters from the origin and is left out: check the scale and the place of its node"
    )]
    TooFar {
        /// The surface.
        surface: SurfaceKey,
    },
    /// The scene is so far from the origin that its numbers are coarse.
    #[error(
        "surface '{surface}' is {metres:.0} m from the origin, too far for a scene of {size:.2} m: its light may be wrong; move the scene to the origin"
    )]
    FarFromOrigin {
        /// The surface that is farthest.
        surface: SurfaceKey,
        /// Its distance, meters.
        metres: f32,
        /// Diagonal of the scene's bounds, meters.
        size: f32,
    },
    /// A surface is flattened to nothing.
    #[error("surface '{surface}' has a scale of zero: nothing of it can be seen")]
    FlattenedSurface {
        /// The surface.
        surface: SurfaceKey,
    },
    /// A surface's own texel density is of no use.
    #[error("surface '{surface}' asks for a texel density that is not above zero: the usual one is used")]
    UnusableDensity {
        /// The surface.
        surface: SurfaceKey,
    },
    /// Surfaces would be known by one name.
    #[error(
        "more than one surface is called '{key}': one of them is known as '{used}', which may change when the level does{}; give nodes names of their own",
        if *.more > 0 { format!(" (and {} more surfaces share a name)", .more) } else { String::new() }
    )]
    AmbiguousKey {
        /// The name that both have.
        key: SurfaceKey,
        /// The name that the later one is given.
        used: SurfaceKey,
        /// Number of further surfaces that were given a number.
        more: usize,
    },
    /// A material reflects more light than it receives.
    #[error("material '{material}' reflects {reflectance} of the light, more than it receives: clamped to one")]
    ReflectanceAboveOne {
        /// The material.
        material: String,
        /// Its largest channel.
        reflectance: f32,
    },
    /// A material's number is NaN, infinite or negative.
    #[error("{property} of material '{material}' is negative or not finite: {repair}")]
    UnusableMaterial {
        /// The material.
        material: String,
        /// The fault.
        property: &'static str,
        /// The substitute.
        repair: &'static str,
    },
    /// A texture asks for a set of coordinates beyond those that are read.
    #[error(
        "a texture of material '{material}' wants TEXCOORD_{set}: only sets below {} are read, so TEXCOORD_0 is used",
        super::UvChannel::MAX_SETS
    )]
    IgnoredTextureCoordinates {
        /// The material.
        material: String,
        /// The set.
        set: u32,
    },
    /// Surfaces have no material.
    #[error(
        "'{node}'{} no material: glTF's default is a metal, which reflects nothing diffusely; give it one or use --default-metallic 0",
        if *.more > 0 { format!(" and {} more primitives have", .more) } else { " has".to_owned() }
    )]
    NoMaterial {
        /// The first node without.
        node: String,
        /// Number of further primitives.
        more: usize,
    },
    /// A light's numbers are of no use.
    #[error("light '{light}' is left out: {reason}")]
    UnusableLight {
        /// The light.
        light: String,
        /// The fault.
        reason: String,
    },
    /// Nothing in the scene gives off light.
    #[error("the scene has no light: no lamp, no emissive material, and the sky is dark, so all of it is black")]
    NoLight,
    /// The scene's size suggests wrong units.
    #[error("the scene is {metres} m across, as if its units were {}", other_units(*.metres))]
    AbsurdSize {
        /// Diagonal of its bounds, metres.
        metres: f32,
    },
    /// Light in it comes out wrong, for rays keep a gap to surfaces.
    #[error(
        "the scene is {metres} m across, too small for its light to come out right, as if its units were {}", other_units(*.metres)
    )]
    TooSmall {
        /// Diagonal of its bounds, metres.
        metres: f32,
    },
    /// A node is its own ancestor, or has two parents, or lies too deep.
    #[error("node '{node}' is left out: {reason}")]
    SkippedNode {
        /// The node.
        node: String,
        /// The fault.
        reason: String,
    },
    /// A camera cannot be used.
    #[error("camera '{camera}' is left out: {reason}")]
    SkippedCamera {
        /// The camera.
        camera: String,
        /// The fault.
        reason: String,
    },
    /// A skinned or morphed mesh.
    #[error(
        "'{node}' is {how}: it counts as a mover and is not baked; set its radiosity_role to static to bake its rest pose"
    )]
    Animated {
        /// The node.
        node: String,
        /// "skinned" or "morphed".
        how: &'static str,
    },
    /// An extra that is meant for the bake cannot be understood.
    #[error("extra '{key}' of '{owner}' is ignored: {reason}")]
    BadExtra {
        /// The node, mesh, material or light.
        owner: String,
        /// The extra's key.
        key: String,
        /// The expected form.
        reason: String,
    },
    /// A surface is seen from both sides, and its texels show one.
    #[error(
        "'{surface}' is seen from both sides, but a texture of it uses UV_1, which has texels for one side: both sides show the light of one; give that texture UV_0, or the object two layers"
    )]
    OneSideShown {
        /// The surface.
        surface: SurfaceKey,
    },
    /// A line of a text file cannot be understood.
    #[error("{file}, line {line}: {reason}{}", if *.more > 0 { format!(" (and {} more lines like it)", .more) } else { String::new() })]
    BadLine {
        /// The file.
        file: String,
        /// The first such line, from one.
        line: usize,
        /// The fault and its repair.
        reason: String,
        /// Number of further lines with the same fault.
        more: usize,
    },
}

/// Units that a scene of an implausible size may be in, and the factors that bring it to meters.
fn other_units(meters: f32) -> String {
    let units = if meters > 1.0 {
        [("millimeters", 0.001), ("centimeters", 0.01)]
    } else {
        [("kilometers", 1000.0), ("hundreds of meters", 100.0)]
    };
    let [first, second] = units.map(|(unit, factor)| {
        let size = meters * factor;
        let digits = if size < 10.0 { 1 } else { 0 };
        format!("{unit} (--scale {factor} makes it {size:.digits$} m)")
    });
    format!("{first} or {second}")
}

impl Problem {
    /// Severity of the problem.
    pub fn severity(&self) -> Severity {
        match self {
            Self::MissingLightmapUv { .. }
            | Self::LightmapUvOutOfRange { .. }
            | Self::OverlappingLightmapUv { .. }
            | Self::HiddenNodes { .. }
            | Self::UnknownExtension { .. } => Severity::Info,
            _ => Severity::Warning,
        }
    }
}

/// The end of a list after its first name.
fn and_more(more: usize) -> String {
    if more > 0 { format!(" and {more} more") } else { String::new() }
}
