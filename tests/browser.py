#!/usr/bin/env python3
"""Shows the page of examples/web in headless Chromium and compares it with the native app:
browser.py WWW NATIVE.png [NATIVE_LAMP_OFF.png] [--pages HASH --baked NATIVE_BAKED.png] [--backend webgl2|webgpu]
[--pictures FOLDER], or browser.py WWW --faults. Python 3 and Chromium; CHROMIUM names another binary.

WWW is the folder that `examples/web/build.py` wrote; NATIVE.png is the picture of the example `walk_baked_level` for the
same files, and NATIVE_LAMP_OFF.png the one with its `--lamp-off`. HASH and NATIVE_BAKED.png are those of its `--bake`. It
waits until the level is lit, takes a screenshot, clicks the switches, and reads the console. With --faults it serves
missing and damaged files, and takes WebGL2 away. Prints a table. The exit code is 1 where a limit is exceeded, the app
stops, or the console has an error that it should not have."""
import argparse, base64, contextlib, importlib.util, json, os, pathlib, re, select, struct, subprocess, sys, tempfile
import threading, time, zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZE = (1280, 720)
# Largest mean difference, and largest mean difference of a block of 8 x 8 pixels.
MEAN, BLOCK = 0.01, 0.05
# Longest time that the plugin may hold up the page, in milliseconds.
PART = 50
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
                   f"--window-size={SIZE[0] + 100},{SIZE[1] + 300}", *flags, "about:blank"]
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
                sys.exit("Chromium has ended; it may not start on this machine")
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
            parts = [str(part.get("value", part.get("description"))) for part in values["args"]]
            # Arguments after the text are the style of each %c.
            said = re.sub("%c", " ", parts[0]).strip() if "%c" in parts[0] else " ".join(parts)
            # Bevy logs errors as text.
            self.console.append(("error" if said.startswith("ERROR") else values["type"], said))
        elif method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.console.append(("error", details.get("exception", {}).get("description", details["text"])))
        elif method == "Log.entryAdded":
            self.console.append((values["entry"]["level"], values["entry"]["text"] + " " + values["entry"].get("url", "")))
        return message if "id" in message else None

    def ask(self, method, seconds=600, **parameters):
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
        # Some shells know files by one digit alone, so numbers must not grow.
        os.close(self.to)
        os.close(self.back)


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
    """Mean difference of two pictures; the largest of a block of 8 x 8 pixels, and its place; blocks above the limit.
    White is 1."""
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
    # Three channels of 255.
    over = sum(1 for value in blocks.values() if value > BLOCK * 64 * 765)
    mean = sum(blocks.values()) / (size[0] * size[1] * 765)
    return mean, blocks.get(worst, 0) / (64 * 765), (worst[0] * 8, worst[1] * 8), over


def brightness(png):
    (width, height), rows = pixels(png)
    return sum(sum(map(sum, row)) for row in rows) / (width * height * 765)


def load_build():
    spec = importlib.util.spec_from_file_location("build", ROOT / "examples/web/build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


class Table:
    """The table that is printed, and what is wrong."""

    def __init__(self, *heads):
        self.faults = []
        self.row(*heads)
        self.row(*["---"] * len(heads))

    def row(self, *cells, is_good=True):
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
        if not is_good:
            self.faults.append(str(cells[0]))

    def end(self):
        if self.faults:
            sys.exit("failed: " + "; ".join(self.faults))


@contextlib.contextmanager
def page(www, backend, flags=()):
    """A browser with the page of a folder. It ends with the block."""
    server = load_build().server(www)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Chromium's last processes may still write to their folder.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser([*FLAGS[backend], *flags], profile)
        try:
            browser.ask("Page.navigate", url=f"http://127.0.0.1:{server.server_address[1]}/?backend={backend}")
            yield browser
        finally:
            browser.end()
            server.shutdown()
            server.server_close()


def wait_for_text(browser, words, seconds):
    """Waits until the page's text has one of the words. Returns the text at the end, and the seconds."""
    started, text = time.monotonic(), ""
    while not any(word in text for word in words) and time.monotonic() < started + seconds:
        browser.wait(0.5)
        text = browser.value('document.getElementById("text")?.textContent') or ""
    return text, time.monotonic() - started


def longest_part(console):
    """The longest time that a part of the plugin's work has held up the page, in milliseconds, and its console line."""
    found = [(int(match[1]), said) for _, said in console if (match := re.search(r"held up the page for (\d+) ms", said))]
    return max(found, default=(0, "none above 30 ms"))


def compare(options):
    """Compares the page with the native pictures, and clicks its switches."""
    table = Table(options.backend, "found", "at most")

    def keep(name, png):
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
            (options.pictures / f"{options.backend}_{name}.png").write_bytes(png)
        return png

    with page(options.www, options.backend) as browser:
        text, seconds = wait_for_text(browser, ["are lit", "no level", "no baked", "stopped", "cannot"], options.wait)
        table.row("seconds until the level is lit", f"{seconds:.1f}, {text}", "", is_good="are lit" in text)

        def settle():
            # Pipelines compile in later frames, and textures are uploaded.
            before = browser.picture()
            for _ in range(60):
                browser.wait(3)
                now = browser.picture()
                if now == before:
                    return now
                before = now
            sys.exit("the picture never rests")

        def click(name):
            browser.value(f'document.querySelector("input[name={name}]").click()')
            browser.wait(3)
            return settle()

        def hold_against(png, native, state):
            mean, block, place, over = difference(png, native.read_bytes())
            table.row(f"{state}: mean difference from the native app", f"{mean:.2%}", f"{MEAN:.0%}", is_good=mean <= MEAN)
            table.row(f"{state}: largest difference of a block", f"{block:.2%} at {place}; {over} blocks above",
                      f"{BLOCK:.0%}", is_good=block <= BLOCK)

        def relit(more_than):
            """Waits until relighting is at rest, after more updates than these. Returns their number."""
            end, text = time.monotonic() + options.wait, ""
            while time.monotonic() < end:
                browser.wait(0.5)
                text = browser.value('document.getElementById("text").textContent') or ""
                match = re.search(r"relighting, (\d+) updates, at rest", text)
                if match and int(match[1]) > more_than:
                    return int(match[1])
                if "no relighting" in text or "stopped" in text:
                    break
            sys.exit(f"relighting does not come to rest: {text}")

        lit = keep("lightmaps", settle())
        hold_against(lit, options.native, "lightmaps")
        alone = keep("alone", click("lightmaps"))
        table.row("brightness with lightmaps, and with Bevy alone", f"{brightness(lit):.3f}, {brightness(alone):.3f}", "",
                  is_good=lit != alone)
        again = click("lightmaps")
        table.row("lightmaps once more: the same picture", "yes" if again == lit else "no", "", is_good=again == lit)
        if options.lamp_off:
            started = time.monotonic()
            browser.value('document.querySelector("input[name=relight]").click()')
            updates = relit(0)
            table.row("seconds until relighting is ready", f"{time.monotonic() - started:.1f}", "")
            table.row("relighting, all lamps on: the same picture", "yes" if settle() == lit else "no", "")
            started = time.monotonic()
            browser.value('document.querySelector("input[name=lamp]").click()')
            updates = relit(updates)
            table.row("seconds until the lamp is off", f"{time.monotonic() - started:.1f}, {updates} updates", "")
            off = keep("lamp_off", settle())
            hold_against(off, options.lamp_off, "lamp off")
            table.row("brightness with the lamp off", f"{brightness(off):.3f}", "", is_good=off != lit)
            browser.value('document.querySelector("input[name=lamp]").click()')
            relit(updates)
            again = settle()
            table.row("lamp on once more: the same picture", "yes" if again == lit else "no", "", is_good=again == lit)
        if options.pages:
            if options.lamp_off:
                browser.value('document.querySelector("input[name=relight]").click()')
            browser.value('document.querySelector("input[name=bake]").click()')
            text, seconds = wait_for_text(browser, ["are baked", "no bake"], options.wait)
            table.row("seconds of a bake in the page", f"{seconds:.1f}, {text}", "", is_good="are baked" in text)
            table.row("the same bytes as natively", "yes" if options.pages in text else "no", "",
                      is_good=options.pages in text)
            baked = keep("baked", settle())
            if options.baked:
                hold_against(baked, options.baked, "baked in the page")
        part, said = longest_part(browser.console)
        table.row("longest part of the plugin's work, in ms", f"{part}: {said}", PART, is_good=part <= PART)
        errors = [said for kind, said in browser.console if kind == "error"]
        table.row("errors on the console", len(errors), "0", is_good=not errors)
    for kind, said in browser.console:
        print(f"{kind}: {said}")
    table.end()


# Takes the graphics device away, as browsers do.
LOSE = 'document.getElementById("level").getContext("webgl2").getExtension("WEBGL_lose_context").loseContext()'
# What is wrong, the file, the part of it that is served (None: the file is missing), flags, and words of the page. A script
# runs once the level is lit.
FAULTS = [
    ("the bake is missing", "assets/level.baked/level.ron", None, [], "no baked light"),
    ("a page of the bake is missing", "assets/level.baked/page_0.ktx2", None, [], "no baked light"),
    ("a page of the bake is half there", "assets/level.baked/page_0.ktx2", 0.5, [], "no baked light"),
    ("the meshes of the bake are half there", "assets/level.baked/unwrapped_meshes.bin", 0.5, [], "no baked light"),
    ("the level is missing", "assets/level.glb", None, [], "no level"),
    ("the level is half there", "assets/level.glb", 0.5, [], "no level"),
    ("the app is missing", "webgl2/web_bg.wasm", None, [], "cannot start"),
    ("no WebGL2", None, None, ["--disable-3d-apis"], "has no WebGL2"),
    ("200 MiB of memory", None, None, ["--js-flags=--wasm-max-mem-pages=3200"], "no memory left"),
    ("the device is lost", None, None, [], "graphics device away", LOSE),
    ("live view on WebGL2", None, None, [], "needs WebGPU", 'document.querySelector("input[name=live]").click()'),
]


def spoil(www, folder, path, part):
    """Links a folder with the files of the page, where one of them is missing or cut off."""
    for file in www.rglob("*"):
        name = file.relative_to(www)
        if file.is_file() and str(name) != path:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(file.resolve())
    if path and part:
        whole = (www / path).read_bytes()
        (folder / path).write_bytes(whole[:int(len(whole) * part)])


def show_faults(options):
    """Serves faults. The page says a sentence, and the app goes on where it has begun."""
    table = Table("fault", "the page says", "errors on the console")
    for name, path, part, flags, words, *script in FAULTS:
        if options.only and options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            spoil(options.www, pathlib.Path(folder), path, part)
            with page(folder, "webgl2", flags) as browser:
                text, _ = wait_for_text(browser, [words, "are lit", "stopped"], options.wait)
                if script:
                    browser.value(script[0])
                    text, _ = wait_for_text(browser, [words], 60)
                browser.wait(5)
                text = browser.value('document.getElementById("text").textContent')
                errors = [said for kind, said in browser.console if kind == "error"]
        # Bevy names files within its asset folder.
        is_good = words in text and any(words in said or path and path.removeprefix("assets/") in said for said in errors)
        ends = "memory" in words or "away" in words
        stopped = not ends and any("panicked" in said or "stopped" in said for said in errors)
        table.row(name, text, len(errors), is_good=is_good and not stopped)
        if options.verbose or not is_good or stopped:
            print("\n".join(errors))
    table.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("www", type=pathlib.Path)
    parser.add_argument("native", type=pathlib.Path, nargs="?")
    parser.add_argument("lamp_off", type=pathlib.Path, nargs="?", metavar="native_lamp_off")
    parser.add_argument("--pages", metavar="HASH", help="hash of the native app's pages after `--bake`")
    parser.add_argument("--baked", type=pathlib.Path, help="the native app's picture after `--bake`")
    parser.add_argument("--faults", action="store_true", help="serve faults instead, on WebGL2")
    parser.add_argument("--only", help="serve only the fault with these words in its name")
    parser.add_argument("--verbose", action="store_true", help="print the errors on the console too")
    parser.add_argument("--backend", choices=sorted(FLAGS), default="webgl2")
    parser.add_argument("--pictures", type=pathlib.Path, help="folder for the screenshots")
    parser.add_argument("--wait", type=float, default=600.0, help="longest time until the level is lit, in seconds")
    options = parser.parse_args()
    if options.baked and not options.pages:
        parser.error("--baked needs --pages, which lets the page bake")
    if options.faults:
        show_faults(options)
    elif options.native:
        compare(options)
    else:
        parser.error("a native picture is needed, or --faults")


if __name__ == "__main__":
    main()
