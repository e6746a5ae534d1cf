//! Command `radiosity info`.

mod lists;

use serde::Serialize;

use crate::accel::{Preset, Statistics, World};
use crate::bake::{BakeSettings, MemoryEstimate};
use crate::builtin_scenes;
use crate::cluster::Communicator;
use crate::geometry::SurfaceId;
use crate::lightmap::{Layout, LayoutWarning, OpenSides};
use crate::progress::Unmonitored;
use crate::scene::check::darkness;
use crate::scene::{Scene, dedup_warnings};

use super::arguments::{SceneArguments, print_warnings};
use super::cells::{CellArguments, PartitionInfo};
use super::{Failure, ranks, say};
use lists::Lists;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    #[command(flatten)]
    cells: CellArguments,
    /// Texels per meter at which texels are counted and the files' own lightmap coordinates are judged [default: as
    /// bake]
    #[arg(long, value_name = "TEXELS_PER_METER", allow_negative_numbers = true)]
    density: Option<f32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Contents of a scene.
#[derive(Serialize)]
struct Info {
    /// Most that a bake may use.
    memory_mib: u32,
    triangles: usize,
    surfaces: usize,
    area_m2: f64,
    lights: usize,
    kdtree: Statistics,
    partition: PartitionInfo,
    #[serde(flatten)]
    lists: Lists,
    warnings: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.scene.name() == "builtin:" {
        return list_builtin_scenes(arguments.json);
    }
    let communicator = if arguments.cells.ranks { ranks::communicator()? } else { None };
    let communicator: Option<&dyn Communicator> = communicator.as_ref().map(|communicator| communicator as _);
    let Some(info) = inspect(arguments, communicator)? else { return Ok(()) };
    if arguments.json {
        say(serde_json::to_string(&info)?);
    } else {
        print_warnings(&info.warnings);
        say(format_args!("triangles  {}", info.triangles));
        say(format_args!("surfaces   {}", info.surfaces));
        say(format_args!("area       {:.2} m2", info.area_m2));
        say(format_args!("lights     {}", info.lights));
        say(format_args!("memory     {}", arguments.scene.say_memory()));
        let tree = &info.kdtree;
        say(format_args!(
            "kd-tree    {} nodes, {} leaves, depth {}, {:.2} references a triangle, built in {:.3} s",
            tree.nodes, tree.leaves, tree.depth, tree.references_per_triangle, tree.build_seconds
        ));
        info.partition.print();
        info.lists.print();
    }
    Ok(())
}

/// Inspects the scene. All ranks must call this, if there are several; only the first one returns what it found.
fn inspect(arguments: &Arguments, communicator: Option<&dyn Communicator>) -> Result<Option<Info>, Failure> {
    let opened = arguments.scene.open_within_memory();
    if let Some(communicator) = communicator {
        let scene = opened.as_ref().map(|opened| &*opened.scene).map_err(ToString::to_string);
        arguments.cells.agree(communicator, scene)?;
    }
    let opened = opened?;
    let world = World::build(opened.scene.shared().clone(), Preset::best());
    let partition = PartitionInfo::of(&arguments.cells, &world, communicator)?;
    if ranks::is_silent() {
        return Ok(None);
    }
    let mut warnings = opened.warnings;
    warnings.extend(darkness(&opened.scene).map(|problem| problem.to_string()));
    let layout = match lay_out(&opened.scene, &world, arguments) {
        Ok(layout) => {
            warnings.extend(dedup_warnings(&layout.1));
            Some(layout)
        }
        Err(reason) => {
            warnings.push(reason.to_string());
            None
        }
    };
    Ok(Some(Info {
        memory_mib: arguments.scene.memory_mib(),
        triangles: opened.scene.triangle_count(),
        surfaces: opened.scene.surfaces.len(),
        area_m2: area(&opened.scene),
        lights: count_lights(&opened.scene),
        kdtree: world.statistics(),
        partition,
        lists: Lists::new(&opened.scene, layout.as_ref()),
        warnings,
    }))
}

/// Builds the layout that a bake at this density would have.
fn lay_out(scene: &Scene, world: &World, arguments: &Arguments) -> Result<(Layout, Vec<LayoutWarning>), Failure> {
    let mut settings = BakeSettings::default();
    settings.layout.texels_per_meter = arguments.density.unwrap_or(settings.layout.texels_per_meter);
    let scene = &scene.with_sealed_sides(world);
    let two_sided = OpenSides::deserving_texels_each(scene);
    let two_sided = |id: SurfaceId| two_sided[id.index()];
    let bytes = MemoryEstimate::new(scene, &settings, two_sided).layout_bytes();
    if let Some(needed_mib) = arguments.scene.mib_beyond_memory(bytes) {
        let allowed_mib = arguments.scene.memory_mib();
        let remedy = "lower the density (--density) or allow more (--memory)";
        return Err(format!(
            "texels are not counted, which needs about {needed_mib} MiB of memory of {allowed_mib} MiB: {remedy}"
        )
        .into());
    }
    Ok(Layout::build_with_sides(scene, &settings.layout, two_sided, &Unmonitored)?)
}

/// Returns the area in square meters of all surfaces in the bake, one side of each.
fn area(scene: &Scene) -> f64 {
    scene
        .surface_ids()
        .filter(|&id| scene.surface(id).is_in_bake())
        .flat_map(|id| scene.triangles_of(id))
        .map(|(id, triangle)| f64::from(scene.triangle(id, triangle).area()))
        .sum()
}

/// Returns the number of lamps, emissive surfaces, and a sky that is not dark.
fn count_lights(scene: &Scene) -> usize {
    let emissive =
        scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake() && scene.material_of(id).is_emissive()).count();
    scene.lights.len() + emissive + usize::from(!scene.sky.is_dark())
}

fn list_builtin_scenes(json: bool) -> Result<(), Failure> {
    if json {
        let names: Vec<String> = builtin_scenes::names().map(|(name, _)| format!("builtin:{name}")).collect();
        say(serde_json::json!({ "scenes": names }));
    } else {
        builtin_scenes::names().for_each(|(name, description)| say(format_args!("builtin:{name:<18} {description}")));
    }
    Ok(())
}
