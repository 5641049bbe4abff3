"""The study of parameters that are changed while a node is active (`haptic_verification.fuzz.changes`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from haptic_experiments.report import Claim
from haptic_experiments.study import Results, ResultTable, Study, StudyReport, Task

#: unit of a change that was refused, and has no steps
_REFUSED_UNIT = "-"


class LiveParametersSettings(BaseModel):
    """Situations and values of the study."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    quick: bool = Field(default=False, description="each parameter only to the last two of its values")
    nodes: tuple[str, ...] = Field(default=(), description="parts of names of situations; none: all of them")


@dataclass(frozen=True)
class Changes:
    """All changes of the parameters of one situation."""

    situation: str
    quick: bool

    def run(self) -> dict[str, np.ndarray]:
        """Runs all changes of the situation.

        Returns:
            A row for each change and unit: `words` (parameter, value, reason of a refusal, unit), and `steps` at once,
            with the ramp, and allowed [N, N m, m/s or rad/s], with 1 if all extra steps are within their bounds.
        """
        import rclpy  # a worker that computes something else needs no ROS

        from haptic_verification.fuzz.changes import changes

        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "OFF"  # no message leaves the process
        context = rclpy.Context()
        rclpy.init(context=context)
        words, steps = list[tuple[str, ...]](), list[tuple[float, ...]]()
        try:
            with np.errstate(all="ignore"):
                for change in changes(self.situation, context, self.quick):
                    about = (change.parameter, change.value, change.refused)
                    if not change.extra:
                        words.append((*about, _REFUSED_UNIT))
                        steps.append((0.0, 0.0, 0.0, 1.0))
                    for unit, extra in change.extra.items():
                        words.append((*about, unit))
                        steps.append((change.at_once[unit], extra, change.allowed[unit], float(change.is_bumpless)))
        finally:
            rclpy.shutdown(context=context)
        return {"words": np.array(words), "steps": np.array(steps)}


def tasks(settings: LiveParametersSettings) -> Mapping[str, Task]:
    """Creates a task for each situation."""
    from haptic_verification.fuzz.changes import SITUATIONS

    names = [name for name in SITUATIONS if not settings.nodes or any(part in name for part in settings.nodes)]
    if not names:
        raise ValueError(f"argument nodes: expected parts of {'; '.join(SITUATIONS)}, got {', '.join(settings.nodes)}")
    return {name.replace(", ", "-").replace(" ", "_"): Changes(name, settings.quick) for name in names}


def report(settings: LiveParametersSettings, results: Results, directory: Path) -> StudyReport:
    """Reports the largest steps by parameter and unit."""
    rows, metrics, found = list[tuple[str, ...]](), dict[str, dict[str, float | str]](), list[str]()
    count = refused = 0
    for name, result in results.items():
        changed: dict[tuple[str, str], list[tuple[str, str, np.ndarray]]] = {}
        for (parameter, value, reason, unit), step in zip(result["words"].tolist(), result["steps"], strict=True):
            changed.setdefault((parameter, unit), []).append((value, reason, step))
            count += unit in ("N", "m/s", "N m") and not reason
            if not step[3]:
                found.append(f"{name}: {parameter} to {value}: {step[1]:.3g} {unit}, allowed {step[2]:.3g}")
        for (parameter, unit), tried in changed.items():
            reasons = [reason for _, reason, _ in tried if reason]
            refused += len(reasons)
            steps = np.array([step for _, reason, step in tried if not reason])
            if not len(steps):
                rows.append((name, parameter, str(len(tried)), "", "", "", f"refused: {reasons[0]}"))
                continue
            if not steps[:, :2].any() and unit != next(iter(u for p, u in changed if p == parameter)):
                continue  # one row is enough for a parameter without steps
            worst = tried[int(np.argmax([step[1] for _, _, step in tried]))][0]
            at_once, extra, allowed, _ = steps[np.argmax(steps[:, 1])]
            texts = (f"{at_once:.3g} {unit}", f"{extra:.3g} {unit}", f"{allowed:.3g} {unit}")
            rows.append((name, parameter, str(len(steps)), *texts, worst))
            metrics[f"{name} {parameter} [{unit}]"] = {"at_once": float(at_once), "extra": float(extra), "to": worst}
    claims = [
        Claim(
            "no change of a parameter makes a step of the command above the ramp's share of the whole change and the "
            "steps that the new values make by themselves",
            f"{count} changes in {len(results)} situations, {refused} refused; " + ("; ".join(found) or "none above"),
            not found,
        )
    ]
    columns = ("situation", "parameter", "changes", "at once", "with the ramp", "allowed", "to")
    table = ResultTable("Largest extra step of the command in one tick", columns, rows)
    return StudyReport({"changes": metrics}, claims, {}, [table])


STUDY = Study(
    title="Parameters that are changed while a node is active",
    paper="none: what the suite promises of its nodes",
    summary="Every parameter that may be changed, in nodes under load, to values near and far: the largest step of the "
    "command from one tick to the next, beyond the same run without the change, with the ramp and at once.",
    settings=LiveParametersSettings,
    tasks=tasks,
    report=report,
)
