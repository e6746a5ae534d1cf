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
    /// Alpha is coverage: `1 - alpha` of the light passes without tint, and `alpha` of it meets the surface. With
    /// [`Material::tints`] what passes is tinted by the base color.
    Blend,
}

/// A metallic-roughness material.
///
/// Path tracing reads all of it. Bakes take all reflected light for diffuse: what bounces is the
/// [albedo of all lobes](Appearance::total_reflectance), so bumps alone are not seen.
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
    /// What part goes straight through, tinted by the base color, of the light that alpha does not let through, as through
    /// a thin pane; zero to one. Metals let nothing through.
    pub transmission: f32,
    /// In the red channel, what part goes through of the light that panes and [glass](Glass::transmission) would let through.
    pub transmission_texture: Option<TextureRef>,
    /// What a solid is filled with that light goes through; `None` for other solids and for panes.
    pub glass: Option<Glass>,
    /// What part of the diffuse light is scattered through the surface instead of being reflected, as by paper and leaves;
    /// zero to one.
    pub diffuse_transmission: f32,
    /// Color of that light.
    pub diffuse_transmission_color: Vec3,
    /// True for a material that is drawn in its base color, without light. Surfaces of it are no part of a bake unless
    /// they are told to be.
    pub is_unlit: bool,
    /// How alpha is meant.
    pub alpha: AlphaMode,
    /// Texture coordinates that renderers read for this material, also for textures that are not among these. Lightmaps must
    /// leave them as they are.
    pub drawn_uv: UvSets,
    /// What [`AlphaMode::Blend`] lets through is tinted by the base color, as by stained glass.
    pub tints: bool,
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
    /// [`Material::diffuse_transmission`] from zero to one.
    pub diffuse_transmission: f32,
    /// [`Material::diffuse_transmission_color`], each channel from zero to one.
    pub diffuse_transmission_color: Vec3,
}

/// What becomes of rays that meet a point of a surface: some pass, the others stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The share of rays that pass, from zero to one.
    pub chance: f32,
    /// The share of light that passes, per channel; no more than the share of rays.
    pub transmittance: Vec3,
}

impl Passage {
    /// Nothing passes.
    pub const SHUT: Self = Self { chance: 0.0, transmittance: Vec3::ZERO };

    /// What light counts, per channel, that one of the rays brings which pass.
    pub fn tint(&self) -> Vec3 {
        if self.chance > 0.0 { self.transmittance / self.chance } else { Vec3::ZERO }
    }
}

impl Appearance {
    /// True when nothing but a matt base scatters light.
    #[inline]
    pub(crate) fn is_matt(&self) -> bool {
        self.reflectance == Vec3::ZERO
            && self.metallic == 0.0
            && self.clearcoat == 0.0
            && self.transmission == 0.0
            && self.diffuse_transmission == 0.0
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
            transmission: 0.0,
            transmission_texture: None,
            glass: None,
            diffuse_transmission: 0.0,
            diffuse_transmission_color: Vec3::ONE,
            is_unlit: false,
            alpha: AlphaMode::Opaque,
            drawn_uv: UvSets::default(),
            tints: false,
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

    /// Lets a part of the light straight through, tinted by the base color, as a thin pane does.
    pub fn with_transmission(self, transmission: f32) -> Self {
        Self { transmission: transmission.clamp(0.0, 1.0), ..self }
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
        self.alpha != AlphaMode::Opaque || self.transmission > 0.0
    }

    /// Base colour and alpha at a point of a triangle: factor, texture and vertex color multiplied, none above one.
    #[inline]
    pub fn base_color_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec4 {
        let texel = self.read(self.base_color_texture, scene, mesh, triangle, barycentric);
        let product = self.base_color * texel;
        if mesh.colors.is_empty() { product } else { (product * mesh.color_at(triangle, barycentric)).min(Vec4::ONE) }
    }

    /// The share of light, per channel, that bakes reflect of what stops at a point of a triangle: see
    /// [`Appearance::total_reflectance`].
    pub fn reflectance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.appearance_at(scene, mesh, triangle, barycentric).stopped_reflectance()
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
            diffuse_transmission: self.diffuse_transmission.clamp(0.0, 1.0),
            diffuse_transmission_color: self.diffuse_transmission_color.clamp(Vec3::ZERO, Vec3::ONE),
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

    /// How much of the light crosses a point of a triangle, per channel: what panes and blended materials let through, all
    /// where a texel is cut out, nothing otherwise.
    #[inline]
    pub fn transmittance_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Vec3 {
        self.passage_at(scene, mesh, triangle, barycentric).transmittance
    }

    /// What becomes of rays that meet a point of a triangle.
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
        Passage { chance: (open + straight).clamp(0.0, 1.0), transmittance: tint * open + color * straight }
    }

    /// What becomes of rays that stop at a point of a triangle and go on behind it in any direction, since light is scattered
    /// through it; `None` where none is.
    #[inline]
    pub fn crossing_at(&self, scene: &Scene, mesh: &MeshData, triangle: u32, barycentric: Vec2) -> Option<Passage> {
        if self.diffuse_transmission <= 0.0 {
            return None;
        }
        let appearance = self.appearance_at(scene, mesh, triangle, barycentric);
        let transmittance = appearance.total_diffuse_transmittance();
        Some(Passage { chance: appearance.crossing_chance(), transmittance })
    }

    /// Mean reflectance, as of [`Material::reflectance_at`], and mean emission (cd/m2) over a convex part of a triangle, given
    /// by the weights of the triangle's second and third corner at the part's corners. What is cut out or blended away does
    /// not count.
    pub fn average_over(&self, scene: &Scene, mesh: &MeshData, triangle: u32, part: &[Vec2]) -> (Vec3, Vec3) {
        let weight = if self.alpha == AlphaMode::Opaque { Weight::Area } else { Weight::Alpha };
        let mean = |reference, weight| self.read_mean(reference, scene, mesh, triangle, part, weight);
        let base_color = self.mean_base_color(scene, mesh, triangle, part, weight);
        // The mean of a product is not the product of means, but metalness rarely changes within an element.
        let picture = mean(self.metallic_roughness_texture, Weight::Area);
        let emission = self.emission * mean(self.emission_texture, Weight::Area).truncate();
        let over_area = |texture| mean(texture, Weight::Area);
        let appearance = Appearance {
            base_color: base_color.clamp(Vec3::ZERO, Vec3::ONE),
            metallic: (self.metallic * picture.z).clamp(0.0, 1.0),
            perceptual_roughness: (self.perceptual_roughness * picture.y).clamp(0.0, 1.0),
            reflectance: self.reflectance
                * over_area(self.specular_texture).w
                * over_area(self.specular_tint_texture).truncate(),
            clearcoat: (self.clearcoat * over_area(self.clearcoat_texture).x).clamp(0.0, 1.0),
            clearcoat_perceptual_roughness: self.clearcoat_perceptual_roughness
                * over_area(self.clearcoat_roughness_texture).y,
            transmission: 0.0,
            relative_ior: 1.0,
            diffuse_transmission: self.diffuse_transmission.clamp(0.0, 1.0),
            diffuse_transmission_color: self.diffuse_transmission_color.clamp(Vec3::ZERO, Vec3::ONE),
        };
        (appearance.stopped_reflectance(), emission)
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
        let material = Material { emission: Vec3::splat(10.0), reflectance: Vec3::ZERO, ..material };
        // The first triangle of the quad has a quarter of its area in the left half.
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
