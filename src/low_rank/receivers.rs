//! Elements as receivers of direct light.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use super::Patches;
use crate::lightmap::{ElementId, Elements};

/// Texel of a page, in the file layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ReceiverTexel {
    /// Index of the page.
    pub page: u32,
    /// Column of the texel.
    pub x: u16,
    /// Row of the texel, from the top.
    pub y: u16,
}

/// Properties of all elements for direct light and pages, in the order of the patches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receivers {
    /// Texel of each element.
    pub texel: Vec<ReceiverTexel>,
    /// Centroid of each element, in world space, in meters.
    pub center: Vec<Vec3>,
    /// Geometric unit normal of each element.
    pub geometric_normal: Vec<Vec3>,
    /// Interpolated unit normal of each element.
    pub shading_normal: Vec<Vec3>,
    /// Visible fraction of each element, negative if its texel shows the other side.
    pub visible: Vec<f32>,
}

impl Receivers {
    /// Collects the receivers in the order of the patches. `visible` is the visible fraction of each element.
    pub fn new(elements: &Elements, visible: &[f32], patches: &Patches) -> Self {
        let order = || patches.order.iter().map(|&element| element as usize);
        let texel = |element: usize| {
            let texel = elements.texel[element];
            ReceiverTexel { page: texel.page, x: texel.x, y: texel.y }
        };
        let shown = |element: usize| {
            let sign = if elements.is_shown(ElementId::from_index(element)) { 1.0 } else { -1.0 };
            sign * visible[element]
        };
        Self {
            texel: order().map(texel).collect(),
            center: order().map(|element| elements.center[element]).collect(),
            geometric_normal: order().map(|element| elements.geometric_normal[element]).collect(),
            shading_normal: order().map(|element| elements.shading_normal[element]).collect(),
            visible: order().map(shown).collect(),
        }
    }

    /// Returns the memory size, in bytes.
    pub fn bytes(&self) -> usize {
        let vectors =
            size_of_val(&*self.center) + size_of_val(&*self.geometric_normal) + size_of_val(&*self.shading_normal);
        size_of_val(&*self.texel) + vectors + size_of_val(&*self.visible)
    }
}
