"""The panels of the page: signals and scenes on the left, the controls on the right."""

from __future__ import annotations

from typing import Any

import viser
from viser import _messages as viser_messages

#: widths of the panels [pixel]; at 1024 pixels more than a third of the window remains for the scene
_LEFT, _RIGHT = 290, 330
#: smallest ratio of width to height of a scene; below it the left panel is folded. An upright tablet has at most 0.3,
#: a landscape window of 800 pixels more than 0.35
_NARROW = 0.35
#: order of the folders after those of the hand and the nodes, which may be created later
LAST_FOLDERS = {name: 1e6 + index for index, name in enumerate(("View", "Forces", "Time", "Share"))}


class Layout:
    """Panels of the page.

    Args:
        server: server of the page.
        gallery: True if the page has a gallery.
        running: True if a scene runs; else the gallery is in front.

    Attributes:
        signals: tab of the plots.
        scenes: tab of the gallery; None without a gallery.
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
        self._gui, self._panel = server.gui, panel
        server.on_client_connect(self._watch)

    async def _watch(self, client: viser.ClientHandle) -> None:
        """Folds the left panel of a browser once, when its scene is too narrow; users may unfold it again."""
        folded = False

        @client.camera.on_update
        async def _(camera: viser.CameraHandle) -> None:
            nonlocal folded
            if not folded and 0 < camera.image_width < _NARROW * camera.image_height:
                folded = True
                self._fold(client)

    def _fold(self, client: viser.ClientHandle) -> None:
        """Folds the left panel of one browser; `PanelHandle.minimize` would fold it in all."""
        count, run = self._gui._next_layout_counter(), self._gui._layout_run_id
        client._websock_connection.queue_message(
            viser_messages.GuiSetPanelCollapsedMessage(self._panel._placement_uuid, True, counter=count, run_id=run)
        )
