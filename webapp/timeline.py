"""A run drawn as time across and one row a job: bars for the lanes a job was in, marks for what happened to it."""

from dataclasses import dataclass, field

from lessons.recording import LANES, JobState, QueueState, Recording, Step, in_seconds

MAX_ROWS = 12
MARGIN, WIDTH = 1.5, 96.0  # percent of the drawing: room for half a mark at both ends
MARK_WIDTH = 3.2  # percent: a mark and a little air, in a drawing as wide as half a screen
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
    """Something that happened. It is drawn at `shown`, so that none covers another; a thin line leads from `left`."""

    kind: str
    step: int
    left: float
    title: str
    shown: float = 0


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

    @property
    def bars(self) -> list[str]:
        """The lanes that are drawn, for the legend."""
        drawn = {segment.lane for row in self.rows for segment in row.segments}
        return [lane for lane in (*LANES, "busy") if lane in drawn]

    @property
    def kinds(self) -> list[str]:
        """The kinds of marks that are drawn, in the order in which they first happen."""
        marks = sorted((mark for row in self.rows for mark in row.marks), key=lambda mark: mark.step)
        return list(dict.fromkeys(mark.kind for mark in marks))


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
        row.marks.sort(key=lambda mark: mark.left)
        _keep_apart(row.marks)
    kept = list(rows.values())[:MAX_ROWS]
    return Timeline(kept, _ticks(end, by_time), by_time, len(rows) - len(kept), places)


def _place(value: int, end: int) -> float:
    return round(MARGIN + WIDTH * value / max(end, 1), 3)


def _keep_apart(marks: list[Mark]) -> None:
    """Show the marks, which are in order, near their places: a width apart, less only where there are too many."""
    last = len(marks) - 1
    apart = min(MARK_WIDTH, WIDTH / max(last, 1))
    # Half way between pushing all to the right and pushing all to the left, a crowd stands around its place.
    rightward, leftward = [mark.left for mark in marks], [mark.left for mark in marks]
    for nth in range(1, len(marks)):
        rightward[nth] = max(rightward[nth], rightward[nth - 1] + apart)
        leftward[last - nth] = min(leftward[last - nth], leftward[last - nth + 1] - apart)
    for nth, mark in enumerate(marks):
        middle = (rightward[nth] + leftward[nth]) / 2
        mark.shown = round(max(MARGIN + nth * apart, min(MARGIN + WIDTH - (last - nth) * apart, middle)), 3)


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
