"""Saved pages as a test reads them."""

from __future__ import annotations

import gzip
import json
from typing import NamedTuple

import numpy as np


class PageTables(NamedTuple):
    """One graph of a page: its JSON document, and its arrays by name."""

    head: dict[str, object]
    numbers: dict[str, np.ndarray]


def unpack_page(data: bytes) -> tuple[dict[str, object], list[PageTables]]:
    """The JSON document and the graphs in the result of `pack_page`."""
    whole = gzip.decompress(data)
    at = 4 + int.from_bytes(whole[:4], "little")
    page = json.loads(whole[4:at])
    graphs = []
    for text, size in page["graphs"]:
        head = json.loads(whole[at : at + text])
        at += text
        arrays = {
            name: np.frombuffer(whole, np.dtype(dtype).newbyteorder("<"), count, at + offset)
            for name, dtype, count, offset in head["fields"]
        }
        graphs.append(PageTables(head, arrays))
        at += size
    return page, graphs
