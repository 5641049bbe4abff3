"""Translation of special actuators (motor, position, velocity, ...) to general actuators, as in MuJoCo."""

from __future__ import annotations

from dataclasses import replace

from convex_contact.model.mjcf.document import numbers_up_to, unsupported
from convex_contact.model.xml_document import Element

_GENERAL = frozenset(
    ("dyntype", "gaintype", "biastype", "dynprm", "gainprm", "biasprm", "actlimited", "actrange", "actearly")
)
#: attributes that a special actuator sets
PARAMETERS = frozenset(("dyntype", "gaintype", "biastype", "dynprm", "gainprm", "biasprm"))
#: attributes that only some actuators have
_SPECIAL = _GENERAL | {"kp", "kv", "timeconst", "inheritrange", "ctrllimited"}
_OWN: dict[str, frozenset[str]] = {
    "general": _GENERAL | {"inheritrange", "ctrllimited"},
    "motor": frozenset(("ctrllimited",)),
    "position": frozenset(("kp", "kv", "timeconst", "inheritrange", "ctrllimited")),
    "velocity": frozenset(("kv", "ctrllimited")),
    "intvelocity": frozenset(("kp", "kv", "inheritrange", "ctrllimited", "actlimited", "actrange")),
    "damper": frozenset(("kv",)),
}


def check_own(element: Element) -> None:
    """Checks that an actuator has no attribute of another one.

    Raises:
        XmlError: the actuator has one.
    """
    for name in element.attributes:
        if name in _SPECIAL - _OWN[element.tag]:
            raise unsupported(element, name)


def general(element: Element) -> Element:
    """Converts an actuator with the attributes of its class to a general actuator.

    Raises:
        XmlError: a gain is wrong.
    """
    given = dict(element.attributes)
    tag = element.tag
    own = {name: given.pop(name) for name in ("kp", "kv", "timeconst") if name in given}
    if tag == "general":
        return replace(element, attributes=given)
    gains = (*numbers_up_to(element, "gainprm", 10, "1"), 0.0, 0.0)
    gain = gains[0]
    bias = (*numbers_up_to(element, "biasprm", 10, "0"), 0.0, 0.0)
    kp = element.number("kp", minimum=0.0) if "kp" in own else gain
    kv = element.number("kv", minimum=0.0) if "kv" in own else None
    set_to: dict[str, str] = {"dyntype": "none", "gaintype": "fixed", "biastype": "none"}
    set_to |= {"gainprm": "1", "biasprm": "0 0 0"}
    if tag in ("position", "intvelocity"):
        velocity = bias[2] if kv is None else -kv
        set_to |= {"biastype": "affine", "gainprm": repr(kp), "biasprm": f"0 {-kp!r} {velocity!r}"}
        del set_to["dyntype"]
        if tag == "intvelocity":
            set_to |= {"dyntype": "integrator", "actlimited": "true"}
        elif "timeconst" in own:
            constant = element.number("timeconst", minimum=0.0)
            set_to |= {"dyntype": "filterexact" if constant else "none", "dynprm": repr(constant)}
    elif tag == "velocity":
        kv = gain if kv is None else kv
        set_to |= {"biastype": "affine", "gainprm": repr(kv), "biasprm": f"0 0 {-kv!r}"}
    elif tag == "damper":
        damping = gains[2] if kv is None else -kv
        set_to |= {"gaintype": "affine", "gainprm": f"0 0 {damping!r}", "ctrllimited": "true"}
    return replace(element, attributes=given | set_to)
