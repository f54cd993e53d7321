"""What lies in the repository, as git sees it: nothing at the top that has no place, nothing bound
to one machine.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
import tomllib

pytestmark = pytest.mark.no_tensorflow

ROOT = Path(__file__).parents[1]
AT_THE_TOP = {
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff",
    "Makefile", "tfgraphwidget", "notebooks", "tests", "docs", "labextension",
}  # fmt: skip
# Put together here, since a file that names one of these is what the tests are looking for.
PACKAGE_HOSTS = [
    ".".join(parts)
    for parts in [
        ("registry", "npmjs", "org"), ("registry", "yarnpkg", "com"),
        ("registry", "npmmirror", "com"), ("pypi", "org"), ("files", "pythonhosted", "org"),
        ("deb", "debian", "org"), ("archive", "ubuntu", "com"),
    ]
]  # fmt: skip
OWN_TOOLS = ["/.lib" + "rary", "farm" + "-bench", "farm" + "-studio", "sub" + "agents"]


def tracked() -> list[Path]:
    """The files that git tracks or would track (new and not ignored), that are here."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is a source archive, not a git checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@cache
def texts() -> dict[str, str]:
    """Path in the repository to text, of every tracked file that is text."""
    found = {}
    for path in tracked():
        raw = path.read_bytes()
        if b"\0" not in raw:
            found[str(path.relative_to(ROOT))] = raw.decode("utf-8", errors="replace")
    return found


def naming(words: list[str]) -> list[str]:
    """The files with one of these words in them, in whatever case."""
    lowered = ((name, text.lower()) for name, text in texts().items())
    return [name for name, text in lowered if any(word in text for word in words)]


def test_the_top_level_holds_what_the_design_lists():
    top = {path.relative_to(ROOT).parts[0] for path in tracked()}
    assert {name for name in top - AT_THE_TOP if not name.startswith(".")} == set()


def test_no_file_names_a_package_registry():
    assert naming(PACKAGE_HOSTS) == []


def test_no_file_names_the_tools_of_those_who_wrote_it():
    assert naming(OWN_TOOLS) == []


def test_no_lock_file_says_where_a_package_came_from():
    assert [
        name
        for name, text in texts().items()
        if name.endswith("lock.json") and '"resolved"' in text
    ] == []


def test_npm_runs_no_script_of_a_package_that_it_fetches():
    assert (
        "ignore-scripts=true"
        in (ROOT / "labextension/.npmrc").read_text(encoding="utf-8").splitlines()
    )


def test_no_file_names_the_place_of_this_checkout():
    assert [name for name, text in texts().items() if f"{ROOT}/" in text] == []


def test_what_is_built_is_not_tracked():
    assert [
        path for path in tracked() if {"static", "node_modules", "artifacts"} & set(path.parts)
    ] == []


def test_no_line_asks_for_a_graph_s_table_of_names_once_for_each_op():
    """TensorFlow makes `graph._nodes_by_name` anew each time; `name in graph._nodes_by_name` in a
    loop is quadratic.
    """
    asking = re.compile(r"\bin \S*\._nodes_by_name\b(?! if)")
    lines = (
        (path, line)
        for path in (ROOT / "tfgraphwidget").rglob("*.py")
        for line in path.read_text().splitlines()
    )
    assert [f"{path.name}: {line.strip()}" for path, line in lines if asking.search(line)] == []


def test_contributing_is_one_screen():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 60


def test_every_file_that_contributing_names_is_there():
    named = re.findall(
        r"`([\w./-]+/[\w./-]*)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    )
    assert len(named) > 20
    roots = (ROOT, ROOT / "tfgraphwidget", ROOT / "labextension", ROOT / "labextension" / "src")
    assert [name for name in named if not any((root / name).exists() for root in roots)] == []


def test_every_file_of_the_map_for_contributors_is_there():
    table = re.findall(
        r"^\| [^|]+ \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$",
        (ROOT / "docs" / "contributing.md").read_text(),
        re.MULTILINE,
    )
    rows = [row for row in table if "`" in "".join(row)]
    assert len(rows) > 10
    for cells in rows:
        for folder, cell in zip(("tfgraphwidget", "labextension/src", ""), cells, strict=True):
            for name in re.findall(r"`([^`]+)`", cell):
                assert (ROOT / folder / name).exists(), name


def test_the_citation_names_the_version_of_the_package():
    version = re.search(
        r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert version
    assert f"\nversion: {version[1]}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_conda_recipe_needs_what_the_package_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    recipe = (ROOT / ".conda" / "recipe.yaml").read_text(encoding="utf-8")
    run = recipe.partition("  run:\n")[2].partition("\n\n")[0]
    needed = dict(re.findall(r"^    - ([\w-]+) >=(\S+)", run, re.MULTILINE))
    python = re.search(r'python_min: "(.+)"', recipe)
    assert python
    assert project["requires-python"] == f">={python[1]}"
    assert f'version: "{project["version"]}"' in recipe
    of_conda = {"matplotlib": "matplotlib-base", "ml-dtypes": "ml_dtypes"}
    # conda knows no extras: its package brings those that are small beside TensorFlow.
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["networkx"], *extras["pandas"], *extras["pictures"]]
    names = (each.split(">=") for each in wanted)
    assert {of_conda.get(name, name): least for name, least in names} == {
        name: least for name, least in needed.items() if name != "python"
    }


def test_the_changelog_has_the_form_of_keep_a_changelog():
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 100] == []
    versions = [line for line in lines if line.startswith("## ")]
    assert versions[0] == "## [Unreleased]"
    dates = [
        re.fullmatch(r"## \[\d+\.\d+\.\d+\] - (\d{4}-\d{2}-\d{2})", line) for line in versions[1:]
    ]
    assert all(dates)
    assert sorted((date[1] for date in dates), reverse=True) == [date[1] for date in dates]
    sections = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for version in "\n".join(lines).split("\n## ")[1:]:
        headings = re.findall(r"^### (.*)$", version, re.MULTILINE)
        assert headings == [name for name in sections if name in headings]
        assert (
            "- "
            not in re.split(r"^### ", version, maxsplit=1, flags=re.MULTILINE)[0].partition("\n")[2]
        )
