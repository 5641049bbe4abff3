"""Links Python packages into a prefix: ``link_packages.py PREFIX PACKAGE_FOLDER ...``

It does what ``colcon build --symlink-install`` does for ament_python packages, for all of them in one process: links to
modules and data files, executables, and metadata with entry points, all as each package's ``setup.py`` says.
"""

import os
import shutil
import sys
from pathlib import Path

from setuptools import Distribution  # brings distutils where the standard library has none

from distutils.core import run_setup  # isort: skip

_EXECUTABLE = "#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"


def link_package(folder: Path, prefix: Path) -> None:
    """Links one package anew."""
    os.chdir(folder)
    package: Distribution = run_setup("setup.py", stop_after="init")
    name, version = package.get_name(), package.get_version()
    modules = prefix / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    metadata = modules / f"{name}-{version}.dist-info"
    for made in (prefix / "share" / name, prefix / "lib" / name, metadata):
        shutil.rmtree(made, ignore_errors=True)  # what is gone from the checkout is gone here
        made.mkdir(parents=True)
    links = [(modules / module, module) for module in package.packages if "." not in module]
    links += [(prefix / target / Path(name).name, name) for target, names in package.data_files for name in names]
    for link, source in links:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(folder / source)
    for entry in package.entry_points.get("console_scripts", []):
        script, module, function = (part.strip() for part in entry.replace(":", "=").split("="))
        path = prefix / "lib" / name / script
        path.write_text(_EXECUTABLE.format(python=sys.executable, module=module, function=function))
        path.chmod(0o755)
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in package.install_requires)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}")
    groups = ("\n".join([f"[{group}]", *entries]) for group, entries in package.entry_points.items())
    (metadata / "entry_points.txt").write_text("\n\n".join(groups))


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        link_package(Path(argument), Path(sys.argv[1]))
