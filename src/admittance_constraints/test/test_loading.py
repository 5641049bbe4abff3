"""Mechanisms by name, and the example file of docs/constraints.md."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from admittance_constraints import MechanismError, ReferenceGenerator, RollingDisk, load_mechanism, mechanisms

DOCUMENT = Path(__file__).parents[3] / "docs" / "constraints.md"


@pytest.fixture
def bead(tmp_path: Path) -> Path:
    """Writes the example of the document to a file."""
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    path = tmp_path / "bead.py"
    path.write_text(next(block for block in blocks if "class BeadOnHelix" in block))
    return path


@pytest.mark.parametrize("name", mechanisms.__all__)
def test_ready_mechanisms_are_found_and_step(name: str) -> None:
    m = load_mechanism(name)
    z = [0.4, 0.2, 1.2] if name.startswith("DiskOnSphere") else None
    r = ReferenceGenerator(m, z=z, compiled=False).step(wrench=[0.1, 0.2, 0.3, 0.0, 0.0, 0.01])
    assert type(m).__name__ == name and np.isfinite(r.x).all() and r.holonomic_residual < 1e-15


def test_arguments_reach_the_class() -> None:
    m = load_mechanism("RollingDisk", radius=0.05)
    assert isinstance(m, RollingDisk) and m.radius == 0.05


def test_example_of_the_documentation_is_a_bead_on_a_helix(bead: Path) -> None:
    assert len(bead.read_text().splitlines()) <= 35
    for name in (str(bead), f"{bead}:BeadOnHelix"):
        m = load_mechanism(name, mass=0.2, radius=0.05, pitch=0.1, gravity=9.81)
        assert m.constraint_names == ("on the cylinder", "on the thread")
    # z'' = -g k / (r^2 + k^2) with k = pitch / (2 pi): the height of the thread per angle
    k = 0.1 / (2 * np.pi)
    r = ReferenceGenerator(m, z=[1.0], compiled=False).step(np.zeros(6))
    assert r.z_acceleration[0] == pytest.approx(-9.81 * k / (0.05**2 + k**2), rel=1e-12)
    rows = ReferenceGenerator(m, z=[1.0], integrator="midpoint").simulate(np.zeros((1000, 6)))
    assert rows.z[-1, 0] == pytest.approx(1.0 - 9.81 * k / (0.05**2 + k**2) / 2, rel=1e-12)
    energy = rows.kinetic_energy + rows.potential_energy
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def test_modules_are_imported() -> None:
    assert isinstance(load_mechanism("admittance_constraints.mechanisms.rolling_disk:RollingDisk"), RollingDisk)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Rolling", "mechanism Rolling: expected one of DiskOnSphere, .*, or module:Class, or file.py:Class"),
        ("no_such_module:Disk", "mechanism no_such_module:Disk: No module named"),
        ("admittance_constraints.mechanisms:Disk", "expected one of .*RollingDisk.*, got Disk"),
        ("/no/such/file.py", "mechanism file /no/such/file.py: cannot be read: No such file or directory"),
    ],
)
def test_refusal_of_an_unknown_name_lists_the_known_ones(name: str, message: str) -> None:
    with pytest.raises(MechanismError, match=message):
        load_mechanism(name)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import admittance_constraints\n1 / 0\n")
    with pytest.raises(MechanismError, match=r"broken\.py: line 2: ZeroDivisionError$"):
        load_mechanism(str(path))
    path.write_text("from admittance_constraints import RollingDisk\n")
    with pytest.raises(MechanismError, match=r"expected file\.py:Class with one of \(none\)"):
        load_mechanism(str(path))


def test_an_unknown_argument_is_named() -> None:
    with pytest.raises(
        MechanismError, match=r"mechanism RollingDisk: .*unexpected keyword argument 'colour'; it takes mass, "
    ):
        load_mechanism("RollingDisk", colour=1.0)
