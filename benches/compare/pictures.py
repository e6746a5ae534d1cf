"""What the scripts that draw pictures share."""

import argparse
import dataclasses

# Ours lets no path end by chance before as many reflections.
CERTAIN_REFLECTIONS = 3


def numbers(text):
    return [float(number) for number in text.split(",")]


def add_look(parser):
    parser.add_argument("scene")
    parser.add_argument("--eye", type=numbers, required=True)
    parser.add_argument("--target", type=numbers, required=True)
    parser.add_argument("--fov", type=float, required=True, help="degrees from bottom to top")
    parser.add_argument("--size", type=int, default=256, help="columns and rows")
    parser.add_argument("--samples", type=lambda text: [int(number) for number in text.split(",")], default=[64, 256])
    parser.add_argument("--bounces", type=int, help="most reflections; paths are not ended by chance then")
    parser.add_argument("--threads", type=int, default=2)


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_look(parser)
    return parser.parse_args()


def seen_from_both_sides(scene):
    """The scene without the work of telling fronts from backs: for closed rooms, whose backs are never seen."""
    scene.materials = [dataclasses.replace(material, double_sided=True) for material in scene.materials]
    return scene
