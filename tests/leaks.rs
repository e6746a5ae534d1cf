//! Tests that rooms which no light can enter stay black on their lightmaps, for all arrangements of their walls.
//!
//! The cases are those in which lightmap bakers are known to fail (patwork, "Godot-LightmapGI-Tests").

use std::sync::Arc;

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::geometry::sampling::uniform_sphere;
use bevy_radiosity::geometry::sobol::OwenSobol;
use bevy_radiosity::geometry::{Hit, Ray, RayQuery, SurfaceId};
use bevy_radiosity::lightmap::{Elements, Layout, LayoutSettings, Page, filter, irradiance_at, pages, spot_of};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::{SolverSettings, solve};
use bevy_radiosity::scene::shapes::inside_out;
use bevy_radiosity::scene::shapes::{cuboid, floor};
use bevy_radiosity::scene::{
    Light, LightKind, Material, MaterialId, MeshData, MeshId, Scene, Sides, Sky, Surface, SurfaceKey,
};
use glam::{Vec2, Vec3};

const SKY: f32 = 1000.0;

/// Returns a scene of meshes on a lawn under a bright sky.
fn outdoors(meshes: Vec<MeshData>, sides: Sides) -> Scene {
    let mut scene = Scene {
        materials: vec![Material::diffuse("gray", Vec3::splat(0.5))],
        sky: Sky::Uniform(Vec3::splat(SKY)),
        ..Scene::default()
    };
    for (index, mesh) in [floor("lawn", 6.0)].into_iter().chain(meshes).enumerate() {
        let key = SurfaceKey(format!("{index} {}", mesh.name));
        scene.meshes.push(Arc::new(mesh));
        let mut surface = Surface::new(key, MeshId(index as u32), MaterialId(0));
        surface.sides = if index == 0 { Sides::Front } else { sides };
        scene.surfaces.push(surface);
    }
    scene
}

/// Returns a room two meters wide about `(0, 1.2, 0)`, made of six slabs, each given by two corners.
fn slabs(corners: [[[f32; 3]; 2]; 6]) -> Vec<MeshData> {
    corners.into_iter().map(|[min, max]| cuboid("slab", Vec3::from(min), Vec3::from(max))).collect()
}

struct Baked {
    world: World,
    layout: Layout,
    pages: Vec<Page>,
}

fn bake(scene: Scene) -> Baked {
    let scene = Arc::new(scene);
    let world = World::build(scene.clone(), Preset::fast());
    let settings = LayoutSettings { texels_per_meter: 8.0, page_size: 256, ..LayoutSettings::default() };
    let (layout, _) = Layout::build(&scene, &settings, &Unmonitored).expect("a small scene fits");
    let elements = Elements::build(&scene, &layout, &world, &Unmonitored).expect("nobody cancels");
    let settings = SolverSettings { error: 0.1, ..SolverSettings::default() };
    let solution = solve(&scene, &world, &elements, &settings, None, &Unmonitored).expect("nobody cancels");
    let light: Vec<Vec3> = solution.direct.iter().zip(&solution.indirect).map(|(a, b)| *a + *b).collect();
    let mut pages = pages(&layout, &elements, &light, &solution.visible_fraction);
    filter::dilate(&mut pages, &layout, &elements, LayoutSettings::default().padding);
    filter::stitch(&mut pages, &scene, &layout, &elements, &world, usize::MAX, &Unmonitored).unwrap();
    Baked { world, layout, pages }
}

impl Baked {
    /// Returns the hits of rays in all directions from a point, with the irradiance of the lightmaps there.
    fn look_around(&self, eye: Vec3) -> Vec<(Hit, Vec3)> {
        let light = |hit: &Hit| irradiance_at(&self.layout, &self.pages, hit).expect("every surface has texels");
        self.hits_around(eye).into_iter().map(|hit| (hit, light(&hit))).collect()
    }

    /// Returns the hits as [`Self::look_around`] does, but with bicubic filtering.
    fn look_around_bicubic(&self, eye: Vec3) -> Vec<(Hit, Vec3)> {
        let light = |hit: &Hit| {
            let (page, spot) = spot_of(&self.layout, hit).expect("every surface has texels");
            self.pages[page].filtered_bicubic(spot) * core::f32::consts::PI
        };
        self.hits_around(eye).into_iter().map(|hit| (hit, light(&hit))).collect()
    }

    fn hits_around(&self, eye: Vec3) -> Vec<Hit> {
        let points = OwenSobol::new(1);
        let ray = |index| {
            let [x, y, ..] = points.point(index);
            Ray::new(eye, uniform_sphere(Vec2::new(x, y)))
        };
        (0..2000).filter_map(|index| self.world.closest(&ray(index))).collect()
    }

    /// Asserts that no point in the room shows more than `share` of the light outside, with bicubic filtering not more
    /// than `bicubic_share`.
    fn assert_dark_inside_and_bright_outside(&self, share: f32, bicubic_share: f32) {
        let inside = self.look_around(Vec3::new(0.0, 1.2, 0.0));
        assert_eq!(inside.len(), 2000, "the room is closed");
        let outdoors = SKY * core::f32::consts::PI;
        let brightest = inside.iter().map(|(_, shown)| shown.max_element()).fold(0.0, f32::max);
        assert!(brightest <= share * outdoors, "{:e} of the light outside", brightest / outdoors);
        let bicubic = self.look_around_bicubic(Vec3::new(0.0, 1.2, 0.0));
        let brightest = bicubic.iter().map(|(_, shown)| shown.max_element()).fold(0.0, f32::max);
        assert!(brightest <= bicubic_share * outdoors, "bicubic: {:e} of the light outside", brightest / outdoors);
        let outside = self.look_around(Vec3::new(2.2, 1.0, 2.2));
        assert!(outside.iter().all(|(_, shown)| shown.min_element() > 0.1 * outdoors), "{outside:?}");
    }
}

#[test]
fn a_room_of_slabs_that_touch_is_dark() {
    bake(outdoors(
        slabs([
            [[-1.2, 0.0, -1.2], [1.2, 0.2, 1.2]],
            [[-1.2, 2.2, -1.2], [1.2, 2.4, 1.2]],
            [[-1.2, 0.2, -1.2], [-1.0, 2.2, 1.2]],
            [[1.0, 0.2, -1.2], [1.2, 2.2, 1.2]],
            [[-1.0, 0.2, -1.2], [1.0, 2.2, -1.0]],
            [[-1.0, 0.2, 1.0], [1.0, 2.2, 1.2]],
        ]),
        Sides::Front,
    ))
    .assert_dark_inside_and_bright_outside(1e-3, 1e-3);
}

#[test]
fn a_room_of_slabs_that_overlap_is_dark() {
    // Walls of 1.6 texels stand on a floor that goes on outside. From within half a texel of them, bicubic filtering reads
    // a texel beyond them, with a weight of at most 1/6.
    bake(outdoors(
        slabs([
            [[-1.7, -0.1, -1.7], [1.7, 0.2, 1.7]],
            [[-1.3, 2.2, -1.3], [1.3, 2.4, 1.3]],
            [[-1.2, 0.0, -1.2], [-1.0, 2.3, 1.2]],
            [[1.0, 0.0, -1.2], [1.2, 2.3, 1.2]],
            [[-1.2, 0.0, -1.2], [1.2, 2.3, -1.0]],
            [[-1.2, 0.0, 1.0], [1.2, 2.3, 1.2]],
        ]),
        Sides::Front,
    ))
    .assert_dark_inside_and_bright_outside(1e-3, 1.0 / 6.0);
}

#[test]
fn a_room_of_slabs_that_touch_along_edges_only_is_dark() {
    bake(outdoors(
        slabs([
            [[-1.0, 0.0, -1.0], [1.0, 0.2, 1.0]],
            [[-1.0, 2.2, -1.0], [1.0, 2.4, 1.0]],
            [[-1.2, 0.2, -1.0], [-1.0, 2.2, 1.0]],
            [[1.0, 0.2, -1.0], [1.2, 2.2, 1.0]],
            [[-1.0, 0.2, -1.2], [1.0, 2.2, -1.0]],
            [[-1.0, 0.2, 1.0], [1.0, 2.2, 1.2]],
        ]),
        Sides::Front,
    ))
    .assert_dark_inside_and_bright_outside(1e-3, 1e-3);
}

#[test]
fn the_lawn_under_a_box_of_double_sided_sheets_is_dark_two_texels_from_its_walls() {
    let box_of_sheets = cuboid("box", Vec3::new(-1.0, -0.5, -1.0), Vec3::new(1.0, 2.0, 1.0));
    let baked = bake(outdoors(vec![box_of_sheets], Sides::Both));
    let eye = Vec3::Y;
    let lawn = baked.look_around(eye).into_iter().filter(|(hit, _)| hit.surface == SurfaceId(0));
    let limit = 1e-3 * SKY * core::f32::consts::PI;
    let mut seen = 0;
    for (hit, shown) in lawn {
        let place = baked.world.scene().triangle(hit.surface, hit.triangle).at(hit.barycentric);
        if place.abs().max_element() < 0.75 {
            assert!(shown.max_element() <= limit, "{shown} at {place}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
fn the_lawn_at_the_feet_of_a_plinth_is_not_dark() {
    // A low plinth hides little of the sky from points beside it, whichever part of a texel it covers.
    let half = 0.6;
    for sunk in [0.0, 0.3] {
        let plinth = cuboid("plinth", Vec3::new(-half, -sunk, -half), Vec3::new(half, 0.02, half));
        let baked = bake(outdoors(vec![plinth], Sides::Front));
        let points = OwenSobol::new(3);
        let mut seen = 0;
        for index in 0..4000 {
            let [x, z, ..] = points.point(index);
            let place = Vec3::new(x * 2.0 - 1.0, 0.0, z * 2.0 - 1.0);
            // Less than a texel away, but outside the strip where the plinth hides more than a twentieth of the sky.
            if !(half + 0.05..half + 0.12).contains(&place.abs().max_element()) {
                continue;
            }
            let hit = baked.world.closest(&Ray::new(place + Vec3::Y, Vec3::NEG_Y)).expect("there is a lawn");
            let shown = irradiance_at(&baked.layout, &baked.pages, &hit).expect("the lawn has texels");
            assert!(shown.min_element() > 0.85 * SKY * core::f32::consts::PI, "{shown} at {place}");
            seen += 1;
        }
        assert!(seen > 100, "{seen}");
    }
}

#[test]
fn the_room_behind_a_board_thinner_than_a_texel_is_dark_beside_the_texels_that_it_crosses() {
    let room = inside_out(cuboid("room", Vec3::new(-2.0, 0.0, -2.0), Vec3::new(2.0, 3.0, 2.0)));
    let board = cuboid("board", Vec3::new(0.03, -0.1, -2.1), Vec3::new(0.05, 3.1, 2.1));
    let mut scene = Scene { materials: vec![Material::diffuse("gray", Vec3::splat(0.6))], ..Scene::default() };
    for (index, mesh) in [room, board].into_iter().enumerate() {
        let id = MeshId(index as u32);
        scene.surfaces.push(Surface::new(SurfaceKey(mesh.name.clone()), id, MaterialId(0)));
        scene.meshes.push(Arc::new(mesh));
    }
    let position = Vec3::new(-1.0, 2.0, 0.0);
    let kind = LightKind::Point { position, intensity: Vec3::splat(100.0), radius: 0.0, range: f32::INFINITY };
    scene.lights.push(Light { name: "lamp".into(), kind });
    let baked = bake(scene);
    let lit = baked.look_around(Vec3::new(-1.0, 1.0, 0.0));
    let mean = lit.iter().map(|(_, shown)| shown.x).sum::<f32>() / lit.len() as f32;
    assert!(mean > 20.0, "{mean}");
    for (hit, shown) in baked.look_around(Vec3::new(1.0, 1.0, 0.0)) {
        let place = baked.world.scene().triangle(hit.surface, hit.triangle).at(hit.barycentric);
        // A texel is an eighth of a meter, and filtering reads one more.
        if hit.surface == SurfaceId(1) || place.x > 0.3 {
            assert!(shown.x <= 1e-6 * mean, "{shown} at {place}");
        }
    }
    for (hit, shown) in baked.look_around_bicubic(Vec3::new(1.0, 1.0, 0.0)) {
        let place = baked.world.scene().triangle(hit.surface, hit.triangle).at(hit.barycentric);
        // Bicubic filtering reads one more than that. Of the texels around a chart, it reads those that take light from
        // two aside.
        if hit.surface == SurfaceId(1) || place.x > 0.55 {
            assert!(shown.x <= 1e-6 * mean, "bicubic: {shown} at {place}");
        }
    }
}
