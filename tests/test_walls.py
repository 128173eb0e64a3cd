"""Who may import whom, who may ask for time and chance, and who has to say what it is for."""

import ast
import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from lessons import contents

ROOT = Path(__file__).resolve().parent.parent
LESSONS = ROOT / "lessons"
EVERY_LESSON = sorted(LESSONS.rglob("*.py"))
REFERENCE = sorted((LESSONS / "reference").glob("*.py"))
WEBAPP = sorted((ROOT / "webapp").glob("*.py"))
OURS = [path for path in [*EVERY_LESSON, *WEBAPP] if path.stat().st_size]
# What the files of a room may import of ours; a file is in the first room that fits, "own" is its folder.
WALLS = {
    "lessons/reference/*.py": "own",
    "lessons/recording.py": "reference.clock",
    "lessons/recorder.py": "recording watched_database watched_queue",
    "lessons/watched_*.py": "recording",
    "lessons/which_queue.py": "params reference.*",
    "lessons/mutation.py": "excerpts",
    "lessons/excerpts.py": "recording",
    "lessons/contents.py": "excerpts recorder recording",
    "lessons/exercises.py": "excerpts",
    "lessons/*.py": "",
    "lessons/quiz/*.py": "own contents params recording reference.* simulation",
    "lessons/s*/mutants.py": "mutation",
    "lessons/s*/*.py": "own params recorder recording reference.* simulation which_queue",
    "lessons/s*/exercises/*/*.py": "own checking exercises params reference.*",
    "webapp/store.py": "",
    "webapp/*.py": "own contents exercises excerpts mutation params quiz recording",
}
BY_NAME = [LESSONS / f"{name}.py" for name in ("contents", "exercises", "mutation", "checking", "quiz/making")]
CHANCE_AND_TIME = {"time", "datetime", "uuid", "secrets", "os"}


def each(paths):
    return pytest.mark.parametrize("path", paths, ids=lambda path: path.relative_to(ROOT).as_posix())


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path):
    """The modules that a file imports, by their whole names."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert 0 == node.level, f"{path}:{node.lineno} imports by a relative name"
            for whole in (f"{node.module}.{alias.name}" for alias in node.names):
                place = ROOT / whole.replace(".", "/")
                yield whole if place.is_dir() or place.with_suffix(".py").is_file() else node.module


def ours(path):
    return {name for name in imported(path) if name.split(".")[0] in ("lessons", "webapp", "tests")}


def room_of(path):
    return next(room for room in WALLS if path.relative_to(ROOT).match(room))


def test_every_program_is_a_section():
    assert [section.folder for section in contents.sections()] == [
        path.parent.name for path in EVERY_LESSON if path.name == "demo.py"
    ]


# Imports


@each(EVERY_LESSON)
def test_lessons_need_nothing_but_python(path):
    others = {name for name in imported(path) if name.split(".")[0] not in sys.stdlib_module_names} - ours(path)

    assert set() == others


@pytest.mark.parametrize("room", WALLS)
def test_a_room_imports_what_its_walls_let_through_and_no_door_is_unused(room):
    doors, used = WALLS[room].split(), set()
    for path in filter(lambda path: room_of(path) == room, OURS):
        own = ".".join(path.relative_to(ROOT).parent.parts)
        for name in ours(path):
            through = [d for d in doors if fnmatch(name, f"{own}*" if d == "own" else f"lessons.{d}")]
            assert through, f"{path.relative_to(ROOT)} imports {name}"
            used.update(through)

    assert set(doors) == used


@each(WEBAPP)
def test_only_the_store_opens_a_database(path):
    assert (path.stem == "store") == ("sqlite3" in imported(path))


@each([path for path in EVERY_LESSON if path not in BY_NAME])
def test_no_lesson_imports_by_a_name_that_is_made_up_on_the_way(path):
    called = {node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}

    assert "importlib" not in set(imported(path))
    assert not {"__import__", "exec", "eval"} & {func.id for func in called if isinstance(func, ast.Name)}


# Names


@each(WEBAPP)
def test_the_web_application_names_no_section(path):
    names = {name for section in contents.sections() for name in (section.slug, section.folder)}
    texts = [node.value for node in ast.walk(tree(path)) if isinstance(node, ast.Constant)]
    words = {word for text in texts if isinstance(text, str) for word in re.split(r"[\s/\"'?.,()]+", text)}

    assert set() == names & words
    assert not re.search(r"\bs\d\d_", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", ["templates", "static"])
def test_no_template_script_or_style_names_a_section(folder):
    names = "|".join(re.escape(name) for section in contents.sections() for name in (section.slug, section.folder))
    named = re.compile(rf"""["'/]({names})["'/?]""")
    files = [path for path in (ROOT / folder).rglob("*") if path.is_file() and "vendor" not in path.parts]

    assert len(files) > 2
    assert [] == [path.name for path in files if named.search(path.read_text(encoding="utf-8"))]


# Time and chance


@each(EVERY_LESSON)
def test_only_the_clock_asks_for_the_time(path):
    allowed = {"time"} if path == LESSONS / "reference" / "clock.py" else set()

    assert allowed == CHANCE_AND_TIME & set(imported(path))


@each(EVERY_LESSON)
def test_chance_comes_from_a_seed(path):
    nodes = list(ast.walk(tree(path)))
    used = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
    }
    by_name = {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "random"
        for alias in node.names
    }

    assert used | by_name <= {"Random"}
    for call in nodes:
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("random.Random", "Random"):
            assert call.args, f"line {call.lineno}: a Random without a seed is different each time"


# Words


def is_data(node):
    """A dataclass or a protocol: its fields or methods say it all."""
    signs = [*map(ast.unparse, node.decorator_list), *map(ast.unparse, node.bases)]
    return any(re.match(r"dataclass\b|Protocol\b", sign) for sign in signs)


def is_view(node):
    """A function that answers at an address, which is on it."""
    return any(ast.unparse(decorator).startswith("bp.") for decorator in node.decorator_list)


@each(OURS)
def test_a_module_says_what_it_is_for(path):
    assert ast.get_docstring(tree(path))


@each([*REFERENCE, *LESSONS.glob("*.py"), *WEBAPP])
def test_public_functions_and_classes_say_what_a_caller_gets(path):
    told_by_the_module = path.stem.replace("_", "")
    silent = [
        node.name
        for node in tree(path).body
        if (isinstance(node, ast.FunctionDef) and not is_view(node))
        or (isinstance(node, ast.ClassDef) and not is_data(node) and node.name.lower() != told_by_the_module)
        if not node.name.startswith("_") and not ast.get_docstring(node)
    ]

    assert [] == silent
