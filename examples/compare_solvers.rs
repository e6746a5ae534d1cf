//! Solves built-in scenes by every method and holds the solutions against their equation and each other. Prints the tables
//! of `VALIDATION.md`.
//!
//! ```text
//! cargo run --release --no-default-features --example compare_solvers [SCENE:TEXELS_PER_METRE ...]
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use bevy_radiosity::kdtree::{Preset, World};
use bevy_radiosity::lightmap::{Elements, Layout, LayoutSettings};
use bevy_radiosity::progress::Unmonitored;
use bevy_radiosity::radiosity::{CpuBackend, Hits, Method, Solution, SolverSettings, Step, TransportBackend, solve};
use bevy_radiosity::scene::{Scene, builtin, luminance};
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
const METHODS: [Method; 3] = [Method::Gather, Method::Stochastic, Method::Progressive];
const ERROR: f32 = 0.02;

fn main() -> Result<(), Box<dyn Error>> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let scenes = if asked.is_empty() { SCENES.map(str::to_owned).to_vec() } else { asked };
    println!(
        "| scene | elements | method | seconds | claimed | residual | claimed in it | from gather | iterations | expected |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for scene in &scenes {
        let (name, density) = scene.split_once(':').ok_or("give a scene as NAME:TEXELS_PER_METRE")?;
        let room = Room::new(builtin::build(name).ok_or("no such scene")?, density.parse()?)?;
        let count = room.elements.len();
        let mut gathered = None;
        for (seed, method) in (0..).zip(METHODS) {
            let start = Instant::now();
            let solution = room.solve(method, seed)?;
            let seconds = start.elapsed().as_secs_f32();
            let gathered = gathered.get_or_insert_with(|| solution.clone());
            let expected = match method {
                Method::Stochastic => room.iterations_expected(gathered)?.to_string(),
                _ => String::new(),
            };
            println!(
                "| `{name}` | {count} | {method:?} | {seconds:.1} | {:.2} % | {:.2} +- {:.2} % | {:.2} % | {:.2} % | {} | {expected} |",
                solution.error_estimate * 100.0,
                solution.residual * 100.0,
                solution.residual_standard_error * 100.0,
                room.claimed_noise_of_residual(&solution) * 100.0,
                room.difference(gathered, &solution) * 100.0,
                solution.iterations,
            );
        }
    }
    Ok(())
}

struct Room {
    scene: Arc<Scene>,
    world: World,
    elements: Elements,
}

impl Room {
    fn new(scene: Scene, texels_per_metre: f32) -> Result<Self, Box<dyn Error>> {
        let scene = Arc::new(scene);
        let world = World::build(scene.clone(), Preset::best());
        let settings = LayoutSettings { texels_per_metre, ..LayoutSettings::default() };
        let (layout, _) = Layout::build(&scene, &settings, &Unmonitored)?;
        let elements = Elements::build(&scene, &layout, &world, &Unmonitored)?;
        Ok(Self { scene, world, elements })
    }

    /// Seeds differ, so that solutions share no noise.
    fn solve(&self, method: Method, seed: u32) -> Result<Solution, Box<dyn Error>> {
        let settings = SolverSettings { method, error: ERROR, seed, ..SolverSettings::default() };
        Ok(solve(&self.scene, &self.world, &self.elements, &settings, None, &Unmonitored)?)
    }

    /// Mean over the area that light reaches.
    fn mean(&self, solution: &Solution, of: impl Fn(usize) -> f32) -> f64 {
        let (sum, area) = (0..self.elements.len()).fold((0.0, 0.0), |(sum, area), element| {
            let weight = f64::from(self.elements.area[element] * solution.visible_fraction[element]);
            (sum + weight * f64::from(of(element)), area + weight)
        });
        sum / area
    }

    /// What the residual would be if it were the standard error of each element's light, over the first bounce.
    fn claimed_noise_of_residual(&self, solution: &Solution) -> f64 {
        let reflectance = &self.elements.reflectance;
        let noise = |i: usize| (luminance(reflectance[i]) * solution.standard_error[i]).powi(2);
        let first_bounce = |i: usize| luminance(reflectance[i] * solution.direct[i]);
        self.mean(solution, noise).sqrt() / self.mean(solution, first_bounce)
    }

    /// Root mean square difference of two solutions' light over its mean. The product of the differences of both halves
    /// stands for its square: they share no noise, and it cancels in the mean.
    fn difference(&self, a: &Solution, b: &Solution) -> f64 {
        let of_half = |half: usize, i: usize| luminance(a.halves[half][i] - b.halves[half][i]);
        let square = self.mean(a, |i| of_half(0, i) * of_half(1, i));
        square.max(0.0).sqrt() / self.mean(a, |i| luminance(a.direct[i] + a.indirect[i]))
    }

    /// How many bounces it takes until a thousandth of the power is left, by a form-factor matrix of 256 rays an element.
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
