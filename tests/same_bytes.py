"""Bakes and renders with one build of `radiosity`, prints what its files hash to, and compares such lists.

    python tests/same_bytes.py run BINARY [--runner "qemu-aarch64 -L /usr/aarch64-linux-gnu"] [--only REGEX] > arm64.txt
    python tests/same_bytes.py compare linux.txt arm64.txt ...

Needs nothing but Python. The first list of `compare` is what the others are held against; it prints Markdown, and its exit
code is 1 where they differ. Seconds, peak memory and the digest over both are taken out of `report.json`.
"""

import argparse
import hashlib
import json
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

METHODS = ["gather", "stochastic", "progressive", "path"]
# Texels per meter: so few that processors which are emulated are done within an hour.
DENSITY = {"armadillo": 1, "armadillos": 1, "shining_things": 1, "glass_and_mirrors": 1, "salon": 0.2, "estudio": 0.2}
DENSITY |= {"habitacion": 0.2, "habitacion_grande": 0.1, "edificio": 0.02}
USUAL_DENSITY = 2
# For the same reason.
ERROR, VOLUME = {"edificio": 8}, {"edificio": ["--volume", 4]}
USUAL_ERROR = 0.5
# Elsewhere counted rays take minutes, or meet surfaces that are not opaque.
COUNTED = ["cornell_box", "cornell_empty", "furnace", "ceil", "unit_cube", "sphere", "two_rooms", "doorless_rooms", "armadillo", "armadillos"]
# Their light is in mirrors and glass, and 780 balls have lightmaps of many pages: they are drawn, not baked.
DRAWN = ["cornell_balls", "hidden_lamp", "mirror_walls", "mirror_floor", "ball_flake", "cornell_mirror", "car"]
PROGRESSIVE = [["--faithful"], ["--subscenes", 4], ["--subscenes", 8, "--partition", "hybrid"], ["--subscenes", 4, "--partition", "balanced"]]
ASSETS = Path(__file__).resolve().parent.parent / "assets"
# Other from run to run or from machine to machine, and the digest covers them.
PASSING = ["seconds", "peak_memory_bytes", "memory_mib", "estimated_memory_bytes", "digest"]


def write_inputs(folder):
    """A sky of high range, and a floor with a JPEG on it."""
    header = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 4 +X 8\n"
    pixels = b"".join(struct.pack("4B", 255 - 5 * n, 128 + 3 * n, 60 + 6 * n, 118 + n % 20) for n in range(32))
    (folder / "sky.hdr").write_bytes(header + pixels)
    shutil.copy(ASSETS / "pictures" / "library.jpg", folder / "floor.jpg")
    (folder / "floor.mtl").write_text("newmtl floor\nmap_Kd floor.jpg\nnewmtl wall\nKd 0.7 0.6 0.5\n", newline="\n")
    corners = [(0, 0, 0), (3, 0, 0), (3, 0, 2), (0, 0, 2), (0, 2, 0), (3, 2, 0)]
    lines = ["mtllib floor.mtl", *("v %d %d %d" % corner for corner in corners), "vt 0 0", "vt 1 0", "vt 1 1", "vt 0 1"]
    lines += ["usemtl floor", "f 1/1 4/4 3/3 2/2", "usemtl wall", "f 1/1 2/2 6/3 5/4"]
    (folder / "floor.obj").write_text("\n".join(lines) + "\n", newline="\n")


def cases(scenes):
    """Names, and the arguments that each gives the command line but for `-o`."""
    for scene in DRAWN:
        yield f"{scene} render hybrid", ["render", f"builtin:{scene}", "--size", "64x48", "--samples", 4, "--integrator", "hybrid"]
    for scene in (scene for scene in scenes if scene not in DRAWN):
        density, error = DENSITY.get(scene, USUAL_DENSITY), ERROR.get(scene, USUAL_ERROR)
        quality = ["--density", density, "--error", error, *VOLUME.get(scene, [])]
        for method in METHODS + ["counted"] * (scene in COUNTED):
            yield f"{scene} {method}", ["bake", f"builtin:{scene}", "--method", method, *quality]
    for more in PROGRESSIVE:
        words = ["two_rooms", "progressive", *map(str, more)]
        yield " ".join(words), ["bake", "builtin:two_rooms", "--method", "progressive", "--density", 1, "--error", 0.5, *more]
    level, sky = str(ASSETS / "level.glb"), ["--sky", "3000,4200,6500"]
    yield "level.glb gather", ["bake", level, *sky, "--density", 0.5, "--error", 0.5, "--volume", 3]
    yield "two_rooms gather, --relight", ["bake", "builtin:two_rooms", "--density", 2, "--error", 0.5, "--relight", 200]
    for angle in ["0,10", "47,33.3", "211,60", "303.7,81"]:
        yield f"floor.obj gather, --sun {angle}", ["bake", "floor.obj", "--density", 8, "--error", 0.3, "--sun", f"{angle},50000"]
    yield "floor.obj path, .hdr", ["bake", "floor.obj", "--density", 8, "--error", 0.3, "--method", "path", "--sky", "sky.hdr,2000,77"]
    for integrator in ["path", "light", "hybrid", "whitted", "direct"]:
        for scene in ["shining_things", "glass_and_mirrors"]:
            yield f"{scene} render {integrator}", ["render", f"builtin:{scene}", "--size", "64x48", "--samples", 4, "--integrator", integrator]
    faithful = ["render", "builtin:glass_and_mirrors", "--size", "64x48", "--integrator", "light", "--faithful", "--tolerance", 0.2]
    yield "glass_and_mirrors render light --faithful", faithful
    yield "floor.obj render, .hdr", ["render", "floor.obj", "--size", "64x48", "--samples", 4, "--sky", "sky.hdr,2000,77"]
    for tonemapping in ["none", "reinhard", "reinhard-luminance", "aces-fitted", "agx", "somewhat-boring-display-transform", "tony-mc-mapface", "khronos-pbr-neutral"]:
        yield f"habitacion png {tonemapping}", ["render", "builtin:habitacion", "--size", "64x48", "--samples", 4, "--tonemapping", tonemapping]


def content(path):
    """What of a file has to be the same."""
    if path.name != "report.json":
        return path.read_bytes()
    report = json.loads(path.read_bytes())
    kept = {key: value for key, value in report.items() if key not in PASSING}
    return json.dumps(kept, sort_keys=True).encode() + b"\r" * path.read_bytes().count(b"\r")


def run(options):
    command = [*shlex.split(options.runner), str(Path(options.binary).resolve())]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_inputs(folder)

        def radiosity(arguments):
            # Wine wants files for its output, not pipes.
            with open(folder / "said.txt", "w+b") as said:
                status = subprocess.run([*command, *map(str, arguments)], cwd=folder, stdout=said, stderr=subprocess.STDOUT).returncode
                said.seek(0)
                text = said.read().decode(errors="replace")
            if status != 0:
                sys.exit(f"{shlex.join(map(str, arguments))}: exit code {status}\n{text}")
            return text

        scenes = re.findall(r"builtin:(\w+)", radiosity(["info", "builtin:"]))
        for name, arguments in cases(dict.fromkeys(scenes)):
            if not re.search(options.only, name):
                continue
            if arguments[0] == "render":
                outputs = [folder / ("out.png" if " png " in name else "out.exr")]
                radiosity([*arguments, "-o", outputs[0].name])
            else:
                radiosity([*arguments, "-o", "out"])
                outputs = sorted((folder / "out").iterdir())
            for path in outputs:
                print(hashlib.sha256(content(path)).hexdigest()[:16], f"{name}: {path.name}", flush=True)
            for path in outputs:
                path.unlink()


def read(path):
    """Hashes of files by case."""
    by_case = {}
    for line in Path(path).read_text().splitlines():
        digest, name = line.split(" ", 1)
        case, file = name.split(": ")
        by_case.setdefault(case, {})[file] = digest
    return by_case


def compare(options):
    lists = {Path(path).stem: read(path) for path in options.lists}
    reference, *others = lists
    print("| case | files |", " | ".join([f"hash: {reference}", *others]), "|\n" + "| --- " * (len(lists) + 2) + "|")
    differing = 0
    for case, files in lists[reference].items():
        whole = hashlib.sha256("".join(digest + file for file, digest in sorted(files.items())).encode()).hexdigest()
        row = [case, str(len(files)), whole[:12]]
        for other in others:
            theirs = lists[other].get(case)
            changed = [] if theirs is None else sorted(file for file in files.keys() | theirs if files.get(file) != theirs.get(file))
            differing += len(changed) + (theirs is None)
            row.append("not run" if theirs is None else ", ".join(changed) or "equal")
        print("|", " | ".join(row), "|")
    sys.exit(differing > 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("binary")
    one.add_argument("--runner", default="", help="what runs the binary")
    one.add_argument("--only", default="", help="a regular expression of cases")
    one.set_defaults(function=run)
    several = commands.add_parser("compare")
    several.add_argument("lists", nargs="+")
    several.set_defaults(function=compare)
    options = parser.parse_args()
    options.function(options)


main()
