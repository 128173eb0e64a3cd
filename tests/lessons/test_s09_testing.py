"""The promises and what breaks them: every mutant is a real change, and is judged by a real run."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from lessons import mutation
from lessons.s09_testing import handlers, missing, promises

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 2_000

each_mutant = pytest.mark.parametrize("slug", mutation.mutants())
each_survivor = pytest.mark.parametrize("slug", [mutant.slug for mutant in mutation.survivors()])


def caught_by(slug):
    return {outcome.test for outcome in mutation.keep_promises(slug) if not outcome.passed}


@pytest.mark.parametrize("name", mutation.promises())
def test_the_reference_keeps_each_promise(name):
    getattr(promises, name)()


def test_a_message_delivered_three_times_has_one_effect():
    handlers.test_three_deliveries_are_one_credit()


def test_there_are_five_promises_and_at_least_twelve_mutants():
    assert 5 == len(mutation.promises()) == len(mutation.keep_promises())
    assert 12 <= len(mutation.mutants())


@each_mutant
def test_each_change_fits_in_one_place_and_changes_the_code(slug):
    mutant = mutation.mutants()[slug]
    original = (ROOT / "lessons" / mutant.file).read_text(encoding="utf-8")
    changed = mutation.source(mutant)

    assert [1] * len(mutant.changes) == [original.count(old) for old, _ in mutant.changes]
    assert ast.dump(ast.parse(original)) != ast.dump(ast.parse(changed))


def test_a_change_that_fits_nowhere_is_refused():
    mutants = importlib.import_module("lessons.s09_testing.mutants")

    with pytest.raises(ValueError, match="stands 0 times"):
        mutation.source(mutants.Mutant("none", "None", mutants.QUEUE, (("no such text", ""),)))


@each_mutant
def test_no_run_goes_on_for_long(slug):
    lines = 0

    def count(frame, event, _):
        nonlocal lines
        if not frame.f_code.co_filename.startswith(str(ROOT / "lessons")):
            return None
        lines += event == "line"
        assert lines < MOST_LINES
        return count

    mutation._run.cache_clear()
    before = sys.gettrace()
    sys.settrace(count)
    try:
        mutation.keep_promises(slug)
    finally:
        sys.settrace(before)

    assert 0 < lines < MOST_LINES


@pytest.mark.parametrize(
    ("slug", "tests"),
    [
        ("lease-late", {"test_job_without_an_ack_is_delivered_again"}),
        ("lease-early", {"test_job_without_an_ack_is_delivered_again"}),
        ("counted-late", {"test_job_without_an_ack_is_delivered_again"}),
        ("dead-late", {"test_last_attempt_leads_to_the_dead_letters"}),
        ("no-cap", {"test_backoff_doubles_up_to_its_cap"}),
        ("repeat-added", {"test_second_enqueue_with_the_same_id_is_ignored"}),
        ("repeat-replaces", set()),
        ("ack-keeps", set()),
        ("permanent-ignored", set()),
    ],
)
def test_these_tests_catch_it(slug, tests):
    assert tests == caught_by(slug)


def test_each_promise_catches_some_mutant_and_some_mutants_survive():
    assert set(mutation.promises()) == set().union(*map(caught_by, mutation.mutants()))
    assert mutation.survivors()


def test_a_failed_test_tells_its_line():
    outcome = mutation.keep_promises("lease-late")[3]
    lines = (ROOT / "lessons" / mutation.folder() / "promises.py").read_text(encoding="utf-8").splitlines()

    assert ("assert queue.claim().attempts == 2", False) == (outcome.source, outcome.passed)
    assert outcome.source == lines[outcome.line - 1].strip()
    assert "AttributeError: 'NoneType' object has no attribute 'attempts'" == outcome.error


def test_the_real_modules_stay_as_they_are():
    for slug in mutation.mutants():
        mutation.keep_promises(slug)

    for test in mutation.promises():
        getattr(promises, test)()


def test_asserts_count_even_if_python_leaves_them_out():
    program = "from lessons import mutation; print(mutation.keep_promises('dead-late')[2].passed)"
    ran = subprocess.run([sys.executable, "-O", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "False\n" == ran.stdout


@each_survivor
def test_one_candidate_is_the_missing_test_of_each_survivor(slug):
    right = [
        test
        for test in mutation.candidates()
        if mutation.try_candidate(test, slug, changed=False).passed and not mutation.try_candidate(test, slug).passed
    ]

    assert right


def test_two_candidates_ask_for_what_the_lesson_s_queue_does_not_promise():
    wrong = [test for test in mutation.candidates() if not mutation.try_candidate(test).passed]

    assert ["test_id_stays_known_after_the_ack", "test_late_ack_leaves_the_job_to_its_new_holder"] == wrong


def test_a_late_ack_is_refused_by_the_hardened_queue_and_accepted_by_its_mutant():
    late_ack = "test_late_ack_leaves_the_job_to_its_new_holder"

    assert mutation.try_candidate(late_ack, "stale-ack-accepted", changed=False).passed
    assert not mutation.try_candidate(late_ack, "stale-ack-accepted").passed
    assert set() == caught_by("stale-ack-accepted")
    with pytest.raises(AssertionError):
        missing.test_id_stays_known_after_the_ack()
