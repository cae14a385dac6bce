#!/usr/bin/env python3
"""Tables fit the terminal that they are printed on, and keep their usual width where there is none.

  terminal_test.py REHEARSE SOURCE

Standard library only.
"""
import fcntl
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios

PROGRAM, SOURCE = sys.argv[1], sys.argv[2]


def printed(columns, arguments, environment=None):
    """What the program prints on a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    own = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {"NO_COLOR": "1", "TERM": "dumb"} | (environment or {})
    child = subprocess.Popen([PROGRAM, *arguments], stdout=slave, stderr=subprocess.DEVNULL, env=own)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    child.wait()
    os.close(master)
    return text.decode().replace("\r\n", "\n").split("\n")


def tables(lines):
    """The lines of tables: those above and below a rule, up to a blank line."""
    rules = [i for i, line in enumerate(lines) if line and set(line) == {"-"}]
    return [line for i in rules for line in [lines[i - 1], lines[i], *lines[i + 1 : lines.index("", i) if "" in lines[i:] else None]]]


def main():
    wrong = []
    with tempfile.TemporaryDirectory(prefix="rehearse-terminal-") as name:
        run = ["run", str(pathlib.Path(SOURCE) / "scenarios/quickstart.json"), "--out", name + "/q", "--replace"]
        of = {width: printed(width, run) for width in (60, 80, 100, 160)}
        for width, lines in of.items():
            # Words of a last column may stand beyond where no column is left for them; numbers and names may not.
            long = [line for line in tables(lines) if len(line) > width]
            wrong += [f"{width} columns: {line}" for line in long]
            heads = [lines[i - 1].split()[0] for i, line in enumerate(lines) if line and set(line) == {"-"}]
            if set(heads) != {"policy"}:
                wrong.append(f"{width} columns: parts of tables begin with {sorted(set(heads))}")
        if sum(map(bool, map(str.strip, of[160]))) >= sum(map(bool, map(str.strip, of[60]))):
            wrong.append("a wide terminal has as many lines as a narrow one")
        piped = subprocess.run([PROGRAM, *run], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"COLUMNS": "60"}).stdout
        steady = lambda lines: [line for line in lines if "policy took" not in line and not line.rstrip().endswith((" s", " ms", " us"))]
        if steady(piped.split("\n")) != steady(of[100]):
            wrong.append("without a terminal the tables have another width than 100 columns")
        if steady(printed(160, run, {"COLUMNS": "80"})) != steady(of[80]):
            wrong.append("COLUMNS does not go before the terminal's own width")
    print("\n".join(wrong) or "tables fit")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
