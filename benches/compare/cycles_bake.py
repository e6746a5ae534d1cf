"""The same lightmap by Cycles, through Blender's Python module.

    python cycles_bake.py SCENE.gltf atlas.npz -o cycles.npz --samples N [--sky R,G,B] [--sun AZIMUTH,ELEVATION,LUX] [--threads 2]

Needs bpy, numpy, Pillow. The mesh is given to Cycles triangle by triangle with the atlas' coordinates, so a texel shows the same piece of
surface as in the baker's page; pages are stacked into one picture. No denoiser, no clamping, no margin. The file holds `pages` (one array of rows of RGB
irradiance in lux and coverage for each) and `cpu_seconds` of the bake alone, the building of its tree included.
"""

import argparse
import time

import bpy
import numpy as np

import atlas as atlas_module
import gltf_scene


class Nodes:
    """Short names for building a material."""

    def __init__(self, tree):
        self.tree = tree
        tree.nodes.clear()

    def add(self, kind, **inputs):
        node = self.tree.nodes.new(kind)
        for name, value in inputs.items():
            self.set(node.inputs[name], value)
        return node

    def set(self, socket, value):
        if hasattr(value, "links"):
            self.tree.links.new(value, socket)
        else:
            socket.default_value = value

    def math(self, operation, first, second):
        node = self.tree.nodes.new("ShaderNodeMath")
        node.operation = operation
        self.set(node.inputs[0], first)
        self.set(node.inputs[1], second)
        return node.outputs[0]

    def mixed(self, factor, first, second):
        node = self.tree.nodes.new("ShaderNodeMixShader")
        self.set(node.inputs[0], factor)
        self.set(node.inputs[1], first)
        self.set(node.inputs[2], second)
        return node.outputs[0]


def color_of(nodes, scene, material, image_of):
    """Sockets or values of the material's base color and alpha."""
    factor = material.base_color
    if material.base_color_picture is None or scene.pictures[material.base_color_picture] is None:
        return (*factor[:3], 1.0), float(factor[3])
    image = nodes.add("ShaderNodeTexImage", Vector=nodes.add("ShaderNodeUVMap").outputs[0])
    nodes.tree.nodes[-2].uv_map = "uv0"
    image.image = image_of(material.base_color_picture)
    tint = nodes.tree.nodes.new("ShaderNodeVectorMath")
    tint.operation = "MULTIPLY"
    nodes.set(tint.inputs[0], image.outputs["Color"])
    tint.inputs[1].default_value = factor[:3] * (1 - material.metallic)
    return tint.outputs[0], nodes.math("MULTIPLY", image.outputs["Alpha"], float(factor[3]))


def material_of(scene, material, image_of, lightmap):
    made = bpy.data.materials.new(material.name or "material")
    made.use_nodes = True
    nodes = Nodes(made.node_tree)
    back = nodes.add("ShaderNodeNewGeometry").outputs["Backfacing"]
    color, alpha = color_of(nodes, scene, material, image_of)
    if isinstance(color, tuple):
        color = (*(np.array(color[:3]) * (1 - material.metallic)), 1.0)
    shader = nodes.add("ShaderNodeBsdfDiffuse", Color=color).outputs[0]
    if not material.double_sided:
        black = nodes.add("ShaderNodeBsdfDiffuse", Color=(0.0, 0.0, 0.0, 1.0)).outputs[0]
        shader = nodes.mixed(back, shader, black)
    if material.alpha_mode == "MASK":
        seen = nodes.math("GREATER_THAN", alpha, material.alpha_cutoff)
        shader = nodes.mixed(seen, nodes.add("ShaderNodeBsdfTransparent").outputs[0], shader)
    elif material.alpha_mode == "BLEND":
        shader = nodes.mixed(alpha, nodes.add("ShaderNodeBsdfTransparent", Color=color).outputs[0], shader)
    strength = float(material.emission.max())
    if strength > 0:
        front = nodes.math("MULTIPLY", nodes.math("SUBTRACT", 1.0, back), strength)
        glow = nodes.add("ShaderNodeEmission", Color=(*(material.emission / strength), 1.0), Strength=front)
        both = nodes.tree.nodes.new("ShaderNodeAddShader")
        nodes.set(both.inputs[0], shader)
        nodes.set(both.inputs[1], glow.outputs[0])
        shader = both.outputs[0]
    nodes.set(nodes.add("ShaderNodeOutputMaterial").inputs["Surface"], shader)
    target = nodes.tree.nodes.new("ShaderNodeTexImage")
    target.image = lightmap
    nodes.tree.nodes.active = target
    return made


def mesh_object(name, positions, normals, uv0, lightmap_uv, material_index, materials):
    count = len(positions)
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(3 * count)
    mesh.vertices.foreach_set("co", positions.astype(np.float32).ravel())
    mesh.loops.add(3 * count)
    mesh.loops.foreach_set("vertex_index", np.arange(3 * count, dtype=np.int32))
    mesh.polygons.add(count)
    mesh.polygons.foreach_set("loop_start", np.arange(0, 3 * count, 3, dtype=np.int32))
    for material in materials:
        mesh.materials.append(material)
    mesh.polygons.foreach_set("material_index", material_index.astype(np.int32))
    mesh.update(calc_edges=True)
    for layer, values in [("uv0", uv0), ("lightmap", lightmap_uv)]:
        if values is not None:
            mesh.uv_layers.new(name=layer).data.foreach_set("uv", values.astype(np.float32).ravel())
    mesh.polygons.foreach_set("use_smooth", np.ones(count, bool))
    mesh.normals_split_custom_set(normals.reshape(-1, 3).astype(np.float32))
    made = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(made)
    return made


def add_lights(scene, sky, sun):
    world = bpy.data.worlds.new("sky")
    bpy.context.scene.world = world
    world.use_nodes = True
    strength = max(max(sky), 1e-9)
    background = world.node_tree.nodes["Background"]
    background.inputs["Color"].default_value = (*(np.array(sky) / strength), 1.0)
    background.inputs["Strength"].default_value = strength if max(sky) > 0 else 0.0
    for light in scene.lights:
        to_world = light["to_world"]
        forward = -to_world[:3, 2] / np.linalg.norm(to_world[:3, 2])
        add_light(light, np.array(light.get("color", [1, 1, 1]), float) * light.get("intensity", 1.0), to_world[:3, 3], forward)
    if sun is not None:
        azimuth, elevation = np.radians(sun[0]), np.radians(sun[1])
        toward = np.array([np.cos(elevation) * np.sin(azimuth), np.sin(elevation), -np.cos(elevation) * np.cos(azimuth)])
        add_light({"type": "directional"}, np.full(3, sun[2]), np.zeros(3), -toward)


def add_light(light, strength, position, forward):
    import mathutils

    scale = float(strength.max())
    directional = light["type"] == "directional"
    lamp = bpy.data.lights.new("light", "SUN" if directional else "POINT")
    lamp.color = strength / scale
    # A Blender point light of P watts has P / (4 pi^2) of radiant intensity; a sun's strength is its irradiance.
    lamp.energy = scale if directional else scale * 4 * np.pi**2
    if directional:
        lamp.angle = 0.0
    else:
        lamp.shadow_soft_size = 0.0
    if light["type"] == "spot":
        spot_profile(lamp, light.get("spot", {}), forward)
    made = bpy.data.objects.new("light", lamp)
    made.location = position
    made.rotation_mode = "QUATERNION"
    made.rotation_quaternion = mathutils.Vector(forward).to_track_quat("-Z", "Y")
    bpy.context.scene.collection.objects.link(made)


def spot_profile(lamp, spot, forward):
    """glTF's cone on a point light: Blender's own spots fade differently."""
    inner, outer = np.cos(spot.get("innerConeAngle", 0.0)), np.cos(spot.get("outerConeAngle", np.pi / 4))
    lamp.use_nodes = True
    nodes = Nodes(lamp.node_tree)
    away = nodes.tree.nodes.new("ShaderNodeVectorMath")
    away.operation = "DOT_PRODUCT"
    nodes.set(away.inputs[0], nodes.add("ShaderNodeNewGeometry").outputs["Incoming"])
    # A light is always seen from its front, so `Incoming` points from the light to what it lights.
    away.inputs[1].default_value = forward
    scaled = nodes.math("DIVIDE", nodes.math("SUBTRACT", away.outputs["Value"], float(outer)), float(max(inner - outer, 1e-4)))
    clamped = nodes.math("MINIMUM", nodes.math("MAXIMUM", scaled, 0.0), 1.0)
    emission = nodes.add("ShaderNodeEmission", Strength=nodes.math("MULTIPLY", clamped, clamped))
    nodes.set(nodes.add("ShaderNodeOutputLight").inputs["Surface"], emission.outputs[0])


def configure(samples, threads, seed):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.engine = "CYCLES"
    scene.render.threads_mode, scene.render.threads = "FIXED", threads
    cycles = scene.cycles
    cycles.device, cycles.samples, cycles.seed = "CPU", samples, seed
    cycles.use_adaptive_sampling = cycles.use_denoising = False
    cycles.max_bounces = cycles.diffuse_bounces = cycles.glossy_bounces = cycles.transparent_max_bounces = 64
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = cycles.light_sampling_threshold = 0
    bake = scene.render.bake
    bake.use_pass_direct = bake.use_pass_indirect = True
    bake.use_pass_color, bake.use_clear, bake.margin, bake.target = False, True, 0, "IMAGE_TEXTURES"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("atlas")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--sky", type=_numbers, default=(0, 0, 0))
    parser.add_argument("--sun", type=_numbers)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    data, layout = gltf_scene.load(arguments.scene), atlas_module.load(arguments.atlas)
    configure(arguments.samples, arguments.threads, arguments.seed)
    pages = layout["pages"]
    width, height = int(pages[:, 0].max()), int(pages[:, 1].sum())
    first_row = np.concatenate([[0], np.cumsum(pages[:, 1])[:-1]])
    lightmap = bpy.data.images.new("lightmap", width, height, alpha=True, float_buffer=True)
    lightmap.colorspace_settings.name = "Non-Color"
    lightmap.generated_color = (0, 0, 0, 0)
    images = {}

    def image_of(index):
        if index not in images:
            picture = data.pictures[index]
            image = bpy.data.images.new(f"picture_{index}", picture.shape[1], picture.shape[0], alpha=True)
            image.alpha_mode = "CHANNEL_PACKED"
            image.pixels.foreach_set((picture[::-1].astype(np.float32) / 255).ravel())
            image.pack()
            images[index] = image
        return images[index]

    materials = [material_of(data, material, image_of, lightmap) for material in data.materials]
    upwards = lambda uv: np.stack([uv[..., 0], 1 - uv[..., 1]], -1)  # noqa: E731
    place = layout["texels"] + np.stack([np.zeros(len(layout["page"])), first_row[layout["page"]]], -1)[:, None]
    scale = np.array([material.uv_scale for material in data.materials])[layout["material"]][:, None]
    offset = np.array([material.uv_offset for material in data.materials])[layout["material"]][:, None]
    baked = mesh_object("baked", layout["positions"], layout["normals"], upwards(layout["uv0"] * scale + offset),
                        upwards(place / (width, height)), layout["material"], materials)
    for surface in data.in_bake():
        if surface.role == "occluder":
            rows = atlas_module.rows(surface, np.zeros((len(surface.triangles), 3, 2)), 0)
            mesh_object(surface.key, rows["positions"], rows["normals"], upwards(rows["uv0"]), None, rows["material"], materials)
    add_lights(data, arguments.sky, arguments.sun)

    bpy.ops.object.select_all(action="DESELECT")
    baked.select_set(True)
    bpy.context.view_layer.objects.active = baked
    baked.data.uv_layers.active = baked.data.uv_layers["lightmap"]
    wall, cpu = time.time(), time.process_time()
    bpy.ops.object.bake(type="DIFFUSE")
    wall, cpu = time.time() - wall, time.process_time() - cpu

    pixels = np.empty(width * height * 4, np.float32)
    lightmap.pixels.foreach_get(pixels)
    pixels = pixels.reshape(height, width, 4)[::-1].copy()
    # Without its color pass a diffuse bake is irradiance / pi.
    pixels[..., :3] *= np.pi
    arrays = {f"page_{index}": pixels[row : row + size[1], : size[0]] for index, (row, size) in enumerate(zip(first_row, pages))}
    np.savez_compressed(arguments.output, cpu_seconds=cpu, **arrays)
    covered = int((pixels[..., 3] > 0).sum())
    print(f"{covered} texels, {arguments.samples} samples each: {cpu:.2f} cpu-s, {wall:.2f} s")


def _numbers(text):
    return tuple(float(number) for number in text.split(","))


if __name__ == "__main__":
    main()
