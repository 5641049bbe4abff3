"""Builds the library for pip, as CMakeLists.txt does for a ROS workspace: one shared library beside the packages."""

from importlib.metadata import distribution, version
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from setuptools import Extension, setup

manifest = ElementTree.parse("package.xml").getroot()
prefix = Path(distribution("libcoal").locate_file("cmeel.prefix"))
library = Extension(
    manifest.findtext("name"),
    sources=["src/interface.cpp"],
    include_dirs=[str(prefix / "include"), str(prefix / "include" / "eigen3")],
    # the sources are compiled as one: most of the time goes into headers that all of them include
    extra_compile_args=[
        *("-std=c++17", "-O2", "-g0", "-ffp-contract=off", "-fvisibility=hidden"),
        *("-include", "src/shapes.cpp", "-include", "src/manifold.cpp"),
    ],
    extra_link_args=[str(prefix / "lib" / "libcoal.so"), "-Wl,-rpath,$ORIGIN/cmeel.prefix/lib"],
    language="c++",
)
with TemporaryDirectory() as build:
    setup(
        version=manifest.findtext("version"),
        description=manifest.findtext("description"),
        license=manifest.findtext("license"),
        maintainer=manifest.findtext("maintainer"),
        maintainer_email=manifest.find("maintainer").get("email"),
        python_requires=">=3.10",
        install_requires=[f"libcoal=={version('libcoal')}"],  # the binary interface that it was compiled for
        ext_modules=[library],
        packages=[],
        options={"build": {"build_base": build}},
    )
