//! Drawing of the live image into the camera's target: after Bevy's main pass, before tonemapping.

use std::collections::HashMap;

use bevy::core_pipeline::tonemapping::tonemapping;
use bevy::core_pipeline::upscaling::upscaling;
use bevy::core_pipeline::{Core3d, Core3dSystems};
use bevy::prelude::*;
use bevy::render::camera::ExtractedCamera;
use bevy::render::render_resource::TextureFormat;
use bevy::render::renderer::{RenderContext, RenderDevice, RenderQueue, ViewQuery};
use bevy::render::view::ViewTarget;
use bevy::render::{Render, RenderStartup, RenderSystems};

use super::frame::Frame;
use super::shared::Wanted;
use super::trace::Tracing;
use crate::gpu::Shader;
use crate::plugin::components::LiveChannel;
use crate::plugin::schedule::RadiositySystems;

/// Shader of the full-screen triangle, and its pipelines by target format and channel.
#[derive(Resource)]
struct Drawing {
    layout: wgpu::BindGroupLayout,
    module: wgpu::ShaderModule,
    pipelines: HashMap<(TextureFormat, LiveChannel), wgpu::RenderPipeline>,
}

/// Adds the systems of the render world.
pub fn add(render_app: &mut SubApp) {
    render_app
        .add_systems(RenderStartup, forget_device.in_set(RadiositySystems::LiveView))
        .add_systems(Render, prepare.in_set(RenderSystems::PrepareBindGroups).in_set(RadiositySystems::LiveView))
        .add_systems(
            Core3d,
            (
                draw_light.after(Core3dSystems::MainPass).before(Core3dSystems::EarlyPostProcess),
                draw_numbers.after(tonemapping).before(upscaling),
            )
                .in_set(RadiositySystems::LiveView),
        );
}

/// Removes the pipelines of a lost device.
fn forget_device(mut commands: Commands) {
    commands.remove_resource::<Drawing>();
}

fn prepare(
    mut commands: Commands,
    drawing: Option<ResMut<Drawing>>,
    device: Res<RenderDevice>,
    views: Query<(&ViewTarget, &Wanted), With<Tracing>>,
) {
    if views.is_empty() {
        return;
    }
    let device = device.wgpu_device();
    let Some(mut drawing) = drawing else {
        commands.insert_resource(Drawing::new(device));
        return;
    };
    for (target, wanted) in &views {
        let key = (target.main_texture_format(), wanted.settings.channel);
        if !drawing.pipelines.contains_key(&key) {
            let pipeline = drawing.pipeline(device, key);
            drawing.pipelines.insert(key, pipeline);
        }
    }
}

type DrawnView = (&'static ViewTarget, &'static ExtractedCamera, &'static Tracing, &'static Wanted);

/// Draws the light channel before tonemapping, so that it is exposed and tonemapped like Bevy's image.
fn draw_light(
    view: ViewQuery<DrawnView>,
    drawing: Option<Res<Drawing>>,
    queue: Res<RenderQueue>,
    context: RenderContext,
) {
    let view = view.into_inner();
    if view.3.settings.channel == LiveChannel::Light {
        draw(view, drawing, &queue, context);
    }
}

/// Draws any other channel after tonemapping, with unchanged colors.
fn draw_numbers(
    view: ViewQuery<DrawnView>,
    drawing: Option<Res<Drawing>>,
    queue: Res<RenderQueue>,
    context: RenderContext,
) {
    let view = view.into_inner();
    if view.3.settings.channel != LiveChannel::Light {
        draw(view, drawing, &queue, context);
    }
}

/// Overwrites the camera's viewport.
///
/// Multisampled targets have been resolved by then, and later passes read the resolved texture alone.
fn draw(
    (target, camera, tracing, wanted): (&ViewTarget, &ExtractedCamera, &Tracing, &Wanted),
    drawing: Option<Res<Drawing>>,
    queue: &RenderQueue,
    mut context: RenderContext,
) {
    let channel = wanted.settings.channel;
    let (Some(drawing), Some((colors, apart, picture))) = (drawing, tracing.channel(channel)) else {
        return;
    };
    let Some(pipeline) = drawing.pipelines.get(&(target.main_texture_format(), channel)) else {
        return;
    };
    let Some(viewport) = viewport(camera, target) else {
        return;
    };
    let (origin, size) = (viewport.min.as_vec2(), viewport.size().as_vec2());
    let frame = Frame {
        origin: origin.to_array(),
        size: size.to_array(),
        picture: picture.to_array(),
        exposure: camera.exposure,
        apart,
    };
    queue.write_buffer(&tracing.drawn.frame, 0, bytemuck::bytes_of(&frame));
    let device = context.render_device().wgpu_device();
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("live view"),
        layout: &drawing.layout,
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: tracing.drawn.frame.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: colors.as_entire_binding() },
        ],
    });
    let mut pass = context.command_encoder().begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("live view"),
        color_attachments: &[Some(target.get_unsampled_color_attachment())],
        depth_stencil_attachment: None,
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    });
    pass.set_viewport(origin.x, origin.y, size.x, size.y, 0.0, 1.0);
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.draw(0..3, 0..1);
}

/// Returns the shader entry point of a channel.
const fn entry_point(channel: LiveChannel) -> &'static str {
    match channel {
        LiveChannel::Light => "show",
        LiveChannel::Albedo => "show_albedo",
        LiveChannel::Normal => "show_normal",
        LiveChannel::TreeCost => "show_tree_cost",
        LiveChannel::Noise => "show_noise",
    }
}

/// Returns the viewport of the camera, clipped to a target that may have shrunk. `None` if it is empty.
fn viewport(camera: &ExtractedCamera, target: &ViewTarget) -> Option<URect> {
    let texture = target.main_texture().size();
    let whole = URect::from_corners(UVec2::ZERO, UVec2::new(texture.width, texture.height));
    let part = camera.viewport.as_ref().map_or(whole, |viewport| {
        URect::from_corners(viewport.physical_position, viewport.physical_position + viewport.physical_size)
    });
    Some(part.intersect(whole)).filter(|part| !part.is_empty())
}

impl Drawing {
    fn new(device: &wgpu::Device) -> Self {
        let entry = |binding, ty| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::FRAGMENT,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        Self {
            layout: device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("live view"),
                entries: &[
                    entry(0, wgpu::BufferBindingType::Uniform),
                    entry(1, wgpu::BufferBindingType::Storage { read_only: true }),
                ],
            }),
            module: Shader::LiveDraw.compile(device),
            pipelines: HashMap::new(),
        }
    }

    fn pipeline(&self, device: &wgpu::Device, (format, channel): (TextureFormat, LiveChannel)) -> wgpu::RenderPipeline {
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("live view"),
            bind_group_layouts: &[Some(&self.layout)],
            immediate_size: 0,
        });
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("live view"),
            layout: Some(&layout),
            vertex: wgpu::VertexState {
                module: &self.module,
                entry_point: Some("corner"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            fragment: Some(wgpu::FragmentState {
                module: &self.module,
                entry_point: Some(entry_point(channel)),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(format.into())],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}
