"""Load and build times of meshes of the six sizes of Venegas Tamayo 2013 (table 5.4): prints Markdown.

    python3 benches/sizes.py radiosity [--runs 5]

Needs nothing but Python. Meshes are knobbly rings in OBJ files, as in `benches/frames.rs`. The fastest run counts, on one
thread.
"""

import argparse
import json
import math
import random
import struct
import subprocess
import tempfile
from pathlib import Path

SIZES = [(22, 22), (54, 46), (79, 40), (319, 118), (250, 200), (1000, 50)]


def write_ring(path, around, across):
    with open(path, "w") as file:
        for a in range(around):
            for b in range(across):
                u, v = math.tau * a / around, math.tau * b / across
                out = 1 + 0.5 * math.cos(v)
                x, y, z = out * math.cos(u), 0.5 * math.sin(v), out * math.sin(u)
                knob = 1 + 0.1 * math.sin(9 * x) * math.cos(9 * y) * math.sin(9 * z)
                file.write(f"v {x * knob:.7f} {y * knob:.7f} {z * knob:.7f}\n")
        for a in range(around):
            for b in range(across):
                corner = lambda i, j: (a + i) % around * across + (b + j) % across + 1
                file.write(f"f {corner(0, 0)} {corner(0, 1)} {corner(1, 1)}\nf {corner(0, 0)} {corner(1, 1)} {corner(1, 0)}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("radiosity")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print("| triangles | file, KB | load, s | tree, s | nodes | depth | references a triangle | steps a ray |")
    print("| --- " * 8 + "|")
    with tempfile.TemporaryDirectory() as folder:
        path, rays, hits = (Path(folder) / name for name in ("ring.obj", "rays", "hits"))
        write_rays(rays)
        for around, across in SIZES:
            write_ring(path, around, across)

            def report(*command):
                run = subprocess.run([options.radiosity, *command, "--json"], check=True, capture_output=True, text=True)
                return json.loads(run.stdout)

            picture = ["render", path, "-o", Path(folder) / "x.png", "--size", "8x8", "--samples", "1", "--backend", "cpu"]
            times = [report(*picture, "--threads", "1")["seconds"] for _ in range(options.runs)]
            tree = report("info", path)
            replayed = report("rays", path, "--rays", rays, "--hits", hits, "--traversal", "stack", "--backend", "cpu")
            kdtree = tree["kdtree"]
            cells = [f"{tree['triangles']:,}", f"{path.stat().st_size / 1000:.0f}"]
            cells += [f"{min(time[stage] for time in times):.3f}" for stage in ("load", "tree")]
            cells += [f"{replayed['nodes']:,}", str(replayed["depth"]), f"{kdtree['references_per_triangle']:.2f}"]
            print("|", " | ".join(cells), f"| {replayed['steps_per_ray']:.1f} |", flush=True)


def write_rays(path):
    numbers = random.Random(1)
    with open(path, "wb") as file:
        for _ in range(20_000):
            y, around = 2 * numbers.random() - 1, math.tau * numbers.random()
            across = math.sqrt(1 - y * y)
            place = [4 * numbers.random() - 2 for _ in range(3)]
            file.write(struct.pack("<8f", *place, 0, across * math.cos(around), y, across * math.sin(around), math.inf))


if __name__ == "__main__":
    main()
