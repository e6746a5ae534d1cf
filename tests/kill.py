#!/usr/bin/env python3
"""Kills bakes at random moments while a reader reads: kill.py BINARY [--count 200] [--seed 0]. Python 3 on a Unix, standard
library only.

A third of the kills each meet a first bake, a bake over another, and a bake that goes on from a checkpoint. Half of the
moments are anywhere in a bake, half are while it writes its level. After each kill the folder must hold the bake before
or the one that was killed, whole; a reader must never have had a mix of both or, once there was a bake, an error. Files
of others must be as they were. The next bake must succeed and leave nothing behind that is not its own.

Prints a table; the exit code is 1 when anything was otherwise."""
import argparse, hashlib, os, random, re, shutil, signal, subprocess, sys, tempfile, threading, time

SCENE = "builtin:cornell_box"
QUICK = ["--density", "8", "--error", "0.3", "--relight", "10"]
LONG = ["--density", "8", "--error", "0.013", "--no-volume"]
FOREIGN = {
    "notes.txt": b"three years of work",
    "page_x.exr": b"somebody's",
    ".radiosity-thesis.part": b"somebody's",
    "inner/page_0.exr": b"somebody's",
}
OWN = re.compile(r"page_\d+\.(exr|ktx2)|validity_\d+\.png|(volume\.exr|relight\.bin|unwrapped_meshes\.bin|level\.ron|report\.json|preview\.png)")


class Baker:
    """The command line in a folder."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.out = binary, folder, os.path.join(folder, "out")

    def command(self, options, seed, out=None):
        common = ["--backend", "cpu", "--threads", "1", "--seed", str(seed), "-o", out or self.out]
        return [self.binary, "bake", SCENE, *options, *common]

    def bake(self, options, seed, out=None):
        done = subprocess.run(self.command(options, seed, out), capture_output=True, text=True)
        return None if done.returncode == 0 else done.stderr.strip()

    def start(self, options, seed):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.command(options, seed), **quiet)

    def probe(self, out):
        """The light that a folder's level holds at some points, or the complaint of reading it."""
        points, light = (os.path.join(self.folder, name) for name in ("points.csv", "light.csv"))
        done = subprocess.run([self.binary, "probe", SCENE, "--from", out, "--points", points, "-o", light,
                               "--threads", "1"], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip()
        with open(light) as file:
            return file.read(), None


def identity(folder):
    """A digest of a level and its files that names do not count in; None without a level, and False for half of one."""
    try:
        with open(os.path.join(folder, "level.ron")) as file:
            text = file.read()
    except FileNotFoundError:
        return None
    text, _, _ = text.partition("\n    replaced:")
    digest = hashlib.sha256(re.sub(r'name: "[^"]*"', "", text[text.index("\n"):]).encode())
    for name in re.findall(r'\bname: "([^"]*)"', text):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                digest.update(hashlib.sha256(file.read()).digest())
        except FileNotFoundError:
            return False
    return digest.hexdigest()


class Reader(threading.Thread):
    """Reads the level of a folder again and again."""

    def __init__(self, baker):
        super().__init__(daemon=True)
        self.baker, self.allowed, self.may_fail = baker, set(), True
        self.reads, self.refused, self.faults, self.is_over = 0, 0, [], False

    def run(self):
        while not self.is_over:
            may_fail = self.may_fail
            light, complaint = self.baker.probe(self.baker.out)
            self.reads += 1
            if complaint and may_fail:
                self.refused += 1
            elif complaint:
                self.faults.append(f"a reader failed: {complaint}")
            elif light not in self.allowed:
                self.faults.append("a reader saw light of neither bake")
            time.sleep(0.02)


def names_in(folder):
    return {os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names}


def parts_in(folder):
    """Temporary files that bakes make."""
    return [name for name in os.listdir(folder) if re.fullmatch(r"\.radiosity-[0-9a-f]{32}\.part", name)]


def wait_for(process, condition, longest):
    """Waits until something is so or a process has ended. Answers whether it runs on."""
    begun = time.monotonic()
    while process.poll() is None and not condition() and time.monotonic() - begun < longest:
        time.sleep(0.001)
    return process.poll() is None


def writing_time(baker, options, seed):
    """Seconds that a bake takes, and those from its first temporary file of a level to its end."""
    begun, first = time.monotonic(), None
    process = baker.start(options, seed)
    while process.poll() is None:
        if len(parts_in(baker.out)) > 1 and first is None:
            first = time.monotonic()
        time.sleep(0.001)
    end = time.monotonic()
    return end - begun, end - (first or end)


def kill(baker, process, moments, rng):
    """Kills a process at a random moment. True when it was still running."""
    whole, writing = moments
    if rng.random() < 0.5:
        time.sleep(rng.uniform(0.0, whole))
    elif wait_for(process, lambda: len(parts_in(baker.out)) > 1, 60):
        time.sleep(rng.uniform(0.0, 1.2 * writing))
    was_running = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    return was_running


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary", type=os.path.abspath)
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=0)
    arguments = arguments.parse_args()
    rng = random.Random(arguments.seed)
    folder = tempfile.mkdtemp(prefix="kill_")
    baker = Baker(arguments.binary, folder)
    with open(os.path.join(folder, "points.csv"), "w") as file:
        file.writelines(f"{x / 10 - 1},{y / 5},{-z / 10},0,1,0\n" for x in range(20) for y, z in ((0, 1), (0, 7)))

    bakes = {"one": (QUICK, 1), "other": (QUICK, 2), "long": (LONG, 3)}
    known, light, moments = {}, {}, {}
    for name, (options, seed) in bakes.items():
        out = os.path.join(folder, name)
        assert baker.bake(options, seed, out) is None, "an undisturbed bake succeeds"
        known[name], (light[name], _) = identity(out), baker.probe(out)
    assert len(set(known.values())) == len(set(light.values())) == 3, "three bakes differ"

    def plant():
        for name, content in FOREIGN.items():
            os.makedirs(os.path.dirname(os.path.join(baker.out, name)), exist_ok=True)
            with open(os.path.join(baker.out, name), "wb") as file:
                file.write(content)

    plant()
    for name, (options, seed) in bakes.items():
        moments[name] = writing_time(baker, options, seed)

    faults, kinds = [], ["first bake", "rebake", "resume"]
    keys = ["kills", "before", "after", "none", "halfway", "reads"]
    counts = {kind: dict.fromkeys(keys, 0) for kind in kinds}

    def check(kind, number, allowed):
        """Looks at the folder after a kill."""
        found = identity(baker.out)
        for name, content in FOREIGN.items():
            with open(os.path.join(baker.out, name), "rb") as file:
                if file.read() != content:
                    faults.append(f"{kind} {number}: {name} has changed")
        if found not in allowed:
            faults.append(f"{kind} {number}: the folder holds {'half a level' if found is False else 'another level'}")
        return found

    number = 0
    while sum(count["kills"] for count in counts.values()) < arguments.count:
        number += 1
        kind = kinds[number % 3]
        before, after = {"first bake": (None, "one"), "rebake": ("one", "other"), "resume": ("one", "long")}[kind]
        if kind == "first bake":
            shutil.rmtree(baker.out)
            plant()
        elif (fault := baker.bake(*bakes[before])) is not None:
            faults.append(f"{kind} {number}: the bake before failed: {fault}")
        reader = Reader(baker)
        reader.allowed = {light[name] for name in (before, after) if name}
        reader.may_fail = before is None
        reader.start()
        options, seed = bakes[after]
        process = baker.start(options, seed)
        if kind == "resume":
            # A kill of its own, once there is something to go on from.
            wait_for(process, lambda: os.path.exists(os.path.join(baker.out, "checkpoint.bin")), 60)
            process.send_signal(signal.SIGKILL)
            process.wait()
            check(kind, number, {known[before], known[after]})
            options = [*options, "--resume"]
            process = baker.start(options, seed)
        was_running = kill(baker, process, moments[after], rng)
        found = check(kind, number, {before and known[before], known[after]})
        count = counts[kind]
        if was_running:
            count["kills"] += 1
            count["none" if found is None else "before" if before and found == known[before] else "after"] += 1
            # Files under temporary names are there: of a level half-written, or of a new one that goes by them.
            count["halfway"] += bool(parts_in(baker.out))
        if found:
            reader.may_fail = False
        # The next bake: the same once more, or what is left of it.
        if (fault := baker.bake(options, seed)) is not None:
            faults.append(f"{kind} {number}: the next bake failed: {fault}")
        check(kind, number, {known[after]})
        left = {name for name in names_in(baker.out) - FOREIGN.keys() if not OWN.fullmatch(name)}
        if left:
            faults.append(f"{kind} {number}: left behind: {sorted(left)}")
        # The read that is under way counts too.
        reader.may_fail = False
        reader.is_over = True
        reader.join()
        faults.extend(f"{kind} {number}: {fault}" for fault in reader.faults)
        count["reads"] += reader.reads
        if sys.stderr.isatty():
            print(f"bake {number}, {len(faults)} faults", end="\r", file=sys.stderr, flush=True)

    print("| killed | times | the bake before is there | the new one | none yet | with temporary files | reads beside it |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind, count in counts.items():
        columns = [count[key] for key in keys]
        print(f"| {kind} | " + " | ".join(map(str, columns)) + " |")
    print(f"{len(faults)} faults")
    for fault in faults:
        print(fault)
    shutil.rmtree(folder)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
