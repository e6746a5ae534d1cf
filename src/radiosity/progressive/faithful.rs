//! Progressive refinement as the thesis has it (`000` S1, S8).
//!
//! Emission is shot, in place of sampled direct light. The strongest patch is that with the most power, without weights.
//! Every shaft is tested against all triangles, and its list has no limit. The end is relative to the first shot, and no
//! gather rays correct the result.
//!
//! Direct light is sampled nevertheless, for the residual alone: the solution's indirect light is what shots brought
//! beyond it. Only elements shine in the thesis, so lights without elements are left out and named.

use core::f32::consts::PI;

use glam::Vec3;

use crate::lightmap::Elements;
use crate::scene::Scene;

/// Error of direct light that is sampled for the residual.
pub const DIRECT_ERROR: f32 = 0.05;

/// Returns the radiosity that each element emits, in lm/m2.
pub fn emitted(elements: &Elements) -> Vec<Vec3> {
    elements.emission.iter().map(|radiance| *radiance * PI).collect()
}

/// Returns true if an element emits light.
pub fn shines(elements: &Elements) -> bool {
    elements.emission.iter().any(|radiance| radiance.max_element() > 0.0)
}

/// Returns the warning about lights that no element emits.
pub fn left_out(scene: &Scene, elements: &Elements) -> Option<String> {
    let mut names: Vec<String> = scene.lights.iter().map(|light| format!("'{}'", light.name)).collect();
    if !scene.sky.is_dark() {
        names.push("the sky".into());
    }
    let is_dark =
        |surface| elements.emission[elements.of_surface(surface)].iter().all(|emission| *emission == Vec3::ZERO);
    let lamps = scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake() && scene.material_of(id).is_emissive());
    names.extend(lamps.filter(|&id| is_dark(id)).map(|id| format!("'{}'", scene.surface(id).key)));
    (!names.is_empty())
        .then(|| format!("as printed, only texels shine: these lights are left out: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::radiosity::progressive::schedule::ShootingSchedule;
    use crate::radiosity::progressive::tests::{Fixture, MUCH};
    use crate::radiosity::progressive::{CandidateSearch, Refine};
    use crate::radiosity::test_scene::{TestScene, emissive, gray};
    use crate::scene::{Light, LightKind, Sky};

    /// Returns a closed room in which every wall emits a radiance of one.
    fn furnace(reflectance: f32) -> Fixture {
        let mut test = TestScene::default();
        test.room(Vec3::new(2.0, 1.0, 3.0), 4, |_| emissive(reflectance, 1.0));
        Fixture::new(&test)
    }

    #[test]
    fn lights_that_no_texel_emits_are_named() {
        let mut test = TestScene::default();
        test.room(Vec3::ONE, 2, |face| if face == 0 { emissive(0.5, 1.0) } else { gray(0.5) });
        let elements = test.elements();
        assert!(shines(&elements) && left_out(&test.scene, &elements).is_none());
        let kind = LightKind::Point { position: Vec3::ZERO, intensity: Vec3::ONE, radius: 0.0, range: f32::INFINITY };
        test.scene.lights.push(Light { name: "bulb".into(), kind });
        test.scene.sky = Sky::Uniform(Vec3::ONE);
        let said = left_out(&test.scene, &elements).unwrap();
        assert!(said.contains("'bulb'") && said.contains("the sky"), "{said}");
    }

    #[test]
    fn the_first_shot_has_the_power_of_the_largest_emitter_and_the_last_no_less_than_the_part_asked_for() {
        const PART: f32 = 0.01;
        let fixture = furnace(0.5);
        let mut refinement = fixture.refinement(&emitted(&fixture.elements), CandidateSearch::All, MUCH);
        let first = refinement.strongest_power().unwrap();
        // A patch of area A that emits a radiance of one has a power of pi A. No wall is larger than 2 m x 3 m, and
        // patches of this coarse mesh have one element at least.
        let smallest = fixture.elements.area.iter().copied().fold(f32::INFINITY, f32::min);
        assert!(first <= f64::from(6.0 * PI) * 1.001 && first >= f64::from(smallest * PI), "{first}");
        let all = f64::from(fixture.elements.area.iter().sum::<f32>() * PI);
        assert!((refinement.unshot_power() / all - 1.0).abs() < 1e-4, "all emission is unshot at first");

        let schedule = ShootingSchedule::to_part_of_first(&refinement, first, PART);
        assert!((schedule.tolerance / first - f64::from(PART)).abs() < 1e-9);
        while let Some(power) = refinement.strongest_power().filter(|&power| power > schedule.tolerance) {
            assert!(power >= f64::from(PART) * first);
            refinement.shoot_on(schedule.tolerance, &|| true).unwrap();
        }
        assert!(refinement.strongest_power().unwrap() <= f64::from(PART) * first);
        // The closed form is pi / (1 - 0.5). No patch keeps more than a hundredth of the first shot's power, so no more
        // than about 2 % of the light is missing.
        for received in refinement.received() {
            assert!((received.x / (2.0 * PI) - 1.0).abs() < 0.04, "{received}");
        }
    }
}
