import pytest


def charges(recording):
    return [effect.at_ms for effect in recording.steps[-1].state.effects if effect.target == "card company"]


def receipts(recording):
    return [effect.at_ms for effect in recording.steps[-1].state.effects if effect.target == "mail provider"]


def answers(recording):
    """(what the customer saw, when) for each click."""
    seen = [(step.printed, step.at_ms) for step in recording.steps if step.printed]
    return [(line.removeprefix("customer sees: "), at_ms) for line, at_ms in seen if line.startswith("customer sees")]


def test_the_card_is_charged_and_the_customer_sees_an_error(ran):
    recording = ran("sync-checkout")

    assert [10] == charges(recording)
    assert [("500 mail provider: 503 Service Unavailable", 100)] == answers(recording)
    assert [] == receipts(recording)
    assert () == recording.steps[-1].state.queues, "there is no queue in this checkout"


def test_a_customer_who_tries_again_is_charged_again(ran):
    recording = ran("sync-checkout?customer_retries=yes")

    assert [10, 110] == charges(recording)
    assert [100, 200] == [at_ms for _, at_ms in answers(recording)]
    assert all(answer.startswith("500") for answer, _ in answers(recording))


def test_a_second_try_after_5_s_finds_the_provider_back(ran):
    recording = ran("sync-checkout?customer_retries=yes&pdf_ms=2500")

    assert ["500 mail provider: 503 Service Unavailable", "201 order placed"] == [
        answer for answer, _ in answers(recording)
    ]
    assert [10, 2_550] == charges(recording)
    assert [5_080] == receipts(recording)


def test_a_customer_who_sees_no_error_does_not_try_again(ran):
    assert [10] == charges(ran("sync-checkout?customer_retries=yes&provider_up=yes"))
    assert [10] == charges(ran("sync-checkout?customer_retries=yes&mode=queue"))


@pytest.mark.parametrize("queue", ["lesson", "hardened"])
def test_with_a_queue_the_answer_comes_at_once_and_the_receipt_later(ran, claims, queue):
    recording = ran(f"sync-checkout?mode=queue&queue={queue}")

    assert [("201 order placed", 10)] == answers(recording)
    assert [70, 1_100, 3_130, 7_160] == claims(recording, "job-2")
    assert [7_190] == receipts(recording)
    assert {"done"} == {job.lane for job in recording.steps[-1].state.queues[0].jobs}


@pytest.mark.parametrize(
    ("query", "waited"),
    [
        ("", True),
        ("mail_ms=29", False),
        ("mode=queue", False),
        ("mode=queue&card_ms=99", False),
        ("mode=queue&card_ms=100", True),
        ("provider_up=yes", True),
    ],
)
def test_the_wait_is_measured(ran, query, waited):
    assert f"customer waited 100 ms or more: {waited}" in ran(f"sync-checkout?{query}").printed


def test_work_that_takes_no_time_does_not_move_the_clock(ran):
    recording = ran("sync-checkout?card_ms=0&pdf_ms=0&mail_ms=0")

    assert [] == [step for step in recording.steps if step.kind == "advance"]
    assert 0 == recording.steps[-1].at_ms


def test_a_slow_invoice_delays_the_answer_only_in_the_request(ran):
    assert [3_040] == [at_ms for _, at_ms in answers(ran("sync-checkout?provider_up=yes&pdf_ms=3000"))]
    assert [10] == [at_ms for _, at_ms in answers(ran("sync-checkout?provider_up=yes&pdf_ms=3000&mode=queue"))]
