"""What a picture of a scene costs Cycles: cpu-seconds and mean radiance for each number of samples.

    python cycles_picture.py SCENE.gltf --eye X,Y,Z --target X,Y,Z --fov DEG [--size 256] [--samples 64,256] [--bounces N] [--threads 2]

Needs bpy, numpy, Pillow. Prints one JSON object a line. No denoiser, no adaptive sampling, no clamping. Paths are ended by chance after the
same number of reflections as ours (with the square root of what they carry, so Cycles' are longer), never when `--bounces` bounds them.
"""

import json
import os
import tempfile
import time

import bpy
import mathutils
import numpy as np

import atlas as atlas_module
import cycles_bake
import gltf_scene
import pictures


def main():
    arguments = pictures.arguments(__doc__)
    cycles_bake.configure(1, arguments.threads, 0)
    data = pictures.seen_from_both_sides(gltf_scene.load(arguments.scene))
    materials = [cycles_bake.material_of(data, material, lambda index: None, None) for material in data.materials]
    for made in materials:
        made.cycles.emission_sampling = "FRONT"
    for surface in data.in_bake():
        rows = atlas_module.rows(surface, np.zeros((len(surface.triangles), 3, 2)), 0)
        cycles_bake.mesh_object(surface.key, rows["positions"], rows["normals"], None, None, rows["material"], materials)
    cycles_bake.add_lights(data, (0, 0, 0), None)
    add_camera(arguments)

    scene = bpy.context.scene
    cycles = scene.cycles
    cycles.use_adaptive_sampling, cycles.pixel_filter_type = False, "BOX"
    bounces = 1024 if arguments.bounces is None else arguments.bounces
    # Its bounces count reflections between the one that the camera sees and the one that a light is aimed at from.
    cycles.max_bounces = cycles.diffuse_bounces = bounces if arguments.bounces is None else bounces - 1
    cycles.min_light_bounces = pictures.CERTAIN_REFLECTIONS if arguments.bounces is None else bounces
    folder = tempfile.mkdtemp()
    scene.render.resolution_x = scene.render.resolution_y = arguments.size
    scene.render.image_settings.file_format = "OPEN_EXR"
    scene.render.image_settings.color_depth = "32"
    scene.render.filepath = os.path.join(folder, "picture.exr")
    # Building the scene anew is start-up, which two numbers of samples tell from paths.
    for samples in arguments.samples:
        cycles.samples = samples
        started = time.process_time()
        bpy.ops.render.render(write_still=True)
        seconds = time.process_time() - started
        picture = bpy.data.images.load(scene.render.filepath, check_existing=False)
        values = np.empty(arguments.size**2 * 4, np.float32)
        picture.pixels.foreach_get(values)
        mean = float(values.reshape(-1, 4)[:, :3].mean())
        print(json.dumps({"samples": samples, "cpu_seconds": seconds, "mean": mean}), flush=True)


def add_camera(arguments):
    camera = bpy.data.cameras.new("camera")
    camera.sensor_fit, camera.angle = "VERTICAL", np.radians(arguments.fov)
    placed = bpy.data.objects.new("camera", camera)
    placed.location = arguments.eye
    forward = mathutils.Vector(np.subtract(arguments.target, arguments.eye))
    placed.rotation_mode = "QUATERNION"
    placed.rotation_quaternion = forward.to_track_quat("-Z", "Y")
    bpy.context.scene.collection.objects.link(placed)
    bpy.context.scene.camera = placed


if __name__ == "__main__":
    main()
