// What a camera has gathered: the twin of `gpu::GpuFilm`.

/// What the samples of a pixel say of its light.
struct RadiancePixel {
    /// Mean radiance, cd/m2.
    mean: vec3<f32>,
    /// How many samples there are.
    samples: u32,
    /// Sum of the squared differences from the mean.
    squares: vec3<f32>,
    /// Mean of how many nodes of the tree the rays from the camera visited.
    nodes: f32,
}

/// What the samples of a pixel say of the surfaces that it sees.
struct FeaturePixel {
    /// Mean share of light that they reflect; zero for the sky.
    albedo: vec3<f32>,
    /// Distance in metres to the nearest; the largest float where only the sky was seen.
    depth: f32,
    /// Mean of their normals.
    normal: vec3<f32>,
    /// The surface that the latest sample saw, or `NONE`.
    surface: u32,
}
