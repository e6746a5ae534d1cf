"""Trees by three builders, each traversed in four ways, and rays without a tree: prints Markdown.

    python3 benches/walks.py radiosity SCENE X,Y,Z [--rays 100000] [--naive 2000]

Needs nothing but Python. Rays go from the point X,Y,Z in uniformly distributed directions. All rows have to find the same
hits. Cpu-seconds of a ray are the difference between eleven passes and one.
"""

import argparse
import json
import math
import random
import resource
import struct
import subprocess
import tempfile
from pathlib import Path


def write_rays(path, eye, count):
    numbers = random.Random(1)
    with open(path, "wb") as file:
        for _ in range(count):
            y, around = 2 * numbers.random() - 1, 2 * math.pi * numbers.random()
            across = math.sqrt(1 - y * y)
            file.write(struct.pack("<8f", *eye, 0, across * math.cos(around), y, across * math.sin(around), math.inf))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("radiosity")
    parser.add_argument("scene")
    parser.add_argument("eye", type=lambda text: [float(number) for number in text.split(",")])
    parser.add_argument("--rays", type=int, default=100_000)
    parser.add_argument("--naive", type=int, default=2_000, help="rays without a tree")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rays, hits = Path(folder) / "rays", Path(folder) / "hits"

        def replay(*more, passes):
            command = [options.radiosity, "rays", options.scene, "--rays", rays, "--hits", hits, "--threads", "1", "--passes", str(passes), "--backend", "cpu", "--json", *more]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            report = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return report, hits.read_bytes(), after.ru_utime - before.ru_utime

        def timed(*more, passes=10):
            _, _, once = replay(*more, passes=1)
            report, answer, often = replay(*more, passes=1 + passes)
            return report | {"cpu": max(often - once, 0) / passes / report["rays"]}, answer

        print("| builder | traversal | nodes | steps a ray | triangles a ray | restarts a ray | cpu-microseconds a ray |")
        print("| --- " * 7 + "|")

        def row(builder, traversal, report):
            restarts = report.get("restarts_per_ray")
            cells = [builder, traversal, f"{report['nodes']:,}", f"{report['steps_per_ray']:.1f}"]
            cells += [f"{report['triangles_per_ray']:,.1f}", "" if restarts is None else f"{restarts:.2f}"]
            print("|", " | ".join(cells), f"| {1e6 * report['cpu']:.2f} |", flush=True)
            assert report["unfinished"] == 0

        write_rays(rays, options.eye, options.rays)
        found = []
        for builder in ("sah", "longest-axis", "median"):
            for traversal in ("wide", "stack", "restart", "ropes"):
                report, answer = timed("--builder", builder, "--traversal", traversal)
                row(builder, traversal, report)
                found.append(answer)
        different = max(sum(one[at:at + 8] != found[0][at:at + 8] for at in range(0, len(one), 8)) for one in found)
        write_rays(rays, options.eye, options.naive)
        report, naive = timed("--traversal", "brute-force", passes=1)
        row("none", "brute-force", report)
        print(f"\n{different} of {options.rays} rays differ; without a tree {'none' if found[0].startswith(naive) else 'some'} of {options.naive}.")


if __name__ == "__main__":
    main()
