"""What a picture of a scene costs Mitsuba 3: cpu-seconds and mean radiance for each number of samples.

    python mitsuba_picture.py SCENE.gltf --eye X,Y,Z --target X,Y,Z --fov DEG [--size 256] [--samples 64,256] [--bounces N] [--threads 2]

Needs mitsuba, numpy, Pillow. Prints one JSON object a line. Kernels are compiled and cached by a picture that is not counted. Paths are
ended by chance after the same number of reflections as ours, never when `--bounces` bounds them.
"""

import json
import time

import pictures
from mitsuba_scene import build, dr, mi

import gltf_scene


def main():
    arguments = pictures.arguments(__doc__)
    dr.set_thread_count(arguments.threads)
    data = gltf_scene.load(arguments.scene)
    scene = build(pictures.seen_from_both_sides(data))
    film = {"type": "hdrfilm", "width": arguments.size, "height": arguments.size, "pixel_format": "rgb",
            "component_format": "float32", "rfilter": {"type": "box"}}
    look = mi.ScalarTransform4f().look_at(origin=arguments.eye, target=arguments.target, up=[0, 1, 0])
    sensor = mi.load_dict({"type": "perspective", "fov_axis": "y", "fov": arguments.fov, "near_clip": 1e-3,
                           "to_world": look, "film": film})
    bounded = arguments.bounces is not None
    # Its depth counts the edges of a path: one more than reflections.
    integrator = mi.load_dict({"type": "path", "max_depth": arguments.bounces + 1 if bounded else -1,
                               "rr_depth": 1000 if bounded else pictures.CERTAIN_REFLECTIONS + 1})

    def draw(samples, seed):
        started = time.process_time()
        picture = mi.render(scene, sensor=sensor, integrator=integrator, spp=samples, seed=seed)
        dr.eval(picture)
        dr.sync_thread()
        return time.process_time() - started, float(dr.mean(picture.array)[0])

    for samples in arguments.samples:
        draw(samples, 1)
        seconds, mean = draw(samples, 2)
        print(json.dumps({"samples": samples, "cpu_seconds": seconds, "mean": mean}), flush=True)


if __name__ == "__main__":
    main()
