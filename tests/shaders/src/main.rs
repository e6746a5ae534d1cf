//! Translates all shaders in a folder by naga, as wgpu does for Vulkan, Metal and Direct3D 12: to SPIR-V, MSL and HLSL.
//!
//! Writes the translations beside the shaders and prints a table of their sizes. The exit code is 1 if a shader cannot
//! be translated, or if it needs more than WebGPU without optional features.

use std::error::Error;
use std::path::{Path, PathBuf};

use naga::back::pipeline_constants::process_overrides;
use naga::back::{PipelineConstants, hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, front::wgsl};

/// Oldest version of MSL that wgpu translates to, that of macOS 10.15 and iOS 13.
const MSL_VERSION: (u8, u8) = (2, 2);
/// Version of SPIR-V that all devices with Vulkan take.
const SPIRV_VERSION: (u8, u8) = (1, 0);

/// Translations of a shader: file endings and contents.
type Translations = Vec<(&'static str, Vec<u8>)>;

fn spirv(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = spv::Options { lang_version: SPIRV_VERSION, ..Default::default() };
    let words = spv::write_vec(module, info, &options, None)?;
    Ok(words.into_iter().flat_map(u32::to_le_bytes).collect())
}

fn msl(module: &Module, info: &ModuleInfo) -> Result<Vec<u8>, Box<dyn Error>> {
    // Numbers of bindings come from pipeline layouts, which are not known here.
    let options = msl::Options { lang_version: MSL_VERSION, fake_missing_bindings: true, ..Default::default() };
    let (text, result) = msl::write_string(module, info, &options, &msl::PipelineOptions::default())?;
    result.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(text.into_bytes())
}

fn hlsl(module: &Module, info: &ModuleInfo, shader_model: hlsl::ShaderModel) -> Result<Vec<u8>, Box<dyn Error>> {
    let options = hlsl::Options { shader_model, fake_missing_bindings: true, ..Default::default() };
    let mut text = String::new();
    let result = hlsl::Writer::new(&mut text, &options, &Default::default()).write(module, info, None)?;
    result.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(text.into_bytes())
}

fn translate(source: &str) -> Result<Translations, Box<dyn Error>> {
    let module = wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map_err(|error| error.emit_to_string(source))?;
    // Pipelines replace constants that they may override; here all have their defaults.
    let (module, info) = process_overrides(&module, &info, None, &PipelineConstants::default())?;
    Ok(vec![
        ("spv", spirv(&module, &info).map_err(|error| format!("SPIR-V: {error}"))?),
        ("metal", msl(&module, &info).map_err(|error| format!("MSL: {error}"))?),
        ("5.1.hlsl", hlsl(&module, &info, hlsl::ShaderModel::V5_1).map_err(|error| format!("HLSL 5.1: {error}"))?),
        ("6.0.hlsl", hlsl(&module, &info, hlsl::ShaderModel::V6_0).map_err(|error| format!("HLSL 6.0: {error}"))?),
    ])
}

fn shaders_in(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, std::io::Error>>()?;
    let mut shaders: Vec<PathBuf> =
        paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "wgsl")).collect();
    shaders.sort();
    if shaders.is_empty() { Err(format!("{} holds no shaders", folder.display()).into()) } else { Ok(shaders) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("name a folder of shaders")?;
    let mut faults = 0;
    println!("| shader | SPIR-V | MSL | HLSL 5.1 | HLSL 6.0 |\n| --- | --- | --- | --- | --- |");
    for path in shaders_in(Path::new(&folder))? {
        let name = path.file_stem().unwrap_or_default().display();
        match translate(&std::fs::read_to_string(&path)?) {
            Ok(translations) => {
                print!("| {name} |");
                for (ending, content) in translations {
                    print!(" {:.0} KB |", content.len() as f64 / 1000.0);
                    std::fs::write(path.with_extension(ending), content)?;
                }
                println!();
            }
            Err(error) => {
                println!("| {name} | {error}");
                faults += 1;
            }
        }
    }
    if faults > 0 { Err(format!("{faults} shaders fail").into()) } else { Ok(()) }
}
