//! Example: solves built-in scenes by every method, and compares the solutions with their equation and each other. It
//! prints the tables of `docs/validation/furnished_rooms.md`.
//!
//! ```text
//! cargo run --release --no-default-features --example compare_solvers \
//!     [SCENE:TEXELS_PER_METER[:ERROR[:SOLVER,SOLVER ...]] ...]
//! ```

use core::fmt::{self, Display, Formatter};
use std::error::Error;
use std::sync::Arc;

use bevy_radiosity::accel::{Preset, World};
use bevy_radiosity::builtin_scenes;
use bevy_radiosity::lightmap::{Elements, Layout, LayoutSettings};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::{
    CpuBackend, Hits, Method, Solution, SolverSettings, Step, SubsceneSettings, TransportBackend, solve,
};
use bevy_radiosity::scene::{Scene, luminance};
use glam::Vec3;

const SCENES: [&str; 8] = [
    "cornell_box:10",
    "habitacion:1.5",
    "armadillo:2",
    "habitacion_grande:1.5",
    "armadillos:2",
    "salon:1.5",
    "estudio:1",
    "edificio:0.5",
];
/// Names and methods. Each has its own seed, so that solutions share no noise. [`SUBSCENES`] is progressive refinement
/// in the default number of subscenes.
const SOLVERS: [(&str, Method); 5] = [
    ("gather", Method::Gather),
    ("stochastic", Method::Stochastic),
    ("progressive", Method::Progressive),
    ("path", Method::Path),
    (SUBSCENES, Method::Progressive),
];
const SUBSCENES: &str = "subscenes";
const ERROR: f32 = 0.02;

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let scenes = if asked.is_empty() { SCENES.map(str::to_owned).to_vec() } else { asked };
    println!(
        "| scene | elements | method | error | cpu-seconds | claimed | residual | claimed in it | from gather | from \
         stochastic | from progressive | million rays | iterations | expected |"
    );
    println!("|{}", " --- |".repeat(14));
    for scene in &scenes {
        compare(scene)?;
    }
    Ok(())
}

/// Solves one scene by the selected methods and prints a row for each.
fn compare(asked: &str) -> Result<(), Box<dyn Error>> {
    let mut words = asked.split(':');
    let (Some(name), Some(density)) = (words.next(), words.next()) else {
        return Err("give a scene as NAME:TEXELS_PER_METER".into());
    };
    let error = words.next().map_or(Ok(ERROR), str::parse)?;
    let only = words.next();
    let room = Room::new(builtin_scenes::build(name).ok_or("no such scene")?, density.parse()?)?;
    let count = room.elements.len();
    let mut solved: Vec<(&str, Solution)> = Vec::new();
    for (seed, (solver, method)) in (0..).zip(SOLVERS) {
        if only.is_some_and(|only| only.split(',').all(|only| only != solver)) {
            continue;
        }
        let before = cpu_seconds();
        let subscenes = (solver == SUBSCENES).then(SubsceneSettings::default);
        let solution = room.solve(&SolverSettings { method, subscenes, error, seed, ..SolverSettings::default() })?;
        let seconds = cpu_seconds() - before;
        let expected = match method {
            Method::Stochastic => room.iterations_expected(&solution)?.to_string(),
            _ => String::new(),
        };
        let from = SOLVERS[..3].iter().map(|(other, _)| {
            let other = solved.iter().find(|(solver, _)| solver == other);
            other.map_or(String::new(), |(_, other)| room.difference(other, &solution).to_string())
        });
        println!(
            "| `{name}` | {count} | {solver} | {error} | {seconds:.1} | {:.2} % | {:.2} +- {:.2} % | {:.2} % | {} | \
             {:.1} | {} | {expected} |",
            solution.error_of_mean * 100.0,
            solution.residual * 100.0,
            solution.residual_standard_error * 100.0,
            room.claimed_noise_of_residual(&solution) * 100.0,
            from.collect::<Vec<_>>().join(" | "),
            solution.rays as f64 * 1e-6,
            solution.iterations,
        );
        solved.push((solver, solution));
    }
    Ok(())
}

/// Returns the CPU time of this process in seconds, or zero if the system is not Linux.
fn cpu_seconds() -> f64 {
    let ticks = |words: String| {
        let after_name = words.rsplit(')').next().unwrap_or_default().to_owned();
        after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>()
    };
    std::fs::read_to_string("/proc/self/stat").map_or(0.0, ticks) / 100.0
}

/// Difference between the light of two solutions, relative to the mean.
struct Difference {
    /// Root mean square over elements.
    root: f64,
    /// One-sigma error bar of `root`.
    more: f64,
    /// Difference of the means.
    surplus: f64,
}

impl Display for Difference {
    fn fmt(&self, out: &mut Formatter) -> fmt::Result {
        let [root, more, surplus] = [self.root, self.more, self.surplus].map(|part| part * 100.0);
        write!(out, "{root:.2} +- {more:.2} %, {surplus:+.2} %")
    }
}

struct Room {
    scene: Arc<Scene>,
    world: World,
    elements: Elements,
}

impl Room {
    fn new(scene: Scene, texels_per_meter: f32) -> Result<Self, Box<dyn Error>> {
        let scene = Arc::new(scene);
        let world = World::build(scene.clone(), Preset::best());
        let settings = LayoutSettings { texels_per_meter, ..LayoutSettings::default() };
        let (layout, _) = Layout::build(&scene, &settings, &Unmonitored)?;
        let elements = Elements::build(&scene, &layout, &world, &Unmonitored)?;
        Ok(Self { scene, world, elements })
    }

    fn solve(&self, settings: &SolverSettings) -> Result<Solution, Box<dyn Error>> {
        Ok(solve(&self.scene, &self.world, &self.elements, settings, None, &Unmonitored)?)
    }

    /// Returns the mean over the unoccluded area.
    fn mean(&self, solution: &Solution, of: impl Fn(usize) -> f32) -> f64 {
        let (sum, area) = (0..self.elements.len()).fold((0.0, 0.0), |(sum, area), element| {
            let weight = f64::from(self.elements.area[element] * solution.visible_fraction[element]);
            (sum + weight * f64::from(of(element)), area + weight)
        });
        sum / area
    }

    /// Returns the expected residual from the claimed standard error of each element, relative to the first bounce.
    fn claimed_noise_of_residual(&self, solution: &Solution) -> f64 {
        let reflectance = &self.elements.reflectance;
        let noise = |i: usize| (luminance(reflectance[i]) * solution.standard_error[i]).powi(2);
        let first_bounce = |i: usize| luminance(reflectance[i] * solution.direct[i]);
        self.mean(solution, noise).sqrt() / self.mean(solution, first_bounce)
    }

    /// Returns the difference between two solutions. The square is estimated by the product of the differences of both
    /// halves: these share no noise, so that it cancels in the mean.
    fn difference(&self, a: &Solution, b: &Solution) -> Difference {
        let of_half = |half: usize, i: usize| luminance(a.halves[half][i] - b.halves[half][i]);
        let product = |i: usize| of_half(0, i) * of_half(1, i);
        let mean = self.mean(a, |i| luminance(a.direct[i] + a.indirect[i]));
        let square = self.mean(a, product);
        // Elements are nearly independent, so their products scatter at random.
        let weight = |i: usize| self.elements.area[i] * a.visible_fraction[i];
        let all: f64 = (0..self.elements.len()).map(|i| f64::from(weight(i))).sum();
        let scatter = self.mean(a, |i| weight(i) * (product(i) - square as f32).powi(2)) / all;
        let root = square.max(0.0).sqrt();
        Difference {
            root: root / mean,
            more: ((square.max(0.0) + scatter.sqrt()).sqrt() - root) / mean,
            surplus: self.mean(a, |i| 0.5 * (of_half(0, i) + of_half(1, i))) / -mean,
        }
    }

    /// Returns the number of bounces until a thousandth of the power is left. The form-factor matrix has 256 rays per
    /// element.
    fn iterations_expected(&self, solution: &Solution) -> Result<u32, Box<dyn Error>> {
        let Elements { reflectance, .. } = &self.elements;
        let mut matrix = CpuBackend::new(&self.scene, &self.world, &self.elements, 1000);
        matrix.run(&Step::Gather { rays: vec![256; self.elements.len()], hits: Hits::Store }, &Unmonitored)?;
        let power = |unshot: &[Vec3]| self.mean(solution, |i| unshot[i].element_sum());
        let mut unshot: Vec<Vec3> =
            reflectance.iter().zip(&solution.direct).map(|(part, light)| part * light).collect();
        let first = power(&unshot);
        for bounces in 0.. {
            if power(&unshot) <= 1e-3 * first {
                return Ok(bounces);
            }
            unshot = matrix.apply(0, &unshot)?.into_iter().zip(reflectance).map(|(light, part)| light * part).collect();
        }
        Ok(u32::MAX)
    }
}
