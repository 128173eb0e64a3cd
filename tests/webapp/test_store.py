"""What is kept, in a file that others may open, damage, lock or take away."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from webapp import store
from webapp.store import Drawn, Store, Unusable

ROOT = Path(__file__).resolve().parents[2]
FIVE = tuple(Drawn(f"family-{number}", number, 1) for number in range(1, 6))

AT = "2026-01-01T00:00:00Z"
FULL = store.Progress(
    {"here": AT, "there": AT},
    {"this": AT},
    {"that": AT},
    (store.Attempt(1, AT, tuple(replace(one, answer="a", right=True, answered_at=AT) for one in FIVE)),),
    "/here?step=2",
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "kept.sqlite3"


@pytest.fixture
def kept(path):
    return Store(path)


def new(kept):
    with kept.writing(None) as learner:
        return learner.token


def query(path, sql):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


# The file


def test_nothing_is_made_until_something_is_written(kept, path):
    with kept.reading("somebody") as learner:
        assert learner is None
    assert not path.parent.exists()
    new(kept)

    assert path.is_file()


def test_the_file_is_in_wal_mode_and_has_the_number_of_the_last_migration(kept, path):
    new(kept)

    assert [("wal",)] == query(path, "PRAGMA journal_mode")
    assert [(len(store.MIGRATIONS),)] == query(path, "PRAGMA user_version")


def test_a_folder_gets_a_file_of_ours(tmp_path):
    new(Store(tmp_path))

    assert (tmp_path / store.FILE).is_file()


def test_a_file_of_version_1_is_brought_up_with_all_that_is_in_it(kept, path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(store.MIGRATIONS[0])
        digest = store._hash("a token")
        connection.execute("INSERT INTO learners VALUES (7, ?, '2026-01-01T00:00:00Z', '/here?step=2')", (digest,))
        connection.execute("INSERT INTO seen VALUES (7, 'here', '2026-01-01T00:00:00Z')")
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with kept.reading("a token") as learner:
        before = learner.progress()
    with kept.writing("a token") as learner:
        learner.add(FIVE)
        after = learner.progress()

    assert ({"here": "2026-01-01T00:00:00Z"}, "/here?step=2", ()) == (before.seen, before.place, before.attempts)
    assert FIVE == after.attempts[0].questions
    assert [(len(store.MIGRATIONS),)] == query(path, "PRAGMA user_version")


def test_a_file_of_version_2_is_brought_up_with_all_that_is_in_it(kept, path):
    path.parent.mkdir()
    at = "2026-01-01T00:00:00Z"
    with closing(sqlite3.connect(path)) as connection:
        for migration in store.MIGRATIONS[:2]:
            connection.executescript(migration)
        connection.execute("INSERT INTO learners VALUES (7, ?, ?, '/here')", (store._hash("a token"), at))
        connection.execute("INSERT INTO solved VALUES (7, 'this', ?)", (at,))
        connection.execute("INSERT INTO attempts VALUES (7, 1, ?)", (at,))
        connection.execute("INSERT INTO questions VALUES (7, 1, 1, 'family', 3, 2, 'a', 1, ?)", (at,))
        connection.execute("PRAGMA user_version = 2")
        connection.commit()
    with kept.reading("a token") as learner:
        before = learner.progress()
    with kept.writing("a token") as learner:
        learner.reach("that", at)
        after = learner.progress()

    attempt = store.Attempt(1, at, (Drawn("family", 3, 2, "a", True, at),))
    assert store.Progress({}, {"this": at}, {}, (attempt,), "/here") == before
    assert replace(before, goals={"that": at}) == after
    assert [(len(store.MIGRATIONS),)] == query(path, "PRAGMA user_version")


def spoil_bytes(path):
    path.write_bytes(b"this is no database, " * 500)


def spoil_tables(path):
    new(Store(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE learners")


def spoil_pages(path):
    new(Store(path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))


def make_newer(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def make_foreign(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE shopping (item)")


def lock(path):
    new(Store(path))
    lock.held = sqlite3.connect(path, isolation_level=None)
    lock.held.execute("BEGIN EXCLUSIVE")


@pytest.mark.parametrize("spoil", [spoil_bytes, spoil_tables, spoil_pages, make_newer, make_foreign, lock])
def test_a_file_that_cannot_be_used_is_told_once_and_left_as_it_is(spoil, path, monkeypatch, caplog):
    monkeypatch.setattr(store, "BUSY_MS", 1)
    path.parent.mkdir()
    spoil(path)
    before = path.read_bytes()
    kept = Store(path)
    for _ in range(2):
        with pytest.raises(Unusable), kept.writing(None):
            pass
    lines = [record.getMessage() for record in caplog.records]
    if spoil is lock:
        lock.held.close()

    assert 1 == len(lines)
    assert lines[0].startswith(f"queue-lab: no progress is kept, for {path} cannot be used: ")
    assert lines[0].endswith("Another program holds it." if spoil is lock else "or choose another with --data.")
    assert "\n" not in lines[0]
    assert before == path.read_bytes()


def test_a_path_that_cannot_be_made_is_unusable(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Unusable), Store(tmp_path / "file" / "kept").writing(None):
        pass


def test_a_file_that_cannot_be_reached_is_not_taken_for_none(tmp_path):
    for transaction in (Store(tmp_path / ("x" * 300)).reading("a token"), Store(tmp_path / ("x" * 300)).writing(None)):
        with pytest.raises(Unusable), transaction:
            pass


def test_a_file_with_any_bit_wrong_is_read_or_unusable(kept, path):
    with kept.writing(None) as learner:
        learner.merge(FULL)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sound = path.read_bytes()
    refused = 0
    for place in [place for place, byte in enumerate(sound) if byte][::5]:
        path.write_bytes(sound[:place] + bytes([sound[place] ^ 0x80]) + sound[place + 1 :])
        try:
            with kept.reading(learner.token) as found:
                assert found is None or isinstance(found.progress(), store.Progress)
        except Unusable:
            refused += 1

    assert refused > 20


def test_whoever_waits_for_another_process_holds_up_nobody(kept, path, monkeypatch):
    new(kept)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    slept: list[float] = []

    def sleep(seconds):  # by which a greenlet gives way to others; here the other process ends meanwhile
        slept.append(seconds)
        if len(slept) == 3:
            other.close()

    monkeypatch.setattr(store.time, "sleep", sleep)
    with kept.writing(None) as learner:
        learner.see("here")

    assert 3 == len(slept)
    assert [(1,)] == query(path, "SELECT count(*) FROM seen")


def test_no_path_is_unusable(caplog):
    kept = Store(None)
    for transaction in (kept.writing(None), kept.reading("a token")):
        with pytest.raises(Unusable), transaction:
            pass

    assert ["there is no home folder to put it in"] == [record.args[1] for record in caplog.records]


def test_a_file_that_was_taken_away_is_made_again(kept, path):
    token = new(kept)
    for file in path.parent.iterdir():
        file.unlink()
    with kept.reading(token) as learner:
        assert learner is None
    new(kept)

    assert path.is_file()


def test_several_processes_may_begin_and_write_at_once(path):
    program = (
        "import sys; from pathlib import Path; from webapp.store import Store\n"
        "kept, token = Store(Path(sys.argv[1])), None\n"
        "for n in range(20):\n"
        "    with kept.writing(token) as learner: learner.see(f's{n}'); token = learner.token\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", program, path], cwd=ROOT) for _ in range(4)]

    assert [0] * 4 == [process.wait(60) for process in processes]
    assert [(4, 80)] == query(path, "SELECT count(DISTINCT learner), count(*) FROM seen")


# Learners


def test_the_file_has_only_the_hash_of_a_token(kept, path):
    token = new(kept)

    assert len(token) >= 43
    assert token.encode() not in b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_a_token_that_is_not_known_is_not_taken_over(kept):
    with kept.writing("chosen by somebody") as learner:
        assert "chosen by somebody" != learner.token
    with kept.reading("chosen by somebody") as learner:
        assert learner is None


def test_what_fails_half_way_is_not_kept(kept):
    token = new(kept)
    with pytest.raises(ZeroDivisionError), kept.writing(token) as learner:
        learner.see("here")
        raise ZeroDivisionError
    with kept.reading(token) as learner:
        assert {} == learner.progress().seen


def test_the_first_time_counts(kept):
    with kept.writing(None) as learner:
        for at in ("2026-02-02T00:00:00Z", "2026-01-01T00:00:00Z", "2026-03-03T00:00:00Z"):
            learner.see("here", at)
            learner.solve("this", at)
            learner.reach("that", at)
        progress = learner.progress()

    first = "2026-01-01T00:00:00Z"
    assert ({"here": first}, {"this": first}, {"that": first}) == (progress.seen, progress.solved, progress.goals)


def test_the_first_answer_counts(kept):
    with kept.writing(None) as learner:
        attempt = learner.add(FIVE)
        learner.answer(attempt.id, 2, "a", False)
        learner.answer(attempt.id, 2, "b", True)
        [kept_attempt] = learner.attempts()

    assert ("a", False) == (kept_attempt.questions[1].answer, kept_attempt.questions[1].right)
    assert (0, 1) == (kept_attempt.score, kept_attempt.first_open)


def test_answers_are_kept_with_their_text_while_there_is_room(kept, monkeypatch):
    monkeypatch.setattr(store, "MOST_ANSWER_BYTES", 6)
    with kept.writing(None) as learner:
        attempt = learner.add(FIVE)
        for number, text in enumerate(("1234", "too long", "56", "7", ""), start=1):
            learner.answer(attempt.id, number, text, True)
            learner.answer(attempt.id, number, text, True)  # takes no room again
        same = learner.attempts()
    with kept.writing(learner.token) as learner:
        learner.answer(learner.add(FIVE).id, 1, "1234", True)
        later = learner.attempts()

    assert ["1234", "", "56", "", ""] == [question.answer for question in same[0].questions]
    assert [5, 1] == [attempt.score for attempt in later]
    assert "" == later[1].questions[0].answer


def test_there_is_a_most_of_attempts(kept, monkeypatch):
    monkeypatch.setattr(store, "MOST_ATTEMPTS", 2)
    with kept.writing(None) as learner:
        learner.add(FIVE)
        learner.add(FIVE)
    with pytest.raises(store.Full, match="more than the 2 attempts"), kept.writing(learner.token) as learner:
        learner.add(FIVE)


def test_learners_do_not_see_one_another(kept):
    one, other = new(kept), new(kept)
    with kept.writing(one) as learner:
        learner.add(FIVE)
        learner.see("here")
        learner.reach("that")
        learner.go_to("/here")
    with kept.reading(other) as learner:
        assert store.Progress({}, {}, {}, (), None) == learner.progress()


def test_whoever_is_forgotten_leaves_nothing(kept, path):
    with kept.writing(None) as learner:
        learner.add(FIVE)
        learner.see("here")
        learner.solve("this")
        learner.reach("that")
    with kept.writing(learner.token) as learner:
        learner.forget()

    for table in ("learners", "seen", "solved", "goals", "attempts", "questions"):
        assert [(0,)] == query(path, f"SELECT count(*) FROM {table}"), table


def test_whoever_did_not_come_for_long_is_forgotten(kept, path):
    old, token = new(kept), new(kept)
    with closing(sqlite3.connect(path)) as connection:
        long_ago = ("2020-01-01T00:00:00Z", store._hash(old))
        connection.execute("UPDATE learners SET visited_at = ? WHERE token_hash = ?", long_ago)
        connection.commit()
    new(kept)
    for one, there in ((old, False), (token, True)):
        with kept.reading(one) as learner:
            assert there == bool(learner)


def test_merging_adds_fills_in_and_is_the_same_twice(kept):
    with kept.writing(None) as learner:
        attempt = learner.add(FIVE, "2026-01-01T00:00:00Z")
        learner.see("here", "2026-01-01T00:00:00Z")
        learner.reach("that", "2026-01-01T00:00:00Z")
        learner.go_to("/here?step=3")
        elsewhere = store.Progress(
            {"here": "2025-01-01T00:00:00Z", "there": "2026-01-01T00:00:00Z"},
            {"this": "2026-01-01T00:00:00Z"},
            {"that": "2025-01-01T00:00:00Z"},
            (attempt.answered(1, "a", True), store.Attempt(0, "2026-05-05T00:00:00Z", FIVE)),
            "/there",
        )
        learner.merge(elsewhere)
        once = learner.progress()
        learner.merge(elsewhere)
        twice = learner.progress()

    assert once == twice
    assert (elsewhere.seen, elsewhere.solved, elsewhere.goals) == (once.seen, once.solved, once.goals)
    assert "/here?step=3" == once.place
    assert [("a", 2), (None, 1)] == [(one.questions[0].answer, one.first_open) for one in once.attempts]
