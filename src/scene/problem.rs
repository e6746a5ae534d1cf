//! Problems of a scene, worded so that its author can find and fix them.

use super::SurfaceKey;

/// Severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Information only; the result is as intended.
    Info,
    /// The result differs from the author's intent.
    Warning,
}

/// Problem of a scene, with the repair that was applied.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A texture's file or data is not there.
    #[error("texture '{texture}' of material '{material}' cannot be read ({reason}): its factor alone is used")]
    MissingTexture {
        /// Material that refers to the texture.
        material: String,
        /// Name or file of the image.
        texture: String,
        /// Reason for the failure.
        reason: String,
    },
    /// A texture's meaning is unknown.
    #[error("{texture} of material '{material}' is ignored: {reason}")]
    IgnoredTexture {
        /// Material that refers to the texture.
        material: String,
        /// Name of the texture in the file or in Bevy.
        texture: String,
        /// Treatment of the texture instead.
        reason: String,
    },
    /// A material's parameters are contradictory.
    #[error("material '{material}' {guess}")]
    GuessedMaterial {
        /// Name of the material.
        material: String,
        /// Oddity, its treatment, and the remedy.
        guess: String,
    },
    /// A material file is missing.
    #[error("material file {file} cannot be read ({reason}): its materials are light gray")]
    MissingMaterials {
        /// Name of the file.
        file: String,
        /// Reason for the failure.
        reason: String,
    },
    /// A file uses an unsupported extension.
    #[error("extension {name} is not known and ignored")]
    UnknownExtension {
        /// Name of the extension.
        name: String,
    },
    /// A file uses an unsupported extension that changes the appearance.
    #[error("extension {name} is not read: {loss}")]
    ExtensionNotDrawn {
        /// Name of the extension.
        name: String,
        /// Difference from the intended appearance.
        loss: &'static str,
    },
    /// Part of a file is damaged.
    #[error("{part} is damaged: {reason}")]
    DamagedPart {
        /// Name of the part.
        part: String,
        /// Fault and its repair.
        reason: String,
    },
    /// An animation cannot be played.
    #[error("animation '{animation}' is damaged and moves nothing: {reason}")]
    BrokenAnimation {
        /// Name of the animation.
        animation: String,
        /// Description of the fault.
        reason: String,
    },
    /// An animation changes a material or a light.
    #[error("animation '{animation}' changes {target}{}, baked as at rest", and_more(*.more))]
    AnimatedMaterial {
        /// Name of the animation.
        animation: String,
        /// First object that the animation changes.
        target: String,
        /// Number of further objects that the animation changes.
        more: usize,
    },
    /// An animation moves nodes.
    #[error(
        "animation '{animation}' moves '{node}'{}: what it moves counts as a mover and is not baked; set radiosity_role to static on a node to bake it where it stands",
        and_more(*.more)
    )]
    AnimatedNodes {
        /// Name of the animation.
        animation: String,
        /// First node with a mesh or a light that the animation moves.
        node: String,
        /// Number of further nodes that the animation moves.
        more: usize,
    },
    /// Nodes are hidden.
    #[error("'{node}'{} hidden by KHR_node_visibility and not there for light", if *.more > 0 { format!(" and {} more nodes are", .more) } else { " is".to_owned() })]
    HiddenNodes {
        /// First hidden node.
        node: String,
        /// Number of further ones.
        more: usize,
    },
    /// Surfaces have an unlit material.
    #[error(
        "material '{material}' of '{node}'{} is unlit: it neither blocks nor gives light and gets no texels; set radiosity_role to occluder or static on a node to bake it like any other",
        and_more(*.more)
    )]
    Unlit {
        /// Name of the material.
        material: String,
        /// First node or entity with the material.
        node: String,
        /// Number of further nodes with the material.
        more: usize,
    },
    /// A material is metallic only because its file sets neither metalness nor roughness.
    #[error(
        "material '{material}' of '{node}' has neither metalness nor roughness, as Blender writes Diffuse BSDF, Mix and Add Shader: by glTF it is a metal and reflects nothing diffusely; use a Principled BSDF or --default-metallic 0"
    )]
    MetalByOmission {
        /// Name of the material.
        material: String,
        /// First node with the material.
        node: String,
    },
    /// The requested sun replaces the scene's directional lights.
    #[error("--sun replaces the scene's directional light '{light}'{}", and_more(*.more))]
    SunReplaced {
        /// First replaced light.
        light: String,
        /// Number of further directional lights.
        more: usize,
    },
    /// Lamps and emissive materials seem to use different units.
    #[error(
        "light '{lamp}' has {candela:.0} cd and material '{material}' glows with {radiance:.1} cd/m2, implausibly far apart: Blender's lighting mode Standard multiplies lamps alone by 683; if Blender wrote the file, use --units blender"
    )]
    UnitsApart {
        /// Name of the strongest lamp.
        lamp: String,
        /// Intensity of the lamp in candela, or illuminance in lux.
        candela: f32,
        /// Name of the brightest emissive material.
        material: String,
        /// Luminance of the material, cd/m2.
        radiance: f32,
    },
    /// A node has many instances, some of which cannot be read.
    #[error("instances of '{node}' are left out: {reason}")]
    SkippedInstances {
        /// Name of the node.
        node: String,
        /// Description of the fault.
        reason: String,
    },
    /// Part of a mesh could not be read.
    #[error("primitive {primitive} of mesh '{mesh}' is left out: {reason}")]
    SkippedPrimitive {
        /// Name of the mesh.
        mesh: String,
        /// Index of the primitive in the mesh.
        primitive: usize,
        /// Reason for the failure.
        reason: String,
    },
    /// A vertex attribute could not be read.
    #[error("{attribute} of mesh '{mesh}' is ignored: {reason}")]
    IgnoredAttribute {
        /// Name of the mesh.
        mesh: String,
        /// Name of the attribute in the file.
        attribute: String,
        /// Reason for the failure.
        reason: String,
    },
    /// Triangles refer to vertices that do not exist.
    #[error("{count} triangles of mesh '{mesh}' refer to vertices that do not exist and are dropped")]
    IndexOutOfRange {
        /// Name of the mesh.
        mesh: String,
        /// Number of affected triangles.
        count: usize,
    },
    /// Vertices are NaN, infinite or implausibly far away.
    #[error(
        "{count} triangles of mesh '{mesh}' have vertices that are NaN, infinite or more than 1e9 m from the origin and are dropped"
    )]
    NonFiniteVertices {
        /// Name of the mesh.
        mesh: String,
        /// Number of affected triangles.
        count: usize,
    },
    /// Triangles have no area.
    #[error("{count} triangles of mesh '{mesh}' have no area: they neither stop nor receive light")]
    DegenerateTriangles {
        /// Name of the mesh.
        mesh: String,
        /// Number of affected triangles.
        count: usize,
    },
    /// Normals have zero length or are not finite.
    #[error("{count} normals of mesh '{mesh}' are zero or not finite: the normals of their faces are used")]
    UnusableNormals {
        /// Name of the mesh.
        mesh: String,
        /// Number of affected vertices.
        count: usize,
    },
    /// Vertex colors are negative or not finite.
    #[error("mesh '{mesh}': {count} vertex colors are negative or not a number; they are black, or white")]
    UnusableColors {
        /// Name of the mesh.
        mesh: String,
        /// Number of affected vertices.
        count: usize,
    },
    /// A mesh has no triangles.
    #[error("mesh '{mesh}' has no triangles")]
    EmptyMesh {
        /// Name of the mesh.
        mesh: String,
    },
    /// Texture coordinates are NaN or infinite.
    #[error("{count} texture coordinates of mesh '{mesh}' are NaN or infinite and are set to zero")]
    NonFiniteUv {
        /// Name of the mesh.
        mesh: String,
        /// Number of affected vertices.
        count: usize,
    },
    /// Meshes have no lightmap coordinates.
    #[error("mesh '{mesh}'{} no UV_1: unwrapping makes it", if *.more > 0 { format!(" and {} more have", .more) } else { " has".to_owned() })]
    MissingLightmapUv {
        /// Name of the first such mesh.
        mesh: String,
        /// Number of further ones.
        more: usize,
    },
    /// Lightmap coordinates leave the unit square.
    #[error("UV_1 of mesh '{mesh}' leaves the unit square: it is fitted or unwrapped anew")]
    LightmapUvOutOfRange {
        /// Name of the mesh.
        mesh: String,
    },
    /// Lightmap coordinates overlap.
    #[error("UV_1 of mesh '{mesh}' overlaps itself: it is unwrapped anew")]
    OverlappingLightmapUv {
        /// Name of the mesh.
        mesh: String,
    },
    /// A surface's transform is not finite.
    #[error("surface '{surface}' has a transform that is not finite and is left out")]
    NonFiniteTransform {
        /// Name of the surface or node.
        surface: String,
    },
    /// A surface extends beyond the usable range of coordinates.
    #[error(
        "surface '{surface}' reaches more than a billion meters from the origin and is left out: check the scale and the place of its node"
    )]
    TooFar {
        /// Key of the surface.
        surface: SurfaceKey,
    },
    /// The scene is so far from the origin that coordinates lose precision.
    #[error(
        "surface '{surface}' is {meters:.0} m from the origin, too far for a scene of {size:.2} m: its light may be wrong; move the scene to the origin"
    )]
    FarFromOrigin {
        /// Key of the farthest surface.
        surface: SurfaceKey,
        /// Distance of the surface from the origin, in meters.
        meters: f32,
        /// Diagonal of the scene's bounds, in meters.
        size: f32,
    },
    /// A surface is scaled to zero size.
    #[error("surface '{surface}' has a scale of zero: nothing of it can be seen")]
    FlattenedSurface {
        /// Key of the surface.
        surface: SurfaceKey,
    },
    /// A surface's texel density is unusable.
    #[error("surface '{surface}' asks for a texel density that is not above zero: the usual one is used")]
    UnusableDensity {
        /// Key of the surface.
        surface: SurfaceKey,
    },
    /// Several surfaces share a name.
    #[error(
        "more than one surface is called '{key}': one of them is known as '{used}', which may change when the level does{}; give nodes names of their own",
        if *.more > 0 { format!(" (and {} more surfaces share a name)", .more) } else { String::new() }
    )]
    AmbiguousKey {
        /// Shared name.
        key: SurfaceKey,
        /// Name given to the later surface.
        used: SurfaceKey,
        /// Number of further surfaces that were given a number.
        more: usize,
    },
    /// A material reflects more light than it receives.
    #[error("material '{material}' reflects {reflectance} of the light, more than it receives: clamped to one")]
    ReflectanceAboveOne {
        /// Name of the material.
        material: String,
        /// Largest channel of the base color.
        reflectance: f32,
    },
    /// A material's number is NaN, infinite or negative.
    #[error("{property} of material '{material}' is negative or not finite: {repair}")]
    UnusableMaterial {
        /// Name of the material.
        material: String,
        /// Faulty property.
        property: &'static str,
        /// Substitute value.
        repair: &'static str,
    },
    /// A texture uses a set of coordinates beyond the supported ones.
    #[error(
        "a texture of material '{material}' wants TEXCOORD_{set}: only sets below {} are read, so TEXCOORD_0 is used",
        super::UvChannel::MAX_SETS
    )]
    IgnoredTextureCoordinates {
        /// Name of the material.
        material: String,
        /// Index of the coordinate set.
        set: u32,
    },
    /// Surfaces have no material.
    #[error(
        "'{node}'{} no material: glTF's default is a metal, which reflects nothing diffusely; give it one or use --default-metallic 0",
        if *.more > 0 { format!(" and {} more primitives have", .more) } else { " has".to_owned() }
    )]
    NoMaterial {
        /// First node without a material.
        node: String,
        /// Number of further primitives.
        more: usize,
    },
    /// A light's parameters are unusable.
    #[error("light '{light}' is left out: {reason}")]
    UnusableLight {
        /// Name of the light.
        light: String,
        /// Description of the fault.
        reason: String,
    },
    /// The sky's parameters are unusable.
    #[error("the sky is dark: {reason}")]
    UnusableSky {
        /// Description of the fault.
        reason: &'static str,
    },
    /// The scene contains no light source.
    #[error("the scene has no light: no lamp, no emissive material, and the sky is dark, so all of it is black")]
    NoLight,
    /// The scene's size suggests wrong units.
    #[error("the scene is {meters} m across, as if its units were {}", other_units(*.meters))]
    AbsurdSize {
        /// Diagonal of the scene's bounds, in meters.
        meters: f32,
    },
    /// The scene is too small for correct light, because rays keep a gap to surfaces.
    #[error(
        "the scene is {meters} m across, too small for its light to come out right, as if its units were {}", other_units(*.meters)
    )]
    TooSmall {
        /// Diagonal of the scene's bounds, in meters.
        meters: f32,
    },
    /// A node is its own ancestor, has two parents, or is nested too deeply.
    #[error("node '{node}' is left out: {reason}")]
    SkippedNode {
        /// Name of the node.
        node: String,
        /// Description of the fault.
        reason: String,
    },
    /// A camera cannot be used.
    #[error("camera '{camera}' is left out: {reason}")]
    SkippedCamera {
        /// Name of the camera.
        camera: String,
        /// Description of the fault.
        reason: String,
    },
    /// A mesh is skinned or morphed.
    #[error(
        "'{node}' is {how}: it counts as a mover and is not baked; set its radiosity_role to static to bake its rest pose"
    )]
    Animated {
        /// Name of the node.
        node: String,
        /// "skinned" or "morphed".
        how: &'static str,
    },
    /// An extra for the bake cannot be parsed.
    #[error("extra '{key}' of '{owner}' is ignored: {reason}")]
    BadExtra {
        /// Name of the node, mesh, material or light.
        owner: String,
        /// Key of the extra.
        key: String,
        /// Expected form.
        reason: String,
    },
    /// A surface is visible from both sides, but its texels hold one.
    #[error(
        "'{surface}' is seen from both sides, but a texture of it uses UV_1, which has texels for one side: both sides show the light of one; give that texture UV_0, or the object two layers"
    )]
    OneSideShown {
        /// Key of the surface.
        surface: SurfaceKey,
    },
    /// A line of a text file cannot be parsed.
    #[error("{file}, line {line}: {reason}{}", if *.more > 0 { format!(" (and {} more lines like it)", .more) } else { String::new() })]
    BadLine {
        /// Name of the file.
        file: String,
        /// Number of the first such line, from one.
        line: usize,
        /// Fault and its repair.
        reason: String,
        /// Number of further lines with the same fault.
        more: usize,
    },
}

/// Returns likely units of a scene of implausible size, with the factors that convert it to meters.
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

/// Returns the end of a list of names, with the number of those that are left out.
pub(crate) fn and_more(more: usize) -> String {
    if more > 0 { format!(" and {more} more") } else { String::new() }
}
