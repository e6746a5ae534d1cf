//! Arguments shared by several commands.

use std::time::Duration;

use crate::bake::{bytes_of_scene, usual_memory_mib};
use crate::geometry::Shape;
use crate::scene::{self, CheckedScene, Light, LightKind, MeshId, Problem, Sky};
use crate::scene_files;
use crate::scene_files::{SceneOptions, Sun, Units};

use super::{Failure, complain, in_one_line};
use crate::{Device, DeviceChoice};

/// Scene to load, with sun and sky.
#[derive(clap::Args)]
pub struct SceneArguments {
    /// A .glb, .gltf or .obj file, or builtin:NAME ('radiosity info builtin:' lists them)
    #[arg(value_name = "SCENE")]
    scene: String,
    /// Sun that replaces the scene's directional lights: angles in degrees, azimuth clockwise from north (-Z)
    #[arg(long, value_name = "AZIMUTH,ELEVATION,LUX[,DIAMETER]", allow_hyphen_values = true)]
    sun: Option<String>,
    /// Sky: a color in cd/m2, or an equirectangular environment map (.hdr, .exr) whose value one is STRENGTH cd/m2. Its
    /// middle is in the east (+X), as in Blender, and rotated by DEGREES clockwise seen from above
    #[arg(long, value_name = "R,G,B | FILE[,STRENGTH[,DEGREES]]")]
    sky: Option<String>,
    /// Meters per unit of length of the file, such as 0.001 for millimeters [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = factor, allow_negative_numbers = true)]
    scale: Option<f32>,
    /// Units of the file's lamps and emission [default: as the file says, else gltf]
    #[arg(long, value_enum, value_name = "UNITS")]
    units: Option<UnitsArgument>,
    /// Metalness of materials that set neither metalness nor roughness, and of surfaces without a material; glTF says
    /// 1, Blender's Diffuse BSDF means 0
    #[arg(long, value_name = "METALNESS", value_parser = metalness, allow_negative_numbers = true)]
    default_metallic: Option<f32>,
    /// Maximum memory to use, MiB [default: three quarters of the machine's memory, or of its control group's limit]
    #[arg(long, value_name = "MIB")]
    pub memory: Option<u32>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum UnitsArgument {
    /// Candela, lux and cd/m2
    Gltf,
    /// Blender's lighting mode Standard: emission is multiplied by 683 lm/W, lamps already are
    Blender,
    /// Blender's lighting mode Unitless: lamps and emission are multiplied by 683 lm/W
    BlenderUnitless,
}

fn factor(text: &str) -> Result<f32, String> {
    let value = text.parse::<f32>().ok().filter(|value| value.is_normal() && *value > 0.0);
    value.ok_or_else(|| "it must be a number above 0".to_owned())
}

/// Returns the time limit of `--time`, given in seconds.
pub fn time_limit(seconds: Option<f32>) -> Result<Option<Duration>, Failure> {
    let limit = |seconds: f32| {
        let limit = Duration::try_from_secs_f32(seconds).ok().filter(|limit| !limit.is_zero());
        limit.ok_or_else(|| format!("--time {seconds} is not possible: it must be from 1e-9 to 1e19 seconds").into())
    };
    seconds.map(limit).transpose()
}

fn metalness(text: &str) -> Result<f32, String> {
    let value = text.parse::<f32>().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "it must be a number from 0 to 1".to_owned())
}

/// Loaded scene, with the warnings for the user.
pub struct Opened {
    pub scene: CheckedScene,
    /// Cameras of the scene's file.
    pub cameras: Vec<scene::Camera>,
    /// Curved shapes that meshes of the scene stand for, ascending by mesh.
    pub shapes: Vec<(MeshId, Shape)>,
    pub warnings: Vec<String>,
}

impl SceneArguments {
    /// Returns the scene's name as the user typed it.
    pub fn name(&self) -> &str {
        &self.scene
    }

    /// Returns the scene's name without folder, extension and `builtin:`, for output folders.
    pub fn stem(&self) -> String {
        let name = self.scene.strip_prefix("builtin:").unwrap_or(&self.scene);
        std::path::Path::new(name).file_stem().map_or_else(|| "scene".to_owned(), |stem| stem.to_string_lossy().into())
    }

    /// Returns the maximum memory to use, in MiB.
    pub fn memory_mib(&self) -> u32 {
        self.memory.unwrap_or_else(usual_memory_mib)
    }

    /// Returns the maximum memory to use, as text for messages.
    pub fn say_memory(&self) -> String {
        let mib = self.memory_mib();
        match self.memory {
            Some(_) => format!("{mib} MiB at most"),
            None => format!("{mib} MiB at most, three quarters of what there is (--memory)"),
        }
    }

    /// Loads the scene and adds sun and sky.
    pub fn open(&self) -> Result<Opened, Failure> {
        self.complete(scene_files::load_with(&self.scene, &self.options())?)
    }

    /// Loads the scene. Fails if its triangles exceed the memory limit, counting a copy for each instance of a mesh.
    pub fn open_within_memory(&self) -> Result<Opened, Failure> {
        self.within_memory(self.open()?, 0)
    }

    /// Loads the scene for rendering an image of `bytes` bytes, with normal maps and solid glass. Fails if the memory
    /// limit is exceeded.
    pub fn open_for_picture(&self, bytes: u64) -> Result<Opened, Failure> {
        self.within_memory(self.complete(scene_files::load_for_pictures_with(&self.scene, &self.options())?)?, bytes)
    }

    fn within_memory(&self, opened: Opened, of_picture: u64) -> Result<Opened, Failure> {
        let Some(needed_mib) = self.mib_beyond_memory(bytes_of_scene(&opened.scene) + of_picture as f64) else {
            return Ok(opened);
        };
        let (allowed_mib, triangles) = (self.memory_mib(), opened.scene.triangle_count());
        let name = &self.scene;
        let fewer = if of_picture > 0 { ", or draw fewer pixels (--size)" } else { "" };
        Err(format!(
            "{name} has {triangles} triangles and needs about {needed_mib} MiB of memory of {allowed_mib} MiB: allow more with \
             --memory, or leave out meshes or pictures{fewer}"
        )
        .into())
    }

    /// Returns so many bytes in MiB if they exceed the memory limit.
    pub fn mib_beyond_memory(&self, bytes: f64) -> Option<f64> {
        let needed_mib = (bytes / (1024.0 * 1024.0)).ceil();
        (needed_mib > f64::from(self.memory_mib())).then_some(needed_mib)
    }

    fn options(&self) -> SceneOptions {
        let units = self.units.map(|units| match units {
            UnitsArgument::Gltf => Units::Gltf,
            UnitsArgument::Blender => Units::Blender,
            UnitsArgument::BlenderUnitless => Units::BlenderUnitless,
        });
        SceneOptions {
            scale: self.scale,
            units,
            default_metallic: self.default_metallic,
            memory_mib: Some(self.memory_mib()),
        }
    }

    fn complete(&self, loaded: scene_files::Loaded) -> Result<Opened, Failure> {
        let scene_files::Loaded { scene, cameras, shapes, mut warnings } = loaded;
        let sun = self.sun.as_deref().map(str::parse::<Sun>).transpose()?;
        let sky = self.sky.as_deref().map(|sky| Sky::read(sky, Some(self.memory_mib()))).transpose()?;
        let (scene, problems) = scene.with_lights(|lights, its_sky| {
            if let Some(sun) = sun {
                let is_sun = |light: &mut Light| matches!(light.kind, LightKind::Directional { .. });
                let replaced: Vec<Light> = lights.extract_if(.., is_sun).collect();
                if let [first, rest @ ..] = replaced.as_slice() {
                    warnings.push(Problem::SunReplaced { light: first.name.clone(), more: rest.len() });
                }
                lights.push(sun.to_light());
            }
            if let Some(sky) = sky {
                *its_sky = sky;
            }
        });
        warnings.extend(problems);
        Ok(Opened { scene, cameras, shapes, warnings: scene::dedup_warnings(&warnings) })
    }
}

/// Device that traces rays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// Graphics card if there is a real one, else the processor
    #[default]
    Auto,
    /// The processor
    Cpu,
    /// The graphics card
    Gpu,
}

/// Maximum number of threads. More are useless: no processor runs so many at once, and tens of thousands stall a
/// machine.
const MAX_THREADS: i64 = 1024;

/// Device and number of threads.
#[derive(clap::Args)]
pub struct WorkArguments {
    /// Number of threads [default: all of the machine's]. The result is the same for any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MAX_THREADS))]
    threads: Option<u16>,
    /// Device that does the work
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
}

impl WorkArguments {
    /// Returns the same device with all threads.
    pub fn with_all_threads(self) -> Self {
        Self { threads: None, ..self }
    }

    /// Sets up the threads for work that only the processor can do. Fails if the graphics card is requested.
    pub fn prepare(&self) -> Result<(), Failure> {
        if self.backend == Backend::Gpu {
            return Err("this cannot be done on a graphics card yet: use --backend cpu".into());
        }
        self.prepare_threads()
    }

    /// Opens the graphics card if one is requested or, by default, if a hardware one exists. Call it after all other
    /// checks, because opening takes a while, and some drivers write to standard error meanwhile.
    pub fn open_device(&self) -> Result<Device, Failure> {
        Ok(Device::open(self.device_choice())?)
    }

    /// Returns the requested device.
    pub fn device_choice(&self) -> DeviceChoice {
        match self.backend {
            Backend::Auto => DeviceChoice::Auto,
            Backend::Cpu => DeviceChoice::Cpu,
            Backend::Gpu => DeviceChoice::Gpu,
        }
    }

    /// Sets up the threads. Call it once, before any work.
    #[expect(clippy::disallowed_methods, reason = "no browser runs the command line")]
    pub fn prepare_threads(&self) -> Result<(), Failure> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global()?;
        }
        Ok(())
    }
}

/// Number of threads of a workgroup.
#[derive(clap::Args)]
pub struct BlockArguments {
    /// Number of threads of a workgroup on a graphics card, a multiple of 8; it changes the time, not the result
    /// [default: 64]
    #[arg(long, value_name = "N")]
    pub block: Option<u32>,
}

impl BlockArguments {
    /// Refuses what the opened device does not have.
    pub fn check(&self, device: &Device) -> Result<(), Failure> {
        match device {
            Device::Cpu if self.block.is_some() => {
                Err("--block is for a graphics card: add --backend gpu, or leave it out".into())
            }
            Device::Cpu => Ok(()),
            #[cfg(feature = "gpu")]
            Device::Gpu(gpu) => self.on(gpu).map(|_| ()),
        }
    }

    /// Returns the workgroups of an opened graphics card.
    #[cfg(feature = "gpu")]
    pub fn on(&self, gpu: &crate::gpu::Gpu) -> Result<crate::gpu::Block, Failure> {
        let chosen = self.block.map(|threads| crate::gpu::Block::new(gpu, threads)).transpose()?;
        Ok(chosen.unwrap_or_default())
    }
}

/// Prints each warning as a line on standard error.
pub fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        complain(format_args!("warning: {}", in_one_line(warning)));
    }
}
