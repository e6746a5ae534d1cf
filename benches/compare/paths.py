"""Paths a cpu-second of `radiosity render`, Cycles and Mitsuba, in turn, so that all meet the same load.

    python paths.py SCENE.gltf --eye X,Y,Z --target X,Y,Z --fov DEG --cycles bl/bin/python --mitsuba mi/bin/python [--rounds 3]
        [--ours radiosity] [--samples 64,256] [--bounces N] [--threads 2]

Needs nothing but Python. A path is one sample of one pixel, however long. Cpu-seconds are user and system time of all threads; what a renderer spends
before and after its paths is taken out as the difference between two numbers of samples. Prints the median of the rounds and the mean radiance
that each found, which must agree.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile

import pictures


def ours(arguments, picture):
    """Cpu-seconds for each number of samples."""
    look = [f"--{name}={','.join(map(str, values))}" for name, values in (("eye", arguments.eye), ("target", arguments.target))]
    bounces = [] if arguments.bounces is None else [f"--bounces={arguments.bounces}"]
    found = []
    for samples in arguments.samples:
        command = [arguments.ours, "render", arguments.scene, "-o", picture, *look, f"--fov={arguments.fov}", "--filter=box",
                   f"--size={arguments.size}x{arguments.size}", f"--samples={samples}", f"--threads={arguments.threads}",
                   "--backend=cpu", "--ev=0", "--json", *bounces]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append({"samples": samples, "cpu_seconds": seconds})
    return found


def theirs(python, script, arguments):
    look = [f"--eye={','.join(map(str, arguments.eye))}", f"--target={','.join(map(str, arguments.target))}"]
    bounces = [] if arguments.bounces is None else [f"--bounces={arguments.bounces}"]
    command = [python, os.path.join(os.path.dirname(os.path.abspath(__file__)), script), arguments.scene, *look,
               f"--fov={arguments.fov}", f"--size={arguments.size}", f"--threads={arguments.threads}",
               f"--samples={','.join(map(str, arguments.samples))}", *bounces]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    pictures.add_look(parser)
    parser.add_argument("--ours", default="radiosity")
    parser.add_argument("--cycles", required=True, help="a Python that has bpy")
    parser.add_argument("--mitsuba", required=True, help="a Python that has mitsuba")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    speeds = {"ours": [], "Cycles": [], "Mitsuba": []}
    means = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            runs = {
                "ours": ours(arguments, os.path.join(folder, "picture.exr")),
                "Cycles": theirs(arguments.cycles, "cycles_picture.py", arguments),
                "Mitsuba": theirs(arguments.mitsuba, "mitsuba_picture.py", arguments),
            }
            for name, (few, many) in runs.items():
                paths = arguments.size**2 * (many["samples"] - few["samples"])
                speeds[name].append(paths / (many["cpu_seconds"] - few["cpu_seconds"]))
                means[name] = many.get("mean")
            print(f"round {number + 1}: " + ", ".join(f"{name} {speed[-1]:,.0f}" for name, speed in speeds.items()), flush=True)
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    for name, median in medians.items():
        mean = "" if means[name] is None else f", mean radiance {means[name]:.5f}"
        print(f"{name}: {median:,.0f} paths a cpu-second, ours {medians['ours'] / median:.2f} x that{mean}")


if __name__ == "__main__":
    main()
