"""A run, observed: every operation of a program becomes a Step, and a Recording is the list of them.

The programs and the reference implementation know nothing of steps. A program hands its clock, queues and
database connection to a Recorder to watch, and says aloud only what code cannot show: what it prints,
what reaches the outside world, who is acting, who crashes.
"""

import hashlib
import re
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice, zip_longest
from pathlib import Path
from types import FrameType
from typing import Any

STEP_LIMIT = 1_500
LANES = ("waiting", "delayed", "leased", "dead", "done")
LESSONS = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the lesson's source. `file` is relative to the folder of the lessons."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the queue has it after a step. `lane` is one of LANES."""

    id: str
    type: str
    lane: str
    attempts: int
    run_at_ms: int
    leased_until_ms: int
    holder: str | None
    last_error: str | None


@dataclass(frozen=True, slots=True)
class QueueState:
    """All jobs a queue ever accepted: those in it, then the dead, then the done."""

    name: str
    jobs: tuple[JobState, ...]
    enqueued: int
    replayed: int

    def count(self, lane: str) -> int:
        return sum(job.lane == lane for job in self.jobs)

    @property
    def balanced(self) -> bool:
        """Whether nothing is lost: each job that was enqueued is in one lane. A replay only moves a dead one."""
        return self.enqueued == len(self.jobs)


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that reached the outside world and cannot be taken back."""

    at_ms: int
    target: str
    what: str


@dataclass(frozen=True, slots=True)
class State:
    queues: tuple[QueueState, ...] = ()
    tables: tuple[Table, ...] = ()
    effects: tuple[Effect, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One operation and the state after it. `number` counts from 1; `calls` leads from the program to the line."""

    number: int
    at_ms: int
    actor: str
    kind: str
    sentence: str
    printed: str | None
    detail: str | None
    job: str | None
    calls: tuple[Place, ...]
    state: State

    @property
    def place(self) -> Place | None:
        """The line that did it."""
        return self.calls[-1] if self.calls else None


@dataclass(frozen=True)
class Recording:
    steps: tuple[Step, ...]
    limit_reached: bool = False

    @property
    def printed(self) -> list[str]:
        """The printed lines alone."""
        return [step.printed for step in self.steps if step.printed is not None]

    @cached_property
    def version(self) -> str:
        """A short digest of what was told: the same run has the same version."""
        return hashlib.sha256(as_text(self, steps=True).encode()).hexdigest()[:8]


class Crash(BaseException):
    """A process died. Not an Exception: no handler of the dead process may catch it."""


class StepLimitReached(BaseException):
    """The run has as many steps as a recording may hold."""


def record(run: Callable[[Any, "Recorder"], None], params: Any, step_limit: int = STEP_LIMIT) -> Recording:
    """Run a program and return its Recording; one that never ends is cut off with a last step that says so."""
    recorder = Recorder(step_limit)
    try:
        run(params, recorder)
    except StepLimitReached:
        return Recording(tuple(recorder.steps), limit_reached=True)
    finally:
        recorder.close()
    return Recording(tuple(recorder.steps))


def as_text(recording: Recording, steps: bool = False) -> str:
    """The printed lines; with `steps` the sentence of each step, and what it printed below it.

    A run that was cut off says so at the end.
    """
    if not steps:
        cut_off = [recording.steps[-1].sentence] if recording.limit_reached else []
        return "".join(line + "\n" for line in [*recording.printed, *cut_off])
    lines = []
    for step in recording.steps:
        lines.append(f"{step.number:>4}  t={in_seconds(step.at_ms)}  {step.sentence}")
        lines += [f"      > {line}" for line in (step.printed or "").splitlines() if step.printed is not None]
    return "".join(line + "\n" for line in lines)


def in_seconds(ms: int) -> str:
    """500 is "0.5s", 30_000 is "30s"."""
    return f"{ms / 1_000:.3f}".rstrip("0").rstrip(".") + "s"


class Recorder:
    """What a program is given to be watched with. All methods that record take the time from the watched clock."""

    def __init__(self, step_limit: int = STEP_LIMIT) -> None:
        self.steps: list[Step] = []
        self._step_limit = step_limit
        self._now: Callable[[], int] = lambda: 0
        self._actors = ["the program"]
        self._queues: list[_WatchedQueue] = []
        self._database: WatchedConnection | None = None
        self._effects: tuple[Effect, ...] = ()
        self._idle_from_ms: int | None = None
        self._doing: str | None = None
        self._in_hand: dict[str, str] = {}  # actor -> the job it works on

    # What a program says

    def print(self, line: str) -> None:
        """A line of the program's output."""
        words = line.strip() if len(line) <= 200 else line[:199].strip() + "…"
        self.step("print", f"{self.actor} prints: {words}", printed=line)

    def also_print(self, line: str) -> None:
        """A line of output that tells the last step: it belongs to that step and makes none of its own."""
        self.steps[-1] = replace(self.steps[-1], printed=line)

    def effect(self, target: str, what: str, sentence: str = "") -> None:
        """Something happens outside that nobody can undo, such as a receipt that is sent."""
        self._effects += (Effect(self._now(), target, what),)
        self.step("effect", sentence or f"{_capital(target)}: {what}.", job=self._in_hand.get(self.actor))

    def crash(self, sentence: str) -> None:
        """The actor's process dies here: the rest of its `acting` block does not happen."""
        self.step("crash", sentence, job=self._in_hand.pop(self.actor, None))
        raise Crash(sentence)

    @contextmanager
    def acting(self, actor: str) -> Iterator[None]:
        """Who does what happens in this block. A crash ends the block and goes no further."""
        self._actors.append(actor)
        try:
            yield
        except Crash:
            pass
        finally:
            self._actors.pop()

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """What the actor does while the clock moves in this block: "renders the invoice"."""
        self._doing = what
        try:
            yield
        finally:
            self._doing = None

    @property
    def actor(self) -> str:
        """Who acts at the moment."""
        return self._actors[-1]

    # What a program lets be watched

    def watch_clock(self, clock: Any) -> Any:
        """The same clock; each `advance` is a step, and so is each lease that ends on the way."""
        self._now, advance = clock.now, clock.advance

        def watched(ms: int) -> None:
            before_ms = self._now()
            advance(ms)
            if ms:
                self._moved(before_ms, self._now())

        clock.advance = watched
        return clock

    def watch_queue(self, queue: Any, name: str = "jobs") -> Any:
        """The same queue; each call of its methods is a step."""
        self._queues.append(_WatchedQueue(self, queue, name))
        return queue

    def connect(self) -> "WatchedConnection":
        """A new SQLite database in memory, in autocommit mode; each statement is a step."""
        self._database = sqlite3.connect(":memory:", isolation_level=None, factory=WatchedConnection)
        self._database.recorder = self
        return self._database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def step(
        self,
        kind: str,
        sentence: str,
        *,
        printed: str | None = None,
        detail: str | None = None,
        job: str | None = None,
        inside: Place | None = None,
    ) -> None:
        """Add one step, with the state as it is now."""
        if len(self.steps) == self._step_limit - 1:
            kind, printed, detail, job, inside = "limit", None, None, None, None
            sentence = f"The run is cut off here: it has reached the limit of {self._step_limit:,} steps."
        calls = _calls(sys._getframe(1))
        now_ms = self._now()
        self.steps.append(
            Step(
                number=len(self.steps) + 1,
                at_ms=now_ms,
                actor=self.actor,
                kind=kind,
                sentence=_capital(sentence),
                printed=printed,
                detail=detail,
                job=job,
                calls=(*calls, inside) if inside else calls,
                state=State(
                    tuple(queue.state(now_ms) for queue in self._queues),
                    self._database.tables if self._database is not None else (),
                    self._effects,
                ),
            )
        )
        if kind == "limit":
            raise StepLimitReached

    def _moved(self, before_ms: int, now_ms: int) -> None:
        # A program that looks at its queues once a second for an hour would bury what matters under
        # thousands of steps: looks that found nothing, and the moves between them, become one move.
        looks = 0
        # A look that printed a line is told by it and stays.
        while looks < len(self.steps) and (look := self.steps[-1 - looks]).kind == "idle" and look.printed is None:
            looks += 1
        idle = ""
        if looks and looks < len(self.steps) and self.steps[-1 - looks].kind == "advance":
            del self.steps[-1 - looks :]
            assert self._idle_from_ms is not None
            before_ms = self._idle_from_ms
            idle = " On the way every look at the queue found nothing due."
        self._idle_from_ms = before_ms
        due = [job.id for queue in self._queues for job in queue.due_between(before_ms, now_ms)]
        again = f" {_listed(due)} {'is' if len(due) == 1 else 'are'} due again." if due else ""
        moves = f"the clock moves on {in_seconds(now_ms - before_ms)}, to t={in_seconds(now_ms)}.{idle}{again}"
        self.step("advance", f"{self.actor} {self._doing}: {moves}" if self._doing else moves)
        for queue in self._queues:
            for job, holder in queue.leases_ended_between(before_ms, now_ms):
                self.step(
                    "lease expired",
                    f"{holder}'s lease on {job.id} ended at t={in_seconds(job.leased_until_ms)} without an ack "
                    "or a fail: the job is visible again.",
                    job=job.id,
                )


class _WatchedQueue:
    """Wraps the methods of one queue and keeps what the queue itself forgets: who holds a job, and what is done."""

    def __init__(self, recorder: Recorder, queue: Any, name: str) -> None:
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
            self.recorder._in_hand[who] = job.id
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
        now_ms = self.recorder._now()
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
        holder = self._holder(self.queue.jobs.get(id), self.recorder._now())
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
        file = _file(code.co_filename)
        return answer, Place(file, line) if file else None

    def _holder(self, job: Any, now_ms: int) -> str | None:
        return self.holders.get(job.id) if job is not None and job.leased_until_ms > now_ms else None

    def _why_idle(self) -> str:
        jobs = list(self.queue.jobs.values())
        if not jobs:
            return "the queue is empty."
        next_ms = min(max(job.run_at_ms, job.leased_until_ms) for job in jobs)
        return f"nothing is due before t={in_seconds(next_ms)}."

    def _settled(self, id: str) -> None:
        if self.recorder._in_hand.get(self.recorder.actor) == id:
            del self.recorder._in_hand[self.recorder.actor]

    def _tell(self, kind: str, sentence: str, job: str | None, inside: Place | None, detail: str | None = None) -> None:
        self.recorder.step(kind, sentence, job=job, inside=inside, detail=detail)


class WatchedConnection(sqlite3.Connection):
    """An SQLite connection each of whose statements is a step; `kill_after` makes one of them the process's last."""

    recorder: Recorder
    tables: tuple[Table, ...] = ()
    _fatal: tuple[str, str] | None = None
    _changes_at_begin = 0

    def kill_after(self, statement: str, sentence: str) -> None:
        """Crash right after the next statement that begins with these words."""
        self._fatal = (statement, sentence)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        who, shown, verb = self.recorder.actor, _shown(sql, parameters), sql.split(maxsplit=1)[0].upper()
        if verb == "BEGIN":
            self._changes_at_begin = self.total_changes
        try:
            cursor = self.cursor(_ReadCursor).execute(sql, parameters)
        except sqlite3.Error as error:
            self.recorder.step("sql", f"the database refuses {who}'s statement: {error}.", detail=shown)
            raise
        if verb not in ("SELECT", "BEGIN", "COMMIT"):
            self._read_tables(_table_written(sql))
        if verb == "COMMIT" and self.total_changes == self._changes_at_begin:
            sentence = f"{who} commits the transaction, in which nothing was written."
        else:
            sentence = _what_sql_did(who, sql, cursor.rowcount)
        # A process that died rolls nothing back: the database does, when it sees that its client is gone.
        with self.recorder.acting("the database" if verb == "ROLLBACK" else who):
            self.recorder.step("sql", sentence, detail=shown)
        if self._fatal and " ".join(sql.split()).startswith(self._fatal[0]):
            sentence, self._fatal = self._fatal[1], None
            self.recorder.crash(sentence)
        return cursor

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        cursor = super().executescript(script)
        self._read_tables()
        names = _listed([table.name for table in self.tables])
        self.recorder.step("sql", f"the database is set up, with the tables {names}.", detail=_shown(script, ()))
        return cursor

    def _read_tables(self, only: str | None = None) -> None:
        def read(sql: str) -> sqlite3.Cursor:
            cursor = self.cursor()
            cursor.row_factory = None
            return cursor.execute(sql)

        before = {table.name: table for table in self.tables}
        if only not in before:
            names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
            before = {name: before.get(name, Table(name, (), ())) for (name,) in read(names)}
        for name in before if only not in before else [only]:
            rows = read(f'SELECT * FROM "{name}" ORDER BY rowid')
            columns = tuple(column[0] for column in rows.description)
            # Steps share what did not change: a table of 150 rows that is written 150 times is long otherwise.
            pairs = zip_longest(before[name].rows, rows.fetchall())
            before[name] = Table(name, columns, tuple(old if old == new else new for old, new in pairs if new))
        self.tables = tuple(before.values())


class _ReadCursor(sqlite3.Cursor):
    """A cursor that has read its whole answer: before that SQLite does not say how many rows RETURNING changed."""

    def execute(self, sql: str, parameters: Any = (), /) -> "_ReadCursor":
        super().execute(sql, parameters)
        self._answer = iter(super().fetchall())
        return self

    def fetchone(self) -> Any:
        return next(self._answer, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return list(islice(self._answer, self.arraysize if size is None else size))

    def fetchall(self) -> list[Any]:
        return list(self._answer)

    def __iter__(self) -> "_ReadCursor":
        return self

    def __next__(self) -> Any:
        return next(self._answer)


def _table_written(sql: str) -> str | None:
    """The one table that a statement can have changed; None when it may be any."""
    words = sql.split(maxsplit=3)
    match [word.upper() for word in words[:2]]:
        case ["INSERT", "INTO"] | ["DELETE", "FROM"]:
            return words[2]
        case ["UPDATE", _]:
            return words[1]
        case _:
            return None


def _what_sql_did(who: str, sql: str, rows: int) -> str:
    words = sql.split()
    match [word.upper() for word in words[:3]]:
        case ["BEGIN", *_]:
            return f"{who} begins a transaction."
        case ["COMMIT", *_]:
            return f"{who} commits the transaction: all of it counts from now on."
        case ["ROLLBACK", *_]:
            return "the transaction is rolled back: nothing of it happened."
        case ["INSERT", "INTO", *_] if rows:
            return f"{who} writes {_rows(rows)} into {words[2]}."
        case ["INSERT", "INTO", *_]:
            return f"{who} writes nothing into {words[2]}: the row is there already."
        case ["UPDATE", *_]:
            columns = re.findall(r"(\w+) = ", sql.partition("SET ")[2].partition("WHERE")[0])
            return f"{who} sets {_listed(columns)} in {_rows(rows)} of {words[1]}."
        case ["DELETE", "FROM", *_]:
            return f"{who} deletes {_rows(rows)} of {words[2]}."
        case ["SELECT", *_] if "FROM" in words[:-1]:
            return f"{who} reads {words[words.index('FROM') + 1]}."
        case _:
            return f"{who} asks the database."


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows" if count > 0 else "no row"


def _shown(sql: str, parameters: Any) -> str:
    values = ", ".join(map(repr, parameters.values() if isinstance(parameters, dict) else parameters))
    lines = [line.rstrip() for line in sql.strip().splitlines()]
    indent = min((len(line) - len(line.lstrip()) for line in lines[1:] if line), default=0)
    text = "\n".join([lines[0], *(line[indent:] for line in lines[1:])]) if lines else ""
    return f"{text}\n-- with {values}" if values else text


def _calls(frame: FrameType | None) -> tuple[Place, ...]:
    places = []
    while frame is not None and frame.f_code is not record.__code__:
        file = _file(frame.f_code.co_filename)
        if file:
            places.append(Place(file, frame.f_lineno))
        frame = frame.f_back
    return tuple(reversed(places))


@cache
def _file(filename: str) -> str | None:
    """The file as the lesson names it, or None for one that learners are not shown."""
    path = Path(filename).resolve()
    inside = path.is_relative_to(LESSONS) and path.parent != LESSONS
    return path.relative_to(LESSONS).as_posix() if inside else None


def _listed(names: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"; a long list is cut."""
    if len(names) > 5:
        return f"{', '.join(names[:4])} and {len(names) - 4} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
