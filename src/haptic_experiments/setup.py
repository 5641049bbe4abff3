"""Installs haptic_experiments as an ament_python package."""

from setuptools import find_packages, setup

package = "haptic_experiments"

setup(
    name=package,
    version="0.1.0",
    packages=find_packages(exclude=["test"]),
    package_data={package: ["py.typed", "*.html"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{package}"]),
        (f"share/{package}", ["package.xml"]),
    ],
    zip_safe=True,
    install_requires=[
        "distributed",
        "jinja2",
        "matplotlib",
        "numpy",
        "pydantic",
        "pyyaml",
        "rich",
        "scipy",
        "typer",
    ],
    maintainer="Haptic suite maintainers",
    maintainer_email="haptic-suite@example.org",
    description="Reports of the experiments, and studies of the papers.",
    license="Apache-2.0",
    entry_points={
        "haptic_studies": ["papers = haptic_experiments.studies"],
    },
)
