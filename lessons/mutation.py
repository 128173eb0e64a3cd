"""The lesson's own tests, run here against the reference and against mutants of it.

A mutant is a reference module with one small change. It is made from the module's source, and the same tests
are run against it: they catch it, or it survives. What a chapter on testing has for that:

    promises.py    the tests               missing.py    more tests, to choose from
    mutants.py     MUTANTS, the changes
"""

import importlib
import re
import traceback
import types
from dataclasses import dataclass
from functools import cache

from lessons import excerpts
from lessons.excerpts import LESSONS


@dataclass(frozen=True)
class Mutant:
    """A change to a file of the lesson. `changes` are (old text, new text); each old text stands there exactly once.

    `instead_of`: the tests use the first name, and get the file's second one in its place.
    """

    slug: str
    title: str
    file: str
    changes: tuple[tuple[str, str], ...]
    instead_of: tuple[str, str] | None = None


@dataclass(frozen=True)
class Outcome:
    """How one test ended. If it failed: at which line of its file, and with what error."""

    test: str
    passed: bool
    line: int = 0
    source: str = ""
    error: str = ""


@cache
def folder() -> str:
    """The folder of the chapter that has the tests."""
    return next(LESSONS.glob("s[0-9][0-9]_*/promises.py")).parent.name


def promises() -> tuple[str, ...]:
    """The names of the tests, as they stand in their file."""
    return _tests(f"{folder()}/promises.py")


def candidates() -> tuple[str, ...]:
    """The names of the tests from which the missing one is chosen."""
    return _tests(f"{folder()}/missing.py")


def in_words(test: str) -> str:
    """What a test's name says."""
    return test.removeprefix("test_").replace("_", " ")


@cache
def mutants() -> dict[str, Mutant]:
    """All mutants by their slug."""
    found: tuple[Mutant, ...] = importlib.import_module(f"lessons.{folder()}.mutants").MUTANTS
    return {mutant.slug: mutant for mutant in found}


def source(mutant: Mutant) -> str:
    """The mutant's module as text; ValueError when a change does not fit in exactly one place."""
    text = excerpts.source(mutant.file)
    for old, new in mutant.changes:
        if text.count(old) != 1:
            raise ValueError(f"{mutant.slug}: {old!r} stands {text.count(old)} times in {mutant.file}, not once")
        text = text.replace(old, new)
    return text


def keep_promises(mutant: str | None = None) -> tuple[Outcome, ...]:
    """How the promises end against the reference, or against the mutant of that slug."""
    return _run(f"{folder()}/promises.py", mutant)


def try_candidate(test: str, mutant: str | None = None, changed: bool = True) -> Outcome:
    """How one candidate ends against the reference, or against the mutant of that slug; not `changed`, its original."""
    return next(one for one in _run(f"{folder()}/missing.py", mutant, changed) if one.test == test)


def survivors() -> tuple[Mutant, ...]:
    """The mutants that no promise catches."""
    return tuple(one for one in mutants().values() if all(outcome.passed for outcome in keep_promises(one.slug)))


@cache  # the same text always ends the same way: the clock is manual and chance is an argument
def _run(file: str, slug: str | None, changed: bool = True) -> tuple[Outcome, ...]:
    tests = _module(file, excerpts.source(file))
    if slug is not None:
        mutant = mutants()[slug]
        module = _module(mutant.file, source(mutant) if changed else excerpts.source(mutant.file))
        # What the tests have imported from the real module, they get from the mutant instead.
        real = "lessons." + mutant.file.removesuffix(".py").replace("/", ".")
        for name, value in list(vars(tests).items()):
            if getattr(value, "__module__", None) == real:
                setattr(tests, name, getattr(module, name))
        if mutant.instead_of:
            name, other = mutant.instead_of
            setattr(tests, name, getattr(module, other))
    return tuple(_outcome(file, test, getattr(tests, test)) for test in _tests(file))


def _outcome(file: str, name: str, test: types.FunctionType) -> Outcome:
    # No limit on time: neither tests nor mutants have a loop that could go on, and a test counts their lines.
    try:
        test()
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        frame = next(frame for frame in reversed(frames) if frame.filename == str(LESSONS / file))
        words = f": {error}" if str(error) else ""
        return Outcome(name, False, frame.lineno or 0, frame.line or "", f"{type(error).__name__}{words}")
    return Outcome(name, True)


def _module(file: str, text: str) -> types.ModuleType:
    module = types.ModuleType(file)
    # optimize=0: the asserts are the tests, whatever options Python was started with.
    exec(compile(text, str(LESSONS / file), "exec", dont_inherit=True, optimize=0), module.__dict__)
    return module


@cache
def _tests(file: str) -> tuple[str, ...]:
    return tuple(re.findall(r"^def (test_\w+)", excerpts.source(file), re.MULTILINE))
