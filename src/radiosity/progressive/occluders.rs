//! What may stand between two patches.

use crate::geometry::{Ray, Triangle, WatertightRay};
use crate::kdtree::{NodeKind, Preset, Tree, resting_triangles};
use crate::scene::Scene;

use super::shaft::Shaft;

/// All triangles of a scene, to be asked for those within a shaft.
pub struct Occluders {
    tree: Tree,
    /// Triangles whose material lets light through here or there.
    passable: Vec<bool>,
    #[cfg(test)]
    pub tally: super::tally::Tally,
}

/// What stands in a shaft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Candidates {
    /// These opaque triangles; none of them, when both ends see all of each other.
    Triangles(Vec<u32>),
    /// More than are worth a list, or some that let light through: better asked of the scene's tree.
    Many,
}

impl Candidates {
    /// True when nothing stands there.
    pub fn are_none(&self) -> bool {
        matches!(self, Self::Triangles(none) if none.is_empty())
    }
}

impl Occluders {
    /// Takes the triangles of all surfaces that are in the bake.
    pub fn new(scene: &Scene) -> Self {
        let (triangles, sources) = resting_triangles(scene);
        let passable = sources.iter().map(|(surface, _)| scene.material_of(*surface).can_be_passed()).collect();
        Self {
            tree: Tree::build(triangles, &Preset::narrow()),
            passable,
            #[cfg(test)]
            tally: super::tally::Tally::default(),
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.tree.statistics().bytes + self.passable.len()
    }

    /// The triangles that a shaft touches, if they are at most so many.
    pub fn within(&self, shaft: &Shaft, most: usize) -> Candidates {
        let mut tested = 0;
        #[cfg(not(test))]
        let found = self.find(shaft, most, &mut tested);
        #[cfg(test)]
        let found = if super::tally::asks_all() {
            tested = self.passable.len() as u64;
            self.find_among_all(shaft, most)
        } else {
            self.find(shaft, most, &mut tested)
        };
        #[cfg(test)]
        self.tally.add(&found, tested);
        found
    }

    fn find(&self, shaft: &Shaft, most: usize, tested: &mut u64) -> Candidates {
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
                        if found.len() == most || self.passable[triangle as usize] {
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

    /// The same without a tree, as the thesis has it: each triangle is held against the shaft.
    #[cfg(test)]
    fn find_among_all(&self, shaft: &Shaft, most: usize) -> Candidates {
        let all = self.tree.triangles().iter().zip(&self.passable).enumerate();
        let mut within = all.filter(|(_, (triangle, _))| shaft.touches(triangle));
        let found: Vec<_> = within.by_ref().take(most).collect();
        if within.next().is_some() || found.iter().any(|(_, (_, passable))| **passable) {
            return Candidates::Many;
        }
        Candidates::Triangles(found.into_iter().map(|(triangle, _)| triangle as u32).collect())
    }

    /// True when one of the triangles blocks the ray.
    pub fn block(&self, candidates: &[u32], ray: &Ray) -> bool {
        let ray = WatertightRay::new(ray);
        candidates.iter().any(|&triangle| self.triangle(triangle).intersect(&ray).is_some())
    }

    fn triangle(&self, index: u32) -> &Triangle {
        &self.tree.triangles()[index as usize]
    }
}
