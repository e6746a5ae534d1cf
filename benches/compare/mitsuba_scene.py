"""A scene of `gltf_scene` in Mitsuba 3, as the baker understands it: matt, single-sided backs black, emission from the
front, cut-outs and tinted glass passed by shadow rays too.

Needs mitsuba, numpy, Pillow, and an LLVM library that Mitsuba likes (set DRJIT_LIBLLVM_PATH).
"""

import drjit as dr
import mitsuba as mi
import numpy as np

mi.set_variant("llvm_ad_rgb")

import gltf_scene  # noqa: E402


class TintedPane(mi.BSDF):
    """Reflects `alpha * color` diffusely on both sides and lets `(1 - alpha) * color` straight through."""

    def __init__(self, props):
        mi.BSDF.__init__(self, props)
        self.color = props["color"]
        self.alpha = props["alpha"]
        sides = mi.BSDFFlags.FrontSide | mi.BSDFFlags.BackSide
        self.m_components = [mi.BSDFFlags.DiffuseReflection | sides, mi.BSDFFlags.Null | sides]
        self.m_flags = self.m_components[0] | self.m_components[1]

    def sample(self, ctx, si, sample1, sample2, active=True):
        alpha = self.alpha.eval_1(si, active)
        reflects = sample1 < alpha
        up = mi.warp.square_to_cosine_hemisphere(sample2)
        up.z = dr.mulsign(up.z, si.wi.z)
        sample = dr.zeros(mi.BSDFSample3f)
        sample.wo = dr.select(reflects, up, -si.wi)
        sample.pdf = dr.select(reflects, alpha * dr.abs(up.z) / dr.pi, 1 - alpha)
        sample.eta = 1.0
        sample.sampled_type = dr.select(reflects, mi.UInt32(+mi.BSDFFlags.DiffuseReflection), mi.UInt32(+mi.BSDFFlags.Null))
        sample.sampled_component = dr.select(reflects, mi.UInt32(0), mi.UInt32(1))
        return sample, self.color.eval(si, active) & active

    def eval(self, ctx, si, wo, active=True):
        same_side = wo.z * si.wi.z > 0
        reflected = self.color.eval(si, active) * self.alpha.eval_1(si, active) * dr.abs(wo.z) / dr.pi
        return dr.select(same_side & active, reflected, 0)

    def pdf(self, ctx, si, wo, active=True):
        return dr.select((wo.z * si.wi.z > 0) & active, self.alpha.eval_1(si, active) * dr.abs(wo.z) / dr.pi, 0)

    def eval_pdf(self, ctx, si, wo, active=True):
        return self.eval(ctx, si, wo, active), self.pdf(ctx, si, wo, active)

    def eval_null_transmission(self, si, active=True):
        return self.color.eval(si, active) * (1 - self.alpha.eval_1(si, active))

    def to_string(self):
        return "TintedPane[]"


mi.register_bsdf("tinted_pane", lambda props: TintedPane(props))


def build(scene, sky=(0, 0, 0), sun=None, with_movers=False, smooth=True):
    """A Mitsuba scene. `sky` is in cd/m2, `sun` is (azimuth, elevation, lux, diameter) in degrees as on the baker's
    command line. `smooth` interpolates normals."""
    # Shadow rays that pass cut-outs and glass are the volumetric integrator's; it costs more than the plain one.
    can_be_passed = any(material.alpha_mode != "OPAQUE" for material in scene.materials)
    integrator = {"type": "volpath" if can_be_passed else "path", "max_depth": -1, "rr_depth": 8, "hide_emitters": True}
    parts = {"type": "scene", "integrator": integrator}
    bsdfs = [_bsdf(scene, material) for material in scene.materials]
    surfaces = scene.surfaces if with_movers else scene.in_bake()
    for number, surface in enumerate(s for s in surfaces if s.role != "excluded" and len(s.triangles)):
        material = scene.materials[surface.material]
        parts[f"surface_{number}"] = _mesh(surface, material, bsdfs[surface.material], smooth)
    for number, light in enumerate(scene.lights):
        parts[f"light_{number}"] = _light(light)
    if sun is not None:
        azimuth, elevation, lux = np.radians(sun[0]), np.radians(sun[1]), sun[2]
        toward = [np.cos(elevation) * np.sin(azimuth), np.sin(elevation), -np.cos(elevation) * np.cos(azimuth)]
        parts["sun"] = _sun(np.array(toward), [lux] * 3)
    if max(sky) > 0:
        parts["sky"] = {"type": "constant", "radiance": _rgb(sky), "sampling_weight": 8.0}
    return mi.load_dict(parts)


def _rgb(values):
    return {"type": "rgb", "value": [float(value) for value in values]}


def _bsdf(scene, material):
    factor = material.base_color
    picture = None if material.base_color_picture is None else scene.pictures[material.base_color_picture]
    reflects = 1 - material.metallic
    if material.alpha_mode == "BLEND":
        if picture is None:
            picture = np.full((1, 1, 4), 255, np.uint8)
        color = gltf_scene.srgb_to_linear(picture[..., :3]) * factor[:3]
        alpha = picture[..., 3:].astype(np.float32) / 255 * factor[3]
        return {"type": "tinted_pane", "color": _texture(color), "alpha": _texture(alpha)}
    if picture is None:
        bsdf = {"type": "diffuse", "reflectance": _rgb(factor[:3] * reflects)}
    else:
        color = gltf_scene.srgb_to_linear(picture[..., :3]) * factor[:3] * reflects
        bsdf = {"type": "diffuse", "reflectance": _texture(color)}
    if material.double_sided:
        bsdf = {"type": "twosided", "bsdf": bsdf}
    if material.alpha_mode == "MASK" and picture is not None:
        # The baker compares the filtered alpha with the threshold; enlarging first keeps that edge.
        alpha = _enlarge(picture[..., 3].astype(np.float32) / 255 * factor[3], 8)
        opacity = (alpha >= material.alpha_cutoff).astype(np.float32)[..., None]
        bsdf = {"type": "mask", "opacity": _texture(opacity, filter_type="nearest"), "bsdf": bsdf}
    return bsdf


def _texture(values, filter_type="bilinear"):
    bitmap = mi.Bitmap(np.ascontiguousarray(values, dtype=np.float32))
    return {"type": "bitmap", "bitmap": bitmap, "raw": True, "filter_type": filter_type, "wrap_mode": "repeat"}


def _enlarge(values, times):
    """Bilinear enlargement of a picture that repeats."""
    for axis in (0, 1):
        count = values.shape[axis]
        place = (np.arange(count * times) + 0.5) / times - 0.5
        low = np.floor(place).astype(int)
        blend = place - low
        blend = blend[:, None] if axis == 0 else blend[None, :]
        values = np.take(values, low % count, axis) * (1 - blend) + np.take(values, (low + 1) % count, axis) * blend
    return values


def _mesh(surface, material, bsdf, smooth):
    props = mi.Properties()
    props["bsdf"] = mi.load_dict(bsdf)
    if material.emission.max() > 0:
        props["emitter"] = mi.load_dict({"type": "area", "radiance": _rgb(material.emission)})
    has_normals = smooth and surface.normals is not None
    has_uv = surface.uv0 is not None
    mesh = mi.Mesh(surface.key, len(surface.positions), len(surface.triangles), has_vertex_normals=has_normals,
                   has_vertex_texcoords=has_uv, props=props)
    arrays = mi.traverse(mesh)
    arrays["vertex_positions"] = surface.positions.ravel()
    arrays["faces"] = surface.triangles.astype(np.uint32).ravel()
    if has_normals:
        arrays["vertex_normals"] = surface.normals.ravel()
    if has_uv:
        arrays["vertex_texcoords"] = (surface.uv0 * material.uv_scale + material.uv_offset).astype(np.float32).ravel()
    arrays.update()
    return mesh


def _sun(toward, lux):
    # Lights are chosen by these weights; the sun and the sky carry most of the light wherever there are any.
    direction = [float(-value) for value in toward]
    return {"type": "directional", "direction": direction, "irradiance": _rgb(lux), "sampling_weight": 32.0}


def _light(light):
    to_world = light["to_world"]
    color = np.array(light.get("color", [1, 1, 1]), float) * light.get("intensity", 1.0)
    position, forward = to_world[:3, 3], -to_world[:3, 2] / np.linalg.norm(to_world[:3, 2])
    if light["type"] == "directional":
        return _sun(-forward, color)
    if light["type"] == "point":
        return {"type": "point", "position": [float(value) for value in position], "intensity": _rgb(color)}
    return _spot(light, color, position, forward)


def _spot(light, color, position, forward):
    """Mitsuba's own falloff is linear in the angle; glTF's profile comes as a picture across a cone without falloff."""
    inner = light.get("spot", {}).get("innerConeAngle", 0.0)
    outer = light.get("spot", {}).get("outerConeAngle", np.pi / 4)
    size = 1024
    edge = (np.arange(size) + 0.5) / size * 2 - 1
    radius = np.hypot(*np.meshgrid(edge, edge)) * np.tan(outer)
    cosine = 1 / np.sqrt(1 + radius**2)
    scale = 1 / max(np.cos(inner) - np.cos(outer), 1e-4)
    profile = np.clip((cosine - np.cos(outer)) * scale, 0, 1) ** 2
    side = [1, 0, 0] if abs(forward[0]) < 0.9 else [0, 1, 0]
    return {
        "type": "spot",
        "to_world": mi.ScalarTransform4f().look_at(
            origin=position.tolist(), target=(position + forward).tolist(), up=side),
        "intensity": _rgb(color),
        "texture": _texture(profile[..., None].repeat(3, 2)),
        "cutoff_angle": float(np.degrees(outer)),
        "beam_width": float(np.degrees(outer) * 0.9999),
    }
