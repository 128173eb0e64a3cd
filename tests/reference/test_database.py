import sqlite3
from contextlib import closing

import pytest

from lessons.reference.database import transaction


@pytest.fixture
def statements(db):
    """All that the database is told, as it is told."""
    db.execute("CREATE TABLE notes (text TEXT NOT NULL UNIQUE)")
    said = []
    db.set_trace_callback(said.append)
    return said


def notes(db):
    return [text for (text,) in db.execute("SELECT text FROM notes ORDER BY text")]


def test_all_changes_of_a_block_count_together(db, statements):
    with transaction(db):
        db.execute("INSERT INTO notes VALUES ('a')")
        db.execute("INSERT INTO notes VALUES ('b')")

    assert [
        "BEGIN IMMEDIATE",
        "INSERT INTO notes VALUES ('a')",
        "INSERT INTO notes VALUES ('b')",
        "COMMIT",
    ] == statements
    assert ["a", "b"] == notes(db)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_ends_a_block_takes_all_its_changes_back(db, statements, error):
    with pytest.raises(error), transaction(db):
        db.execute("INSERT INTO notes VALUES ('a')")
        raise error

    assert ["BEGIN IMMEDIATE", "INSERT INTO notes VALUES ('a')", "ROLLBACK"] == statements
    assert not db.in_transaction
    assert [] == notes(db)


def test_an_error_of_the_database_is_told_and_takes_the_changes_back(db, statements):
    with pytest.raises(sqlite3.IntegrityError), transaction(db):
        db.execute("INSERT INTO notes VALUES ('a')")
        db.execute("INSERT INTO notes VALUES ('a')")

    assert [] == notes(db)


def test_an_error_that_has_rolled_back_already_is_the_one_that_is_told(db, statements):
    with pytest.raises(sqlite3.IntegrityError), transaction(db):
        db.execute("INSERT INTO notes VALUES ('a')")
        db.execute("INSERT OR ROLLBACK INTO notes VALUES ('a')")

    assert [] == notes(db)


def test_a_return_out_of_the_block_commits(db, statements):
    def save():
        with transaction(db):
            db.execute("INSERT INTO notes VALUES ('a')")
            return "saved"

    assert "saved" == save()
    assert "COMMIT" == statements[-1]


def test_a_transaction_in_a_transaction_is_refused_and_nothing_of_either_counts(db, statements):
    with pytest.raises(sqlite3.OperationalError), transaction(db):
        db.execute("INSERT INTO notes VALUES ('a')")
        with transaction(db):
            pass

    assert [] == notes(db)


def test_the_lock_is_taken_at_the_beginning(tmp_path):
    file = tmp_path / "lab.db"
    with (
        closing(sqlite3.connect(file, isolation_level=None)) as first,
        closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as second,
        transaction(first),
        pytest.raises(sqlite3.OperationalError, match="locked"),
        transaction(second),
    ):
        pytest.fail("both are in a transaction")
