//! Debug overlays on baked surfaces, which show texels, charts and validity.
//!
//! An overlay is a separate entity at the place of the surface, so the surface keeps its mesh and material. Bakes and
//! live views ignore it. It is no child of the surface: Bevy would report the surface as moved.

use std::collections::HashMap;

use bevy::asset::RenderAssetUsages;
use bevy::camera::visibility::RenderLayers;
use bevy::ecs::system::SystemParam;
use bevy::image::{ImageAddressMode, ImageFilterMode, ImageSampler, ImageSamplerDescriptor};
use bevy::light::{NotShadowCaster, NotShadowReceiver};
use bevy::math::Affine2;
use bevy::mesh::UvChannel;
use bevy::prelude::*;
use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};

use super::components::BakeRole;
use super::needs::has_plugin;
use super::schedule::{RadiositySystems, order_sets};
use super::state::{Baked, PageValidity, Pages, TexelValidity};
use super::ticks::any_changed;
use super::write_back::{MeshCopies, WriteBackPlugin};
use crate::lightmap::Unwrap;

/// Overlay on baked surfaces, whether or not their lightmaps are shown. A live view hides it.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Resource, Default, Debug, Clone, PartialEq)]
pub enum LightmapOverlay {
    /// No overlay. The default.
    #[default]
    Off,
    /// Texels, as a checkerboard. Larger squares mean lower resolution, stretched ones a poor unwrap.
    Texels,
    /// Charts, each in its own color.
    Charts,
    /// Validity of each texel: the fraction that light can reach. Green is all, yellow half. Red is inside other
    /// geometry, and shows the light of its neighbors. So red marks the source of light leaks and of shadows that end
    /// early.
    ///
    /// Levels without validity, from earlier versions, keep their own colors.
    Validity,
}

/// Plugin of the overlays. It needs [`WriteBackPlugin`].
pub struct LightmapOverlayPlugin;

impl Plugin for LightmapOverlayPlugin {
    fn build(&self, app: &mut App) {
        if !has_plugin::<WriteBackPlugin, _>(app, self) {
            return;
        }
        order_sets(app);
        app.register_type::<LightmapOverlay>()
            .init_resource::<LightmapOverlay>()
            .add_systems(Update, redraw.in_set(RadiositySystems::Overlay).run_if(is_stale))
            .add_systems(PostUpdate, follow.in_set(RadiositySystems::Overlay).run_if(any_with_component::<Over>));
    }
}

/// Marks an overlay of a surface. Unused overlays are hidden rather than despawned, since a despawned mesh is a change
/// of the scene.
#[derive(Component)]
struct Over(Entity);

type Surface = (
    Entity,
    &'static Baked,
    &'static MeshMaterial3d<StandardMaterial>,
    &'static InheritedVisibility,
    Option<&'static RenderLayers>,
);

/// Run condition: another overlay is wanted, or the surfaces with an overlay were baked anew.
fn is_stale(
    wanted: Res<LightmapOverlay>,
    validity: Query<(), Changed<TexelValidity>>,
    overlays: Query<(), With<Over>>,
    baked: Query<Ref<Baked>>,
    mut removed: RemovedComponents<Baked>,
) -> bool {
    let is_any_removed = removed.read().count() > 0;
    let has_overlays = *wanted != LightmapOverlay::Off || !overlays.is_empty();
    wanted.is_changed() || has_overlays && (is_any_removed || !validity.is_empty() || any_changed(&baked))
}

fn redraw(
    mut commands: Commands,
    wanted: Res<LightmapOverlay>,
    surfaces: Query<Surface>,
    overlays: Query<(Entity, &Over)>,
    mut painter: Painter,
) {
    let mut idle: HashMap<Entity, Entity> = overlays.iter().map(|(overlay, over)| (over.0, overlay)).collect();
    let mut paints = Paints::default();
    for (surface, baked, material, _, layers) in surfaces.iter().filter(|(.., visibility, _)| visibility.get()) {
        let Some((mesh, material)) = painter.paint(*wanted, baked, &material.0, &mut paints) else {
            continue;
        };
        let overlay = idle.remove(&surface).unwrap_or_else(|| commands.spawn(Over(surface)).id());
        let drawn = (Mesh3d(mesh), MeshMaterial3d(material), Visibility::Inherited);
        commands.entity(overlay).try_insert((drawn, BakeRole::Excluded, NotShadowCaster, NotShadowReceiver));
        if let Some(layers) = layers {
            commands.entity(overlay).try_insert(layers.clone());
        }
    }
    for (surface, overlay) in idle {
        if surfaces.contains(surface) {
            commands.entity(overlay).try_insert(Visibility::Hidden);
        } else {
            commands.entity(overlay).try_despawn();
        }
    }
}

/// Moves overlays to their surfaces.
fn follow(mut overlays: Query<(&Over, &mut GlobalTransform)>, surfaces: Query<&GlobalTransform, Without<Over>>) {
    for (over, mut place) in &mut overlays {
        if let Ok(surface) = surfaces.get(over.0) {
            place.set_if_neq(*surface);
        }
    }
}

/// Assets for creating the meshes and materials of overlays.
#[derive(SystemParam)]
struct Painter<'w, 's> {
    meshes: ResMut<'w, Assets<Mesh>>,
    materials: ResMut<'w, Assets<StandardMaterial>>,
    images: ResMut<'w, Assets<Image>>,
    copies: Res<'w, MeshCopies>,
    levels: Query<'w, 's, (&'static Pages, &'static TexelValidity)>,
}

/// Assets that overlays share.
#[derive(Default)]
struct Paints {
    checker: Option<Handle<Image>>,
    /// Picture of the validity of each page.
    pages: HashMap<AssetId<Image>, Handle<Image>>,
    in_chart_colors: HashMap<AssetId<Mesh>, Handle<Mesh>>,
    /// Number of charts with a color so far.
    charts: u32,
}

impl Painter<'_, '_> {
    /// Returns the mesh and material of an overlay, or `None` if there is nothing to show.
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
                let checker = paints.checker.get_or_insert_with(|| self.images.add(checker())).clone();
                // The image covers two lightmap texels per side.
                let scale = Vec2::new(unwrap.width as f32, unwrap.height as f32) / 2.0;
                let uv_transform = Affine2::from_scale(scale);
                (baked.mesh.clone(), StandardMaterial { base_color_texture: Some(checker), uv_transform, ..flat })
            }
            LightmapOverlay::Charts => {
                let mesh = match paints.in_chart_colors.get(&baked.mesh.id()) {
                    Some(mesh) => mesh.clone(),
                    None => {
                        let colored = in_chart_colors(self.meshes.get(&baked.mesh)?, unwrap, paints.charts);
                        paints.charts +=
                            1 + unwrap.charts.iter().filter(|&&chart| chart != Unwrap::NO_CHART).max().unwrap_or(&0);
                        self.meshes.add(colored)
                    }
                };
                paints.in_chart_colors.insert(baked.mesh.id(), mesh.clone());
                (mesh, flat)
            }
            LightmapOverlay::Validity => {
                let (pages, validity) = self.levels.get(baked.level).ok()?;
                let page = pages.images.iter().position(|page| *page == baked.image)?;
                let validity = validity.0.get(page)?;
                let picture =
                    paints.pages.entry(baked.image.id()).or_insert_with(|| self.images.add(validity_picture(validity)));
                let Rect { min, max } = baked.uv_rect;
                let uv_transform = Affine2::from_scale_angle_translation(max - min, 0.0, min);
                let base_color_texture = Some(picture.clone());
                (baked.mesh.clone(), StandardMaterial { base_color_texture, uv_transform, ..flat })
            }
        };
        Some((mesh, self.materials.add(material)))
    }
}

/// Returns an unlit material in front of the surface, with the culling of the surface's material.
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

/// Returns a checkerboard of two by two texels, with a mip level of their mean.
fn checker() -> Image {
    const LIGHT: [u8; 4] = [230, 230, 230, 255];
    const DARK: [u8; 4] = [60, 60, 60, 255];
    /// Mean of both in linear light, as sRGB.
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
    let color = |&valid: &u8| [(255 - valid).saturating_mul(2), valid.saturating_mul(2), 0, 255];
    let mut image = picture(validity.size, validity.texels.iter().flat_map(color).collect());
    image.sampler = ImageSampler::nearest();
    image
}

fn picture(size: UVec2, texels: Vec<u8>) -> Image {
    let size = Extent3d { width: size.x, height: size.y, depth_or_array_layers: 1 };
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, texels, format, RenderAssetUsages::RENDER_WORLD)
}

/// Returns a copy of an unwrapped mesh with a vertex color for each chart. No two charts share vertices. `first` is the
/// number of charts of earlier meshes.
fn in_chart_colors(mesh: &Mesh, unwrap: &Unwrap, first: u32) -> Mesh {
    /// Hue step: multiples of the golden ratio keep successive hues apart (Vogel 1979).
    const GOLDEN: f32 = 0.618_034;
    let mut colors = vec![[0.5, 0.5, 0.5, 1.0]; unwrap.mesh.positions.len()];
    for (triangle, &chart) in unwrap.mesh.triangles.iter().zip(&unwrap.charts) {
        if chart != Unwrap::NO_CHART {
            let hue = ((first + chart) as f32 * GOLDEN).fract() * 360.0;
            let color = Color::hsl(hue, 0.7, 0.6).to_linear().to_f32_array();
            triangle.iter().for_each(|&vertex| colors[vertex as usize] = color);
        }
    }
    mesh.clone().with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, colors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lightmap::Page;

    #[test]
    fn buried_texels_are_red_half_open_ones_yellow_and_open_ones_green() {
        let page = Page { width: 3, height: 1, texels: vec![Vec3::ZERO; 3], validity: vec![0.0, 0.5, 1.0] };
        let image = validity_picture(&PageValidity::from(&page));
        let data = image.data.expect("it has texels");
        assert_eq!(data, [255, 0, 0, 255, 254, 255, 0, 255, 0, 255, 0, 255]);
    }

    #[test]
    fn each_chart_has_a_color_of_its_own() {
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
        let colored = in_chart_colors(&bevy_mesh, &unwrap, 0);
        let Some(bevy::mesh::VertexAttributeValues::Float32x4(colors)) = colored.attribute(Mesh::ATTRIBUTE_COLOR)
        else {
            panic!("it has no colors");
        };
        assert!(colors[0] == colors[1] && colors[1] == colors[2] && colors[3] == colors[5]);
        assert_ne!(colors[0], colors[3]);
        let next = in_chart_colors(&bevy_mesh, &unwrap, 1);
        let Some(bevy::mesh::VertexAttributeValues::Float32x4(next)) = next.attribute(Mesh::ATTRIBUTE_COLOR) else {
            panic!("it has no colors");
        };
        assert_eq!(next[0], colors[3], "charts of the next mesh go on with other colors");
    }
}
