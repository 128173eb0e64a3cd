"""The tests of the queue: run, streamed line by line, and turned round: mutants that they catch or miss."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from flask import Blueprint, Response, jsonify, render_template, request
from markupsafe import Markup

from lessons import contents, excerpts, mutation, params
from lessons.mutation import Mutant, Outcome
from webapp import listing, moment, pages, runs
from webapp.asked import DEFAULT_PACE_MS, MAX_PACE_MS, BadQuery, checked

CHAPTER = "testing"
CONTEXT_LINES = 2

bp = Blueprint("testing", __name__)


@dataclass(frozen=True)
class DiffLine:
    """A line of a mutant beside the original: `sign` is "-", "+", a space, or "…" where lines are left out."""

    sign: str
    number: int
    html: Markup


@bp.get(f"/{CHAPTER}")
def page() -> str:
    return render_template("testing.html", **_shown(_chosen(Chosen)))


@bp.get(f"/{CHAPTER}/run.txt")
def text() -> Response:
    return Response(_report(_chosen(OfMutant).mutant), mimetype="text/plain")


@bp.get(f"/{CHAPTER}/run.json")
def data() -> Response:
    slug = _chosen(OfMutant).mutant
    outcomes = mutation.keep_promises(slug)
    return jsonify(
        {
            "file": f"{mutation.folder()}/promises.py",
            "mutant": slug,
            "passed": sum(outcome.passed for outcome in outcomes),
            "failed": sum(not outcome.passed for outcome in outcomes),
            "tests": [
                {"test": outcome.test, "outcome": "passed"}
                if outcome.passed
                else {
                    "test": outcome.test,
                    "outcome": "failed",
                    "line": outcome.line,
                    "source": outcome.source,
                    "error": outcome.error,
                }
                for outcome in outcomes
            ],
        }
    )


@bp.get(f"/{CHAPTER}/stream")
def stream() -> Response:
    chosen = _chosen(Streamed)
    outcomes = mutation.keep_promises(chosen.mutant)

    def event(number: int) -> bytes:
        """The results as far as they are known, one more each time."""
        return moment.as_event(number, render_template("_results.html", outcomes=outcomes[:number], **_constants()))

    return runs.play(0, len(outcomes), chosen.pace, event)


def _report(slug: str | None) -> str:
    """The results as pytest would print them, but without times: nothing was timed."""
    outcomes = mutation.keep_promises(slug)
    lines = []
    for outcome in outcomes:
        lines.append(f"promises.py::{outcome.test} {'PASSED' if outcome.passed else 'FAILED'}")
        if not outcome.passed:
            lines += [f">   {outcome.source}", f"E   {outcome.error}", f"promises.py:{outcome.line}"]
    return "\n".join([*lines, _sum(outcomes), ""])


def _sum(outcomes: tuple[Outcome, ...]) -> str:
    failed = sum(not outcome.passed for outcome in outcomes)
    passed = f"{len(outcomes) - failed} passed"
    return f"{failed} failed, {passed}" if failed else passed


def _chosen(declared: type["OfMutant"]) -> Any:
    """What the query asks for, as it is declared; BadQuery."""
    given = request.args.to_dict()
    if "catches" in given:  # the only field that may be there several times
        given["catches"] = "\n".join(request.args.getlist("catches"))
    chosen, problems = checked(declared, given, request.args, several="catches")
    if problems:
        raise BadQuery(problems, "This cannot be run", "testing.html", _shown(Chosen()))
    return chosen


@dataclass(frozen=True)
class _OneOf(params.Kind):
    """A name of those that are found when they are asked for: to know the survivors, all mutants are run."""

    names: Callable[[], Iterable[str]] = tuple

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(self.names())}"

    def parse(self, text: str) -> Any:
        if text not in self.names():
            raise ValueError(text)
        return text


class _Several(_OneOf):
    def parse(self, text: str) -> tuple[str, ...]:
        return tuple(map(super().parse, text.split("\n")))


class _Mark(_OneOf):
    def parse(self, text: str) -> bool:
        return bool(super().parse(text) == "1")


def _declared(kind: params.Kind, default: Any = None) -> Any:
    return field(default=default, metadata={"kind": kind})


def _mark() -> Any:
    return _declared(_Mark("", names=lambda: "10"), False)


@dataclass(frozen=True)
class OfMutant:
    """The queue that is tested: the mutant of that name, or the original."""

    mutant: str | None = _declared(_OneOf("", names=mutation.mutants))


@dataclass(frozen=True)
class Streamed(OfMutant):
    """A stream of results, with `pace` milliseconds between them."""

    pace: int = params.whole(DEFAULT_PACE_MS // 2, label="", low=0, high=MAX_PACE_MS, unit="ms")


@dataclass(frozen=True)
class Chosen(OfMutant):
    """What the page shows: a run, a prediction with the tests that it names, the matrix, a survivor and a new test."""

    run: bool = _mark()
    play: bool = _mark()
    predicted: bool = _mark()
    matrix: bool = _mark()
    catches: tuple[str, ...] = _declared(_Several("", names=mutation.promises), ())
    survivor: str | None = _declared(_OneOf("", names=lambda: [mutant.slug for mutant in mutation.survivors()]))
    candidate: str | None = _declared(_OneOf("", names=mutation.candidates))

    def conflicts(self) -> dict[str, str]:
        """A field that another one needs -> what is wrong."""
        given, needs = vars(self), (("predicted", "mutant"), ("catches", "mutant"), ("candidate", "survivor"))
        return {need: f"{need} must be given with {name}" for name, need in needs if given[name] and not given[need]}


def _shown(chosen: Chosen) -> dict[str, Any]:
    """All that the page shows of what was chosen."""
    every = mutation.mutants()
    shown: dict[str, Any] = {
        **pages.way(contents.chapter(CHAPTER)),
        **_constants(),
        "chosen": chosen,
        "problems": (),
        "mutants": every.values(),
        "mutant": every.get(chosen.mutant or ""),
        "outcomes": mutation.keep_promises() if chosen.run else (),
    }
    if mutant := shown["mutant"]:
        shown["diff"] = _diff(mutant.slug)
        if chosen.predicted:
            ended = mutation.keep_promises(mutant.slug)
            shown["ended"] = ended
            shown["right"] = {o.test for o in ended if not o.passed} == set(chosen.catches)
    if chosen.matrix or chosen.survivor:
        shown["matrix"] = [(one, mutation.keep_promises(one.slug)) for one in every.values()]
        shown["survivors"] = mutation.survivors()
    if chosen.survivor:
        shown["survived"] = every[chosen.survivor]
        shown["survived_diff"] = _diff(chosen.survivor)
        if chosen.candidate:
            shown["on_original"] = mutation.try_candidate(chosen.candidate, chosen.survivor, changed=False)
            shown["on_mutant"] = mutation.try_candidate(chosen.candidate, chosen.survivor)
    return shown


@cache
def _constants() -> dict[str, Any]:
    """What is the same on every page."""

    def code(file: str, test: str) -> tuple[listing.Line, ...]:
        return listing.lines(excerpts.named(f"{mutation.folder()}/{file}.py", test))

    return {
        "in_words": mutation.in_words,
        "sum_of": _sum,
        "tests": mutation.promises(),
        "candidates": mutation.candidates(),
        "code": {test: code("promises", test) for test in mutation.promises()}
        | {test: code("missing", test) for test in mutation.candidates()},
        "address": f"/{CHAPTER}",
    }


@cache
def _diff(slug: str) -> tuple[DiffLine, ...]:
    """The mutant's changes with the lines round them. Numbers are the original's, for a new line its own."""
    mutant: Mutant = mutation.mutants()[slug]
    before_text = excerpts.source(mutant.file)
    before, after = before_text.splitlines(), mutation.source(mutant).splitlines()
    old, new = listing.of_text(before_text), listing.of_text(mutation.source(mutant))
    found: list[DiffLine] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(CONTEXT_LINES):
        if found:
            found.append(DiffLine("…", 0, Markup("")))
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                found += [DiffLine(" ", line.number, line.html) for line in old[old_start:old_end]]
            else:
                found += [DiffLine("-", line.number, line.html) for line in old[old_start:old_end]]
                found += [DiffLine("+", line.number, line.html) for line in new[new_start:new_end]]
    return tuple(found)
