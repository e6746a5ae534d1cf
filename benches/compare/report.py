"""Errors against cpu-seconds of our bakes and of Cycles', and the ratio at equal error.

    python report.py truth.npz --ours FOLDER:CPU_SECONDS ... --cycles cycles.npz ...

Needs numpy and OpenEXR. An error is the square root of the area-weighted mean square over texels, relative to the mean irradiance, truth's own noise
removed; texels that contact edges cross are masked, and so are those whose middle no triangle covers, where Cycles bakes nothing. Cycles' time at our error is read off a straight line through
the logarithms of its runs.
"""

import argparse

import numpy as np


def errors(truth, pages):
    """Relative RMS error, 99th percentile of the error relative to the mean, and bias of the mean."""
    keep = ~truth["masked"]
    texel, expected = truth["texel"][keep].astype(int), truth["irradiance"][keep]
    weight = truth["count"][keep] / truth["count"][keep].sum()
    found = np.stack([pages[page][y, x, :3] for page, x, y in texel]).astype(np.float64)
    mean = (weight @ expected).mean()
    difference = found - expected
    noise = (weight @ truth["standard_error"][keep] ** 2).mean()
    square = (weight @ difference**2).mean()
    size = np.sqrt((difference**2).mean(1)) / mean
    order = np.argsort(size)
    percentile = size[order][np.searchsorted(np.cumsum(weight[order]), 0.99)]
    return {
        "rms": float(np.sqrt(max(square - noise, 0)) / mean),
        "noise": float(np.sqrt(noise) / mean),
        "p99": float(percentile),
        "bias": float((weight @ difference).mean() / mean),
        "texels": int(keep.sum()),
    }


def cycles_pages(path):
    data = np.load(path)
    names = sorted((name for name in data.files if name.startswith("page_")), key=lambda name: int(name[5:]))
    return [data[name] for name in names], float(data["cpu_seconds"])


def seconds_at(error, runs):
    """Cpu-seconds that runs of (error, seconds) need for an error."""
    logs = np.log(np.array(runs))
    slope, start = np.polyfit(logs[:, 0], logs[:, 1], 1)
    return float(np.exp(start + slope * np.log(error)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("truth")
    parser.add_argument("--ours", nargs="*", default=[], metavar="FOLDER:CPU_SECONDS")
    parser.add_argument("--cycles", nargs="*", default=[])
    parser.add_argument("--without-edges", action="store_true", help="leave out texels that the edge of a lamp's shadow crosses")
    arguments = parser.parse_args()
    truth = dict(np.load(arguments.truth))
    if arguments.without_edges:
        truth["masked"] = truth["masked"] | truth["edge"]
    print("| bake | cpu-s | error | 99th percentile | bias | Cycles' cpu-s at that error | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    runs = []
    theirs = [(path, *cycles_pages(path)) for path in arguments.cycles]
    for _, pages, _ in theirs:
        page, x, y = truth["texel"].astype(int).T
        covered = [pages[p][row, column, 3] > 0 for p, row, column in zip(page, y, x)]
        truth["masked"] = truth["masked"] | ~np.array(covered)
    for path, pages, seconds in theirs:
        found = errors(truth, pages)
        runs.append((found["rms"], seconds))
        line("Cycles " + path, seconds, found, "", "")
    for item in arguments.ours:
        import bake_files

        folder, seconds = item.rsplit(":", 1)
        found = errors(truth, bake_files.irradiance_pages(folder))
        needed = seconds_at(found["rms"], runs) if len(runs) > 1 else None
        ratio = "" if needed is None else f"{needed / float(seconds):.1f} x"
        line("ours " + folder, float(seconds), found, "" if needed is None else f"{needed:.2f}", ratio)
    print(f"\n{int((~truth['masked']).sum())} texels kept of {len(truth['masked'])}")


def line(name, seconds, found, theirs, ratio):
    print(f"| {name} | {seconds:.2f} | {found['rms']:.2%} | {found['p99']:.2%} | {found['bias']:+.2%} | {theirs} | {ratio} |")


if __name__ == "__main__":
    main()
