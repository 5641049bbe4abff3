"""The panels of the page: signals and scenes on the left, the controls on the right."""

from __future__ import annotations

from typing import Any

import viser

#: widths of the panels [pixel]; at 1024 pixels more than a third of the window is left for the scene
_LEFT, _RIGHT = 290, 330
#: order of the folders that come after those of the hand and the nodes, however late these are made
LAST_FOLDERS = {name: 1e6 + place for place, name in enumerate(("View", "Forces", "Time", "Share"))}


class Layout:
    """Panels of the page.

    Args:
        server: of the page.
        gallery: whether the page has a gallery.
        running: whether a scene runs; else the gallery is in front.

    Attributes:
        signals: tab of the plots.
        scenes: tab of the gallery; None: there is none.
    """

    def __init__(self, server: viser.ViserServer, *, gallery: bool = False, running: bool = True) -> None:
        panel = server.gui.add_panel()
        self.scenes: Any = panel.add_tab("Scenes") if gallery and not running else None
        self.signals: Any = panel.add_tab("Signals")
        if gallery and running:
            self.scenes = panel.add_tab("Scenes")
        panel.dock_left()
        panel.set_width(_LEFT)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(_RIGHT)
