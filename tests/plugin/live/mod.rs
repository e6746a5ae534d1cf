//! Tests of live views, on a GPU or a software adapter.
//!
//! In a box that emits light and reflects nothing, every ray returns the radiance of its walls.

mod changes;
#[cfg(feature = "gltf")]
mod converged;
mod integrators;
mod pictures;
mod trouble;

use bevy::camera::RenderTarget;
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy_radiosity::prelude::*;

use crate::app::*;

/// Image size of most tests. A software adapter traces about ten thousand pixels a second beside other tests.
const SIZE: UVec2 = UVec2::new(96, 54);

/// Spawns a box around the origin with emissive walls in cd/m2, which reflect nothing.
fn spawn_glowing_box(app: &mut App, radiance: f32) -> (Entity, Handle<StandardMaterial>) {
    let material = glowing(app, radiance);
    let shell = app.world_mut().resource_mut::<Assets<Mesh>>().add(Cuboid::from_length(6.0));
    (app.world_mut().spawn((Name::new("box"), Mesh3d(shell), MeshMaterial3d(material.clone()))).id(), material)
}

fn glowing(app: &mut App, radiance: f32) -> Handle<StandardMaterial> {
    let material = StandardMaterial {
        base_color: Color::BLACK,
        reflectance: 0.0,
        emissive: LinearRgba::rgb(radiance, radiance, radiance),
        emissive_exposure_weight: 1.0,
        double_sided: true,
        cull_mode: None,
        ..default()
    };
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(material)
}

fn spawn_picture(app: &mut App, size: UVec2) -> Handle<Image> {
    let mut picture = Image::new_target_texture(size.x, size.y, TextureFormat::Rgba16Float, None);
    picture.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    app.world_mut().resource_mut::<Assets<Image>>().add(picture)
}

/// Spawns a camera at the origin with a linear render target.
fn spawn_live_camera(app: &mut App, live: LiveView, msaa: Msaa) -> (Entity, Handle<Image>) {
    let picture = spawn_picture(app, SIZE);
    (spawn_live_camera_for(app, &picture, live, msaa), picture)
}

fn spawn_live_camera_for(app: &mut App, picture: &Handle<Image>, live: LiveView, msaa: Msaa) -> Entity {
    let camera = (
        Camera3d::default(),
        Camera { clear_color: ClearColorConfig::Custom(Color::BLACK), ..default() },
        RenderTarget::Image(picture.clone().into()),
        msaa,
        Tonemapping::None,
        Transform::default(),
        live,
    );
    app.world_mut().spawn(camera).id()
}

/// Returns settings with a large frame budget: tests have no game that needs the GPU.
fn generous() -> LiveView {
    LiveView { frame_budget: 100.0, ..default() }
}

fn status(app: &App, camera: Entity) -> LiveViewStatus {
    *app.world().get::<LiveViewStatus>(camera).expect("a live view has one")
}

/// Applies a change and waits for a new image.
fn wait_for_new_picture(app: &mut App, camera: Entity, change: impl FnOnce(&mut App)) {
    let before = status(app, camera).pictures;
    change(app);
    tick_app_until(app, "a new picture", |app| status(app, camera).pictures > before);
}

fn wait_for_samples(app: &mut App, camera: Entity, samples: u32) {
    wait_for_samples_of(app, camera, SIZE, samples);
}

/// Waits for samples of an image of another size.
fn wait_for_samples_of(app: &mut App, camera: Entity, size: UVec2, samples: u32) {
    tick_app_until(app, "samples", |app| {
        let status = status(app, camera);
        status.size == size && status.samples >= samples
    });
}

/// Returns the mean of all pixels of a converged image, in cd/m2.
fn mean_radiance(app: &mut App, (camera, picture): &(Entity, Handle<Image>)) -> f32 {
    tick_app_until(app, "samples", |app| status(app, *camera).samples >= 64);
    let image = picture_of(app, picture);
    let pixels = (0..image.height()).flat_map(|y| (0..image.width()).map(move |x| UVec2::new(x, y)));
    let sum: f32 = pixels.map(|pixel| color_at(&image, pixel).x).sum();
    sum / (image.width() * image.height()) as f32 / exposure()
}
