"""What each job shows in a cell, a portrait panel and a document, light and dark: pictures, and their faults."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.jobs.places import PLACES, Place, open_in, pictured
from tests.browser.server import JupyterServer

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("place", PLACES)]

EXAMPLE = """
import tfgraphwidget as tgw

editor = tgw.example()
file = "example.meta"
editor.save(file)
"""


def test_menus(page: Page, jupyter_server: JupyterServer, place: Place) -> None:
    hand = open_in(page, jupyter_server, place, "menus", EXAMPLE)
    pictured(hand, f"21_00_opened_{place}")
