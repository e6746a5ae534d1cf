// What the rays of a bake are sent for, and what they bring.

/// One ray of an element; what was asked is overwritten with the answer.
struct Errand {
    /// Share of the end's radiosity that arrives, per channel.
    tint: vec3<f32>,
    /// Before: the ray's number in the element's sequence. After: what it met, an element, `LOST` or `BURIED`.
    end: u32,
    /// Irradiance found directly: by an aimed ray, or what a gather ray met shining.
    direct: vec3<f32>,
    /// Before: the item's orders. After: how many rays it took.
    rays: u32,
    /// Indirect irradiance from where it bounced.
    detour: vec3<f32>,
    /// The element that it starts from.
    element: u32,
}

/// The rays of one element in a batch.
struct Item {
    element: u32,
    /// The number of the first in the element's sequence.
    first_index: u32,
    /// Where its errands start in the batch; those of the next item follow.
    first_ray: u32,
    /// The lowest bit: one where points of the element are known to be buried. The others: how often rays bounce off
    /// elements too; none for rays that end at the first.
    orders: u32,
    /// Where its hits are stored.
    hits_at: u32,
    /// Where its tinted hits are listed.
    tinted_at: u32,
}

/// What concerns a whole batch.
struct Batch {
    /// Rays in it.
    rays: u32,
    /// Items in it; one more stands behind them, whose first ray is the number of rays.
    items: u32,
    /// Seeds of the stage, and of what else it draws.
    seed: u32,
    other_seed: u32,
    /// Elements in the scene.
    elements: u32,
    padding_0: u32,
    padding_1: u32,
    padding_2: u32,
}
