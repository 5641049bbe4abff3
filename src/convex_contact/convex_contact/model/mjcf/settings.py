"""Settings of the compiler and of the simulation, and the simulation's flags."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from convex_contact.model.mjcf.defaults import joined
from convex_contact.model.mjcf.document import MjcfDocument, choice, flag
from convex_contact.model.mjcf.vocabulary import ATTRIBUTES, ORIENTATIONS
from convex_contact.model.xml_document import Element

#: default length of a step [s]
TIMESTEP = 0.002
_AXES = {"x": np.array([1.0, 0.0, 0.0]), "y": np.array([0.0, 1.0, 0.0]), "z": np.array([0.0, 0.0, 1.0])}


@dataclass(frozen=True)
class Compiler:
    """Settings of the element `compiler`, with the names of MuJoCo's documentation.

    Attributes:
        angle: radians per unit of an angle.
        eulerseq: axes of Euler angles in their order; lower case: of the rotated frame.
        autolimits: a range without `limited` limits.
        meshdir: directory of meshes, relative to the file's.
        strippath: the directories of mesh files are ignored.
        inertiafromgeom: "true", "false" or "auto".
        inertiagrouprange: least and greatest group of the geoms that have mass.
        boundmass: least mass of a body [kg].
        boundinertia: least principal moment of a body [kg m^2].
        balanceinertia: principal moments that no rigid body can have are replaced by their mean.
        settotalmass: mass of all bodies [kg]; not above 0: that of the file.
    """

    angle: float
    eulerseq: str
    autolimits: bool
    meshdir: Path
    strippath: bool
    inertiafromgeom: str
    inertiagrouprange: tuple[float, float]
    boundmass: float
    boundinertia: float
    balanceinertia: bool
    settotalmass: float

    def pose(self, element: Element) -> pin.SE3:
        """Returns the pose of an element in its parent's frame.

        Raises:
            XmlError: a number or an orientation is wrong.
        """
        return pin.SE3(self.rotation(element), np.array(element.numbers("pos", 3, "0 0 0")))

    def rotation(self, element: Element) -> np.ndarray:
        """Returns the orientation of an element, a rotation matrix (3, 3).

        Raises:
            XmlError: the element gives two orientations, or a wrong one.
        """
        given = sorted(ORIENTATIONS & element.attributes.keys())
        if len(given) > 1:
            raise element.error(f"expected one orientation, got {given[0]} and {given[1]}")
        if not given:
            return np.eye(3)
        name = given[0]
        if name == "quat":
            w, x, y, z = element.numbers(name, 4)
            if not math.hypot(w, x, y, z) > 1e-9:
                raise element.error("expected a quaternion w x y z that is not 0", name)
            return np.asarray(pin.Quaternion(w, x, y, z).normalized().matrix())
        if name == "euler":
            return self._euler(element.numbers(name, 3))
        values = np.array(element.numbers(name, {"axisangle": 4, "xyaxes": 6, "zaxis": 3}[name]))
        axis = unit(element, name, values[:3])
        if name == "axisangle":
            return np.asarray(pin.AngleAxis(values[3] * self.angle, axis).matrix())
        if name == "zaxis":
            return rotation_to(axis)
        across = values[3:] - axis * (axis @ values[3:])
        y_axis = unit(element, name, across)
        return np.stack([axis, y_axis, np.cross(axis, y_axis)], axis=1)

    def _euler(self, angles: tuple[float, ...]) -> np.ndarray:
        rotation = np.eye(3)
        for axis, angle in zip(self.eulerseq, angles, strict=True):
            part = pin.AngleAxis(angle * self.angle, _AXES[axis.lower()]).matrix()
            rotation = rotation @ part if axis.islower() else part @ rotation
        return rotation


def unit(element: Element, attribute: str, values: np.ndarray) -> np.ndarray:
    """Normalises a vector (3,) to length 1.

    Raises:
        XmlError: the vector is 0.
    """
    length = float(np.linalg.norm(values))
    if not length > 1e-9:
        raise element.error("expected a vector that is not 0, such as 0 0 1", attribute)
    return np.asarray(values / length)


def rotation_to(axis: np.ndarray) -> np.ndarray:
    """Returns the least rotation (3, 3) that moves the z axis to an axis (3,) of length 1."""
    if axis[2] < -1.0 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    return np.asarray(pin.Quaternion.FromTwoVectors(_AXES["z"], axis).matrix())


def compiler(document: MjcfDocument) -> Compiler:
    """Reads the compiler settings of a file.

    Raises:
        XmlError: a setting is wrong.
    """
    e = joined(document.sections.get("compiler", []), "compiler")
    sequence = e.attributes.get("eulerseq", "xyz")
    if len(sequence) != 3 or not set(sequence.lower()) <= set("xyz"):
        raise e.error("expected three of x, y, z, X, Y, Z", "eulerseq")
    folder = e.attributes.get("meshdir", e.attributes.get("assetdir", ""))
    if not (folder.isprintable() or not folder):
        raise e.error("expected the path of a directory", "meshdir")
    low, high = e.numbers("inertiagrouprange", 2, "0 5")
    return Compiler(
        angle=1.0 if choice(e, "angle", ("degree", "radian"), "degree") == "radian" else math.pi / 180.0,
        eulerseq=sequence,
        autolimits=flag(e, "autolimits", True),
        meshdir=document.path.parent / folder,
        strippath=flag(e, "strippath", False),
        inertiafromgeom=choice(e, "inertiafromgeom", ("true", "false", "auto"), "auto"),
        inertiagrouprange=(low, high),
        boundmass=e.number("boundmass", "0", minimum=0.0),
        boundinertia=e.number("boundinertia", "0", minimum=0.0),
        balanceinertia=flag(e, "balanceinertia", False),
        settotalmass=e.number("settotalmass", "-1"),
    )


@dataclass(frozen=True)
class Options:
    """Settings of the simulation.

    Attributes:
        timestep: length of a step [s].
        gravity: (3,) [m/s^2]; 0 where the flag disables it.
        disabled: flags that are disabled.
    """

    timestep: float
    gravity: tuple[float, ...]
    disabled: frozenset[str]

    def has(self, flag_name: str) -> bool:
        """Returns whether a part is simulated; `constraint` also covers contact, limits, equality and friction loss."""
        constraints = ("equality", "frictionloss", "limit", "contact")
        return flag_name not in self.disabled and not (flag_name in constraints and "constraint" in self.disabled)


def options(document: MjcfDocument) -> Options:
    """Reads the simulation settings of a file.

    Raises:
        XmlError: a setting is wrong.
    """
    sections = document.sections.get("option", [])
    e = joined(sections, "option")
    flags = joined([child for section in sections for child in section.all("flag")], "flag")
    words = ("enable", "disable")
    disabled = frozenset(
        name for name in sorted(ATTRIBUTES["flag"]) if choice(flags, name, words, "enable") == "disable"
    )
    timestep = e.number("timestep", str(TIMESTEP))
    if not timestep > 0.0:
        raise e.error(f"expected a number above 0, got {timestep:g}", "timestep")
    gravity = e.numbers("gravity", 3, "0 0 -9.81")
    return Options(timestep, (0.0, 0.0, 0.0) if "gravity" in disabled else gravity, disabled)
