import gc
import linecache
import sqlite3
import sys
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons import contents
from lessons.recorder import STEP_LIMIT, Recorder, record
from lessons.recording import LESSONS, Effect, JobState, Table, as_text, in_seconds
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock
from lessons.reference.database import transaction
from lessons.reference.hardened_queue import HardenedQueue, IdConflict
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.worker import Worker

OPTIONS = QueueOptions(max_attempts=2, visibility_ms=30_000, backoff=doubling(1_000, 60_000))


class Lab:
    """A recorder with a clock, and a queue if one is asked for."""

    def __init__(self, queue=None, step_limit=STEP_LIMIT):
        self.recorder = Recorder(step_limit)
        self.clock = self.recorder.watch_clock(ManualClock())
        self.queue = self.recorder.watch_queue(queue(self.clock, OPTIONS)) if queue else None

    @property
    def steps(self):
        return self.recorder.steps

    @property
    def last(self):
        return self.steps[-1]

    def by(self, actor):
        return self.recorder.acting(actor)

    def kinds(self):
        return [step.kind for step in self.steps]

    def jobs(self):
        (queue,) = self.last.state.queues
        return queue.jobs


@pytest.fixture
def lab():
    return Lab(JobQueue)


@pytest.fixture
def hardened():
    return Lab(HardenedQueue)


# The queue


def test_an_enqueued_job_is_waiting(lab):
    with lab.by("the checkout"):
        lab.queue.enqueue("send-receipt", {})

    step = lab.last
    assert (1, 0, "the checkout", "enqueue", "job-1") == (
        step.number,
        step.at_ms,
        step.actor,
        step.kind,
        step.job,
    )
    assert "The checkout enqueues job-1 (send-receipt)." == step.sentence
    assert (JobState("job-1", "send-receipt", "waiting", 0, 0, 0, None, None),) == lab.jobs()


def test_a_claimed_job_is_leased_by_who_claimed_it(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        job = lab.queue.claim()

    assert "job-1" == job.id
    assert "claim" == lab.last.kind
    assert "Worker A claims job-1 (send-receipt): attempt 1, leased until t=30s." == lab.last.sentence
    assert (JobState("job-1", "send-receipt", "leased", 1, 0, 30_000, "worker A", None),) == lab.jobs()


def test_an_acked_job_is_done_and_stays_in_sight(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        assert "done" == lab.queue.ack(lab.queue.claim().receipt)

    assert "ack" == lab.last.kind
    assert "Worker A acks job-1: it is done and leaves the queue." == lab.last.sentence
    assert ("done", 1) == (lab.jobs()[0].lane, lab.jobs()[0].attempts)


def test_a_failed_job_is_delayed(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        assert "retry" == lab.queue.fail(lab.queue.claim().receipt, "mail provider: 503")

    assert "retry" == lab.last.kind
    assert "Worker A reports that job-1 failed: attempt 1 of 2, due again at t=1s." == lab.last.sentence
    assert "mail provider: 503" == lab.last.detail
    assert (JobState("job-1", "send-receipt", "delayed", 1, 1_000, 0, None, "mail provider: 503"),) == lab.jobs()


def test_a_job_that_is_due_again_is_waiting(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "503")
    lab.clock.advance(1_000)

    assert "The clock moves on 1s, to t=1s. job-1 is due again." == lab.last.sentence
    assert "waiting" == lab.jobs()[0].lane


def test_the_last_attempt_leads_to_the_dead_letters(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "503")
    lab.clock.advance(1_000)
    with lab.by("worker A"):
        assert "dead" == lab.queue.fail(lab.queue.claim().receipt, "504")

    assert "dead" == lab.last.kind
    assert "attempt 2 of 2 was the last" in lab.last.sentence
    assert ("dead", 2, "504") == (lab.jobs()[0].lane, lab.jobs()[0].attempts, lab.jobs()[0].last_error)


def test_a_permanent_error_leads_there_at_once(lab):
    lab.queue.enqueue("send-receipt", {})
    assert "dead" == lab.queue.fail(lab.queue.claim().receipt, "no such address", permanent=True)

    assert "dead" == lab.last.kind
    assert "the error is permanent" in lab.last.sentence


def test_a_look_that_finds_nothing_says_why(lab):
    with lab.by("worker A"):
        lab.queue.claim()
        lab.queue.enqueue("send-receipt", {})
        lab.queue.claim()
        lab.queue.claim()

    assert ["idle", "enqueue", "claim", "idle"] == lab.kinds()
    assert "Worker A asks for a job: the queue is empty." == lab.steps[0].sentence
    assert "Worker A asks for a job: nothing is due before t=30s." == lab.steps[3].sentence


def test_a_repeated_id_is_ignored(lab):
    lab.queue.enqueue("send-receipt", {}, "order-1001")
    lab.queue.enqueue("send-receipt", {}, "order-1001")

    assert "ignored" == lab.last.kind
    assert "still in the queue" in lab.last.sentence
    assert 1 == lab.last.state.queues[0].enqueued == len(lab.jobs())


def test_a_repeated_id_is_ignored_when_the_queue_remembers_it(hardened):
    hardened.queue.enqueue("send-receipt", {}, "order-1001")
    hardened.queue.ack(hardened.queue.claim().receipt)
    hardened.queue.enqueue("send-receipt", {}, "order-1001")

    assert "ignored" == hardened.last.kind
    assert "is still known" in hardened.last.sentence


def test_a_lease_that_ends_is_a_step_of_its_own(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        lab.queue.claim()
    lab.clock.advance(29_999)
    assert "advance" == lab.last.kind
    assert "leased" == lab.jobs()[0].lane

    lab.clock.advance(1)

    assert ["advance", "lease expired"] == lab.kinds()[-2:]
    assert "job-1" == lab.last.job
    assert "Worker A's lease on job-1 ended at t=30s" in lab.last.sentence
    assert ("waiting", None) == (lab.jobs()[0].lane, lab.jobs()[0].holder)


def test_the_lessons_queue_lets_a_late_ack_settle_anothers_delivery(lab):
    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        job = lab.queue.claim()
    lab.clock.advance(30_000)
    with lab.by("worker B"):
        lab.queue.claim()
    with lab.by("worker A"):
        lab.queue.ack(job.receipt)
    assert "Worker A acks job-1, although worker B holds it now" in lab.last.sentence

    with lab.by("worker B"):
        lab.queue.ack(job.receipt)
        assert "ack" == lab.last.kind
        assert "no such job" in lab.last.sentence
        lab.queue.fail(job.receipt, "already charged")

    assert "fail" == lab.last.kind
    assert "no such job" in lab.last.sentence
    assert ["done"] == [job.lane for job in lab.jobs()]


def test_the_hardened_queue_refuses_what_comes_too_late(hardened):
    hardened.queue.enqueue("send-receipt", {})
    with hardened.by("worker A"):
        job = hardened.queue.claim()
    hardened.clock.advance(30_000)
    with hardened.by("worker B"):
        hardened.queue.claim()

    with hardened.by("worker A"):
        for settle in (hardened.queue.ack, hardened.queue.renew, hardened.queue.release):
            settle(job.receipt)
            assert ("lost", "job-1") == (hardened.last.kind, hardened.last.job)
        hardened.queue.fail(job.receipt, "503")

    assert ("lost", "job-1") == (hardened.last.kind, hardened.last.job)
    assert "worker B" == hardened.jobs()[0].holder


def test_a_renewed_lease_ends_later(hardened):
    hardened.queue.enqueue("send-receipt", {})
    with hardened.by("worker A"):
        job = hardened.queue.claim()
        hardened.clock.advance(10_000)
        assert hardened.queue.renew(job.receipt)

    assert "Worker A renews its lease on job-1, now until t=40s." == hardened.last.sentence
    assert 40_000 == hardened.jobs()[0].leased_until_ms


def test_a_released_job_is_waiting(hardened):
    hardened.queue.enqueue("send-receipt", {})
    assert hardened.queue.release(hardened.queue.claim().receipt)

    assert "release" == hardened.last.kind
    assert "waiting" == hardened.jobs()[0].lane


def test_a_claim_may_send_another_job_to_the_dead_letters(hardened):
    hardened.queue.enqueue("send-receipt", {}, "poison")
    for _ in range(2):
        hardened.queue.claim()
        hardened.clock.advance(30_000)
    hardened.queue.enqueue("send-receipt", {}, "good")
    with hardened.by("worker A"):
        assert "good" == hardened.queue.claim().id

    assert ["dead", "claim"] == hardened.kinds()[-2:]
    assert "poison" == hardened.steps[-2].job
    assert "2 attempts are used up" in hardened.steps[-2].sentence


def test_a_replay_moves_a_dead_letter_back(hardened):
    hardened.queue.enqueue("send-receipt", {})
    hardened.queue.fail(hardened.queue.claim().receipt, "no such address", permanent=True)
    assert hardened.queue.replay("job-1")

    assert ("replay", "job-1") == (hardened.last.kind, hardened.last.job)
    assert ["waiting"] == [job.lane for job in hardened.jobs()]

    assert not hardened.queue.replay("job-1")
    assert "ignored" == hardened.last.kind


def test_a_letter_that_is_enqueued_again_by_hand_is_replayed_too(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "no such address", permanent=True)
    letter = lab.queue.dead.pop()
    lab.queue.enqueue(letter.type, letter.payload, letter.id)

    (queue,) = lab.last.state.queues
    assert ("replay", "job-1") == (lab.last.kind, lab.last.job)
    assert (1, 1, ["waiting"]) == (queue.enqueued, queue.replayed, [job.lane for job in queue.jobs])
    assert queue.balanced


def test_two_queues_are_told_apart():
    lab = Lab()
    for name in ("email", "loyalty"):
        lab.recorder.watch_queue(JobQueue(lab.clock, OPTIONS), name).enqueue("tell", {}, f"to-{name}")

    assert [("email", "to-email"), ("loyalty", "to-loyalty")] == [
        (queue.name, job.id) for queue in lab.last.state.queues for job in queue.jobs
    ]


# The clock


def test_the_clock_moves_in_steps(lab):
    lab.clock.advance(500)
    lab.recorder.print("later")

    assert [("advance", 500), ("print", 500)] == [(step.kind, step.at_ms) for step in lab.steps]
    assert "The clock moves on 0.5s, to t=0.5s." == lab.steps[0].sentence


def test_looks_that_find_nothing_and_the_moves_between_them_become_one_move(lab):
    lab.queue.enqueue("send-receipt", {})
    lab.queue.claim()
    for _ in range(30):
        lab.queue.claim()
        lab.clock.advance(1_000)

    assert ["enqueue", "claim", "idle", "advance", "lease expired"] == lab.kinds()
    assert [1, 2, 3, 4, 5] == [step.number for step in lab.steps]
    assert 30_000 == lab.steps[3].at_ms
    assert lab.steps[3].sentence.startswith("The clock moves on 30s, to t=30s. On the way every look")


def test_a_move_after_which_something_happens_stays_a_step(lab):
    for _ in range(3):
        lab.queue.claim()
        lab.clock.advance(1_000)
    lab.recorder.print("something")
    lab.clock.advance(1_000)
    lab.queue.claim()
    lab.clock.advance(1_000)

    assert ["idle", "advance", "print", "advance"] == lab.kinds()
    assert [0, 3_000, 3_000, 5_000] == [step.at_ms for step in lab.steps]
    assert lab.last.sentence.startswith("The clock moves on 2s, to t=5s.")


def test_a_folded_move_names_all_that_became_due(lab):
    for name in ("a", "b"):
        lab.queue.enqueue("send-receipt", {}, name)
    lab.queue.fail(lab.queue.claim().receipt, "503")
    lab.queue.fail(lab.queue.claim().receipt, "503")
    lab.queue.claim()
    lab.clock.advance(600)
    lab.queue.claim()
    lab.clock.advance(600)

    assert lab.last.sentence.startswith("The clock moves on 1.2s, to t=1.2s.")
    assert lab.last.sentence.endswith("a and b are due again.")


# What the program says


def test_a_printed_line_is_kept_as_it_is():
    def run(_, lab):
        for line in ("  (indented)", "", "two\nlines"):
            lab.print(line)

    recording = record(run, None)

    assert ["  (indented)", "", "two\nlines"] == recording.printed
    assert "  (indented)\n\ntwo\nlines\n" == as_text(recording)
    assert 3 == len(recording.steps)


def test_the_text_with_steps_has_a_sentence_for_each_and_what_it_printed():
    def run(_, lab):
        clock = lab.watch_clock(ManualClock())
        clock.advance(1_500)
        lab.print("one\ntwo")

    text = as_text(record(run, None), steps=True)

    assert "   1  t=1.5s  The clock moves on 1.5s, to t=1.5s.\n   2  t=1.5s  The program prints" in text
    assert text.endswith("\n      > one\n      > two\n")


def test_an_effect_stays(lab):
    lab.clock.advance(2_000)
    lab.recorder.effect("mail provider", "receipt sent")
    lab.recorder.effect("warehouse", "items picked", "The items are picked.")

    assert ["effect", "effect"] == lab.kinds()[1:]
    assert ["Mail provider: receipt sent.", "The items are picked."] == [s.sentence for s in lab.steps[1:]]
    first = Effect(2_000, "mail provider", "receipt sent")
    assert [(), (first,), (first, Effect(2_000, "warehouse", "items picked"))] == [
        step.state.effects for step in lab.steps
    ]


def test_an_actor_acts_until_its_block_ends(lab):
    with lab.by("the checkout"):
        lab.recorder.print("a")
        with lab.by("the relay"):
            lab.recorder.print("b")
        lab.recorder.print("c")
    lab.recorder.print("d")

    assert ["the checkout", "the relay", "the checkout", "the program"] == [step.actor for step in lab.steps]


def test_a_crash_ends_its_block_and_goes_no_further(lab):
    reached = []
    with lab.by("worker A"):
        try:
            lab.recorder.crash("Worker A dies.")
        except Exception:
            reached.append("a handler of the dead process")
        reached.append("the rest of the block")
    lab.recorder.print("life goes on")

    assert [] == reached
    assert [("crash", "worker A"), ("print", "the program")] == [(step.kind, step.actor) for step in lab.steps]
    assert "Worker A dies." == lab.steps[0].sentence


def test_a_crash_in_a_handler_leaves_its_job_leased(lab):
    def send_receipt(job):
        lab.recorder.effect("mail provider", "receipt sent")
        lab.recorder.crash("Worker A dies.")

    lab.queue.enqueue("send-receipt", {})
    with lab.by("worker A"):
        Worker(lab.queue, {"send-receipt": send_receipt}, lab.clock, lab.recorder.print).drain()

    assert ["enqueue", "claim", "effect", "crash"] == lab.kinds()
    assert ["job-1"] * 4 == [step.job for step in lab.steps], "what a worker does, it does for the job in its hands"
    assert ("leased", "worker A") == (lab.jobs()[0].lane, lab.jobs()[0].holder)


# The recording


def test_a_program_that_never_ends_is_cut_off():
    def run(_, lab):
        while True:
            lab.print("again")

    recording = record(run, None)

    assert recording.limit_reached
    assert STEP_LIMIT == len(recording.steps) == recording.steps[-1].number
    assert ("limit", None) == (recording.steps[-1].kind, recording.steps[-1].printed)
    assert STEP_LIMIT - 1 == len(recording.printed)
    assert f"{STEP_LIMIT:,}" in recording.steps[-1].sentence


def test_no_handler_and_no_block_of_an_actor_keeps_a_program_from_being_cut_off():
    def run(_, lab):
        while True:
            with lab.acting("worker A"):
                try:
                    lab.print("again")
                except Exception:
                    continue

    assert 10 == len(record(run, None, step_limit=10).steps)


def test_a_run_that_just_fits_is_whole():
    def run(lines, lab):
        for _ in range(lines):
            lab.print("again")

    assert not record(run, 9, step_limit=10).limit_reached
    assert record(run, 10, step_limit=10).limit_reached


def test_an_error_of_the_program_is_not_hidden():
    def run(_, lab):
        raise ZeroDivisionError("a fault of the program")

    with pytest.raises(ZeroDivisionError):
        record(run, None)


def test_the_same_run_has_the_same_version_and_another_has_another():
    def run(line, lab):
        lab.print(line)

    assert record(run, "a").version == record(run, "a").version != record(run, "b").version


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0s"), (1, "0.001s"), (500, "0.5s"), (30_000, "30s"), (3_600_000, "3600s"), (29_999, "29.999s")],
)
def test_times_are_written_in_seconds(ms, text):
    assert text == in_seconds(ms)


OPERATIONS = (
    *("enqueue", "repeat", "claim", "ack", "late ack", "fail"),
    *("permanent", "advance", "replay", "release"),
)


@pytest.mark.parametrize("queue", [JobQueue, HardenedQueue])
@settings(max_examples=60, deadline=None)
@given(operations=st.lists(st.sampled_from(OPERATIONS), max_size=60))
def test_whatever_happens_no_job_is_lost_and_no_earlier_step_changes(queue, operations):
    lab = Lab(queue)
    receipts = []
    seen = []
    for number, operation in enumerate(operations):
        folded = lab.last.kind in ("advance", "idle") if lab.steps else False
        with lab.by(f"worker {number % 3}"):
            match operation:
                case "enqueue":
                    lab.queue.enqueue("send-receipt", {})
                case "repeat":
                    lab.queue.enqueue("send-receipt", {}, "order-1001")
                case "claim":
                    receipts += [job.receipt for job in [lab.queue.claim()] if job]
                case "ack" if receipts:
                    lab.queue.ack(receipts[-1])
                case "late ack" if receipts:
                    lab.queue.ack(receipts[0])
                case "fail" if receipts:
                    lab.queue.fail(receipts[-1], "503")
                case "permanent" if receipts:
                    lab.queue.fail(receipts[-1], "400", permanent=True)
                case "advance":
                    lab.clock.advance(700 * number)
                case "replay" if lab.queue.dead and hasattr(lab.queue, "replay"):
                    lab.queue.replay(lab.queue.dead[0].id)
                case "release" if receipts and hasattr(lab.queue, "release"):
                    lab.queue.release(receipts[-1])
        if not folded:
            seen = [(step, repr(step)) for step in lab.steps]

    assert all(queue.balanced for step in lab.steps for queue in step.state.queues)
    assert list(range(1, len(lab.steps) + 1)) == [step.number for step in lab.steps]
    assert all(repr(step) == before for step, before in seen)


# The database


@pytest.fixture
def db():
    lab = Lab()
    db = lab.recorder.connect()
    db.executescript("CREATE TABLE loyalty (customer_id INTEGER PRIMARY KEY, points INTEGER NOT NULL)")
    db.lab = lab
    yield db
    lab.recorder.close()


def rows(step):
    return [table.rows for table in step.state.tables]


def test_the_set_up_is_one_step(db):
    assert ["sql"] == db.lab.kinds()
    assert "loyalty" in db.lab.last.sentence
    assert "CREATE TABLE loyalty" in db.lab.last.detail
    assert (Table("loyalty", ("customer_id", "points"), ()),) == db.lab.last.state.tables


def test_a_statement_is_a_step_and_shows_its_values(db):
    db.execute(
        """
        INSERT INTO loyalty (customer_id, points)
        VALUES (?, ?)
        """,
        (7, 204),
    )

    assert "sql" == db.lab.last.kind
    assert "INSERT INTO loyalty (customer_id, points)\nVALUES (?, ?)\n-- with 7, 204" == db.lab.last.detail
    assert [((7, 204),)] == rows(db.lab.last)
    assert [()] == rows(db.lab.steps[0])


def test_named_values_are_shown_in_their_order(db):
    db.execute("INSERT INTO loyalty VALUES (:customer, :points)", {"customer": 7, "points": 204})

    assert db.lab.last.detail.endswith("-- with 7, 204")


def test_the_answer_is_the_databases(db):
    db.execute("INSERT INTO loyalty VALUES (7, 0), (8, 0)")

    assert [(7, 0), (8, 0)] == db.execute("SELECT * FROM loyalty ORDER BY customer_id").fetchall()
    assert (7,) == db.execute("SELECT customer_id FROM loyalty ORDER BY customer_id").fetchone()
    assert [(8,)] == list(db.execute("SELECT customer_id FROM loyalty WHERE customer_id = 8"))
    assert 2 == db.execute("UPDATE loyalty SET points = points + 1").rowcount
    returned = db.execute("UPDATE loyalty SET points = 0 WHERE customer_id = 7 RETURNING customer_id, points")
    assert [(7, 0)] == returned.fetchall()


def test_the_rows_of_a_program_do_not_change_the_tables_of_a_step(db):
    db.row_factory = sqlite3.Row
    db.execute("INSERT INTO loyalty VALUES (7, 204)")

    assert 204 == db.execute("SELECT points FROM loyalty").fetchone()["points"]
    assert [((7, 204),)] == rows(db.lab.last)


@pytest.mark.parametrize(
    ("sql", "touched"),
    [
        ("INSERT INTO loyalty VALUES (9, 0)", True),
        ("INSERT INTO loyalty VALUES (9, 0), (10, 0)", True),
        ("INSERT INTO loyalty VALUES (9, 0) ON CONFLICT DO NOTHING RETURNING customer_id", True),
        ("INSERT INTO loyalty VALUES (7, 0) ON CONFLICT DO NOTHING", False),
        ("INSERT INTO loyalty VALUES (7, 0) ON CONFLICT DO NOTHING RETURNING customer_id", False),
    ],
)
def test_the_sentence_tells_whether_a_row_went_in(db, sql, touched):
    db.execute("INSERT INTO loyalty VALUES (7, 0)")
    db.execute(sql)

    assert ("nothing" not in db.lab.last.sentence.lower()) is touched, db.lab.last.sentence


@pytest.mark.parametrize("returning", ["", " RETURNING points"])
@pytest.mark.parametrize(
    ("customers", "count"),
    [("customer_id = 7", "1 row"), ("customer_id > 6", "2 rows"), ("customer_id = 1", "no row")],
)
def test_the_sentence_tells_how_many_rows_were_touched(db, customers, count, returning):
    db.execute("INSERT INTO loyalty VALUES (7, 0)")
    db.execute("INSERT INTO loyalty VALUES (8, 0)")
    for sql in ("UPDATE loyalty SET points = 204 WHERE ", "DELETE FROM loyalty WHERE "):
        db.execute(sql + customers + returning)

        assert count in db.lab.last.sentence.lower()


def test_a_rollback_takes_everything_back(db):
    with pytest.raises(ZeroDivisionError), transaction(db):
        db.execute("INSERT INTO loyalty VALUES (7, 0)")
        raise ZeroDivisionError

    begin, insert, rollback = db.lab.steps[1:]
    assert "BEGIN IMMEDIATE" == begin.detail
    assert [((7, 0),)] == rows(insert)
    assert "ROLLBACK" == rollback.detail
    assert "rolled back" in rollback.sentence
    assert [()] == rows(rollback)


def test_a_refused_statement_is_a_step_too(db):
    db.execute("INSERT INTO loyalty VALUES (7, 0)")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("INSERT INTO loyalty VALUES (7, 0)")

    assert "sql" == db.lab.last.kind
    assert "refuses" in db.lab.last.sentence
    assert "UNIQUE constraint failed: loyalty.customer_id" in db.lab.last.sentence


def test_a_process_can_be_killed_after_a_statement(db):
    db.execute("INSERT INTO loyalty VALUES (7, 0)")
    db.kill_after("UPDATE loyalty", "The consumer dies.")
    with db.lab.by("the consumer"), transaction(db):
        db.execute("DELETE FROM loyalty WHERE customer_id = 8")
        db.execute("""
            UPDATE   loyalty
            SET points = 204""")
        db.lab.recorder.print("never reached")
    db.execute("UPDATE loyalty SET points = 1")

    assert ["BEGIN", "DELETE", "UPDATE", "crash", "ROLLBACK", "UPDATE"] == [
        "crash" if step.kind == "crash" else step.detail.split()[0] for step in db.lab.steps[2:]
    ]
    assert "The consumer dies." == db.lab.steps[-3].sentence
    assert [((7, 1),)] == rows(db.lab.last)


def test_the_database_is_closed_after_the_run():
    connections = []

    def run(_, lab):
        connections.append(lab.connect())

    record(run, None)

    with pytest.raises(sqlite3.ProgrammingError):
        connections[0].execute("SELECT 1")


# The lines


def source(place):
    return linecache.getline(str(LESSONS / place.file), place.line).strip()


ON_THE_LINE = {
    "print": ("print(", "log("),
    "effect": ("effect(",),
    "sql": ("execute(", "executescript("),
    "crash": ("crash(", "execute("),
    "advance": ("advance(", "simulate("),
    "lease expired": ("advance(", "simulate("),
}


@pytest.mark.parametrize("section", contents.sections(), ids=lambda section: section.slug)
def test_the_marked_line_is_the_one_that_did_it(section):
    for step in section.record(section.Params()).steps:
        line = source(step.place)
        assert any(call in line for call in ON_THE_LINE.get(step.kind, ("return",))), f"{step}\n{line}"


@pytest.mark.parametrize("section", contents.sections(), ids=lambda section: section.slug)
def test_the_calls_lead_from_the_program_to_the_line(section):
    for step in section.record(section.Params()).steps:
        assert section.program == step.calls[0].file
        assert all(source(place) for place in step.calls)


def test_the_line_in_the_queue_is_the_one_on_which_it_answered(lab):
    lab.queue.enqueue("send-receipt", {})
    assert "return id" == source(lab.last.place)
    job = lab.queue.claim()
    assert "return job" == source(lab.last.place)
    lab.queue.claim()
    assert "return None" == source(lab.last.place)
    lab.queue.fail(job.receipt, "503")
    assert 'return "retry"' == source(lab.last.place)
    lab.queue.fail("unknown", "503")
    assert 'return "dead"' == source(lab.last.place)
    lab.queue.ack(job.receipt)
    assert 'return "done"' == source(lab.last.place)
    assert {"reference/job_queue.py"} == {step.place.file for step in lab.steps}


def test_two_answers_of_one_method_have_lines_of_their_own(lab):
    lab.queue.fail("unknown", "503")
    lab.queue.enqueue("send-receipt", {})
    lab.queue.fail(lab.queue.claim().receipt, "400", permanent=True)

    unknown, dead = (step.place.line for step in lab.steps if step.kind in ("fail", "dead"))
    assert unknown < dead


# Nothing is left behind


@pytest.mark.parametrize("profiler", [None, lambda *_: None])
def test_the_profile_hook_is_as_it_was(hardened, profiler):
    before = sys.getprofile()
    sys.setprofile(profiler)
    try:
        hardened.queue.enqueue("send-receipt", {}, "order-1001")
        after_a_call = sys.getprofile()
        with pytest.raises(IdConflict):
            hardened.queue.enqueue("send-receipt", {"other": "content"}, "order-1001")
        after_an_error = sys.getprofile()
    finally:
        sys.setprofile(before)

    assert after_a_call is after_an_error is profiler


@pytest.mark.parametrize("queue", [JobQueue, HardenedQueue])
def test_only_the_watched_queue_is_watched(queue):
    before = dict(vars(queue))
    lab = Lab(queue)
    lab.queue.enqueue("send-receipt", {})
    other = queue(lab.clock, OPTIONS)
    other.enqueue("send-receipt", {})
    other.ack(other.claim().receipt)

    assert before == dict(vars(queue))
    assert 1 == len(lab.steps)
    assert {"enqueue", "claim", "ack"}.isdisjoint(vars(other))


def test_only_the_watched_clock_is_watched():
    lab = Lab()
    other = ManualClock()
    other.advance(5)

    assert (5, 0) == (other.now(), lab.clock.now())
    assert [] == lab.steps


def test_a_recording_lets_its_program_go():
    class Marker:
        pass

    def run(marker, lab):
        queue = lab.watch_queue(JobQueue(lab.watch_clock(ManualClock()), OPTIONS))
        queue.enqueue("send-receipt", {})
        queue.marker = marker

    recording = record(run, Marker())
    gc.collect()

    assert recording.steps
    assert not [thing for thing in gc.get_objects() if isinstance(thing, Marker)]


def test_an_answer_passes_through_unchanged(lab):
    plain = JobQueue(ManualClock(), OPTIONS)
    for call in (
        partial(JobQueue.enqueue, type="send-receipt", payload={}, id="order-1001"),
        JobQueue.claim,
        partial(JobQueue.fail, receipt="order-1001", error="503"),
        partial(JobQueue.ack, receipt="order-1001"),
    ):
        name = (call.func if isinstance(call, partial) else call).__name__
        arguments = call.keywords if isinstance(call, partial) else {}

        assert call(plain) == getattr(lab.queue, name)(**arguments)
