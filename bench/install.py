"""Installs the wheel in a clean environment: seconds to the README's first answers, and the size of each dependency.

    python bench/install.py

Ends with 1 if a first answer takes more than ten seconds. Sizes are those of the installed files, with the bytecode
that pip compiles.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "docs"))

from pages import blocks, commands  # noqa: E402

SECONDS = 10
DATA = "discreet/datasets/rand/visits.parquet"
SIZES = """
import json, re
from pathlib import Path
from importlib.metadata import distributions
sizes, wants, inner = {}, {}, {}
for each in distributions():
    name = re.sub(r"[-_.]+", "-", each.metadata["Name"]).lower()
    if name in ("pip", "setuptools"):
        continue
    files = [Path(file.locate()) for file in each.files or []]
    sizes[name] = sum(file.stat().st_size for file in files if file.is_file())
    needs = [r for r in each.requires or [] if "extra ==" not in r]
    wants[name] = [re.sub(r"[-_.]+", "-", re.match(r"[\\w.-]+", r)[0]).lower() for r in needs]
    for file in files:
        parts = [each for each in (".pyc", "tests") if file.suffix == each or each in file.parts]
        for part in parts[:1]:
            inner[part] = inner.get(part, 0) + (file.stat().st_size if file.is_file() else 0)
print(json.dumps([sizes, wants, inner]))
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = build(folder)
        print(
            f"wheel: {wheel.stat().st_size / 1e6:.2f} MB, of which the example table {example_size(wheel) / 1e3:.0f} kB"
        )
        shell = install(wheel, folder)
        slow = [what for what, seconds in first_answers(shell, folder) if seconds > SECONDS]
        print_sizes(shell)
    for what in slow:
        print(f"more than {SECONDS} s: {what}", file=sys.stderr)
    return bool(slow)


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", folder, ROOT]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def example_size(wheel: Path) -> int:
    with zipfile.ZipFile(wheel) as archive:
        return archive.getinfo(DATA).compress_size


def install(wheel: Path, folder: Path) -> dict[str, str]:
    """The variables of a shell in a new environment that has the wheel and what it needs."""
    place = folder / "environment"
    venv.create(place, with_pip=True)
    began = time.perf_counter()
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "-qq", wheel], check=True)
    print(f"pip install: {time.perf_counter() - began:.0f} s")
    shell = {name: value for name, value in os.environ.items() if not name.startswith(("PY", "VIRTUAL"))}
    return shell | {"PATH": f"{place / 'bin'}{os.pathsep}{shell['PATH']}"}


def first_answers(shell: dict[str, str], folder: Path) -> list[tuple[str, float]]:
    """Seconds of the README's first Python block, and of each command of its first console block."""
    page = blocks(ROOT / "README.md")
    python = next(block.text for block in page if block.language == "python")
    console = next(block.text for block in page if block.language == "console")
    steps = [("the first Python block", ["python", "-c", python])]
    steps += [(re.split(" --|  +", command)[0], ["/bin/sh", "-c", command]) for command in commands(console)]
    times: list[tuple[str, float]] = []
    for what, command in steps:
        began = time.perf_counter()
        subprocess.run(command, env=shell, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        times.append((what, time.perf_counter() - began))
        print(f"{times[-1][1]:6.2f} s  {what}")
    return times


def print_sizes(shell: dict[str, str]) -> None:
    """Megabytes of each distribution, largest first, and which of them need it."""
    done = subprocess.run(["python", "-c", SIZES], env=shell, capture_output=True, text=True, check=True)
    sizes, wants, inner = json.loads(done.stdout)
    total = sum(sizes.values())
    print(f"installed: {total / 1e6:.0f} MB")
    print(f"of it: {inner['.pyc'] / 1e6:.0f} MB of bytecode, {inner['tests'] / 1e6:.0f} MB of the packages' own tests")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        needed_by = ", ".join(sorted(other for other in sizes if name in wants[other] and other != name))
        print(f"{size / 1e6:7.1f} MB {size / total:6.1%}  {name:20} {needed_by}")


if __name__ == "__main__":
    sys.exit(main())
