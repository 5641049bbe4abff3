"""The experiment `touch` with a URDF and an MJCF file, in one process: the finger pushes what the file describes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from haptic_experiments import graph

#: where the finger goes in the first half second: from x = y = -0.08 m along x
PLACE = "-0.04 -0.08 0.02"
URDF = f"""<robot name="press">
  <link name="frame"/>
  <link name="button"><inertial><mass value="0.1"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><geometry><box size="0.04 0.04 0.04"/></geometry></collision></link>
  <joint name="rail" type="prismatic"><parent link="frame"/><child link="button"/><origin xyz="{PLACE}"/>
    <axis xyz="1 0 0"/><limit lower="-0.1" upper="0.1" effort="10" velocity="5"/><dynamics damping="2"/></joint>
</robot>"""
MJCF = f"""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 0.1"/>
  <body name="brick" pos="{PLACE}"><freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.05"/></body>
</worldbody></mujoco>"""


TEXTS = {"urdf": URDF, "xml": MJCF}


@pytest.mark.parametrize(
    ("kind", "names", "touched"),
    [("urdf", ["press/button", "table", "finger"], "press/button"), ("xml", ["world", "brick", "finger"], "brick")],
)
def test_finger_pushes_what_a_file_describes(tmp_path: Path, kind: str, names: list[str], touched: str) -> None:
    file = tmp_path / f"brick.{kind}"
    file.write_text(TEXTS[kind])
    done = graph.run("touch", {"world": str(file), "duration": "0.6"})
    renderer = done.graph.steps["contact"].renderer  # type: ignore[attr-defined]
    assert [body.name for body in renderer.simulator.world.bodies] == names
    position = np.reshape(list(done.columns["contact"]["position"]), (done.length, len(names), 3))
    body, finger = (position[:, names.index(name)] for name in (touched, "finger"))
    assert abs(body[0, 0] + 0.04) < 1e-3
    assert body[-1, 0] > -0.04 + 0.05  # pushed along x
    gap = np.linalg.norm((body - finger)[:, :2], axis=1)
    # half a side and the radius of the finger, which sinks in by a few tenths of a millimetre
    assert 0.0295 < gap.min() < 0.0305
