//! Checks that every stage of a bake ends in finite numbers. Errors name the surface.

use core::ops::Range;

use glam::Vec3;
use rayon::prelude::*;

use super::BakeError;
use crate::geometry::SurfaceId;
use crate::lightmap::{ElementId, Elements, Layout, Page, Voxels};
use crate::radiosity::Solution;
use crate::scene::Scene;

/// Checks of the results of a bake's stages.
pub(super) struct Finite<'a> {
    pub scene: &'a Scene,
    pub elements: &'a Elements,
}

impl Finite<'_> {
    /// Checks all properties of the elements. An infinite area is as wrong as NaN.
    ///
    /// # Errors
    /// Names the first surface with a number that is not finite.
    pub fn elements(&self) -> Result<(), BakeError> {
        let Elements { center, geometric_normal, shading_normal, area, reflectance, emission, .. } = self.elements;
        let is_area = |area: &f32| area.is_finite() && *area >= 0.0;
        self.check("the area of a texel", area, is_area)?;
        self.check("the center of a texel", center, is_finite)?;
        self.check("the normal of a texel", geometric_normal, is_finite)?;
        self.check("the shading normal of a texel", shading_normal, is_finite)?;
        self.check("the reflectance of a texel", reflectance, is_finite)?;
        self.check("the emission of a texel", emission, is_finite)
    }

    /// Checks the light that a solver found.
    ///
    /// # Errors
    /// Names the first surface with light that is not finite.
    pub fn solution(&self, solution: &Solution) -> Result<(), BakeError> {
        self.check("the direct light of a texel", &solution.direct, is_finite)?;
        self.check("the indirect light of a texel", &solution.indirect, is_finite)?;
        for half in &solution.halves {
            self.check("the light of a texel", half, is_finite)?;
        }
        self.check("the open part of a texel", &solution.visible_fraction, |part| part.is_finite())?;
        if ![solution.error_estimate, solution.error_of_mean].iter().all(|error| error.is_finite()) {
            return Err(BakeError::NotFinite { what: "the estimated error", of: "the whole scene".to_owned() });
        }
        Ok(())
    }

    /// Checks the pages that will be written.
    ///
    /// # Errors
    /// Names the surface whose rectangle holds a texel that is not finite.
    pub fn pages(&self, pages: &[Page], layout: &Layout) -> Result<(), BakeError> {
        let wrong = pages.iter().enumerate().find_map(|(number, page)| {
            let place = page.texels.par_iter().position_first(|texel| !texel.is_finite())?;
            Some((number as u32, (place as u32 % page.width, place as u32 / page.width)))
        });
        let Some((page, place)) = wrong else { return Ok(()) };
        let surface = self.scene.surface_ids().find(|&id| {
            layout.placement(id).is_some_and(|placement| {
                let rectangle = placement.rectangle;
                let within = |start: u32, size: u32, at: u32| (start..start + size).contains(&at);
                placement.page == page
                    && within(rectangle.x, rectangle.width, place.0)
                    && within(rectangle.y, rectangle.height, place.1)
            })
        });
        let of = surface.map_or_else(|| format!("page {page}"), |surface| self.name(surface));
        Err(BakeError::NotFinite { what: "a texel", of })
    }

    fn check<T: Sync>(
        &self,
        what: &'static str,
        values: &[T],
        is_right: impl Fn(&T) -> bool + Sync + Send,
    ) -> Result<(), BakeError> {
        let wrong = values.par_iter().position_first(|value| !is_right(value));
        wrong.map_or(Ok(()), |element| {
            let surface = self.elements.surface(ElementId::from_index(element));
            Err(BakeError::NotFinite { what, of: self.name(surface) })
        })
    }

    fn name(&self, surface: SurfaceId) -> String {
        format!("surface '{}'", self.scene.surface(surface).key)
    }
}

/// Checks the light of an irradiance volume.
///
/// # Errors
/// Names the place of the first voxel whose light is not finite.
pub(super) fn check_volume(volume: &Voxels) -> Result<(), BakeError> {
    let range: Range<usize> = 0..volume.values.len();
    let wrong = range.into_par_iter().find_first(|&voxel| !volume.values[voxel].iter().all(|light| light.is_finite()));
    wrong.map_or(Ok(()), |voxel| {
        Err(BakeError::NotFinite { what: "the light of a voxel", of: format!("the irradiance volume, voxel {voxel}") })
    })
}

fn is_finite(value: &Vec3) -> bool {
    value.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::test_scene::{TestScene, gray};

    #[test]
    fn a_number_that_is_not_finite_ends_a_bake_with_the_name_of_its_surface() {
        let mut test = TestScene::default();
        test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], gray(0.5));
        test.quad(Vec3::Y, Vec3::Z, Vec3::X, [2; 2], gray(0.5));
        let mut elements = test.elements();
        let check = |elements: &Elements| Finite { scene: &test.scene, elements }.elements();
        check(&elements).unwrap();
        elements.area[5] = f32::INFINITY;
        let refusal = check(&elements).unwrap_err().to_string();
        assert!(refusal.starts_with("the area of a texel of surface '1' is not a finite number"), "{refusal}");

        let finite = Finite { scene: &test.scene, elements: &elements };
        let mut pages: Vec<Page> = test.layout.pages.iter().map(|size| Page::new(*size)).collect();
        finite.pages(&pages, &test.layout).unwrap();
        pages[1].texels[3].y = f32::NAN;
        let refusal = finite.pages(&pages, &test.layout).unwrap_err().to_string();
        assert!(refusal.starts_with("a texel of surface '1' is not"), "{refusal}");
    }
}
