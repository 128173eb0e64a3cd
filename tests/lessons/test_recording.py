import pytest

from lessons.recorder import record
from lessons.recording import as_text, in_seconds
from lessons.reference.clock import ManualClock


def test_the_text_with_steps_has_a_sentence_for_each_and_what_it_printed():
    def run(_, lab):
        clock = lab.watch_clock(ManualClock())
        clock.advance(1_500)
        lab.print("one\ntwo")

    text = as_text(record(run, None), steps=True)

    assert "   1  t=1.5s  The clock moves on 1.5s, to t=1.5s.\n   2  t=1.5s  The program prints" in text
    assert text.endswith("\n      > one\n      > two\n")


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
