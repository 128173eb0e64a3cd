import sqlite3

import pytest

from lessons.recorder import record
from lessons.recording import Table
from lessons.reference.database import transaction


@pytest.fixture
def db(new_lab):
    lab = new_lab()
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
