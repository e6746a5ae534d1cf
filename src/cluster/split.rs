//! Division of work units into contiguous ranges.

use std::iter::repeat_n;
use std::ops::Range;

/// Divides `units` units into `parts` ranges with lengths that differ by at most one, the longer ones first (`002`,
/// `spliti`). If there are more parts than units, the last ranges are empty.
pub fn split_equally(units: u32, parts: u32) -> Vec<Range<u32>> {
    let (length, longer) = (units / parts, units % parts);
    ranges(repeat_n(length + 1, longer as usize).chain(repeat_n(length, (parts - longer) as usize)))
}

/// Divides `units` units into one range per worker, in proportion to their speeds (`002`, `SPEED_PROPORTIONAL`). Lengths
/// are rounded down, and the first workers get one more until all units are taken. Without any speed above zero, the
/// ranges are those of [`split_equally`].
pub fn split_by_speed(units: u32, speeds: &[f32]) -> Vec<Range<u32>> {
    let positive = || speeds.iter().map(|&speed| f64::from(speed.max(0.0)));
    let sum: f64 = positive().sum();
    if !(sum > 0.0 && sum.is_finite()) {
        return split_equally(units, speeds.len() as u32);
    }
    let mut lengths: Vec<u32> = positive().map(|speed| (speed / sum * f64::from(units)) as u32).collect();
    // Rounding leaves fewer units than there are workers.
    let left = units - lengths.iter().sum::<u32>();
    lengths.iter_mut().take(left as usize).for_each(|length| *length += 1);
    ranges(lengths)
}

fn ranges(lengths: impl IntoIterator<Item = u32>) -> Vec<Range<u32>> {
    let range = |end: &mut u32, length: u32| {
        let start = *end;
        *end += length;
        Some(start..*end)
    };
    lengths.into_iter().scan(0, range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(ranges: &[Range<u32>]) -> Vec<u32> {
        let ends = ranges.iter().map(|range| range.end);
        assert!(ranges.iter().map(|range| range.start).eq([0].into_iter().chain(ends).take(ranges.len())));
        ranges.iter().map(|range| range.end - range.start).collect()
    }

    #[test]
    fn the_rows_of_the_documents_picture_are_40_strips_of_14_and_40_of_13() {
        assert_eq!(lengths(&split_equally(1080, 80)), [[14; 40], [13; 40]].concat());
    }

    #[test]
    fn more_parts_than_units_leave_empty_ranges_at_the_end() {
        assert_eq!(lengths(&split_equally(3, 5)), [1, 1, 1, 0, 0]);
        assert_eq!(lengths(&split_equally(0, 2)), [0, 0]);
    }

    #[test]
    fn faster_workers_get_more_and_the_first_ones_the_rest() {
        // A third of 10 is 3.33, two thirds are 6.67.
        assert_eq!(lengths(&split_by_speed(10, &[1.0, 2.0])), [4, 6]);
        assert_eq!(lengths(&split_by_speed(1080, &[4.0, 8.0, 4.0, 4.0])), [216, 432, 216, 216]);
    }

    #[test]
    fn speeds_that_say_nothing_divide_equally() {
        for speeds in [[0.0, 0.0], [f32::NAN, f32::NAN], [f32::INFINITY, 1.0], [-1.0, -3.0]] {
            assert_eq!(lengths(&split_by_speed(7, &speeds)), [4, 3], "{speeds:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_unit_is_lost_for_any_speeds(units in 0u32..100_000, speeds in proptest::collection::vec(0.0f32..1e6, 1..40)) {
            assert_eq!(lengths(&split_by_speed(units, &speeds)).iter().sum::<u32>(), units);
        }
    }
}
