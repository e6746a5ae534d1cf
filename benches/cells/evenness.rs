//! Balance of area and rays over the cells of partitions, and its effect on speed.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::builtin_scenes;
use bevy_radiosity::geometry::Ray;
use bevy_radiosity::partition::{CellId, CellTracer, Factor, Fineness, PartitionKind, Traffic, imbalance, light_rays};

use super::cells;

/// Scenes and numbers of cells of the thesis (section 3.3, table 4.2).
const SCENES: [(&str, u32); 5] =
    [("habitacion", 16), ("armadillos", 16), ("edificio", 32), ("salon", 32), ("estudio", 32)];
/// Number of light paths that provide the rays.
const PATHS: u32 = 50_000;
/// Partitions: cells of equal size, of equal area, and balanced by power and area with a weight of 3.7 for power.
const CUTS: [(PartitionKind, Factor); 3] = [
    (PartitionKind::Uniform, Factor::Area),
    (PartitionKind::Balanced, Factor::Area),
    (PartitionKind::Balanced, Factor::Both(3.7)),
];
/// Number of rounds over all partitions. The fastest of each counts.
const TURNS: usize = 7;

/// Partition with its rays and statistics.
struct Cut {
    name: String,
    tracer: CellTracer,
    rays: Vec<(CellId, Ray)>,
    traffic: Traffic,
    /// Intersection tests in each cell.
    tests: Vec<f64>,
    seconds: f64,
}

/// Prints the table. One thread traces rays through all cells of a scene. The tests of the fullest cell are the
/// critical path if each cell had its own processor.
pub fn print_table() -> Result<(), Box<dyn Error>> {
    println!("{PATHS} paths of light, one thread\n");
    println!(
        "| scene | cells | areas a cell | rays a cell | tests a cell | borders a ray | tests a ray | those of the fullest cell | ns a ray | times as fast |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, count) in SCENES {
        let scene = Arc::new(builtin_scenes::build(name).ok_or("there is no such scene")?);
        let world = World::build(scene.clone(), Preset::best());
        let rays = light_rays(&scene, &world, PATHS, 0);
        let mut cuts = Vec::new();
        for (kind, factor) in CUTS {
            let tracer = CellTracer::new(&scene, &Fineness::default(), &cells(kind, count, factor))?;
            let name = format!("{name} | {kind:?} by {factor:?}, {}", tracer.partition().cells().len()).to_lowercase();
            cuts.push(Cut::new(name, tracer, &rays));
        }
        for _ in 0..TURNS {
            cuts.iter_mut().for_each(Cut::time);
        }
        let uniform = cuts[0].seconds;
        for cut in &cuts {
            cut.print(uniform)?;
        }
    }
    Ok(())
}

impl Cut {
    fn new(name: String, tracer: CellTracer, rays: &[Ray]) -> Self {
        let partition = tracer.partition();
        let traffic = Traffic::of(partition, rays);
        let tests = |(cell, &traced): (CellId, &u64)| traced as f64 * tracer.surfaces_in(cell) as f64;
        let tests = partition.ids().zip(&traffic.traced).map(tests).collect();
        // Rays start at known points but have no known end.
        let open = |ray: &Ray| Some((partition.traverse(ray).next()?.cell, Ray { t_max: f32::INFINITY, ..*ray }));
        let rays = rays.iter().filter_map(open).collect();
        Self { name, tracer, rays, traffic, tests, seconds: f64::INFINITY }
    }

    fn time(&mut self) {
        let started = Instant::now();
        let met = self.rays.iter().filter(|(cell, ray)| self.tracer.closest_from(ray, *cell).0.is_some());
        black_box(met.count());
        self.seconds = self.seconds.min(started.elapsed().as_secs_f64());
    }

    fn print(&self, uniform: f64) -> Result<(), Box<dyn Error>> {
        let Self { name, tracer, rays, traffic, tests, seconds } = self;
        let polygons = tracer.simplified().surfaces();
        let areas = tracer.partition().loads(polygons, &Factor::Area.loads(polygons)?);
        let traced: Vec<f64> = traffic.traced.iter().map(|&traced| traced as f64).collect();
        let of_rays = |sum: f64| sum / rays.len() as f64;
        println!(
            "| {name} | {:.4} | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {:.0} | {:.2} |",
            imbalance(&areas),
            imbalance(&traced),
            imbalance(tests),
            of_rays(traffic.crossings as f64),
            of_rays(tests.iter().sum()),
            of_rays(tests.iter().copied().fold(0.0, f64::max)),
            of_rays(seconds * 1e9),
            uniform / seconds,
        );
        Ok(())
    }
}
