"""The panels of the page: signals and scenes on the left, the controls on the right."""

from __future__ import annotations

import viser

#: widths of the panels [pixel]; at 1024 pixels more than a third of the window is left for the scene
_LEFT, _RIGHT = 290, 330


class Layout:
    """Panels of the page.

    Args:
        server: of the page.

    Attributes:
        signals: tab of the plots.
    """

    def __init__(self, server: viser.ViserServer) -> None:
        self._panel = server.gui.add_panel()
        self.signals = self._panel.add_tab("Signals")
        self._panel.dock_left()
        self._panel.set_width(_LEFT)
        server.gui.main_panel.dock_right()
        server.gui.main_panel.set_width(_RIGHT)
