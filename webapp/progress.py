"""What a learner has done: kept for their browser, shown to it, taken out as a file, brought in again, deleted."""

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge

from lessons import contents, exercises
from webapp import errors
from webapp.asked import NotThere, chapter_of
from webapp.store import Attempt, Drawn, Learner, Progress, Store, Unusable

COOKIE = "learner"
A_YEAR_S = 365 * 24 * 3600
FORMAT, FORMAT_VERSION = "queue-lab-progress", 1
MOST_BYTES = 1_000_000  # of a file to import
LONGEST_ANSWER = 20_000
NAME = re.compile(r"[a-z0-9-]{1,40}"), 'one to 40 of a-z, 0-9 and "-"'
FAMILY = re.compile(r"[A-Za-z0-9_.-]{1,80}"), 'one to 80 of letters, digits, "-", "_" and "."'
TIME = re.compile(r"\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\dZ"), "a time such as 2027-01-31T09:30:00Z"
PLACE = re.compile(r"/[a-z0-9][a-z0-9/-]{0,80}(\?[!-~]{0,4000})?"), "an address in this lesson, such as /name?step=3"
ANSWER = re.compile(rf"(?s).{{0,{LONGEST_ANSWER}}}"), f"text of at most {LONGEST_ANSWER:,} characters"
NOT_KEPT = "Your progress cannot be kept at the moment: the server cannot use its data file. All pages work without it."

bp = Blueprint("progress", __name__)


@bp.record_once
def _set_up(state: Any) -> None:
    given = state.app.config.get("DATABASE") or os.environ.get("QUEUE_LAB_DATA")
    try:
        path = Path(given) if given else Path.home() / ".queue-lab"
    except RuntimeError:  # a user without a home
        path = None
    state.app.extensions["store"] = Store(path if given or path is None else path / "queue-lab.sqlite3")


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
    # For a script it is an answer like any other: a 503 would be an error line in the console of every page.
    if _by_script():
        return jsonify(kept=False, message=NOT_KEPT)
    return errors.answer(503, "Not kept", NOT_KEPT, {}, "error.html", {"back": "/"})


@bp.app_context_processor
def _for_templates() -> dict[str, Any]:
    return {"progress_so_far": progress_so_far}


# Notes


@bp.post("/progress/seen/<slug>")
def seen(slug: str) -> Response:
    slug = chapter_of(slug).slug
    place = request.form.get("place") or f"/{slug}"
    if not (PLACE[0].fullmatch(place) and re.split(r"[/?]", place)[1] == slug):
        abort(400, f'place must be an address of this section, such as /{slug}?step=3, not "{place[:60]}"')
    with store().writing(token()) as learner:
        learner.see(slug)
        learner.go_to(place)
    return remember(_kept("/#progress"), learner)


@bp.post("/progress/solved/<exercise>")
def solved(exercise: str) -> Response:
    names = [one.slug for one in exercises.exercises()]
    if exercise not in names:
        raise NotThere(
            f'There is no exercise "{exercise[:60]}". The exercises are {", ".join(names)}.', back="/practice"
        )
    with store().writing(token()) as learner:
        learner.solve(exercise)
    return remember(_kept("/progress"), learner)


def _kept(then: str) -> Response:
    return jsonify(kept=True) if _by_script() else redirect(then, 303)  # type: ignore[return-value]


def _by_script() -> bool:
    mode = request.headers.get("Sec-Fetch-Mode", "navigate")
    return mode != "navigate" or request.accept_mimetypes.best == "application/json"


# The page


@bp.get("/progress")
def page() -> Response:
    return private(Response(render_template("progress.html", **_page())))


def _page() -> dict[str, Any]:
    try:
        with store().reading(token()) as learner:
            return {"kept": shown(learner.progress()) if learner else None, "usable": True}
    except Unusable:
        return {"kept": None, "usable": False, "why": NOT_KEPT}


def progress_so_far() -> dict[str, Any] | None:
    """What the contents page shows of the learner's progress; None when there is nothing."""
    if not token():
        return None
    after_this_request(private)
    try:
        with store().reading(token()) as learner:
            return shown(learner.progress()) if learner else None
    except Unusable:
        return None


def shown(kept: Progress) -> dict[str, Any]:
    """Progress as the pages show it."""
    chapters = contents.chapters()
    title = kept.place and title_of(kept.place)
    return {
        "chapters": [(chapter, kept.seen.get(chapter.slug)) for chapter in chapters],
        "seen": sum(chapter.slug in kept.seen for chapter in chapters),
        "solved": kept.solved,
        "attempts": kept.attempts,
        "best": max((attempt.score for attempt in kept.attempts if not attempt.first_open), default=None),
        "place": kept.place if title else None,
        "place_title": title,
    }


def title_of(address: str) -> str | None:
    """A place in the lesson in words, such as "Retries, step 3"; None when its chapter is not there."""
    there = urlsplit(address)
    try:
        title = contents.chapter(there.path.split("/")[1]).title
    except KeyError:
        return None
    step = parse_qs(there.query).get("step", [""])[0]
    return f"{title}, step {step[:10]}" if step else title


# Out, in, and away


@bp.get("/progress/export.json")
def export() -> Response:
    with store().reading(token()) as learner:
        kept = learner.progress() if learner else Progress({}, {}, (), None)
    response = jsonify(as_data(kept))
    response.headers["Content-Disposition"] = 'attachment; filename="queue-lab-progress.json"'
    return private(response)


@bp.post("/progress/import")
def bring_in() -> Response:
    request.max_content_length = MOST_BYTES
    try:
        kept = from_data(_uploaded(request.files.get("file")))
        with store().writing(token()) as learner:
            learner.merge(kept)
    except RequestEntityTooLarge:
        abort(413, f"file must have at most {MOST_BYTES:,} bytes")
    except ValueError as error:
        page = {**_page(), "problem": str(error)}
        return private(errors.answer(400, "This file cannot be imported", str(error), {}, "progress.html", page))
    return remember(redirect("/progress?imported=1", 303), learner)  # type: ignore[arg-type]


@bp.get("/progress/delete")
def ask_before_deleting() -> Response:
    return private(Response(render_template("delete.html")))


@bp.post("/progress/delete")
def delete() -> Response:
    with store().reading(token()) as known:
        pass
    if known:
        with store().writing(known.token) as learner:
            learner.forget()
    response = redirect("/progress?deleted=1", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="Lax")
    return response  # type: ignore[return-value]


def as_data(kept: Progress) -> dict[str, Any]:
    """Progress as the exported file has it."""
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "place": kept.place,
        "seen": [{"section": section, "at": at} for section, at in kept.seen.items()],
        "solved": [{"exercise": exercise, "at": at} for exercise, at in kept.solved.items()],
        "quiz": [
            {"started_at": attempt.started_at, "questions": [vars(question) for question in attempt.questions]}
            for attempt in kept.attempts
        ],
    }


def from_data(data: Any) -> Progress:
    """The progress in an exported file; ValueError names the first field that cannot be used."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f'format must be "{FORMAT}": choose a file that was exported on this page')
    if data.get("version") != FORMAT_VERSION:
        raise ValueError(f"version must be {FORMAT_VERSION}, not {_short(data.get('version'))}")
    return Progress(
        seen={_text(e, at, "section", NAME): _text(e, at, "at", TIME) for at, e in _objects(data, "", "seen")},
        solved={_text(e, at, "exercise", NAME): _text(e, at, "at", TIME) for at, e in _objects(data, "", "solved")},
        attempts=tuple(
            Attempt(
                0,
                _text(attempt, at, "started_at", TIME),
                tuple(_drawn(question, where) for where, question in _objects(attempt, at, "questions", 1, 20)),
            )
            for at, attempt in _objects(data, "", "quiz")
        ),
        place=None if data.get("place") is None else _text(data, "", "place", PLACE),
    )


def _drawn(data: dict[str, Any], where: str) -> Drawn:
    right = data.get("right")
    if right is not None and type(right) is not bool:
        raise ValueError(f"{where}right must be true, false or null, not {_short(right)}")
    family, seed = _text(data, where, "family", FAMILY), _whole(data, where, "seed", 0, 2**53)
    objective = _whole(data, where, "objective", 1, 100)
    if right is None:
        return Drawn(family, seed, objective)
    answer, at = _text(data, where, "answer", ANSWER), _text(data, where, "answered_at", TIME)
    return Drawn(family, seed, objective, answer, right, at)


def _objects(
    data: dict[str, Any], where: str, name: str, least: int = 0, most: int = 500
) -> list[tuple[str, dict[str, Any]]]:
    found = data.get(name)
    if not isinstance(found, list) or not least <= len(found) <= most:
        raise ValueError(f"{where}{name} must be a list of {least} to {most:,} objects")
    for index, one in enumerate(found):
        if not isinstance(one, dict):
            raise ValueError(f"{where}{name}[{index}] must be an object, not {_short(one)}")
    return [(f"{where}{name}[{index}].", one) for index, one in enumerate(found)]


def _text(data: dict[str, Any], where: str, name: str, form: tuple[re.Pattern[str], str]) -> str:
    value = data.get(name)
    pattern, allowed = form
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{where}{name} must be {allowed}, not {_short(value)}")
    value.encode()  # half of a surrogate pair is a ValueError too
    return value


def _whole(data: dict[str, Any], where: str, name: str, low: int, high: int) -> int:
    value = data.get(name)
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{where}{name} must be a whole number from {low} to {high}, not {_short(value)}")
    return value


def _short(value: Any) -> str:
    if isinstance(value, list | dict):  # however deep
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value)  # in ASCII: half of a surrogate pair could not be sent
    return text if len(text) <= 60 else f"{text[:60]}…"


def _uploaded(file: FileStorage | None) -> Any:
    if not file or not file.filename:
        raise ValueError("file must be chosen: a file that was exported on this page")
    try:
        return json.loads(file.read())
    except (ValueError, RecursionError):
        raise ValueError("file must be JSON, as it was exported on this page") from None
