import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons import params
from lessons.recorder import record
from lessons.s02_job_queue import drive
from lessons.s02_job_queue.demo import MOST_OPERATIONS, Params, run

both_queues = pytest.mark.parametrize("queue", ["lesson", "hardened"])
TAKEN_OVER = "enqueue claim.A advance.30000 claim.B"


def ran(ops, queue="lesson", **more):
    return record(run, params.read(Params, {"ops": ops, "queue": queue, **more}))


def driven(ops, queue="lesson", **more):
    p = params.read(Params, {"ops": ops, "queue": queue, **more})
    return drive.controls(p, record(run, p))


def lines(ops, queue="lesson", **more):
    return [line.partition(" ")[2] for line in ran(ops, queue, **more).printed[1:]]


def jobs(recording):
    return [(job.id, job.lane, job.attempts) for job in recording.steps[-1].state.queues[0].jobs]


def buttons(controls):
    return {button.id: button for group in controls.groups for button in group.buttons}


# Operations


@both_queues
@pytest.mark.parametrize("op", ["enqueue", "claim.A", "ack.B", "renew.A", "advance.1", "replay.job-1", "crash.A"])
def test_each_operation_has_one_line_wherever_it_stands(op, queue):
    for ops in (op, f"{TAKEN_OVER} {op}", f"enqueue claim.A fail.A.permanent {op} {op}"):
        assert len(ops.split()) == len(lines(ops, queue))


@both_queues
def test_looks_that_find_nothing_keep_their_lines(queue):
    assert 6 == len(lines("claim.A advance.1000 claim.A advance.1000 claim.B advance.1000", queue))


@pytest.mark.parametrize(
    ("ops", "place", "op"),
    [
        ("clam.A", 1, "clam.A"),
        ("enqueue claim.C", 2, "claim.C"),
        ("enqueue claim", 2, "claim"),
        ("enqueue enqueue.sms", 2, "enqueue.sms"),
        ("advance.0", 1, "advance.0"),
        ("advance.3600001", 1, "advance.3600001"),
        ("enqueue.receipt.job_1", 1, "enqueue.receipt.job_1"),
        ("enqueue ack.A.B", 2, "ack.A.B"),
        ("enqueue none", 2, "none"),
        ("Enqueue", 1, "Enqueue"),
    ],
)
def test_a_wrong_operation_is_named_with_its_place_and_what_is_allowed(ops, place, op):
    with pytest.raises(params.Invalid) as error:
        params.read(Params, {"ops": ops})

    (problem,) = error.value.problems
    assert ("ops", f'ops: operation {place}, "{op}", is none of these: enqueue, ') == (
        problem.field,
        problem.message[: problem.message.index("enqueue, ") + 9],
    )


def test_there_is_a_limit_to_the_operations():
    assert MOST_OPERATIONS == len(lines(" ".join(["enqueue"] * MOST_OPERATIONS)))
    with pytest.raises(params.Invalid, match="at most 60 operations, not 61"):
        params.read(Params, {"ops": " ".join(["enqueue"] * (MOST_OPERATIONS + 1))})


def test_the_longest_operations_fit_into_the_field():
    longest = f"enqueue.receipt.{'x' * 20}"

    assert params.read(Params, {"ops": " ".join([longest] * MOST_OPERATIONS)})


def test_an_untouched_queue_is_a_session_too():
    assert ["t=0s an empty queue: max attempts 3, leases of 30s"] == ran("none").printed


@both_queues
def test_a_worker_takes_one_job_at_a_time(queue):
    assert (
        "worker A is at work on job-1 and asks for no other job" == lines("enqueue enqueue claim.A claim.A", queue)[-1]
    )


@both_queues
def test_the_lease_ends_on_the_millisecond(queue):
    early, due = lines("enqueue claim.A advance.29999 claim.B advance.1 claim.B", queue)[3::2]

    assert "worker B asks for a job: none is due" == early
    assert "worker B claims job-1: attempt 2, leased until t=60s" == due


def test_a_replay_by_hand_waits_while_its_id_is_in_the_queue_again():
    ops = "enqueue.receipt.order-1 claim.A fail.A.permanent enqueue.receipt.order-1 replay.order-1"

    assert "the operator leaves the dead letter order-1: a job of that id is in the queue" == lines(ops)[-1]
    assert [("order-1", "waiting", 0), ("order-1", "dead", 1)] == jobs(ran(ops))


@both_queues
def test_a_replayed_job_begins_again(queue):
    recording = ran("enqueue claim.A fail.A.permanent replay.job-1 claim.B", queue)

    assert [("job-1", "leased", 1)] == jobs(recording)


def test_a_renewed_lease_lasts_and_a_released_job_is_due_at_once():
    assert [("job-1", "leased", 1)] == jobs(
        ran("enqueue claim.A advance.20000 renew.A advance.20000 claim.B", "hardened")
    )
    assert [("job-1", "leased", 2)] == jobs(ran("enqueue claim.A release.A claim.B", "hardened"))


# The holes


def test_a_late_ack_loses_a_job_on_the_lessons_queue_only():
    ops = f"{TAKEN_OVER} ack.A fail.B"

    assert [("job-1", "done", 2)] == jobs(ran(ops))
    assert [("job-1", "delayed", 2)] == jobs(ran(ops, "hardened"))


def test_a_failure_nobody_knows_is_called_dead_without_a_dead_letter():
    assert lines(f"{TAKEN_OVER} ack.A fail.B")[-1].endswith(": dead")
    assert lines(f"{TAKEN_OVER} ack.A ack.B", "hardened")[-1].endswith(": done")


def test_crashes_go_past_the_limit_on_the_lessons_queue_only():
    crashes = "enqueue" + " claim.A crash.A advance.30000" * 10 + " claim.A"

    assert [("job-1", "leased", 11)] == jobs(ran(crashes))
    assert [("job-1", "dead", 3)] == jobs(ran(crashes, "hardened"))


def test_the_copy_of_a_late_worker_shows_anothers_attempt_on_the_lessons_queue_only():
    assert "worker A has done job-1 (attempt 2) and acks: done" == lines(f"{TAKEN_OVER} ack.A")[-1]
    assert "worker A has done job-1 (attempt 1) and acks: lost" == lines(f"{TAKEN_OVER} ack.A", "hardened")[-1]


def test_an_id_is_forgotten_at_the_ack_or_remembered():
    ops = "enqueue.receipt.order-1 claim.A ack.A enqueue.receipt.order-1 claim.B ack.B"

    assert [2, 1] == [len(ran(ops, queue).steps[-1].state.effects) for queue in ("lesson", "hardened")]


@both_queues
def test_a_retried_job_goes_before_a_newer_one(queue):
    assert lines("enqueue claim.A fail.A enqueue.invoice advance.1000 claim.B", queue)[-1].startswith(
        "worker B claims job-1"
    )


# What can be done next


def test_buttons_that_cannot_be_used_say_why():
    reasons = {id: button.reason for id, button in buttons(driven("none")).items()}

    assert "" == reasons["claim-a"] == reasons["second"] == reasons["enqueue-receipt"]
    assert "It has no job in hand." == reasons["ack-a"] == reasons["crash-b"]
    assert "only the hardened queue has these." == reasons["renew-a"] == reasons["release-b"]
    assert ("no job is delayed.", "no job is leased.") == (reasons["due"], reasons["lease"])
    assert ("there is no dead letter.", "nothing has been done.") == (reasons["replay"], reasons["undo"])


@both_queues
def test_a_button_has_an_address_or_a_reason(queue):
    for ops in ("none", TAKEN_OVER, " ".join(["enqueue"] * MOST_OPERATIONS), f"{TAKEN_OVER} crash.A crash.B"):
        for button in buttons(driven(ops, queue)).values():
            assert (button.params is None) == bool(button.reason)


def test_the_clock_says_where_it_leads():
    found = buttons(driven("enqueue enqueue.invoice claim.A fail.A claim.B"))

    assert ("to t=1s: job-1 is due", "to t=30s: lease of job-2 ends", "to t=29.999s: job-2 is still hidden") == (
        found["due"].note,
        found["lease"].note,
        found["early"].note,
    )
    assert found["early"].params.ops.endswith(" advance.29999")
    assert "the lease ends in 1 ms." == buttons(driven("enqueue claim.A advance.29999"))["early"].reason


def test_a_worker_whose_lease_is_over_does_not_know_it():
    late, holder = driven(TAKEN_OVER).groups[1:3]

    assert "It believes that it holds job-1. In truth worker B holds it now." == late.status
    assert "It holds job-1, attempt 2, until t=60s." == holder.status
    assert buttons(driven(TAKEN_OVER))["ack-a"].params


def test_undo_takes_back_one_operation_and_start_again_all():
    found = buttons(driven(TAKEN_OVER))

    assert "enqueue claim.A advance.30000" == found["undo"].params.ops
    assert "none" == found["again"].params.ops == buttons(driven("enqueue"))["undo"].params.ops


def test_the_same_id_can_be_enqueued_again_and_under_another_type():
    menu = driven("enqueue claim.A ack.A").groups[0].menu

    assert [
        "enqueue.receipt.job-1",
        "enqueue.invoice.job-1",
        "enqueue.receipt.order-1",
        "enqueue.invoice.order-1",
    ] == [value.split()[-1] for value, _ in menu.options]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), queue=st.sampled_from(["lesson", "hardened"]), attempts=st.integers(1, 3))
def test_whoever_presses_only_buttons_gets_only_sound_runs(data, queue, attempts):
    p = Params(ops="none", queue=queue, max_attempts=attempts)
    for _ in range(15):
        recording = record(run, p)
        now = drive.controls(p, recording)

        assert p == params.read(Params, params.query(p))
        assert len(p.operations) == len(now.moves)
        assert all(step.state.queues[0].balanced for step in recording.steps)
        pressed = [button.params for button in buttons(now).values() if button.params and button.id != "again"]
        pressed += [Params(ops=value, queue=queue, max_attempts=attempts) for value, _ in now.groups[0].menu.options]
        p = data.draw(st.sampled_from(pressed))


# The other queue


def test_what_differs_on_the_other_queue_is_told_from_both_sides():
    there = driven(f"{TAKEN_OVER} ack.A fail.B").comparison
    back = driven(f"{TAKEN_OVER} ack.A fail.B", "hardened").comparison

    assert ["5. ack.A", "6. fail.B", "In the end: job-1"] == [one.what for one in there.differences]
    assert [(one.here, one.there) for one in there.differences] == [(one.there, one.here) for one in back.differences]


def test_the_effects_that_differ_are_counted():
    (effects,) = (
        one
        for one in driven(
            "enqueue.receipt.order-1 claim.A ack.A enqueue.receipt.order-1 claim.B ack.B"
        ).comparison.differences
        if "sent to" in one.what
    )

    assert ("2 times", "1 time") == (effects.here, effects.there)


def test_an_honest_session_is_the_same_on_both():
    assert () == driven(Params().ops).comparison.differences


# Goals


def reached(p):
    return [goal.reached for goal in drive.controls(p, record(run, p)).goals]


@pytest.mark.parametrize("number", range(len(drive.GOALS)))
def test_the_solution_of_each_goal_reaches_it(number):
    assert reached(drive.GOALS[number].solution)[number]


def test_each_goal_has_an_id_of_its_own_that_stays_as_it_is():
    kept = ["delivered-twice", "dead-in-three", "late-ack-loses-a-job", "late-ack-refused"]

    assert [*kept, "past-the-limit", "crashes-are-buried", "lease-renewed"] == [goal.id for goal in drive.GOALS]


def test_no_goal_is_reached_from_the_start():
    assert not any(reached(Params()) + reached(Params(ops="none")))


@pytest.mark.parametrize("number", range(len(drive.GOALS)))
def test_without_its_last_operation_no_solution_is_one(number):
    solution = drive.GOALS[number].solution
    shorter = Params(ops=" ".join(solution.operations[:-1]), queue=solution.queue)

    assert not reached(shorter)[number]


@pytest.mark.parametrize(
    ("goal", "other"), [(2, "hardened"), (3, "lesson"), (4, "hardened"), (5, "lesson"), (6, "lesson")]
)
def test_on_the_other_queue_the_goal_is_not_reached(goal, other):
    solution = drive.GOALS[goal].solution

    assert not reached(Params(ops=solution.ops, queue=other))[goal]


def test_fewer_operations_than_three_bury_nobody():
    ops = ("enqueue", "claim.A", "fail.A", "fail.A.permanent", "crash.A", "advance.30000")

    for session in itertools.product(ops, repeat=2):
        for attempts in ("1", "3"):
            assert not any(lane == "dead" for _, lane, _ in jobs(ran(" ".join(session), max_attempts=attempts)))


def test_a_crash_is_no_way_to_deliver_a_job_twice_without_one():
    assert not reached(Params(ops="enqueue claim.A crash.A advance.30000 claim.B"))[0]


def test_a_failure_that_is_tried_again_is_no_double_delivery():
    assert not reached(Params(ops="enqueue claim.A fail.A advance.1000 claim.B"))[0]


def test_an_ack_in_time_loses_no_job():
    assert not reached(Params(ops="enqueue claim.A ack.A enqueue claim.B fail.B"))[2]
