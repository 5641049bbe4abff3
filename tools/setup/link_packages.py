"""Links Python packages into a prefix, as `colcon build --symlink-install` does: link_packages.py PREFIX FOLDER ..."""

import functools
import importlib.metadata
import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution  # brings distutils where the standard library has none

from distutils.core import run_setup  # isort: skip

_EXECUTABLE = "#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
# setuptools reads those of all installed packages five times for each package
importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)  # type: ignore[assignment]


def link_package(folder: Path, prefix: Path) -> None:
    """Links one package anew."""
    os.chdir(folder)
    package: Distribution = run_setup("setup.py", stop_after="config")
    name, version = package.get_name(), package.get_version()
    modules = prefix / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    metadata = modules / f"{name}-{version}.dist-info"
    made = [prefix / "share" / name, prefix / "lib" / name, metadata]
    for old in (*made, *modules.glob(f"{name}-*.dist-info")):  # what is gone from the checkout is gone here
        shutil.rmtree(old, ignore_errors=True)
    for new in made:
        new.mkdir(parents=True)
    links = [(modules / module, module) for module in package.packages if "." not in module]
    links += [(prefix / target / Path(name).name, name) for target, names in package.data_files for name in names]
    for link, source in links:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(folder / source)
    entry_points = package.entry_points or {}
    for entry in entry_points.get("console_scripts", []):
        script, module, function = (part.strip() for part in entry.replace(":", "=").split("="))
        path = prefix / "lib" / name / script
        path.write_text(_EXECUTABLE.format(python=sys.executable, module=module, function=function))
        path.chmod(0o755)
    with (metadata / "METADATA").open("w", encoding="utf-8") as file:
        package.metadata.write_pkg_file(file)
    groups = ("\n".join([f"[{group}]", *entries]) for group, entries in entry_points.items())
    (metadata / "entry_points.txt").write_text("\n\n".join(groups))


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        link_package(Path(argument), Path(sys.argv[1]))
