"""Texel averages of irradiance by Mitsuba 3: what both bakers are held against.

    python truth.py SCENE.gltf atlas.npz -o truth.npz [--draws 4000] [--points 16] [--samples 1024] [--sky R,G,B] [--sun A,E,LUX]

Needs mitsuba, numpy, Pillow. Texels are drawn by their area on the surface, so a plain mean over draws is a mean by area. The file holds
`texel` (page, x, y), `count` (how often it was drawn), `irradiance` (lux, RGB), `standard_error`, `edge` (the edge of a shadow that
a lamp or the sun casts crosses the texel), and `masked`: a contact edge crosses the texel, surfaces cover it in part only, or
part of it is buried in other geometry, so that bakers may rightly differ on what it should show.
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
# Meters; no scene is wider.
FAR = 1e4
# Points of a texel that are asked whether they lie inside something.
BURIED_POINTS = 64


def irradiance(scene, positions, geometric, shading, samples, seed):
    """Mean irradiance and its variance at points, `samples` paths each. Lamps and suns, being points, are summed without noise;
    areas are found by choosing points on them, the sky and all that is reflected by cosine-distributed paths."""
    count = len(positions)
    integrator, sky = scene.integrator(), scene.environment()
    exact, _ = from_points(scene, positions, geometric, shading)
    total, squares = np.zeros((count, 3)), np.zeros((count, 3))
    done = 0
    while done < samples:
        batch = min(samples - done, max(1, LANES // count))
        lane = dr.arange(mi.UInt32, count * batch) // batch
        here = _interaction(*(dr.gather(mi.Point3f, mi.Point3f(values.T), lane) for values in (positions, geometric, shading)))
        sampler = mi.load_dict({"type": "independent"})
        sampler.seed(dr.opaque(mi.UInt32, (seed * 7919 + done) & 0x7FFFFFFF), count * batch)

        light, weight = scene.sample_emitter_direction(here, sampler.next_2d(), False)
        is_area = ~light.delta & mi.has_flag(light.emitter.flags(), mi.EmitterFlags.Surface)
        value = _reflected_by_white(scene, here, light, weight, is_area)

        direction = here.sh_frame.to_world(mi.warp.square_to_cosine_hemisphere(sampler.next_2d()))
        leaves = dr.dot(here.n, direction) > 0
        radiance, *_ = integrator.sample(scene, sampler, mi.RayDifferential3f(here.spawn_ray(direction)), active=leaves)
        value += dr.select(leaves, mi.Color3f(radiance[0], radiance[1], radiance[2]) * dr.pi, 0)
        if sky is not None:
            beyond = dr.zeros(mi.DirectionSample3f, count * batch)
            beyond.p, beyond.d = here.p + direction * FAR, direction
            seen = dr.zeros(mi.SurfaceInteraction3f, count * batch)
            seen.wi = -direction
            value += dr.select(leaves, sky.eval(seen) * dr.pi * transmittance(scene, here, beyond, leaves), 0)
        for channel in range(3):
            values = np.array(value[channel]).astype(np.float64).reshape(count, batch)
            total[:, channel] += values.sum(1)
            squares[:, channel] += (values * values).sum(1)
        done += batch
    mean = total / done
    return exact + mean, np.maximum(squares / done - mean * mean, 0) / max(done - 1, 1)


def _interaction(position, geometric, shading):
    here = dr.zeros(mi.SurfaceInteraction3f, dr.width(position))
    here.p, here.n, here.t, here.wi = position, mi.Normal3f(geometric), 1, mi.Vector3f(0, 0, 1)
    here.sh_frame = mi.Frame3f(mi.Normal3f(shading))
    return here


def from_points(scene, positions, geometric, shading):
    """Irradiance straight from lights that have no size, and which of them (a column each) light a point."""
    here = _interaction(*(mi.Point3f(values.T) for values in (positions, geometric, shading)))
    total, lit = np.zeros((len(positions), 3)), []
    for emitter in scene.emitters():
        if mi.has_flag(emitter.flags(), mi.EmitterFlags.Delta):
            light, weight = emitter.sample_direction(here, mi.Point2f(0.5))
            value = np.array(_reflected_by_white(scene, here, light, weight, True)).T
            total += value
            lit.append(value.max(1) > 0)
    return total, np.array(lit).reshape(-1, len(positions)).T


def _reflected_by_white(scene, here, light, weight, active):
    """The irradiance that a sample of a light brings."""
    cosine = dr.dot(here.sh_frame.n, light.d)
    wanted = (light.pdf > 0) & (cosine > 0) & (dr.dot(here.n, light.d) > 0) & active
    return dr.select(wanted, weight * cosine * transmittance(scene, here, light, wanted), 0)


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
    """Whether something stands between neighboring points of one texel, just above the surface."""
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
    parser.add_argument("--samples", type=int, default=1024, help="paths for a texel on average, spread over its points: more where it is noisy")
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

    bad = np.zeros(len(position), bool)
    asked = np.flatnonzero(random.random(len(position)) < BURIED_POINTS / side**2)
    bad[asked] = buried(scene, position[asked], geometric[asked])
    same = owner[1:] == owner[:-1]
    bad[1:][same] |= crossed(scene, position[:-1], position[1:], geometric[:-1])[same]

    found = np.bincount(owner, minlength=len(drawn))
    # As an array of its own: a scene without lamps has no columns.
    average = lambda values, power: np.array(  # noqa: E731
        [np.bincount(owner, column, len(drawn)) for column in values.T]
    ).reshape(-1, len(drawn)).T / np.maximum(found, 1)[:, None] ** power
    masked = (np.bincount(owner, bad, len(drawn)) > 0) | (found < side**2)
    _, lit = from_points(scene, position, geometric, shading)
    share = average(lit, 1)

    mean, variance = np.zeros(position.shape), np.zeros(position.shape)
    # A pilot says where paths are wanted. It is thrown away: means of what was kept because it looked sure are biased.
    for pilot in (True, False):
        times = np.full(len(drawn), 1 / 8) if pilot else _allotted(np.sqrt(average(variance, 2)).mean(1), ~masked)
        for amount in np.unique(times[~masked]):
            chosen = (~masked & (times == amount))[owner]
            per_point = max(2, round(arguments.samples * amount / side**2))
            mean[chosen], variance[chosen] = irradiance(
                scene, position[chosen], geometric[chosen], shading[chosen], per_point, 2 * arguments.seed + pilot)
    result = {
        "texel": drawn, "count": counts, "masked": masked,
        "irradiance": average(mean, 1), "standard_error": np.sqrt(average(variance, 2)),
        "edge": ((share > 0) & (share < 1)).any(1),
    }
    np.savez_compressed(arguments.output, **result)
    kept = ~result["masked"]
    weight = counts[kept] / counts[kept].sum()
    mean_of_all = weight @ result["irradiance"][kept]
    noise = np.sqrt((weight @ result["standard_error"][kept] ** 2).mean()) / mean_of_all.mean()
    crossed_by_edge = result["edge"][kept].mean()
    print(f"{len(drawn)} texels, {kept.mean():.1%} kept, {crossed_by_edge:.1%} of those crossed by a shadow's edge, "
          f"mean irradiance {mean_of_all}, noise {noise:.3%} of it")


def _allotted(error, kept):
    """How many times the asked number of paths a texel gets: as its error wants, in powers of two."""
    wanted = error / max(error[kept].mean(), 1e-30)
    return 2.0 ** np.clip(np.round(np.log2(np.maximum(wanted, 1e-30))), -4, 3)


def _unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-30)


def _numbers(text):
    return tuple(float(number) for number in text.split(","))


if __name__ == "__main__":
    main()
