//! Tables of elements for shaders. `elements.wgsl`, `light_pmf.wgsl` and `bright.wgsl` document the layout.

use rayon::prelude::*;

use super::super::GpuScene;
use crate::geometry::SurfaceId;
use crate::lightmap::{
    BranchDescription, ElementId, Elements, PieceDescription, PieceShape, SheetDescription, TexelDescription,
};
use crate::lights::{EmitterDescription, LightSampler};
use crate::radiosity::{BrightElement, MAX_BRIGHT};
use crate::scene::Scene;

const NONE: u32 = u32::MAX;
/// Header words that hold the offsets of sections.
const ELEMENTS: usize = 0;
const PLACES: usize = 1;
const SHEETS: usize = 2;
const EXPECTATIONS: usize = 3;
pub(super) const EMITTER_COUNT: usize = 4;
pub(super) const BRIGHT: usize = 5;
const HEADER_WORDS: usize = 8;

/// Number of emitters up to which a sample visits all of them, so that no receiver data are needed.
const VISITS: usize = 4;

const ELEMENT_WORDS: usize = 3;
const BRIGHT_WORDS: usize = 6;
const BACK: u32 = 1 << 31;
const WHOLE_TRIANGLE: u32 = 0;
const WHOLE_TEXEL: u32 = 1;
const POLYGON: u32 = 2;
const TURNED: u32 = 4;

const SHEET_WORDS: usize = 9;
const HAS_TEXELS: u32 = 1;
const TWO_SIDED: u32 = 2;
const CLOSED: u32 = 4;
const WHOLE: u32 = 1 << 31;
const DIVIDED: u32 = 1 << 31;
const PART: u32 = 1 << 31;

/// Builds the tables of elements and of emitter selection probabilities.
pub(super) fn tables(scene: &Scene, on_device: &GpuScene, elements: &Elements) -> Vec<u32> {
    let lights = LightSampler::new(scene);
    let numbers = Numbers { in_tree: on_device.numbers(scene), first: scene.first_triangles() };
    let mut words = vec![0; HEADER_WORDS];
    words[EMITTER_COUNT] = lights.emitters() as u32;
    words[EXPECTATIONS] = words.len() as u32;
    lights.descriptions().for_each(|emitter| words.extend(expectation(&emitter)));
    if lights.emitters() > VISITS {
        words[PLACES] = words.len() as u32;
        for element in 0..elements.len() {
            let (center, normal) = (elements.center[element], elements.geometric_normal[element]);
            let radius = elements.area[element].sqrt();
            words.extend([center.to_array(), normal.to_array()].as_flattened().iter().map(|value| value.to_bits()));
            words.push(radius.to_bits());
        }
    }
    words[BRIGHT] = words.len() as u32;
    words.extend(bright_words(&[]));
    add_pieces(elements, &numbers, &mut words);
    add_sheets(scene, elements, &mut words);
    words
}

/// Returns the table of elements sampled as lights: their number, and room for the maximum.
pub(super) fn bright_words(bright: &[BrightElement]) -> Vec<u32> {
    let mut words = vec![bright.len() as u32];
    for BrightElement { element, probability, area, radiosity } in bright {
        words.extend([*element, probability.to_bits(), area.to_bits()]);
        words.extend(radiosity.to_array().map(f32::to_bits));
    }
    words.resize(1 + BRIGHT_WORDS * MAX_BRIGHT, 0);
    words
}

/// Mapping of triangles to their indices in the tree.
struct Numbers {
    in_tree: Vec<u32>,
    /// First triangle of each surface in the scene-wide order.
    first: Vec<u32>,
}

/// Returns the selection data of an emissive surface: its bounding box, luminous flux in lumens and area.
fn expectation(emitter: &EmitterDescription) -> [u32; 8] {
    let mut words = [0.0; 8];
    match emitter {
        EmitterDescription::Surface { power, bounds, area, .. } => {
            words[..3].copy_from_slice(&bounds.min.to_array());
            words[3..6].copy_from_slice(&bounds.max.to_array());
            [words[6], words[7]] = [*power, *area];
        }
        EmitterDescription::Environment { power, .. } => words[6] = *power,
        EmitterDescription::Lamp(_) | EmitterDescription::Rectangle { .. } => {}
    }
    words.map(f32::to_bits)
}

/// Adds the pieces of all elements, and the record that locates each element's pieces.
fn add_pieces(elements: &Elements, numbers: &Numbers, words: &mut Vec<u32>) {
    let pieces: Vec<(u32, Vec<u32>)> = (0..elements.len())
        .into_par_iter()
        .with_min_len(256)
        .map(|element| {
            let id = ElementId::from_index(element);
            let mut words = Vec::new();
            let mut count = 0;
            for piece in elements.piece_descriptions(id) {
                add_piece(elements, numbers, elements.surface(id), &piece, &mut words);
                count += 1;
            }
            (count, words)
        })
        .collect();
    let records = words.len();
    words[ELEMENTS] = records as u32;
    words.resize(records + ELEMENT_WORDS * elements.len(), 0);
    for (element, (count, piece)) in pieces.into_iter().enumerate() {
        let record = records + ELEMENT_WORDS * element;
        words[record] = words.len() as u32;
        words[record + 1] = count | if elements.back[element] { BACK } else { 0 };
        words[record + 2] = elements.clearance[element].to_bits();
        words.extend(piece);
    }
}

fn add_piece(
    elements: &Elements,
    numbers: &Numbers,
    surface: SurfaceId,
    piece: &PieceDescription,
    words: &mut Vec<u32>,
) {
    let Some(sheet) = elements.sheet_description(surface) else { return };
    let (triangle, _, turned) = sheet.unwrap.in_scene(piece.triangle, glam::Vec2::ZERO);
    let turned = if turned { TURNED } else { 0 };
    words.push(numbers.in_tree[(numbers.first[surface.index()] + triangle) as usize]);
    let (shape, weights, corners) = match &piece.shape {
        PieceShape::Triangle => (WHOLE_TRIANGLE, None, &[][..]),
        PieceShape::Texel(weights) => (WHOLE_TEXEL, Some(weights), &[][..]),
        PieceShape::Polygon(weights, corners) => (POLYGON, Some(weights), &corners[..]),
    };
    words.push(shape | turned | (corners.len() as u32) << 3);
    words.push(piece.area.to_bits());
    for vector in weights.iter().flat_map(|weights| [weights.origin, weights.across, weights.down]) {
        words.extend(vector.to_array().map(f32::to_bits));
    }
    words.extend(corners.iter().map(|&[x, y]| u32::from(x) | u32::from(y) << 16));
}

/// Adds the lookup data that map points of surfaces to elements.
fn add_sheets(scene: &Scene, elements: &Elements, words: &mut Vec<u32>) {
    let closed: Vec<bool> = scene.meshes.par_iter().map(|mesh| mesh.is_closed()).collect();
    let sheets = words.len();
    words[SHEETS] = sheets as u32;
    words.resize(sheets + SHEET_WORDS * scene.surfaces.len(), NONE);
    for surface in scene.surface_ids() {
        let closed = if closed[scene.surface(surface).mesh.index()] { CLOSED } else { 0 };
        let mut record = [NONE; SHEET_WORDS];
        record[0] = closed;
        if let Some(sheet) = elements.sheet_description(surface) {
            let two_sided = if sheet.unwrap.is_two_sided() { TWO_SIDED } else { 0 };
            let [front, back] = sheet.first.map(|first| first.unwrap_or(NONE));
            let [columns, rows] = sheet.size();
            record[..6].copy_from_slice(&[
                closed | two_sided | HAS_TEXELS,
                front,
                back,
                sheet.unwrap.reversed_from,
                columns,
                rows,
            ]);
            record[6] = add_grid(&sheet, words);
            record[7] = add_triangles(&sheet, words);
            record[8] = words.len() as u32;
            words.extend(sheet.charts());
        }
        let place = sheets + SHEET_WORDS * surface.index();
        words[place..place + SHEET_WORDS].copy_from_slice(&record);
    }
}

/// Adds the lookup grid of a surface's texels, preceded by the cuts of divided texels. Returns its offset.
fn add_grid(sheet: &SheetDescription, words: &mut Vec<u32>) -> u32 {
    let mut grid = Vec::new();
    for texel in sheet.texels() {
        grid.push(match texel {
            TexelDescription::Nothing => NONE,
            TexelDescription::Footprint(footprint) => footprint,
            TexelDescription::Divided(first, cuts) => {
                let place = words.len() as u32;
                words.push(first);
                for cut in cuts {
                    words.extend([cut.normal.x, cut.normal.y, cut.height].map(f32::to_bits));
                    words.extend(cut.branches.map(|branch| match branch {
                        BranchDescription::Cut(cut) => cut,
                        BranchDescription::Part(part) => part | PART,
                    }));
                }
                place | DIVIDED
            }
        });
    }
    let place = words.len() as u32;
    words.extend(grid);
    place
}

fn add_triangles(sheet: &SheetDescription, words: &mut Vec<u32>) -> u32 {
    let place = words.len() as u32;
    for triangle in sheet.triangles() {
        words.extend(triangle.corners.iter().flat_map(|corner| corner.to_array().map(f32::to_bits)));
        words.push(triangle.home.map_or(NONE, |(footprint, whole)| footprint | if whole { WHOLE } else { 0 }));
        words.push(triangle.chart);
    }
    place
}
