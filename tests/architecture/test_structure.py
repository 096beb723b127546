"""The structure that ARCHITECTURE.md describes, held against the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import REPOSITORY

SOURCE = REPOSITORY / "src" / "frontmind"

# A folder imports only from those before it.
ORDER = (
    "errors",
    "values",
    "events",
    "trinkets",
    "working_memory",
    "window",
    "providers",
    "stores",
    "continuum",
    "recall",
    "reminders",
    "domaindocs",
    "tools",
    "cachelab",
    "assistant",
    "bench",
    "server",
    "cli",
)
# Places where any exception is caught on purpose: the bus's fan-out, a trinket's answer, a tool's call, the thread of a
# plain function of either, a piece of work that shares a transaction with others, and one person's reminders.
ISOLATION_BOUNDARIES = {
    "events/bus.py": 1,
    "trinkets/base.py": 1,
    "trinkets/threads.py": 1,
    "tools/runner.py": 1,
    "stores/sqlite/jobs.py": 1,
    "server/telling.py": 1,
}
OPTIONAL_PACKAGES = {
    "anthropic",
    "openai",
    "httpx2",
    "xllamacpp",
    "boto3",
    "botocore",
    "google",
    "genai_prices",
    "mcp",
    "mcp_types",
    "numpy",
    "onnxruntime",
    "tokenizers",
    "faiss",
    "tantivy",
}
MODULES = sorted(SOURCE.rglob("*.py"))


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""


def test_every_folder_has_a_place_in_the_order() -> None:
    folders = {path.stem if path.is_file() else path.name for path in SOURCE.iterdir() if path.suffix in ("", ".py")}
    assert folders - {"__init__", "__pycache__"} == set(ORDER)


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_folder_imports_only_from_those_before_it(path: Path) -> None:
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if own == "__init__":
        return
    allowed = set(ORDER[: ORDER.index(own) + 1])
    used = {name.split(".")[1] for name in imported(tree_of(path)) if name.startswith("frontmind.")}
    assert used <= allowed, f"{relative(path)} imports {sorted(used - allowed)}"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_only_optional_packages_are_imported_inside_functions(path: Path) -> None:
    for function in ast.walk(tree_of(path)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = {name.split(".")[0] for name in imported(function)}
            assert inner <= OPTIONAL_PACKAGES, f"{function.name} imports {sorted(inner - OPTIONAL_PACKAGES)}"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_only_the_named_boundaries_catch_everything(path: Path) -> None:
    broad = 0
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type is not None else "BaseException"
            broad += any(
                name in caught.replace("(", " ").replace(",", " ").split() for name in ("Exception", "BaseException")
            )
    assert broad == ISOLATION_BOUNDARIES.get(relative(path), 0)


PURE = [
    path
    for path in MODULES
    if relative(path).startswith(
        (
            "values/",
            "window/",
            "working_memory/",
            "continuum/",
            "providers/encoding/",
            "providers/decoding/",
            "providers/profiles/",
            "cachelab/",
        )
    )
]
IMPURE = {
    "sqlite3",
    "socket",
    "http",
    "urllib",
    "subprocess",
    "threading",
    "random",
    "uuid",
    "time",
    "os",
    "pathlib",
    "io",
}


@pytest.mark.parametrize("path", PURE, ids=relative)
def test_pure_folders_reach_for_no_clock_file_or_network(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(tree_of(path))} & IMPURE
    called = {ast.unparse(node.func) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)}
    clocks = {"datetime.now", "datetime.utcnow", "date.today"} & called
    assert not clocks or relative(path) == "values/clock.py"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_modules_and_functions_have_a_size_that_is_read_in_one_sitting(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or node.lineno) - node.lineno < 60, f"{node.name} is too long"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))


@pytest.mark.requirement("SEED-3")
def test_no_trinket_imports_or_declares_its_placement() -> None:
    for path in (SOURCE / "trinkets").glob("*.py"):
        if path.name in ("base.py", "__init__.py"):
            continue
        names = {node.id for node in ast.walk(tree_of(path)) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree_of(path)) if isinstance(node, ast.Attribute)}
        assert not {name for name in names if "placement" in name.lower()}, path.name


def test_the_library_installs_without_a_framework() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    base = project.partition("dependencies = [")[2].partition("]")[0]
    names = sorted(line.strip().split(">")[0].strip('"') for line in base.strip().splitlines())
    assert names == ["docstring_parser", "filelock", "pydantic", "python-dateutil", "snowballstemmer", "tzdata"]
