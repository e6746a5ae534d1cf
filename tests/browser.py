#!/usr/bin/env python3
"""Shows the page of examples/web in headless Chromium and compares it with the native app:
browser.py WWW NATIVE.png [--backend webgl2|webgpu] [--pictures FOLDER]. Python 3 and Chromium; CHROMIUM names another
binary.

WWW is the folder that `examples/web/build.py` wrote; NATIVE.png is the picture of the example `walk_baked_level` for the
same files. It waits until the level is lit, takes a screenshot, clicks the switches, and reads the console. Prints a
table. The exit code is 1 where a limit is exceeded, the app stops, or the console has an error."""
import argparse, base64, importlib.util, json, os, pathlib, select, struct, subprocess, sys, tempfile, threading, time, zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZE = (1280, 720)
# Largest mean difference, and largest mean difference of a block of 8 x 8 pixels.
MEAN, BLOCK = 0.01, 0.05
FLAGS = {
    "webgl2": ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
    "webgpu": ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan",
               "--use-vulkan=swiftshader", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
               "--ignore-gpu-blocklist"],
}


class Browser:
    """Chromium with one page, led by its DevTools protocol over pipes."""

    def __init__(self, flags, profile):
        to_child, self.to = os.pipe()
        self.back, from_child = os.pipe()
        command = [os.environ.get("CHROMIUM", "chromium"), "--headless=new", "--no-sandbox", "--no-first-run",
                   "--disable-extensions", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                   f"--window-size={SIZE[0]},{SIZE[1] + 200}", *flags, "about:blank"]
        # The pipes are files 3 and 4 of Chromium.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{to_child} 4>&{from_child}', "sh", *command],
                                        pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.rest, self.count, self.console, self.session = b"", 0, [], None
        target = next(it for it in self.ask("Target.getTargets")["targetInfos"] if it["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ["Runtime", "Log", "Page"]:
            self.ask(f"{domain}.enable")

    def message(self, seconds):
        """The next message, or None after the time."""
        end = time.monotonic() + seconds
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.back], [], [], max(end - time.monotonic(), 0))
            if not ready:
                return None
            read = os.read(self.back, 1 << 20)
            if not read:
                sys.exit("Chromium has ended")
            self.rest += read
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def hear(self, seconds):
        """Reads messages for a time, and returns answers."""
        message = self.message(seconds)
        if message is None:
            return None
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            said = " ".join(str(part.get("value", part.get("description"))) for part in values["args"])
            self.console.append((values["type"], said))
        elif method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.console.append(("error", details.get("exception", {}).get("description", details["text"])))
        elif method == "Log.entryAdded":
            self.console.append((values["entry"]["level"], values["entry"]["text"] + " " + values["entry"].get("url", "")))
        return message if "id" in message else None

    def ask(self, method, seconds=120, **parameters):
        """Sends a command and returns its result."""
        self.count += 1
        command = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            answer = self.hear(max(end - time.monotonic(), 0))
            if answer and answer["id"] == self.count:
                if "error" in answer:
                    sys.exit(f"Chromium: {method}: {answer['error']['message']}")
                return answer["result"]
        sys.exit(f"no answer from Chromium to {method} for {seconds:.0f} seconds")

    def value(self, script):
        result = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")

    def wait(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.hear(max(end - time.monotonic(), 0))

    def picture(self):
        clip = {"x": 0, "y": 0, "width": SIZE[0], "height": SIZE[1], "scale": 1}
        return base64.b64decode(self.ask("Page.captureScreenshot", format="png", clip=clip)["data"])

    def end(self):
        self.process.terminate()
        self.process.wait()


def pixels(png):
    """Rows of a PNG file of eight bits, red, green and blue."""
    position, data, header = 8, b"", None
    while position < len(png):
        length, kind = struct.unpack(">I4s", png[position:position + 8])
        content = png[position + 8:position + 8 + length]
        header = struct.unpack(">IIBBBBB", content) if kind == b"IHDR" else header
        data += content if kind == b"IDAT" else b""
        position += 12 + length
    width, height, depth, color, *_, interlace = header
    if depth != 8 or color not in (2, 6) or interlace:
        sys.exit("only PNG files of eight bits, with red, green and blue, are compared")
    channels = 3 if color == 2 else 4
    stride, data = width * channels, zlib.decompress(data)
    before, rows = bytearray(stride), []
    for y in range(height):
        kind, row = data[y * (stride + 1)], bytearray(data[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for x in range(stride if kind else 0):
            left, above = (row[x - channels] if x >= channels else 0), before[x]
            if kind == 1:
                add = left
            elif kind == 2:
                add = above
            elif kind == 3:
                add = (left + above) // 2
            else:
                corner = before[x - channels] if x >= channels else 0
                guess = left + above - corner
                add = min((abs(guess - left), 0, left), (abs(guess - above), 1, above), (abs(guess - corner), 2, corner))[2]
            row[x] = (row[x] + add) & 255
        before = row
        rows.append([row[channel::channels] for channel in range(3)])
    return (width, height), rows


def difference(one, other):
    """Mean difference of two pictures, and the largest of a block of 8 x 8 pixels with its place. White is 1."""
    (size, one), (other_size, other) = pixels(one), pixels(other)
    if size != other_size:
        sys.exit(f"the pictures have sizes {size} and {other_size}")
    blocks = {}
    for y, (row, other_row) in enumerate(zip(one, other)):
        for channel, other_channel in zip(row, other_row):
            for x, (value, other_value) in enumerate(zip(channel, other_channel)):
                if value != other_value:
                    place = (x // 8, y // 8)
                    blocks[place] = blocks.get(place, 0) + abs(value - other_value)
    worst = max(blocks, key=blocks.get, default=(0, 0))
    return sum(blocks.values()) / (size[0] * size[1] * 765), blocks.get(worst, 0) / (64 * 765), (worst[0] * 8, worst[1] * 8)


def brightness(png):
    (width, height), rows = pixels(png)
    return sum(sum(map(sum, row)) for row in rows) / (width * height * 765)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("www", type=pathlib.Path)
    parser.add_argument("native", type=pathlib.Path)
    parser.add_argument("--backend", choices=sorted(FLAGS), default="webgl2")
    parser.add_argument("--pictures", type=pathlib.Path, help="folder for the screenshots")
    parser.add_argument("--wait", type=float, default=300.0, help="longest time until the level is lit, in seconds")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("build", ROOT / "examples/web/build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    server = build.server(options.www)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    faults = []

    def row(what, value, limit, is_good):
        print(f"| {what} | {value} | {limit} |", flush=True)
        if not is_good:
            faults.append(what)

    def keep(name, png):
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            (options.pictures / f"{options.backend}_{name}.png").write_bytes(png)
        return png

    print(f"| {options.backend} | found | at most |\n| --- | --- | --- |")
    # Chromium's last processes may still write to their folder.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(FLAGS[options.backend], profile)
        try:
            started = time.monotonic()
            browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.server_address[1]}/?backend={options.backend}")
            text = ""
            while "are lit" not in text and time.monotonic() < started + options.wait:
                browser.wait(0.5)
                text = browser.value('document.getElementById("text")?.textContent') or ""
            row("seconds until the level is lit", f"{time.monotonic() - started:.1f}, {text}", "", "are lit" in text)

            def settle():
                # Pipelines compile in later frames.
                before = browser.picture()
                for _ in range(60):
                    browser.wait(2)
                    now = browser.picture()
                    if now == before:
                        return now
                    before = now
                sys.exit("the picture never rests")

            def click(name):
                browser.value(f'document.querySelector("input[name={name}]").click()')

            lit = keep("lightmaps", settle())
            mean, block, place = difference(lit, options.native.read_bytes())
            row("mean difference from the native app", f"{mean:.2%}", f"{MEAN:.0%}", mean <= MEAN)
            row("largest difference of a block", f"{block:.2%} at {place}", f"{BLOCK:.0%}", block <= BLOCK)
            click("lightmaps")
            browser.wait(2)
            alone = keep("alone", settle())
            row("brightness with lightmaps, and with Bevy alone", f"{brightness(lit):.3f}, {brightness(alone):.3f}", "", lit != alone)
            click("lightmaps")
            browser.wait(2)
            row("lightmaps once more are the same picture", "yes" if settle() == lit else "no", "", settle() == lit)
            row("text at the end", browser.value('document.getElementById("text").textContent'), "", True)
        finally:
            browser.end()
    for kind, said in browser.console:
        print(f"{kind}: {said}")
    if any(kind == "error" for kind, _ in browser.console):
        faults.append("errors on the console")
    if faults:
        sys.exit("failed: " + "; ".join(faults))


if __name__ == "__main__":
    main()
