//! Tests of the integrators of live views: their pictures, switching between them, and what they free.

use bevy::prelude::*;
use bevy_radiosity::accel;
use bevy_radiosity::lights::LightSampler;
use bevy_radiosity::pathtrace::{
    LightTracer, PathTracer, PixelFilter, RenderSettings, View, WhittedTracer, render, render_from_lights,
};
use bevy_radiosity::prelude::*;
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::scene::{self, check};

use super::trouble::wait_for_graphics;
use super::{generous, glowing, spawn_live_camera_for, spawn_picture, status, wait_for_new_picture};
use crate::app::*;
use crate::said::{listen, said};
use crate::world::read_scene;

/// Image size. Software adapters trace about ten thousand paths a second.
const SIZE: UVec2 = UVec2::splat(20);
/// Samples for a mean within a percent.
const SAMPLES: u32 = 256;
const EYE: Vec3 = Vec3::new(0.0, 1.2, 2.5);
const FOV: f32 = 0.8;
const INTEGRATORS: [LiveIntegrator; 4] =
    [LiveIntegrator::Path, LiveIntegrator::Light, LiveIntegrator::Hybrid, LiveIntegrator::Whitted];

/// Spawns a steel ball on a diffuse floor, below a panel of 1000 cd/m2. The panel is large, so that few samples suffice.
fn spawn_ball_below_panel(app: &mut App) {
    let floor = spawn_material(app, Color::linear_rgb(0.7, 0.5, 0.3));
    let steel = StandardMaterial { metallic: 1.0, perceptual_roughness: 0.1, ..StandardMaterial::from(Color::WHITE) };
    let steel = app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(steel);
    let panel = glowing(app, 1000.0);
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    let parts = [
        ("floor", meshes.add(Plane3d::default().mesh().size(4.0, 4.0)), floor, 0.0),
        ("ball", meshes.add(Sphere::new(0.5).mesh().ico(4).expect("few triangles")), steel, 0.5),
        ("panel", meshes.add(Plane3d::default().mesh().size(3.0, 3.0)), panel, 2.0),
    ];
    for (name, mesh, material, height) in parts {
        let place = Transform::from_xyz(0.0, height, 0.0);
        app.world_mut().spawn((Name::new(name), Mesh3d(mesh), MeshMaterial3d(material), place));
    }
}

fn spawn_camera_at_eye(app: &mut App, live: LiveView) -> (Entity, Handle<Image>) {
    let picture = spawn_picture(app, SIZE);
    let camera = spawn_live_camera_for(app, &picture, live, Msaa::Off);
    app.world_mut().entity_mut(camera).insert((
        Transform::from_translation(EYE).looking_at(Vec3::ZERO, Vec3::Y),
        Projection::Perspective(PerspectiveProjection { fov: FOV, ..default() }),
    ));
    (camera, picture)
}

/// Returns the mean radiance of the picture that the command line draws, by an integrator, of what the app shows.
fn drawn_by_processor(app: &mut App, integrator: LiveIntegrator, bounces: u32) -> Vec3 {
    let (scene, _) = check::repair(read_scene(app).scene.with_solid_glass());
    let world = accel::World::build(scene.shared().clone(), accel::Preset::best());
    let lights = LightSampler::new(&scene);
    let camera = scene::Camera::looking_at(EYE, Vec3::ZERO, FOV).unwrap();
    let view = View { camera, size: SIZE, lens: None, filter: PixelFilter::default() };
    let settings = RenderSettings { samples: 4096, seed: 77, ..default() };
    let bounces = Some(bounces);
    let from_lights = |tracer: &LightTracer| render_from_lights(tracer, &view, &settings, &Unmonitored).film;
    let film = match integrator {
        LiveIntegrator::Path => {
            render(&PathTracer::new(&scene, &world, &lights, bounces), &view, &settings, &Unmonitored)
        }
        LiveIntegrator::Light => from_lights(&LightTracer::new(&scene, &world, &lights, bounces)),
        LiveIntegrator::Hybrid => from_lights(&LightTracer::hybrid(&scene, &world, &lights, bounces)),
        LiveIntegrator::Whitted => render(&WhittedTracer::new(&scene, &world, &lights), &view, &settings, &Unmonitored),
    };
    film.pixels().iter().map(|pixel| pixel.radiance).sum::<Vec3>() / film.pixels().len() as f32
}

fn wait_for_samples_by(app: &mut App, camera: Entity, integrator: LiveIntegrator, samples: u32) {
    tick_app_until(app, &format!("samples by {integrator:?}"), |app| {
        let status = status(app, camera);
        status.integrator == integrator && status.size == SIZE && status.samples >= samples
    });
}

fn shown_mean(app: &mut App, picture: &Handle<Image>) -> Vec3 {
    let image = picture_of(app, picture);
    let pixels = (0..SIZE.y).flat_map(|y| (0..SIZE.x).map(move |x| UVec2::new(x, y)));
    pixels.map(|pixel| color_at(&image, pixel)).sum::<Vec3>() / SIZE.element_product() as f32 / exposure()
}

#[test]
fn a_still_view_becomes_the_picture_that_each_integrator_draws_on_the_processor() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_ball_below_panel(&mut app);
    let live = LiveView { bounces: 4, filter: false, ..generous() };
    let (camera, picture) = spawn_camera_at_eye(&mut app, live);
    wait_for_samples_by(&mut app, camera, LiveIntegrator::Path, 1);
    let mut means = Vec::new();
    for integrator in INTEGRATORS.into_iter().rev() {
        wait_for_new_picture(&mut app, camera, |app| {
            app.world_mut().get_mut::<LiveView>(camera).unwrap().integrator = integrator;
        });
        wait_for_samples_by(&mut app, camera, integrator, SAMPLES);
        let (found, expected) = (shown_mean(&mut app, &picture), drawn_by_processor(&mut app, integrator, 4));
        println!("{integrator:?}: {found}, {expected}");
        assert!((found / expected - 1.0).abs().max_element() < 0.01, "{integrator:?}: {found}, not {expected} cd/m2");
        means.push(found);
    }
    let [path, light, hybrid, whitted] = [means[3], means[2], means[1], means[0]];
    assert!((hybrid / path - 1.0).abs().max_element() < 0.02, "both find all light: {hybrid} {path}");
    assert!(whitted.max_element() < 0.97 * path.max_element(), "it leaves out reflected light: {whitted} {path}");
    assert!(light.max_element() < 0.9 * path.max_element(), "the ball is black to light paths: {light} {path}");
}

#[test]
fn the_first_sample_of_light_paths_has_all_light_and_the_filter_takes_it() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_ball_below_panel(&mut app);
    let live = LiveView { bounces: 4, max_samples: 8, integrator: LiveIntegrator::Hybrid, ..generous() };
    let (camera, picture) = spawn_camera_at_eye(&mut app, live);
    wait_for_samples_by(&mut app, camera, LiveIntegrator::Hybrid, 8);
    let expected = drawn_by_processor(&mut app, LiveIntegrator::Hybrid, 4);
    let found = shown_mean(&mut app, &picture);
    // A picture of eight samples has an eighth of the paths of a mean within a percent.
    assert!((found / expected - 1.0).abs().max_element() < 0.15, "{found}, not {expected} cd/m2");
    assert_eq!(status(&app, camera).samples, 8);
}

#[test]
fn paths_from_lights_do_not_end_at_lightmaps_and_a_warning_says_so() {
    listen();
    let Some(mut app) = create_drawing_app() else { return };
    spawn_ball_below_panel(&mut app);
    let live = LiveView { ends_at_lightmaps: true, integrator: LiveIntegrator::Light, ..generous() };
    let (camera, _) = spawn_camera_at_eye(&mut app, live);
    wait_for_samples_by(&mut app, camera, LiveIntegrator::Path, 2);
    tick_app_times(&mut app, 20);
    assert_eq!(said(&["LiveIntegrator::Path", "ends_at_lightmaps"]).len(), 1);
    app.world_mut().get_mut::<LiveView>(camera).unwrap().ends_at_lightmaps = false;
    wait_for_samples_by(&mut app, camera, LiveIntegrator::Light, 2);
}

#[test]
fn integrators_that_are_no_longer_wanted_leave_no_buffers_and_a_camera_without_views_no_pipelines() {
    let Some(mut app) = create_drawing_app() else { return };
    spawn_ball_below_panel(&mut app);
    let (first, _) = spawn_camera_at_eye(&mut app, generous());
    wait_for_samples_by(&mut app, first, LiveIntegrator::Path, 2);
    app.world_mut().despawn(first);
    tick_app_times(&mut app, 20);
    let rest = graphics(&app).expect("a renderer");
    for integrator in [LiveIntegrator::Hybrid, LiveIntegrator::Whitted] {
        let (camera, picture) = spawn_camera_at_eye(&mut app, LiveView { integrator, ..generous() });
        wait_for_samples_by(&mut app, camera, integrator, 2);
        let shown = graphics(&app).expect("a renderer");
        assert!(shown.buffers > rest.buffers && shown.compute_pipelines > rest.compute_pipelines, "{shown:?} {rest:?}");
        app.world_mut().despawn(camera);
        drop(picture);
        wait_for_graphics(&mut app, &format!("a rest without {integrator:?}"), rest);
    }
}
