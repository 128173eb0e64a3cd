"""The tests of the queue: run, streamed line by line, and turned round: mutants that they catch or miss."""

import difflib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from flask import Blueprint, Response, current_app, jsonify, render_template, request, stream_with_context
from markupsafe import Markup

from lessons import contents, excerpts, mutation, params
from lessons.mutation import Mutant, Outcome
from webapp import errors, listing, pages, runs
from webapp.asked import DEFAULT_PACE_MS, MAX_PACE_MS

CHAPTER = "testing"
CONTEXT_LINES = 2
FLAGS = ("run", "play", "predicted", "matrix")

bp = Blueprint("testing", __name__)


class BadChoice(ValueError):
    """Fields of the query that cannot be used, all of them."""

    def __init__(self, problems: list[params.Problem]) -> None:
        super().__init__("\n".join(problem.message for problem in problems))
        self.problems = problems


@dataclass(frozen=True)
class DiffLine:
    """A line of a mutant beside the original: `sign` is "-", "+", a space, or "…" where lines are left out."""

    sign: str
    number: int
    html: Markup


@bp.get(f"/{CHAPTER}")
def page() -> str:
    return _page(_chosen(*FLAGS, "mutant", "catches", "survivor", "candidate"))


@bp.get(f"/{CHAPTER}/run.txt")
def text() -> Response:
    return Response(_report(_chosen("mutant").get("mutant")), mimetype="text/plain")


@bp.get(f"/{CHAPTER}/run.json")
def data() -> Response:
    slug = _chosen("mutant").get("mutant")
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
    given = _chosen("mutant", "pace")
    outcomes = mutation.keep_promises(given.get("mutant"))
    resumed = request.headers.get("Last-Event-ID", "")
    start = int(resumed) if resumed in map(str, range(len(outcomes) + 1)) else 0
    pace_ms = given["pace"] if runs.open_streams < current_app.config["MAX_STREAMS"] else 0
    events = stream_with_context(runs.counted(_events(outcomes, start, pace_ms)))
    return Response(events, mimetype="text/event-stream", headers=runs.STREAM_HEADERS)


@bp.app_errorhandler(BadChoice)
def bad_choice(error: BadChoice) -> Response:
    problems = [
        {"field": p.field, "value": p.value, "allowed": p.allowed, "message": p.message} for p in error.problems
    ]
    shown = _shown({}) | {"problems": error.problems}
    return errors.answer(400, "This cannot be run", str(error), {"problems": problems}, "testing.html", shown)


def _events(outcomes: tuple[Outcome, ...], start: int, pace_ms: int) -> Iterator[bytes]:
    """Server-sent events: the results as far as they are known, one more each time, then the end."""
    yield b": open\n\n"
    began = time.monotonic()
    for count, number in enumerate(range(start + 1, len(outcomes) + 1), start=1):
        yield from runs.wait_until(began + count * pace_ms / 1_000)
        html = render_template("_results.html", outcomes=outcomes[:number], **_constants())
        yield f"id: {number}\n".encode() + "".join(f"data: {line}\n" for line in html.splitlines()).encode() + b"\n"
    yield b"event: done\ndata: the run is over\n\n"


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


def _chosen(*allowed: str) -> dict[str, Any]:
    """The fields of the query, checked: flags as bool, `catches` as a tuple, the others as text; BadChoice."""
    problems: list[params.Problem] = []
    chosen: dict[str, Any] = {"pace": DEFAULT_PACE_MS // 2}

    def wrong(field: str, value: str, words: str) -> None:
        problems.append(params.Problem(field, value, f'{field} must be {words}, not "{value[:60]}"', words))

    def one_of(field: str, value: str, names: tuple[str, ...]) -> str:
        if value not in names:
            wrong(field, value, f"one of {', '.join(names)}")
        return value

    names: dict[str, Callable[[], tuple[str, ...]]] = {
        "mutant": lambda: tuple(mutation.mutants()),
        "catches": mutation.promises,
        "survivor": lambda: tuple(mutant.slug for mutant in mutation.survivors()),
        "candidate": mutation.candidates,
    }
    for field, values in request.args.lists():
        if field not in allowed:
            words = f"one of {', '.join(allowed)}"
            message = f'there is no field "{field[:60]}": it must be {words}'
            problems.append(params.Problem(field, values[0], message, words))
        elif field == "catches":
            chosen[field] = tuple(one_of(field, value, names[field]()) for value in values)
        elif len(values) > 1:
            message = f"{field} must be given once, not {len(values)} times"
            problems.append(params.Problem(field, ", ".join(values), message, "one value"))
        elif field in FLAGS:
            chosen[field] = one_of(field, values[0], ("1", "0")) == "1"
        elif field == "pace":
            number = values[0]
            if number.isascii() and number.isdigit() and len(number) <= 6 and int(number) <= MAX_PACE_MS:
                chosen[field] = int(number)
            else:
                wrong(field, number, f"a whole number from 0 to {MAX_PACE_MS:,} (ms)")
        else:
            chosen[field] = one_of(field, values[0], names[field]())
    for field, needed in (("predicted", "mutant"), ("catches", "mutant"), ("candidate", "survivor")):
        if chosen.get(field) and needed not in request.args:
            problems.append(params.Problem(needed, "", f"{needed} must be given with {field}", "given"))
    if problems:
        raise BadChoice(problems)
    return chosen


def _page(chosen: dict[str, Any]) -> str:
    return render_template("testing.html", **_shown(chosen))


def _shown(chosen: dict[str, Any]) -> dict[str, Any]:
    """All that the page shows of what was chosen."""
    every = mutation.mutants()
    survivor, candidate = chosen.get("survivor"), chosen.get("candidate")
    shown: dict[str, Any] = {
        **pages.way(contents.chapter(CHAPTER)),
        **_constants(),
        "chosen": chosen,
        "problems": (),
        "mutants": every.values(),
        "mutant": every.get(chosen.get("mutant", "")),
        "outcomes": mutation.keep_promises() if chosen.get("run") else (),
    }
    if mutant := shown["mutant"]:
        shown["diff"] = _diff(mutant.slug)
        if chosen.get("predicted"):
            ended = mutation.keep_promises(mutant.slug)
            shown["ended"] = ended
            shown["right"] = {o.test for o in ended if not o.passed} == set(chosen.get("catches", ()))
    if chosen.get("matrix") or survivor:
        shown["matrix"] = [(one, mutation.keep_promises(one.slug)) for one in every.values()]
        shown["survivors"] = mutation.survivors()
    if survivor:
        shown["survived"] = every[survivor]
        shown["survived_diff"] = _diff(survivor)
        if candidate:
            shown["on_original"] = mutation.try_candidate(candidate, survivor, changed=False)
            shown["on_mutant"] = mutation.try_candidate(candidate, survivor)
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
    before_text = (excerpts.LESSONS / mutant.file).read_text(encoding="utf-8")
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
