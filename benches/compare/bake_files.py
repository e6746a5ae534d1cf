"""A folder that `radiosity bake` wrote, as arrays. Needs numpy and OpenEXR."""

import os
import re
import struct

import numpy as np

import atlas as atlas_module

PAGE = re.compile(
    r'width:\s*(\d+),\s*height:\s*(\d+),\s*ktx2:\s*\([^)]*\),\s*exr:\s*\(\s*name:\s*"([^"]*)"')
MESHES = re.compile(r'meshes:\s*\(\s*name:\s*"([^"]*)"')
SURFACE = re.compile(
    r'key:\s*"((?:[^"\\]|\\.)*)",\s*page:\s*(\d+),\s*rectangle:\s*\(\s*x:\s*(\d+),\s*y:\s*(\d+),\s*'
    r'width:\s*(\d+),\s*height:\s*(\d+),?\s*\),\s*mesh:\s*(\d+)')


def atlas(scene, folder):
    """Where the bake put each triangle of the scene's static surfaces."""
    text = open(os.path.join(folder, "level.ron"), encoding="utf-8").read()
    surfaces = {surface.key: surface for surface in scene.surfaces}
    meshes = _read_meshes(os.path.join(folder, MESHES.search(text).group(1)))
    parts = []
    for key, page, x, y, width, height, mesh in SURFACE.findall(text):
        surface = surfaces[key]
        source_triangles, uv, triangles = meshes[int(mesh)]
        if source_triangles != len(surface.triangles):
            raise SystemExit(f"{key} has {len(surface.triangles)} triangles, its bake {source_triangles}: another file?")
        fronts = triangles[:source_triangles]
        if surface.mirrored:
            fronts = fronts[:, ::-1]
        texels = np.array([int(x), int(y)]) + uv[fronts] * np.array([int(width), int(height)])
        parts.append(atlas_module.rows(surface, texels, int(page)))
    pages = [(int(width), int(height)) for width, height, _ in PAGE.findall(text)]
    return atlas_module.joined(parts, pages)


def irradiance_pages(folder):
    """The pages' irradiance in lux: they hold irradiance / pi."""
    import OpenEXR

    text = open(os.path.join(folder, "level.ron"), encoding="utf-8").read()
    pages = []
    for *_, name in PAGE.findall(text):
        with OpenEXR.File(os.path.join(folder, name), separate_channels=True) as file:
            channels = file.channels()
            pages.append(np.pi * np.stack([channels[channel].pixels for channel in "RGB"], -1))
    return pages


def _read_meshes(path):
    """Triangles of the source mesh, lightmap coordinates, and triangles of each unwrapped mesh."""
    data = open(path, "rb").read()
    meshes, start = [], 0
    while start < len(data):
        if data[start : start + 8] != b"radmesh1":
            raise SystemExit(f"{path} holds no unwrapped meshes")
        vertices, triangles, _, source_triangles, _, _ = struct.unpack_from("<6I", data, start + 8)
        start += 32 + 4 * vertices
        uv = np.frombuffer(data, "<f4", 2 * vertices, start).reshape(-1, 2)
        start += 8 * vertices
        meshes.append((source_triangles, uv, np.frombuffer(data, "<u4", 3 * triangles, start).reshape(-1, 3)))
        start += 16 * triangles
    return meshes
