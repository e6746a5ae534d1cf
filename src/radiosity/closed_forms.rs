//! Scenes with closed-form solutions: spheres, two-sided sheets, tinted glass, environment maps, and many lamps.

use core::f32::consts::{PI, TAU};
use std::sync::Arc;

use glam::{Quat, Vec2, Vec3};

use super::test_scene::{TestScene, colored_pane, gray, mean_over};
use super::{Method, Solution, SolverSettings};
use crate::geometry::SurfaceId;
use crate::lightmap::Elements;
use crate::scene::{
    AlphaMode, EnvironmentMap, Light, LightKind, Material, MeshData, MipChains, Sides, Sky, Texels, Texture, Wrap,
};

fn settings(method: Method, error: f32) -> SolverSettings {
    SolverSettings { method, error, ..SolverSettings::default() }
}

const METHODS: [Method; 3] = [Method::Gather, Method::Stochastic, Method::Progressive];

fn sun(direction: Vec3, illuminance: f32) -> Light {
    let kind = LightKind::Directional {
        direction: direction.normalize(),
        illuminance: Vec3::splat(illuminance),
        angular_diameter: 0.0,
    };
    Light { name: "sun".into(), kind }
}

fn total(solution: &Solution, element: usize) -> Vec3 {
    solution.direct[element] + solution.indirect[element]
}

/// Returns the mean over all elements, weighted by area.
fn mean_of(elements: &Elements, light: &[Vec3]) -> f32 {
    let area: f32 = elements.area.iter().sum();
    light.iter().zip(&elements.area).map(|(light, area)| light.x * area).sum::<f32>() / area
}

/// Creates the inside of a unit sphere, with longitude and latitude as lightmap coordinates.
fn sphere_interior(columns: u32, rows: u32) -> MeshData {
    let mut mesh = MeshData::default();
    for row in 0..=rows {
        for column in 0..=columns {
            let uv = Vec2::new(column as f32 / columns as f32, row as f32 / rows as f32);
            let ((sin_polar, cos_polar), (sine, cosine)) = ((uv.y * PI).sin_cos(), (uv.x * TAU).sin_cos());
            mesh.positions.push(Vec3::new(sin_polar * cosine, cos_polar, sin_polar * sine));
            mesh.uv1.push(uv);
        }
    }
    for row in 0..rows {
        for column in 0..columns {
            let a = row * (columns + 1) + column;
            let below = a + columns + 1;
            mesh.triangles.extend([[a, below, a + 1], [a + 1, below, below + 1]]);
        }
    }
    mesh
}

#[test]
fn all_of_a_sphere_gets_the_same_indirect_light() {
    // Every point of a sphere has the same form factor to all others, their share of the area. The indirect irradiance
    // is therefore rho / (1 - rho) times the mean direct irradiance, wherever the lamp is.
    let reflectance = 0.6;
    for method in METHODS {
        let mut test = TestScene::default();
        test.mesh(sphere_interior(48, 24), [48, 24], gray(reflectance));
        test.point_light(Vec3::new(0.3, 0.4, 0.0), 100.0);
        let (elements, solution) = test.solve(&settings(method, 0.01));
        let area: f32 = elements.area.iter().sum();
        let direct = mean_of(&elements, &solution.direct);
        assert!((direct * area / (100.0 * 4.0 * PI) - 1.0).abs() < 0.005, "{method:?}: {direct}");
        let expected = reflectance / (1.0 - reflectance) * 100.0 * 4.0 * PI / area;
        let found = mean_of(&elements, &solution.indirect);
        assert!((found / expected - 1.0).abs() < 0.005, "{method:?}: {found} instead of {expected}");
        let brightest = solution.direct.iter().map(|light| light.x).fold(0.0, f32::max);
        assert!(brightest > 2.0 * direct, "the lamp is off center");
        for element in 0..elements.len() {
            let relative = solution.indirect[element].x / expected;
            assert!((relative - 1.0).abs() < 0.05, "{method:?}: {relative} at {}", elements.center[element]);
        }
    }
}

#[test]
fn a_sphere_whose_vertices_have_a_color_bounces_light_of_that_color() {
    // This is the scene above with a material of 0.8. The vertex colors have means of 0.75, 0.5 and 0.
    let color = Vec3::new(0.75, 0.5, 0.0);
    for method in METHODS {
        let mut mesh = sphere_interior(24, 12);
        let of_column = |vertex: usize| if (vertex % 25).is_multiple_of(2) { 1.2 } else { 0.8 };
        mesh.colors = (0..mesh.positions.len()).map(|vertex| (color * of_column(vertex)).extend(1.0)).collect();
        let mut test = TestScene::default();
        test.mesh(mesh, [24, 12], gray(0.8));
        test.point_light(Vec3::ZERO, 100.0);
        let (elements, solution) = test.solve(&settings(method, 0.01));
        let area: f32 = elements.area.iter().sum();
        for channel in 0..3 {
            let reflectance = 0.8 * color[channel];
            let expected = reflectance / (1.0 - reflectance) * 100.0 * 4.0 * PI / area;
            let light = solution.indirect.iter().zip(&elements.area);
            let found = light.map(|(light, area)| light[channel] * area).sum::<f32>() / area;
            assert!((found - expected).abs() <= 0.01 * expected, "{method:?}: {found} instead of {expected}");
        }
    }
}

/// Returns the form factor of two facing equal rectangles of `x` by `y` at a distance of one (Howell C-11).
fn facing_rectangles(x: f32, y: f32) -> f32 {
    let (x2, y2) = (1.0 + x * x, 1.0 + y * y);
    let sum = 0.5 * (x2 * y2 / (1.0 + x * x + y * y)).ln()
        + x * y2.sqrt() * (x / y2.sqrt()).atan()
        + y * x2.sqrt() * (y / x2.sqrt()).atan()
        - x * x.atan()
        - y * y.atan();
    2.0 * sum / (PI * x * y)
}

#[test]
fn the_two_sides_of_a_sheet_are_lit_each_by_its_own_light() {
    // A sheet at a height of one stands beside a black floor, a unit square each.
    let mut test = TestScene::default();
    let sheet = test.quad(Vec3::Y, Vec3::Z, Vec3::X, [8; 2], gray(0.5));
    let floor = test.quad(Vec3::X, Vec3::Z, Vec3::X, [8; 2], gray(0.0));
    test.scene.surfaces[sheet.index()].sides = Sides::Both;
    // The upper sun comes from the right, steep enough to leave the floor unshadowed. The lower sun misses the floor's
    // front.
    test.scene.lights.push(sun(Vec3::new(-0.6, -0.8, 0.0), 1000.0));
    test.scene.lights.push(sun(Vec3::new(0.6, 0.8, 0.0), 300.0));
    let (elements, solution) = test.solve(&settings(Method::Gather, 0.0003));
    let mut seen = [0; 2];
    for element in elements.of_surface(sheet) {
        let back = elements.back[element];
        let expected = if back { 300.0 * 0.8 } else { 1000.0 * 0.8 };
        assert!((solution.direct[element].x - expected).abs() < 0.1, "{back}: {}", solution.direct[element]);
        assert_eq!(solution.indirect[element], Vec3::ZERO, "the floor is black");
        seen[usize::from(back)] += 1;
    }
    assert_eq!(seen, [64, 64]);
    // Two adjacent squares face two others. Each square sees the one that faces it, and the one beside that.
    let beside = facing_rectangles(2.0, 1.0) - facing_rectangles(1.0, 1.0);
    let expected = 0.5 * 300.0 * 0.8 * beside;
    let found = mean_over(&elements, floor, |element| solution.indirect[element].x);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
}

#[test]
fn panes_let_through_their_color() {
    // Two unit squares face each other, with a wide pane between. The lower one is lit through the pane.
    let color = Vec3::new(0.2, 0.6, 1.0);
    let through = color * 0.75;
    let mut test = TestScene::default();
    let lower = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.5));
    let upper = test.quad(Vec3::Y, Vec3::X, Vec3::Z, [4; 2], gray(0.0));
    let pane =
        test.quad(Vec3::new(-10.0, 0.5, -10.0), Vec3::Z * 20.0, Vec3::X * 20.0, [0; 2], colored_pane(color * 0.75));
    test.scene.surfaces[pane.index()].sides = Sides::Both;
    test.scene.lights.push(sun(Vec3::new(0.8, -0.6, 0.0), 100.0));
    for method in METHODS {
        let (elements, solution) = test.solve(&settings(method, 0.002));
        let mean = |surface: SurfaceId, light: &[Vec3]| {
            let channel = |channel: usize| mean_over(&elements, surface, |element| light[element][channel]);
            Vec3::new(channel(0), channel(1), channel(2))
        };
        let lit = 60.0 * through;
        let direct = mean(lower, &solution.direct);
        assert!((direct / lit - 1.0).abs().max_element() < 1e-3, "{method:?}: {direct} instead of {lit}");
        let expected = 0.5 * lit * facing_rectangles(1.0, 1.0) * through;
        let found = mean(upper, &solution.indirect);
        assert!((found / expected - 1.0).abs().max_element() < 0.02, "{method:?}: {found} instead of {expected}");
    }
}

/// Returns the irradiance that a lit square reflects to another, and the direct irradiance of the lit square. Both are
/// relative to those of a perfect reflector, or of a sun without occlusion. Two unit squares face each other. A sun
/// lights the lower one, which has the material, from the side of the upper one, which is black.
fn reflected_onto_a_square(method: Method, material: Material) -> (Vec3, Vec3) {
    let mut test = TestScene::default();
    let lower = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], material);
    let upper = test.quad(Vec3::Y, Vec3::X, Vec3::Z, [4; 2], gray(0.0));
    test.scene.lights.push(sun(Vec3::new(0.8, -0.6, 0.0), 100.0));
    let (elements, solution) = test.solve(&settings(method, 0.004));
    let mean = |surface: SurfaceId, light: &[Vec3]| {
        Vec3::from(core::array::from_fn(|channel| mean_over(&elements, surface, |element| light[element][channel])))
    };
    (mean(upper, &solution.indirect) / (60.0 * facing_rectangles(1.0, 1.0)), mean(lower, &solution.direct) / 60.0)
}

/// Methods for which surfaces may let light through.
const ALL_METHODS: [Method; 4] = [Method::Gather, Method::Stochastic, Method::Progressive, Method::Path];

#[test]
fn a_blended_sheet_reflects_its_color_by_its_coverage() {
    let color = Vec3::new(0.8, 0.4, 0.2);
    let veil = |alpha: f32| Material {
        base_color: color.extend(alpha),
        alpha: AlphaMode::Blend,
        ..Material::diffuse("veil", color)
    };
    for method in ALL_METHODS {
        for alpha in [0.1, 0.5] {
            let (reflected, lit) = reflected_onto_a_square(method, veil(alpha));
            let error = (reflected / (alpha * color) - 1.0).abs().max_element();
            assert!(error < 0.03 && (lit.x - 1.0).abs() < 1e-3, "{method:?}, {alpha}: {reflected}");
        }
        let (nothing, _) = reflected_onto_a_square(method, veil(0.0));
        assert_eq!(nothing, Vec3::ZERO, "{method:?}");
    }
}

#[test]
fn light_passes_a_blended_sheet_without_tint_and_only_tinting_ones_with() {
    let color = Vec3::new(0.8, 0.4, 0.0);
    for (tints, expected) in [(false, Vec3::splat(0.75)), (true, 0.75 * color)] {
        for method in ALL_METHODS {
            let mut test = TestScene::default();
            let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.0));
            let veil = Material { base_color: color.extend(0.25), alpha: AlphaMode::Blend, tints, ..gray(0.0) };
            let veil = test.quad(Vec3::new(-1.0, 0.5, -1.0), Vec3::Z * 3.0, Vec3::X * 3.0, [0; 2], veil);
            test.scene.surfaces[veil.index()].sides = Sides::Both;
            test.scene.lights.push(sun(Vec3::NEG_Y, 100.0));
            let (elements, solution) = test.solve(&settings(method, 0.01));
            let mean = |channel: usize| mean_over(&elements, floor, |element| solution.direct[element][channel]);
            let found = Vec3::from(core::array::from_fn(mean)) / 100.0;
            assert!((found - expected).abs().max_element() < 1e-3, "{method:?} {tints}: {found}");
        }
    }
}

#[test]
fn specular_layers_and_metals_reflect_light_too() {
    let black = Material { base_color: glam::Vec4::W, perceptual_roughness: 0.0, ..Material::default() };
    let steel = Material { metallic: 1.0, base_color: glam::Vec4::new(0.6, 0.3, 0.6, 1.0), ..black.clone() };
    for method in ALL_METHODS.into_iter().chain([Method::Counted]) {
        // The cosine-weighted mean of Schlick's term is F0 + (1 - F0) / 21.
        let (reflected, _) = reflected_onto_a_square(method, black.clone());
        assert!((reflected.x / (0.04 + 0.96 / 21.0) - 1.0).abs() < 0.04, "{method:?}: {reflected}");
        let (reflected, _) = reflected_onto_a_square(method, steel.clone());
        let expected = Vec3::new(0.6 + 0.4 / 21.0, 0.3 + 0.7 / 21.0, 0.6 + 0.4 / 21.0);
        assert!((reflected / expected - 1.0).abs().max_element() < 0.02, "{method:?}: {reflected}");
    }
}

#[test]
fn light_is_scattered_through_a_sheet_that_lets_it() {
    let color = Vec3::new(0.9, 0.5, 0.1);
    let sheet = Material { diffuse_transmission: 0.6, diffuse_transmission_color: color, ..gray(0.5) };
    for texels in [4, 0] {
        for method in ALL_METHODS {
            // A sun from above lights a square sheet, and the square below is lit through the sheet alone.
            let mut test = TestScene::default();
            let sheet = test.quad(Vec3::Y, Vec3::Z, Vec3::X, [texels; 2], sheet.clone());
            test.scene.surfaces[sheet.index()].sides = Sides::Both;
            let floor = test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [4; 2], gray(0.0));
            test.scene.lights.push(sun(Vec3::NEG_Y, 100.0));
            // The mean of 16 elements has a quarter of their noise.
            let (elements, solution) = test.solve(&settings(method, 0.01));
            let mean = |channel: usize| mean_over(&elements, floor, |element| total(&solution, element)[channel]);
            let found = Vec3::from(core::array::from_fn(mean));
            let expected = color * (0.6 * 100.0 * facing_rectangles(1.0, 1.0));
            assert!((found / expected - 1.0).abs().max_element() < 0.03, "{method:?} {texels}: {found} {expected}");
        }
    }
}

#[test]
fn an_environment_map_brings_its_integral() {
    // The map is uneven, with one small patch a thousand times as bright as the rest.
    let (width, height) = (32, 16);
    let texel = |index: u32| {
        let (column, row) = (index % width, index / width);
        let bright = if (column, row) == (20, 4) { 1000.0 } else { 1.0 };
        let up = if row < height / 2 { 2.0 } else { 0.1 };
        (Vec3::new(1.0, 0.5 + column as f32 / width as f32, up) * bright).extend(1.0)
    };
    let picture = Texture {
        name: "surroundings".into(),
        width,
        height,
        texels: Texels::Float((0..width * height).map(texel).collect()),
        wrap: [Wrap::Repeat, Wrap::Clamp],
        mip_chains: MipChains::default(),
    };
    let map = EnvironmentMap { texture: Arc::new(picture), scale: 3.0, rotation: Quat::from_rotation_y(0.4) };
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z, Vec3::X, [2; 2], gray(0.5));
    test.scene.sky = Sky::Map(map);
    // The integral uses the midpoint rule over azimuth and squared sine, in which a cosine-weighted hemisphere is
    // uniform.
    let steps = 1000;
    let expected = (0..steps * steps)
        .map(|step| {
            let [azimuth, square] =
                [step % steps, step / steps].map(|number: u32| (number as f64 + 0.5) / f64::from(steps));
            let (sine, cosine) = (azimuth * core::f64::consts::TAU).sin_cos();
            let (radius, up) = (square.sqrt(), (1.0 - square).sqrt());
            let direction = glam::DVec3::new(radius * cosine, up, radius * sine).as_vec3();
            test.scene.sky.radiance(direction).as_dvec3()
        })
        .sum::<glam::DVec3>()
        * core::f64::consts::PI
        / f64::from(steps * steps);
    for method in METHODS {
        let (elements, solution) = test.solve(&settings(method, 0.003));
        for element in 0..elements.len() {
            let found = total(&solution, element);
            let error = (found / expected.as_vec3() - 1.0).abs().max_element();
            assert!(error < 0.01, "{method:?}: {found} instead of {expected}");
        }
    }
}

/// Returns position and candela of twelve lamps of growing strength, near the floor and far above. The room has 4 by 3
/// by 4 meters.
fn twelve_lamps() -> Vec<(Vec3, f32)> {
    (0..12)
        .map(|number| {
            let (column, row) = (number % 4, number / 4);
            let place = Vec3::new(0.5 + column as f32, 0.4 + 0.9 * row as f32, 0.7 + 1.1 * row as f32);
            (place, 1.0 + 4.0 * number as f32)
        })
        .collect()
}

#[test]
fn many_lamps_bring_the_sum_of_their_light_past_a_sun_that_outshines_them() {
    let mut test = TestScene::default();
    test.quad(Vec3::ZERO, Vec3::Z * 4.0, Vec3::X * 4.0, [8; 2], gray(0.0));
    let lamps = twelve_lamps();
    for &(place, candela) in &lamps {
        test.point_light(place, candela);
    }
    // The sun shines from below, so the floor's front does not see it.
    test.scene.lights.push(sun(Vec3::Y, 1e5));
    let (elements, solution) = test.solve(&settings(Method::Gather, 0.005));
    let mut sums = Vec2::ZERO;
    for element in 0..elements.len() {
        // The mean over the texel uses the midpoint rule.
        let steps = 64;
        let expected: f32 = (0..steps * steps)
            .map(|step| {
                let within = Vec3::new((step % steps) as f32, 0.0, (step / steps) as f32) + Vec3::new(0.5, 0.0, 0.5);
                let at = elements.center[element] + (within / steps as f32 - Vec3::new(0.5, 0.0, 0.5)) * 0.5;
                lamps.iter().map(|(place, candela)| candela * place.y / (*place - at).length().powi(3)).sum::<f32>()
            })
            .sum::<f32>()
            / (steps * steps) as f32;
        let found = total(&solution, element).x;
        assert!((found / expected - 1.0).abs() < 0.03, "{found} instead of {expected}");
        sums += Vec2::new(found, expected);
    }
    assert!((sums.x / sums.y - 1.0).abs() < 0.005, "{sums}");
}

#[test]
fn light_by_way_of_a_white_occluder_is_found_past_a_hidden_sun() {
    // A white block absorbs nothing, so the gray walls absorb all flux. Their mean irradiance is flux / (area *
    // absorptance).
    let mut test = TestScene::default();
    test.room(Vec3::new(4.0, 3.0, 4.0), 4, |_| gray(0.5));
    test.block(Vec3::new(1.2, 1.0, 1.3), Vec3::new(2.8, 1.7, 2.6), 0, &gray(1.0));
    let lamps = twelve_lamps();
    let inside =
        |place: Vec3| place.cmpgt(Vec3::new(1.2, 1.0, 1.3)).all() && place.cmplt(Vec3::new(2.8, 1.7, 2.6)).all();
    let mut lumens = 0.0;
    for (place, candela) in lamps.into_iter().filter(|lamp| !inside(lamp.0)) {
        test.point_light(place, candela);
        lumens += candela * 4.0 * PI;
    }
    test.scene.lights.push(sun(Vec3::NEG_Y, 1e5));
    for method in METHODS {
        let (elements, solution) = test.solve(&settings(method, 0.02));
        let area: f32 = elements.area.iter().sum();
        let expected = lumens / (area * 0.5);
        let found = mean_of(&elements, &(0..elements.len()).map(|e| total(&solution, e)).collect::<Vec<_>>());
        assert!((found / expected - 1.0).abs() < 0.01, "{method:?}: {found} instead of {expected}");
        assert!(solution.error_estimate < 0.02, "{method:?}: {}", solution.error_estimate);
        // Progressive refinement traces additional rays for each pair of patches.
        let max_rays = if method == Method::Progressive { 20_000_000 } else { 2_000_000 };
        assert!(solution.rays < max_rays, "{method:?}: {} rays", solution.rays);
    }
}
