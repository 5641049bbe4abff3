"""Mathematics that libraries share: `rotations`, `quantities`, `profiles`, `passivity`, `spectra`. No ROS import."""

from typing import Any


def __getattr__(name: str) -> Any:
    from importlib.metadata import version

    if name == "__version__":
        return version(__name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
