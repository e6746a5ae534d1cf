//! Where light is asked for.

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

use super::Patches;
use crate::lightmap::{ElementId, Elements};

/// A texel on a page, as files hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ReceiverTexel {
    /// Which page.
    pub page: u32,
    /// Column.
    pub x: u16,
    /// Row, from the top.
    pub y: u16,
}

/// All elements as far as direct light and pages have to do with them, in the order of the patches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receivers {
    /// The texel that shows each.
    pub texel: Vec<ReceiverTexel>,
    /// Its centroid, world space, metres.
    pub centre: Vec<Vec3>,
    /// Its surface's unit normal.
    pub geometric_normal: Vec<Vec3>,
    /// The interpolated unit normal.
    pub shading_normal: Vec<Vec3>,
    /// The part of it that light reaches, negative where its texel shows the other side.
    pub visible: Vec<f32>,
}

impl Receivers {
    /// Sorts elements as patches are. `visible` is the part of each that light reaches.
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
            centre: order().map(|element| elements.centre[element]).collect(),
            geometric_normal: order().map(|element| elements.geometric_normal[element]).collect(),
            shading_normal: order().map(|element| elements.shading_normal[element]).collect(),
            visible: order().map(shown).collect(),
        }
    }

    /// What it takes in memory.
    pub fn bytes(&self) -> usize {
        let vectors =
            size_of_val(&*self.centre) + size_of_val(&*self.geometric_normal) + size_of_val(&*self.shading_normal);
        size_of_val(&*self.texel) + vectors + size_of_val(&*self.visible)
    }
}
