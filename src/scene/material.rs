//! Materials, with the parameters of Bevy's standard material.

use glam::{Vec2, Vec3, Vec4};
use serde::{Deserialize, Serialize};

use super::texture_ref::{TextureRef, UvChannel, UvSets};
use super::vertex_colors::mean_with_texture;
use super::{Glass, MeshData, Scene, Weight};

/// Meaning of a material's alpha.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum AlphaMode {
    /// Alpha is ignored.
    #[default]
    Opaque,
    /// A ray passes if alpha is below the threshold.
    Mask(f32),
    /// Alpha is coverage: `1 - alpha` of the light passes untinted, and `alpha` of it hits the surface. With
    /// [`Material::tints`], the base color tints the passing light.
    Blend,
}

/// Metallic-roughness material.
///
/// Path tracing uses all parameters. Bakes treat all reflected light as diffuse, with the [albedo of all
/// lobes](Appearance::total_reflectance). Bakes ignore normal maps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Name for messages.
    pub name: String,
    /// Linear factor on the base color; alpha last.
    pub base_color: Vec4,
    /// Base color texture (sRGB), multiplied by the factor and by [`MeshData::colors`].
    pub base_color_texture: Option<TextureRef>,
    /// Factor on metalness. A metal has no diffuse reflection.
    pub metallic: f32,
    /// Factor on perceptual roughness, the square root of the width of highlights. Zero is a mirror, one is chalk.
    pub perceptual_roughness: f32,
    /// Texture of roughness in the green channel and metalness in the blue one, multiplied by their factors.
    pub metallic_roughness_texture: Option<TextureRef>,
    /// Specular reflectance of non-metals, per channel. Reflectance at normal incidence is 0.16 times the square. 0.5
    /// suits plastic, wood and stone; zero is purely diffuse. Default 0.5.
    pub reflectance: Vec3,
    /// Texture whose alpha channel multiplies `reflectance` (`KHR_materials_specular`, Bevy's `specular_texture`).
    pub specular_texture: Option<TextureRef>,
    /// Texture whose color (sRGB) multiplies `reflectance`.
    pub specular_tint_texture: Option<TextureRef>,
    /// Emitted radiance in cd/m2, after exposure weights have been applied.
    pub emission: Vec3,
    /// Emission texture (sRGB), multiplied by `emission`.
    pub emission_texture: Option<TextureRef>,
    /// Normal map in tangent space (linear, `2 * value - 1`), used in images only. Bakes use the smooth surface.
    pub normal_texture: Option<TextureRef>,
    /// Strength of the normal map; default one.
    pub normal_scale: f32,
    /// Fraction of the surface covered by a clearcoat, in 0..=1.
    pub clearcoat: f32,
    /// Texture of clearcoat coverage in the red channel, multiplied by the factor.
    pub clearcoat_texture: Option<TextureRef>,
    /// Perceptual roughness of the clearcoat, as [`Material::perceptual_roughness`].
    pub clearcoat_perceptual_roughness: f32,
    /// Texture of clearcoat roughness in the green channel, multiplied by the factor.
    pub clearcoat_roughness_texture: Option<TextureRef>,
    /// Fraction of light transmitted straight through, tinted by the base color, as by a thin pane; in 0..=1. Alpha is
    /// applied first. Metals transmit nothing.
    pub transmission: f32,
    /// Texture whose red channel multiplies the transmission of panes and of [glass](Glass::transmission).
    pub transmission_texture: Option<TextureRef>,
    /// Medium of transparent solids; `None` for other solids and for panes.
    pub glass: Option<Glass>,
    /// Fraction of diffuse light scattered through the surface instead of reflected, as by paper and leaves; in 0..=1.
    pub diffuse_transmission: f32,
    /// Texture of that fraction in the alpha channel, multiplied by the factor.
    pub diffuse_transmission_texture: Option<TextureRef>,
    /// Color of the light scattered through the surface.
    pub diffuse_transmission_color: Vec3,
    /// Texture of that color (sRGB), multiplied by the factor.
    pub diffuse_transmission_color_texture: Option<TextureRef>,
    /// True for an unlit material, drawn in its base color. Surfaces of it take no part in a bake unless their role is
    /// set explicitly.
    pub is_unlit: bool,
    /// Meaning of alpha.
    pub alpha: AlphaMode,
    /// Texture coordinates that renderers read for this material, also for textures not listed here. Lightmaps must not
    /// overwrite them.
    pub drawn_uv: UvSets,
    /// True if the base color tints light that [`AlphaMode::Blend`] lets through, as stained glass does.
    pub tints: bool,
}

/// Maximum number of textures of a material.
pub(crate) const TEXTURE_SLOTS: usize = 11;

/// Appearance of a surface point: a [`Material`] with its textures sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Appearance {
    /// Base color, each channel in 0..=1.
    pub base_color: Vec3,
    /// Metalness in 0..=1.
    pub metallic: f32,
    /// Perceptual roughness in 0..=1; see [`Material::perceptual_roughness`].
    pub perceptual_roughness: f32,
    /// Specular reflectance; see [`Material::reflectance`].
    pub reflectance: Vec3,
    /// Clearcoat coverage in 0..=1; see [`Material::clearcoat`].
    pub clearcoat: f32,
    /// Perceptual roughness of the clearcoat; see [`Material::clearcoat_perceptual_roughness`].
    pub clearcoat_perceptual_roughness: f32,
    /// Transmission into a solid; see [`Glass::transmission`]. Zero without glass.
    pub transmission: f32,
    /// Index of refraction beyond the surface divided by that before the surface.
    pub relative_ior: f32,
    /// Diffuse transmission in 0..=1; see [`Material::diffuse_transmission`].
    pub diffuse_transmission: f32,
    /// Color of diffuse transmission, each channel in 0..=1; see [`Material::diffuse_transmission_color`].
    pub diffuse_transmission_color: Vec3,
}

/// Probability that rays pass a surface point, with the light that passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Probability that a ray passes, in 0..=1.
    pub probability: f32,
    /// Fraction of light that passes, per channel; at most the probability of rays.
    pub transmittance: Vec3,
}

impl Passage {
    /// Opaque point: nothing passes.
    pub const SHUT: Self = Self { probability: 0.0, transmittance: Vec3::ZERO };

    /// Returns the weight per channel of light carried by a passing ray.
    pub fn tint(&self) -> Vec3 {
        if self.probability > 0.0 { self.transmittance / self.probability } else { Vec3::ZERO }
    }
}

impl Appearance {
    /// Returns true if only a diffuse base scatters light.
    #[inline]
    pub(crate) fn is_diffuse(&self) -> bool {
        self.reflectance == Vec3::ZERO
            && self.metallic == 0.0
            && self.clearcoat == 0.0
            && self.transmission == 0.0
            && self.diffuse_transmission == 0.0
    }

    /// Returns the surface as seen from inside the solid.
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
            transmission: 0.0,
            transmission_texture: None,
            glass: None,
            diffuse_transmission: 0.0,
            diffuse_transmission_texture: None,
            diffuse_transmission_color: Vec3::ONE,
            diffuse_transmission_color_texture: None,
            is_unlit: false,
            alpha: AlphaMode::Opaque,
            drawn_uv: UvSets::default(),
            tints: false,
        }
    }
}

impl Material {
    /// Creates a purely diffuse material.
    pub fn diffuse(name: impl Into<String>, reflectance: Vec3) -> Self {
        Self {
            name: name.into(),
            base_color: reflectance.extend(1.0),
            perceptual_roughness: 1.0,
            reflectance: Vec3::ZERO,
            ..Self::default()
        }
    }

    /// Sets the fraction of light transmitted straight through, tinted by the base color, as by a thin pane.
    pub fn with_transmission(self, transmission: f32) -> Self {
        Self { transmission: transmission.clamp(0.0, 1.0), ..self }
    }

    /// Returns true if bakes or renderers read a set of texture coordinates.
    pub fn reads_uv(&self, channel: UvChannel) -> bool {
        self.drawn_uv.contains(channel) || self.textures().iter().flatten().any(|texture| texture.channel == channel)
    }

    /// Returns all textures, in the shaders' order.
    pub(crate) fn textures(&self) -> [Option<TextureRef>; TEXTURE_SLOTS] {
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
            self.diffuse_transmission_texture,
            self.diffuse_transmission_color_texture,
        ]
    }

    /// Returns mutable references to all textures, in the shaders' order.
    pub(crate) fn textures_mut(&mut self) -> [&mut Option<TextureRef>; TEXTURE_SLOTS] {
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
            &mut self.diffuse_transmission_texture,
            &mut self.diffuse_transmission_color_texture,
        ]
    }

    /// Returns true if the material emits light.
    pub fn is_emissive(&self) -> bool {
        self.emission.max_element() > 0.0
    }

    /// Returns true if rays may pass, so that each hit must evaluate the material.
    pub fn can_be_passed(&self) -> bool {
        self.alpha != AlphaMode::Opaque || self.transmission > 0.0
    }

    /// Returns base color and alpha at a point of a triangle: factor, texture and vertex color multiplied. With vertex
    /// colors, the product is clamped to one.
    #[inline]
    pub fn base_color_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec4 {
        let texel = self.read(self.base_color_texture, scene, mesh, triangle, barycentric);
        let product = self.base_color * texel;
        if mesh.colors.is_empty() { product } else { (product * mesh.color_at(triangle, barycentric)).min(Vec4::ONE) }
    }

    /// Returns the albedo per channel at a point of a triangle that applies to stopped rays; see
    /// [`Appearance::total_reflectance`].
    pub fn reflectance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.appearance_at(scene, mesh, triangle, barycentric).stopped_reflectance()
    }

    /// Returns the appearance of a point of a triangle.
    #[inline]
    pub fn appearance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Appearance {
        let read = |texture| self.read(texture, scene, mesh, triangle, barycentric);
        let texel = read(self.metallic_roughness_texture);
        let base_color = self.base_color_at(scene, mesh, triangle, barycentric).truncate();
        let (transmission, relative_ior) = self
            .solid_glass()
            .map_or((0.0, 1.0), |glass| (glass.transmission * read(self.transmission_texture).x, glass.ior));
        let coat_roughness = self.clearcoat_perceptual_roughness * read(self.clearcoat_roughness_texture).y;
        Appearance {
            base_color: base_color.clamp(Vec3::ZERO, Vec3::ONE),
            metallic: (self.metallic * texel.z).clamp(0.0, 1.0),
            perceptual_roughness: (self.perceptual_roughness * texel.y).clamp(0.0, 1.0),
            reflectance: self.reflectance * read(self.specular_texture).w * read(self.specular_tint_texture).truncate(),
            clearcoat: (self.clearcoat * read(self.clearcoat_texture).x).clamp(0.0, 1.0),
            clearcoat_perceptual_roughness: coat_roughness.clamp(0.0, 1.0),
            transmission: transmission.clamp(0.0, 1.0),
            relative_ior,
            diffuse_transmission: (self.diffuse_transmission * read(self.diffuse_transmission_texture).w)
                .clamp(0.0, 1.0),
            diffuse_transmission_color: (self.diffuse_transmission_color
                * read(self.diffuse_transmission_color_texture).truncate())
            .clamp(Vec3::ZERO, Vec3::ONE),
        }
    }

    /// Returns the uniform appearance of a mesh's points; `None` if textures or vertex colors make them differ.
    pub(crate) fn constant_appearance(&self, mesh: &MeshData) -> Option<Appearance> {
        let textures = [
            self.base_color_texture,
            self.metallic_roughness_texture,
            self.clearcoat_texture,
            self.clearcoat_roughness_texture,
            self.transmission_texture,
            self.specular_texture,
            self.specular_tint_texture,
            self.diffuse_transmission_texture,
            self.diffuse_transmission_color_texture,
        ];
        let is_constant = mesh.colors.is_empty() && textures.iter().all(Option::is_none);
        is_constant.then(|| self.appearance_at(&Scene::default(), &MeshData::default(), 0, Vec2::ZERO))
    }

    /// Returns the scaled normal of the normal map, and the changes of its coordinates along the triangle's first two
    /// edges. `None` without a map or without its coordinates.
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

    /// Returns the emitted radiance at a point of a triangle, cd/m2.
    #[inline]
    pub fn emission_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.emission * self.read(self.emission_texture, scene, mesh, triangle, barycentric).truncate()
    }

    /// Returns the alpha at a point of a triangle: the base color's, factor included.
    #[inline]
    pub fn alpha_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> f32 {
        self.base_color_at(scene, mesh, triangle, barycentric).w
    }

    /// Returns the fraction of light that crosses a point of a triangle, per channel: one at cut-out texels, less for
    /// panes and blended materials, otherwise zero.
    #[inline]
    pub fn transmittance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.passage_at(scene, mesh, triangle, barycentric).transmittance
    }

    /// Returns the probability that rays pass a point of a triangle, and the light that passes.
    #[inline]
    pub fn passage_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Passage {
        if !self.can_be_passed() {
            return Passage::SHUT;
        }
        let color = self.base_color_at(scene, mesh, triangle, barycentric);
        let coverage = match self.alpha {
            AlphaMode::Opaque => 1.0,
            AlphaMode::Mask(threshold) => f32::from(u8::from(color.w >= threshold)),
            AlphaMode::Blend => color.w.clamp(0.0, 1.0),
        };
        let color = color.truncate().clamp(Vec3::ZERO, Vec3::ONE);
        let mut straight = 0.0;
        if self.transmission > 0.0 && coverage > 0.0 {
            let read = |texture| self.read(texture, scene, mesh, triangle, barycentric);
            straight = coverage * self.transmission * read(self.transmission_texture).x;
            if self.metallic > 0.0 {
                straight *= 1.0 - self.metallic * read(self.metallic_roughness_texture).z;
            }
        }
        let open = 1.0 - coverage;
        let tint = if self.tints && self.alpha == AlphaMode::Blend { color } else { Vec3::ONE };
        Passage { probability: (open + straight).clamp(0.0, 1.0), transmittance: tint * open + color * straight }
    }

    /// Returns the passage of rays by diffuse transmission: they stop at a point of a triangle, and continue behind it
    /// in a random direction. `None` without diffuse transmission.
    #[inline]
    pub fn crossing_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Option<Passage> {
        if self.diffuse_transmission <= 0.0 {
            return None;
        }
        let appearance = self.appearance_at(scene, mesh, triangle, barycentric);
        let transmittance = appearance.total_diffuse_transmittance();
        Some(Passage { probability: appearance.crossing_probability(), transmittance })
    }

    /// Returns the mean reflectance, as of [`Material::reflectance_at`], and the mean emission (cd/m2) over a convex
    /// part of a triangle. `part` holds the barycentric weights of the triangle's second and third corner at the part's
    /// corners. Transparent texels do not count.
    pub fn average_over(&self, scene: &Scene, mesh: &MeshData, triangle: u32, part: &[Vec2]) -> (Vec3, Vec3) {
        let weight = if self.alpha == AlphaMode::Opaque { Weight::Area } else { Weight::Alpha };
        let mean = |reference, weight| self.read_mean(reference, scene, mesh, triangle, part, weight);
        let base_color = self.mean_base_color(scene, mesh, triangle, part, weight);
        // Approximation: the mean of a product is not the product of means, but metalness rarely changes within an
        // element.
        let texel = mean(self.metallic_roughness_texture, Weight::Area);
        let emission = self.emission * mean(self.emission_texture, Weight::Area).truncate();
        let over_area = |texture| mean(texture, Weight::Area);
        let appearance = Appearance {
            base_color: base_color.clamp(Vec3::ZERO, Vec3::ONE),
            metallic: (self.metallic * texel.z).clamp(0.0, 1.0),
            perceptual_roughness: (self.perceptual_roughness * texel.y).clamp(0.0, 1.0),
            reflectance: self.reflectance
                * over_area(self.specular_texture).w
                * over_area(self.specular_tint_texture).truncate(),
            clearcoat: (self.clearcoat * over_area(self.clearcoat_texture).x).clamp(0.0, 1.0),
            clearcoat_perceptual_roughness: self.clearcoat_perceptual_roughness
                * over_area(self.clearcoat_roughness_texture).y,
            transmission: 0.0,
            relative_ior: 1.0,
            diffuse_transmission: (self.diffuse_transmission * over_area(self.diffuse_transmission_texture).w)
                .clamp(0.0, 1.0),
            diffuse_transmission_color: (self.diffuse_transmission_color
                * over_area(self.diffuse_transmission_color_texture).truncate())
            .clamp(Vec3::ZERO, Vec3::ONE),
        };
        (appearance.stopped_reflectance(), emission)
    }

    /// Returns the mean base color over a convex part of a triangle, vertex colors included.
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
        // Without the texture's coordinates, the mesh shows the factor alone, as in Bevy.
        reference.and_then(|texture| texture.sample(scene, mesh, triangle, barycentric)).unwrap_or(Vec4::ONE)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scene::{MipChains, Texels, Texture, TextureId, Wrap, shapes};

    /// Builds a quad whose texture is `left` in its left half and `right` in its right half.
    fn painted(left: Vec4, right: Vec4) -> (Scene, MeshData) {
        let texel = Texture {
            name: "halves".into(),
            width: 8,
            height: 8,
            texels: Texels::Float((0..64).map(|index| if index % 8 < 4 { left } else { right }).collect()),
            wrap: [Wrap::Clamp; 2],
            mip_chains: MipChains::default(),
        };
        (Scene { textures: vec![Arc::new(texel)], ..Scene::default() }, shapes::floor("floor", 2.0))
    }

    const TEXTURE: Option<TextureRef> = Some(TextureRef::new(TextureId(0)));
    const WHOLE: [Vec2; 3] = [Vec2::ZERO, Vec2::X, Vec2::Y];

    #[test]
    fn reflectance_is_the_mean_over_the_part_that_is_asked_for() {
        let (scene, mesh) = painted(Vec4::ONE, Vec4::new(0.2, 0.4, 0.6, 1.0));
        let material = Material { base_color_texture: TEXTURE, emission_texture: TEXTURE, ..Material::default() };
        let material = Material { emission: Vec3::splat(10.0), reflectance: Vec3::ZERO, ..material };
        // A quarter of the first triangle's area lies in the left half.
        let (reflectance, emission) = material.average_over(&scene, &mesh, 0, &WHOLE);
        let mean = Vec3::ONE * 0.25 + Vec3::new(0.2, 0.4, 0.6) * 0.75;
        assert!((reflectance - mean).length() < 1e-5, "{reflectance}");
        assert!((emission - mean * 10.0).length() < 1e-4, "{emission}");
    }

    #[test]
    fn what_is_cut_out_neither_reflects_nor_counts() {
        let (scene, mesh) = painted(Vec4::new(0.9, 0.1, 0.9, 0.0), Vec4::new(0.2, 0.4, 0.6, 1.0));
        let alpha = AlphaMode::Mask(0.5);
        let material = Material { base_color_texture: TEXTURE, alpha, reflectance: Vec3::ZERO, ..Material::default() };
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
        // Red at the first corner of the first triangle, green at the second, half transparent at the third.
        mesh.colors = vec![Vec4::new(1.0, 0.0, 0.0, 1.0), Vec4::new(0.0, 1.0, 0.0, 1.0), Vec4::splat(0.5), Vec4::ONE];
        let material = Material { base_color_texture: TEXTURE, alpha: AlphaMode::Blend, ..Material::default() };
        let at = |barycentric| material.base_color_at(&scene, &mesh, 0, barycentric);
        assert_eq!(at(Vec2::ZERO), Vec4::new(0.5, 0.0, 0.0, 0.5));
        assert_eq!(at(Vec2::X), Vec4::new(0.0, 0.5, 0.0, 0.5));
        assert_eq!(at(Vec2::new(0.5, 0.0)), Vec4::new(0.25, 0.25, 0.0, 0.5));
        assert_eq!(material.alpha_at(&scene, &mesh, 0, Vec2::Y), 0.25);
        assert_eq!(material.appearance_at(&scene, &mesh, 0, Vec2::X).base_color, Vec3::new(0.0, 0.5, 0.0));
        assert_eq!(Material::default().constant_appearance(&mesh), None);
        // Emission ignores vertex colors, as in Bevy.
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
        // The half of the triangle near its second corner has its centroid 2/3 of the way from the first corner.
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
