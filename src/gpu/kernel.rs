//! Bind groups and dispatch of kernels.

use wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindGroupLayoutDescriptor, Buffer,
    BufferBindingType, CommandEncoder, ComputePassDescriptor, ComputePipeline,
};

use super::scene::{buffer, entry};
use super::shader::groups_of;
use super::{Block, Gpu};

/// Creates a layout of a uniform and several storage buffers: true for read-only buffers.
pub(super) fn layout(gpu: &Gpu, label: &str, storage: &[bool]) -> BindGroupLayout {
    let storage = storage
        .iter()
        .zip(1..)
        .map(|(&read_only, binding)| entry(binding, buffer(BufferBindingType::Storage { read_only })));
    let entries: Vec<_> = core::iter::once(entry(0, buffer(BufferBindingType::Uniform))).chain(storage).collect();
    gpu.device.create_bind_group_layout(&BindGroupLayoutDescriptor { label: Some(label), entries: &entries })
}

/// Binds the buffers of a layout, in order.
pub(super) fn bind(gpu: &Gpu, layout: &BindGroupLayout, buffers: &[&Buffer]) -> BindGroup {
    let entries: Vec<BindGroupEntry> = buffers
        .iter()
        .zip(0..)
        .map(|(buffer, binding)| BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    gpu.device.create_bind_group(&BindGroupDescriptor { label: None, layout, entries: &entries })
}

/// Records a kernel with `count` threads, in workgroups of 64.
pub(super) fn dispatch(encoder: &mut CommandEncoder, kernel: &ComputePipeline, groups: &[&BindGroup], count: u32) {
    dispatch_blocks(encoder, kernel, groups, count, Block::default());
}

/// Records a kernel with `count` threads, in workgroups of a chosen size.
pub(super) fn dispatch_blocks(
    encoder: &mut CommandEncoder,
    kernel: &ComputePipeline,
    groups: &[&BindGroup],
    count: u32,
    block: Block,
) {
    let mut pass = encoder.begin_compute_pass(&ComputePassDescriptor::default());
    pass.set_pipeline(kernel);
    for (index, group) in groups.iter().enumerate() {
        pass.set_bind_group(index as u32, *group, &[]);
    }
    let (columns, rows) = groups_of(count, block.threads());
    pass.dispatch_workgroups(columns, rows, 1);
}
