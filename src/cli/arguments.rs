//! Arguments that several commands take.

use std::sync::Arc;

use crate::bake::{BakeSettings, bytes_of_scene};
use crate::scene::{self, Light, LightKind, Problem, Scene, SceneOptions, Sky, Sun, Units};

use super::{Failure, complain, in_one_line};
use crate::Device;

/// Which scene, and what shines on it from outside.
#[derive(clap::Args)]
pub struct SceneArguments {
    /// A .glb, .gltf or .obj file, or builtin:NAME ('radiosity info builtin:' lists them)
    #[arg(value_name = "SCENE")]
    scene: String,
    /// The sun, in place of the scene's directional lights: angles in degrees, azimuth clockwise from north (-Z)
    #[arg(long, value_name = "AZIMUTH,ELEVATION,LUX[,DIAMETER]", allow_hyphen_values = true)]
    sun: Option<String>,
    /// The sky: a color in cd/m2, or an equirectangular picture (.hdr, .exr) whose value one is STRENGTH cd/m2. Its middle
    /// is in the east (+X), as in Blender, and turned by DEGREES clockwise seen from above
    #[arg(long, value_name = "R,G,B | FILE[,STRENGTH[,DEGREES]]")]
    sky: Option<String>,
    /// Meters that one unit of length of the file is, such as 0.001 for millimeters [default: 1]
    #[arg(long, value_name = "FACTOR", value_parser = factor, allow_negative_numbers = true)]
    scale: Option<f32>,
    /// What the file's lamps and emission are measured in [default: as the file says, else gltf]
    #[arg(long, value_enum, value_name = "UNITS")]
    units: Option<UnitsArgument>,
    /// Metalness of materials that give neither metalness nor roughness, and of surfaces without a material; glTF says
    /// 1, Blender's Diffuse BSDF means 0
    #[arg(long, value_name = "METALNESS", value_parser = metalness, allow_negative_numbers = true)]
    default_metallic: Option<f32>,
    /// Most memory to use, MiB [default: 4096]
    #[arg(long, value_name = "MIB")]
    memory: Option<u32>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum UnitsArgument {
    /// Candela, lux and cd/m2
    Gltf,
    /// Blender's lighting mode Standard: emission is multiplied by 683 lm/W, lamps have been
    Blender,
    /// Blender's lighting mode Unitless: lamps and emission are multiplied by 683 lm/W
    BlenderUnitless,
}

fn factor(text: &str) -> Result<f32, String> {
    let value = text.parse::<f32>().ok().filter(|value| value.is_normal() && *value > 0.0);
    value.ok_or_else(|| "it must be a number above 0".to_owned())
}

fn metalness(text: &str) -> Result<f32, String> {
    let value = text.parse::<f32>().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| "it must be a number from 0 to 1".to_owned())
}

/// A scene that is ready to be used, and what a user should know about it.
pub struct Opened {
    pub scene: Arc<Scene>,
    /// Those that the scene's file has.
    pub cameras: Vec<scene::Camera>,
    pub warnings: Vec<String>,
}

impl SceneArguments {
    /// What the user called the scene.
    pub fn name(&self) -> &str {
        &self.scene
    }

    /// The scene's name without folder, extension and `builtin:`, for output folders.
    pub fn stem(&self) -> String {
        let name = self.scene.strip_prefix("builtin:").unwrap_or(&self.scene);
        std::path::Path::new(name).file_stem().map_or_else(|| "scene".to_owned(), |stem| stem.to_string_lossy().into())
    }

    /// Most memory to use, MiB.
    pub fn memory_mib(&self) -> u32 {
        self.memory.unwrap_or_else(|| BakeSettings::default().solver.memory_mib)
    }

    /// Loads the scene and adds sun and sky.
    pub fn open(&self) -> Result<Opened, Failure> {
        self.complete(scene::load_with(&self.scene, &self.options())?)
    }

    /// Loads the scene, and refuses one whose triangles do not fit into memory once each copy of a mesh has its own.
    pub fn open_within_memory(&self) -> Result<Opened, Failure> {
        self.within_memory(self.open()?)
    }

    /// The same with all that only pictures show.
    pub fn open_for_pictures(&self) -> Result<Opened, Failure> {
        self.within_memory(self.complete(scene::load_for_pictures_with(&self.scene, &self.options())?)?)
    }

    fn within_memory(&self, opened: Opened) -> Result<Opened, Failure> {
        let needed_mib = (bytes_of_scene(&opened.scene) / (1024.0 * 1024.0)).ceil();
        let (allowed_mib, triangles) = (self.memory_mib(), opened.scene.triangle_count());
        if needed_mib <= f64::from(allowed_mib) {
            return Ok(opened);
        }
        let name = &self.scene;
        let remedy = "allow more with --memory, or leave out meshes or pictures";
        Err(format!(
            "{name} has {triangles} triangles and needs about {needed_mib} MiB of memory of {allowed_mib} MiB: {remedy}"
        )
        .into())
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

    fn complete(&self, mut loaded: scene::Loaded) -> Result<Opened, Failure> {
        if let Some(sun) = &self.sun {
            let sun = sun.parse::<Sun>()?.to_light();
            let is_sun = |light: &mut Light| matches!(light.kind, LightKind::Directional { .. });
            let replaced: Vec<Light> = loaded.scene.lights.extract_if(.., is_sun).collect();
            if let [first, rest @ ..] = replaced.as_slice() {
                loaded.warnings.push(Problem::SunReplaced { light: first.name.clone(), more: rest.len() });
            }
            loaded.scene.lights.push(sun);
        }
        if let Some(sky) = &self.sky {
            loaded.scene.sky = Sky::read(sky, Some(self.memory_mib()))?;
        }
        let warnings = scene::abridged(&loaded.warnings);
        Ok(Opened { scene: Arc::new(loaded.scene), cameras: loaded.cameras, warnings })
    }
}

/// What traces rays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// The best there is
    #[default]
    Auto,
    /// The processor
    Cpu,
    /// The graphics card
    Gpu,
}

/// More threads than this only get into each other's way: no processor runs so many at once, and tens of thousands of them
/// bring a machine to a standstill.
const MOST_THREADS: i64 = 1024;

/// What does the work.
#[derive(clap::Args)]
pub struct WorkArguments {
    /// Threads to work with; all of the machine's when left out. The result is the same for any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,
    /// What does the work
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
}

impl WorkArguments {
    /// Sets up the threads of work that only the processor does, once, before any of it.
    pub fn prepare(&self) -> Result<(), Failure> {
        if self.backend == Backend::Gpu {
            return Err("this cannot be done on a graphics card yet: use --backend cpu".into());
        }
        self.prepare_threads()
    }

    /// The graphics card, if it is to work: asked for, or a real one. To be called when all else is known to be right,
    /// for opening one takes a while, and some drivers talk to the standard error stream as they do.
    pub fn open_device(&self) -> Result<Device, Failure> {
        device(self.backend)
    }

    /// Sets up the threads, once, before any work.
    pub fn prepare_threads(&self) -> Result<(), Failure> {
        if let Some(threads) = self.threads {
            rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global()?;
        }
        Ok(())
    }
}

#[cfg(feature = "gpu")]
fn device(backend: Backend) -> Result<Device, Failure> {
    use crate::gpu::Gpu;

    match backend {
        Backend::Cpu => Ok(Device::Cpu),
        Backend::Auto => Ok(Gpu::headless().ok().filter(Gpu::is_hardware).map_or(Device::Cpu, Device::Gpu)),
        Backend::Gpu => Ok(Device::Gpu(Gpu::headless()?)),
    }
}

#[cfg(not(feature = "gpu"))]
fn device(backend: Backend) -> Result<Device, Failure> {
    match backend {
        Backend::Auto | Backend::Cpu => Ok(Device::Cpu),
        Backend::Gpu => Err("this program was built without the feature gpu: add it, or use --backend cpu".into()),
    }
}

/// Prints what a user should know, each in a line on standard error.
pub fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        complain(format_args!("warning: {}", in_one_line(warning)));
    }
}
