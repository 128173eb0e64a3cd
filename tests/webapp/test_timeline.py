from itertools import pairwise

import pytest

from lessons import contents
from lessons.recorder import record
from lessons.reference.clock import ManualClock
from lessons.reference.job_queue import JobQueue, QueueOptions
from webapp.timeline import MARK_WIDTH, MAX_ROWS, draw


def drawn(slug, **values):
    section = contents.section(slug)
    return draw(section.record(section.Params(**values)))


def drawn_run(program):
    """The drawing of a small program of its own: program(queue, clock, lab)."""

    def run(params, lab):
        clock = lab.watch_clock(ManualClock())
        options = QueueOptions(max_attempts=5, visibility_ms=30_000, backoff=lambda attempt: 1_000)
        program(lab.watch_queue(JobQueue(clock, options)), clock, lab)

    return draw(record(run, None))


def segments(row):
    return [(part.lane, part.step, part.left, part.width) for part in row.segments]


def marks(row):
    return [(mark.kind, mark.step, mark.left) for mark in row.marks]


def x(at_ms, end_ms=8_000):
    return round(1.5 + 96 * at_ms / end_ms, 3)


# The default run of "retries": it ends at 8 s


def test_each_job_has_a_row():
    assert ["job-1", "job-2"] == [row.label for row in drawn("retries").rows]


def test_a_bar_lasts_from_the_step_into_a_lane_to_the_step_out_of_it():
    receipt, invoice = drawn("retries").rows

    assert [
        ("delayed", 4, x(0), 12.0),
        ("delayed", 13, x(1_000), 24.0),
        ("delayed", 18, x(3_000), 48.0),
        ("done", 25, x(7_000), 12.0),
    ] == segments(receipt)
    assert [("done", 8, x(0), 96.0)] == segments(invoice)


def test_a_mark_is_where_and_when_it_happened():
    receipt, invoice = drawn("retries").rows

    assert [
        ("claim", 3, x(0)),
        ("retry", 4, x(0)),
        ("claim", 12, x(1_000)),
        ("retry", 13, x(1_000)),
        ("claim", 17, x(3_000)),
        ("retry", 18, x(3_000)),
        ("claim", 22, x(7_000)),
        ("effect", 23, x(7_000)),
        ("ack", 25, x(7_000)),
    ] == marks(receipt)
    assert [("claim", 6, x(0)), ("ack", 8, x(0))] == marks(invoice)


def test_marks_that_share_a_moment_stand_around_it():
    receipt, _ = drawn("retries").rows
    shown = [mark.shown for mark in receipt.marks]

    assert [x(0), x(0) + MARK_WIDTH] == shown[:2]  # nothing is drawn left of the beginning
    assert [x(3_000) - MARK_WIDTH / 2, x(3_000) + MARK_WIDTH / 2] == shown[4:6]
    assert [x(7_000) - MARK_WIDTH, x(7_000), x(7_000) + MARK_WIDTH] == shown[6:]


def test_bars_and_marks_say_what_they_are():
    receipt, _ = drawn("retries").rows

    assert "job-1: delayed from t=1s" == receipt.segments[1].title
    assert (
        "t=1s, step 13: The worker reports that job-1 failed: attempt 2 of 5, due again at t=3s."
        == receipt.marks[3].title
    )


def test_the_axis_counts_seconds():
    timeline = drawn("retries")

    assert timeline.by_time
    assert [(x(0), "0s"), (x(2_000), "2s"), (x(4_000), "4s"), (x(6_000), "6s"), (x(8_000), "8s")] == timeline.ticks


def test_the_cursor_is_at_the_time_of_its_step():
    section = contents.section("retries")
    steps = section.record(section.Params()).steps

    assert [x(step.at_ms) for step in steps] == [drawn("retries").left(step) for step in steps]


# Runs without time, without jobs


def test_the_axis_counts_steps_when_no_time_passes():
    timeline = drawn_run(lambda queue, clock, lab: [queue.enqueue("a", {}), queue.claim(), queue.ack("job-1")])
    (row,) = timeline.rows

    assert not timeline.by_time
    assert [x(0, 3), x(1, 3), x(2, 3)] == timeline.places
    assert [(x(0, 3), "1"), (x(1, 3), "2"), (x(2, 3), "3")] == timeline.ticks
    assert [("waiting", 1, x(0, 3), 32.0), ("leased", 2, x(1, 3), 32.0), ("done", 3, x(2, 3), 32.0)] == segments(row)
    assert "job-1: leased from step 2" == row.segments[1].title
    assert "t=0s, step 2: The program claims job-1 (a): attempt 1, leased until t=30s." == row.marks[0].title


def test_a_run_of_one_step_is_drawn():
    timeline = drawn_run(lambda queue, clock, lab: lab.print("hello"))

    assert [1.5] == timeline.places
    assert [(1.5, "1")] == timeline.ticks
    assert [["print"]] == [[mark.kind for mark in row.marks] for row in timeline.rows]


def test_without_jobs_the_actors_are_the_rows_and_their_time_is_drawn():
    checkout, program = drawn("sync-checkout", card_ms=10, pdf_ms=60, mail_ms=30).rows

    assert ["the checkout", "the program"] == [checkout.label, program.label]
    assert [("busy", 1, x(0, 100), 9.6), ("busy", 4, x(10, 100), 57.6), ("busy", 5, x(70, 100), 28.8)] == segments(
        checkout
    )
    assert [("effect", 2, x(10, 100)), ("print", 3, x(10, 100)), ("refused", 6, x(100, 100))] == marks(checkout)
    assert [("print", 7, x(100, 100)), ("print", 8, x(100, 100))] == marks(program)


# Long runs


def test_a_drawing_has_a_dozen_rows_and_counts_the_others():
    timeline = drawn("retries", receipts=50)

    assert [f"job-{number}" for number in range(1, MAX_ROWS + 1)] == [row.label for row in timeline.rows]
    assert 100 - MAX_ROWS == timeline.hidden_rows
    assert 0 == drawn("retries", receipts=6).hidden_rows


def test_rows_that_are_left_out_are_told_under_the_drawing(page):
    note = page("/retries?receipts=50").one(class_="timeline").one(class_="more")

    assert "and 88 more jobs, drawn nowhere but told in the list of steps" == note.text


# Whatever runs


def test_all_of_a_drawing_is_inside_it(run):
    timeline = draw(run.recording)

    assert timeline.rows
    assert len(timeline.ticks) <= 7
    assert all(1.5 <= left <= 97.5 for left, _ in timeline.ticks)
    for row in timeline.rows:
        assert all(1.5 <= mark.left <= 97.5 for mark in row.marks)
        assert all(part.width > 0 and part.left + part.width < 97.502 for part in row.segments)


def test_bars_of_a_job_follow_one_another(run):
    for row in draw(run.recording).rows:
        ends = [part.left + part.width for part in row.segments]

        assert all(end <= part.left + 0.002 for end, part in zip(ends, row.segments[1:], strict=False))


def test_marks_that_share_a_place_do_not_cover_one_another(run):
    for row in draw(run.recording).rows:
        apart = min(MARK_WIDTH, 96 / max(1, len(row.marks) - 1)) - 0.002

        assert all(before.shown + apart <= after.shown for before, after in pairwise(row.marks))
        assert all(1.5 <= mark.shown <= 97.5 for mark in row.marks)


def test_each_retry_death_and_ack_of_a_drawn_job_is_marked(run):
    timeline = draw(run.recording)
    drawn_jobs = {row.label for row in timeline.rows}
    happened = [
        (step.job, step.kind, step.number)
        for step in run.recording.steps
        if step.kind in ("claim", "ack", "retry", "dead", "lease expired") and step.job in drawn_jobs
    ]
    marked = [(row.label, mark.kind, mark.step) for row in timeline.rows for mark in row.marks]

    assert set(happened) <= set(marked)


# On the page


def test_the_page_draws_what_the_drawing_says(run, page, follow):
    timeline = draw(run.recording)
    shown = page(run.address(step=2)).one("svg", class_="drawing")
    rows = shown.all("g", class_="row")

    assert [row.label for row in timeline.rows] == [row["data-row"] for row in rows]
    for row, drawn_row in zip(timeline.rows, rows, strict=True):
        assert [(f"{part.left}%", f"{part.width}%", part.lane, part.title) for part in row.segments] == [
            (bar["x"], bar["width"], bar.classes[-1], bar.one("title").raw) for bar in drawn_row.all("rect")
        ]
        assert [(f"{mark.shown}%", str(mark.step), mark.title) for mark in row.marks] == [
            (mark["x"], mark["data-step"], mark.one("title").raw) for mark in drawn_row.all("svg")
        ]
        ends = [line["x2"] for line in drawn_row.all("line", class_="leader")]
        assert [f"{mark.left}%" for mark in row.marks for _ in "ab"] == ends
        steps = [str(part.step) for part in [*row.segments, *row.marks]]
        opens_at = str(len(run.recording.steps)) if run.section.controls else "1"
        assert steps == [follow(link["href"])[1].get("step", opens_at) for link in drawn_row.all("a")]


def test_the_legend_names_what_is_drawn_and_nothing_else(run, page):
    rows = draw(run.recording).rows
    shown = page(run.address(step=1)).one("section", class_="timeline").one(class_="legend").all("li")
    drawn = {part.lane for row in rows for part in row.segments}, {mark.kind for row in rows for mark in row.marks}

    assert sorted([*drawn[0], *drawn[1]]) == sorted(item.text for item in shown)


@pytest.mark.parametrize("step", [1, 12, 28])
def test_the_page_draws_a_cursor_at_its_step(step, page):
    section = contents.section("retries")
    at_ms = section.record(section.Params()).steps[step - 1].at_ms
    cursor = page(f"/retries?step={step}").one("line", class_="cursor")

    assert f"{x(at_ms)}%" == cursor["x1"] == cursor["x2"]


def test_the_page_says_when_the_axis_counts_steps(page):
    def told(address):
        timeline = page(address).one("section", class_="timeline")
        return len(timeline.one("h2").all("small")), timeline.one("svg", class_="drawing")["aria-label"].split(",")[1]

    assert (1, " steps across") == told("/fan-out")
    assert (0, " time across") == told("/retries")


def test_a_lease_that_is_over_is_drawn_as_over_though_nobody_looked():
    (row,) = drawn(
        "redelivery", visibility_ms=1_000, first_look_ms=3_600_000, second_look_ms=3_600_000, a_dies="before"
    ).rows
    leased = next(segment for segment in row.segments if segment.lane == "leased")
    ended = next(mark for mark in row.marks if mark.kind == "lease expired")

    assert leased.width < 0.1  # a second of an hour
    assert ended.left < 2
