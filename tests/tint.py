#!/usr/bin/env python3
"""Compiles shaders as a browser does, by Tint in headless Chromium: tint.py FOLDER [--pipelines NAME ...]. Python 3 and
Chromium; CHROMIUM names another binary.

FOLDER holds the shaders as `NAME.wgsl`. Prints a table. The exit code is 1 if a shader has an error or a warning. With
--pipelines, the compute pipelines of these shaders are compiled too, on SwiftShader; the largest ones take minutes."""
import argparse, http.server, json, os, pathlib, queue, subprocess, sys, tempfile, threading

# WebGPU on the processor, without a window.
FLAGS = ["--headless=new", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
         "--enable-features=Vulkan", "--use-vulkan=swiftshader", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--no-first-run", "--disable-extensions"]
# With WebGPU's default limits, and without optional features.
PAGE = """<!doctype html><script type="module">
const send = result => fetch("/result", { method: "POST", body: JSON.stringify(result) });
try {
    const { shaders, pipelines } = await (await fetch("/shaders")).json();
    const adapter = await navigator.gpu?.requestAdapter();
    if (!adapter) throw new Error("no WebGPU");
    const device = await adapter.requestDevice();
    for (const [name, code] of Object.entries(shaders)) {
        let start = performance.now();
        device.pushErrorScope("validation");
        const module = device.createShaderModule({ code });
        const { messages } = await module.getCompilationInfo();
        const error = await device.popErrorScope();
        const faults = messages.map(({ lineNum, linePos, message, type }) => ({ lineNum, linePos, message, type }));
        if (error && !faults.length) faults.push({ lineNum: 0, linePos: 0, message: error.message, type: "error" });
        await send({ name, faults, seconds: (performance.now() - start) / 1000 });
        const entries = pipelines.includes(name) ? [...code.matchAll(/@compute[^{]*?fn (\\w+)/g)] : [];
        for (const [, entryPoint] of entries) {
            start = performance.now();
            const fault = await device.createComputePipelineAsync({ layout: "auto", compute: { module, entryPoint } })
                .then(() => [], error => [{ lineNum: 0, linePos: 0, message: error.message, type: "error" }]);
            await send({ name: `${name} ${entryPoint}`, faults: fault, seconds: (performance.now() - start) / 1000 });
        }
    }
    await send({ done: true });
} catch (error) {
    await send({ failed: String(error) });
}
</script>"""


def serve(work, results):
    """A server on a free port, which hands out the page and the shaders and takes results."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, kind, content):
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content.encode())

        def do_GET(self):
            if self.path == "/shaders":
                self.answer("application/json", json.dumps(work))
            else:
                self.answer("text/html; charset=utf-8", PAGE)

        def do_POST(self):
            results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer("text/plain", "")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--pipelines", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--wait", type=float, default=300.0, help="longest time for one result, in seconds")
    options = parser.parse_args()
    shaders = {path.stem: path.read_text() for path in sorted(options.folder.glob("*.wgsl"))}
    if not shaders:
        sys.exit(f"{options.folder} holds no shaders")
    results = queue.Queue()
    server = serve({"shaders": shaders, "pipelines": options.pipelines}, results)
    faults = count = 0
    print("| shader | seconds | faults |\n| --- | --- | --- |")
    # Chromium's last processes may still write to their folder.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [os.environ.get("CHROMIUM", "chromium"), *FLAGS, f"--user-data-dir={profile}",
                   f"http://127.0.0.1:{server.server_address[1]}/"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while True:
                try:
                    result = results.get(timeout=options.wait)
                except queue.Empty:
                    sys.exit(f"no answer from Chromium for {options.wait:.0f} seconds")
                if "failed" in result:
                    sys.exit(f"Chromium: {result['failed']}")
                if "done" in result:
                    break
                faults += len(result["faults"])
                count += 1
                said = [f"line {fault['lineNum']}:{fault['linePos']}: {fault['message']}" for fault in result["faults"]]
                print(f"| {result['name']} | {result['seconds']:.2f} | {'; '.join(said) or 'none'} |", flush=True)
        finally:
            browser.terminate()
            browser.wait()
    if faults or count < len(shaders):
        sys.exit(f"{faults} faults in {len(shaders)} shaders")


if __name__ == "__main__":
    main()
