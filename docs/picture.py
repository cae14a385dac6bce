#!/usr/bin/env python3
"""Makes the picture of the README, the first screen of a shipped scenario's report, in headless Chromium; and checks it.

  docs/picture.py [FILE.png]           by default docs/picture.png
  docs/picture.py --check [FILE.png]   says what the picture shows otherwise than the README, and whether it is torn (exit status 1)

The picture carries the figures that it shows as text (PNG, tEXt), which is what --check reads; it needs no browser.
REHEARSE names the program (default: ./rehearse). Exit status 77: there is no Chromium here, or the program was built without the
report. Standard library only.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 1120, 1800  # of the screen: higher than what is shown, and cut below it
MARGIN = 16  # rows of background that stay below the last figure
KEY = b"Comment"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
         "--run-all-compositor-stages-before-draw", "--virtual-time-budget=20000", f"--window-size={WIDTH},{HEIGHT}")
# Only the first screen: what follows it would be cut anywhere.
FIRST_SCREEN = "<style>#at-a-glance ~ * { display: none }</style>"


class Mistake(Exception):
    pass


def chunks(png):
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        yield kind, png[at + 8 : at + 8 + length]
        at += 12 + length


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rows_of(png):
    """Each row of pixels as bytes, and how many bytes a pixel has. Chromium's pictures: eight bits, RGB or RGBA, not interlaced."""
    parts = list(chunks(png))
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", dict(parts)[b"IHDR"])
    if depth != 8 or colours not in (2, 6) or interlaced:
        raise Mistake("a picture of another kind")
    size = 3 if colours == 2 else 4
    data = zlib.decompress(b"".join(body for kind, body in parts if kind == b"IDAT"))
    stride, rows, above = width * size, [], bytes(width * size)
    for y in range(height):
        begin = y * (stride + 1)
        method, row = data[begin], bytearray(data[begin + 1 : begin + 1 + stride])
        if method == 1:
            for i in range(size, stride):
                row[i] = (row[i] + row[i - size]) & 255
        elif method == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, above))
        elif method == 3:
            for i in range(stride):
                row[i] = (row[i] + ((row[i - size] if i >= size else 0) + above[i]) // 2) & 255
        elif method == 4:
            for i in range(stride):
                left, up, corner = (row[i - size] if i >= size else 0), above[i], (above[i - size] if i >= size else 0)
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
                row[i] = (row[i] + near) & 255
        above = bytes(row)
        rows.append(above)
    return rows, size


def is_plain(row, size):
    return row == row[:size] * (len(row) // size)


def end_of(rows, size):
    """The row behind the last that is not background."""
    end = len(rows)
    while end > 0 and is_plain(rows[end - 1], size):
        end -= 1
    return end


def lower_edge(rows, size):
    """How much of the width the last figure's frame takes in its last row: less than nearly all is torn."""
    row = rows[end_of(rows, size) - 1]
    background = row[:size]
    return sum(row[i : i + size] != background for i in range(0, len(row), size)) / (len(row) // size)


def write_png(path, rows, size, text):
    header = struct.pack(">IIBBBBB", len(rows[0]) // size, len(rows), 8, 2 if size == 3 else 6, 0, 0, 0)
    body = bytearray()
    for y, row in enumerate(rows):  # each as its difference to the row above, which packs well
        above = rows[y - 1] if y else bytes(len(row))
        body += b"\x02" + bytes((a - b) & 255 for a, b in zip(row, above))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"tEXt", KEY + b"\0" + text.encode("latin-1"))
                     + chunk(b"IDAT", zlib.compress(bytes(body), 9)) + chunk(b"IEND", b""))


def figures_of(summary):
    """What the picture shows in numbers: the verdict, and each policy's money."""
    lines = [summary["verdict"]["sentence"]]
    lines += [f'{row["policy"]} {row["effective_cost_usd"]["mean"]:.4f}' for row in summary["policies"] if row["status"] == "ok"]
    return "\n".join(lines)


def make(picture):
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        print("picture: there is no Chromium (apt-get install chromium)", file=sys.stderr)
        return 77
    program = os.environ.get("REHEARSE", str(ROOT / "rehearse"))
    with tempfile.TemporaryDirectory(prefix="rehearse-picture-") as name:
        scratch = pathlib.Path(name)
        results = scratch / "results"
        subprocess.run([program, "run", str(ROOT / "scenarios/quickstart.json"), "--certify", "--out", str(results)], check=True,
                       stdout=subprocess.DEVNULL)
        report = results / "report.html"
        if not report.exists() or report.stat().st_size == 0:
            print("picture: the run left no report", file=sys.stderr)
            return 77
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", report.read_text(encoding="utf-8"))
        (scratch / "page.html").write_text(page.replace("</head>", FIRST_SCREEN + "</head>", 1), encoding="utf-8")
        shot = scratch / "shot.png"
        for _ in range(5):  # Chromium now and then leaves a tile of a picture out
            subprocess.run([browser, *FLAGS, f"--user-data-dir={scratch / 'profile'}", f"--screenshot={shot}",
                            (scratch / "page.html").as_uri()], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            rows, size = rows_of(shot.read_bytes())
            if lower_edge(rows, size) > 0.9:
                break
        else:
            raise Mistake("Chromium drew a torn picture five times")
        write_png(picture, rows[: end_of(rows, size) + MARGIN], size, figures_of(json.loads((results / "summary.json").read_text())))
    return 0


def check(picture):
    png = picture.read_bytes()
    text = next((body[len(KEY) + 1 :].decode("latin-1") for kind, body in chunks(png) if kind == b"tEXt" and body.startswith(KEY)), "")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").split("\n")
    sentence, *policies = text.split("\n")
    wrong = [] if sentence and sentence in readme else [f"the README has no line {sentence!r}"]
    for line in policies:
        policy, money = line.rsplit(" ", 1)
        if not any(re.match(re.escape(policy) + r"\b", row) and money in row.split() for row in readme):
            wrong.append(f"the README has no row of {policy} with {money}")
    rows, size = rows_of(png)
    if lower_edge(rows, size) <= 0.9:
        wrong.append("its lower edge is torn")
    for mistake in wrong:
        print(f"{picture}: {mistake}: docs/picture.py makes it again")
    return 1 if wrong else 0


def main():
    arguments = sys.argv[1:]
    checks = "--check" in arguments
    names = [argument for argument in arguments if argument != "--check"]
    picture = pathlib.Path(names[0]) if names else ROOT / "docs/picture.png"
    try:
        return check(picture) if checks else make(picture)
    except (Mistake, subprocess.CalledProcessError) as mistake:
        print(f"picture: {mistake}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
