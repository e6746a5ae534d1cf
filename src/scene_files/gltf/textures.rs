//! Textures of materials, each decoded once and within the memory budget.

use std::collections::HashMap;
use std::sync::Arc;

use gltf::json::texture::{Info, Texture as JsonTexture, WrappingMode};
use gltf::json::validation::Checked;
use gltf::json::{Image, Root};
use serde_json::Value;

use super::accessors::Accessors;
use super::container::Document;
use super::lookup;
use super::specular_glossiness::{self, Conversion};
use crate::input;
use crate::parts::map;
use crate::scene::key;
use crate::scene::{Texture, TextureId, Wrap};
use crate::scene_files::decoder_memory;
use crate::scene_files::images::{self, ColorSpace};
use crate::scene_files::source::{Source, describe_uri};

/// Texture of the file, in one of two color spaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct ImageKey {
    texture: usize,
    space: ColorSpace,
}

/// Recipe of a texture that is computed from a specular and glossiness texture, with the factors of the extension.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Model {
    pub conversion: Conversion,
    pub extension: Arc<Value>,
}

/// Location of a texture's bytes.
#[derive(PartialEq, Eq, Hash)]
enum Place<'a> {
    Address(&'a str),
    View {
        buffer: usize,
        offset: u64,
        length: u64,
    },
    /// No location: the index of a texture without an image.
    Missing(usize),
}

/// Source of a wanted texture, by indices into [`Wanted::images`].
#[derive(Clone, PartialEq, Eq, Hash)]
enum Request {
    SourceImage(usize),
    Made { model: Model, specular: usize, diffuse: Option<usize> },
}

/// All textures that materials want. Each picture is decoded once, even if several textures or images refer to it.
pub struct Wanted<'a> {
    root: &'a Root,
    images: Vec<ImageKey>,
    known_images: HashMap<(Place<'a>, ColorSpace, [Wrap; 2]), usize>,
    requests: Vec<Request>,
    /// Index of each wish.
    known_requests: HashMap<Request, usize>,
}

impl<'a> Wanted<'a> {
    pub fn of(document: &'a Document) -> Self {
        Self {
            root: &document.root,
            images: Vec::new(),
            known_images: HashMap::new(),
            requests: Vec::new(),
            known_requests: HashMap::new(),
        }
    }

    /// Adds a texture of the file and returns the index of its wish.
    pub fn add(&mut self, texture: usize, space: ColorSpace) -> usize {
        let source_image = self.source_image(texture, space);
        self.request(Request::SourceImage(source_image))
    }

    /// Adds a texture that is computed from those of an extension. Returns the index of its wish.
    pub fn add_made(&mut self, model: &Model) -> Option<usize> {
        let index = |key| {
            let info: Info = serde_json::from_value(model.extension.get(key)?.clone()).ok()?;
            Some(info.index.value())
        };
        let specular = self.source_image(index(specular_glossiness::TEXTURE)?, ColorSpace::Srgb);
        let diffuse = (model.conversion == Conversion::BaseColor).then(|| index(specular_glossiness::DIFFUSE_TEXTURE));
        let diffuse = diffuse.flatten().map(|texture| self.source_image(texture, ColorSpace::Srgb));
        Some(self.request(Request::Made { model: model.clone(), specular, diffuse }))
    }

    fn request(&mut self, request: Request) -> usize {
        *self.known_requests.entry(request).or_insert_with_key(|request| {
            self.requests.push(request.clone());
            self.requests.len() - 1
        })
    }

    /// Returns true for a specular tint, without which a surface would reflect all light.
    pub fn is_specular_tint(&self, request: usize) -> bool {
        matches!(&self.requests[request], Request::Made { model, .. } if model.conversion == Conversion::SpecularTint)
    }

    fn source_image(&mut self, texture: usize, space: ColorSpace) -> usize {
        let json = self.root.textures.get(texture);
        let place = json.and_then(|json| self.place(json)).unwrap_or(Place::Missing(texture));
        let wrap = json.map_or_else(Default::default, |json| wrap(self.root, json));
        *self.known_images.entry((place, space, wrap)).or_insert_with(|| {
            self.images.push(ImageKey { texture, space });
            self.images.len() - 1
        })
    }

    fn place(&self, texture: &JsonTexture) -> Option<Place<'a>> {
        let image = lookup(&self.root.images, texture.source)?;
        if let Some(uri) = &image.uri {
            return Some(Place::Address(uri));
        }
        let view = lookup(&self.root.buffer_views, image.buffer_view?)?;
        let offset = view.byte_offset.unwrap_or_default().0;
        Some(Place::View { buffer: view.buffer.value(), offset, length: view.byte_length.0 })
    }
}

/// Decodes all wanted textures and adds them to the scene. Returns the result of each wish.
pub async fn load(
    wanted: &Wanted<'_>,
    document: &Document,
    source: &Source,
    textures: &mut Vec<Arc<Texture>>,
) -> Vec<Result<TextureId, MissingImage>> {
    let decoded: Vec<Result<Arc<Texture>, MissingImage>> =
        decode_all(&wanted.images, document, source).await.into_iter().map(|texture| texture.map(Arc::new)).collect();
    let mut add = |texture| {
        textures.push(texture);
        TextureId::from_index(textures.len() - 1)
    };
    let results = wanted.requests.iter().map(|request| match request {
        Request::SourceImage(source_image) => decoded[*source_image].clone().map(&mut add),
        Request::Made { model, specular, diffuse } => {
            let diffuse = diffuse.map(|source_image| decoded[source_image].clone()).transpose()?;
            match (&decoded[*specular], diffuse) {
                (Ok(specular), diffuse) => {
                    make(model, specular, diffuse.as_deref(), source).map(Arc::new).map(&mut add)
                }
                // The fault is reported by the other textures that are computed from the missing one.
                (Err(_), Some(diffuse)) => Ok(add(diffuse)),
                (Err(missing), None) => Err(missing.clone()),
            }
        }
    });
    results.collect()
}

/// Computes a texture within the budget. Its sources stay counted, since all exist at the same time.
fn make(
    model: &Model,
    specular: &Texture,
    diffuse: Option<&Texture>,
    source: &Source,
) -> Result<Texture, MissingImage> {
    let made = model.conversion.source_image(&model.extension, specular, diffuse);
    match source.budget.take(made.texels.bytes() as u64, || format!("the picture '{}'", made.name)) {
        Ok(()) => Ok(made),
        Err(reason) => Err(MissingImage { name: made.name, reason }),
    }
}

#[derive(Clone)]
pub struct MissingImage {
    pub name: String,
    pub reason: String,
}

fn wrap(root: &Root, texture: &JsonTexture) -> [Wrap; 2] {
    let sampler = texture.sampler.and_then(|sampler| lookup(&root.samplers, sampler));
    sampler.map_or([Wrap::Repeat; 2], |sampler| [sampler.wrap_s, sampler.wrap_t].map(wrap_mode))
}

/// Decodes all textures, as many at a time as the memory allows. Sizes are counted first and in order, so that the
/// textures that do not fit are independent of the number of threads.
async fn decode_all(wanted: &[ImageKey], document: &Document, source: &Source) -> Vec<Result<Texture, MissingImage>> {
    let images: Vec<Result<SourceImage, MissingImage>> = {
        let accessors = Accessors::new(document);
        wanted.iter().map(|key| SourceImage::find(key, document, source, &accessors)).collect()
    };
    let room = source.budget.left();
    let meanwhile = |source_image: &Result<SourceImage, MissingImage>| {
        source_image.as_ref().map_or(0, |source_image| source_image.meanwhile)
    };
    let largest = images.iter().map(meanwhile).max().unwrap_or_default();
    if let Err(reason) = source.budget.lend(largest, || "its largest picture".to_owned()) {
        return images.into_iter().map(|source_image| Err(source_image?.missing(reason.clone()))).collect();
    }
    let mut decoded = Vec::with_capacity(images.len());
    let mut rest = &images[..];
    while !rest.is_empty() {
        let mut taken = 0u64;
        let fits = |source_image: &&Result<SourceImage, MissingImage>| {
            taken = taken.saturating_add(meanwhile(source_image));
            taken <= room
        };
        let together = rest.iter().take_while(fits).count().max(1);
        // Decoding is the slowest part of loading. The order of the textures does not depend on the threads.
        let decode = |index: usize| match &rest[index] {
            Ok(source_image) => source_image.decode(source, &Accessors::new(document)),
            Err(missing) => Err(missing.clone()),
        };
        decoded.extend(map(together, 1, decode).await);
        rest = &rest[together..];
    }
    decoded
}

/// A texture of the file whose memory is counted, before decoding.
struct SourceImage<'a> {
    name: String,
    image: &'a Image,
    space: ColorSpace,
    wrap: [Wrap; 2],
    /// Further bytes that decoding takes, including those of the file.
    meanwhile: u64,
}

impl<'a> SourceImage<'a> {
    fn find(
        wanted: &ImageKey,
        document: &'a Document,
        source: &Source,
        accessors: &Accessors,
    ) -> Result<Self, MissingImage> {
        let root = &document.root;
        let nameless =
            |reason: &str| MissingImage { name: format!("Texture{}", wanted.texture), reason: reason.to_owned() };
        let texture = root.textures.get(wanted.texture).ok_or_else(|| nameless("the file has no such texture"))?;
        let image =
            lookup(&root.images, texture.source).ok_or_else(|| nameless("it has no image of a known format"))?;
        let uri = image.uri.as_deref();
        let name = image
            .name
            .as_deref()
            .filter(|name| !name.is_empty())
            .map(|name| key::cap(name).into_owned())
            .or_else(|| uri.map(|uri| describe_uri(uri).into_owned()))
            .unwrap_or_else(|| format!("Image{}", texture.source.value()));
        let source_image = Self { name, image, space: wanted.space, wrap: wrap(root, texture), meanwhile: 0 };
        source_image
            .counted(source, accessors)
            .map_err(|reason| source_image.missing(reason))
            .map(|meanwhile| Self { meanwhile, ..source_image })
    }

    /// Counts the texels in the budget. Returns the further bytes that decoding needs.
    fn counted(&self, source: &Source, accessors: &Accessors) -> Result<u64, String> {
        let what = || format!("the picture '{}'", self.name);
        let max_bytes = input::LARGEST_IMAGE;
        let of_file = self
            .image
            .uri
            .as_deref()
            .map_or(Ok(0), |uri| source.length(uri, max_bytes))
            .map_err(|error| error.to_string())?;
        let reading = source.budget.lend(of_file, what)?;
        let size = self.with_bytes(source, accessors, |bytes| {
            let _opening = source.budget.lend(decoder_memory::opening_bytes(bytes), what)?;
            images::size(&self.name, bytes)
        })?;
        drop(reading);
        let meanwhile = size.meanwhile.saturating_add(of_file);
        source.budget.take(size.kept, what)?;
        source.budget.lend(meanwhile, what)?;
        Ok(meanwhile)
    }

    fn decode(&self, source: &Source, accessors: &Accessors) -> Result<Texture, MissingImage> {
        let decode = |bytes: &[u8]| images::decode(&self.name, bytes, self.space, self.wrap);
        self.with_bytes(source, accessors, decode).map_err(|reason| self.missing(reason))
    }

    fn with_bytes<T>(
        &self,
        source: &Source,
        accessors: &Accessors,
        read: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, String> {
        match (self.image.uri.as_deref(), self.image.buffer_view) {
            (Some(uri), _) => {
                let bytes = source.fetch(uri, input::LARGEST_IMAGE).map_err(|error| error.to_string())?;
                read(&bytes)
            }
            (None, Some(view)) => accessors.view(view).and_then(read),
            (None, None) => Err("it has neither an address nor data".to_owned()),
        }
    }

    fn missing(&self, reason: String) -> MissingImage {
        MissingImage { name: self.name.clone(), reason }
    }
}

fn wrap_mode(mode: Checked<WrappingMode>) -> Wrap {
    match mode {
        Checked::Valid(WrappingMode::ClampToEdge) => Wrap::Clamp,
        Checked::Valid(WrappingMode::MirroredRepeat) => Wrap::Mirror,
        _ => Wrap::Repeat,
    }
}
