//! Abbreviated lists of similar warnings.

use std::collections::HashMap;
use std::fmt::Display;
use std::mem::discriminant;

/// Maximum number of warnings of one kind that are listed.
const MAX_ALIKE: usize = 10;

/// Returns the texts of warnings in order, with at most ten of each kind. Kinds are the variants of an `enum`. The last
/// text of a kind states how many more there are.
pub fn dedup_warnings<'a, T: Display + 'a>(warnings: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    let mut texts = Vec::new();
    // Index of the last text of each kind, and the number of warnings.
    let mut kinds = HashMap::new();
    for warning in warnings {
        let (last, count) = kinds.entry(discriminant(warning)).or_insert((0, 0));
        *count += 1;
        if *count <= MAX_ALIKE {
            *last = texts.len();
            texts.push(warning.to_string());
        }
    }
    for (last, count) in kinds.into_values().filter(|(_, count)| *count > MAX_ALIKE) {
        texts[last] += &format!(" (and {} more like it)", count - MAX_ALIKE);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Problem;

    #[test]
    fn two_thousand_of_a_kind_are_ten_texts_and_others_are_said_as_ever() {
        let empty = |number: usize| Problem::EmptyMesh { mesh: format!("box {number}") };
        let mut problems: Vec<Problem> = (0..2_000).map(empty).collect();
        problems.insert(1_000, Problem::NoLight);
        let texts = dedup_warnings(&problems);
        assert_eq!(texts.len(), 11);
        assert!(texts[0].contains("box 0") && texts[10] == Problem::NoLight.to_string());
        assert!(texts[9].contains("box 9") && texts[9].ends_with("(and 1990 more like it)"), "{}", texts[9]);
        assert_eq!(dedup_warnings(&problems[..10]), problems[..10].iter().map(ToString::to_string).collect::<Vec<_>>());
    }
}
