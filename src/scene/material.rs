//! What surfaces are made of, in the terms of Bevy's standard material.

use glam::{Vec2, Vec3, Vec4};

use super::texture_ref::{TextureRef, UvChannel, UvSets};
use super::vertex_colors::mean_with_texture;
use super::{Glass, MeshData, Scene, Weight};

/// How a material's alpha is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AlphaMode {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// A ray passes where alpha is below the threshold.
    Mask(f32),
    /// Lets through `(1 - alpha) * base colour`, times [`Material::transmission_texture`].
    Blend,
}

/// A metallic-roughness material.
///
/// Lightmaps hold matt light: bakes read base colour, metalness, emission and alpha, path tracing all of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// What messages call the material.
    pub name: String,
    /// Factor on the base colour, linear; alpha last.
    pub base_color: Vec4,
    /// Base colour picture (sRGB), multiplied by the factor and by [`MeshData::colors`].
    pub base_color_texture: Option<TextureRef>,
    /// Factor on metalness: a metal reflects nothing diffusely.
    pub metallic: f32,
    /// Factor on roughness, which is the square root of the width of highlights: zero is a mirror, one is chalk.
    pub perceptual_roughness: f32,
    /// Roughness in the green channel, metalness in the blue one, multiplied by their factors.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// How strongly it shines where it is no metal, per channel: light that falls straight on it is reflected by 0.16
    /// times the square. 0.5 is what plastic, wood and stone have, zero is wholly matt.
    pub reflectance: Vec3,
    /// In the alpha channel, a factor on that (`KHR_materials_specular`, Bevy's `specular_texture`).
    pub specular_texture: Option<TextureRef>,
    /// Color of that (sRGB), multiplied by the factor.
    pub specular_tint_texture: Option<TextureRef>,
    /// Emitted radiance in cd/m2, after exposure weights have been applied.
    pub emission: Vec3,
    /// Emission picture (sRGB), multiplied by the factor.
    pub emission_texture: Option<TextureRef>,
    /// Normals in the space of the texture (linear, `2 * value - 1`), for pictures; bakes see the smooth surface.
    pub normal_texture: Option<TextureRef>,
    /// How steep the bumps of that texture are; one is as they were made.
    pub normal_scale: f32,
    /// How much of the surface is covered by a clear coat of varnish, from zero to one.
    pub clearcoat: f32,
    /// Coverage in the red channel, multiplied by the factor.
    pub clearcoat_texture: Option<TextureRef>,
    /// The roughness of that coat, as [`Material::perceptual_roughness`].
    pub clearcoat_perceptual_roughness: f32,
    /// That roughness in the green channel, multiplied by the factor.
    pub clearcoat_roughness_texture: Option<TextureRef>,
    /// In the red channel, what part goes through of the light that panes and [glass](Glass::transmission) would let through.
    pub transmission_texture: Option<TextureRef>,
    /// What a solid is filled with that light goes through; `None` for other solids and for panes.
    pub glass: Option<Glass>,
    /// How alpha is meant.
    pub alpha: AlphaMode,
    /// Texture coordinates that renderers read for this material, also for textures that are not among these. Lightmaps must
    /// leave them as they are.
    pub drawn_uv: UvSets,
}

/// How many pictures a material may have.
pub(crate) const PICTURES: usize = 9;

/// What one point of a surface looks like: a [`Material`] with its pictures read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Appearance {
    /// Base colour, each channel from zero to one.
    pub base_color: Vec3,
    /// Metalness from zero to one.
    pub metallic: f32,
    /// [`Material::perceptual_roughness`] from zero to one.
    pub perceptual_roughness: f32,
    /// [`Material::reflectance`].
    pub reflectance: Vec3,
    /// [`Material::clearcoat`] from zero to one.
    pub clearcoat: f32,
    /// [`Material::clearcoat_perceptual_roughness`] from zero to one.
    pub clearcoat_perceptual_roughness: f32,
    /// [`Glass::transmission`], or zero.
    pub transmission: f32,
    /// Index of refraction beyond the surface over that before it.
    pub relative_ior: f32,
}

impl Appearance {
    /// True when nothing but a matt base scatters light.
    #[inline]
    pub(crate) fn is_matt(&self) -> bool {
        self.reflectance == Vec3::ZERO && self.metallic == 0.0 && self.clearcoat == 0.0 && self.transmission == 0.0
    }

    /// The same surface seen from within the solid.
    pub fn from_within(self) -> Self {
        Self { relative_ior: 1.0 / self.relative_ior, ..self }
    }
}

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: Vec4::ONE,
            base_color_texture: None,
            metallic: 0.0,
            perceptual_roughness: 0.5,
            metallic_roughness_texture: None,
            reflectance: Vec3::splat(0.5),
            specular_texture: None,
            specular_tint_texture: None,
            emission: Vec3::ZERO,
            emission_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            clearcoat: 0.0,
            clearcoat_texture: None,
            clearcoat_perceptual_roughness: 0.5,
            clearcoat_roughness_texture: None,
            transmission_texture: None,
            glass: None,
            alpha: AlphaMode::Opaque,
            drawn_uv: UvSets::default(),
        }
    }
}

impl Material {
    /// A grey or coloured matt material.
    pub fn diffuse(name: impl Into<String>, reflectance: Vec3) -> Self {
        Self {
            name: name.into(),
            base_color: reflectance.extend(1.0),
            perceptual_roughness: 1.0,
            reflectance: Vec3::ZERO,
            ..Self::default()
        }
    }

    /// Lets a part of the light straight through, tinted by the base colour, as a thin pane does.
    ///
    /// Where alpha has a meaning already, it keeps it.
    pub fn with_transmission(mut self, transmission: f32) -> Self {
        if transmission > 0.0 && self.alpha == AlphaMode::Opaque {
            self.alpha = AlphaMode::Blend;
            self.base_color.w = 1.0 - transmission.min(1.0);
        }
        self
    }

    /// True when a set of texture coordinates is read, by bakes or by renderers.
    pub fn reads_uv(&self, channel: UvChannel) -> bool {
        self.drawn_uv.contains(channel) || self.textures().iter().flatten().any(|texture| texture.channel == channel)
    }

    /// All its pictures, in the order that shaders count them in.
    pub(crate) fn textures(&self) -> [Option<TextureRef>; PICTURES] {
        [
            self.base_color_texture,
            self.metallic_roughness_texture,
            self.emission_texture,
            self.normal_texture,
            self.clearcoat_texture,
            self.clearcoat_roughness_texture,
            self.transmission_texture,
            self.specular_texture,
            self.specular_tint_texture,
        ]
    }

    /// The places of all its pictures, in the order that shaders count them in.
    pub(crate) fn textures_mut(&mut self) -> [&mut Option<TextureRef>; PICTURES] {
        [
            &mut self.base_color_texture,
            &mut self.metallic_roughness_texture,
            &mut self.emission_texture,
            &mut self.normal_texture,
            &mut self.clearcoat_texture,
            &mut self.clearcoat_roughness_texture,
            &mut self.transmission_texture,
            &mut self.specular_texture,
            &mut self.specular_tint_texture,
        ]
    }

    /// True when it gives off light anywhere.
    pub fn is_emissive(&self) -> bool {
        self.emission.max_element() > 0.0
    }

    /// True when rays must ask the material whether it stops them.
    pub fn can_be_passed(&self) -> bool {
        self.alpha != AlphaMode::Opaque
    }

    /// Base colour and alpha at a point of a triangle: factor, texture and vertex color multiplied, none above one.
    #[inline]
    pub fn base_color_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec4 {
        let texel = self.read(self.base_color_texture, scene, mesh, triangle, barycentric);
        let product = self.base_color * texel;
        if mesh.colors.is_empty() { product } else { (product * mesh.color_at(triangle, barycentric)).min(Vec4::ONE) }
    }

    /// Diffuse reflectance at a point of a triangle: `base colour * (1 - metallic)`.
    pub fn reflectance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        let metallic = self.metallic * self.read(self.metallic_roughness_texture, scene, mesh, triangle, barycentric).z;
        self.base_color_at(scene, mesh, triangle, barycentric).truncate() * (1.0 - metallic)
    }

    /// What a point of a triangle looks like.
    #[inline]
    pub fn appearance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Appearance {
        let read = |texture| self.read(texture, scene, mesh, triangle, barycentric);
        let picture = read(self.metallic_roughness_texture);
        let base_color = self.base_color_at(scene, mesh, triangle, barycentric).truncate();
        let (transmission, relative_ior) = self
            .solid_glass()
            .map_or((0.0, 1.0), |glass| (glass.transmission * read(self.transmission_texture).x, glass.ior));
        let coat_roughness = self.clearcoat_perceptual_roughness * read(self.clearcoat_roughness_texture).y;
        Appearance {
            base_color: base_color.clamp(Vec3::ZERO, Vec3::ONE),
            metallic: (self.metallic * picture.z).clamp(0.0, 1.0),
            perceptual_roughness: (self.perceptual_roughness * picture.y).clamp(0.0, 1.0),
            reflectance: self.reflectance * read(self.specular_texture).w * read(self.specular_tint_texture).truncate(),
            clearcoat: (self.clearcoat * read(self.clearcoat_texture).x).clamp(0.0, 1.0),
            clearcoat_perceptual_roughness: coat_roughness.clamp(0.0, 1.0),
            transmission: transmission.clamp(0.0, 1.0),
            relative_ior,
        }
    }

    /// What all points of a mesh look like, where neither pictures nor vertex colors make them differ.
    pub(crate) fn plain_appearance(&self, mesh: &MeshData) -> Option<Appearance> {
        let pictures = [
            self.base_color_texture,
            self.metallic_roughness_texture,
            self.clearcoat_texture,
            self.clearcoat_roughness_texture,
            self.transmission_texture,
            self.specular_texture,
            self.specular_tint_texture,
        ];
        let is_plain = mesh.colors.is_empty() && pictures.iter().all(Option::is_none);
        is_plain.then(|| self.appearance_at(&Scene::default(), &MeshData::default(), 0, Vec2::ZERO))
    }

    /// The normal that the normal map shows, scaled, and how the map's coordinates change along the triangle's two edges
    /// from its first corner; `None` without a map or coordinates for it.
    pub(super) fn bump_at(
        &self,
        scene: &Scene,
        mesh: &MeshData,
        triangle: u32,
        barycentric: Vec2,
    ) -> Option<(Vec3, [Vec2; 2])> {
        let reference = self.normal_texture?;
        let coordinates = reference.coordinates(mesh, triangle)?;
        let texel = scene.texture(reference.texture).sample(coordinates.at(barycentric));
        let normal = texel.truncate() * 2.0 - 1.0;
        Some((normal * Vec3::new(self.normal_scale, self.normal_scale, 1.0), coordinates.edges))
    }

    /// Emitted radiance at a point of a triangle, cd/m2.
    #[inline]
    pub fn emission_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.emission * self.read(self.emission_texture, scene, mesh, triangle, barycentric).truncate()
    }

    /// Alpha at a point of a triangle: the base colour's, factor included.
    #[inline]
    pub fn alpha_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> f32 {
        self.base_color_at(scene, mesh, triangle, barycentric).w
    }

    /// How much of the light crosses a point of a triangle, per channel: what blended materials let through, all where a
    /// texel is cut out, nothing otherwise.
    #[inline]
    pub fn transmittance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        if self.alpha == AlphaMode::Opaque {
            return Vec3::ZERO;
        }
        let colour = self.base_color_at(scene, mesh, triangle, barycentric);
        match self.alpha {
            AlphaMode::Mask(threshold) if colour.w < threshold => Vec3::ONE,
            AlphaMode::Blend => {
                let part = self.read(self.transmission_texture, scene, mesh, triangle, barycentric).x;
                let through = (1.0 - colour.w).clamp(0.0, 1.0) * part;
                (colour.truncate() * through).clamp(Vec3::ZERO, Vec3::ONE)
            }
            _ => Vec3::ZERO,
        }
    }

    /// Mean reflectance and mean emission (cd/m2) over a convex part of a triangle, given by the weights of the
    /// triangle's second and third corner at the part's corners. What is cut out or blended away does not count.
    pub fn average_over(&self, scene: &Scene, mesh: &MeshData, triangle: u32, part: &[Vec2]) -> (Vec3, Vec3) {
        let weight = if self.can_be_passed() { Weight::Alpha } else { Weight::Area };
        let mean = |reference, weight| self.read_mean(reference, scene, mesh, triangle, part, weight);
        let base_color = self.mean_base_color(scene, mesh, triangle, part, weight);
        // The mean of a product is not the product of means, but metalness rarely changes within an element.
        let metallic = self.metallic * mean(self.metallic_roughness_texture, Weight::Area).z;
        let emission = self.emission * mean(self.emission_texture, Weight::Area).truncate();
        (base_color * (1.0 - metallic), emission)
    }

    /// Mean base color over a convex part of a triangle, vertex colors included.
    fn mean_base_color(&self, scene: &Scene, mesh: &MeshData, triangle: u32, part: &[Vec2], weight: Weight) -> Vec3 {
        let of_texture = |part: &[Vec2]| self.read_mean(self.base_color_texture, scene, mesh, triangle, part, weight);
        let mean = match mesh.corner_colors(triangle) {
            None => of_texture(part),
            Some(colors) => {
                let texture = self.base_color_texture.map(|_| &of_texture as &dyn Fn(&[Vec2]) -> Vec4);
                mean_with_texture(colors, part, weight, texture)
            }
        };
        let product = self.base_color.truncate() * mean.truncate();
        if mesh.colors.is_empty() { product } else { product.min(Vec3::ONE) }
    }

    fn read_mean(
        &self,
        reference: Option<TextureRef>,
        scene: &Scene,
        mesh: &MeshData,
        triangle: u32,
        part: &[Vec2],
        weight: Weight,
    ) -> Vec4 {
        reference.and_then(|texture| texture.mean(scene, mesh, triangle, part, weight)).unwrap_or(Vec4::ONE)
    }

    #[inline]
    fn read(
        &self,
        reference: Option<TextureRef>,
        scene: &Scene,
        mesh: &MeshData,
        triangle: u32,
        barycentric: Vec2,
    ) -> Vec4 {
        // A mesh without the coordinates that its texture needs shows the factor alone, as Bevy does.
        reference.and_then(|texture| texture.sample(scene, mesh, triangle, barycentric)).unwrap_or(Vec4::ONE)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scene::{Pyramids, Texels, Texture, TextureId, Wrap, shapes};

    /// A quad whose picture is `left` in its left half and `right` in its right half.
    fn painted(left: Vec4, right: Vec4) -> (Scene, MeshData) {
        let picture = Texture {
            name: "halves".into(),
            width: 8,
            height: 8,
            texels: Texels::Float((0..64).map(|index| if index % 8 < 4 { left } else { right }).collect()),
            wrap: [Wrap::Clamp; 2],
            pyramids: Pyramids::default(),
        };
        (Scene { textures: vec![Arc::new(picture)], ..Scene::default() }, shapes::floor("floor", 2.0))
    }

    const TEXTURE: Option<TextureRef> = Some(TextureRef::new(TextureId(0)));
    const WHOLE: [Vec2; 3] = [Vec2::ZERO, Vec2::X, Vec2::Y];

    #[test]
    fn reflectance_is_the_mean_over_the_part_that_is_asked_for() {
        let (scene, mesh) = painted(Vec4::ONE, Vec4::new(0.2, 0.4, 0.6, 1.0));
        let material = Material { base_color_texture: TEXTURE, emission_texture: TEXTURE, ..Material::default() };
        let material = Material { emission: Vec3::splat(10.0), metallic: 0.5, ..material };
        // The first triangle of the quad has a quarter of its area in the left half.
        let (reflectance, emission) = material.average_over(&scene, &mesh, 0, &WHOLE);
        let mean = Vec3::ONE * 0.25 + Vec3::new(0.2, 0.4, 0.6) * 0.75;
        assert!((reflectance - mean * 0.5).length() < 1e-5, "{reflectance}");
        assert!((emission - mean * 10.0).length() < 1e-4, "{emission}");
    }

    #[test]
    fn what_is_cut_out_neither_reflects_nor_counts() {
        let (scene, mesh) = painted(Vec4::new(0.9, 0.1, 0.9, 0.0), Vec4::new(0.2, 0.4, 0.6, 1.0));
        let alpha = AlphaMode::Mask(0.5);
        let material = Material { base_color_texture: TEXTURE, alpha, ..Material::default() };
        let (reflectance, _) = material.average_over(&scene, &mesh, 0, &WHOLE);
        assert!((reflectance - Vec3::new(0.2, 0.4, 0.6)).length() < 1e-5, "{reflectance}");
        assert_eq!(material.alpha_at(&scene, &mesh, 0, Vec2::new(0.1, 0.0)), 0.0);
        assert_eq!(material.alpha_at(&scene, &mesh, 0, Vec2::new(0.9, 0.0)), 1.0);
    }

    #[test]
    fn a_mesh_without_texture_coordinates_shows_the_factor() {
        let (scene, mut mesh) = painted(Vec4::ZERO, Vec4::ZERO);
        mesh.uv0.clear();
        let material = Material { base_color_texture: TEXTURE, ..Material::diffuse("red", Vec3::X) };
        assert_eq!(material.average_over(&scene, &mesh, 0, &WHOLE), (Vec3::X, Vec3::ZERO));
    }

    #[test]
    fn vertex_colors_tint_and_clear_what_factor_and_texture_show() {
        let (scene, mut mesh) = painted(Vec4::splat(0.5), Vec4::splat(0.5));
        // Red at the first corner of the first triangle, green at the second, half clear at the third.
        mesh.colors = vec![Vec4::new(1.0, 0.0, 0.0, 1.0), Vec4::new(0.0, 1.0, 0.0, 1.0), Vec4::splat(0.5), Vec4::ONE];
        let material = Material { base_color_texture: TEXTURE, alpha: AlphaMode::Blend, ..Material::default() };
        let at = |barycentric| material.base_color_at(&scene, &mesh, 0, barycentric);
        assert_eq!(at(Vec2::ZERO), Vec4::new(0.5, 0.0, 0.0, 0.5));
        assert_eq!(at(Vec2::X), Vec4::new(0.0, 0.5, 0.0, 0.5));
        assert_eq!(at(Vec2::new(0.5, 0.0)), Vec4::new(0.25, 0.25, 0.0, 0.5));
        assert_eq!(material.alpha_at(&scene, &mesh, 0, Vec2::Y), 0.25);
        assert_eq!(material.appearance_at(&scene, &mesh, 0, Vec2::X).base_color, Vec3::new(0.0, 0.5, 0.0));
        assert_eq!(Material::default().plain_appearance(&mesh), None);
        // What glows does not ask for them, as in Bevy.
        let lamp = Material { emission: Vec3::ONE, ..Material::default() };
        assert_eq!(lamp.emission_at(&scene, &mesh, 0, Vec2::ZERO), Vec3::ONE);
    }

    #[test]
    fn mean_reflectance_holds_the_vertex_colors_of_the_part() {
        let (scene, mut mesh) = painted(Vec4::ONE, Vec4::ONE);
        mesh.colors = vec![
            Vec4::new(0.9, 0.0, 0.3, 1.0),
            Vec4::new(0.0, 0.9, 0.3, 1.0),
            Vec4::new(0.0, 0.0, 0.3, 1.0),
            Vec4::ONE,
        ];
        let material = Material::diffuse("white", Vec3::ONE);
        let (mean, _) = material.average_over(&scene, &mesh, 0, &WHOLE);
        assert!((mean - Vec3::splat(0.3)).length() < 1e-6, "{mean}");
        // The half of the triangle that is near its second corner has its centroid at 2/3 of the way from the first.
        let (near, _) = material.average_over(&scene, &mesh, 0, &[Vec2::new(0.5, 0.0), Vec2::X, Vec2::new(0.5, 0.5)]);
        assert!((near - Vec3::new(0.15, 0.6, 0.3)).length() < 1e-6, "{near}");
    }

    #[test]
    fn colors_above_one_brighten_no_more_than_to_white() {
        let (scene, mut mesh) = painted(Vec4::ONE, Vec4::ONE);
        mesh.colors = vec![Vec4::splat(3.0); 4];
        let material = Material::diffuse("gray", Vec3::splat(0.2));
        assert!((material.average_over(&scene, &mesh, 0, &WHOLE).0 - Vec3::splat(0.6)).length() < 1e-6);
        let material = Material::diffuse("bright", Vec3::splat(0.8));
        assert_eq!(material.average_over(&scene, &mesh, 0, &WHOLE).0, Vec3::ONE);
        assert_eq!(material.base_color_at(&scene, &mesh, 0, Vec2::ZERO), Vec4::ONE);
    }
}
