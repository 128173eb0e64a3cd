"""The life of a job as a drawing of lanes and ways: which ways a job has gone, and which one it goes now."""

from dataclasses import dataclass

from lessons.recording import LANES, JobState, Recording, Step

# The way from one lane to another; None is outside the queue.
WAYS = {
    (None, "waiting"): "enqueue",
    ("waiting", "leased"): "claim",
    ("leased", "done"): "ack",
    ("waiting", "done"): "ack",
    ("delayed", "done"): "ack",
    ("leased", "delayed"): "retry",
    ("waiting", "delayed"): "retry",
    ("leased", "dead"): "dead",
    ("waiting", "dead"): "dead",
    ("delayed", "dead"): "dead",
    ("leased", "waiting"): "lease over",
    ("delayed", "waiting"): "due",
    ("dead", "waiting"): "replay",
}
WORDS = {
    "enqueue": "enqueued",
    "claim": "claimed",
    "ack": "acked",
    "retry": "failed, to be tried again",
    "dead": "given up",
    "lease over": "its lease ended",
    "release": "given back",
    "renew": "lease renewed",
    "due": "due again",
    "replay": "replayed",
}


@dataclass(frozen=True)
class Life:
    """A job's way so far. `now` is the way that it goes in this step, "" when it stays where it is."""

    job: str | None
    lane: str | None
    gone: tuple[str, ...]
    now: str

    @property
    def told(self) -> str:
        """The same in words."""
        if self.job is None or self.lane is None:
            return "No job is in the queue yet."
        words = ", ".join(WORDS[way] for way in self.gone)
        end = f"In this step: {WORDS[self.now]}." if self.now else "In this step it stays where it is."
        return f"{self.job} is {self.lane}. Its way: {words}. {end}"


def life(recording: Recording, step: Step) -> Life:
    """The life of the job that a step is about; of the last one that was spoken of when it is about none."""
    steps = recording.steps[: step.number]
    moved = [id for id, _ in _lanes(steps[-2].state if len(steps) > 1 else None, step)]
    named = [one.job for one in reversed(steps) if one.job is not None]
    job = step.job or next(iter(moved or named), None)
    gone: list[str] = []
    now = ""
    before = None
    for one in steps:
        now = next((way for id, way in _lanes(before, one) if id == job), "")
        if one.kind == "renew" and one.job == job:
            now = "renew"
        if one.kind == "lease expired" and one.job == job:
            now = "lease over"  # told in a step of its own, after the one that moved the clock
        elif now:
            gone.append("release" if one.kind == "release" else now)
        before = one.state
    if step.kind == "release" and now:
        now = "release"
    here = {found.id: found for found in reversed(_jobs(step.state))}
    lane = here[job].lane if job in here else None
    return Life(job, lane if lane in LANES else None, tuple(gone), now)


def _jobs(state: object) -> tuple[JobState, ...]:
    queues = getattr(state, "queues", ())
    return queues[0].jobs if queues else ()


def _lanes(before: object, step: Step) -> list[tuple[str, str]]:
    """(job, way) for each job that is in another lane after the step than before it."""
    # An id can be used again: the job that is in the queue comes first and counts.
    was = {job.id: job.lane for job in reversed(_jobs(before))}
    now = {job.id: job.lane for job in reversed(_jobs(step.state))}
    found = []
    for id, lane in now.items():
        old = was.get(id)
        if old == lane:
            continue
        way = WAYS.get((None if old == "done" or (old == "dead" and step.kind == "enqueue") else old, lane))
        if way:
            found.append((id, way))
    return found
