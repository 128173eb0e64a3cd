"""One step of a run with all its views, as the page shows it and as the stream sends it."""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flask import current_app
from markupsafe import Markup

from lessons import excerpts
from lessons.recording import LANES, Effect, JobState, Place, QueueState, Step
from webapp import lifecycle, listing
from webapp.asked import Asked, recorded
from webapp.timeline import Timeline, draw

LOG_LINES = 60
LANE_CARDS = 6
TABLE_ROWS = 8
EFFECTS = 8
MOST_EVENT_BYTES = 24_000_000
PACES_MS = ((1_600, "Slow"), (800, "Normal"), (400, "Fast"), (150, "Very fast"))


@dataclass(frozen=True)
class Listing:
    """One piece of source. `current` is the line that acts, `calling` are the lines that led there."""

    name: str
    file: str
    lines: tuple[listing.Line, ...]
    current: int | None
    calling: tuple[int, ...]


@dataclass(frozen=True)
class Some:
    """The part of a long list that is shown, and how many are left out."""

    shown: tuple[object, ...]
    hidden: int


def html(here: Asked) -> Markup:
    """The moment as one element, #moment."""
    step = here.step
    template = current_app.jinja_env.get_template("_moment.html")
    return Markup(
        template.render(
            here=here,
            step=step,
            queues=[(queue, [(lane, _lane(queue, lane)) for lane in LANES]) for queue in step.state.queues],
            tables=[(table, _last(table.rows, TABLE_ROWS)) for table in step.state.tables],
            effects=_last(tuple(_numbered(step.state.effects)), EFFECTS),
            listings=listings(here, step),
            path=" → ".join(_path(step)),
            log=_last(tuple(s for s in here.recording.steps[: step.number] if s.printed is not None), LOG_LINES),
            timeline=timeline(here),
            life=lifecycle.life(here.recording, step) if here.section.controls else None,
            paces=PACES_MS,
        )
    )


def event(here: Asked) -> bytes:
    """The moment as a server-sent event with the step's number as its id; kept, since a whole class plays one run."""
    made = _events.get(here.looks)
    if made is None:
        lines = [f"id: {here.step_number}", *(f"data: {line}" for line in html(here).splitlines()), "", ""]
        made = _events[here.looks] = "\n".join(lines).encode()
        while sum(map(len, _events.values())) > MOST_EVENT_BYTES:
            _events.popitem(last=False)
    else:
        _events.move_to_end(here.looks)
    return made


# Not an lru_cache: its keys would keep whole recordings.
_events: OrderedDict[tuple[object, ...], bytes] = OrderedDict()


def timeline(here: Asked) -> Timeline:
    """The drawing of the run."""
    return _drawn(here.section.slug, here.params)


@lru_cache(maxsize=32)
def _drawn(slug: str, params: Any) -> Timeline:
    return draw(recorded(slug, params))


def listings(here: Asked, step: Step) -> list[Listing]:
    """The program, and beside it the function in which the step happened when that is another one."""
    program = excerpts.named(here.section.program, "run")
    shown = {program.name: program}
    for place in step.calls:
        excerpt = excerpts.around(place.file, place.line)
        shown.setdefault(excerpt.name, excerpt)
    inner = [excerpt for excerpt in shown.values() if excerpt is not program][-1:]
    found = []
    for excerpt in [program, *inner]:
        lines = [place.line for place in step.calls if _within(place, excerpt)]
        acts = step.place is not None and _within(step.place, excerpt)
        found.append(
            Listing(
                excerpt.name,
                excerpt.file,
                listing.lines(excerpt),
                lines[-1] if acts else None,
                tuple(lines[:-1] if acts else lines),
            )
        )
    return found


def _within(place: Place, excerpt: excerpts.Excerpt) -> bool:
    return place.file == excerpt.file and 0 <= place.line - excerpt.first_line < len(excerpt.lines)


def _path(step: Step) -> list[str]:
    names = (excerpts.around(place.file, place.line).name for place in step.calls)
    return list(dict.fromkeys(names))


def _lane(queue: QueueState, lane: str) -> Some:
    jobs: list[JobState] = [job for job in queue.jobs if job.lane == lane]
    if lane in ("dead", "done"):
        jobs.reverse()  # the newest first: it is the one that people look for
    return Some(tuple(jobs[:LANE_CARDS]), max(0, len(jobs) - LANE_CARDS))


def _numbered(effects: tuple[Effect, ...]) -> list[tuple[Effect, int]]:
    """Each effect with how many like it there have been, itself included."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for effect in effects:
        seen[effect.target, effect.what] += 1
        numbered.append((effect, seen[effect.target, effect.what]))
    return numbered


def _last(items: tuple[object, ...], most: int) -> Some:
    return Some(items[-most:], max(0, len(items) - most))
