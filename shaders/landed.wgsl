// Sums in fixed point that many threads add to, the same in whatever order they do: of two words, the lower one first, in
// `landed`, which whoever joins this piece binds.

/// Adds to a sum.
fn land(word: u32, value: u32) {
    let before = atomicAdd(&landed[word], value);
    if before > 0xffffffffu - value {
        atomicAdd(&landed[word + 1u], 1u);
    }
}
