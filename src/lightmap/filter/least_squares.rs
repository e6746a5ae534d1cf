//! Sparse least-squares problems, solved by conjugate gradients.

use glam::{DVec3, Vec3};
use rayon::prelude::*;

/// Number of terms summed sequentially. Chunks are added in order, so the number of threads does not change the result.
const CHUNK: usize = 4096;
/// Reduction of the squared residual at which iterations stop.
const SMALL_ENOUGH: f64 = 1e-10;
const MAX_ITERATIONS: usize = 300;

/// Equation between two sums of `COUNT` unknowns each: `sum(a) - sum(b) = right`.
pub(super) struct Equation<const COUNT: usize> {
    /// Unknowns of both sums and their factors, which are negative in the second one.
    pub terms: [[(u32, f32); COUNT]; 2],
    /// Right-hand side.
    pub right: Vec3,
}

impl<const COUNT: usize> Equation<COUNT> {
    fn terms(&self) -> impl Iterator<Item = (u32, f32)> + '_ {
        self.terms.iter().flatten().copied()
    }
}

/// Returns the unknowns `d` that minimize `sum |S d - right|^2 + sum stiffness |d|^2`, one for each entry of
/// `stiffness`.
///
/// Runs conjugate gradients on the normal equations. If all right-hand sides are zero, the solution is exactly zero.
pub(super) fn solve<const COUNT: usize>(equations: &[Equation<COUNT>], stiffness: &[f32]) -> Vec<Vec3> {
    let system = System { equations, stiffness, transposed: Transposed::of(equations, stiffness.len()) };
    let right: Vec<Vec3> = equations.par_iter().map(|equation| equation.right).collect();
    let mut solution = vec![Vec3::ZERO; stiffness.len()];
    let mut residual = system.transposed.apply(&right);
    let mut direction = residual.clone();
    let mut energy = dot(&residual, &residual);
    let enough = energy * SMALL_ENOUGH;
    for _ in 0..MAX_ITERATIONS {
        if energy.cmple(enough).all() {
            break;
        }
        let product = system.apply(&direction);
        let step = ratio(energy, dot(&direction, &product));
        add_scaled(&mut solution, &direction, step);
        add_scaled(&mut residual, &product, -step);
        let next = dot(&residual, &residual);
        let turn = ratio(next, energy);
        direction.par_iter_mut().zip(&residual).with_min_len(CHUNK).for_each(|(d, r)| *d = *r + *d * turn);
        energy = next;
    }
    solution
}

struct System<'a, const COUNT: usize> {
    equations: &'a [Equation<COUNT>],
    stiffness: &'a [f32],
    transposed: Transposed,
}

impl<const COUNT: usize> System<'_, COUNT> {
    /// Returns `S^T S x + stiffness x`.
    fn apply(&self, x: &[Vec3]) -> Vec<Vec3> {
        let sums: Vec<Vec3> = self
            .equations
            .par_iter()
            .with_min_len(CHUNK)
            .map(|equation| equation.terms().map(|(unknown, factor)| x[unknown as usize] * factor).sum())
            .collect();
        let mut product = self.transposed.apply(&sums);
        product.par_iter_mut().zip(x).zip(self.stiffness).with_min_len(CHUNK).for_each(|((p, x), s)| *p += *x * *s);
        product
    }
}

/// Transpose of the system: the equations that contain each unknown.
struct Transposed {
    /// First entry of each unknown, and the number of entries at the end.
    offsets: Vec<u32>,
    entries: Vec<(u32, f32)>,
}

impl Transposed {
    fn of<const COUNT: usize>(equations: &[Equation<COUNT>], unknowns: usize) -> Self {
        let terms = || {
            let numbered = equations.iter().enumerate();
            numbered.flat_map(|(row, equation)| {
                equation.terms().map(move |(unknown, factor)| (unknown as usize, row, factor))
            })
        };
        let mut offsets = vec![0; unknowns + 1];
        terms().for_each(|(unknown, ..)| offsets[unknown + 1] += 1);
        for unknown in 0..unknowns {
            offsets[unknown + 1] += offsets[unknown];
        }
        let mut next = offsets.clone();
        let mut entries = vec![(0, 0.0); equations.len() * 2 * COUNT];
        for (unknown, row, factor) in terms() {
            entries[next[unknown] as usize] = (row as u32, factor);
            next[unknown] += 1;
        }
        Self { offsets, entries }
    }

    fn apply(&self, rows: &[Vec3]) -> Vec<Vec3> {
        self.offsets
            .par_windows(2)
            .with_min_len(CHUNK)
            .map(|range| {
                let entries = &self.entries[range[0] as usize..range[1] as usize];
                entries.iter().map(|&(row, factor)| rows[row as usize] * factor).sum()
            })
            .collect()
    }
}

fn dot(a: &[Vec3], b: &[Vec3]) -> DVec3 {
    let sums: Vec<DVec3> = (a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)))
        .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a.as_dvec3() * b.as_dvec3()).sum())
        .collect();
    sums.into_iter().sum()
}

/// Returns the quotient; zero where a channel has already converged.
fn ratio(numerator: DVec3, denominator: DVec3) -> Vec3 {
    DVec3::select(denominator.cmpgt(DVec3::ZERO), numerator / denominator, DVec3::ZERO).as_vec3()
}

fn add_scaled(sum: &mut [Vec3], step: &[Vec3], factor: Vec3) {
    sum.par_iter_mut().zip(step).with_min_len(CHUNK).for_each(|(sum, step)| *sum += *step * factor);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_shared_by_both_sides_according_to_their_stiffness() {
        let equation = |right| Equation { terms: [[(0, 1.0), (0, 0.0)], [(1, -1.0), (1, 0.0)]], right };
        // min (a - b - 1)^2 + s a^2 + t b^2 has a = t / (s + t + s t), b = -s / (s + t + s t).
        let (s, t) = (0.01, 0.03);
        let found = solve(&[equation(Vec3::new(1.0, 2.0, 0.0))], &[s, t]);
        let scale = Vec3::new(1.0, 2.0, 0.0) / (s + t + s * t);
        assert!((found[0] - scale * t).length() < 1e-5, "{found:?}");
        assert!((found[1] + scale * s).length() < 1e-5, "{found:?}");
    }

    #[test]
    fn nothing_moves_where_all_equations_hold() {
        let equation = Equation { terms: [[(0, 0.25); 4], [(1, -0.25); 4]], right: Vec3::ZERO };
        assert_eq!(solve(&[equation], &[0.1, 0.1]), vec![Vec3::ZERO; 2]);
    }
}
