"""A queue whose calls are steps, told with what the queue itself forgets: who holds a job, and what is done."""

import sys
from types import FrameType
from typing import Any

from lessons.recording import JobState, Place, QueueState, in_seconds, place


class WatchedQueue:
    """Wraps the methods of one queue and keeps what the queue itself forgets: who holds a job, and what is done."""

    def __init__(self, recorder: Any, queue: Any, name: str) -> None:
        self.recorder, self.queue, self.name = recorder, queue, name
        self.holders: dict[str, str] = {}
        self.ids: dict[str, str] = {}  # receipt -> job id
        self.done: list[JobState] = []
        self.enqueued = 0
        self.replayed = 0
        self._letters: list[object] = []  # ids of the dead at the last call: one missing was taken out by hand
        self._seen: dict[str, tuple[object, JobState]] = {}
        self._last: tuple[int, QueueState] | None = None
        self._methods: dict[str, Any] = {}
        for name in ("enqueue", "claim", "ack", "fail", "renew", "release", "replay"):
            if hasattr(queue, name):
                self._methods[name] = getattr(queue, name)
                setattr(queue, name, getattr(self, name))

    def enqueue(self, type: str, payload: Any, id: str | None = None) -> str:
        before, dead = self.queue.pending, len(self.queue.dead)
        taken_out = self._letters.count(id) > sum(letter.id == id for letter in self.queue.dead)
        who = self.recorder.actor
        try:
            id, inside = self._call("enqueue", type, payload, id)
        except ValueError as error:
            self._tell("refused", f"{who}'s enqueue is refused: {error}.", id, None)
            raise
        if self.queue.pending > before and taken_out:
            self.replayed += 1
            self._tell(
                "replay",
                f"{who} takes {id} out of the dead letters and enqueues it again, as if it were new.",
                id,
                inside,
            )
        elif self.queue.pending > before:
            self.enqueued += 1
            self._tell("enqueue", f"{who} enqueues {id} ({type}).", id, inside)
        else:
            where = "is among the dead letters" if dead and id not in self.queue.jobs else "is still known"
            if id in self.queue.jobs:
                where = "is still in the queue"
            self._tell("ignored", f"{who} enqueues {id} again; that id {where}, so the repeat is ignored.", id, inside)
        return id

    def claim(self) -> Any:
        dead = len(self.queue.dead)
        job, inside = self._call("claim")
        who = self.recorder.actor
        if job is not None:
            self.ids[job.receipt] = job.id
            self.holders[job.id] = who
            self.recorder.in_hand[who] = job.id
        for letter in list(self.queue.dead)[dead:]:
            self._tell(
                "dead",
                f"{letter.id} goes to the dead letters at {who}'s claim: its last lease is over "
                f"and all {letter.attempts} attempts are used up.",
                letter.id,
                inside,
            )
        if job is None:
            self._tell("idle", f"{who} asks for a job: {self._why_idle()}", None, inside)
        else:
            self._tell(
                "claim",
                f"{who} claims {job.id} ({job.type}): attempt {job.attempts}, "
                f"leased until t={in_seconds(job.leased_until_ms)}.",
                job.id,
                inside,
            )
        return job

    def ack(self, receipt: str) -> str:
        id = self.ids.get(receipt, receipt)
        job = self.queue.jobs.get(id)
        now_ms = self.recorder.now()
        holder = self._holder(job, now_ms)
        outcome, inside = self._call("ack", receipt)
        self._settled(id)
        who = self.recorder.actor
        if job is None or id in self.queue.jobs:
            sentence = (
                f"{who}'s ack of {id} comes too late and is refused: the lease was lost."
                if outcome == "lost"
                else f"{who} acks {id}, but the queue has no such job any more; it answers “{outcome}” all the same."
            )
            self._tell("lost" if outcome == "lost" else "ack", sentence, id, inside)
            return outcome
        self.done.append(JobState(id, job.type, "done", job.attempts, job.run_at_ms, 0, None, job.last_error))
        stale = f", although {holder} holds it now" if holder and holder != who else ""
        self._tell("ack", f"{who} acks {id}{stale}: it is done and leaves the queue.", id, inside)
        return outcome

    def fail(self, receipt: str, error: str, permanent: bool = False) -> str:
        id = self.ids.get(receipt, receipt)
        holder = self._holder(self.queue.jobs.get(id), self.recorder.now())
        dead = len(self.queue.dead)
        outcome, inside = self._call("fail", receipt, error, permanent)
        self._settled(id)
        who = self.recorder.actor
        stale = f" ({holder} holds it now)" if holder and holder != who else ""
        if outcome == "lost":
            self._tell("lost", f"{who}'s report on {id} comes too late and is refused: the lease was lost.", id, inside)
        elif outcome == "retry":
            job = self.queue.jobs[id]
            self._tell(
                "retry",
                f"{who} reports that {id} failed{stale}: attempt {job.attempts} of {self.queue.options.max_attempts}, "
                f"due again at t={in_seconds(job.run_at_ms)}.",
                id,
                inside,
                detail=error,
            )
        elif len(self.queue.dead) > dead:
            attempts = list(self.queue.dead)[-1].attempts
            why = (
                "the error is permanent, so no retry can help"
                if permanent
                else f"attempt {attempts} of {self.queue.options.max_attempts} was the last"
            )
            self._tell(
                "dead",
                f"{who} reports that {id} failed{stale}: {why}. It goes to the dead letters.",
                id,
                inside,
                detail=error,
            )
        else:
            self._tell(
                "fail",
                f"{who} reports that {id} failed, but the queue has no such job; it answers “dead” all the same.",
                id,
                inside,
                detail=error,
            )
        return outcome

    def renew(self, receipt: str) -> bool:
        id = self.ids.get(receipt, receipt)
        renewed, inside = self._call("renew", receipt)
        who = self.recorder.actor
        if renewed:
            until = in_seconds(self.queue.jobs[id].leased_until_ms)
            self._tell("renew", f"{who} renews its lease on {id}, now until t={until}.", id, inside)
        else:
            self._tell("lost", f"{who} cannot renew its lease on {id}: it was lost.", id, inside)
        return renewed

    def release(self, receipt: str) -> bool:
        id = self.ids.get(receipt, receipt)
        released, inside = self._call("release", receipt)
        self._settled(id)
        who = self.recorder.actor
        if released:
            self._tell("release", f"{who} gives {id} back unfinished; it is due at once.", id, inside)
        else:
            self._tell("lost", f"{who} cannot give {id} back: its lease was lost.", id, inside)
        return released

    def replay(self, id: str) -> bool:
        replayed, inside = self._call("replay", id)
        who = self.recorder.actor
        if replayed:
            self.replayed += 1
            self._tell(
                "replay", f"{who} replays {id} out of the dead letters with a new budget of attempts.", id, inside
            )
        else:
            self._tell("ignored", f"{who} asks to replay {id}, which is not among the dead letters.", id, inside)
        return replayed

    def state(self, now_ms: int) -> QueueState:
        if self._last is not None and self._last[0] == now_ms:  # neither a call nor the clock has changed anything
            return self._last[1]
        jobs = []
        for job in self.queue.jobs.values():
            leased = job.leased_until_ms > now_ms
            lane = "leased" if leased else "delayed" if job.run_at_ms > now_ms else "waiting"
            jobs.append(self._job_state(job, lane, self.holders.get(job.id) if leased else None))
        letters = [self._job_state(job, "dead", None) for job in self.queue.dead]
        self._last = now_ms, QueueState(self.name, (*jobs, *letters, *self.done), self.enqueued, self.replayed)
        return self._last[1]

    def due_between(self, before_ms: int, now_ms: int) -> list[Any]:
        return [job for job in self.queue.jobs.values() if before_ms < job.run_at_ms <= now_ms]

    def leases_ended_between(self, before_ms: int, now_ms: int) -> list[tuple[Any, str]]:
        return [
            (job, self.holders.get(job.id, "somebody"))
            for job in self.queue.jobs.values()
            if before_ms < job.leased_until_ms <= now_ms
        ]

    def _job_state(self, job: Any, lane: str, holder: str | None) -> JobState:
        # Most jobs have not changed since the last step; sharing their state is most of a long run's speed.
        now = (job.type, lane, job.attempts, job.run_at_ms, job.leased_until_ms, holder, job.last_error)
        before, state = self._seen.get(job.id, (None, None))
        if state is None or now != before:
            state = JobState(job.id, *now)
            self._seen[job.id] = now, state
        return state

    def _call(self, name: str, *args: Any) -> tuple[Any, Place | None]:
        """The method's answer, and the line on which it returned."""
        self._last = None
        method = self._methods[name]
        code, line = method.__func__.__code__, 0

        def note(frame: FrameType, event: str, _: object) -> None:
            nonlocal line
            if event == "return" and frame.f_code is code:
                line = frame.f_lineno

        # A function tells nobody which of its returns it took, except the profiler: so no hook is needed in it.
        outer = sys.getprofile()
        sys.setprofile(note)
        try:
            answer = method(*args)
        finally:
            sys.setprofile(outer if callable(outer) else None)  # cProfile's own object cannot be set again
        self._letters = [letter.id for letter in self.queue.dead]
        return answer, place(code.co_filename, line)

    def _holder(self, job: Any, now_ms: int) -> str | None:
        return self.holders.get(job.id) if job is not None and job.leased_until_ms > now_ms else None

    def _why_idle(self) -> str:
        jobs = list(self.queue.jobs.values())
        if not jobs:
            return "the queue is empty."
        next = min(jobs, key=lambda job: max(job.run_at_ms, job.leased_until_ms))
        holder = self._holder(next, self.recorder.now())
        why = f", when {holder}'s lease on {next.id} ends" if holder else ""
        return f"nothing is due before t={in_seconds(max(next.run_at_ms, next.leased_until_ms))}{why}."

    def _settled(self, id: str) -> None:
        if self.recorder.in_hand.get(self.recorder.actor) == id:
            del self.recorder.in_hand[self.recorder.actor]

    def _tell(self, kind: str, sentence: str, job: str | None, inside: Place | None, detail: str | None = None) -> None:
        self.recorder.step(kind, sentence, job=job, inside=inside, detail=detail)
