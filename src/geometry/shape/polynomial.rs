//! Real roots of polynomials.

/// Returns the roots within an interval where the polynomial changes its sign, ascending. Coefficients begin with that of
/// the constant.
///
/// Between neighboring roots of the derivative there is at most one root, which a bracketed Newton iteration finds.
pub fn roots(coefficients: &[f64], [from, to]: [f64; 2]) -> Vec<f64> {
    if coefficients.len() < 2 {
        return Vec::new();
    }
    let slope: Vec<f64> =
        coefficients.iter().enumerate().skip(1).map(|(power, coefficient)| power as f64 * coefficient).collect();
    let mut ends = vec![from];
    ends.extend(roots(&slope, [from, to]));
    ends.push(to);
    ends.windows(2).filter_map(|ends| root_between(coefficients, &slope, [ends[0], ends[1]])).collect()
}

/// Returns the root between two places at which the polynomial has different signs.
fn root_between(coefficients: &[f64], slope: &[f64], [from, to]: [f64; 2]) -> Option<f64> {
    /// Steps that halve any interval to the spacing of its numbers.
    const MAX_STEPS: usize = 64;
    let is_below = |place: f64| value(coefficients, place) < 0.0;
    if is_below(from) == is_below(to) {
        return None;
    }
    let (mut below, mut above) = if is_below(from) { (from, to) } else { (to, from) };
    let mut place = 0.5 * (from + to);
    for _ in 0..MAX_STEPS {
        let height = value(coefficients, place);
        if height < 0.0 {
            below = place;
        } else {
            above = place;
        }
        let newton = place - height / value(slope, place);
        let is_bracketed = (newton - below) * (newton - above) < 0.0;
        let next = if is_bracketed { newton } else { 0.5 * (below + above) };
        if next == place {
            break;
        }
        place = next;
    }
    Some(place)
}

/// Evaluates a polynomial by Horner's scheme.
fn value(coefficients: &[f64], place: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * place + coefficient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_products_of_lines_are_those_of_the_lines() {
        let expanded = expand(&[1.0, -2.0, 0.5, -0.25]);
        let found = roots(&expanded, [-3.0, 3.0]);
        for (found, expected) in found.iter().zip([-2.0, -0.25, 0.5, 1.0]) {
            assert!((found - expected).abs() < 1e-14, "{found}");
        }
        assert_eq!(found.len(), 4);
        assert_eq!(roots(&expanded, [-1.0, 0.75]).len(), 2);
    }

    /// Returns the coefficients of the polynomial with these roots.
    fn expand(roots: &[f64]) -> Vec<f64> {
        roots.iter().fold(vec![1.0], |product, root| {
            let shifted = [0.0].iter().chain(&product);
            let scaled = product.iter().map(|coefficient| -root * coefficient).chain([0.0]);
            shifted.zip(scaled).map(|(a, b)| a + b).collect()
        })
    }

    #[test]
    fn a_polynomial_that_only_touches_zero_or_stays_above_has_no_root() {
        assert!(roots(&[1.0, 0.0, 1.0], [-9.0, 9.0]).is_empty());
        assert!(roots(&[1.0], [-1.0, 1.0]).is_empty());
        assert_eq!(roots(&[-1.0, 2.0], [0.0, 1.0]), [0.5]);
    }
}
