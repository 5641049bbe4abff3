"""Pictures of a world: :func:`show` puts a simulation on a browser page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from convex_contact.simulation.simulator import Simulator
    from convex_contact.view.page import Page


def show(simulator: Simulator, **options: Any) -> Page:
    """Opens a browser page with a simulation as it is now; see :class:`~convex_contact.view.page.Page`.

        >>> page = show(simulator)  # its address is printed; in a notebook the page is the cell's output
        >>> page.run(5.0)  # in real time, with the forces of the contacts

    Args:
        simulator: its world and contacts are shown.
        **options: of the page: `port`, `force_length`, ...

    Raises:
        OSError: the port is taken.
        ValueError: an option is out of its bounds.
    """
    from convex_contact.view.page import Page

    page = Page(simulator, **options)
    page.update()
    return page
