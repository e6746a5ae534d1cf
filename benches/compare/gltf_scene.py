"""A glTF file as arrays in world space: what Mitsuba and Cycles are given, so that both see the same scene as the baker.

Needs numpy and Pillow. Reads what the baker reads: triangle lists, metallic-roughness materials, emission with
KHR_materials_emissive_strength, KHR_lights_punctual, KHR_texture_transform, cameras, and the `radiosity` extras.
"""

import base64
import io
import json
import os
import struct
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

COMPONENTS = {5120: "i1", 5121: "u1", 5122: "i2", 5123: "u2", 5125: "u4", 5126: "f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


@dataclass
class Material:
    name: str
    base_color: np.ndarray
    base_color_picture: int | None
    metallic: float
    emission: np.ndarray
    alpha_mode: str
    alpha_cutoff: float
    double_sided: bool
    uv_offset: np.ndarray
    uv_scale: np.ndarray


@dataclass
class Surface:
    """One primitive of one node. `role` is what the baker does with it: static, occluder, mover or excluded. Triangles of
    mirrored surfaces have been turned round, so that they are counter-clockwise seen from the front like all others."""

    key: str
    positions: np.ndarray
    normals: np.ndarray | None
    uv0: np.ndarray | None
    uv1: np.ndarray | None
    triangles: np.ndarray
    material: int
    role: str = "static"
    mirrored: bool = False


@dataclass
class Scene:
    surfaces: list = field(default_factory=list)
    materials: list = field(default_factory=list)
    pictures: list = field(default_factory=list)
    lights: list = field(default_factory=list)
    cameras: dict = field(default_factory=dict)

    def in_bake(self):
        return [surface for surface in self.surfaces if surface.role in ("static", "occluder")]


def load(path):
    """Reads a .gltf or .glb file."""
    return _Reader(path).scene()


class _Reader:
    def __init__(self, path):
        self.folder = os.path.dirname(os.path.abspath(path))
        self.source = os.path.basename(path)
        data = open(path, "rb").read()
        self.binary = b""
        if data[:4] == b"glTF":
            length = struct.unpack_from("<I", data, 12)[0]
            self.json = json.loads(data[20 : 20 + length])
            self.binary = data[20 + length + 8 :]
        else:
            self.json = json.loads(data)
        self.buffers = [self._buffer(buffer) for buffer in self.json.get("buffers", [])]
        self.default_material = len(self.json.get("materials", []))

    def scene(self):
        scene = Scene()
        scene.pictures = [self._picture(image) for image in self.json.get("images", [])]
        scene.materials = [self._material(m) for m in self.json.get("materials", []) + [{"name": "default"}]]
        roots = self.json["scenes"][self.json.get("scene", 0)]["nodes"]
        for root in roots:
            self._visit(scene, root, np.eye(4), "", {})
        return scene

    def _visit(self, scene, index, to_parent, parent_path, inherited):
        node = self.json["nodes"][index]
        name = node.get("name", f"GltfNode{index}")
        path = f"{parent_path}/{name}" if parent_path else name
        to_world = to_parent @ _local_transform(node)
        extras = {**inherited, **_extras(node)}
        if "mesh" in node:
            self._place_mesh(scene, node["mesh"], to_world, path, extras)
        light = node.get("extensions", {}).get("KHR_lights_punctual")
        if light:
            definition = self.json["extensions"]["KHR_lights_punctual"]["lights"][light["light"]]
            scene.lights.append({**definition, "to_world": to_world, "extras": extras})
        if "camera" in node:
            scene.cameras[name] = (to_world, self.json["cameras"][node["camera"]]["perspective"]["yfov"])
        for child in node.get("children", []):
            self._visit(scene, child, to_world, path, extras)

    def _place_mesh(self, scene, index, to_world, path, extras):
        mesh = self.json["meshes"][index]
        linear = to_world[:3, :3]
        mirrored = np.linalg.det(linear) < 0
        for number, primitive in enumerate(mesh["primitives"]):
            if primitive.get("mode", 4) != 4:
                continue
            attributes = primitive["attributes"]
            positions = self._accessor(attributes["POSITION"]).astype(np.float64)
            positions = positions @ linear.T + to_world[:3, 3]
            normals = self._optional(attributes, "NORMAL")
            if normals is not None:
                normals = normals @ np.linalg.inv(linear)
                normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
            if "indices" in primitive:
                triangles = self._accessor(primitive["indices"]).reshape(-1, 3).astype(np.int64)
            else:
                triangles = np.arange(len(positions)).reshape(-1, 3)
            if mirrored:
                triangles = triangles[:, ::-1]
            material = primitive.get("material", self.default_material)
            of_material = _extras(self.json.get("materials", [{}] * (material + 1))[material]) \
                if material != self.default_material else {}
            role = {**of_material, **_extras(mesh), **extras}.get("role", "static")
            scene.surfaces.append(Surface(
                key=f"{self.source}#{path}:{number}",
                positions=positions.astype(np.float32),
                normals=None if normals is None else normals.astype(np.float32),
                uv0=self._optional(attributes, "TEXCOORD_0"),
                uv1=self._optional(attributes, "TEXCOORD_1"),
                triangles=triangles,
                material=material,
                role=role,
                mirrored=mirrored,
            ))

    def _material(self, material):
        pbr = material.get("pbrMetallicRoughness", {})
        texture = pbr.get("baseColorTexture")
        transform = (texture or {}).get("extensions", {}).get("KHR_texture_transform", {})
        picture = None
        if texture is not None:
            picture = self.json["textures"][texture["index"]].get("source")
        strength = material.get("extensions", {}).get("KHR_materials_emissive_strength", {}).get("emissiveStrength", 1)
        return Material(
            name=material.get("name", ""),
            base_color=np.array(pbr.get("baseColorFactor", [1, 1, 1, 1]), float),
            base_color_picture=picture,
            # A metalness picture is not read: none of the scenes compared has one that matters to diffuse light.
            metallic=0.0 if "metallicRoughnessTexture" in pbr else pbr.get("metallicFactor", 1.0),
            emission=np.array(material.get("emissiveFactor", [0, 0, 0]), float) * strength,
            alpha_mode=material.get("alphaMode", "OPAQUE"),
            alpha_cutoff=material.get("alphaCutoff", 0.5),
            double_sided=material.get("doubleSided", False),
            uv_offset=np.array(transform.get("offset", [0, 0]), float),
            uv_scale=np.array(transform.get("scale", [1, 1]), float),
        )

    def _picture(self, image):
        """A picture as 8-bit RGBA; None when it cannot be had."""
        try:
            if "bufferView" in image:
                data = self._view(image["bufferView"])
            elif image["uri"].startswith("data:"):
                data = base64.b64decode(image["uri"].split(",", 1)[1])
            else:
                data = open(os.path.join(self.folder, image["uri"]), "rb").read()
            return np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"))
        except (OSError, KeyError, ValueError) as error:
            print(f"picture {image.get('name', '?')} is left out: {error}")
            return None

    def _buffer(self, buffer):
        uri = buffer.get("uri")
        if uri is None:
            return self.binary
        if uri.startswith("data:"):
            return base64.b64decode(uri.split(",", 1)[1])
        return open(os.path.join(self.folder, uri), "rb").read()

    def _view(self, index):
        view = self.json["bufferViews"][index]
        start = view.get("byteOffset", 0)
        return self.buffers[view["buffer"]][start : start + view["byteLength"]]

    def _optional(self, attributes, name):
        return self._accessor(attributes[name]).astype(np.float64) if name in attributes else None

    def _accessor(self, index):
        accessor = self.json["accessors"][index]
        kind = np.dtype("<" + COMPONENTS[accessor["componentType"]])
        width, count = WIDTHS[accessor["type"]], accessor["count"]
        view = self.json["bufferViews"][accessor["bufferView"]]
        data = self.buffers[view["buffer"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", kind.itemsize * width)
        rows = np.lib.stride_tricks.as_strided(
            np.frombuffer(data, np.uint8, count=stride * (count - 1) + kind.itemsize * width, offset=start),
            (count, kind.itemsize * width), (stride, 1))
        values = np.ascontiguousarray(rows).view(kind).reshape(count, width)
        if accessor.get("normalized"):
            values = values.astype(np.float64) / np.iinfo(kind).max
        return values[:, 0] if width == 1 else values


def _extras(owner):
    extras = owner.get("extras")
    if not isinstance(extras, dict):
        return {}
    flat = {key[len("radiosity_"):]: value for key, value in extras.items() if key.startswith("radiosity_")}
    nested = extras.get("radiosity")
    return {**flat, **nested} if isinstance(nested, dict) else flat


def _local_transform(node):
    if "matrix" in node:
        return np.array(node["matrix"], float).reshape(4, 4).T
    x, y, z, w = node.get("rotation", [0, 0, 0, 1])
    rotation = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
    transform = np.eye(4)
    transform[:3, :3] = rotation * np.array(node.get("scale", [1, 1, 1]), float)
    transform[:3, 3] = node.get("translation", [0, 0, 0])
    return transform


def srgb_to_linear(values):
    """8-bit sRGB to linear floats."""
    encoded = values.astype(np.float32) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
