"""One step of a run with all its views, as the page shows it and as the stream sends it."""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import or_
from typing import Any

from flask import current_app
from markupsafe import Markup

from lessons import excerpts, params
from lessons.contents import Section
from lessons.recording import LANES, Effect, JobState, Place, QueueState, Step, Table
from webapp import lifecycle, listing
from webapp.asked import Asked, recorded
from webapp.timeline import Timeline, draw

LANE_CARDS = 6
# What fits into one line at the usual widths of the panels, by trial; it only has to be near.
PRINTED_CHARS = 60
DEAD_CHARS = 32  # of a dead job, beside its id and attempts
EFFECT_CHARS = 45
ONE_LINE_COLUMNS = 5  # with more, some names of columns go on in a second line
# The presenter view shows less of a list, and larger. `chars` are those of a table's row, shared by its columns.
MOST = {
    "page": {"rows": 8, "chars": 100, "effects": 8, "lines": 60},
    "present": {"rows": 3, "chars": 130, "effects": 2, "lines": 6},
}
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

    shown: tuple[Any, ...]
    hidden: int


def html(here: Asked) -> Markup:
    """The moment as one element, #moment."""
    step = here.step
    template = current_app.jinja_env.get_template("_moment.html")
    most = MOST[here.view]
    found = listings(here)
    return Markup(
        template.render(
            here=here,
            step=step,
            changes=changes(here),
            queues=[(queue, [(lane, _lane(queue, lane)) for lane in LANES]) for queue in step.state.queues],
            tables=[(table, *_rows(here, table, most["rows"])) for table in tables(here)],
            effects=_last(tuple(_numbered(step.state.effects)), most["effects"]),
            listings=found[-1:] if here.view == "present" else found,
            largest=largest(here.section, here.params, here.view),
            path=" → ".join(_path(step)),
            log=_last(tuple(s for s in here.recording.steps[: step.number] if s.printed is not None), most["lines"]),
            timeline=timeline(here.section, here.params),
            life=lifecycle.life(here.recording, step) if here.section.controls else None,
            paces=PACES_MS,
        )
    )


@dataclass(frozen=True)
class Largest:
    """What the largest step of a run needs in each panel: kept free at every step, no panel moves while one steps."""

    lanes: dict[str, Counter[str]]  # name of the queue -> "rows", and "lines" within them that are further ones
    tables: dict[str, Counter[str]]  # name -> "rows" and "lines", with those of the head
    printed: int  # lines
    effects: int  # lines
    detail: int  # lines


@lru_cache(maxsize=32)
def largest(section: Section, values: object, view: str) -> Largest:
    """The largest step of a run, panel by panel; app.css knows how high a row and a line are."""
    steps, most = recorded(section, values).steps, MOST[view]
    queues = {id(queue): queue for step in steps for queue in step.state.queues}.values()
    tables = {id(table): table for step in steps for table in step.state.tables}.values()
    alone = len(steps[-1].state.queues) == 1
    lanes, sizes = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    for queue in queues:
        counts = Counter(job.lane for job in queue.jobs)
        rows = sum(min(count, LANE_CARDS + 1) for count in counts.values())  # one for "and 3 more"
        further = 0
        if alone:  # each empty lane has a row, and what is said of a dead job is not cut
            rows += len(LANES) - len(counts) + sum(_is_long(job) for job in _lane(queue, "dead").shown)
        elif view == "page":  # in half the width each job goes on in a second line, and the empty lanes share a row
            rows = 2 * rows + 1
        else:  # there only the end of a lease goes on in a second line
            rows, further = rows + 1, min(counts["leased"], LANE_CARDS)
        lanes[queue.name] |= Counter(rows=rows, lines=further)  # the greater of the two counts
    for table in tables:
        chars = most["chars"] // len(table.columns)
        in_lines = [max(1 + len(str(value)) // chars for value in row) for row in table.rows[-most["rows"] :]] or [1]
        head = 2 if len(table.columns) > ONE_LINE_COLUMNS else 1
        sizes[table.name] |= Counter(rows=1 + len(in_lines), lines=head + sum(in_lines))
    if view == "present":  # it shows one table at a time, each in the place of all
        sizes |= dict.fromkeys(sizes, reduce(or_, sizes.values(), Counter[str]()))
    heights = [1 + len(effect.target + effect.what) // EFFECT_CHARS for effect in steps[-1].state.effects]
    ends = range(1, len(heights) + 1)
    effects = max((sum(heights[max(0, end - most["effects"]) : end]) for end in ends), default=1)
    printed = sum(1 + len(step.printed) // PRINTED_CHARS for step in steps if step.printed is not None)
    return Largest(lanes, sizes, printed, effects, max(len((step.detail or "").splitlines()) for step in steps))


def _is_long(job: JobState) -> bool:
    return len(job.type) + len(job.last_error or "") > DEAD_CHARS


def tables(here: Asked) -> list[Table]:
    """The tables after the step; in the presenter view only the one that was changed last."""
    found = list(here.step.state.tables)
    if here.view != "present" or len(found) < 2:
        return found
    steps = here.recording.steps
    for number in range(here.step_number, 1, -1):
        changed = [table for table in steps[number - 1].state.tables if table.rows != _before(steps, number, table)]
        if changed:
            return [table for table in found if table.name == changed[-1].name]
    return found[-1:]


def _before(steps: Sequence[Step], number: int, table: Table) -> tuple[tuple[object, ...], ...]:
    """The rows that the table had before the step of that number; at the first step the same."""
    if number == 1:
        return table.rows
    return next((old.rows for old in steps[number - 2].state.tables if old.name == table.name), ())


def _rows(here: Asked, table: Table, most: int) -> tuple[Some, set[tuple[object, ...]]]:
    """The newest rows, or those around one that the step has changed; and the ones that it has changed."""
    changed = set(table.rows) - set(_before(here.recording.steps, here.step_number, table))
    end = max((number for number, row in enumerate(table.rows, start=1) if row in changed), default=len(table.rows))
    end = max(end, min(most, len(table.rows)))
    return Some(table.rows[max(0, end - most) : end], max(0, len(table.rows) - most)), changed


@dataclass(frozen=True)
class Changes:
    """What differs from the defaults as (label, value, default), and the address of the run that does not."""

    fields: list[tuple[str, str, str]]
    plain: str


def changes(here: Asked, by_hand: bool = False) -> Changes:
    """How this run is not the default one; without `by_hand`, what was done by hand is left to the controls."""
    section, fields = here.section, params.fields(here.section.Params)
    found = [
        field
        for field in fields
        if getattr(here.params, field.name) != field.default
        and (by_hand or not (section.controls and isinstance(field.kind, params.Text)))
    ]
    plain = replace(here.params, **{field.name: field.default for field in found})
    return Changes(
        [(field.label, _in_words(field, getattr(here.params, field.name)), _in_words(field)) for field in found],
        here.run_of(plain),
    )


def _in_words(field: params.Field, *value: object) -> str:
    text = field.kind.to_text(*value or (field.default,))
    words = dict(getattr(field.kind, "options", ())).get(text, text)
    return f"{words} {field.unit}" if field.unit and text.isdigit() else words


def event(here: Asked) -> bytes:
    """The moment as a server-sent event with the step's number as its id; kept, since a whole class plays one run."""
    made = _events.get(here.looks)
    if made is None:
        made = _events[here.looks] = as_event(here.step_number, html(here))
        while sum(map(len, _events.values())) > MOST_EVENT_BYTES:
            _events.popitem(last=False)
    else:
        _events.move_to_end(here.looks)
    return made


# Not an lru_cache: its keys would keep whole recordings.
_events: OrderedDict[tuple[object, ...], bytes] = OrderedDict()


def as_event(number: int, html: str) -> bytes:
    """HTML as the server-sent event of that number."""
    return "\n".join([f"id: {number}", *(f"data: {line}" for line in html.splitlines()), "", ""]).encode()


@lru_cache(maxsize=32)
def timeline(section: Section, values: object) -> Timeline:
    """The drawing of a run."""
    return draw(recorded(section, values))


def listings(here: Asked) -> list[Listing]:
    """The program, and beside it the function in which the step happened when that is another one."""
    step = here.step
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
