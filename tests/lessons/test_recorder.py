import contextlib
import gc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons import contents
from lessons.recorder import STEP_LIMIT, record
from lessons.recording import Effect, as_text
from lessons.reference.backoff import doubling
from lessons.reference.clock import ManualClock
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue, QueueOptions
from lessons.reference.worker import Worker

OPTIONS = QueueOptions(max_attempts=2, visibility_ms=30_000, backoff=doubling(1_000, 60_000))


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


@pytest.mark.parametrize("working", [("B",), ("A",), ("A", "B")])
def test_a_move_in_which_somebody_works_is_folded_into_no_other(lab, working):
    def move(name):
        with lab.by(f"worker {name}"), lab.recorder.doing("works") if name in working else contextlib.nullcontext():
            lab.clock.advance(5)

    move("A")
    for name in "AB":
        with lab.by(f"worker {name}"):
            lab.queue.claim()
    move("B")

    assert ["advance", "idle", "idle", "advance"] == lab.kinds()
    assert [name in working for name in "AB"] == ["works: " in lab.steps[number].sentence for number in (0, 3)]
    assert [5, 10] == [lab.steps[number].at_ms for number in (0, 3)]


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


def test_a_printed_line_is_kept_as_it_is():
    def run(_, lab):
        for line in ("  (indented)", "", "two\nlines"):
            lab.print(line)

    recording = record(run, None)

    assert ["  (indented)", "", "two\nlines"] == recording.printed
    assert "  (indented)\n\ntwo\nlines\n" == as_text(recording)
    assert 3 == len(recording.steps)


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


OPERATIONS = (
    *("enqueue", "repeat", "claim", "ack", "late ack", "fail"),
    *("permanent", "advance", "replay", "release"),
)


@pytest.mark.parametrize("queue", [JobQueue, HardenedQueue])
@settings(max_examples=60, deadline=None)
@given(operations=st.lists(st.sampled_from(OPERATIONS), max_size=60))
def test_whatever_happens_no_job_is_lost_and_no_earlier_step_changes(new_lab, queue, operations):
    lab = new_lab(queue)
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


ON_THE_LINE = {
    "print": ("print(", "log("),
    "effect": ("effect(",),
    "refused": ("lab.step(", "raise IdConflict"),
    "sql": ("execute(", "executescript("),
    "crash": ("crash(", "execute("),
    "advance": ("advance(", "simulate("),
    "lease expired": ("advance(", "simulate("),
}


@pytest.mark.parametrize("section", contents.sections(), ids=lambda section: section.slug)
def test_the_marked_line_is_the_one_that_did_it(section, source):
    for step in section.record(section.Params()).steps:
        line = source(step.place)
        assert any(call in line for call in ON_THE_LINE.get(step.kind, ("return",))), f"{step}\n{line}"


@pytest.mark.parametrize("section", contents.sections(), ids=lambda section: section.slug)
def test_the_calls_lead_from_the_program_to_the_line(section, source):
    for step in section.record(section.Params()).steps:
        assert section.program == step.calls[0].file
        assert all(source(place) for place in step.calls)


def test_only_the_watched_clock_is_watched(new_lab):
    lab = new_lab()
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
