"""A stand-in for viser's GUI that records the controls made in it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Gui:
    """Stands for viser's: keeps what is made."""

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}

    def __enter__(self) -> Gui:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def add_folder(self, *_: Any, **__: Any) -> Gui:
        return self

    def add_html(self, content: str, visible: bool = True) -> Any:
        self.answer = SimpleNamespace(content=content, visible=visible)
        return self.answer

    def __getattr__(self, method: str) -> Any:
        def add(label: str, *values: Any, **options: Any) -> Any:
            value = options.get("initial_value", values[-1] if values else None)
            item = SimpleNamespace(method=method, value=value, **options)
            if method == "add_slider":
                item.min, item.max, item.step, item.value = values
            item.on_update = lambda callback: setattr(item, "changed", callback)
            item.on_click = lambda callback: setattr(item, "clicked", callback)
            self.made[label] = item
            return item

        return add
