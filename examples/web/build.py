#!/usr/bin/env python3
"""Builds and serves the page: build.py [webgl2] [webgpu] [--out FOLDER] [--bake COMMAND] [--sizes] [--serve PORT].

It needs Python 3, wasm-bindgen of the version in Cargo.lock (`cargo install wasm-bindgen-cli --version ..`), and the
target wasm32 (`rustup target add wasm32-unknown-unknown`). CARGO names another Cargo; with BUILD_STD=1, Cargo also builds
the standard library, for Rust that comes without that of wasm32. `wasm-opt` makes the files smaller where it is installed.
With --sizes, it also builds the page without the plugin, and prints the sizes of both, also as `brotli` packs them."""
import argparse, functools, http.server, os, pathlib, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TARGET = "wasm32-unknown-unknown"
# What browsers have had for years. Without these, it refuses what Rust writes.
OPTIMIZE = ["wasm-opt", "-Os", "--strip-debug", "--strip-producers", "--enable-bulk-memory", "--enable-sign-ext",
            "--enable-nontrapping-float-to-int", "--enable-mutable-globals", "--enable-reference-types",
            "--enable-multivalue"]


def run(command, **options):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **options)


def build(backend, out, example=None):
    """Builds the app for a backend into a folder, or an example in its place. Returns the path of its code."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target"))
    environment = {"RUSTFLAGS": '--cfg getrandom_backend="wasm_js"', **os.environ}
    command = [os.environ.get("CARGO", "cargo"), "build", "--release", "--target", TARGET, "--features", backend]
    if example:
        command += ["--example", example]
    if os.environ.get("BUILD_STD") == "1":
        command += ["-Z", "build-std=std,panic_abort"]
        environment["RUSTC_BOOTSTRAP"] = "1"
    run(command, cwd=HERE, env=environment)
    app = target / TARGET / "release" / (f"examples/{example}.wasm" if example else "web.wasm")
    run(["wasm-bindgen", "--target", "web", "--no-typescript", "--out-dir", out, app])
    code = out / f"{app.stem}_bg.wasm"
    if shutil.which("wasm-opt"):
        run([*OPTIMIZE, code, "-o", code])
    else:
        print("wasm-opt is missing: the files stay large")
    print(f"{code}: {code.stat().st_size / 1e6:.1f} MB")
    return code


def print_sizes(backend, app):
    """Prints the size of an app and of the same one without the plugin."""
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for name, code in [("with the plugin", app), ("without", build(backend, pathlib.Path(folder), "plain"))]:
            compressed = subprocess.run(["brotli", "--quality=11", "--stdout", code], check=True, capture_output=True)
            sizes.append(len(compressed.stdout) / 1e6)
            print(f"{backend}, {name}: {code.stat().st_size / 1e6:.2f} MB, {sizes[-1]:.2f} MB by brotli")
        print(f"{backend}: the plugin adds {sizes[0] - sizes[1]:.2f} MB")


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript",
                      ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


def server(folder, port=0):
    """A server of the folder, on a free port if none is given."""
    return http.server.ThreadingHTTPServer(("127.0.0.1", port), functools.partial(Handler, directory=str(folder)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backends", nargs="*", choices=["webgl2", "webgpu", []], metavar="BACKEND")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "www")
    parser.add_argument("--bake", default="cargo bake", help="command that bakes, without its arguments")
    parser.add_argument("--sizes", action="store_true", help="print what the plugin adds to the app's size")
    parser.add_argument("--serve", type=int, metavar="PORT")
    options = parser.parse_args()
    if options.sizes and not shutil.which("brotli"):
        parser.error("--sizes needs the command brotli: install it")
    out = options.out.resolve()
    assets = out / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "assets/level.glb", assets)
    if not (assets / "level.baked/level.ron").exists():
        # The light of each lamp is kept, for relighting.
        arguments = ["assets/level.glb", "--relight", "1000", "-o", assets / "level.baked"]
        run([*options.bake.split(), *arguments], cwd=ROOT)
    # The versions that the crate is tested with.
    shutil.copy(ROOT / "Cargo.lock", HERE)
    for backend in options.backends or ["webgl2", "webgpu"]:
        app = build(backend, out / backend)
        if options.sizes:
            print_sizes(backend, app)
    shutil.copy(HERE / "index.html", out)
    if options.serve is not None:
        with server(out, options.serve) as served:
            print(f"http://127.0.0.1:{served.server_address[1]}/", flush=True)
            served.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as fault:
        sys.exit(f"{fault.cmd[0]} failed")
    except KeyboardInterrupt:
        pass
