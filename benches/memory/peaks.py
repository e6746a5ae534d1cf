#!/usr/bin/env python3
"""Holds the most memory that the command line takes against what it was allowed.

    python3 benches/memory/peaks.py --binary target/release/radiosity [--scenes ../shared/scenes] [--only WORD] > docs/validation/memory.md

Each level is baked with as little memory as it is begun with, which refusals name, so that whatever is not counted shows.
Linux, Python 3.9, no packages."""
import argparse, datetime, os, platform, re, shlex, signal, subprocess, sys, tempfile, time

from bombs import BOMBS, __file__ as BOMBS_FILE

MAX_BEYOND = 1.05
OF_ALL = ["--backend", "cpu", "--threads", "2"]
BAKES = [
    ("builtin:cornell_box", "--density", "24"),
    ("builtin:cornell_box", "--density", "24", "--error", "0.01"),
    ("builtin:cornell_box", "--density", "48", "--volume", "0.05"),
    ("builtin:habitacion", "--density", "12", "--relight", "300", "--error", "0.1"),
    ("builtin:armadillos", "--density", "4", "--error", "0.3"),
    ("builtin:edificio", "--density", "6", "--relight", "1000", "--error", "0.3", "--no-volume"),
    ("builtin:salon", "--density", "4", "--method", "stochastic", "--error", "0.3"),
    ("builtin:estudio", "--density", "4", "--method", "path", "--error", "0.5"),
    ("builtin:habitacion", "--density", "3", "--method", "progressive", "--error", "0.5"),
    ("builtin:edificio", "--density", "1.5", "--method", "progressive", "--subscenes", "16", "--error", "0.5"),
    ("assets/level.glb", "--density", "8", "--error", "0.1"),
    ("assets/level.glb", "--density", "8", "--error", "0.3", "--relight", "200"),
]
OF_SCENES = [
    ("sponza/sponza.glb", "--density", "2", "--error", "0.3", "--sun", "200,60,50000", "--sky", "3000,4000,6000"),
    ("meshes/nefertiti.obj", "--density", "0.05", "--error", "0.3", "--sky", "1000,1000,1000"),
]
OTHERS = [("info",), ("render", "--size", "320x180", "--samples", "2", "-o", "{folder}/picture.png")]
NEEDS = re.compile(r"needs? about (\d+) MiB")


class Run:
    """A run of the command line to its end, or for so many seconds."""

    def __init__(self, binary, arguments, interrupted_after=None):
        self.error = tempfile.TemporaryFile()
        process = subprocess.Popen([binary, *arguments], stdout=subprocess.DEVNULL, stderr=self.error, stdin=subprocess.DEVNULL)
        if interrupted_after is not None:
            time.sleep(interrupted_after)
            # Nothing has waited for the process yet, so its number is still its own.
            os.kill(process.pid, signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = self.code = os.waitstatus_to_exitcode(status)
        self.peak_mib, self.cpu = usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime
        self.error.seek(0)
        self.said = self.error.read().decode(errors="replace").strip()


def least(binary, arguments, memory=1):
    """The first run that is not refused, with the memory that refusals ask for, or a fifth more each time."""
    while True:
        run = Run(binary, [*arguments, "--memory", str(memory)])
        if run.code == 0 or run.code != 1 or "--memory" not in run.said:
            return memory, run
        needed = NEEDS.search(run.said)
        memory = max(int(needed.group(1)), memory + 1) if needed else int(memory * 1.2) + 1


def row(what, memory, run):
    is_within = run.peak_mib <= MAX_BEYOND * memory
    ended = {0: "done", 1: "refused"}.get(run.code, f"**exit code {run.code}**")
    sign = "" if is_within else " **above**"
    print(f"| `{what}` | {memory} | {run.peak_mib:.0f} | {run.peak_mib / memory:.2f}{sign} | {ended} | {run.cpu:.0f} |", flush=True)
    return is_within


def said(arguments, folder):
    """What a row calls a run: without its output and what all have."""
    words = arguments[: -len(OF_ALL)] if arguments[-len(OF_ALL):] == OF_ALL else arguments
    return " ".join(word for word in words if folder not in word and word != "-o")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/radiosity")
    parser.add_argument("--scenes", default="../shared/scenes", help="folder of sponza, meshes; levels that it lacks are left out")
    parser.add_argument("--only", default="", help="rows that hold this word")
    options = parser.parse_args()
    binary, right, count = os.path.abspath(options.binary), 0, 0
    levels = BAKES + [(os.path.join(options.scenes, scene), *more) for scene, *more in OF_SCENES]
    levels = [level for level in levels if level[0].startswith("builtin:") or os.path.exists(level[0])]
    print("# Memory against `--memory`\n")
    print("No command takes more than 5 % beyond what `--memory` allows: baking levels with all that they may be baked with, going on from a")
    print("checkpoint, looking at levels, and reading small files that ask for much. Each row is the run that was begun with the least memory.\n")
    print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {datetime.date.today()}: `python3 benches/memory/peaks.py {shlex.join(sys.argv[1:])}`\n")
    print("| command | `--memory`, MiB | peak, MiB | peak of allowed | ended | cpu-seconds |\n| --- | --- | --- | --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for number, level in enumerate(levels):
            out = os.path.join(folder, str(number))
            rows.append((["bake", *level, "-o", out, *OF_ALL], None))
        resumed = ["bake", "builtin:cornell_box", "--density", "48", "--error", "0.01", "--no-volume", "-o", os.path.join(folder, "resumed"), *OF_ALL]
        rows.append((resumed, 4))
        for scene in sorted({level[0] for level in levels if "sponza" in level[0] or "level.glb" in level[0]}):
            rows += [([command, scene, *(word.format(folder=folder) for word in more)], None) for command, *more in OTHERS]
        for arguments, interrupted_after in rows:
            what = said(arguments, folder).replace(options.scenes + os.sep, "")
            if options.only not in what:
                continue
            memory, run = least(binary, arguments)
            if interrupted_after:
                Run(binary, [*arguments, "--memory", str(memory)], interrupted_after)
                assert os.path.exists(os.path.join(folder, "resumed", "checkpoint.bin")), "nothing to go on from: interrupt earlier"
                what, run = what + " --resume", Run(binary, [*arguments, "--memory", str(memory), "--resume"])
            right, count = right + (row(what, memory, run) and run.code == 0), count + 1
        for bomb in BOMBS:
            for memory in (64, 256):
                if options.only not in bomb.__name__:
                    continue
                inside = os.path.join(folder, f"{bomb.__name__}_{memory}")
                os.mkdir(inside)
                # A process of its own, whose memory does not count as that of what is started here next.
                made = subprocess.run([sys.executable, BOMBS_FILE, bomb.__name__, inside], capture_output=True, check=True, text=True)
                arguments = ["bake", *made.stdout.split(), "-o", os.path.join(inside, "out"), "--density", "1", "--error", "0.5", *OF_ALL]
                run = Run(binary, [*arguments, "--memory", str(memory)])
                is_within = row(f"{bomb.__name__}: {bomb.__doc__}".rstrip("."), memory, run)
                right, count = right + (is_within and run.code in (0, 1)), count + 1
    print(f"\n{right} of {count} within.")
    return int(right < count)


if __name__ == "__main__":
    sys.exit(main())
