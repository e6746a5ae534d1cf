"""Small files that ask for much memory: `bombs.py NAME FOLDER` makes one and prints the arguments that name it."""
import json, os, struct, sys, zlib


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    return path


def document(folder, **parts):
    return write(os.path.join(folder, "bomb.gltf"), json.dumps({"asset": {"version": "2.0"}, "scene": 0, **parts}))


def triangle(folder, triangles=1):
    """Accessors of a mesh that has one triangle many times, and its buffer."""
    data = struct.pack("<9f", 0, 0, 0, 0, 0, 1, 1, 0, 0) + struct.pack("<3I", 0, 1, 2) * triangles
    write(os.path.join(folder, "mesh.bin"), data)
    return {
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 3},
            {"bufferView": 1, "componentType": 5125, "type": "SCALAR", "count": 3 * triangles},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 12 * triangles}],
        "buffers": [{"uri": "mesh.bin", "byteLength": len(data)}],
    }


MESH = {"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}


def sparse_zeros(folder):
    """5 KB claim twelve meshes of 5.5 million vertices."""
    parts = triangle(folder)
    sparse = {"count": 1, "indices": {"bufferView": 1, "componentType": 5125}, "values": {"bufferView": 0}}
    parts["accessors"] += [{"componentType": 5126, "type": "VEC3", "count": 5_500_000, "sparse": sparse}] * 12
    meshes = [{"primitives": [{"attributes": {"POSITION": 2 + n}}]} for n in range(12)]
    return document(folder, scenes=[{"nodes": list(range(12))}], nodes=[{"mesh": n} for n in range(12)], meshes=meshes, **parts)


def png(size, profile=None):
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = zlib.compress((b"\0" + b"\x80" * size) * size)
    parts = [chunk(b"IHDR", struct.pack(">2I5B", size, size, 8, 0, 0, 0, 0))]
    parts += [chunk(b"iCCP", b"p\0\0" + zlib.compress(profile, 9))] if profile else []
    return b"".join([b"\x89PNG\r\n\x1a\n", *parts, chunk(b"IDAT", rows), chunk(b"IEND", b"")])


def many_pictures(folder):
    """40 pictures of 4,096 x 4,096 texels in 16 KB each, 2.5 GiB when decoded."""
    for n in range(40):
        write(os.path.join(folder, f"{n}.png"), png(4096))
    materials = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": n}}} for n in range(40)]
    meshes = [{"primitives": [{**MESH["primitives"][0], "material": n} for n in range(40)]}]
    return document(folder, scenes=[{"nodes": [0]}], nodes=[{"mesh": 0}], meshes=meshes, materials=materials,
                    textures=[{"source": n} for n in range(40)], images=[{"uri": f"{n}.png"} for n in range(40)], **triangle(folder))


def textured(folder, picture):
    write(os.path.join(folder, "bomb.mtl"), f"newmtl m\nmap_Kd {picture}\n")
    return write(os.path.join(folder, "bomb.obj"), "mtllib bomb.mtl\nv 0 0 0\nv 0 0 1\nv 1 0 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1\n")


def color_profile(folder):
    """A picture of 16 texels whose color profile has 400 MiB, in 400 KB."""
    write(os.path.join(folder, "bomb.png"), png(4, bytes(400 << 20)))
    return textured(folder, "bomb.png")


def large_frame(folder):
    """A GIF of 45 texels whose frame has 121 million, in 35 bytes."""
    frame = b"\x2c" + struct.pack("<4HB", 0, 0, 11_000, 11_000, 0) + b"\2\2\x4c\1\0\x3b"
    write(os.path.join(folder, "bomb.gif"), b"GIF89a" + struct.pack("<2H3B", 9, 5, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff" + frame)
    return textured(folder, "bomb.gif")


def slivers(folder):
    """50,000 long thin triangles side by side, each across the whole scene."""
    corners = "".join(f"v {n * 1e-5:.6f} 0 0\nv {1 + n * 1e-5:.6f} 0 1\nv {1 + n * 1e-5 + 5e-6:.6f} 0 1\n" for n in range(50_000))
    return write(os.path.join(folder, "bomb.obj"), corners + "".join(f"f {n} {n + 2} {n + 1}\n" for n in range(1, 150_001, 3)))


def long_name(folder):
    """A name of 1 MB above 20,000 nodes, whose paths begin with it."""
    nodes = [{"name": "n" * 1_000_000, "children": list(range(1, 20_001))}]
    nodes += [{"mesh": 0, "name": f"c{n}", "translation": [n, 0, 0]} for n in range(20_000)]
    return document(folder, scenes=[{"nodes": [0]}], nodes=nodes, meshes=[MESH], **triangle(folder))


def many_copies(folder):
    """A mesh of 100,000 triangles on 1,000 nodes."""
    nodes = [{"mesh": 0, "translation": [n, 0, 0]} for n in range(1000)]
    return document(folder, scenes=[{"nodes": list(range(1000))}], nodes=nodes, meshes=[MESH], **triangle(folder, 100_000))


def repeated_materials(folder):
    """A file of 2,000 materials that is named 1,000 times."""
    write(os.path.join(folder, "bomb.mtl"), "".join(f"newmtl m{n}\nKd .5 .5 .5\n" for n in range(2000)))
    return write(os.path.join(folder, "bomb.obj"), "mtllib bomb.mtl\n" * 1000 + "v 0 0 0\nv 0 0 1\nv 1 0 0\nusemtl m1\nf 1 2 3\n")


def large_sky(folder):
    """A sky of 6,000 x 3,000 texels, run-length coded, of 275 MiB when decoded."""
    width, height = 6000, 3000
    run = b"".join(bytes([128 + min(127, width - x), 128]) for x in range(0, width, 127))
    line = b"\2\2" + struct.pack(">H", width) + run * 4
    write(os.path.join(folder, "sky.hdr"), f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n".encode() + line * height)
    return "builtin:cornell_box --sky " + os.path.join(folder, "sky.hdr")


def many_objects(folder):
    """A million nodes without anything, in 3 MB, which take 280 MB once they are parsed."""
    return document(folder, scenes=[{"nodes": [0]}], nodes=[{"mesh": 0}] + [{}] * 1_000_000, meshes=[MESH], **triangle(folder))


BOMBS = [sparse_zeros, many_pictures, color_profile, large_frame, slivers, long_name, many_copies, repeated_materials, large_sky, many_objects]

if __name__ == "__main__":
    print(next(bomb for bomb in BOMBS if bomb.__name__ == sys.argv[1])(sys.argv[2]))
