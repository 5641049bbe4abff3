"""Where the parts of the suite's environment lie, and its files."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from machine import dotted

# The contact geometry in C++, a fifth of the build. Most experiments need none.
_CONTACT = "convex_contact_native"
# Plugins for ros2_control, which has no wheels.
_HARDWARE = "haptic_hardware"


@dataclass(frozen=True)
class Workspace:
    """Where everything lies.

    Attributes:
        root: The checkout.
        home: The folder of all that setup makes (``.haptics``).
        ros: "wheels", or "system" for a sourced ROS 2 Jazzy installation.
        underlay: AMENT_PREFIX_PATH of that installation.
        geometry: Whether the contact geometry is made, too.
    """

    root: Path
    home: Path
    ros: str = "wheels"
    underlay: str = ""
    geometry: bool = True

    @property
    def env(self) -> Path:
        """The virtual environment."""
        return self.home / "env"

    @property
    def python(self) -> Path:
        """The interpreter of the virtual environment."""
        return self.env / "bin" / "python"

    @property
    def build(self) -> Path:
        """Colcon's build folder."""
        return self.home / "build"

    @property
    def install(self) -> Path:
        """The prefix of the built and linked packages."""
        return self.home / "install"

    @property
    def log(self) -> Path:
        """The logs of all stages."""
        return self.home / "log"

    @property
    def locks(self) -> list[Path]:
        """The lock files to install."""
        names = ["suite.lock", "ros.lock"] if self.ros == "wheels" else ["suite.lock"]
        return [self.root / "requirements" / name for name in names]

    @property
    def packages(self) -> list[Path]:
        """The folder of every ROS package below ``src``."""
        return sorted(manifest.parent for manifest in (self.root / "src").glob("*/package.xml"))

    @property
    def compiled(self) -> list[Path]:
        """The packages for colcon: all of them over a ROS 2 installation."""
        if self.ros == "system":
            return self.packages
        return [path for path in self.packages if _has_recipe(path) and path.name not in (_CONTACT, _HARDWARE)]

    @property
    def linked(self) -> list[Path]:
        """The packages that are linked instead of built."""
        return [] if self.ros == "system" else [path for path in self.packages if not _has_recipe(path)]

    @property
    def contact(self) -> list[Path]:
        """The package that is built only when it is needed."""
        wanted = self.geometry and self.ros == "wheels"
        return [path for path in self.packages if wanted and path.name == _CONTACT]

    def site_packages(self, prefix: Path) -> Path:
        """The folder of Python modules below a prefix."""
        return prefix / "lib" / f"python{dotted(sys.version_info)}" / "site-packages"

    @property
    def wheel_libraries(self) -> list[Path]:
        """The folders of the wheels' shared libraries."""
        return [self.env / "lib", *sorted(self.site_packages(self.env).glob("ros_*.libs"))]


def _has_recipe(package: Path) -> bool:
    return (package / "CMakeLists.txt").exists()


def read(path: Path) -> str | None:
    """The text of a file, None if there is none."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    if path.exists():
        shutil.copymode(path, part)
    part.replace(path)


def remove(folder: Path) -> None:
    """Removes a folder with all in it, if there is one."""
    if folder.exists():
        shutil.rmtree(folder)
