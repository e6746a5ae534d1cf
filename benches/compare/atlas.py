"""Which texel shows which piece of surface: triangles of a scene with their places on lightmap pages.

    python atlas.py SCENE.gltf -o atlas.npz --uv1 SIZE       the file's own UV_1 on one page of SIZE x SIZE texels
    python atlas.py SCENE.gltf -o atlas.npz --bake FOLDER    the layout of a bake

Needs numpy and Pillow. The file holds, a row a triangle of a static surface: `positions` (3 x 3, meters), `normals` (3 x 3), `uv0`
(3 x 2), `texels` (3 x 2, in texels of the page, rows from the top), `page`, `material`, `key` of the surface; and `pages` (width and
height of each).
"""

import argparse

import numpy as np

import gltf_scene


def of_uv1(scene, size):
    """Rows for surfaces whose file has a lightmap layout."""
    surfaces = [surface for surface in scene.surfaces if surface.role == "static" and surface.uv1 is not None]
    parts = [rows(surface, surface.uv1[surface.triangles] * size, 0) for surface in surfaces]
    return joined(parts, [(size, size)])


def rows(surface, texels, page):
    """A surface's triangles and where their corners lie on a page."""
    positions = surface.positions[surface.triangles]
    if surface.normals is None:
        flat = np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0])
        flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
        normals = np.repeat(flat[:, None], 3, axis=1)
    else:
        normals = surface.normals[surface.triangles]
    count = len(positions)
    uv0 = np.zeros((count, 3, 2)) if surface.uv0 is None else surface.uv0[surface.triangles]
    return {
        "positions": positions, "normals": normals, "uv0": uv0, "texels": texels,
        "page": np.full(count, page), "material": np.full(count, surface.material), "key": np.full(count, surface.key),
    }


def joined(parts, pages):
    """One atlas of the rows of many surfaces."""
    if not parts:
        raise SystemExit("no static surface has lightmap coordinates")
    atlas = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {**atlas, "pages": np.array(pages)}


class Texels:
    """Points on a surface by their place on a page."""

    def __init__(self, atlas):
        self.atlas = atlas
        texels = atlas["texels"]
        self.low, self.high = texels.min(1), texels.max(1)
        edges = atlas["positions"][:, 1:] - atlas["positions"][:, :1]
        self.area = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2

    def draw(self, count, random, skipped):
        """Texels drawn by area, as (page, x, y) rows and how often each was drawn. `skipped` triangles are left out."""
        area = np.where(skipped, 0, self.area)
        triangle = random.choice(len(area), size=count, p=area / area.sum())
        u, v = random.random((2, count))
        fold = u + v > 1
        u, v = np.where(fold, 1 - u, u), np.where(fold, 1 - v, v)
        corners = self.atlas["texels"][triangle]
        place = corners[:, 0] + (corners[:, 1] - corners[:, 0]) * u[:, None] + (corners[:, 2] - corners[:, 0]) * v[:, None]
        rows = np.c_[self.atlas["page"][triangle], np.floor(place).astype(int)]
        return np.unique(rows, axis=0, return_counts=True)

    def points(self, texel, side, random):
        """Stratified points of a texel's footprint, `side` x `side` cells: triangle and barycentric of each."""
        page, x, y = texel
        near = np.flatnonzero((self.atlas["page"] == page) & (self.low < (x + 1, y + 1)).all(1) & (self.high > (x, y)).all(1))
        grid = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
        place = np.array([x, y]) + (grid + random.random(grid.shape)) / side
        triangle, weights = np.full(len(place), -1), np.zeros((len(place), 2))
        for candidate in near:
            a, b, c = self.atlas["texels"][candidate]
            matrix = np.stack([b - a, c - a], 1)
            if abs(np.linalg.det(matrix)) < 1e-12:
                continue
            inside = (place - a) @ np.linalg.inv(matrix).T
            hit = (triangle < 0) & (inside >= 0).all(1) & (inside.sum(1) <= 1)
            triangle[hit], weights[hit] = candidate, inside[hit]
        return triangle[triangle >= 0], weights[triangle >= 0]


def at(corners, weights):
    """A property of three corners at barycentric weights."""
    return corners[:, 0] + (corners[:, 1] - corners[:, 0]) * weights[:, :1] + (corners[:, 2] - corners[:, 0]) * weights[:, 1:]


def load(path):
    return dict(np.load(path))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--uv1", type=int, metavar="SIZE")
    parser.add_argument("--bake", metavar="FOLDER")
    arguments = parser.parse_args()
    scene = gltf_scene.load(arguments.scene)
    if arguments.bake:
        import bake_files

        atlas = bake_files.atlas(scene, arguments.bake)
    elif arguments.uv1:
        atlas = of_uv1(scene, arguments.uv1)
    else:
        parser.error("give --uv1 or --bake")
    np.savez_compressed(arguments.output, **atlas)
    print(f"{len(atlas['page'])} triangles on {len(atlas['pages'])} pages")
