"""Geometry and settings of the forces on the page: arrows, friction cones, contact patches and penetrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import viser

from haptic_math.rotations import matrix_from_quaternion
from haptic_viewer.layout import LAST_FOLDERS
from haptic_viewer.text import PlainText

#: colours of forces: hand (or sensor), rendered force, normal and tangential contact forces
HAND, RENDERED, NORMAL, TANGENTIAL = (230, 140, 30), (40, 110, 220), (214, 39, 40), (23, 150, 90)
CONE, PATCH, DEPTH = (120, 94, 200), (250, 180, 20), (214, 39, 40)
#: smallest force that is drawn [N]
SMALLEST = 0.05
#: length of a force of 1 N [mm]: initial value and bounds
_LENGTH, _SHORTEST, _LONGEST = 10.0, 1.0, 50.0
#: largest exaggeration of a penetration [-]
_MOST_TIMES = 500
#: sides of a cone, radius of a contact without a polygon [m]
_SIDES, _POINT = 20, 0.002


@dataclass(frozen=True)
class WorldFrame:
    """Frame of a node's world in the device's base frame.

    Attributes:
        position: position of the world's origin (3,) [m].
        rotation: rotation matrix of the world's axes (3, 3).
        scale: ratio of lengths in the world to lengths in the base frame [-].
    """

    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    scale: float = 1.0

    @staticmethod
    def of(parameters: Mapping[str, Any]) -> WorldFrame:
        """Reads the frame from the parameters of a node; missing parameters have the values of the base frame."""
        position = np.asarray(parameters.get("frame_position", (0.0, 0.0, 0.0)), dtype=float)
        orientation = np.asarray(parameters.get("frame_orientation", (0.0, 0.0, 0.0, 1.0)), dtype=float)
        rotation = matrix_from_quaternion(orientation / np.linalg.norm(orientation))
        return WorldFrame(position.reshape(3), rotation, float(parameters.get("scale", 1.0)))

    def points(self, points: np.ndarray) -> np.ndarray:
        """Transforms points (n, 3) of the world to the base frame [m]."""
        return self.position + (points / self.scale) @ self.rotation.T


@dataclass(frozen=True)
class Loads:
    """Contacts of a message with a force, in the base frame.

    Attributes:
        pair: numbers of the two bodies (n, 2).
        position: contact points (n, 3) [m].
        normal: unit vectors into the second body (n, 3).
        normal_force: force on the second body along the normal (n,) [N].
        tangential_force: tangential force on the second body (n, 3) [N].
    """

    pair: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    normal_force: np.ndarray
    tangential_force: np.ndarray

    @staticmethod
    def of(message: Any, frame: WorldFrame) -> Loads:
        """Extracts the contacts from a ContactArray, whose vectors are in the world's frame."""
        normal_force = np.asarray(message.normal_impulse) / message.period
        loaded = normal_force > SMALLEST
        vectors = {
            name: np.asarray(getattr(message, name)).reshape(-1, 3)[loaded]
            for name in ("position", "normal", "tangential_impulse")
        }
        pair = np.stack([np.asarray(message.body_a), np.asarray(message.body_b)], axis=1)[loaded]
        return Loads(
            pair,
            frame.points(vectors["position"]),
            vectors["normal"] @ frame.rotation.T,
            normal_force[loaded],
            vectors["tangential_impulse"] @ frame.rotation.T / message.period,
        )

    def arrows(self, length: float) -> tuple[np.ndarray, np.ndarray]:
        """Returns arrows (n, 2, 3) [m] of the normal and (m, 2, 3) of the tangential forces; `length` of 1 N [m]."""
        normal = self.position + length * self.normal_force[:, None] * self.normal
        strong = np.linalg.norm(self.tangential_force, axis=1) > SMALLEST
        start = self.position[strong]
        tangential = start + length * self.tangential_force[strong]
        return np.stack([self.position, normal], axis=1), np.stack([start, tangential], axis=1)


class FrictionRatios:
    """Largest ratio of tangential to normal force that each pair of bodies has reached.

    The ratio is the coefficient of friction once the pair has slid; a pair that has only stuck has a smaller ratio.
    """

    def __init__(self) -> None:
        self._largest: dict[tuple[int, int], float] = {}

    def of(self, loads: Loads) -> np.ndarray:
        """Updates the ratios with the newest contacts, and returns the ratio (n,) of the pair of each contact."""
        ratios = np.linalg.norm(loads.tangential_force, axis=1) / np.maximum(loads.normal_force, SMALLEST)
        pairs = [(int(a), int(b)) for a, b in loads.pair]
        for pair, ratio in zip(pairs, ratios.tolist(), strict=True):
            self._largest[pair] = max(self._largest.get(pair, 0.0), ratio)
        return np.array([self._largest[pair] for pair in pairs])


def _tangents(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Computes two orthogonal unit vectors (3,) that are normal to a unit vector."""
    axis = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = np.cross(normal, axis)
    first /= np.linalg.norm(first)
    return first, np.cross(normal, first)


def _fan(center: np.ndarray, rim: np.ndarray) -> np.ndarray:
    """Builds triangles (n, 3, 3) from a centre (3,) to the closed line through the points of a rim (n, 3)."""
    return np.stack([np.broadcast_to(center, rim.shape), rim, np.roll(rim, -1, axis=0)], axis=1)


def _disc(center: np.ndarray, normal: np.ndarray, radius: float) -> np.ndarray:
    """Computes the points (n, 3) of a circle."""
    first, second = _tangents(normal)
    angle = np.linspace(0.0, 2.0 * np.pi, _SIDES, endpoint=False)[:, None]
    rim: np.ndarray = center + radius * (np.cos(angle) * first + np.sin(angle) * second)
    return rim


def cones(loads: Loads, ratios: np.ndarray, length: float) -> np.ndarray:
    """Returns the friction cones of contacts as triangles (n, 3, 3) [m].

    A cone has its apex at the contact and the height of the drawn normal force. Forces inside the cone are sticking.

    Args:
        loads: contacts.
        ratios: ratio of tangential to normal force on the surface of each cone (n,).
        length: length of a force of 1 N [m].
    """
    found = [np.zeros((0, 3, 3))]
    for position, normal, force, ratio in zip(
        loads.position, loads.normal, loads.normal_force, ratios.tolist(), strict=True
    ):
        height = length * float(force)
        found.append(_fan(position, _disc(position + height * normal, normal, ratio * height)))
    return np.concatenate(found)


def patches(loads: Loads) -> np.ndarray:
    """Returns the contact patches as triangles (n, 3, 3) [m]: the polygon of the contacts of each pair of bodies.

    A pair with fewer than three contacts has a small disc at each.
    """
    found = [np.zeros((0, 3, 3))]
    for pair in np.unique(loads.pair, axis=0):
        mine = (loads.pair == pair).all(axis=1)
        points, normals = loads.position[mine], loads.normal[mine]
        if len(points) < 3:
            found += [_fan(p, _disc(p, n, _POINT)) for p, n in zip(points, normals, strict=True)]
            continue
        center, normal = points.mean(axis=0), normals.mean(axis=0)
        first, second = _tangents(normal / max(float(np.linalg.norm(normal)), 1e-9))
        order = np.argsort(np.arctan2((points - center) @ second, (points - center) @ first))
        found.append(_fan(center, points[order]))
    return np.concatenate(found)


def depths(message: Any, tool: np.ndarray, times: float) -> np.ndarray:
    """Returns lines (n, 2, 3) [m] from the surface of each touched wall to the exaggerated position of the tool.

    Args:
        message: WallState.
        tool: position of the tool (3,) [m].
        times: factor of the penetrations [-].
    """
    normals = np.asarray(message.normal).reshape(-1, 3)
    penetration = np.asarray(message.penetration)
    touched = penetration > 0.0
    surface = tool + penetration[touched, None] * normals[touched]
    return np.stack([surface, surface - times * penetration[touched, None] * normals[touched]], axis=1)


class ForcePanel:
    """Settings of the forces: scale, and the shapes that are drawn with them.

    Args:
        gui: GUI of the page.
    """

    def __init__(self, gui: viser.GuiApi) -> None:
        with gui.add_folder("Forces", order=LAST_FOLDERS["Forces"]):
            self._length: Any = gui.add_slider(
                "1 N is drawn as [mm]", _SHORTEST, _LONGEST, 1.0, _LENGTH, hint="scale of all arrows of forces"
            )
            self._contacts: Any = gui.add_checkbox(
                "contact forces", True, visible=False, hint="on the second body: normal red, tangential green"
            )
            self._cones: Any = gui.add_checkbox(
                "friction cones", False, visible=False, hint="of the largest ratio that a pair of bodies has shown"
            )
            self._patches: Any = gui.add_checkbox(
                "contact patches", False, visible=False, hint="polygon of the contacts of each pair; bodies see-through"
            )
            self._times: Any = gui.add_slider(
                "penetration, times", 1, _MOST_TIMES, 1, 1, visible=False, hint="the depth of the tool in the walls"
            )
            self._words = PlainText(gui, "orange: hand, blue: rendered")

    def offer_contacts(self) -> None:
        """Shows the settings of contacts, once the experiment has contacts."""
        if not self._contacts.visible:
            self._contacts.visible = self._cones.visible = self._patches.visible = True
            self._words.show("orange: hand, blue: rendered, red: normal, green: tangential")

    def offer_walls(self) -> None:
        """Shows the settings of walls, once the experiment has walls."""
        if not self._times.visible:
            self._times.visible = True
            self._words.show("orange: hand, blue: rendered, red: of the wall")

    @property
    def settings(self) -> tuple[float | bool, ...]:
        """All settings, for the detection of changes."""
        return self.length, self.times, self.contacts, self.cones, self.patches

    @property
    def length(self) -> float:
        """Length of a force of 1 N [m]."""
        return 1e-3 * float(self._length.value)

    @property
    def times(self) -> float:
        """Exaggeration of penetrations [-]."""
        return float(self._times.value)

    @property
    def contacts(self) -> bool:
        """True if the forces of contacts are drawn."""
        return bool(self._contacts.value)

    @property
    def cones(self) -> bool:
        """True if friction cones are drawn."""
        return bool(self._cones.value)

    @property
    def patches(self) -> bool:
        """True if contact patches are drawn, and the bodies are translucent."""
        return bool(self._patches.value)
