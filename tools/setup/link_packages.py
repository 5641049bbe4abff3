"""Links Python packages into a prefix: ``link_packages.py PREFIX PACKAGE_FOLDER ...``

It does what ``colcon build --symlink-install`` does for ament_python packages, for all of them in one process:
modules and data files are symbolic links, executables import the package's functions, and the entry points are
where ``importlib.metadata`` finds them. The names come from each package's ``setup.py``.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution  # brings distutils where the standard library has none

from distutils.core import run_setup  # isort: skip

_EXECUTABLE = """\
#!{python}
import sys
from {module} import {function}
sys.exit({function}())
"""


def main(prefix: Path, folders: list[Path]) -> None:
    """Links all packages anew."""
    modules = prefix / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    modules.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        os.chdir(folder)
        package: Distribution = run_setup("setup.py", stop_after="init")
        name = package.get_name()
        clear(prefix / "share" / name)
        clear(prefix / "lib" / name)
        for target, sources in package.data_files:
            for source in sources:
                link(folder / source, prefix / target / Path(source).name)
        for module in {module.partition(".")[0] for module in package.packages}:
            link(folder / module, modules / module)
        scripts = package.entry_points.get("console_scripts", [])
        for script in scripts:
            write_executable(prefix / "lib" / name, script)
        write_metadata(modules / f"{name}-{package.get_version()}.dist-info", package)


def clear(folder: Path) -> None:
    """Removes a folder of links, so that what is gone from the checkout is gone here."""
    if folder.exists():
        shutil.rmtree(folder)


def link(source: Path, target: Path) -> None:
    """Makes a symbolic link, in place of what is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.symlink_to(source)


def write_executable(folder: Path, entry: str) -> None:
    """Writes the executable of an entry point ``name = module:function``."""
    name, _, place = (part.strip() for part in entry.partition("="))
    module, _, function = place.partition(":")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(_EXECUTABLE.format(python=sys.executable, module=module, function=function))
    path.chmod(0o755)


def write_metadata(folder: Path, package: Distribution) -> None:
    """Writes what ``importlib.metadata`` reads: name, version and entry points."""
    clear(folder)
    folder.mkdir()
    head = f"Metadata-Version: 2.1\nName: {package.get_name()}\nVersion: {package.get_version()}\n"
    (folder / "METADATA").write_text(head)
    groups = [f"[{group}]\n" + "\n".join(entries) + "\n" for group, entries in package.entry_points.items()]
    (folder / "entry_points.txt").write_text("\n".join(groups))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(argument) for argument in sys.argv[2:]])
