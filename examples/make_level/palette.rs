//! Materials of the level. Colors are linear reflectances, and emission is in cd/m2.

use glam::{Vec3, vec3};

use super::gltf_writer::{Alpha, Document, Material, MaterialRef};
use super::textures;

/// All materials of the level.
pub struct Palette {
    pub planks: MaterialRef,
    pub wood: MaterialRef,
    pub dark_wood: MaterialRef,
    pub painted_wood: MaterialRef,
    pub plaster_white: MaterialRef,
    pub plaster_ochre: MaterialRef,
    pub plaster_green: MaterialRef,
    pub ceiling: MaterialRef,
    pub brick: MaterialRef,
    pub tiles: MaterialRef,
    pub stone: MaterialRef,
    pub ground: MaterialRef,
    pub banner: MaterialRef,
    pub carpet: MaterialRef,
    pub books: MaterialRef,
    pub painting: MaterialRef,
    pub lattice: MaterialRef,
    pub pegboard: MaterialRef,
    pub leaf: MaterialRef,
    pub clay: MaterialRef,
    pub earth: MaterialRef,
    pub porcelain: MaterialRef,
    pub glaze: MaterialRef,
    pub brass: MaterialRef,
    pub iron: MaterialRef,
    pub leather: MaterialRef,
    pub shade: MaterialRef,
    pub skin: MaterialRef,
    pub coat: MaterialRef,
    pub trousers: MaterialRef,
    pub panel: MaterialRef,
    pub bulb: MaterialRef,
    pub glass: [MaterialRef; 4],
}

impl Palette {
    /// Paints the textures and adds the materials to a file.
    pub fn new(file: &mut Document) -> Self {
        let plaster = file.picture("plaster", &textures::plaster());
        let wood = file.picture("wood", &textures::wood());
        let stone = file.picture("stone", &textures::stone());
        let planks = file.picture("planks", &textures::planks());
        let brick = file.picture("brick", &textures::brick());
        let tiles = file.picture("tiles", &textures::tiles());
        let banner = file.picture("banner", &textures::banner());
        let carpet = file.picture("carpet", &textures::carpet());
        let books = file.picture("books", &textures::spines());
        let painting = file.picture("painting", &textures::painting());
        let lattice = file.picture("lattice", &textures::lattice());
        let pegboard = file.picture("pegboard", &textures::pegboard());
        let leaf = file.picture("leaf", &textures::leaf());

        let tinted = |name, picture, meters, color| Material { color, ..Material::pictured(name, picture, meters) };
        let cut_out = |name, picture, meters| Material {
            alpha: Alpha::Mask,
            double_sided: true,
            ..Material::pictured(name, picture, meters)
        };
        let glowing = |name, emission| Material { emission, ..Material::diffuse(name, Vec3::splat(0.6)) };
        let glass = |name, color| Material {
            alpha: Alpha::Stained(0.25),
            double_sided: true,
            roughness: 0.3,
            ..Material::diffuse(name, color)
        };
        let metal = |name, color| Material { metallic: 0.6, roughness: 0.4, ..Material::diffuse(name, color) };
        let glazed = |name, color| Material { roughness: 0.35, ..Material::diffuse(name, color) };
        let mut add = |material| file.material(material);
        Self {
            planks: add(Material { roughness: 0.5, ..Material::pictured("planks", planks, 2.0) }),
            wood: add(Material { roughness: 0.6, ..Material::pictured("wood", wood, 1.0) }),
            dark_wood: add(tinted("dark_wood", wood, 1.0, vec3(0.45, 0.38, 0.34))),
            painted_wood: add(Material::diffuse("painted_wood", vec3(0.68, 0.66, 0.6))),
            plaster_white: add(tinted("plaster_white", plaster, 2.0, vec3(0.82, 0.79, 0.73))),
            plaster_ochre: add(tinted("plaster_ochre", plaster, 2.0, vec3(0.76, 0.5, 0.25))),
            plaster_green: add(tinted("plaster_green", plaster, 2.0, vec3(0.36, 0.48, 0.34))),
            ceiling: add(tinted("ceiling", plaster, 2.0, vec3(0.85, 0.84, 0.81))),
            brick: add(Material::pictured("brick", brick, 1.92)),
            tiles: add(Material { roughness: 0.4, ..Material::pictured("tiles", tiles, 1.2) }),
            stone: add(Material::pictured("stone", stone, 1.5)),
            ground: add(tinted("ground", stone, 4.0, vec3(0.6, 0.62, 0.5))),
            banner: add(Material { double_sided: true, ..Material::pictured("banner", banner, 1.0) }),
            carpet: add(Material { roughness: 1.0, ..Material::pictured("carpet", carpet, 1.0) }),
            books: add(Material::pictured("books", books, 1.0)),
            painting: add(Material { roughness: 0.6, ..Material::pictured("painting", painting, 1.0) }),
            lattice: add(cut_out("lattice", lattice, 0.3)),
            pegboard: add(cut_out("pegboard", pegboard, 0.06)),
            leaf: add(cut_out("leaf", leaf, 1.0)),
            clay: add(Material::diffuse("clay", vec3(0.45, 0.18, 0.09))),
            earth: add(Material::diffuse("earth", vec3(0.06, 0.04, 0.03))),
            porcelain: add(glazed("porcelain", vec3(0.8, 0.8, 0.78))),
            glaze: add(glazed("glaze", vec3(0.06, 0.2, 0.32))),
            brass: add(metal("brass", vec3(0.7, 0.5, 0.2))),
            iron: add(metal("iron", vec3(0.1, 0.1, 0.105))),
            leather: add(Material { roughness: 0.5, ..Material::diffuse("leather", vec3(0.2, 0.075, 0.035)) }),
            shade: add(Material { double_sided: true, ..Material::diffuse("shade", vec3(0.8, 0.72, 0.58)) }),
            skin: add(Material::diffuse("skin", vec3(0.55, 0.33, 0.23))),
            coat: add(Material::diffuse("coat", vec3(0.07, 0.15, 0.28))),
            trousers: add(Material::diffuse("trousers", vec3(0.12, 0.1, 0.08))),
            panel: add(glowing("panel", vec3(2400.0, 2300.0, 2050.0))),
            bulb: add(glowing("bulb", vec3(9000.0, 6800.0, 4100.0))),
            glass: [
                add(glass("glass_red", vec3(0.9, 0.08, 0.05))),
                add(glass("glass_amber", vec3(0.95, 0.55, 0.06))),
                add(glass("glass_blue", vec3(0.08, 0.25, 0.9))),
                add(glass("glass_green", vec3(0.1, 0.7, 0.2))),
            ],
        }
    }
}
