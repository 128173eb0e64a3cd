"""What can be done next by hand, how the other queue takes the same operations, and goals to reach."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from lessons.recorder import record
from lessons.recording import LANES, JobState, Recording, State, Step, in_seconds
from lessons.s02_job_queue.demo import MOST_OPERATIONS, NOTHING, TYPES, Params, run

WORKERS = ("A", "B")
SETTLES = {"ack", "fail", "crash", "release"}
NO_JOB = "It has no job in hand."
FULL = f"{MOST_OPERATIONS} operations are the most: undo some or start again."


@dataclass(frozen=True)
class Button:
    """`params` is the run that it leads to, None when it cannot be used now; then `reason` says why."""

    id: str
    label: str
    params: Params | None
    note: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Menu:
    """One field with several values to choose from."""

    field: str
    label: str
    button: str
    options: tuple[tuple[str, str], ...]  # (value, words)


@dataclass(frozen=True)
class Group:
    """`actor` is who would do what the labels say, where they leave that open."""

    id: str
    title: str
    status: str
    buttons: tuple[Button, ...]
    menu: Menu | None = None
    actor: str = ""


@dataclass(frozen=True)
class Move:
    """An operation as it was done: its steps, of which the last one has the printed line."""

    op: str
    steps: tuple[Step, ...]
    before: State

    @property
    def verb(self) -> str:
        return self.op.split(".")[0]

    @property
    def actor(self) -> str:
        return self.last.actor

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def job(self) -> str | None:
        return self.last.job


@dataclass(frozen=True)
class Goal:
    """`id` is what a learner's progress keeps of it, so it stays as it is."""

    id: str
    title: str
    check: Callable[[Params, tuple[Move, ...]], bool]
    hint: str
    solution: Params
    reached: bool = False


@dataclass(frozen=True)
class Difference:
    """What comes out in another way: `here` on the queue of this run, `there` on the other one."""

    what: str
    here: str
    there: str


@dataclass(frozen=True)
class Comparison:
    here: str
    there: str
    params: Params
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Controls:
    """`choices` are (words, run, whether it is this one)."""

    status: str
    choices: tuple[tuple[str, Params, bool], ...]
    groups: tuple[Group, ...]
    moves: tuple[Move, ...]
    goals: tuple[Goal, ...]
    comparison: Comparison


def controls(p: Params, recording: Recording) -> Controls:
    """All that the page needs to drive this run on."""
    done = moves(p, recording)
    last = recording.steps[-1]
    (queue,) = last.state.queues
    lanes = ", ".join(f"{queue.count(lane)} {lane}" for lane in LANES if queue.count(lane))
    return Controls(
        f"t = {in_seconds(last.at_ms)}: {lanes or 'the queue is empty'}",
        tuple((words, replace(p, queue=name), name == p.queue) for name, words in QUEUES.items()),
        (producer(p, last.state), *(worker(p, last, done, name) for name in WORKERS), clock(p, last), session(p, last)),
        done,
        tuple(replace(goal, reached=goal.check(p, done)) for goal in GOALS),
        comparison(p, recording),
    )


QUEUES = {"lesson": "The lesson's queue", "hardened": "The hardened queue"}


def moves(p: Params, recording: Recording) -> tuple[Move, ...]:
    """The operations with their steps. Each ends with the step that has its line; the first step is before them all."""
    found: list[Move] = []
    first, *steps = recording.steps
    before, taken = first.state, list[Step]()
    for step in steps:
        taken.append(step)
        if step.printed is not None:
            found.append(Move(p.operations[len(found)], tuple(taken), before))
            before, taken = step.state, []
    return tuple(found)


# What can be done next


def producer(p: Params, state: State) -> Group:
    known = list(dict.fromkeys(job.id for job in state.queues[0].jobs))[:6]
    fresh = next(id for id in (f"order-{number}" for number in range(1, 100)) if id not in known)
    options = [
        (_more(p, f"enqueue.{kind}.{id}").ops, f"{id}, {type}{'' if id == fresh else ', again'}")
        for id in (*known, fresh)
        for kind, type in TYPES.items()
    ]
    return Group(
        "producer",
        "The checkout",
        "It adds jobs.",
        (
            _button(p, "enqueue-receipt", "Enqueue a receipt", "enqueue"),
            _button(p, "enqueue-invoice", "Enqueue an invoice", "enqueue.invoice"),
        ),
        Menu("ops", "With a given id", "Enqueue", () if _is_full(p) else tuple(options)),
    )


def worker(p: Params, last: Step, done: tuple[Move, ...], name: str) -> Group:
    claim = in_hand(done, name)
    idle = "" if claim else NO_JOB
    busy = f"at work on {claim.job}." if claim else ""
    lacks = "only the hardened queue has these." if p.queue == "lesson" else idle
    return Group(
        f"worker-{name.lower()}",
        f"Worker {name}",
        _belief(claim, last, f"worker {name}"),
        tuple(
            _button(p, f"{verb}{how.replace('.', '-')}-{name.lower()}", label, f"{verb}.{name}{how}", reason)
            for verb, how, label, reason in (
                ("claim", "", "Claim", busy),
                ("ack", "", "Ack", idle),
                ("fail", "", "Fail", idle),
                ("fail", ".permanent", "Fail permanently", idle),
                ("crash", "", "Crash", idle),
                ("renew", "", "Renew", lacks),
                ("release", "", "Release", lacks),
            )
        ),
        actor=f"worker {name}",
    )


def in_hand(done: tuple[Move, ...], name: str) -> Step | None:
    """The claim of the job that a worker believes it holds; its lease may long be over."""
    claim = None
    for move in done:
        verb, _, rest = move.op.partition(".")
        if rest.split(".")[0] == name and move.last.kind != "idle":
            if verb == "claim" and move.last.kind == "claim":
                claim = move.last
            elif verb in SETTLES:
                claim = None
    return claim


def _belief(claim: Step | None, last: Step, who: str) -> str:
    if claim is None:
        return NO_JOB
    job = _job(last.state, claim.job)
    if job.lane == "leased" and job.holder == who:
        return f"It holds {job.id}, attempt {job.attempts}, until t={in_seconds(job.leased_until_ms)}."
    now = f"{job.holder} holds it now" if job.lane == "leased" else f"the job is {job.lane} now"
    return f"It believes that it holds {job.id}. In truth {now}."


def clock(p: Params, last: Step) -> Group:
    now, jobs = last.at_ms, last.state.queues[0].jobs
    due_ms, due = min(((job.run_at_ms, job.id) for job in jobs if job.lane == "delayed"), default=(now, ""))
    end_ms, leased = min(((job.leased_until_ms, job.id) for job in jobs if job.lane == "leased"), default=(now, ""))
    no_lease = "" if leased else "no job is leased."
    too_late = "the lease ends in 1 ms." if end_ms - 1 <= now else ""

    def to(id: str, label: str, at_ms: int, words: str = "", reason: str = "") -> Button:
        return _button(p, id, label, f"advance.{at_ms - now}", reason, f"to t={in_seconds(at_ms)}{words}")

    buttons = (
        to("second", "+1 s", now + 1_000),
        to("due", "To the next due time", due_ms, f": {due} is due", "" if due else "no job is delayed."),
        to("lease", "To the end of the next lease", end_ms, f": lease of {leased} ends", no_lease),
        to("early", "To 1 ms before that", end_ms - 1, f": {leased} is still hidden", no_lease or too_late),
    )
    return Group("clock", "The clock", f"It stands at t={in_seconds(now)}.", buttons)


def session(p: Params, last: Step) -> Group:
    done = p.operations
    letters = list(dict.fromkeys(job.id for job in last.state.queues[0].jobs if job.lane == "dead"))
    by_hand = "" if p.queue == "hardened" else "by hand, as a new job"
    replays = [_button(p, f"replay-{id}", f"Replay {id}", f"replay.{id}", note=by_hand) for id in letters[:4]]
    undo = replace(p, ops=" ".join(done[:-1]) or NOTHING)
    nothing = "" if done else "nothing has been done."
    return Group(
        "session",
        "Dead letters and session",
        f"{len(done)} of {MOST_OPERATIONS} operations.",
        (
            *(replays or [Button("replay", "Replay", None, reason="there is no dead letter.")]),
            _to("undo", "Undo", undo, nothing, f"takes back {' '.join(done[-1:])}"),
            _to("again", "Start again", replace(p, ops=NOTHING), nothing, "with an empty queue"),
        ),
    )


def _button(p: Params, id: str, label: str, op: str, reason: str = "", note: str = "") -> Button:
    return _to(id, label, _more(p, op), FULL if _is_full(p) else reason, note)


def _to(id: str, label: str, params: Params, reason: str, note: str) -> Button:
    return Button(id, label, None if reason else params, "" if reason else note, reason)


def _more(p: Params, op: str) -> Params:
    return replace(p, ops=" ".join([*p.operations, op]))


def _is_full(p: Params) -> bool:
    return len(p.operations) >= MOST_OPERATIONS


def _job(state: State, id: str | None) -> JobState:
    """The job of that id that is in the queue; else a dead or done one."""
    return next(job for job in state.queues[0].jobs if job.id == id)


# The same operations on the other queue


def comparison(p: Params, recording: Recording) -> Comparison:
    other = replace(p, queue="hardened" if p.queue == "lesson" else "lesson")
    there = record(run, other)
    found = [
        Difference(f"{number}. {op}", _answer(mine), _answer(theirs))
        for number, (op, mine, theirs) in enumerate(
            zip(p.operations, recording.printed[1:], there.printed[1:], strict=True), start=1
        )
        if mine != theirs
    ]
    ends = [_ends(recording), _ends(there)]
    for what in dict.fromkeys([*ends[0], *ends[1]]):
        mine, theirs = (end.get(what, "not at all") for end in ends)
        if mine != theirs:
            found.append(Difference(f"In the end: {what}", mine, theirs))
    return Comparison(QUEUES[p.queue], QUEUES[other.queue], other, tuple(found))


def _answer(line: str) -> str:
    return line.partition(" ")[2]  # all but the time, which is the same


def _ends(recording: Recording) -> dict[str, str]:
    state = recording.steps[-1].state
    ends: dict[str, str] = {}
    for job in state.queues[0].jobs:
        error = f" ({job.last_error})" if job.lane == "dead" else ""
        words = f"{job.lane}, attempt {job.attempts}{error}"
        ends[job.id] = f"{ends[job.id]}; {words}" if job.id in ends else words
    effects = [effect.what for effect in state.effects]
    return ends | {what: f"{effects.count(what)} time{'s' if effects.count(what) > 1 else ''}" for what in effects}


# Goals: each is checked on the moves of the run


def delivered_twice_without_a_crash(p: Params, done: tuple[Move, ...]) -> bool:
    """A job is claimed again although whoever had it neither crashed nor said a word."""
    at_work = set[str | None]()
    for move in done:
        if move.verb == "claim" and move.last.kind == "claim":
            if move.job in at_work:
                return True
            at_work.add(move.job)
        elif move.verb in SETTLES:
            at_work.discard(move.job)
    return False


def dead_in_the_fewest_operations(p: Params, done: tuple[Move, ...]) -> bool:
    return len(done) == 3 and done[-1].last.state.queues[0].count("dead") == 1


def stale_acks(done: tuple[Move, ...], kind: str) -> Iterator[tuple[Move, Move]]:
    """(an ack of a job that somebody else holds, a later report of that holder's failure)."""
    for number, move in enumerate(done):
        if move.verb != "ack" or move.last.kind != kind or move.job is None:
            continue
        holder = next((job.holder for job in move.before.queues[0].jobs if job.id == move.job), None)
        if holder in (None, move.actor):
            continue
        for later in done[number + 1 :]:
            if later.verb == "fail" and (later.actor, later.job) == (holder, move.job):
                yield move, later
                break


def stale_ack_loses_a_job(p: Params, done: tuple[Move, ...]) -> bool:
    return any(report.last.kind == "fail" for _, report in stale_acks(done, "ack"))


def stale_ack_is_refused(p: Params, done: tuple[Move, ...]) -> bool:
    return any(report.last.kind in ("retry", "dead") for _, report in stale_acks(done, "lost"))


def more_deliveries_than_allowed(p: Params, done: tuple[Move, ...]) -> bool:
    crashed = [move.job for move in done if move.verb == "crash"]
    return any(
        move.last.kind == "claim"
        and crashed.count(move.job) >= p.max_attempts
        and _job(move.last.state, move.job).attempts > p.max_attempts
        for move in done
    )


def crashes_end_in_the_dead_letters(p: Params, done: tuple[Move, ...]) -> bool:
    crashed = [move.job for move in done if move.verb == "crash"]
    return any(
        step.kind == "dead" and crashed.count(step.job) >= p.max_attempts
        for move in done
        if move.verb == "claim"
        for step in move.steps
    )


def one_delivery_outlasts_its_lease(p: Params, done: tuple[Move, ...]) -> bool:
    """A job that is renewed, done after its first lease would have ended, and was nobody else's in between."""
    claimed = dict[str | None, int]()
    renewed = set[str | None]()
    for move in done:
        if move.last.kind == "claim":
            claimed[move.job] = move.last.at_ms
            renewed.discard(move.job)
        elif move.last.kind == "renew":
            renewed.add(move.job)
        elif move.last.kind == "ack" and move.job in renewed:
            attempts = _job(move.before, move.job).attempts
            if attempts == 1 and move.last.at_ms - claimed[move.job] > p.visibility_ms:
                return True
    return False


STALE_ACK = "enqueue claim.A advance.30000 claim.B ack.A fail.B"
CRASHES = "enqueue" + " claim.A crash.A advance.30000" * 3 + " claim.A"

GOALS = (
    Goal(
        "delivered-twice",
        "Deliver a job twice, and nobody crashes.",
        delivered_twice_without_a_crash,
        "A worker can also be slow. Whoever has a lease that is over still works on.",
        Params(ops="enqueue claim.A advance.30000 claim.B"),
    ),
    Goal(
        "dead-in-three",
        "Get a job into the dead letters in the fewest operations.",
        dead_in_the_fewest_operations,
        "Not every error is worth another attempt. Three operations are enough.",
        Params(ops="enqueue claim.A fail.A.permanent"),
    ),
    Goal(
        "late-ack-loses-a-job",
        "Let a late ack remove a job: its new holder fails, and there is no retry and no dead letter.",
        stale_ack_loses_a_job,
        "Let worker A keep silent until worker B has the job. Then A acks before B fails.",
        Params(ops=STALE_ACK),
    ),
    Goal(
        "late-ack-refused",
        "Try the same on the hardened queue, and see the late ack refused.",
        stale_ack_is_refused,
        "Take the same operations and choose the other queue.",
        Params(ops=STALE_ACK, queue="hardened"),
    ),
    Goal(
        "past-the-limit",
        "Hand a job out more often than max attempts allows, by crashes alone.",
        more_deliveries_than_allowed,
        "The lesson's queue looks at the limit only when somebody reports a failure. A crash reports nothing.",
        Params(ops=CRASHES),
    ),
    Goal(
        "crashes-are-buried",
        "Let a job that only crashes end in the dead letters.",
        crashes_end_in_the_dead_letters,
        "The hardened queue looks at the limit at the claim, too.",
        Params(ops=CRASHES, queue="hardened"),
    ),
    Goal(
        "lease-renewed",
        "Work for longer than the lease, and be the only one who had the job.",
        one_delivery_outlasts_its_lease,
        "The hardened queue lets a worker renew its lease before it is over.",
        Params(ops="enqueue claim.A advance.20000 renew.A advance.20000 claim.B ack.A", queue="hardened"),
    ),
)
