//! Potential occluders between two patches.

use crate::accel::{NodeKind, Preset, Tree, static_triangles};
use crate::geometry::{Ray, Triangle, WatertightRay};
use crate::scene::Scene;

use super::shaft::Shaft;

/// Search for triangles in a shaft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateSearch {
    /// Query of a tree, up to a number of triangles.
    Tree { max_count: usize },
    /// Test of all triangles without a limit, as in the thesis.
    All,
}

/// Triangles of a scene in a tree, for queries with shafts.
pub struct Occluders {
    tree: Tree,
    /// Flag of each triangle: true if its material lets some light pass.
    passable: Vec<bool>,
    #[cfg(test)]
    pub tally: super::tally::Tally,
}

/// Potential occluders in a shaft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// Indices of opaque triangles. An empty list means full visibility.
    Triangles(Vec<u32>),
    /// Too many triangles for a list, or ones that let light pass. Rays must query the scene's tree.
    Many,
}

impl Candidates {
    /// Returns true if the shaft is empty.
    pub fn are_none(&self) -> bool {
        matches!(self, Self::Triangles(none) if none.is_empty())
    }
}

impl Occluders {
    /// Collects the triangles of all surfaces in the bake.
    pub fn new(scene: &Scene) -> Self {
        let (triangles, sources) = static_triangles(scene);
        let passable = sources.iter().map(|(surface, _)| scene.material_of(*surface).can_be_passed()).collect();
        Self {
            tree: Tree::build(triangles, &Preset::narrow()),
            passable,
            #[cfg(test)]
            tally: super::tally::Tally::default(),
        }
    }

    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        self.tree.statistics().bytes + self.passable.len()
    }

    /// Returns the triangles that a shaft touches, if they are opaque and no more than the search allows.
    pub fn within(&self, shaft: &Shaft, search: CandidateSearch) -> Candidates {
        let mut tested = 0;
        let found = match search {
            CandidateSearch::Tree { max_count } => self.find(shaft, max_count, &mut tested),
            CandidateSearch::All => self.find_among_all(shaft, &mut tested),
        };
        #[cfg(test)]
        self.tally.add(&found, tested);
        found
    }

    fn find(&self, shaft: &Shaft, max_count: usize, tested: &mut u64) -> Candidates {
        let mut found = Vec::new();
        let bounds = self.tree.bounds();
        let mut pending = vec![(0, bounds)];
        while let Some((node, cell)) = pending.pop() {
            if cell.is_empty() || !shaft.touches_box(&cell) {
                continue;
            }
            match self.tree.nodes()[node].kind() {
                NodeKind::Split { axis, position, first } => {
                    let [below, above] = cell.halves(axis, position);
                    pending.extend([(first as usize + 1, above), (first as usize, below)]);
                }
                NodeKind::Leaf { first, count } => {
                    let held = &self.tree.references()[first as usize..(first + count) as usize];
                    for &triangle in held {
                        *tested += 1;
                        if found.contains(&triangle) || !shaft.touches(&self.tree.triangles()[triangle as usize]) {
                            continue;
                        }
                        if found.len() == max_count || self.passable[triangle as usize] {
                            return Candidates::Many;
                        }
                        found.push(triangle);
                    }
                }
            }
        }
        found.sort_unstable();
        Candidates::Triangles(found)
    }

    /// Tests every triangle against the shaft without a tree.
    fn find_among_all(&self, shaft: &Shaft, tested: &mut u64) -> Candidates {
        *tested += self.passable.len() as u64;
        let all = self.tree.triangles().iter().zip(&self.passable).enumerate();
        let within = all.filter(|(_, (triangle, _))| shaft.touches(triangle));
        let opaque = |(index, (_, passable)): (usize, (&Triangle, &bool))| (!passable).then_some(index as u32);
        within.map(opaque).collect::<Option<_>>().map_or(Candidates::Many, Candidates::Triangles)
    }

    /// Returns true if one of the triangles blocks the ray.
    pub fn block(&self, candidates: &[u32], ray: &Ray) -> bool {
        let ray = WatertightRay::new(ray);
        candidates.iter().any(|&triangle| self.triangle(triangle).intersect(&ray).is_some())
    }

    fn triangle(&self, index: u32) -> &Triangle {
        &self.tree.triangles()[index as usize]
    }
}
