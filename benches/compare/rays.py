"""Rays on a graphics card against rays on the processor, through `radiosity rays`: how many meet something else, and
whether each of those grazes an edge, which is judged in double precision.

    python rays.py SCENE --radiosity PATH [--rays 1000000] [--seed 0]

SCENE is a .glb, .gltf or .obj file. A third of the rays start anywhere in the scene's box, a third on its surfaces, and a
third of them are aimed at corners of triangles, where it is hardest to agree.
"""

import argparse
import json
import os
import subprocess
import tempfile

import numpy as np

import gltf_scene


def triangles_of(path):
    """All triangles in file order, in world space."""
    if path.endswith(".obj"):
        return _obj_triangles(path)
    scene = gltf_scene.load(path)
    return np.concatenate([surface.positions[surface.triangles] for surface in scene.surfaces])


def _obj_triangles(path):
    positions, triangles = [], []
    for line in open(path):
        words = line.split()
        if words[:1] == ["v"]:
            positions.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            corners = [int(word.split("/")[0]) for word in words[1:]]
            corners = [corner - 1 if corner > 0 else len(positions) + corner for corner in corners]
            triangles += [[corners[0], corners[k], corners[k + 1]] for k in range(1, len(corners) - 1)]
    return np.asarray(positions)[np.asarray(triangles)]


def rays_in(triangles, count, seed):
    rng = np.random.default_rng(seed)
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    origins = rng.uniform(low, high, (count, 3))
    directions = rng.normal(size=(count, 3))
    third = count // 3
    chosen = triangles[rng.integers(len(triangles), size=2 * third)]
    weights = rng.dirichlet([1, 1, 1], third)
    origins[:third] = np.einsum("nk,nkc->nc", weights, chosen[:third])
    directions[third : 2 * third] = chosen[third:, 0] - origins[third : 2 * third]
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    directions = np.where(lengths > 0, directions / np.maximum(lengths, 1e-30), [1.0, 0.0, 0.0])
    rays = np.zeros((count, 8), "<f4")
    rays[:, :3], rays[:, 3] = origins, 1e-4 * np.max(high - low)
    rays[:, 4:7], rays[:, 7] = directions, 1e30
    return rays


def replay(radiosity, scene, folder, backend):
    hits = os.path.join(folder, f"{backend}.bin")
    command = [radiosity, "rays", scene, "--rays", os.path.join(folder, "rays.bin"), "--hits", hits]
    output = subprocess.run(command + ["--backend", backend, "--json"], check=True, capture_output=True, text=True).stdout
    found = np.fromfile(hits, np.dtype([("t", "<f4"), ("triangle", "<u4")]))
    return found, json.loads(output)


def distance_to_edge(ray, corners):
    """How far a ray passes the nearest edge of a triangle, meters."""
    origin, direction = ray[:3].astype(np.float64), ray[4:7].astype(np.float64)
    corners = corners.astype(np.float64)
    return min(_distance(origin, direction, corners[k], corners[(k + 1) % 3]) for k in range(3))


def _distance(origin, direction, start, end):
    edge = end - start
    normal = np.cross(direction, edge)
    length = np.linalg.norm(normal)
    along = np.dot(np.cross(start - origin, direction), normal) / max(length**2, 1e-300)
    point = start + np.clip(along, 0, 1) * edge
    offset = point - origin
    return np.linalg.norm(offset - np.dot(offset, direction) / np.dot(direction, direction) * direction)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("--radiosity", required=True)
    parser.add_argument("--rays", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    triangles = triangles_of(arguments.scene)
    rays = rays_in(triangles, arguments.rays, arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        rays.tofile(os.path.join(folder, "rays.bin"))
        (cpu, _), (gpu, timing) = (replay(arguments.radiosity, arguments.scene, folder, one) for one in ("cpu", "gpu"))
    near = np.abs(cpu["t"] - gpu["t"]) <= 1e-5 * np.maximum(1, np.abs(cpu["t"]))
    different = np.flatnonzero((cpu["triangle"] != gpu["triangle"]) & ~near)
    print(f"{len(rays)} rays, {np.mean(cpu['triangle'] != 0xFFFFFFFF):.1%} hit; {timing['mrays_per_second']:.2f} million a second")
    print(f"{len(different)} met something else: {len(different) / len(rays):.1e} of them")
    for index in different:
        met = [found[index] for found in (cpu, gpu)]
        nearest = min(distance_to_edge(rays[index], triangles[hit["triangle"]]) for hit in met if hit["triangle"] < len(triangles))
        roundings = nearest / (np.abs(triangles).max() * 2.0**-24)
        verdict = "grazes an edge" if roundings < 16 else "DOES NOT GRAZE AN EDGE"
        print(f"ray {index}: t {met[0]['t']:.6g} and {met[1]['t']:.6g}, {roundings:.1f} roundings from an edge: {verdict}")


if __name__ == "__main__":
    main()
