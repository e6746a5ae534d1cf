//! Tests of structs that Rust shares with shaders: naga gives both the same layout.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use wgpu::naga::front::wgsl;
use wgpu::naga::proc::Layouter;
use wgpu::naga::{AddressSpace, ArraySize, Handle, Module, ScalarKind, Type, TypeInner};

use super::Shader;
use crate::lights::AliasEntry;
use crate::partition::{BorderRecord, CellRecord, FineRecord, SurfaceRecord};
use crate::radiosity::TintedHit;

/// Field of a struct, in Rust or in WGSL.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    name: String,
    offset: usize,
    bytes: usize,
    /// Type of the field's numbers; `None` for structs.
    kind: Option<ScalarKind>,
}

/// Size and fields of a struct in WGSL. An array of unknown length at the end does not count.
#[derive(Debug, PartialEq)]
struct Layout {
    bytes: usize,
    fields: Vec<Field>,
}

/// Makes a test that compares all fields of Rust's structs with those of their counterparts in WGSL.
macro_rules! test_layouts {
    ($($rust:ident as $wgsl:ident { $($field:ident),* $(,)? })*) => {
        #[test]
        fn structs_lie_in_memory_as_shaders_read_them() {
            $({
                let value: $rust = bytemuck::Zeroable::zeroed();
                let fields = [$(crate::gpu::layouts::Field::new(
                    stringify!($field),
                    core::mem::offset_of!($rust, $field),
                    &value.$field,
                )),*];
                crate::gpu::layouts::assert_layout(stringify!($wgsl), size_of::<$rust>(), &fields);
            })*
        }
    };
}
pub(crate) use test_layouts;

impl Field {
    /// Describes a field of a struct in Rust.
    pub fn new<T>(name: &str, offset: usize, _value: &T) -> Self {
        let (type_name, bytes) = (core::any::type_name::<T>(), size_of::<T>());
        // Vectors of glam have the name of a module, `glam::f32::vec3::Vec3`.
        let kinds = [("f32", ScalarKind::Float), ("u32", ScalarKind::Uint), ("i32", ScalarKind::Sint)];
        let kind = kinds.into_iter().find(|(name, _)| type_name.contains(name)).map(|(_, kind)| kind);
        Self { name: name.to_owned(), offset, bytes, kind }
    }

    fn is_padding(&self) -> bool {
        self.name.starts_with("padding")
    }
}

/// Asserts that a struct in WGSL has the same size and fields as one in Rust. Padding may be divided otherwise.
pub(crate) fn assert_layout(name: &str, bytes: usize, fields: &[Field]) {
    let layout = LAYOUTS.get(name).unwrap_or_else(|| panic!("no shader shares {name}"));
    assert_eq!(layout.bytes, bytes, "size of {name}");
    assert_eq!(fields.iter().map(|field| field.bytes).sum::<usize>(), bytes, "all fields of {name} are listed");
    let [in_rust, in_wgsl] =
        [fields, &layout.fields].map(|fields| fields.iter().filter(|field| !field.is_padding()).collect::<Vec<_>>());
    assert_eq!(in_rust, in_wgsl, "{name}: in Rust, and in WGSL");
}

/// Asserts that a struct in WGSL has a size.
pub(crate) fn assert_bytes(name: &str, bytes: usize) {
    assert_eq!(LAYOUTS[name].bytes, bytes, "size of {name}");
}

/// Layouts of all structs in uniforms and storage buffers of all shaders.
static LAYOUTS: LazyLock<BTreeMap<String, Layout>> = LazyLock::new(|| {
    let mut found = BTreeMap::new();
    for shader in Shader::all() {
        let module = wgsl::parse_str(&shader.source()).unwrap();
        for (_, variable) in module.global_variables.iter() {
            if matches!(variable.space, AddressSpace::Uniform | AddressSpace::Storage { .. }) {
                collect(&module, variable.ty, &mut found);
            }
        }
    }
    found
});

/// Adds the layouts of the structs in a type.
fn collect(module: &Module, handle: Handle<Type>, found: &mut BTreeMap<String, Layout>) {
    match &module.types[handle].inner {
        TypeInner::Array { base, .. } => collect(module, *base, found),
        TypeInner::Struct { members, .. } => {
            members.iter().for_each(|member| collect(module, member.ty, found));
            let (name, layout) = (module.types[handle].name.clone().unwrap(), layout_of(module, handle));
            let before = found.entry(name).or_insert_with(|| layout_of(module, handle));
            assert_eq!(*before, layout, "structs of one name are equal in all shaders");
        }
        _ => {}
    }
}

fn layout_of(module: &Module, handle: Handle<Type>) -> Layout {
    let TypeInner::Struct { members, span } = &module.types[handle].inner else { panic!("{handle:?} is a struct") };
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let mut layout = Layout { bytes: *span as usize, fields: Vec::new() };
    for member in members {
        let offset = member.offset as usize;
        if matches!(module.types[member.ty].inner, TypeInner::Array { size: ArraySize::Dynamic, .. }) {
            layout.bytes = offset;
        } else {
            let bytes = layouter[member.ty].size as usize;
            let name = member.name.clone().unwrap();
            layout.fields.push(Field { name, offset, bytes, kind: kind_of(module, member.ty) });
        }
    }
    layout
}

fn kind_of(module: &Module, handle: Handle<Type>) -> Option<ScalarKind> {
    match &module.types[handle].inner {
        TypeInner::Array { base, .. } => kind_of(module, *base),
        TypeInner::Struct { .. } => None,
        TypeInner::Atomic(scalar) => Some(scalar.kind),
        inner => inner.scalar_kind(),
    }
}

// Structs of lower rooms.
test_layouts! {
    AliasEntry as AliasEntry { threshold, alias_index, probability }
    TintedHit as TintedHit { element, hit, tint }
    CellRecord as Cell { low, first_surface, high, end_surface, borders }
    BorderRecord as Border { low, high, beyond, padding }
    SurfaceRecord as CoarseSurface {
        normal, first_corner, anchor, end_corner, lattice_low, lattice_scale, lattice_size, lattice, axis
    }
    FineRecord as FineTriangle { a, divisions, b, first_element, c, sides }
}

/// Structs that Rust never sees the inside of.
const OF_SHADERS_ALONE: [&str; 1] = ["RayTask"];

#[test]
fn every_struct_that_shaders_read_from_buffers_is_compared() {
    let mut files = Vec::new();
    super::shader::texts_below(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let names: Vec<&String> = LAYOUTS.keys().collect();
    assert!(names.len() > 25, "{names:?}");
    for name in names.into_iter().filter(|name| !OF_SHADERS_ALONE.contains(&name.as_str())) {
        let is_compared = |text: &str| text.contains("test_layouts! {") && text.contains(&format!(" as {name} {{"));
        assert!(files.iter().any(|(_, text)| is_compared(text)), "{name} is in no `test_layouts!`");
    }
}
