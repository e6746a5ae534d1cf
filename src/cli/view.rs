//! Command `radiosity view`.

use std::path::PathBuf;

use super::Failure;
use super::arguments::SceneArguments;
use super::camera::CameraArguments;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// Folder of a bake to show the scene with
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Write an image instead of opening a window
    #[arg(long, value_name = "FILE.png")]
    screenshot: Option<PathBuf>,
    #[command(flatten)]
    camera: CameraArguments,
    /// Exposure (EV100) [default: metered from the bake]
    #[arg(long, value_name = "EV", allow_hyphen_values = true)]
    ev: Option<f32>,
}

#[cfg(not(feature = "plugin"))]
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    Err(without_a_window(arguments))
}

#[cfg(feature = "plugin")]
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.screenshot.is_none() && !cfg!(feature = "viewer") {
        return Err(without_a_window(arguments));
    }
    window::run(arguments)
}

fn without_a_window(arguments: &Arguments) -> Failure {
    let from = arguments.from.as_ref().map(|folder| format!(" --from {}", folder.display())).unwrap_or_default();
    format!(
        "this radiosity was built without a window: use 'cargo view {}{from}', which builds one",
        arguments.scene.name()
    )
    .into()
}

#[cfg(feature = "plugin")]
mod window {
    use core::f32::consts::PI;
    use std::path::Path;

    use bevy::prelude::*;

    use super::{Arguments, Failure};
    use crate::accel::{self, Preset};
    use crate::bake::BakedScene;
    use crate::cli::spawn::spawn_scene;
    use crate::cli::viewer::{TakeScreenshot, ViewerPlugin};
    use crate::geometry::RayQuery;
    use crate::lightmap::files::LEVEL_FILE;
    use crate::pathtrace;
    use crate::plugin::{BakedLevel, BakedLevelFailed, BakedLevelShown, RadiosityPlugins};
    use crate::scene::{Camera, Projection, Scene, luminance};

    pub fn run(arguments: &Arguments) -> Result<(), Failure> {
        let opened = arguments.scene.open_within_memory()?;
        super::super::arguments::print_warnings(&opened.warnings);
        let camera = arguments.camera.camera(&opened)?;
        let mut ev100 = arguments.ev;
        let level = arguments.from.as_ref().map(|folder| std::path::absolute(folder.join(LEVEL_FILE))).transpose();
        let level = level.map_err(|error| format!("the folder of --from has no path: {error}"))?;
        if let (Some(folder), None) = (&arguments.from, ev100) {
            let tree = accel::World::build(opened.scene.shared().clone(), Preset::fast());
            ev100 = metered(folder, &opened.scene, &tree, &camera)?;
        }
        let viewer = ViewerPlugin {
            eye: camera.position,
            target: camera.position + camera.forward,
            vertical_fov: match camera.projection {
                Projection::Perspective { vertical_fov } => vertical_fov,
                // The viewer walks through the level, so it needs perspective.
                Projection::Orthographic { .. } => ViewerPlugin::default().vertical_fov,
            },
            ev100: ev100.unwrap_or(ViewerPlugin::default().ev100),
            sky: opened.scene.sky.clone(),
            screenshot: arguments.screenshot.clone(),
        };
        let mut app = App::new();
        app.add_plugins((viewer.default_plugins(), RadiosityPlugins)).add_plugins(viewer);
        let spawn = move |world: &mut World| {
            let root = spawn_scene(world, &opened.scene);
            match &level {
                Some(level) => {
                    let level = world.resource::<AssetServer>().load(level.clone());
                    world.entity_mut(root).insert(BakedLevel::new(level));
                }
                None => world.trigger(TakeScreenshot),
            }
        };
        app.add_systems(Startup, spawn)
            .add_observer(|_: On<BakedLevelShown>, mut commands: Commands| commands.trigger(TakeScreenshot))
            .add_observer(|_: On<BakedLevelFailed>, mut exit: MessageWriter<AppExit>| {
                exit.write(AppExit::error());
            });
        match app.run() {
            AppExit::Success => Ok(()),
            AppExit::Error(_) => Err("the viewer ended early; the messages above say why".into()),
        }
    }

    /// Meters the exposure (EV100) under which a camera's view of a bake is middle gray on average.
    fn metered(folder: &Path, scene: &Scene, tree: &accel::World, camera: &Camera) -> Result<Option<f32>, Failure> {
        let baked = BakedScene::read(folder, scene)?;
        let exposure = pathtrace::meter(camera, |ray| {
            let hit = tree.closest(ray)?;
            let mesh = scene.mesh_of(hit.surface);
            let reflectance = scene.material_of(hit.surface).reflectance_at(scene, mesh, hit.triangle, hit.barycentric);
            baked.irradiance_of(&hit).map(|light| luminance(light * reflectance) / PI)
        });
        Ok(exposure.map(|exposure| exposure.ev100))
    }
}
