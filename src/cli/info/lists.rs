//! Lists of the lights, surfaces and materials of a scene.

use std::collections::{BTreeMap, HashSet};

use glam::Vec3;
use serde::Serialize;

use crate::cli::say;
use crate::geometry::SurfaceId;
use crate::lightmap::{Layout, LayoutWarning};
use crate::scene::{AlphaMode, LightKind, Role, Scene, Sides, Sky, luminance};

/// Maximum number of rows printed per list; `--json` prints all.
const MAX_ROWS: usize = 30;

/// Ratio of scales along two axes below which scaling counts as uniform.
const EVEN: f32 = 1.001;

/// Scale above which, or below whose inverse, scaling is unusual. Such scales often indicate wrong units.
const UNUSUAL_SCALE: f32 = 50.0;

/// Lists of everything named in a scene.
#[derive(Serialize)]
pub struct Lists {
    pub light_list: Vec<LightRow>,
    pub surface_list: Vec<SurfaceRow>,
    pub material_list: Vec<MaterialRow>,
    pub unusual_scales: Vec<ScaleRow>,
}

/// Lamp, sun, sky, or emissive surface.
#[derive(Serialize)]
pub struct LightRow {
    name: String,
    kind: &'static str,
    /// Luminance of the strength, in `unit`.
    strength: f32,
    unit: &'static str,
    /// Position in world space, in meters; the center of a surface's bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<[f32; 3]>,
    /// Radius or half diagonal, in meters; diameter in degrees for a sun.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<f32>,
}

/// Surface of the scene.
#[derive(Serialize)]
pub struct SurfaceRow {
    key: String,
    object: String,
    mesh: String,
    material: String,
    role: &'static str,
    /// Sides that reflect light.
    sides: &'static str,
    triangles: usize,
    area_m2: f64,
    /// Number of texels of the rectangle at the requested density.
    texels: u64,
    /// Number of sides with texels.
    texel_sides: u32,
    /// Lightmap coordinates: the file's own ("kept"), or new ones ("new").
    uv1: &'static str,
}

/// Material used by some surface.
#[derive(Serialize)]
pub struct MaterialRow {
    name: String,
    base_color: [f32; 4],
    metallic: f32,
    /// Emission in cd/m2.
    emission: [f32; 3],
    alpha: &'static str,
    surfaces: usize,
}

/// Surface that is scaled unevenly, mirrored, or scaled by an unusual factor.
#[derive(Serialize)]
pub struct ScaleRow {
    object: String,
    scale: [f32; 3],
    why: &'static str,
}

impl Lists {
    /// Lists a scene. `layout` is its layout at the density of the bake.
    pub fn new(scene: &Scene, layout: Option<&(Layout, Vec<LayoutWarning>)>) -> Self {
        let ids = || scene.surface_ids();
        let replaced: HashSet<&str> =
            layout.iter().flat_map(|(_, warnings)| warnings).filter_map(replaced_uv).collect();
        let layout = layout.map(|(layout, _)| layout);
        let mut surface_list: Vec<SurfaceRow> = ids().map(|id| surface_row(scene, layout, &replaced, id)).collect();
        surface_list.sort_by(|a, b| b.area_m2.total_cmp(&a.area_m2));
        Self {
            light_list: light_rows(scene),
            surface_list,
            material_list: material_rows(scene),
            unusual_scales: ids().filter_map(|id| scale_row(scene, id)).collect(),
        }
    }

    /// Prints the first rows of each list.
    pub fn print(&self) {
        print_list("lights", &self.light_list, |light| {
            let place = light.position.map_or_else(String::new, |[x, y, z]| format!(" at {x:.2}, {y:.2}, {z:.2}"));
            format!("{} '{}', {:.4} {}{place}", light.kind, light.name, light.strength, light.unit)
        });
        print_list("surfaces, the largest first", &self.surface_list, |surface| {
            let texels = match (surface.texels, surface.texel_sides) {
                (0, _) => "no texels".to_owned(),
                (texels, 2) => format!("{texels} texels on both sides, {} UV_1", surface.uv1),
                (texels, _) => format!("{texels} texels, {} UV_1", surface.uv1),
            };
            format!(
                "'{}' ({}), {}, {} side{}, {:.2} m2, {texels}",
                surface.object,
                surface.key,
                surface.role,
                surface.sides,
                if surface.sides == "both" { "s" } else { "" },
                surface.area_m2
            )
        });
        print_list("materials", &self.material_list, |material| {
            let [red, green, blue, alpha] = material.base_color;
            let emits = luminance(Vec3::from_array(material.emission));
            let emission = if emits > 0.0 { format!(", emits {emits:.4} cd/m2") } else { String::new() };
            format!(
                "'{}', color {red:.3} {green:.3} {blue:.3}, {} (alpha {alpha:.2}), metallic {:.2}{emission}, on {} surface{}",
                material.name,
                material.alpha,
                material.metallic,
                material.surfaces,
                if material.surfaces == 1 { "" } else { "s" }
            )
        });
        print_list("unusual scales", &self.unusual_scales, |row| {
            let [x, y, z] = row.scale;
            format!("'{}' is {}: {x:.4} x {y:.4} x {z:.4}", row.object, row.why)
        });
    }
}

fn print_list<T>(title: &str, rows: &[T], text: impl Fn(&T) -> String) {
    if rows.is_empty() {
        return;
    }
    say(format_args!("\n{title}"));
    rows.iter().take(MAX_ROWS).for_each(|row| say(format_args!("  {}", text(row))));
    if rows.len() > MAX_ROWS {
        say(format_args!("  and {} more, which --json lists", rows.len() - MAX_ROWS));
    }
}

fn light_rows(scene: &Scene) -> Vec<LightRow> {
    let row = |name: &str, kind, strength: Vec3, unit, position: Option<Vec3>, size| {
        let position = position.map(|place| place.to_array());
        LightRow { name: name.to_owned(), kind, strength: luminance(strength), unit, position, size }
    };
    let lamps = scene.lights.iter().map(|light| {
        let lamp =
            |strength, unit, position, size| row(&light.name, light.kind.name(), strength, unit, position, Some(size));
        match light.kind {
            LightKind::Point { position, intensity, radius, .. }
            | LightKind::Spot { position, intensity, radius, .. } => lamp(intensity, "cd", Some(position), radius),
            LightKind::Directional { illuminance, angular_diameter, .. } => {
                lamp(illuminance, "lx", None, angular_diameter.to_degrees())
            }
            LightKind::Rectangle { center, half_width, half_height, radiance, .. } => {
                let size = (half_width.length_squared() + half_height.length_squared()).sqrt();
                lamp(radiance, "cd/m2", Some(center), size)
            }
        }
    });
    let shines = |id: &SurfaceId| scene.surface(*id).is_in_bake() && scene.material_of(*id).is_emissive();
    let panels = scene.surface_ids().filter(shines).map(|id| {
        let (surface, emission) = (scene.surface(id), scene.material_of(id).emission);
        let used = scene.mesh_of(id).triangles.iter().flatten();
        let corners =
            used.map(|&vertex| surface.to_world.transform_point3(scene.mesh_of(id).positions[vertex as usize]));
        let bounds = crate::geometry::Aabb::around(corners);
        let (middle, size) = (0.5 * (bounds.min + bounds.max), 0.5 * bounds.diagonal());
        row(surface.key.object(), "emissive surface", emission, "cd/m2", Some(middle), Some(size))
    });
    let sky = match &scene.sky {
        Sky::Dark => None,
        Sky::Uniform(radiance) => Some(row("sky", "sky", *radiance, "cd/m2", None, None)),
        Sky::Map(map) => Some(row(&map.texture.name, "sky picture", Vec3::splat(map.scale), "cd/m2 for 1", None, None)),
    };
    lamps.chain(panels).chain(sky).collect()
}

/// Returns the mesh whose own lightmap coordinates were replaced.
fn replaced_uv(warning: &LayoutWarning) -> Option<&str> {
    match warning {
        LayoutWarning::Uv1Replaced { mesh, .. } => Some(mesh),
        _ => None,
    }
}

fn surface_row(scene: &Scene, layout: Option<&Layout>, replaced: &HashSet<&str>, id: SurfaceId) -> SurfaceRow {
    let (surface, mesh) = (scene.surface(id), scene.mesh_of(id));
    let placement = layout.and_then(|layout| layout.placement(id));
    let is_kept = placement.is_some_and(|placement| !placement.unwrap.is_two_sided())
        && mesh.uv1.len() == mesh.positions.len()
        && !replaced.contains(mesh.name.as_str());
    let areas = (0..mesh.triangles.len() as u32).map(|triangle| f64::from(scene.triangle(id, triangle).area()));
    SurfaceRow {
        key: surface.key.to_string(),
        object: surface.key.object().to_owned(),
        mesh: mesh.name.clone(),
        material: scene.material_of(id).name.clone(),
        role: match surface.role {
            Role::Static => "static",
            Role::Occluder => "occluder",
            Role::Mover => "mover",
            Role::Excluded => "excluded",
        },
        sides: match surface.sides {
            Sides::Front => "front",
            Sides::Both => "both",
        },
        triangles: mesh.triangles.len(),
        area_m2: areas.sum(),
        texels: placement
            .map_or(0, |placement| u64::from(placement.rectangle.width) * u64::from(placement.rectangle.height)),
        texel_sides: placement.map_or(0, |placement| if placement.unwrap.is_two_sided() { 2 } else { 1 }),
        uv1: match placement {
            None => "no",
            Some(_) if is_kept => "kept",
            Some(_) => "new",
        },
    }
}

fn material_rows(scene: &Scene) -> Vec<MaterialRow> {
    let mut used: BTreeMap<usize, usize> = BTreeMap::new();
    for surface in &scene.surfaces {
        *used.entry(surface.material.index()).or_default() += 1;
    }
    let row = |(index, surfaces): (usize, usize)| {
        let material = &scene.materials[index];
        MaterialRow {
            name: material.name.clone(),
            base_color: material.base_color.to_array(),
            metallic: material.metallic,
            emission: material.emission.to_array(),
            alpha: match material.alpha {
                AlphaMode::Opaque => "opaque",
                AlphaMode::Mask(_) => "mask",
                AlphaMode::Blend => "blend",
            },
            surfaces,
        }
    };
    used.into_iter().map(row).collect()
}

fn scale_row(scene: &Scene, id: SurfaceId) -> Option<ScaleRow> {
    let surface = scene.surface(id);
    let scale = surface.to_world.to_scale_rotation_translation().0;
    let lengths = scale.abs();
    let is_far = lengths.max_element() > UNUSUAL_SCALE || lengths.min_element() < 1.0 / UNUSUAL_SCALE;
    let why = if is_far {
        "scaled by much"
    } else if lengths.max_element() > lengths.min_element() * EVEN {
        "scaled unevenly"
    } else if surface.is_mirrored() {
        "mirrored"
    } else {
        return None;
    };
    Some(ScaleRow { object: surface.key.object().to_owned(), scale: scale.to_array(), why })
}
