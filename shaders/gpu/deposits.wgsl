// Atomic fixed-point sums, independent of the order of deposits. Each sum has two words in `deposits`, lower word
// first.
// Shaders that use this piece must bind `deposits`.

/// Deposits a value in a sum.
fn deposit(word: u32, value: u32) {
    let before = atomicAdd(&deposits[word], value);
    if before > 0xffffffffu - value {
        atomicAdd(&deposits[word + 1u], 1u);
    }
}
