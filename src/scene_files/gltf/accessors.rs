//! Numbers from buffers, with every access checked.

use std::cell::Cell;
use std::sync::Arc;

use gltf::json::accessor::sparse::Sparse;
use gltf::json::accessor::{Accessor, ComponentType};
use gltf::json::buffer::View;
use gltf::json::validation::Checked;
use gltf::json::{Index, Root};

use super::container::Document;
use super::lookup;
use crate::scene_files::budget::Budget;

/// Most numbers that are read from a file. A small file can refer to the same bytes again and again.
const MAX_NUMBERS: u64 = 1 << 31;
/// Most numbers of all accessors without data of their own.
const MAX_IMPLIED_ZEROS: u64 = 1 << 24;
/// Bytes of memory per number.
const BYTES_OF_NUMBER: u64 = 8;

/// Reader of the accessors of one document.
pub struct Accessors<'a> {
    root: &'a Root,
    buffers: &'a [Arc<Vec<u8>>],
    budget: &'a Budget,
    numbers_left: Cell<u64>,
    zeros_left: Cell<u64>,
}

/// Equally spaced elements within a buffer.
struct Span<'a> {
    bytes: &'a [u8],
    stride: usize,
    component: ComponentType,
}

impl Span<'_> {
    /// Returns one component of an element, as `f64`, which is exact for all component types.
    fn component(&self, element: usize, component: usize) -> f64 {
        let at = element * self.stride + component * self.component.size();
        fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
            core::array::from_fn(|index| bytes[at + index])
        }
        match self.component {
            ComponentType::I8 => f64::from(i8::from_le_bytes(take(self.bytes, at))),
            ComponentType::U8 => f64::from(self.bytes[at]),
            ComponentType::I16 => f64::from(i16::from_le_bytes(take(self.bytes, at))),
            ComponentType::U16 => f64::from(u16::from_le_bytes(take(self.bytes, at))),
            ComponentType::U32 => f64::from(u32::from_le_bytes(take(self.bytes, at))),
            ComponentType::F32 => f64::from(f32::from_le_bytes(take(self.bytes, at))),
        }
    }
}

impl<'a> Accessors<'a> {
    pub fn new(document: &'a Document) -> Self {
        Self {
            root: &document.root,
            buffers: &document.buffers,
            budget: &document.budget,
            numbers_left: Cell::new(MAX_NUMBERS),
            zeros_left: Cell::new(MAX_IMPLIED_ZEROS),
        }
    }

    /// Returns true for an accessor without data, which is all zeros.
    pub fn is_blank(&self, index: Index<Accessor>) -> bool {
        lookup(&self.root.accessors, index)
            .is_some_and(|accessor| accessor.buffer_view.is_none() && accessor.sparse.is_none())
    }

    /// Reads vectors of `N` floats. Normalized integers are converted to 0..1 or -1..1.
    ///
    /// # Errors
    /// The fault of the accessor, as a sentence.
    pub fn vectors<const N: usize>(&self, index: Index<Accessor>) -> Result<Vec<[f32; N]>, String> {
        let accessor = lookup(&self.root.accessors, index).ok_or("its accessor does not exist")?;
        let largest = match component_of(accessor)? {
            ComponentType::I8 => 127.0,
            ComponentType::U8 => 255.0,
            ComponentType::I16 => 32_767.0,
            ComponentType::U16 => 65_535.0,
            ComponentType::U32 | ComponentType::F32 => 1.0,
        };
        let values = self.read::<N>(accessor)?;
        let normalize = |value: f64| (if accessor.normalized { (value / largest).max(-1.0) } else { value }) as f32;
        // Only integers are normalized. Floats below -1 must not be clamped.
        let is_float = largest == 1.0;
        Ok(values.into_iter().map(|v| v.map(|value| if is_float { value as f32 } else { normalize(value) })).collect())
    }

    /// Returns the number of components per element of an accessor; `None` if it is unknown.
    pub fn components(&self, index: Option<Index<Accessor>>) -> Option<usize> {
        components_of(lookup(&self.root.accessors, index?)?).ok()
    }

    /// Reads vertex indices.
    ///
    /// # Errors
    /// The fault of the accessor, as a sentence.
    pub fn indices(&self, index: Index<Accessor>) -> Result<Vec<u32>, String> {
        let accessor = lookup(&self.root.accessors, index).ok_or("its accessor does not exist")?;
        if !matches!(component_of(accessor)?, ComponentType::U8 | ComponentType::U16 | ComponentType::U32) {
            return Err("its indices are not unsigned integers".to_owned());
        }
        Ok(self.read(accessor)?.into_iter().map(|[index]| index as u32).collect())
    }

    /// Returns the bytes of a buffer view.
    ///
    /// # Errors
    /// When the view does not exist or leaves its buffer.
    pub fn view(&self, index: Index<View>) -> Result<&'a [u8], String> {
        let view = lookup(&self.root.buffer_views, index).ok_or("its buffer view does not exist")?;
        let buffer = self.buffers.get(view.buffer.value()).ok_or("its buffer does not exist")?;
        let start = size(view.byte_offset.unwrap_or_default().0)?;
        let end = start.checked_add(size(view.byte_length.0)?).ok_or("its buffer view has no end")?;
        buffer
            .get(start..end)
            .ok_or_else(|| format!("its buffer view ends at byte {end} of a buffer of {} bytes", buffer.len()))
    }

    /// Counts bytes for the data of the meshes.
    ///
    /// # Errors
    /// When fewer bytes are left.
    pub fn reserve(&self, bytes: u64) -> Result<(), String> {
        self.budget.take(bytes, || "the data of its meshes".to_owned())
    }

    fn read<const N: usize>(&self, accessor: &Accessor) -> Result<Vec<[f64; N]>, String> {
        let component = component_of(accessor)?;
        if components_of(accessor)? != N {
            return Err(format!("its elements have not {N} components"));
        }
        let count = size(accessor.count.0)?;
        let numbers = (count as u64).saturating_mul(N as u64);
        let left = self.numbers_left.get().checked_sub(numbers).ok_or("the file asks for too many numbers")?;
        self.numbers_left.set(left);
        let bytes = numbers.saturating_mul(BYTES_OF_NUMBER);
        let mut values = match accessor.buffer_view {
            Some(view) => {
                let offset = size(accessor.byte_offset.unwrap_or_default().0)?;
                let stride = lookup(&self.root.buffer_views, view).and_then(|view| view.byte_stride);
                let stride = stride.map(|stride| stride.0).filter(|&stride| stride > 0);
                let span = self.span(view, offset, stride, component, N, count)?;
                self.reserve(bytes)?;
                (0..count).map(|element| core::array::from_fn(|part| span.component(element, part))).collect()
            }
            // The accessor is all zeros, and sparse values may replace some. The file's size does not limit their
            // number.
            None => {
                let left = self.zeros_left.get().checked_sub(numbers).ok_or("its data is not in the file")?;
                self.zeros_left.set(left);
                self.reserve(bytes)?;
                vec![[0.0; N]; count]
            }
        };
        if let Some(sparse) = &accessor.sparse {
            self.replace_sparse(&mut values, sparse, component)?;
        }
        Ok(values)
    }

    fn replace_sparse<const N: usize>(
        &self,
        values: &mut [[f64; N]],
        sparse: &Sparse,
        component: ComponentType,
    ) -> Result<(), String> {
        let count = size(sparse.count.0)?;
        let Checked::Valid(index_component) = sparse.indices.component_type else {
            return Err("its sparse indices have no known type".to_owned());
        };
        let offset = size(sparse.indices.byte_offset.0)?;
        let targets = self.span(sparse.indices.buffer_view, offset, None, index_component.0, 1, count)?;
        let offset = size(sparse.values.byte_offset.0)?;
        let replacements = self.span(sparse.values.buffer_view, offset, None, component, N, count)?;
        for change in 0..count {
            let target = values.get_mut(targets.component(change, 0) as usize);
            *target.ok_or("a sparse value of it lies beyond its end")? =
                core::array::from_fn(|part| replacements.component(change, part));
        }
        Ok(())
    }

    fn span(
        &self,
        view: Index<View>,
        offset: usize,
        stride: Option<usize>,
        component: ComponentType,
        components: usize,
        count: usize,
    ) -> Result<Span<'a>, String> {
        let element_size = component.size() * components;
        let stride = stride.unwrap_or(element_size);
        let bytes = self.view(view)?.get(offset..).ok_or("it starts beyond its buffer view")?;
        let needed = match count {
            0 => Some(0),
            _ => (count - 1).checked_mul(stride).and_then(|size| size.checked_add(element_size)),
        };
        match needed {
            Some(needed) if needed <= bytes.len() => Ok(Span { bytes, stride, component }),
            _ => Err(format!("it holds {count} elements, more than its buffer view of {} bytes", bytes.len())),
        }
    }
}

fn component_of(accessor: &Accessor) -> Result<ComponentType, String> {
    match accessor.component_type {
        Checked::Valid(component) => Ok(component.0),
        Checked::Invalid => Err("its components have no known type".to_owned()),
    }
}

fn components_of(accessor: &Accessor) -> Result<usize, String> {
    match accessor.type_ {
        Checked::Valid(shape) => Ok(shape.multiplicity()),
        Checked::Invalid => Err("its elements have no known shape".to_owned()),
    }
}

fn size(value: u64) -> Result<usize, String> {
    usize::try_from(value).map_err(|_| format!("{value} bytes do not fit into memory"))
}
