//! Reports that name several nodes at once.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::scene::{MaterialId, Problem};

/// Names of nodes, by kind of report.
#[derive(Default)]
pub struct NodeReports {
    pub hidden: Vec<String>,
    pub without_material: Vec<String>,
    /// Nodes by the animation that moves them.
    pub animated: BTreeMap<Arc<str>, Vec<String>>,
    /// Nodes by their unlit material.
    pub unlit: BTreeMap<MaterialId, Vec<String>>,
    /// Names of the unlit materials, in the same order.
    pub unlit_materials: Vec<String>,
    /// Materials that are metals by omission, with the first node of each.
    pub metals: BTreeMap<usize, (String, String)>,
}

impl NodeReports {
    /// Returns one problem for each kind, animation and material.
    pub fn problems(self) -> Vec<Problem> {
        let mut problems = Vec::new();
        problems.extend(first_of(self.hidden).map(|(node, more)| Problem::HiddenNodes { node, more }));
        problems.extend(self.animated.into_iter().filter_map(|(animation, nodes)| {
            let (node, more) = first_of(nodes)?;
            Some(Problem::AnimatedNodes { animation: animation.to_string(), node, more })
        }));
        problems.extend(self.unlit.into_values().zip(self.unlit_materials).filter_map(|(nodes, material)| {
            let (node, more) = first_of(nodes)?;
            Some(Problem::Unlit { material, node, more })
        }));
        let metals = self.metals.into_values();
        problems.extend(metals.map(|(material, node)| Problem::MetalByOmission { material, node }));
        problems.extend(first_of(self.without_material).map(|(node, more)| Problem::NoMaterial { node, more }));
        problems
    }
}

/// Returns the first name and the number of the others.
fn first_of(mut names: Vec<String>) -> Option<(String, usize)> {
    names.dedup();
    let more = names.len().saturating_sub(1);
    names.into_iter().next().map(|name| (name, more))
}
