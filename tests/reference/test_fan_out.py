import pytest

from lessons.reference.fan_out import Subscriber, publish

EVENT = {"order_id": 1001, "customer_id": 7, "amount_kobo": 2_042_500}


@pytest.fixture
def subscribers(make_queue):
    return [
        Subscriber("email", "send-receipt", make_queue()),
        Subscriber("warehouse", "pick-items", make_queue()),
        Subscriber("loyalty", "credit-points", make_queue()),
    ]


def test_each_subscriber_gets_a_job_of_its_own(subscribers):
    ids = publish("order-1001-paid", EVENT, subscribers)

    assert ["order-1001-paid:email", "order-1001-paid:warehouse", "order-1001-paid:loyalty"] == ids
    jobs = [subscriber.queue.claim() for subscriber in subscribers]
    assert ids == [job.id for job in jobs]
    assert ["send-receipt", "pick-items", "credit-points"] == [job.type for job in jobs]
    assert [EVENT] * 3 == [job.payload for job in jobs]


def test_an_event_that_is_published_twice_is_one_job_in_each_queue(subscribers):
    for _ in range(2):
        publish("order-1001-paid", EVENT, subscribers)

    assert "email: 1 warehouse: 1 loyalty: 1" == " ".join(
        f"{subscriber.name}: {subscriber.queue.pending}" for subscriber in subscribers
    )


def test_two_events_are_two_jobs(subscribers):
    publish("order-1001-paid", EVENT, subscribers)
    publish("order-1002-paid", EVENT | {"order_id": 1002}, subscribers)

    assert [2, 2, 2] == [subscriber.queue.pending for subscriber in subscribers]


def test_the_copies_are_independent(subscribers):
    event = {"items": ["rice"]}
    publish("order-1001-paid", event, subscribers)
    subscribers[0].queue.claim().payload["items"].clear()
    event["items"].append("beans")

    assert {"items": ["rice"]} == subscribers[1].queue.claim().payload


def test_a_subscriber_that_fails_retries_alone(subscribers, clock):
    publish("order-1001-paid", EVENT, subscribers)
    email, warehouse, loyalty = (subscriber.queue for subscriber in subscribers)
    for queue in (email, warehouse):
        queue.ack(queue.claim().receipt)
    loyalty.fail(loyalty.claim().receipt, "503")
    clock.advance(1_000)

    assert [None, None] == [email.claim(), warehouse.claim()]
    assert 2 == loyalty.claim().attempts


def test_an_event_without_subscribers_is_nobodys_job():
    assert [] == publish("order-1001-paid", EVENT, [])
