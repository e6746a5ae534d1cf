//! Construction of a scene's elements.

use glam::{Vec2, Vec3};
use rayon::prelude::*;

use super::contacts::Contacts;
use super::{ElementId, Elements, OpenSides, Sheet, SurfacePoint, Texel, clearance, stand_ins};
use crate::geometry::{RayQuery, SurfaceId};
use crate::lightmap::footprint::{Footprints, Fragment};
use crate::lightmap::{Layout, Placement};
use crate::parts::{finish, map};
use crate::progress::{Cancelled, Monitor, PieceProgress};
use crate::scene::Scene;

impl Elements {
    /// Creates an element for each texel and open side of all placed surfaces.
    ///
    /// Double-sided surfaces get elements on the sides that [`Scene::with_sealed_sides`] left open.
    ///
    /// # Errors
    /// [`Cancelled`] if the monitor requests it.
    pub fn build(
        scene: &Scene,
        layout: &Layout,
        world: &dyn RayQuery,
        monitor: &dyn Monitor,
    ) -> Result<Self, Cancelled> {
        finish(Self::build_in_parts(scene, layout, world, monitor))
    }

    /// Does the same as [`build`](Self::build), with pauses.
    pub(crate) async fn build_in_parts(
        scene: &Scene,
        layout: &Layout,
        world: &dyn RayQuery,
        monitor: &dyn Monitor,
    ) -> Result<Self, Cancelled> {
        let surfaces = PieceProgress::new(monitor, scene.surfaces.len());
        let part = |index| {
            monitor.check()?;
            let surface = SurfaceId::from_index(index);
            let part = layout.placement(surface).map(|placement| Part::build(scene, world, surface, placement));
            surfaces.finish_piece();
            Ok(part)
        };
        let parts = map(scene.surfaces.len(), 1, part).await.into_iter().collect::<Result<Vec<_>, Cancelled>>()?;
        let mut elements = Self::default();
        for (index, part) in parts.into_iter().enumerate() {
            elements.surface_offsets.push(elements.len() as u32);
            let sheet = part.map(|part| elements.append(SurfaceId::from_index(index), part));
            elements.sheets.push(sheet);
        }
        elements.surface_offsets.push(elements.len() as u32);
        monitor.check()?;
        elements.clearance = vec![0.0; elements.len()];
        elements.clearance = clearance::find(scene, world, &elements).await;
        elements.stand_ins = stand_ins::find(scene, world, &elements).await;
        Ok(elements)
    }

    fn append(&mut self, surface: SurfaceId, part: Part) -> Sheet {
        let Part { sheet, properties } = part;
        let two_sided = sheet.unwrap.is_two_sided();
        let turns = [false, true].into_iter().filter(|&turned| match two_sided {
            true => !turned,
            false => sheet.sides.index_of(turned).is_some(),
        });
        for turned in turns {
            let side = if turned { -1.0 } else { 1.0 };
            for (footprint, one) in properties.iter().enumerate() {
                let [column, row] = sheet.footprints.texel(footprint);
                self.center.push(one.center);
                self.geometric_normal.push(one.geometric_normal * side);
                self.shading_normal.push(one.shading_normal * side);
                self.area.push(one.area);
                self.reflectance.push(one.reflectance);
                self.emission.push(one.emission);
                self.back.push(one.back != turned);
                self.texel.push(Texel {
                    page: sheet.page,
                    x: (sheet.rectangle.x + column) as u16,
                    y: (sheet.rectangle.y + row) as u16,
                });
                self.surface.push(surface);
            }
        }
        sheet
    }
}

impl Elements {
    /// Returns the diffuse reflectance of a surface's elements in a scene of equal geometry whose materials may differ.
    pub fn reflectance_in(&self, scene: &Scene, surface: SurfaceId) -> Vec<Vec3> {
        let Some(sheet) = self.sheet(surface) else {
            return Vec::new();
        };
        let of_footprint = |footprint| Properties::of(scene, surface, sheet, footprint).reflectance;
        let footprints: Vec<Vec3> =
            (0..sheet.footprints.len()).into_par_iter().with_min_len(256).map(of_footprint).collect();
        let of_element = |element| footprints[self.footprint(ElementId::from_index(element))];
        self.of_surface(surface).map(of_element).collect()
    }
}

/// Elements of one surface, without those of a side that has no texels of its own.
struct Part {
    sheet: Sheet,
    properties: Vec<Properties>,
}

struct Properties {
    center: Vec3,
    geometric_normal: Vec3,
    shading_normal: Vec3,
    area: f32,
    reflectance: Vec3,
    emission: Vec3,
    back: bool,
}

impl Part {
    fn build(scene: &Scene, world: &dyn RayQuery, surface: SurfaceId, placement: &Placement) -> Self {
        let Placement { unwrap, page, rectangle } = placement;
        let mut sheet = Sheet {
            unwrap: unwrap.clone(),
            rectangle: *rectangle,
            page: *page,
            sides: OpenSides::find(scene, world, surface),
            footprints: Footprints::default(),
        };
        let area = |triangle| {
            let (triangle, _, back) = unwrap.in_scene(triangle, Vec2::ZERO);
            // Texels of a hidden side stay empty.
            let closed = unwrap.is_two_sided() && scene.is_sealed(surface, triangle, back);
            if closed { 0.0 } else { scene.triangle(surface, triangle).area() }
        };
        let contacts = Contacts { scene, world, surface, placement, sides: sheet.sides };
        sheet.footprints = Footprints::build(unwrap, rectangle.width, rectangle.height, area, |triangle, polygon| {
            contacts.lines(triangle, polygon)
        });
        let properties = (0..sheet.footprints.len())
            .into_par_iter()
            .with_min_len(256)
            .map(|footprint| Properties::of(scene, surface, &sheet, footprint))
            .collect();
        Self { sheet, properties }
    }
}

impl Properties {
    fn of(scene: &Scene, surface: SurfaceId, sheet: &Sheet, footprint: usize) -> Self {
        let Sheet { unwrap, footprints, .. } = sheet;
        let (material, mesh) = (scene.material_of(surface), scene.mesh_of(surface));
        let (triangle, barycentric) = footprints.center(unwrap, footprint);
        let (triangle, barycentric, back) = unwrap.in_scene(triangle, barycentric);
        let center = SurfacePoint::new(scene, surface, triangle, barycentric, back);
        let side = if back { -1.0 } else { 1.0 };
        let pieces: Vec<(Fragment, Vec<Vec2>)> = footprints.outlines(unwrap, footprint).collect();
        let total: f64 = pieces.iter().map(|(fragment, _)| f64::from(fragment.area)).sum();
        let (mut normal, mut reflectance, mut emission) = (Vec3::ZERO, Vec3::ZERO, Vec3::ZERO);
        for (Fragment { triangle: drawn, area, .. }, outline) in &pieces {
            let corners: Vec<Vec2> = outline.iter().map(|corner| unwrap.in_scene(*drawn, *corner).1).collect();
            let (triangle, ..) = unwrap.in_scene(*drawn, Vec2::ZERO);
            let (reflected, emitted) = material.average_over(scene, mesh, triangle, &corners);
            // The areas of slivers may underflow.
            let share = if total > 0.0 { (f64::from(*area) / total) as f32 } else { 1.0 / pieces.len() as f32 };
            normal += scene.geometric_normal(surface, triangle) * (side * share);
            reflectance += reflected * share;
            emission += emitted * share;
        }
        Self {
            center: scene.triangle(surface, triangle).at(barycentric),
            geometric_normal: normal.try_normalize().unwrap_or(center.geometric_normal),
            shading_normal: center.shading_normal,
            area: total as f32,
            reflectance,
            emission,
            back,
        }
    }
}
