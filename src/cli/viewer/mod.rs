//! Viewer: a camera for a level, in a window or into a PNG file. The command line and the examples share it.

#[cfg(feature = "window")]
mod fly;

use std::io::Cursor;
use std::path::PathBuf;

use bevy::app::{PluginGroupBuilder, ScheduleRunnerPlugin};
use bevy::asset::UnapprovedPathMode;
use bevy::camera::{Exposure, Hdr, RenderTarget};
use bevy::core_pipeline::tonemapping::Tonemapping;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy::window::{ExitCondition, WindowPlugin};
use bevy_radiosity::output::write_atomic;
use bevy_radiosity::plugin::skybox;
use bevy_radiosity::scene::Sky;

/// Plugin that adds a camera with a background, and optionally takes a screenshot.
#[derive(Clone, Debug)]
pub struct ViewerPlugin {
    /// Camera position, in world space.
    pub eye: Vec3,
    /// Point at the center of the image, in world space.
    pub target: Vec3,
    /// Vertical field of view, in radians. Default 1.
    pub vertical_fov: f32,
    /// Exposure (EV100). A higher value makes the image darker. Default 9.7.
    pub ev100: f32,
    /// Background. Default dark.
    pub sky: Sky,
    /// PNG file to write instead of opening a window. The image is taken after [`TakeScreenshot`], and then the app
    /// exits. Default `None`.
    pub screenshot: Option<PathBuf>,
}

impl Default for ViewerPlugin {
    fn default() -> Self {
        Self {
            eye: Vec3::new(0.0, 1.7, 4.0),
            target: Vec3::Y,
            vertical_fov: 1.0,
            ev100: Exposure::EV100_BLENDER,
            sky: Sky::Dark,
            screenshot: None,
        }
    }
}

/// Event that requests the screenshot. Trigger it when the scene is complete.
#[derive(Event, Clone, Copy, Debug, Default)]
pub struct TakeScreenshot;

/// Width and height of screenshots, in pixels.
const PICTURE_SIZE: UVec2 = UVec2::new(1280, 720);

/// Number of frames for textures to be uploaded. Each takes seconds on a machine without a GPU.
const FRAMES_BEFORE_PICTURE: u32 = 12;

impl ViewerPlugin {
    /// Returns Bevy's default plugins, which load assets from any path. They have no window if a screenshot is requested
    /// or the feature `window` is off.
    pub fn default_plugins(&self) -> PluginGroupBuilder {
        let assets = AssetPlugin { unapproved_path_mode: UnapprovedPathMode::Allow, ..default() };
        let plugins = DefaultPlugins.set(assets);
        if cfg!(feature = "window") && self.screenshot.is_none() {
            return plugins;
        }
        let no_window = WindowPlugin { primary_window: None, exit_condition: ExitCondition::DontExit, ..default() };
        let renderer = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
        let plugins = plugins.set(no_window).set(renderer);
        #[cfg(feature = "window")]
        let plugins = plugins.disable::<bevy::winit::WinitPlugin>();
        plugins.add(ScheduleRunnerPlugin::run_loop(core::time::Duration::ZERO))
    }
}

impl Plugin for ViewerPlugin {
    fn build(&self, app: &mut App) {
        app.insert_resource(View(self.clone()))
            .insert_resource(GlobalAmbientLight::NONE)
            .add_systems(Startup, spawn_camera)
            .add_systems(Update, take_picture.run_if(resource_exists::<Countdown>))
            .add_observer(|_: On<TakeScreenshot>, mut commands: Commands| {
                commands.insert_resource(Countdown(FRAMES_BEFORE_PICTURE));
            });
        #[cfg(feature = "window")]
        fly::add(app);
    }
}

#[derive(Resource)]
struct View(ViewerPlugin);

/// Frames until the screenshot.
#[derive(Resource)]
struct Countdown(u32);

/// Render target of the camera where there is no window.
#[derive(Resource)]
struct Picture(Handle<Image>);

fn spawn_camera(mut commands: Commands, view: Res<View>, mut images: ResMut<Assets<Image>>) {
    let View(ViewerPlugin { eye, target, vertical_fov, ev100, sky, screenshot }) = &*view;
    let exposure = Exposure { ev100: *ev100 };
    let background = match sky {
        Sky::Uniform(radiance) => LinearRgba::from_vec3(*radiance * exposure.exposure()),
        Sky::Dark | Sky::Map(_) => LinearRgba::BLACK,
    };
    let mut camera = commands.spawn((
        Camera3d::default(),
        Hdr,
        Tonemapping::AcesFitted,
        exposure,
        Camera { clear_color: ClearColorConfig::Custom(background.into()), ..default() },
        Projection::Perspective(PerspectiveProjection { fov: *vertical_fov, near: 0.05, ..default() }),
        Transform::from_translation(*eye).looking_at(*target, Vec3::Y),
    ));
    if let Sky::Map(map) = sky {
        camera.insert(skybox(map, &mut images));
    }
    if screenshot.is_some() {
        let mut picture =
            Image::new_target_texture(PICTURE_SIZE.x, PICTURE_SIZE.y, TextureFormat::Rgba8UnormSrgb, None);
        picture.texture_descriptor.usage |= TextureUsages::COPY_SRC;
        let picture = images.add(picture);
        camera.insert(RenderTarget::Image(picture.clone().into()));
        commands.insert_resource(Picture(picture));
    }
}

fn take_picture(
    mut commands: Commands,
    mut countdown: ResMut<Countdown>,
    picture: Option<Res<Picture>>,
    view: Res<View>,
    mut exit: MessageWriter<AppExit>,
) {
    if countdown.0 > 0 {
        countdown.0 -= 1;
        return;
    }
    commands.remove_resource::<Countdown>();
    let (Some(picture), Some(path)) = (picture, view.0.screenshot.clone()) else {
        if cfg!(not(feature = "window")) {
            info!("there is no window to look at it: build with feature `viewer`, or ask for a picture");
            exit.write(AppExit::Success);
        }
        return;
    };
    commands.spawn(Screenshot::image(picture.0.clone())).observe(
        move |captured: On<ScreenshotCaptured>, mut exit: MessageWriter<AppExit>| {
            exit.write(match write_png(&captured.image, &path) {
                Ok(()) => AppExit::Success,
                Err(reason) => {
                    error!("{reason}");
                    AppExit::error()
                }
            });
        },
    );
}

fn write_png(picture: &Image, path: &std::path::Path) -> Result<(), String> {
    let data = picture.data.clone().ok_or("the picture has no data")?;
    let opaque: Vec<u8> = data.as_chunks().0.iter().flat_map(|&[red, green, blue, _]| [red, green, blue]).collect();
    let mut png = Cursor::new(Vec::new());
    image::RgbImage::from_raw(picture.width(), picture.height(), opaque)
        .ok_or("the picture has another size than its data")?
        .write_to(&mut png, image::ImageFormat::Png)
        .map_err(|error| error.to_string())?;
    write_atomic(path, png.get_ref()).map_err(|error| error.to_string())
}
