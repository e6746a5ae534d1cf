"""Texel averages of irradiance by Mitsuba 3: what both bakers are held against.

    python truth.py SCENE.gltf atlas.npz -o truth.npz [--draws 4000] [--points 16] [--samples 1024] [--sky R,G,B] [--sun A,E,LUX]

Needs mitsuba, numpy, Pillow. Texels are drawn by their area on the surface, so a plain mean over draws is a mean by area. The file holds
`texel` (page, x, y), `count` (how often it was drawn), `irradiance` (lux, RGB), `standard_error`, and `masked`: a contact edge
crosses the texel, or part of it is buried in other geometry, so that bakers may rightly differ on what it should show.
Texels of double-sided materials are left out (a page shows one side, and which is the baker's choice), and those of black
materials (Cycles bakes nothing there).
"""

import argparse
import re

import numpy as np

import atlas as atlas_module
import gltf_scene
import mitsuba_scene
from mitsuba_scene import dr, mi

LANES = 1 << 21
LIFT = 1e-4


def irradiance(scene, positions, geometric, shading, samples, seed):
    """Mean irradiance and its variance at points, `samples` paths each: lights by choosing points on them, the rest by
    cosine-distributed paths that do not count emission where they meet it directly."""
    count = len(positions)
    integrator = scene.integrator()
    total, squares = np.zeros((count, 3)), np.zeros((count, 3))
    done = 0
    while done < samples:
        batch = min(samples - done, max(1, LANES // count))
        lane = dr.arange(mi.UInt32, count * batch) // batch
        position = dr.gather(mi.Point3f, mi.Point3f(positions.T), lane)
        normal = dr.gather(mi.Normal3f, mi.Normal3f(geometric.T), lane)
        shade = dr.gather(mi.Normal3f, mi.Normal3f(shading.T), lane)
        sampler = mi.load_dict({"type": "independent"})
        sampler.seed(dr.opaque(mi.UInt32, (seed * 7919 + done) & 0x7FFFFFFF), count * batch)
        here = dr.zeros(mi.SurfaceInteraction3f, count * batch)
        here.p, here.n, here.t, here.wi = position, normal, 1, mi.Vector3f(0, 0, 1)
        here.sh_frame = mi.Frame3f(shade)

        light, weight = scene.sample_emitter_direction(here, sampler.next_2d(), False)
        cosine = dr.dot(shade, light.d)
        wanted = (light.pdf > 0) & (cosine > 0) & (dr.dot(normal, light.d) > 0)
        value = dr.select(wanted, weight * cosine * transmittance(scene, here, light, wanted), 0)

        direction = here.sh_frame.to_world(mi.warp.square_to_cosine_hemisphere(sampler.next_2d()))
        leaves = dr.dot(normal, direction) > 0
        radiance, *_ = integrator.sample(scene, sampler, mi.RayDifferential3f(here.spawn_ray(direction)), active=leaves)
        value += dr.select(leaves, mi.Color3f(radiance[0], radiance[1], radiance[2]) * dr.pi, 0)
        for channel in range(3):
            values = np.array(value[channel]).astype(np.float64).reshape(count, batch)
            total[:, channel] += values.sum(1)
            squares[:, channel] += (values * values).sum(1)
        done += batch
    mean = total / done
    return mean, np.maximum(squares / done - mean * mean, 0) / max(done - 1, 1)


def transmittance(scene, here, light, active, surfaces=8):
    """What cut-outs and glass let through on the way to a light."""
    through = mi.Color3f(1)
    if scene.integrator().class_name().lower().startswith("path"):
        return dr.select(scene.ray_test(here.spawn_ray_to(light.p), active), 0.0, through)
    ray = mi.Ray3f(here.spawn_ray_to(light.p))
    active = mi.Bool(active)
    for _ in range(surfaces):
        hit = scene.ray_intersect(ray, active)
        met = active & hit.is_valid()
        through[met] = through * hit.bsdf().eval_null_transmission(hit, met)
        active = met & (dr.max(through) > 0)
        ray = mi.Ray3f(hit.spawn_ray_to(light.p))
    return dr.select(active, 0, through)


def buried(scene, positions, normals, rays=32):
    """Points most of whose surroundings are the backs of surfaces, seen from close by: they lie inside something."""
    count = len(positions)
    lane = dr.arange(mi.UInt32, count * rays) // rays
    normal = dr.gather(mi.Normal3f, mi.Normal3f(normals.T), lane)
    origin = dr.gather(mi.Point3f, mi.Point3f((positions + LIFT * normals).T), lane)
    sampler = mi.load_dict({"type": "independent"})
    sampler.seed(1, count * rays)
    direction = mi.Frame3f(normal).to_world(mi.warp.square_to_cosine_hemisphere(sampler.next_2d()))
    hit = scene.ray_intersect(mi.Ray3f(origin, direction))
    sees_back = hit.is_valid() & (dr.dot(hit.n, direction) > 0)
    return np.array(sees_back).reshape(count, rays).mean(1) > 0.5


def crossed(scene, start, end, normals):
    """Whether something stands between neighbouring points of one texel, just above the surface."""
    lift = 1e-3 * normals
    way = (end - start).astype(np.float32)
    length = np.maximum(np.linalg.norm(way, axis=1), 1e-9)
    ray = mi.Ray3f(mi.Point3f((start + lift).astype(np.float32).T), mi.Vector3f((way / length[:, None]).T))
    ray.maxt = mi.Float(length.astype(np.float32))
    return np.array(scene.ray_test(ray))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("atlas")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--points", type=int, default=16, help="points in a texel, a square number")
    parser.add_argument("--samples", type=int, default=1024, help="paths for each texel, spread over its points")
    parser.add_argument("--leave-out", metavar="REGEX", help="surfaces whose key matches are not measured")
    parser.add_argument("--sky", type=_numbers, default=(0, 0, 0))
    parser.add_argument("--sun", type=_numbers)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.threads:
        dr.set_thread_count(arguments.threads)

    data = gltf_scene.load(arguments.scene)
    scene = mitsuba_scene.build(data, arguments.sky, arguments.sun)
    layout = atlas_module.load(arguments.atlas)
    texels = atlas_module.Texels(layout)
    random = np.random.default_rng(arguments.seed)
    left_out = np.array([material.double_sided or material.base_color[:3].max() == 0 for material in data.materials])
    left_out = left_out[layout["material"]]
    if arguments.leave_out:
        left_out |= np.array([re.search(arguments.leave_out, key) is not None for key in layout["key"]])
    drawn, counts = texels.draw(arguments.draws, random, left_out)

    side = int(round(arguments.points**0.5))
    owner, triangle, weights = [], [], []
    for index, texel in enumerate(drawn):
        found, where = texels.points(texel, side, random)
        owner.append(np.full(len(found), index))
        triangle.append(found)
        weights.append(where)
    owner, triangle, weights = np.concatenate(owner), np.concatenate(triangle), np.concatenate(weights)
    corners = layout["positions"][triangle]
    position = atlas_module.at(corners, weights).astype(np.float32)
    geometric = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])).astype(np.float32)
    shading = _unit(atlas_module.at(layout["normals"][triangle], weights)).astype(np.float32)

    bad = buried(scene, position, geometric)
    same = owner[1:] == owner[:-1]
    bad[1:][same] |= crossed(scene, position[:-1], position[1:], geometric[:-1])[same]

    per_point = max(1, arguments.samples // (side * side))
    mean, variance = irradiance(scene, position, geometric, shading, per_point, arguments.seed)
    found = np.bincount(owner, minlength=len(drawn))
    average = lambda values, power: np.stack(  # noqa: E731
        [np.bincount(owner, values[:, channel], len(drawn)) for channel in range(3)], 1) / np.maximum(found, 1)[:, None] ** power
    result = {
        "texel": drawn, "count": counts,
        "irradiance": average(mean, 1), "standard_error": np.sqrt(average(variance, 2)),
        "masked": (np.bincount(owner, bad, len(drawn)) > 0) | (found == 0),
    }
    np.savez_compressed(arguments.output, **result)
    kept = ~result["masked"]
    weight = counts[kept] / counts[kept].sum()
    mean_of_all = weight @ result["irradiance"][kept]
    noise = np.sqrt((weight @ result["standard_error"][kept] ** 2).mean()) / mean_of_all.mean()
    print(f"{len(drawn)} texels, {kept.mean():.1%} kept, mean irradiance {mean_of_all}, noise {noise:.3%} of it")


def _unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)


def _numbers(text):
    return tuple(float(number) for number in text.split(","))


if __name__ == "__main__":
    main()
