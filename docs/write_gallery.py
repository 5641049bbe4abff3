"""Writes the pictures of the gallery, docs/images/examples/: the figures of the examples, made smaller.

    ./haptics exec python docs/write_gallery.py [EXAMPLE ...]

Without names it runs every example, on all cores. The tests compare the pictures with the figures of the examples.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images" / "examples"
#: largest width and height [pixels]
SIZE = (480, 320)


def small(path: Path) -> Image.Image:
    """Reduces a figure to the size of the gallery, at most `SIZE`, and 64 colours."""
    with Image.open(path) as figure:
        picture = figure.convert("RGB")
    picture.thumbnail(SIZE, Image.Resampling.LANCZOS)
    return picture.quantize(64)


def write(example: Path) -> None:
    """Runs an example and writes its picture."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, str(example)], cwd=folder, check=True)
        small(Path(folder) / f"{example.stem}.png").save(PICTURES / f"{example.stem}.png", optimize=True)


def main() -> None:
    """Writes the pictures of the named examples, or of all."""
    known = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}
    chosen = sys.argv[1:] or list(known)
    if unknown := [name for name in chosen if name not in known]:
        sys.exit(f"{unknown[0]}: no such example, expected one of: {', '.join(known)}")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor() as pool:
        list(pool.map(write, (known[name] for name in chosen)))


if __name__ == "__main__":
    main()
