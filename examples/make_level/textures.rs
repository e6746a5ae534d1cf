//! Procedural textures: boards, plaster, brick, stone, cloth and leaves. All except the leaf and the painting tile.

use bevy_radiosity::geometry::sobol::{hash2, unit_float};
use glam::{Vec2, Vec3, vec2, vec3};
use image::{Rgba, RgbaImage};

/// Paints a square texture. `paint` maps the unit square (origin at the top left) to a linear color and alpha.
fn paint(size: u32, paint: impl Fn(Vec2) -> (Vec3, f32)) -> RgbaImage {
    RgbaImage::from_fn(size, size, |x, y| {
        let (color, alpha) = paint((vec2(x as f32, y as f32) + 0.5) / size as f32);
        let [red, green, blue] = color.to_array().map(srgb);
        Rgba([red, green, blue, (alpha.clamp(0.0, 1.0) * 255.0).round() as u8])
    })
}

fn opaque(size: u32, color: impl Fn(Vec2) -> Vec3) -> RgbaImage {
    paint(size, |uv| (color(uv), 1.0))
}

/// Encodes a linear value as sRGB. Only even values are used, which halves the file without a visible difference.
fn srgb(linear: f32) -> u8 {
    let linear = linear.clamp(0.0, 1.0);
    let encoded = if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    ((encoded * 127.5).round() * 2.0) as u8
}

fn chance(a: i32, b: i32, seed: u32) -> f32 {
    unit_float(hash2(hash2(a as u32, b as u32), seed))
}

/// Returns smooth noise from 0 to 1 that tiles the unit square, with `cells` bumps along each edge.
fn noise(uv: Vec2, cells: (i32, i32), seed: u32) -> f32 {
    let place = uv * vec2(cells.0 as f32, cells.1 as f32);
    let corner = place.floor();
    let blend = place - corner;
    let blend = blend * blend * (3.0 - 2.0 * blend);
    let at = |x: i32, y: i32| {
        chance((corner.x as i32 + x).rem_euclid(cells.0), (corner.y as i32 + y).rem_euclid(cells.1), seed)
    };
    let top = at(0, 0) + (at(1, 0) - at(0, 0)) * blend.x;
    let bottom = at(0, 1) + (at(1, 1) - at(0, 1)) * blend.x;
    top + (bottom - top) * blend.y
}

/// Returns noise of four octaves, each half as strong as the one before.
fn cloud(uv: Vec2, cells: (i32, i32), seed: u32) -> f32 {
    let sum: f32 = (0..4u32)
        .map(|octave| noise(uv, (cells.0 << octave, cells.1 << octave), seed + octave) * 0.5f32.powi(octave as i32))
        .sum();
    sum / 1.875
}

fn step(edge: f32, width: f32, value: f32) -> f32 {
    ((value - edge) / width + 0.5).clamp(0.0, 1.0)
}

/// Returns wood grain along the texture's columns.
fn grain(uv: Vec2, seed: u32) -> f32 {
    let bend = noise(uv, (3, 6), seed + 9) * 0.04;
    0.6 * noise(uv + vec2(0.0, bend), (4, 48), seed) + 0.4 * noise(uv + vec2(0.0, bend), (8, 128), seed + 1)
}

/// Paints a floor of boards, ten across the texture.
pub fn planks() -> RgbaImage {
    const ROWS: f32 = 10.0;
    opaque(512, |uv| {
        let row = (uv.y * ROWS).floor() as i32;
        let along = uv.x * 2.0 + chance(row, 0, 3) * 2.0;
        let board = (along.floor() as i32).rem_euclid(2);
        let tone = 0.75 + 0.5 * chance(row, board, 5);
        let shifted = vec2((uv.x + chance(row, board, 7)).fract(), uv.y);
        let wood = vec3(0.36, 0.2, 0.1).lerp(vec3(0.2, 0.1, 0.045), grain(shifted, 11)) * tone;
        let across = (uv.y * ROWS).fract();
        let edge = across.min(1.0 - across) / ROWS;
        let end = along.fract().min(1.0 - along.fract()) / 2.0;
        wood * (0.25 + 0.75 * step(0.0015, 0.002, edge.min(end)))
    })
}

/// Paints sawn wood, with grain along the columns.
pub fn wood() -> RgbaImage {
    opaque(256, |uv| vec3(0.42, 0.24, 0.12).lerp(vec3(0.24, 0.12, 0.055), grain(uv, 21)))
}

/// Paints nearly white plaster, to be tinted by the material's color.
pub fn plaster() -> RgbaImage {
    opaque(256, |uv| {
        let patches = cloud(uv, (3, 3), 31);
        let trowel = cloud(vec2(uv.x + uv.y, uv.y - uv.x).fract_gl(), (8, 24), 37);
        Vec3::splat(0.86 + 0.1 * patches + 0.04 * trowel)
    })
}

/// Paints brick in stretcher bond: eight across, twenty-four up.
pub fn brick() -> RgbaImage {
    const COLUMNS: f32 = 8.0;
    const ROWS: f32 = 24.0;
    opaque(512, |uv| {
        let row = (uv.y * ROWS).floor() as i32;
        let along = uv.x * COLUMNS + 0.5 * (row % 2) as f32;
        let column = (along.floor() as i32).rem_euclid(COLUMNS as i32);
        let wobble = 0.002 * (noise(uv, (64, 64), 43) - 0.5);
        let inset = |position: f32, count: f32| position.fract().min(1.0 - position.fract()) / count + wobble;
        let face = step(0.0028, 0.002, inset(along, COLUMNS).min(inset(uv.y * ROWS, ROWS)));
        let tone = 0.7 + 0.5 * chance(row, column, 41) + 0.25 * (cloud(uv, (16, 32), 47) - 0.5);
        let clay = vec3(0.34, 0.115, 0.065).lerp(vec3(0.26, 0.13, 0.09), chance(row, column, 53)) * tone;
        let mortar = Vec3::splat(0.42 + 0.15 * noise(uv, (96, 96), 59));
        mortar.lerp(clay, face)
    })
}

/// Paints light and dark stone tiles, two by two.
pub fn tiles() -> RgbaImage {
    opaque(256, |uv| {
        let tile = (uv * 2.0).floor();
        let dark = (tile.x + tile.y) as i32 % 2 == 1;
        let base = if dark { vec3(0.09, 0.085, 0.09) } else { vec3(0.6, 0.57, 0.5) };
        let veins = (cloud(uv, (4, 4), if dark { 61 } else { 67 }) * 12.0).sin().abs().powf(0.4);
        let within = (uv * 2.0).fract_gl();
        let edge = within.min(1.0 - within).min_element();
        base * (0.75 + 0.3 * veins) * (0.45 + 0.55 * step(0.012, 0.012, edge))
    })
}

/// Paints dressed stone, for columns and the ground.
pub fn stone() -> RgbaImage {
    opaque(256, |uv| vec3(0.5, 0.46, 0.4) * (0.75 + 0.4 * cloud(uv, (6, 6), 71)))
}

/// Paints woven cloth with a crest, for an upright banner.
pub fn banner() -> RgbaImage {
    opaque(256, |uv| {
        let thread = 0.9 + 0.1 * noise(uv, (128, 128), 81);
        let (red, gold) = (vec3(0.42, 0.03, 0.035), vec3(0.62, 0.38, 0.06));
        let border = uv.x.min(1.0 - uv.x).min(uv.y.min(1.0 - uv.y) * 0.5);
        let from_middle = (uv - vec2(0.5, 0.42)) * vec2(1.0, 2.0);
        let ring = (from_middle.length() - 0.26).abs() < 0.03;
        let angle = from_middle.y.atan2(from_middle.x);
        let star = from_middle.length() < 0.13 + 0.07 * (angle * 8.0).cos();
        let chevron = ((uv.y - 0.72) * 2.0 + (uv.x - 0.5).abs()).abs() < 0.06;
        let lined = (0.04..0.07).contains(&border);
        (if ring || star || chevron || lined { gold } else { red }) * thread
    })
}

/// Paints a carpet.
pub fn carpet() -> RgbaImage {
    opaque(256, |uv| {
        let folded = (uv - 0.5).abs();
        let border = 0.5 - folded.max_element();
        let (navy, wine, sand) = (vec3(0.03, 0.05, 0.13), vec3(0.26, 0.035, 0.04), vec3(0.55, 0.42, 0.26));
        let weave = 0.85 + 0.3 * noise(uv, (128, 128), 91);
        let lozenge = ((folded.x + folded.y) * 14.0).fract();
        let field = if lozenge < 0.28 {
            sand
        } else if folded.x + folded.y < 0.29 {
            navy
        } else {
            wine
        };
        let teeth = ((uv.x * 20.0).fract() - 0.5).abs() + ((uv.y * 20.0).fract() - 0.5).abs();
        let color = match border {
            edge if edge < 0.015 => sand,
            edge if edge < 0.09 => {
                if teeth < 0.4 {
                    sand
                } else {
                    navy
                }
            }
            edge if edge < 0.105 => sand,
            _ => field,
        };
        color * weave
    })
}

/// Paints sixteen book spines, one per column. A book's coordinates select one.
pub fn spines() -> RgbaImage {
    const CLOTH: [Vec3; 6] = [
        vec3(0.3, 0.05, 0.04),
        vec3(0.05, 0.12, 0.07),
        vec3(0.04, 0.07, 0.2),
        vec3(0.3, 0.18, 0.07),
        vec3(0.09, 0.06, 0.05),
        vec3(0.5, 0.43, 0.32),
    ];
    opaque(256, |uv| {
        let column = (uv.x * 16.0).floor() as i32;
        let cloth = CLOTH[(chance(column, 0, 101) * 6.0) as usize] * (0.7 + 0.6 * chance(column, 1, 101));
        let bands = [0.12, 0.2, 0.78, 0.86].map(|band| band + 0.05 * (chance(column, 2, 101) - 0.5));
        let banded = bands.iter().any(|band| (uv.y - band).abs() < 0.008);
        let title = (0.32..0.55).contains(&uv.y)
            && ((uv.x * 16.0).fract() - 0.5).abs() < 0.22
            && chance((uv.y * 40.0) as i32, column, 103) > 0.35;
        let worn = 0.85 + 0.3 * noise(uv, (64, 32), 107);
        (if banded || title { vec3(0.55, 0.4, 0.15) } else { cloth }) * worn
    })
}

/// Paints a landscape.
pub fn painting() -> RgbaImage {
    opaque(256, |uv| {
        let sky = vec3(0.75, 0.5, 0.28).lerp(vec3(0.18, 0.3, 0.5), (0.62 - uv.y).max(0.0) * 1.6);
        let clouds = step(0.56, 0.2, cloud(uv * vec2(1.0, 2.0), (3, 3), 111)) * 0.5;
        let mut color = sky.lerp(vec3(0.9, 0.8, 0.7), clouds);
        for (layer, tone) in [vec3(0.16, 0.22, 0.3), vec3(0.08, 0.15, 0.1), vec3(0.035, 0.06, 0.03)].iter().enumerate()
        {
            let depth = layer as u32;
            let ridge =
                0.5 + 0.13 * layer as f32 - 0.22 * (cloud(vec2(uv.x, 0.37), (3 + layer as i32, 1), 113 + depth) - 0.5);
            if uv.y > ridge {
                color = *tone * (0.8 + 0.5 * noise(uv, (40, 40), 117 + depth));
            }
        }
        color
    })
}

/// Paints a lattice of laths crossed at right angles, with cut-out gaps.
pub fn lattice() -> RgbaImage {
    paint(128, |uv| {
        let [rising, falling] = [uv.x + uv.y, uv.x - uv.y].map(|along| ((along * 2.0).rem_euclid(1.0) - 0.5).abs());
        let shade = if rising < falling { 1.0 } else { 0.8 };
        let lath = rising.min(falling) < 0.13;
        (vec3(0.3, 0.17, 0.08) * shade * (0.9 + 0.2 * noise(uv, (32, 32), 121)), if lath { 1.0 } else { 0.0 })
    })
}

/// Paints a board with round holes.
pub fn pegboard() -> RgbaImage {
    paint(64, |uv| {
        let hole = (uv - 0.5).length() < 0.18;
        (vec3(0.36, 0.26, 0.16) * (0.9 + 0.2 * noise(uv, (16, 16), 131)), if hole { 0.0 } else { 1.0 })
    })
}

/// Paints a leaf, stem at the bottom.
pub fn leaf() -> RgbaImage {
    paint(128, |uv| {
        let along = 1.0 - uv.y;
        let across = (uv.x - 0.5).abs();
        let width = 0.46 * (along.powf(0.7) * core::f32::consts::PI).sin().max(0.0).powf(0.8);
        let notch = 0.03 * (along * 60.0 + across * 40.0).sin();
        let vein = across < 0.015 || ((along - across * 0.7) * 9.0).rem_euclid(1.0) < 0.09;
        let green = vec3(0.06, 0.17, 0.035).lerp(vec3(0.11, 0.26, 0.06), noise(uv, (6, 6), 141));
        (if vein { green * 1.6 } else { green }, if across < width + notch { 1.0 } else { 0.0 })
    })
}
