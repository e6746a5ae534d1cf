//! `radiosity view`.

use std::path::PathBuf;

use super::Failure;
use super::arguments::SceneArguments;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    /// The folder of a bake to show the scene with
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Write a picture instead of opening a window
    #[arg(long, value_name = "FILE.png")]
    screenshot: Option<PathBuf>,
    /// Where to look from; the file's first camera when left out
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    eye: Option<String>,
    /// What to look at
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true)]
    target: Option<String>,
    /// Exposure (EV100); by what the camera sees of the bake when left out
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
    use std::sync::Arc;

    use bevy::prelude::*;

    use super::super::arguments::Opened;
    use super::{Arguments, Failure};
    use crate::bake::Baked;
    use crate::geometry::{Ray, RayQuery};
    use crate::kdtree::{self, Preset};
    use crate::plugin::{
        self, BakedLevel, BakedLevelFailed, BakedLevelLoaded, RadiosityPlugins, TakeScreenshot, ViewerPlugin,
        spawn_scene,
    };
    use crate::scene::{Scene, luminance};

    /// Frames without another surface that gets its light, after which all have it.
    const QUIET_FRAMES: u32 = 8;

    pub fn run(arguments: &Arguments) -> Result<(), Failure> {
        let opened = arguments.scene.open()?;
        super::super::arguments::print_warnings(&opened.warnings);
        let mut viewer = viewer(arguments, &opened)?;
        let level = arguments.from.clone().map(BakedLevel::new);
        if let (Some(folder), None) = (&arguments.from, arguments.ev) {
            let tree = kdtree::World::build(Arc::clone(&opened.scene), Preset::fast());
            viewer.ev100 = metered(folder, &opened.scene, &tree, &viewer)?;
        }
        let mut app = App::new();
        app.add_plugins((viewer.default_plugins(), RadiosityPlugins)).add_plugins(viewer);
        let has_level = level.is_some();
        let spawn = move |world: &mut World| {
            let root = spawn_scene(world, &opened.scene);
            if let Some(level) = &level {
                world.entity_mut(root).insert(level.clone());
            }
        };
        app.add_systems(Startup, spawn)
            .insert_resource(Wait { quiet_frames: 0, is_running: !has_level })
            .add_systems(Update, shoot_when_lit)
            .add_observer(|_: On<BakedLevelLoaded>, mut wait: ResMut<Wait>| wait.is_running = true)
            .add_observer(|_: On<BakedLevelFailed>, mut exit: MessageWriter<AppExit>| {
                exit.write(AppExit::error());
            });
        match app.run() {
            AppExit::Success => Ok(()),
            AppExit::Error(_) => Err("the viewer ended early; the messages above say why".into()),
        }
    }

    /// Width of the part of a picture that is metered, over its height.
    const ASPECT: f32 = 16.0 / 9.0;

    /// Until all surfaces have their light.
    #[derive(Resource)]
    struct Wait {
        quiet_frames: u32,
        is_running: bool,
    }

    fn shoot_when_lit(mut commands: Commands, mut wait: ResMut<Wait>, lit: Query<(), Added<plugin::Baked>>) {
        if !wait.is_running {
            return;
        }
        wait.quiet_frames = if lit.is_empty() { wait.quiet_frames + 1 } else { 0 };
        if wait.quiet_frames == QUIET_FRAMES {
            wait.is_running = false;
            commands.trigger(TakeScreenshot);
        }
    }

    fn viewer(arguments: &Arguments, opened: &Opened) -> Result<ViewerPlugin, Failure> {
        let camera = opened.cameras.first();
        let bounds = opened.scene.bounds();
        let (middle, size) = ((bounds.min + bounds.max) * 0.5, bounds.max - bounds.min);
        let from_corner = middle + size * Vec3::new(0.2, 0.1, 0.35);
        let eye = match &arguments.eye {
            Some(eye) => point(eye)?,
            None => camera.map_or(from_corner, |camera| camera.position),
        };
        let target = match &arguments.target {
            Some(target) => point(target)?,
            None => camera.map_or(middle, |camera| camera.position + camera.forward),
        };
        Ok(ViewerPlugin {
            eye,
            target,
            vertical_fov: camera.map_or(1.0, |camera| camera.vertical_fov),
            ev100: arguments.ev.unwrap_or(ViewerPlugin::default().ev100),
            sky: opened.scene.sky.clone(),
            screenshot: arguments.screenshot.clone(),
        })
    }

    fn point(text: &str) -> Result<Vec3, Failure> {
        let numbers: Result<Vec<f32>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        match numbers.as_deref() {
            Ok(&[x, y, z]) => Ok(Vec3::new(x, y, z)),
            _ => Err(format!("'{text}' is no point: give three numbers, such as 0,1.7,4").into()),
        }
    }

    /// Rays to each side of the picture's middle that the light meter looks along.
    const METER_RAYS: i32 = 8;

    /// The exposure (EV100) under which what a camera sees of a bake is middle grey on average, as a light meter has it.
    fn metered(folder: &Path, scene: &Scene, tree: &kdtree::World, view: &ViewerPlugin) -> Result<f32, Failure> {
        let baked = Baked::read(folder, scene)?;
        let forward = (view.target - view.eye).normalize_or(Vec3::NEG_Z);
        let right = forward.cross(Vec3::Y).normalize_or(Vec3::X);
        let up = right.cross(forward);
        let height = (0.5 * view.vertical_fov).tan();
        let (mut sum, mut count) = (0.0f32, 0.0f32);
        for (row, column) in (-METER_RAYS..=METER_RAYS)
            .flat_map(|row| (-METER_RAYS..=METER_RAYS).map(move |column| (row as f32, column as f32)))
        {
            let across = right * (column * height * ASPECT) + up * (row * height);
            let ray = Ray::new(view.eye, (forward + across / METER_RAYS as f32).normalize());
            let Some(hit) = tree.closest(&ray) else { continue };
            let mesh = scene.mesh_of(hit.surface);
            let reflectance = scene.material_of(hit.surface).reflectance_at(scene, mesh, hit.triangle, hit.barycentric);
            let radiance = baked.irradiance_of(&hit).map(|light| luminance(light * reflectance) / PI);
            if let Some(radiance) = radiance.filter(|radiance| *radiance > 0.0) {
                sum += radiance.ln();
                count += 1.0;
            }
        }
        // 12.5 is the constant of reflected-light meters (ISO 2720).
        Ok(if count == 0.0 { view.ev100 } else { ((sum / count).exp() * 100.0 / 12.5).log2() })
    }
}
