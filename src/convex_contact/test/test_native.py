"""Without the compiled library spheres collide, and boxes are refused with the reason."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from convex_contact.model import native

SCRIPT = """
from convex_contact import NativeLibraryError, World, WorldDynamics
from convex_contact.model import native
assert not native.available()
w = World()
w.add_half_space("ground")
w.add_sphere("ball", mass=1.0, radius=0.1, position=(0, 0, 0.1))
w.add_box("box", mass=1.0, size=(0.1, 0.1, 0.1), position=(0, 0, 0.25))
d = WorldDynamics(w, period=1e-3, speculative=False)
d.prepare()
assert d.collect().count[0] == 2, d.contacts.count
w.add_box("other", mass=1.0, size=(0.1, 0.1, 0.1), position=(0.2, 0, 0.25))
try:
    WorldDynamics(w, period=1e-3)
except NativeLibraryError as error:
    print(error)
"""


@pytest.mark.slow
def test_spheres_need_no_native_library_and_boxes_name_the_missing_one() -> None:
    assert native.available()
    variables = dict(os.environ)
    variables.pop("AMENT_PREFIX_PATH", None)
    paths = variables.pop("LD_LIBRARY_PATH", "").split(os.pathsep)
    kept = [path for path in paths if not os.path.exists(os.path.join(path, native.LIBRARY))]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=variables | {"LD_LIBRARY_PATH": os.pathsep.join(kept)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("libconvex_contact_native.so was not found; build the workspace (./haptics setup)")
