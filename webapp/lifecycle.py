"""The life of a job as a drawing of lanes and ways: which ways a job has gone, and which one it goes now."""

from dataclasses import dataclass

from lessons.recording import JobState, Recording, State, Step

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
# Steps that say the way themselves: no lane, or the clock, would tell it.
SAID = {"release": "release", "renew": "renew", "lease expired": "lease over"}
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
    befores = [None, *(one.state for one in steps)]
    ways = [_ways(before, one) for before, one in zip(befores, steps, strict=False)]
    named = [one.job for one in reversed(steps) if one.job is not None]
    job = step.job or next(iter([*ways[-1], *named]), None)
    # The end of a lease is told in a step of its own, after the one that moved the clock: it is gone once.
    told = [way[job] for way, one in zip(ways, steps, strict=True) if job in way and one.kind != "lease expired"]
    lane = next((found.lane for found in _jobs(step.state) if found.id == job), None)
    return Life(job, lane, tuple(told), ways[-1].get(job or "", ""))


def _jobs(state: State | None) -> tuple[JobState, ...]:
    return state.queues[0].jobs if state and state.queues else ()


def _ways(before: State | None, step: Step) -> dict[str, str]:
    """The way of each job that is in another lane after the step than before it, or whose lease is another."""
    if step.job and step.kind in SAID:
        return {step.job: SAID[step.kind]}
    # An id can be used again: the job that is in the queue comes first and counts.
    was = {job.id: job.lane for job in reversed(_jobs(before))}
    ways = {}
    for job in reversed(_jobs(step.state)):
        old = was.get(job.id)
        again = old == "done" or (old == "dead" and step.kind == "enqueue")
        ways[job.id] = "" if old == job.lane else WAYS.get((None if again else old, job.lane), "")
    return {id: way for id, way in ways.items() if way}
