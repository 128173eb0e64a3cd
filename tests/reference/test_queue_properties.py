"""Random operations in random order: what holds for every one of them."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue, IdConflict
from lessons.reference.job_queue import JobQueue, QueueOptions

VISIBILITY_MS = 30
OPTIONS = QueueOptions(3, VISIBILITY_MS, backoff=lambda attempt: 10 * attempt)

patient = settings(deadline=None)  # a busy machine is no failure

moves = st.tuples(st.just("advance"), st.sampled_from([0, 1, 9, 10, 20, 29, 30, 31, 100]))
claims = st.just(("claim",))
which = st.integers(0, 20)
"""Which of the receipts or held jobs an operation is about, modulo how many there are."""


# The hardened queue does what a simple one does that looks at every job each time.


@dataclass
class ModelJob:
    id: str
    type: str
    payload: dict
    run_at_ms: int
    attempts: int = 0
    leased_until_ms: int = 0
    last_error: str | None = None
    receipt: str | None = None
    replays: int = 0


class ModelQueue:
    """The rules of the hardened queue, with nothing in it that is fast or safe."""

    def __init__(self, clock, options, remember_ms):
        self.clock, self.options, self.remember_ms = clock, options, remember_ms
        self.in_queue, self.dead, self.done = [], [], []
        self.forget_at_ms = {}
        self.numbers = self.receipts = 0

    def enqueue(self, type, payload, id=None):
        now = self.clock.now()
        self.done = [job for job in self.done if self.forget_at_ms[job.id] > now]
        known = {job.id: job for job in self.in_queue + self.dead + self.done}
        while id is None:
            self.numbers += 1
            if f"job-{self.numbers}" not in known:
                id = f"job-{self.numbers}"
        if id not in known:
            self.in_queue.append(ModelJob(id, type, payload, now))
        elif (known[id].type, known[id].payload) != (type, payload):
            raise IdConflict
        return id

    def claim(self):
        now = self.clock.now()
        for job in list(self.in_queue):
            if max(job.run_at_ms, job.leased_until_ms) > now:
                continue
            if job.attempts == self.options.max_attempts:
                self._bury(job, "lease expired" if job.leased_until_ms else "released")
                continue
            self.receipts += 1
            job.attempts += 1
            job.leased_until_ms = now + self.options.visibility_ms
            job.receipt = f"{job.id}#{self.receipts}"
            return job
        return None

    def ack(self, receipt):
        for job in self._holding(receipt):
            self.in_queue.remove(job)
            self.done.append(job)
            self.forget_at_ms[job.id] = self.clock.now() + self.remember_ms
            return "done"
        return "lost"

    def fail(self, receipt, error, permanent=False):
        for job in self._holding(receipt):
            if permanent or job.attempts == self.options.max_attempts:
                self._bury(job, error)
                return "dead"
            job.run_at_ms = self.clock.now() + self.options.backoff(job.attempts)
            job.last_error, job.leased_until_ms, job.receipt = error, 0, None
            return "retry"
        return "lost"

    def renew(self, receipt):
        for job in self._holding(receipt):
            job.leased_until_ms = self.clock.now() + self.options.visibility_ms
            return True
        return False

    def release(self, receipt):
        for job in self._holding(receipt):
            job.run_at_ms, job.leased_until_ms, job.receipt = self.clock.now(), 0, None
            return True
        return False

    def replay(self, id):
        for job in self.dead:
            if job.id == id:
                self.dead.remove(job)
                self.in_queue.append(job)
                job.run_at_ms, job.attempts, job.replays = self.clock.now(), 0, job.replays + 1
                return True
        return False

    def _holding(self, receipt):
        return [job for job in self.in_queue if job.receipt == receipt]

    def _bury(self, job, error):
        self.in_queue.remove(job)
        self.dead.append(job)
        job.last_error, job.leased_until_ms, job.receipt = error, 0, None

    @property
    def jobs(self):
        return {job.id: job for job in self.in_queue}


IDS = ["", "a", "job-1", "job-2", "job-4", None]
PAYLOADS = st.sampled_from([{"n": 0}, {"n": 0}, {"n": 1}])
anything = st.one_of(
    moves,
    claims,
    claims,
    st.tuples(st.just("enqueue"), st.just("tick"), PAYLOADS, st.sampled_from(IDS)),
    st.tuples(st.just("ack"), which),
    st.tuples(st.just("fail"), which, st.just("503"), st.booleans()),
    st.tuples(st.just("renew"), which),
    st.tuples(st.just("release"), which),
    st.tuples(st.just("replay"), st.sampled_from(IDS[:-1])),
)


def told(job):
    return job and (job.id, job.attempts, job.run_at_ms, job.leased_until_ms, job.last_error, job.replays)


def states(queue):
    return [told(job) for job in queue.jobs.values()], [told(job) for job in queue.dead]


@patient
@given(st.lists(anything, max_size=100), st.sampled_from([0, 10, 100]))
def test_the_hardened_queue_is_a_fast_version_of_the_model(operations, remember_ms):
    clock = ManualClock()
    hardened = HardenedQueue(clock, OPTIONS, remember_ms=remember_ms)
    model = ModelQueue(clock, OPTIONS, remember_ms)
    receipts = ["a", "job-1", ""]  # real ones are added, and old ones stay
    for name, *arguments in operations:
        if name == "advance":
            clock.advance(*arguments)
            continue
        if name in ("ack", "fail", "renew", "release"):
            arguments[0] = receipts[arguments[0] % len(receipts)]
        answers = []
        for queue in (model, hardened):
            try:
                answer = getattr(queue, name)(*arguments)
            except IdConflict:
                answer = "conflict"
            answers.append(answer)
        if name == "claim" and None not in answers:
            assert answers[0].receipt == answers[1].receipt
            receipts.append(answers[0].receipt)
        if name == "claim":
            answers = [told(job) for job in answers]

        assert answers[0] == answers[1]
        assert states(model) == states(hardened)


class TurningClock:
    now_ms = 1_000

    def now(self):
        return self.now_ms


@patient
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("advance"), st.integers(-50, 60)),
            claims,
            claims,
            st.just(("enqueue", "tick", {})),
            st.tuples(st.just("fail"), which, st.just("503")),
            st.tuples(st.just("release"), which),
        ),
        max_size=80,
    )
)
def test_it_stays_one_on_a_clock_that_is_set_back_and_forth(operations):
    clock = TurningClock()
    queues = ModelQueue(clock, OPTIONS, 0), HardenedQueue(clock, OPTIONS, remember_ms=0)
    receipts = [""]
    for name, *arguments in operations:
        if name == "advance":
            clock.now_ms = max(0, clock.now_ms + arguments[0])
            continue
        if name in ("fail", "release"):
            arguments[0] = receipts[arguments[0] % len(receipts)]
        answers = [getattr(queue, name)(*arguments) for queue in queues]
        if name == "claim":
            receipts += [job.receipt for job in answers[:1] if job]
            answers = [told(job) for job in answers]

        assert answers[0] == answers[1]
        assert states(queues[0]) == states(queues[1])


# Where no hole is touched, the two queues are the same.

orderly = st.one_of(
    moves,
    claims,
    claims,
    st.just(("enqueue",)),
    st.just(("enqueue with a new id",)),
    st.tuples(st.just("enqueue again"), which),
    st.tuples(st.just("ack"), which),
    st.tuples(st.just("fail"), which, st.just("503"), st.booleans()),
)


def shown(job):
    return job and (
        job.id,
        job.type,
        job.payload,
        job.attempts,
        job.run_at_ms,
        job.leased_until_ms,
        job.last_error,
    )


@patient
@given(st.lists(orderly, max_size=100))
def test_both_queues_do_the_same_for_workers_that_report_in_time_or_not_at_all(operations):
    clock = ManualClock()
    lesson, hardened = JobQueue(clock, OPTIONS), HardenedQueue(clock, OPTIONS)
    held = {}  # id -> the receipts that the two queues gave for the newest claim

    def settle(id, method, *arguments):
        receipts = held.pop(id)
        answers = [
            getattr(queue, method)(receipt, *arguments)
            for queue, receipt in zip((lesson, hardened), receipts, strict=True)
        ]
        assert answers[0] == answers[1]

    for number, (name, *arguments) in enumerate(operations):
        if name == "advance":
            # A worker that vanishes with the last attempt is the hole of P01: let it report instead.
            now = clock.now() + arguments[0]
            for id in list(held):
                job = lesson.jobs[id]
                if job.attempts == OPTIONS.max_attempts and job.leased_until_ms <= now:
                    settle(id, "fail", "timed out")
            clock.advance(arguments[0])
        elif name == "claim":
            jobs = lesson.claim(), hardened.claim()
            assert shown(jobs[0]) == shown(jobs[1])
            if jobs[0]:
                held[jobs[0].id] = [job.receipt for job in jobs]
        elif name == "enqueue again":
            if lesson.jobs:
                job = list(lesson.jobs.values())[arguments[0] % len(lesson.jobs)]
                repeats = [queue.enqueue(job.type, job.payload, job.id) for queue in (lesson, hardened)]
                assert [job.id, job.id] == repeats
        elif name.startswith("enqueue"):
            id = f"order-{number}" if "new id" in name else None
            ids = [queue.enqueue("tick", {"number": number}, id) for queue in (lesson, hardened)]
            assert ids[0] == ids[1]
        elif held:
            settle(list(held)[arguments[0] % len(held)], name, *arguments[1:])

        assert [shown(job) for job in lesson.jobs.values()] == [shown(job) for job in hardened.jobs.values()]
        assert [shown(job) for job in lesson.dead] == [shown(job) for job in hardened.dead]
        assert lesson.pending == hardened.pending


# Nothing is lost, and no two workers hold one job.


def run_and_count(queue, clock, operations, report_late):
    """Do the operations; after each, every job is somewhere and none is in two pairs of hands."""
    enqueued = done = 0
    newest = {}  # id -> receipt of the newest claim, until it is settled
    lease_ends_ms = {}
    receipts = []  # (id, receipt) of every claim
    for name, *arguments in operations:
        if name == "advance":
            clock.advance(*arguments)
        elif name == "enqueue":
            queue.enqueue("tick", {})
            enqueued += 1
        elif name == "claim":
            job = queue.claim()
            if job is not None:
                assert lease_ends_ms.get(job.id, 0) <= clock.now()
                newest[job.id] = job.receipt
                lease_ends_ms[job.id] = clock.now() + VISIBILITY_MS
                receipts.append((job.id, job.receipt))
        elif name == "replay":
            queue.replay(f"job-{arguments[0]}")
        else:
            reporting = receipts if report_late else list(newest.items())
            if not reporting:
                continue
            id, receipt = reporting[arguments[0] % len(reporting)]
            answer = getattr(queue, name)(receipt, *arguments[1:])
            accepted = answer not in ("lost", False)
            done += answer == "done"
            if accepted:
                assert newest[id] == receipt
            if accepted and name == "renew":
                lease_ends_ms[id] = clock.now() + VISIBILITY_MS
            elif accepted:
                del newest[id], lease_ends_ms[id]

        now = clock.now()
        leased = sum(job.leased_until_ms > now for job in queue.jobs.values())
        delayed = sum(job.leased_until_ms <= now < job.run_at_ms for job in queue.jobs.values())
        waiting = sum(max(job.leased_until_ms, job.run_at_ms) <= now for job in queue.jobs.values())
        assert enqueued == waiting + delayed + leased + done + len(queue.dead)
        assert {id for id, end_ms in lease_ends_ms.items() if end_ms > now} == {
            job.id for job in queue.jobs.values() if job.leased_until_ms > now
        }


reports = st.one_of(
    st.tuples(st.just("ack"), which),
    st.tuples(st.just("fail"), which, st.just("503"), st.booleans()),
)
both = st.one_of(moves, claims, claims, st.just(("enqueue",)), reports)
hardened_only = st.one_of(
    both,
    st.tuples(st.just("renew"), which),
    st.tuples(st.just("release"), which),
    st.tuples(st.just("replay"), st.integers(1, 5)),
)


@patient
@given(st.lists(both, max_size=100))
def test_the_lessons_queue_loses_nothing_while_only_the_holder_reports(operations):
    clock = ManualClock()
    run_and_count(JobQueue(clock, OPTIONS), clock, operations, report_late=False)


@patient
@given(st.lists(hardened_only, max_size=100))
def test_the_hardened_queue_loses_nothing_whoever_reports(operations):
    clock = ManualClock()
    run_and_count(HardenedQueue(clock, OPTIONS), clock, operations, report_late=True)
