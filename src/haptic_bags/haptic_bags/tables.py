"""Conversion of a run to arrays, a pandas DataFrame, an xarray Dataset, and a CSV, Parquet or MAT file.

    run = haptic_bags.read("runs/<time>-friction_impedance")
    run["/joystick/friction/state"]["force"]            # array (n, 3)
    run.data_frame()                                    # all topics at their common ticks
    run.write("run.parquet")

Each component of a field has a column: `force[0]`. A list whose length varies (contacts) stays one column of lists; in
a CSV file it is JSON. Texts stay texts. `attrs["left_out"]` of a table lists the omitted columns with the reasons.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from haptic_bags.bags import TICK_EVENT, Bag, BagError, Event, find_bag
from haptic_bags.table_files import replaced, required, write_csv, write_mat, write_parquet
from haptic_bags.ticks import Rows, Ticks
from haptic_bags.units import units_of

if TYPE_CHECKING:
    import pandas
    import xarray

_FRAME_FILES: dict[str, Callable[[Any, Path], None]] = {".csv": write_csv, ".parquet": write_parquet}
#: suffixes of files that `Run.write` accepts
SUFFIXES = (*_FRAME_FILES, ".mat")


def check_suffix(path: str | Path) -> str:
    """Returns the suffix of a file, in lower case, if it is one of `SUFFIXES`; otherwise raises BagError."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BagError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}", "the suffix is the format")
    return suffix


def read(path: str | Path) -> Run:
    """Reads a run.

    Args:
        path: folder of a run with one bag, a bag, or an MCAP file in a bag.

    Raises:
        BagError: There is no readable bag, or there are several.
    """
    path = Path(path)
    return Run(Bag(path.parent if path.suffix == ".mcap" and path.is_file() else find_bag(path)))


class Run:
    """A recorded run; `read` makes one.

    Attributes:
        bag: bag of the run, with the parameters of the nodes.
    """

    def __init__(self, bag: Bag) -> None:
        self.bag = bag

    @property
    def topics(self) -> list[str]:
        """Names of the topics that have messages."""
        return [topic for topic in self.bag.types if topic in self.bag.topics or self._has_events(topic)]

    @property
    def events(self) -> list[Event]:
        """Changes between ticks, in the order of recording."""
        return self.bag.events

    def __getitem__(self, topic: str) -> dict[str, Any]:
        """Returns the columns of a topic, one row per message.

        Numbers are arrays, (n,) or (n, components): a pose has 7 components (x, y, z, quaternion x, y, z, w), a twist
        or a wrench 6, a stamp is in seconds. Texts and arrays of varying length are lists. The `detail` of an event is
        JSON.

        Raises:
            BagError: The topic is not recorded, or has no message.
        """
        if topic in self.bag.topics:
            return self.bag.topics[topic]
        if self._has_events(topic):
            found: dict[str, Any] = {"tick": np.array([event.tick for event in self.events])}
            found |= {name: [getattr(event, name) for event in self.events] for name in ("source", "kind")}
            return found | {"detail": [json.dumps(event.detail) for event in self.events]}
        problem = f"no message on {topic}" if topic in self.bag.types else f"no topic {topic}"
        raise BagError(f"{self.bag.path}: {problem}, expected one of: {', '.join(self.topics)}", "check the name")

    def units(self, topic: str) -> dict[str, tuple[str, ...]]:
        """Returns the units of the columns of a topic by field, as `haptic_bags.units.units_of`."""
        return units_of(self.bag.types[topic])

    def data_frame(self, *topics: str) -> pandas.DataFrame:
        """Converts topics to a data frame.

        Args:
            *topics: one topic: all its messages, columns `field` or `field[0]`, by tick if it has one. None or
                several topics: their common ticks, columns `topic.field` or `topic.field[0]`. If several nodes answer
                a tick, the source follows the topic: `/joystick/device_command[friction]`.

        Returns:
            Data frame with `attrs["units"]`, unit by column, and `attrs["left_out"]`, reason by topic or column.

        Raises:
            BagError: A topic is not recorded or cannot be aligned, no tick is common, or pandas is not installed.
        """
        with required("a data frame"):
            import pandas
        left_out: dict[str, str] = {}
        columns: dict[str, Any] = {}
        units: dict[str, str] = {}
        tables: dict[str, Mapping[str, Any]] = {}
        if len(topics) == 1:
            tables = {topics[0]: self[topics[0]]}
            tick = self[topics[0]].get("tick")
            rows = len(next(iter(self[topics[0]].values())))
            index = pandas.RangeIndex(rows, name="message") if tick is None else pandas.Index(tick, name="tick")
        else:
            ticks, left_out = self._align(topics)
            index, tables = pandas.Index(ticks.tick, name="tick"), dict(ticks)
        for label, table in tables.items():
            known = self.units(_topic(label))
            prefix = "" if len(topics) == 1 else f"{label}."
            for field, values in _plain(table, prefix, left_out).items():
                if field == "tick":
                    continue
                name = prefix + field
                parts = _components(values)
                if not parts:
                    left_out[name] = "empty in every message"
                for i, (suffix, part) in enumerate(parts.items()):
                    columns[name + suffix] = part
                    if field in known:
                        units[name + suffix] = known[field][i if len(known[field]) > 1 else 0]
        frame = pandas.DataFrame(columns, index=index)
        frame.attrs = {"units": units, "left_out": left_out}
        return frame

    def dataset(self, *topics: str) -> xarray.Dataset:
        """Converts topics to a dataset of their common ticks.

        Args:
            *topics: names of topics; all topics with ticks if none is given.

        Returns:
            Variables `topic.field` with the dimension `tick`, and `topic.field component` for fields with several.
            A list whose length varies is padded: numbers with NaN (as float64), texts with ""; `topic.field length` is
            the number of its entries. Variables have `attrs["units"]`, the dataset `attrs["left_out"]`.

        Raises:
            BagError: The same errors as `data_frame`, or xarray is not installed.
        """
        with required("a dataset"):
            import xarray
        ticks, left_out = self._align(topics)
        variables: dict[str, Any] = {}
        for label in ticks:
            known = self.units(_topic(label))
            for field, values in _plain(ticks[label], f"{label}.", left_out).items():
                if field == "tick":
                    continue
                name = f"{label}.{field}"
                if not isinstance(values, np.ndarray) and not isinstance(values[0], str):
                    variables[f"{name} length"] = ("tick", np.array([len(entries) for entries in values]))
                    values = _padded(values)
                array = np.asarray(values)
                units = known.get(field, ())
                attributes = {"units": units[0] if len(units) == 1 else list(units)} if units else {}
                variables[name] = (("tick", f"{name} component")[: array.ndim], array, attributes)
        return xarray.Dataset(variables, {"tick": ticks.tick}, {"left_out": left_out})

    def write(self, path: str | Path, topics: str | Sequence[str] = ()) -> dict[str, str]:
        """Writes topics to a file. An existing file is replaced; it stays as it is if an error occurs.

        Args:
            path: path whose suffix is the format. CSV and Parquet contain the table of `data_frame`. MAT contains a
                struct for each topic with all its messages, without alignment: numbers (n, components), texts and
                lists of unequal length as cells. It also has the structs `units` and `topics` (original names).
            topics: names of topics, as for `data_frame`; all if none is given.

        Returns:
            Reason by topic or column that is not in the file.

        Raises:
            BagError: The suffix is unknown, the file cannot be written, or the same errors as `data_frame`.
        """
        path, names = Path(path), [topics] if isinstance(topics, str) else list(topics)
        suffix = check_suffix(path)
        if suffix in _FRAME_FILES:
            frame = self.data_frame(*names)
            with replaced(path) as part:
                _FRAME_FILES[suffix](frame, part)
            return dict(frame.attrs["left_out"])
        names, left_out = names or self.topics, dict[str, str]()
        tables = {topic: _plain(self[topic], f"{topic}.", left_out) for topic in names}
        with replaced(path) as part:
            write_mat(tables, {topic: self.units(topic) for topic in names}, part)
        return left_out

    def _has_events(self, topic: str) -> bool:
        return bool(self.events) and self.bag.types.get(topic) == TICK_EVENT

    def _align(self, topics: Sequence[str]) -> tuple[Ticks, dict[str, str]]:
        """Aligns topics at their common ticks; returns them, and the reason by topic for what is left out.

        A topic that is named must have ticks.
        """
        tables: dict[str, Mapping[str, Any]] = {}
        left_out: dict[str, str] = {}
        for topic in topics or self.bag.types:
            if not topics and topic not in self.topics:
                parts: dict[str, Mapping[str, Any]] | str = "no message"
            elif self.bag.types.get(topic) == TICK_EVENT:
                parts = "at some ticks only"
            else:
                parts = _by_tick(topic, self[topic])
            if not isinstance(parts, str):
                tables |= parts
            elif topics:
                hint = "name this topic alone to have all its messages"
                raise BagError(f"{self.bag.path}: {topic} cannot be aligned by tick: {parts}", hint)
            else:
                left_out[topic] = parts
        ticks = Ticks.align(self.bag.path, tables, least=0) if tables else Ticks(np.array([]), {})
        if not len(ticks.tick):
            problem = f"no tick that all topics have: {', '.join(tables) or 'none has ticks'}"
            raise BagError(f"{self.bag.path}: {problem}", "name topics that have ticks in common")
        for label, table in tables.items():
            count = len(table["tick"]) - len(ticks.tick)
            if count:
                left_out[label] = f"{count} of {len(table['tick'])} messages, at ticks that not all topics have"
        return ticks, left_out


def _topic(label: str) -> str:
    return label.partition("[")[0]


def _by_tick(topic: str, columns: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | str:
    """Splits a topic into tables with at most one message per tick, by label; returns the reason if it cannot.

    Messages of one tick are distinguished by a text: commands by their source, energies by their port.
    """
    if "tick" not in columns:
        return "no tick"
    if _rises(columns["tick"]):
        return {topic: columns}
    for texts in columns.values():
        if isinstance(texts, list) and isinstance(texts[0], str):
            parts = {
                f"{topic}[{text}]": Rows(columns, np.flatnonzero(np.array(texts) == text))
                for text in dict.fromkeys(texts)
            }
            if all(_rises(part["tick"]) for part in parts.values()):
                return dict(parts)
    return "ticks that do not rise"


def _rises(tick: np.ndarray) -> bool:
    return bool((np.diff(tick) > 0).all())


def _plain(columns: Mapping[str, Any], prefix: str, left_out: dict[str, str]) -> dict[str, Any]:
    """Returns the columns of numbers and texts; adds the others to `left_out`."""
    plain = {}
    for name, values in columns.items():
        entries = [values] if isinstance(values, np.ndarray) else values
        if all(np.asarray(entry).dtype.kind in "biufU" for entry in entries):
            plain[name] = values
        else:
            left_out[prefix + name] = "messages inside a message"
    return plain


def _components(values: Any) -> dict[str, Any]:
    """Splits a field into a column for each component, by suffix of its name; lists of unequal length stay one."""
    if isinstance(values, np.ndarray):
        return {"": values} if values.ndim == 1 else {f"[{i}]": part for i, part in enumerate(values.T)}
    if isinstance(values[0], str):
        return {"": values}
    cells = np.empty(len(values), dtype=object)
    for i, entries in enumerate(values):
        cells[i] = entries
    return {"": cells}


def _padded(values: Sequence[Any]) -> np.ndarray:
    """Pads lists of unequal length to an array (n, longest)."""
    texts = any(isinstance(entry, str) for entries in values for entry in entries)
    shape = len(values), max(map(len, values))
    array = np.full(shape, "", dtype=object) if texts else np.full(shape, np.nan)
    for row, entries in zip(array, values, strict=True):
        row[: len(entries)] = entries
    return array
