"""A checkout of the `haptics` script for its tests; uv, colcon and the packages are small stand-ins."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from machine_speed import limit

ROOT = Path(__file__).parents[1]

# The stand-in for uv: notes its arguments; with the first packages it installs what the other parts need.
UV = r"""#!/bin/sh
env=$HAPTICS_HOME${SUBFOLDER-}/env
site=$(echo "$env"/lib/python3*/site-packages)
echo "$@" >> "$HAPTICS_HOME/uv_arguments"
echo "${UV_CACHE_DIR-}" > "$HAPTICS_HOME/uv_cache_folder"
case ${BROKEN-} in
  uv) echo "something else is wrong"; exit 3 ;;
  disk) echo "No space left on device"; exit 3 ;;
  slow) touch "$HAPTICS_HOME/slow"; sleep 60 ;;
esac
[ ! -e "$site/known.py" ] || exit 0
touch "$site/known.py"
ln -sf SETUPTOOLS/setuptools* SETUPTOOLS/_distutils_hack "$site"
mkdir -p "$env/share/some" "$site/colcon"
build=/opt/python/cp312-cp312
numpy=$build/lib/python3.12/site-packages/numpy/_core/include
echo "$build/include/python3.12;$numpy;/usr/lib64/libtinyxml2.so;rt" > "$env/share/some/some.cmake"
cat > "$site/colcon/__main__.py" <<'END'
import os, sys
print(*sys.argv, flush=True)
if os.environ.get("BROKEN") == "colcon":
    sys.exit("fatal error: Python.h: No such file")
END
""".replace("SETUPTOOLS", sysconfig.get_paths()["purelib"])

COMMAND_LINE = """
import os, sys
import known
def main():
    print("arguments", sys.argv[1:], "in", os.getcwd(), "root", os.environ["HAPTICS_ROOT"])
    sys.exit(7)
"""

PACKAGE = """
from pathlib import Path
from setuptools import setup
name = Path.cwd().name
setup(
    name=name, version="1.2", packages=[name], entry_points={"console_scripts": [f"say = {name}:main"]},
    data_files=[("share/ament_index/resource_index/packages", ["resource/" + name])],
)
"""

#: logs of the parts of an environment
PARTS = {"packages": "packages", "messages": "messages", "contact_geometry": "rest", "Python_packages": "links"}
ALL = list(PARTS.values())


class Checkout:
    """A copy of the script with a small workspace."""

    def __init__(self, place: Path) -> None:
        self.root, self.home, self.programs = place / "checkout", place / "home", place / "programs"
        self.package = self.root / "src" / "haptic_bringup" / "haptic_bringup"
        for folder in (self.programs, self.root / "tools" / "setup", self.root / "requirements"):
            folder.mkdir(parents=True)
        for name in ("haptics", *(f"tools/setup/{path.name}" for path in (ROOT / "tools" / "setup").glob("*.*"))):
            (self.root / name).write_bytes((ROOT / name).read_bytes())
        (self.root / "haptics").chmod(0o755)
        for name in ("messages", "convex_contact_native"):
            self.write(f"src/{name}/package.xml", "")
            self.write(f"src/{name}/CMakeLists.txt", "")
            self.write(f"src/{name}/msg/State.msg", "float64 force\n")
        write_python_package(self.root / "src" / "haptic_bringup")
        for name in ("__init__.py", "doctor.py", "__main__.py"):
            (self.package / name).write_bytes((ROOT / "src/haptic_bringup/haptic_bringup" / name).read_bytes())
        self.write("src/haptic_bringup/haptic_bringup/__init__.py", "")
        self.write("src/haptic_bringup/haptic_bringup/cli.py", COMMAND_LINE)
        self.write("src/haptic_bringup/haptic_bringup/table.yaml", "")
        for folder in ("launch", "config"):
            self.write(f"src/haptic_bringup/{folder}/some.yaml", "")
        for lock in ("core.lock", "suite.lock", "ros.lock", "uv.lock"):
            self.write(f"requirements/{lock}", "known==1.0 ; python_version >= '3' \\\n    --hash=sha256:00\n")
        self.have_uv()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def have_uv(self) -> None:
        """Puts uv into the PATH."""
        (self.programs / "uv").write_text(UV)
        (self.programs / "uv").chmod(0o755)

    def variables(self, **more: str | None) -> dict[str, str]:
        """The variables of a shell that knows nothing of any environment; None leaves one out."""
        variables = {
            "PATH": f"{self.programs}:{os.defpath}",
            "HOME": str(self.home.parent),
            "HAPTICS_HOME": str(self.home),
            "HAPTICS_PYTHON": os.path.realpath(sys.executable),
            **more,
        }
        return {name: value for name, value in variables.items() if value is not None}

    def __call__(
        self, *arguments: str, cwd: Path | None = None, prefix: Sequence[str] = (), **more: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Runs the script, behind the words of a prefix."""
        command = [*prefix, str(self.root / "haptics"), *arguments]
        return subprocess.run(
            command, cwd=cwd, env=self.variables(**more), capture_output=True, text=True, timeout=limit(120)
        )

    def made(self, folder: str = "") -> list[str]:
        """The parts made since the last call."""
        logs = [self.home / folder / "log" / f"{name}.log" for name in PARTS]
        made = [PARTS[log.stem] for log in logs if log.exists()]
        for log in logs:
            log.unlink(missing_ok=True)
        return made

    def site_packages(self) -> Path:
        return next(self.home.glob("env/lib/python3*/site-packages"))


def write_python_package(folder: Path) -> None:
    (folder / folder.name).mkdir(parents=True)
    (folder / "resource").mkdir()
    (folder / "resource" / folder.name).touch()
    (folder / "package.xml").write_text(f"<package><name>{folder.name}</name></package>")
    (folder / "setup.py").write_text(PACKAGE)
    (folder / "pyproject.toml").touch()


def change(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = path.read_text() if path.exists() else ""
    path.write_text(f"{text}<!-- -->" if path.name == "package.xml" else f"{text}# changed\n")
