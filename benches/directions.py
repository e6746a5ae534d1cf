"""Seven scenes of document `003` at four tolerances, by the method of directions as published and by the hybrid.

    python3 benches/directions.py radiosity [--size 48x32] [--only REGEX] [--limit SECONDS]

Prints Markdown. Needs nothing but Python. Cpu-seconds are user and system time of all threads of the process. The
reference is the hybrid with many samples and another seed; `path` has to agree with it. A run that the limit of time ends
before its tolerance has a star.
"""

import argparse
import json
import re
import resource
import subprocess
import tempfile
from pathlib import Path

SCENES = ["cornell_box", "cornell_balls", "hidden_lamp", "mirror_walls", "glass_and_mirrors", "mirror_floor", "ball_flake"]
TOLERANCES = [0.1, 0.01, 0.001, 0.0001]
METHODS = {"as published": ["--integrator", "light", "--faithful"], "hybrid": ["--integrator", "hybrid"]}
HISTOGRAM = 0.01
UNLIMITED = (1 << 24) - 1


def render(options, scene, picture, *more):
    command = [options.radiosity, "render", f"builtin:{scene}", "-o", picture, "--size", options.size, "--filter", "box", "--backend", "cpu", "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run([*command, *map(str, more)], check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return json.loads(output) | {"cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def mean_of(report):
    """Mean of the picture that a report's picture was compared with."""
    return report["rmse"] / report["relative_rmse"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("radiosity")
    parser.add_argument("--size", default="48x32")
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, default=4096, help="of the reference, and of `path`")
    parser.add_argument("--limit", type=float, default=120)
    options = parser.parse_args()
    histograms = []
    with tempfile.TemporaryDirectory() as folder:
        reference, by_paths, picture = (str(Path(folder) / name) for name in ("reference.exr", "path.exr", "picture.exr"))
        print("| scene | method | tolerance | light paths | contributions a pixel | pixels without | RMSE, % | cpu-seconds |")
        print("| --- " * 8 + "|")
        for scene in filter(lambda scene: re.search(options.only, scene), SCENES):
            many = ["--samples", options.samples, "--seed", 1]
            render(options, scene, reference, "--integrator", "hybrid", *many)
            agreement = render(options, scene, by_paths, *many, "--reference", reference)
            back = render(options, scene, picture, "--samples", 1, "--reference", by_paths)
            ratio = mean_of(back) / mean_of(agreement)
            for name, method in METHODS.items():
                for tolerance in TOLERANCES:
                    ends = ["--tolerance", tolerance, "--samples", UNLIMITED, "--time", options.limit]
                    report = render(options, scene, picture, *method, *ends, "--reference", reference)
                    found = report["contributions_per_pixel"]
                    star = "" if found * tolerance >= 0.999 else " *"
                    bins = report.get("contributions", [])
                    without = sum(one["pixels"] for one in bins if one["to"] == 0) if bins else ""
                    error = 100 * report["shown_rmse"]
                    row = [scene, name, f"{tolerance}{star}", number(report["light_paths"]), number(found), without, f"{error:.3g}", f"{report['cpu']:.2g}"]
                    print("|", " | ".join(map(str, row)), "|", flush=True)
                    if bins and tolerance == HISTOGRAM:
                        histograms.append((scene, bins, ratio, 100 * agreement["shown_rmse"]))
    edges = [1 << power for power in range(4, 11)]
    print("\n| scene | none |", " | ".join(f"below {edge}" for edge in edges), "| more | mean of `path` over the reference's | its RMSE, % |")
    print("| --- " * (len(edges) + 5) + "|")
    for scene, bins, ratio, error in histograms:
        counts = [0] * (len(edges) + 2)
        for one in bins:
            counts[0 if one["to"] == 0 else 1 + sum(one["from"] >= edge for edge in edges)] += one["pixels"]
        print("|", scene, "|", " | ".join(map(str, counts)), f"| {ratio:.4f} | {error:.3g} |")


if __name__ == "__main__":
    main()
