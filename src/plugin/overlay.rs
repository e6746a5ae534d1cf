//! What can be drawn over baked surfaces, to see how they were cut into texels.
//!
//! An overlay is an entity of its own in the surface's place, whose mesh and material stay as they are. Bakes and live
//! views do not see it. It is no child of the surface: to get one, Bevy counts as having moved.

use std::collections::HashMap;
use std::sync::Arc;

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::RenderLayers;
use bevy::ecs::system::SystemParam;
use bevy::image::{ImageAddressMode, ImageFilterMode, ImageSampler, ImageSamplerDescriptor};
use bevy::light::{NotShadowCaster, NotShadowReceiver};
use bevy::math::Affine2;
use bevy::mesh::UvChannel;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

use super::components::BakeExclude;
use super::write_back::{Baked, MeshCopies, Pages};
use crate::lightmap::{Page, PageSize, Unwrap};

/// What is drawn over baked surfaces, whether or not their lightmaps are shown. A live view hides it.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub enum LightmapOverlay {
    /// Nothing.
    #[default]
    Off,
    /// Texels, as a chequer: larger squares are coarser light, stretched ones a poor unwrap.
    Texels,
    /// Charts, each in a colour of its own.
    Charts,
    /// How much of each texel light can reach: all is green, half yellow. Red is buried in other geometry and shows what
    /// its neighbours do: where light leaks or shadows end early, look for it. Levels that
    /// earlier versions baked do not know it, and keep their own colours.
    Validity,
}

/// How much of each texel of the pages that are shown light can reach; empty where nobody knows.
#[derive(Resource, Clone, Default)]
pub struct TexelValidity(pub Vec<Arc<PageValidity>>);

/// One page's share of [`TexelValidity`].
pub struct PageValidity {
    size: UVec2,
    /// From 0 for nothing to 255 for all, rows from the top.
    texels: Vec<u8>,
}

impl PageValidity {
    /// That of a page with so many columns and rows: texels from 0 for nothing to 255 for all, rows from the top.
    pub fn new(size: PageSize, texels: Vec<u8>) -> Self {
        Self { size: UVec2::new(size.width, size.height), texels }
    }
}

impl From<&Page> for PageValidity {
    fn from(page: &Page) -> Self {
        Self::new(PageSize { width: page.width, height: page.height }, page.validity_bytes())
    }
}

/// Draws over baked surfaces.
pub struct LightmapOverlayPlugin;

impl Plugin for LightmapOverlayPlugin {
    fn build(&self, app: &mut App) {
        app.register_type::<LightmapOverlay>()
            .init_resource::<LightmapOverlay>()
            .init_resource::<TexelValidity>()
            .add_systems(Update, redraw)
            .add_systems(PostUpdate, follow.after(TransformSystems::Propagate));
    }
}

/// Is drawn over a surface. It is hidden rather than despawned, since a mesh that is gone is a change of the scene.
#[derive(Component)]
struct Over(Entity);

type Surface = (
    Entity,
    &'static Baked,
    &'static MeshMaterial3d<StandardMaterial>,
    &'static InheritedVisibility,
    Option<&'static RenderLayers>,
);

fn redraw(
    mut commands: Commands,
    wanted: Res<LightmapOverlay>,
    changed: Query<(), Changed<Baked>>,
    mut removed: RemovedComponents<Baked>,
    surfaces: Query<Surface>,
    overlays: Query<(Entity, &Over)>,
    mut painter: Painter,
) {
    let is_baked_anew = removed.read().count() > 0 || !changed.is_empty() || painter.validity.is_changed();
    if !wanted.is_changed() && !is_baked_anew {
        return;
    }
    let mut idle: HashMap<Entity, Entity> = overlays.iter().map(|(overlay, over)| (over.0, overlay)).collect();
    let mut paints = Paints::default();
    for (surface, baked, material, _, layers) in surfaces.iter().filter(|(.., visibility, _)| visibility.get()) {
        let Some((mesh, material)) = painter.paint(*wanted, baked, &material.0, &mut paints) else {
            continue;
        };
        let overlay = idle.remove(&surface).unwrap_or_else(|| commands.spawn(Over(surface)).id());
        let drawn = (Mesh3d(mesh), MeshMaterial3d(material), Visibility::Inherited);
        commands.entity(overlay).insert((drawn, BakeExclude, NotShadowCaster, NotShadowReceiver));
        if let Some(layers) = layers {
            commands.entity(overlay).insert(layers.clone());
        }
    }
    for (surface, overlay) in idle {
        if surfaces.contains(surface) {
            commands.entity(overlay).insert(Visibility::Hidden);
        } else {
            commands.entity(overlay).try_despawn();
        }
    }
}

/// Keeps overlays where their surfaces are.
fn follow(mut overlays: Query<(&Over, &mut GlobalTransform)>, surfaces: Query<&GlobalTransform, Without<Over>>) {
    for (over, mut place) in &mut overlays {
        if let Ok(surface) = surfaces.get(over.0) {
            place.set_if_neq(*surface);
        }
    }
}

/// Makes the meshes and materials of overlays.
#[derive(SystemParam)]
struct Painter<'w> {
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: ResMut<'w, Assets<StandardMaterial>>,
    images: ResMut<'w, Assets<Image>>,
    copies: Res<'w, MeshCopies>,
    pages: Res<'w, Pages>,
    validity: Res<'w, TexelValidity>,
}

/// What surfaces share.
#[derive(Default)]
struct Paints {
    chequer: Option<Handle<Image>>,
    pages: HashMap<usize, Handle<Image>>,
    in_chart_colours: HashMap<AssetId<Mesh>, Handle<Mesh>>,
    /// Charts that have a colour.
    charts: u32,
}

impl Painter<'_> {
    /// What to draw over a surface; `None` where there is nothing to see.
    fn paint(
        &mut self,
        wanted: LightmapOverlay,
        baked: &Baked,
        material: &Handle<StandardMaterial>,
        paints: &mut Paints,
    ) -> Option<(Handle<Mesh>, Handle<StandardMaterial>)> {
        let unwrap = &self.copies.get(baked.mesh.id())?.unwrap;
        let flat = flat_material(self.materials.get(material)?);
        let (mesh, material) = match wanted {
            LightmapOverlay::Off => return None,
            LightmapOverlay::Texels => {
                let chequer = paints.chequer.get_or_insert_with(|| self.images.add(chequer())).clone();
                // Two texels to the picture.
                let scale = Vec2::new(unwrap.width as f32, unwrap.height as f32) / 2.0;
                let uv_transform = Affine2::from_scale(scale);
                (baked.mesh.clone(), StandardMaterial { base_color_texture: Some(chequer), uv_transform, ..flat })
            }
            LightmapOverlay::Charts => {
                let mesh = match paints.in_chart_colours.get(&baked.mesh.id()) {
                    Some(mesh) => mesh.clone(),
                    None => {
                        let coloured = in_chart_colours(self.meshes.get(&baked.mesh)?, unwrap, paints.charts);
                        paints.charts +=
                            1 + unwrap.charts.iter().filter(|&&chart| chart != Unwrap::NO_CHART).max().unwrap_or(&0);
                        self.meshes.add(coloured)
                    }
                };
                paints.in_chart_colours.insert(baked.mesh.id(), mesh.clone());
                (mesh, flat)
            }
            LightmapOverlay::Validity => {
                let page = self.pages.0.iter().position(|page| *page == baked.image)?;
                let validity = self.validity.0.get(page)?;
                let picture = paints.pages.entry(page).or_insert_with(|| self.images.add(validity_picture(validity)));
                let Rect { min, max } = baked.uv_rect;
                let uv_transform = Affine2::from_scale_angle_translation(max - min, 0.0, min);
                let base_color_texture = Some(picture.clone());
                (baked.mesh.clone(), StandardMaterial { base_color_texture, uv_transform, ..flat })
            }
        };
        Some((mesh, self.materials.add(material)))
    }
}

/// Draws its base colour as it is, in front of what lies in the same place, on the sides that another material shows.
fn flat_material(below: &StandardMaterial) -> StandardMaterial {
    StandardMaterial {
        base_color_channel: UvChannel::Uv1,
        unlit: true,
        fog_enabled: false,
        depth_bias: 16.0,
        double_sided: below.double_sided,
        cull_mode: below.cull_mode,
        ..default()
    }
}

/// Four texels, and what is left of them from afar.
fn chequer() -> Image {
    const LIGHT: [u8; 4] = [230, 230, 230, 255];
    const DARK: [u8; 4] = [60, 60, 60, 255];
    /// As bright as the mean of both.
    const FAR: [u8; 4] = [170, 170, 170, 255];
    let mut image = picture(UVec2::splat(2), [LIGHT, DARK, DARK, LIGHT].concat());
    image.texture_descriptor.mip_level_count = 2;
    image.data.get_or_insert_default().extend(FAR);
    image.sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u: ImageAddressMode::Repeat,
        address_mode_v: ImageAddressMode::Repeat,
        min_filter: ImageFilterMode::Linear,
        mipmap_filter: ImageFilterMode::Linear,
        ..ImageSamplerDescriptor::nearest()
    });
    image
}

fn validity_picture(validity: &PageValidity) -> Image {
    let colour = |&valid: &u8| [(255 - valid).saturating_mul(2), valid.saturating_mul(2), 0, 255];
    let mut image = picture(validity.size, validity.texels.iter().flat_map(colour).collect());
    image.sampler = ImageSampler::nearest();
    image
}

fn picture(size: UVec2, texels: Vec<u8>) -> Image {
    let size = Extent3d { width: size.x, height: size.y, depth_or_array_layers: 1 };
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, texels, format, RenderAssetUsages::RENDER_WORLD)
}

/// A copy of an unwrapped mesh whose vertices, which no two charts share, have their chart's colour, after so many of
/// other meshes.
fn in_chart_colours(mesh: &Mesh, unwrap: &Unwrap, first: u32) -> Mesh {
    /// Hues that follow each other in steps of this part of the circle come back late (Vogel 1979).
    const GOLDEN: f32 = 0.618_034;
    let mut colours = vec![[0.5, 0.5, 0.5, 1.0]; unwrap.mesh.positions.len()];
    for (triangle, &chart) in unwrap.mesh.triangles.iter().zip(&unwrap.charts) {
        if chart != Unwrap::NO_CHART {
            let hue = ((first + chart) as f32 * GOLDEN).fract() * 360.0;
            let colour = Color::hsl(hue, 0.7, 0.6).to_linear().to_f32_array();
            triangle.iter().for_each(|&vertex| colours[vertex as usize] = colour);
        }
    }
    mesh.clone().with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, colours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buried_texels_are_red_half_open_ones_yellow_and_open_ones_green() {
        let page = Page { width: 3, height: 1, texels: vec![Vec3::ZERO; 3], validity: vec![0.0, 0.5, 1.0] };
        let image = validity_picture(&PageValidity::from(&page));
        let data = image.data.expect("it has texels");
        assert_eq!(data, [255, 0, 0, 255, 254, 255, 0, 255, 0, 255, 0, 255]);
    }

    #[test]
    fn each_chart_has_a_colour_of_its_own() {
        let corners = vec![Vec3::ZERO, Vec3::X, Vec3::Y, Vec3::ONE, Vec3::NEG_X, Vec3::NEG_Y];
        let mesh = crate::scene::MeshData {
            positions: corners.clone(),
            triangles: vec![[0, 1, 2], [3, 4, 5]],
            ..Default::default()
        };
        let unwrap = Unwrap {
            mesh,
            source_vertices: (0..6).collect(),
            charts: vec![0, 1],
            width: 8,
            height: 8,
            reversed_from: 2,
        };
        let bevy_mesh = Mesh::new(bevy::mesh::PrimitiveTopology::TriangleList, RenderAssetUsages::default())
            .with_inserted_attribute(
                Mesh::ATTRIBUTE_POSITION,
                corners.iter().map(|corner| corner.to_array()).collect::<Vec<_>>(),
            );
        let coloured = in_chart_colours(&bevy_mesh, &unwrap, 0);
        let Some(bevy::mesh::VertexAttributeValues::Float32x4(colours)) = coloured.attribute(Mesh::ATTRIBUTE_COLOR)
        else {
            panic!("it has no colours");
        };
        assert!(colours[0] == colours[1] && colours[1] == colours[2] && colours[3] == colours[5]);
        assert_ne!(colours[0], colours[3]);
        let next = in_chart_colours(&bevy_mesh, &unwrap, 1);
        let Some(bevy::mesh::VertexAttributeValues::Float32x4(next)) = next.attribute(Mesh::ATTRIBUTE_COLOR) else {
            panic!("it has no colours");
        };
        assert_eq!(next[0], colours[3], "charts of the next mesh go on with other colours");
    }
}
