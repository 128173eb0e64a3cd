"""A run drawn as time across and one row a job: bars for the lanes a job was in, marks for what happened to it."""

from dataclasses import dataclass, field

from lessons.recording import JobState, QueueState, Recording, Step, in_seconds

MAX_ROWS = 12
MARGIN, WIDTH = 1.5, 96.0  # percent of the drawing: room for half a mark at both ends
MARK_WIDTH = 2.0  # percent, about a mark's in a drawing as wide as half a screen
MARKS_TOGETHER = 8  # more than that pile up on the last of them
MARKED = (
    "claim", "ack", "retry", "dead", "fail", "lease expired", "crash", "lost", "refused",
    "effect", "renew", "release", "replay", "ignored", "limit",
)  # fmt: skip


@dataclass
class Segment:
    """A stretch of one lane, from a step on. Places are percent of the drawing's width."""

    lane: str
    step: int
    left: float
    width: float
    title: str


@dataclass
class Mark:
    """Something that happened. `nudge` keeps those that share a place apart, in widths of a mark."""

    kind: str
    step: int
    left: float
    title: str
    nudge: int = 0


@dataclass
class Row:
    label: str
    segments: list[Segment] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


@dataclass
class Timeline:
    """`by_time` is False where a run needs no time at all: then the axis counts steps."""

    rows: list[Row]
    ticks: list[tuple[float, str]]
    by_time: bool
    hidden_rows: int
    places: list[float]

    def left(self, step: Step) -> float:
        """Where a step is."""
        return self.places[step.number - 1]


def draw(recording: Recording) -> Timeline:
    """The drawing of a whole run."""
    steps = recording.steps
    by_time = steps[-1].at_ms > 0
    end = steps[-1].at_ms if by_time else len(steps)
    places = [_place(step.at_ms if by_time else step.number - 1, end) for step in steps]
    rows: dict[str, Row] = {}
    lanes: dict[str, tuple[str, int, JobState]] = {}  # row -> its lane, the step that began it, the job as it is now

    def close(key: str, index_after: int | None) -> None:
        lane, index, job = lanes[key]
        stop = MARGIN + WIDTH if index_after is None else places[index_after]
        # A lease ends and a delay is over when their time has come, though the program looks only later.
        over_ms = {"leased": job.leased_until_ms, "delayed": job.run_at_ms}.get(lane)
        over = stop if over_ms is None or not by_time else max(places[index], min(stop, _place(over_ms, end)))
        for name, left, right in ((lane, places[index], over), ("waiting", over, stop)):
            if right > left:
                since = _when(steps[index], by_time) if left == places[index] else f"t={in_seconds(over_ms or 0)}"
                title = f"{key}: {name} from {since}"
                rows[key].segments.append(Segment(name, steps[index].number, left, round(right - left, 3), title))

    seen: dict[str, QueueState] = {}
    idle = not any(queue.jobs for queue in steps[-1].state.queues)
    for index, step in enumerate(steps):
        if idle and step.kind == "advance":
            # Without jobs the actors are the rows, and the time that they take is what there is to see.
            left = places[index - 1] if index else MARGIN
            width = round(places[index] - left, 3)
            row = rows.setdefault(step.actor, Row(step.actor))
            row.segments.append(Segment("busy", step.number, left, width, step.sentence))
        changed = [queue for queue in step.state.queues if queue is not seen.get(queue.name)]
        seen.update((queue.name, queue) for queue in changed)
        now = {job.id: job for queue in changed for job in _first_of_each_id(queue.jobs)}
        place = places[index]
        if by_time and step.kind == "lease expired" and step.job in lanes:
            place = max(MARGIN, min(place, _place(lanes[step.job][2].leased_until_ms, end)))
        for id, job in now.items():
            rows.setdefault(id, Row(id))
            if id not in lanes or lanes[id][0] != job.lane:
                if id in lanes:
                    close(id, index)
                lanes[id] = job.lane, index, job
            else:
                lanes[id] = job.lane, lanes[id][1], job
        key = step.job if step.job in rows else step.actor if idle or step.kind in ("effect", "crash") else None
        if key is not None and (step.kind in MARKED or (idle and step.kind in ("sql", "print"))):
            row = rows.setdefault(key, Row(key))
            title = f"t={in_seconds(step.at_ms)}, step {step.number}: {step.sentence}"
            row.marks.append(Mark(step.kind, step.number, place, title))
    for key in lanes:
        close(key, None)
    for row in rows.values():
        _keep_apart(row.marks)
    kept = list(rows.values())[:MAX_ROWS]
    return Timeline(kept, _ticks(end, by_time), by_time, len(rows) - len(kept), places)


def _place(value: int, end: int) -> float:
    return round(MARGIN + WIDTH * value / max(end, 1), 3)


def _keep_apart(marks: list[Mark]) -> None:
    """Line up the marks that would cover one another, from the first of them to the right."""
    groups: list[list[Mark]] = []
    for mark in marks:
        if groups and mark.left - groups[-1][0].left < MARK_WIDTH:
            groups[-1].append(mark)
        else:
            groups.append([mark])
    for group in groups:
        room = min(len(group), MARKS_TOGETHER) - 1
        first = 0 if group[0].left < 80 else -room  # near the right edge they line up towards the left
        for nth, mark in enumerate(group):
            mark.left, mark.nudge = group[0].left, first + min(nth, room)


def _first_of_each_id(jobs: tuple[JobState, ...]) -> list[JobState]:
    # An id can be used again after its job is done; the job that is in the queue comes first and is the one drawn.
    return list({job.id: job for job in reversed(jobs)}.values())[::-1]


def _ticks(end: int, by_time: bool) -> list[tuple[float, str]]:
    step = next(size for power in range(8) for size in (10**power, 2 * 10**power, 5 * 10**power) if end / size <= 6)
    first = 0 if by_time else 1
    values = [*range(0, end + 1, step)] if by_time else [1, *range(step, end + 1, step)]
    return [
        (round(MARGIN + WIDTH * (value - first) / max(end, 1), 3), in_seconds(value) if by_time else str(value))
        for value in dict.fromkeys(values)
    ]


def _when(step: Step, by_time: bool) -> str:
    return f"t={in_seconds(step.at_ms)}" if by_time else f"step {step.number}"
