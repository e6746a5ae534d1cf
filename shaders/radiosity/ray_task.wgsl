// Ray tasks of a bake, and their results.

/// Task of one ray. Tracing overwrites the input with the result.
struct RayTask {
    /// Fraction of the radiosity at the end that arrives, per channel.
    tint: vec3<f32>,
    /// Before tracing: index of the ray in the element's sequence. After: hit element, `LOST` or `INSIDE`.
    end: u32,
    /// Direct irradiance: of a shadow ray, or of an emitter hit by a gather ray, in lux.
    direct: vec3<f32>,
    /// Before tracing: the item's flags. After: number of rays traced.
    rays: u32,
    /// Indirect irradiance collected at bounces, in lux.
    continuation: vec3<f32>,
    /// Element that the ray starts from.
    element: u32,
}

/// Rays of one element in a batch.
struct Item {
    element: u32,
    /// Index of the first ray in the element's sequence.
    first_index: u32,
    /// First ray task in the batch. The next item's tasks follow.
    first_ray: u32,
    /// Lowest bit: one if points of the element are known to lie inside solids. Other bits: number of further bounces
    /// at elements; zero for rays that end at the first element.
    flags: u32,
    /// Offset of stored hits.
    hits_at: u32,
    /// Offset of tinted hits.
    tinted_at: u32,
}

/// Parameters of a batch.
struct Batch {
    /// Number of rays.
    rays: u32,
    /// Number of items. A sentinel follows, whose first ray is the number of rays.
    items: u32,
    /// Seed of the stage, and a second seed.
    seed: u32,
    other_seed: u32,
    /// Number of elements in the scene.
    elements: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}
