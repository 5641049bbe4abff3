"""The cameras of the page, through its websocket."""

from __future__ import annotations

import numpy as np
import pytest
from page_client import PageClient

from haptic_viewer.page import open_page
from haptic_viewer.stage import FOLLOW, VIEWS, Stage, directions


def test_views_look_at_the_middle_of_the_scene_and_a_camera_follows_the_tool() -> None:
    server = open_page("127.0.0.1", 0, "")
    try:
        with PageClient(server.get_port()) as page:
            page.until(server.get_clients)
            (client,) = server.get_clients().values()
            stage = Stage(server)
            stage.build([np.array([0.1, 0.2, 0.0]), np.array([0.3, 0.2, 0.4])], "z")
            for view in VIEWS:
                stage.look(client, view)
                seen = client.camera.position - client.camera.look_at
                np.testing.assert_allclose(client.camera.look_at, [0.2, 0.2, 0.2], atol=1e-6)
                way = np.array(VIEWS[view]) @ np.array(directions("z"))
                np.testing.assert_allclose(seen / np.linalg.norm(seen), way / np.linalg.norm(way), atol=1e-6)
            stage.look(client, FOLLOW)
            stage.follow(np.zeros(3))
            for x in np.linspace(0.0, 0.05, 2000):  # slower than the smallest motion in a picture
                stage.follow(np.array([x, 0.0, 0.0]))
            assert client.camera.look_at[0] == pytest.approx(0.25, abs=1e-4)
            np.testing.assert_allclose(client.camera.position - client.camera.look_at, seen, atol=1e-6)
    finally:
        server.stop()
