"""A scene as a picture file: SVG by this package alone, PNG and PDF by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tfgraphwidget.errors import GraphEditError
from tfgraphwidget.optional_packages import import_package
from tfgraphwidget.scene.coloring.palette import Theme
from tfgraphwidget.scene.rendering.display_list import Area
from tfgraphwidget.scene.rendering.svg_text import svg

if TYPE_CHECKING:
    from tfgraphwidget.scene.scene import Paint, Scene

_SUFFIXES = (".svg", ".png", ".pdf")


def save(
    scene: Scene,
    path: str | Path,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
    theme: Theme | None = None,
) -> None:
    """Write a picture in the format of the suffix.

    Args:
        path: A file name that ends in .svg, .png or .pdf.
        area: The part to draw as (left, top, width, height) in pixels; None for all.
        theme: Other colors than those of the light or dark theme.

    Raises:
        GraphEditError: For another suffix.
        PackageMissing: For PNG and PDF where matplotlib is not installed.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise GraphEditError(
            f"A picture cannot be saved as {path.name!r}; use a name that ends in .svg, .png or "
            ".pdf."
        )
    _check_packages(suffix[1:])
    with path.open("wb") as file:
        write(scene, file, suffix[1:], paint=paint, dark=dark, area=area, theme=theme)


def write(
    scene: Scene,
    file: BinaryIO,
    kind: str,
    *,
    paint: Paint | None = None,
    dark: bool = False,
    area: Area | None = None,
    theme: Theme | None = None,
) -> None:
    """Write a picture to a file object.

    Args:
        kind: "svg", "png" or "pdf".
        area: The part to draw as (left, top, width, height) in pixels; None for all.
        theme: Other colors than those of the light or dark theme.

    Raises:
        PackageMissing: For PNG and PDF where matplotlib is not installed.
    """
    if kind == "svg":
        head = '<?xml version="1.0" encoding="UTF-8"?>\n'
        file.write((head + svg(scene, paint=paint, dark=dark, area=area, theme=theme)).encode())
        return
    _check_packages(kind)
    from tfgraphwidget.scene.rendering import matplotlib_axes  # takes 0.3 s to import

    matplotlib_axes.write(scene, file, kind, paint=paint, dark=dark, area=area, theme=theme)


def _check_packages(kind: str) -> None:
    """Raise PackageMissing where the package is not installed that a kind of picture needs."""
    if kind != "svg":
        import_package("matplotlib", f"A '.{kind}' picture needs matplotlib")
