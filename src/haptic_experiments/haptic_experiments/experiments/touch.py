"""Report of the hand that touches a file: force, energy at the tool, depth of the contacts, and moved bodies."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from haptic_bags.bags import Bag
from haptic_experiments.experiments.touch_clutter import (
    NAMESPACE,
    claim_coupling,
    claim_depth,
    delays,
    measure,
    touch_report,
)
from haptic_experiments.kit.contact import ContactRun
from haptic_experiments.kit.results import Claims, Report
from haptic_files.moved_modules import renamed

_MOVED, _TURNED = 0.005, np.radians(5.0)  #: displacement [m] or rotation [rad] from which a body has moved


def moved_bodies(run: ContactRun) -> list[str]:
    """Returns the names of the bodies beside the finger that have moved or turned at any time."""
    displacement = np.linalg.norm(run.position - run.position[0], axis=2).max(axis=0)
    cosine = np.abs(np.einsum("nbi,bi->nb", run.orientation, run.orientation[0])).min(axis=0)
    rotation = 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0))
    moved = (displacement > _MOVED) | (rotation > _TURNED)
    return [name for name, flag in zip(run.names, moved, strict=True) if flag and name != run.parameters["proxy"]]


def deepest_contact(runs: Iterable[ContactRun]) -> str:
    """Names the bodies and the time of the deepest contact of all runs."""
    least, text = 0.0, "deepest contact"
    for run in runs:
        for tick, contacts in zip(run.tick, run.contacts, strict=True):
            if (gap := contacts.signed_distance.min(initial=0.0)) < least:
                a, b = contacts.body[contacts.signed_distance.argmin()]
                bodies = f"{run.names[a]} and {run.names[b]}"
                least, text = gap, f"deepest contact (of {bodies} at {tick * run.period:.3f} s)"
    return text


def analyse(bags: dict[str, Bag]) -> Report:
    """Makes the report of one or more bags of the experiment."""
    runs = {name: ContactRun.from_bag(bag, NAMESPACE) for name, bag in bags.items()}
    numbers = {name: measure(run) for name, run in runs.items()}
    labels, claims = delays(runs), Claims()
    claim_coupling(claims, runs, numbers, labels)
    found = moved_bodies(next(iter(runs.values())))
    claims.say(
        "What the finger pushes gives way.",
        f"{', '.join(found) or 'no body'} moved by more than {1e3 * _MOVED:g} mm or turned by more than "
        f"{np.degrees(_TURNED):g} degrees",
        bool(found),
    )
    claim_depth(claims, numbers, deepest_contact(runs.values()))
    return touch_report(runs, numbers, labels, claims)


__getattr__ = renamed(__name__, {"given_way": "moved_bodies"})
