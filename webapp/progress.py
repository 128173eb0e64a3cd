"""What a learner has done: kept for their browser, shown to it, taken out as a file, brought in again, deleted."""

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, parse_qsl, urlsplit

from flask import (
    Blueprint,
    Response,
    abort,
    after_this_request,
    current_app,
    jsonify,
    redirect,
    render_template,
    request,
)
from werkzeug.datastructures import FileStorage, MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from lessons import contents, exercises, params
from lessons.quiz import DRAWN, LONGEST_ANSWER
from webapp import errors
from webapp.asked import Asked, BadQuery, NotThere, asked, chapter_of, controls_of, exercise_of, only, only_form
from webapp.store import FILE, MOST_ATTEMPTS, Attempt, Drawn, Full, Learner, Progress, Store, Unusable

COOKIE = "learner"
A_YEAR_S = 365 * 24 * 3600
FORMAT, FORMAT_VERSION = "queue-lab-progress", 1
MOST_BYTES = 1_000_000  # of a file to import; what webapp.store keeps of a learner fits into it
FAMILY = re.compile(r"[A-Za-z0-9_.-]{1,80}"), 'one to 80 of letters, digits, "-", "_" and "."'
TIME = re.compile(r"[0-9-]{10}T[0-9:]{8}Z"), "a time from 2020 to now, such as 2026-01-31T09:30:00Z"
EARLIEST = datetime(2020, 1, 1, tzinfo=UTC)
AHEAD = timedelta(days=1)  # another server's clock may be ahead of this one's
PLACE = re.compile(r"/[a-z0-9][a-z0-9/-]{0,80}(\?[!-~]{0,4000})?"), "an address in this lesson, such as /name?step=3"
ANSWER = re.compile(rf"[^\ud800-\udfff]{{0,{LONGEST_ANSWER}}}"), f"text of at most {LONGEST_ANSWER:,} characters"
EXPORTED = "a file that was exported on this page"
Read = TypeVar("Read")
NOT_KEPT = "Your progress cannot be kept at the moment: the server cannot use its data file. All pages work without it."
NOT_DELETED = "Nothing was deleted: the server cannot use its data file at the moment. Please try again later."

bp = Blueprint("progress", __name__)


@bp.record_once
def _set_up(state: Any) -> None:
    given = state.app.config.get("DATABASE") or os.environ.get("QUEUE_LAB_DATA")
    try:
        path = Path(given) if given else Path.home() / ".queue-lab"
    except RuntimeError:  # a user without a home
        path = None
    state.app.extensions["store"] = Store(path if given or path is None else path / FILE)


def store() -> Store:
    """The application's store."""
    return current_app.extensions["store"]


def token() -> str | None:
    """What the browser says it is."""
    return request.cookies.get(COOKIE)


def remember(response: Response, learner: Learner) -> Response:
    """The response, with the cookie by which the learner is known for another year."""
    # Behind a proxy only the browser's own word tells that the page came by https.
    secure = request.is_secure or request.headers.get("Origin", "").startswith("https:")
    response.set_cookie(COOKIE, learner.token, A_YEAR_S, httponly=True, samesite="Lax", secure=secure)
    return response


def private(response: Response) -> Response:
    """The response, not to be kept by anybody: going back asks again and shows what is true now."""
    response.headers["Cache-Control"] = "private, no-store"
    response.vary.add("Cookie")
    return response


@bp.before_app_request
def _own_pages_only() -> None:
    """Refuse what a page of another site sends. Whoever names no origin is no browser and has no one's cookie."""
    if request.method in ("GET", "HEAD", "OPTIONS"):
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    own = site in ("same-origin", "none") if site else not origin or origin.partition("://")[2] == request.host
    if not own:
        abort(403, "This was sent by a page of another site, so nothing was done.")


@bp.app_errorhandler(Unusable)
def _unusable(error: Unusable) -> Response:
    # A page's own notes are no more than that: a 503 would be an error line in the console of every page.
    if request.endpoint in ("progress.seen", "progress.solved") and _by_script():
        return jsonify(kept=False, message=NOT_KEPT)
    title, message = ("Not deleted", NOT_DELETED) if request.endpoint == "progress.delete" else ("Not kept", NOT_KEPT)
    return private(errors.answer(503, title, message, {}, "error.html", {"back": "/"}))


# Notes


@bp.post("/progress/place/<slug>", defaults={"to_the_end": False})
@bp.post("/progress/seen/<slug>", defaults={"to_the_end": True})
def seen(slug: str, to_the_end: bool) -> Response:
    chapter = chapter_of(slug)
    only_form("place")
    place = request.form.get("place") or f"/{slug}"
    if not (PLACE[0].fullmatch(place) and place.partition("?")[0] == f"/{slug}"):
        allowed = f"an address of this chapter, such as /{slug}?step=3"
        message = f'place must be {allowed}, not "{place[:60]}"'
        raise BadQuery([params.Problem("place", place, message, allowed)])
    reached: list[str] = []
    if isinstance(chapter, contents.Section):
        try:
            reached = _reached(asked(slug, MultiDict(parse_qsl(urlsplit(place).query, keep_blank_values=True))))
        except (NotThere, BadQuery):  # of a page from before the lesson changed, or made up: no run is there
            place = f"/{slug}"
    with store().writing(token()) as learner:
        if to_the_end:
            learner.see(slug)
        learner.go_to(place)
        for goal in reached:
            learner.reach(goal)
    following = contents.chapters()[chapter.number : chapter.number + 1]
    return remember(_kept(f"/{following[0].slug}" if following else f"/{slug}#onward"), learner)


def _reached(here: Asked) -> list[str]:
    """The goals that this run reaches: they are judged here, whatever the browser says."""
    controls = controls_of(here.section, here.params)
    return [goal.id for goal in controls.goals if goal.reached] if controls else []


@bp.post("/progress/solved/<name>")
def solved(name: str) -> Response:
    exercise_of(name)
    only_form()
    with store().writing(token()) as learner:
        learner.solve(name)
    return remember(_kept("/progress"), learner)


def _kept(then: str) -> Response:
    return jsonify(kept=True) if _by_script() else redirect(then, 303)  # type: ignore[return-value]


def _by_script() -> bool:
    mode = request.headers.get("Sec-Fetch-Mode", "navigate")
    return mode != "navigate" or request.accept_mimetypes.best == "application/json"


# The page


@bp.get("/progress")
def page() -> Response:
    only({"imported": ("1",), "deleted": ("1",)})
    return private(Response(render_template("progress.html", **so_far())))


def so_far() -> dict[str, Any]:
    """The learner's progress for a page, `kept`: None when there is nothing, or `why` the file is not `usable`."""
    try:
        return {"kept": _read(lambda learner: shown(learner.progress())), "usable": True}
    except Unusable:
        return {"kept": None, "usable": False, "why": NOT_KEPT}


def goals_kept() -> dict[str, str]:
    """The goals that the learner has reached, with the time of the first time."""
    try:
        return _read(Learner.goals) or {}
    except Unusable:
        return {}


def _read(what: Callable[[Learner], Read]) -> Read | None:
    """What is kept about the learner, for an answer that is theirs alone; None without a learner. Unusable."""
    if token():
        after_this_request(private)
    with store().reading(token()) as learner:
        return what(learner) if learner else None


def shown(kept: Progress) -> dict[str, Any]:
    """Progress as the pages show it."""
    chapters = contents.chapters()
    title = kept.place and title_of(kept.place)
    return {
        "chapters": [(chapter, kept.seen.get(chapter.slug)) for chapter in chapters],
        "seen": sum(chapter.slug in kept.seen for chapter in chapters),
        "solved": {name: kept.solved[name] for name in _exercises() if name in kept.solved},
        "exercises": exercises.exercises(),
        "goals": {name: kept.goals[name] for name in _goals() if name in kept.goals},
        "driven": [section for section in contents.sections() if section.goals],
        "attempts": kept.attempts,
        "best": max((attempt.score for attempt in kept.attempts if not attempt.first_open), default=None),
        "place": kept.place if title else None,
        "place_title": title,
    }


def title_of(address: str) -> str | None:
    """A place in the lesson in words, such as "Retries, step 3"; None when its chapter is not there."""
    if not PLACE[0].fullmatch(address):
        return None
    there = urlsplit(address)
    try:
        title = contents.chapter(there.path.split("/")[1]).title
    except KeyError:
        return None
    step = parse_qs(there.query).get("step", [""])[0]
    is_number = step.isascii() and step.isdecimal()  # "last" says nothing to a reader
    return f"{title}, step {step[:10]}" if is_number else title


# Out, in, and away


@bp.get("/progress/export.json")
def export() -> Response:
    with store().reading(token()) as learner:
        kept = learner.progress() if learner else Progress({}, {}, {}, (), None)
    response = jsonify(as_data(kept))
    response.headers["Content-Disposition"] = 'attachment; filename="queue-lab-progress.json"'
    return private(response)


@bp.post("/progress/import")
def bring_in() -> Response:
    allowed = f"at most {MOST_BYTES:,} bytes"
    try:
        request.get_data()  # here too large is this limit; later, too many parts would be
    except RequestEntityTooLarge:
        raise _not_imported(_wrong("file", "", allowed, f"file must have {allowed}"), 413) from None
    try:
        kept = from_data(_uploaded(request.files.get("file")))
        with store().writing(token()) as learner:
            learner.merge(kept)
    except Full as error:
        allowed = f"at most {MOST_ATTEMPTS} attempts with those here"
        raise _not_imported(_wrong("quiz", "", allowed, str(error))) from None
    except params.Invalid as error:
        raise _not_imported(error) from None
    return remember(redirect("/progress?imported=1", 303), learner)  # type: ignore[arg-type]


def _not_imported(error: params.Invalid, status: int = 400) -> BadQuery:
    page = {**so_far(), "problem": str(error)}
    return BadQuery(error.problems, "This file cannot be imported", "progress.html", page, status)


@bp.get("/progress/delete")
def ask_before_deleting() -> Response:
    return private(Response(render_template("delete.html")))


@bp.post("/progress/delete")
def delete() -> Response:
    store().forget(token())
    response = redirect("/progress?deleted=1", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="Lax")
    return response  # type: ignore[return-value]


def as_data(kept: Progress) -> dict[str, Any]:
    """Progress as the exported file has it: with what the lesson still has, so that it can be imported."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "place": kept.place,
        "seen": [{"section": section, "at": at} for section, at in kept.seen.items() if section in _sections()],
        "solved": [{"exercise": name, "at": at} for name, at in kept.solved.items() if name in _exercises()],
        "goals": [{"goal": name, "at": at} for name, at in kept.goals.items() if name in _goals()],
        "quiz": [
            {"started_at": attempt.started_at, "questions": [vars(question) for question in attempt.questions]}
            for attempt in kept.attempts
        ],
    }


def from_data(data: Any) -> Progress:
    """The progress in an exported file; params.Invalid names the first field that cannot be used."""
    found = data.get("format") if isinstance(data, dict) else data
    if not isinstance(data, dict) or found != FORMAT:
        message = f'format must be "{FORMAT}": choose {EXPORTED}'
        raise _wrong("format", found, f'"{FORMAT}"', message)
    if (type(data.get("version")), data.get("version")) != (int, FORMAT_VERSION):
        raise _wrong("version", data.get("version"), str(FORMAT_VERSION))
    return Progress(
        seen=_first_times(data, "seen", "section", _sections()),
        solved=_first_times(data, "solved", "exercise", _exercises()),
        goals=_first_times({"goals": [], **data}, "goals", "goal", _goals()),  # a file from before goals were kept
        attempts=tuple(
            Attempt(
                0,
                _time(attempt, at, "started_at"),
                tuple(_drawn(one, where) for where, one in _objects(attempt, at, "questions", DRAWN, DRAWN)),
            )
            for at, attempt in _objects(data, "", "quiz")
        ),
        place=None if data.get("place") is None else _text(data, "", "place", PLACE),
    )


def _sections() -> list[str]:
    return [chapter.slug for chapter in contents.chapters()]


def _exercises() -> list[str]:
    return [exercise.slug for exercise in exercises.exercises()]


def _goals() -> list[str]:
    return [goal.id for section in contents.sections() for goal in section.goals]


def _first_times(data: dict[str, Any], name: str, key: str, names: list[str]) -> dict[str, str]:
    """Names with their times; of a name that is there twice, the earlier one."""
    first: dict[str, str] = {}
    for where, one in _objects(data, "", name):
        if one.get(key) not in names:
            raise _wrong(f"{where}{key}", one.get(key), f"one of {', '.join(names)}")
        at = _time(one, where, "at")
        first[one[key]] = min(at, first.get(one[key], at))
    return first


def _drawn(data: dict[str, Any], where: str) -> Drawn:
    right = data.get("right")
    if right is not None and type(right) is not bool:
        raise _wrong(f"{where}right", right, "true, false or null")
    family, seed = _text(data, where, "family", FAMILY), _whole(data, where, "seed", 0, 2**53)
    objective = _whole(data, where, "objective", 1, 100)
    if right is None:
        return Drawn(family, seed, objective)
    answer, at = _text(data, where, "answer", ANSWER), _time(data, where, "answered_at")
    return Drawn(family, seed, objective, answer, right, at)


def _objects(
    data: dict[str, Any], where: str, name: str, least: int = 0, most: int = MOST_ATTEMPTS
) -> list[tuple[str, dict[str, Any]]]:
    found = data.get(name)
    if not isinstance(found, list) or not least <= len(found) <= most:
        allowed = f"a list of {f'{least} to ' if least < most else ''}{most} objects"
        raise _wrong(f"{where}{name}", found, allowed, f"{where}{name} must be {allowed}")
    for index, one in enumerate(found):
        if not isinstance(one, dict):
            raise _wrong(f"{where}{name}[{index}]", one, "an object")
    return [(f"{where}{name}[{index}].", one) for index, one in enumerate(found)]


def _text(data: dict[str, Any], where: str, name: str, form: tuple[re.Pattern[str], str]) -> str:
    value = data.get(name)
    pattern, allowed = form
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise _wrong(f"{where}{name}", value, allowed)
    return value


def _time(data: dict[str, Any], where: str, name: str) -> str:
    text = _text(data, where, name, TIME)
    try:
        if EARLIEST <= datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z") <= datetime.now(UTC) + AHEAD:
            return text
    except ValueError:  # such as a 30th of February
        pass
    raise _wrong(f"{where}{name}", text, TIME[1])


def _whole(data: dict[str, Any], where: str, name: str, low: int, high: int) -> int:
    value = data.get(name)
    if type(value) is not int or not low <= value <= high:
        raise _wrong(f"{where}{name}", value, f"a whole number from {low} to {high}")
    return value


def _wrong(field: str, value: Any, allowed: str, message: str = "") -> params.Invalid:
    message = message or f"{field} must be {allowed}, not {_short(value)}"
    return params.Invalid((params.Problem(field, _short(value), message, allowed),))


def _short(value: Any) -> str:
    if isinstance(value, list | dict):  # however deep
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)  # in ASCII: half of a surrogate pair could not be sent
    return text if len(text) <= 60 else f"{text[:60]}…"


def _uploaded(file: FileStorage | None) -> Any:
    if not file or not file.filename:
        raise _wrong("file", None, EXPORTED, f"file must be chosen: {EXPORTED}")
    try:
        return json.loads(file.read())
    except (ValueError, RecursionError):
        raise _wrong("file", file.filename, EXPORTED, "file must be JSON, as it was exported on this page") from None
