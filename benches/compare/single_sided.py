"""A copy of a .glb file whose opaque materials are single-sided, their backs black.

    python single_sided.py SCENE.glb -o COPY.glb

A page shows one side of a double-sided surface, and which is the baker's choice; a file that marks all it has as double-sided, as
Sponza does, can be compared only when its sides are settled. Materials with alpha keep both sides.
"""

import argparse
import json
import struct


def single_sided(data):
    """The bytes of the copy."""
    length = struct.unpack_from("<I", data, 12)[0]
    document = json.loads(data[20 : 20 + length])
    for material in document.get("materials", []):
        if material.get("alphaMode", "OPAQUE") == "OPAQUE":
            material.pop("doubleSided", None)
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + data[20 + length :]
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    with open(arguments.scene, "rb") as file:
        copy = single_sided(file.read())
    with open(arguments.output, "wb") as file:
        file.write(copy)
