//! `radiosity info`.

use serde::Serialize;

use crate::kdtree::{Preset, Statistics, World};
use crate::scene::check::darkness;
use crate::scene::{Scene, builtin};

use super::arguments::{SceneArguments, print_warnings};
use super::cells::{CellArguments, PartitionInfo};
use super::{Failure, say};

#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    scene: SceneArguments,
    #[command(flatten)]
    cells: CellArguments,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What is in a scene.
#[derive(Serialize)]
struct Info {
    triangles: usize,
    surfaces: usize,
    area_m2: f64,
    lights: usize,
    kdtree: Statistics,
    partition: PartitionInfo,
    warnings: Vec<String>,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.scene.name() == "builtin:" {
        return list_builtin_scenes(arguments.json);
    }
    let info = inspect(arguments)?;
    if arguments.json {
        say(serde_json::to_string(&info)?);
    } else {
        print_warnings(&info.warnings);
        say(format_args!("triangles  {}", info.triangles));
        say(format_args!("surfaces   {}", info.surfaces));
        say(format_args!("area       {:.2} m2", info.area_m2));
        say(format_args!("lights     {}", info.lights));
        let tree = &info.kdtree;
        say(format_args!(
            "kd-tree    {} nodes, {} leaves, depth {}, {:.2} references a triangle, built in {:.3} s",
            tree.nodes, tree.leaves, tree.depth, tree.references_per_triangle, tree.build_seconds
        ));
        info.partition.print();
    }
    Ok(())
}

fn inspect(arguments: &Arguments) -> Result<Info, Failure> {
    let opened = arguments.scene.open()?;
    let world = World::build(opened.scene.clone(), Preset::best());
    let mut warnings = opened.warnings;
    warnings.extend(darkness(&opened.scene).map(|problem| problem.to_string()));
    Ok(Info {
        triangles: opened.scene.triangle_count(),
        surfaces: opened.scene.surfaces.len(),
        area_m2: area(&opened.scene),
        lights: count_lights(&opened.scene),
        kdtree: world.statistics(),
        partition: PartitionInfo::of(&arguments.cells, &world)?,
        warnings,
    })
}

/// Square metres of all surfaces that take part in a bake, one side of each.
fn area(scene: &Scene) -> f64 {
    scene
        .surface_ids()
        .filter(|&id| scene.surface(id).is_in_bake())
        .flat_map(|id| (0..scene.mesh_of(id).triangles.len() as u32).map(move |triangle| (id, triangle)))
        .map(|(id, triangle)| f64::from(scene.triangle(id, triangle).area()))
        .sum()
}

/// Lamps, emissive surfaces, and a sky that is not dark.
fn count_lights(scene: &Scene) -> usize {
    let emissive =
        scene.surface_ids().filter(|&id| scene.surface(id).is_in_bake() && scene.material_of(id).is_emissive()).count();
    scene.lights.len() + emissive + usize::from(!scene.sky.is_dark())
}

fn list_builtin_scenes(json: bool) -> Result<(), Failure> {
    if json {
        let names: Vec<String> = builtin::names().map(|(name, _)| format!("builtin:{name}")).collect();
        say(serde_json::json!({ "scenes": names }));
    } else {
        builtin::names().for_each(|(name, description)| say(format_args!("builtin:{name:<18} {description}")));
    }
    Ok(())
}
