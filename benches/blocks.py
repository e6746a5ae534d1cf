"""Work on a graphics card in workgroups of several sizes: prints Markdown.

    python3 benches/blocks.py radiosity [--blocks 8,16,32,64,128,256] [--size 128x128] [--rays 200000]

Needs nothing but Python. Every block has to give the same bytes. Without a card, VK_DRIVER_FILES may name lavapipe.
"""

import argparse
import json
import math
import random
import struct
import subprocess
import tempfile
from pathlib import Path


def write_rays(path, count):
    numbers = random.Random(1)
    with open(path, "wb") as file:
        for _ in range(count):
            y, around = 2 * numbers.random() - 1, 2 * math.pi * numbers.random()
            across = math.sqrt(1 - y * y)
            file.write(struct.pack("<8f", 0.1, -0.2, 0.3, 0, across * math.cos(around), y, across * math.sin(around), math.inf))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("radiosity")
    parser.add_argument("--blocks", default="8,16,32,64,128,256")
    parser.add_argument("--size", default="128x128")
    parser.add_argument("--rays", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3, help="the fastest run counts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_rays(folder / "rays", options.rays)
        picture = ["--size", options.size, "--samples", "8", "-o", "x.exr"]
        bake = ["--method", "counted", "--subscenes", "8", "--density", "8", "--error", "0.03", "--no-volume"]
        works = {
            "rays": (["rays", "builtin:cornell_balls", "--rays", "rays", "--hits", "hits", "--passes", "3"], "hits"),
            "paths from the eye": (["render", "builtin:cornell_balls", *picture], "x.exr"),
            "paths from lights": (["render", "builtin:cornell_balls", "--integrator", "light", *picture], "x.exr"),
            "counted rays": (["bake", "builtin:cornell_box", *bake, "--no-preview", "--force", "-o", "out"], "page"),
        }

        def seconds(name, command, result, block):
            run = [Path(options.radiosity).resolve(), *command, "--backend", "gpu", "--block", str(block), "--json"]
            report = json.loads(subprocess.run(run, check=True, capture_output=True, text=True, cwd=folder).stdout)
            assert report.get("backend", "gpu") == "gpu", report
            found = report["seconds"]
            if isinstance(found, dict):
                found = found["render"] if "render" in found else found["solve"]
            path = folder / result if result != "page" else sorted((folder / "out").glob("page_0*.exr"))[0]
            return found, path.read_bytes()

        print("| threads of a block |", " | ".join(f"{name}, s" for name in works), "|")
        print("| --- " * (1 + len(works)) + "|")
        first = {}
        for block in options.blocks.split(","):
            row = []
            for name, (command, result) in works.items():
                times = []
                for _ in range(options.runs):
                    time, answer = seconds(name, command, result, block)
                    times.append(time)
                    assert first.setdefault(name, answer) == answer, f"{name}: another result with blocks of {block}"
                row.append(f"{min(times):.3f}")
            print("|", " | ".join([block, *row]), "|", flush=True)


if __name__ == "__main__":
    main()
