"""What is kept about learners: one SQLite file, and this module alone opens it.

Each use opens the file, makes one short transaction and closes it, so that greenlets and processes share nothing
but the file. A learner is known by a random token; the file has only its hash.
"""

import hashlib
import json
import logging
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

FILE = "queue-lab.sqlite3"
KEPT_DAYS = 400  # after the last visit; by then the cookie, which lasts a year, is gone
# Of one learner, so that all of it fits into a file that can be imported.
MOST_ATTEMPTS = 500
MOST_ANSWER_BYTES = 200_000  # of all answers, as JSON; past it only whether they are right is kept
BUSY_MS = 1_000  # for another process to end its transaction
MIGRATIONS = (
    # A file's user_version is the number of these that it has been through. Add to the end, change nothing above.
    """
    CREATE TABLE learners (
        id INTEGER PRIMARY KEY,
        token_hash BLOB NOT NULL UNIQUE,
        visited_at TEXT NOT NULL,
        place TEXT
    );
    CREATE TABLE seen (
        learner INTEGER NOT NULL REFERENCES learners ON DELETE CASCADE,
        section TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (learner, section)
    );
    CREATE TABLE solved (
        learner INTEGER NOT NULL REFERENCES learners ON DELETE CASCADE,
        exercise TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (learner, exercise)
    )
    """,
    """
    CREATE TABLE attempts (
        learner INTEGER NOT NULL REFERENCES learners ON DELETE CASCADE,
        attempt INTEGER NOT NULL,
        started_at TEXT NOT NULL,
        PRIMARY KEY (learner, attempt)
    );
    CREATE TABLE questions (
        learner INTEGER NOT NULL,
        attempt INTEGER NOT NULL,
        number INTEGER NOT NULL,
        family TEXT NOT NULL,
        seed INTEGER NOT NULL,
        objective INTEGER NOT NULL,
        answer TEXT,
        is_right INTEGER,
        answered_at TEXT,
        PRIMARY KEY (learner, attempt, number),
        FOREIGN KEY (learner, attempt) REFERENCES attempts ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE goals (
        learner INTEGER NOT NULL REFERENCES learners ON DELETE CASCADE,
        goal TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (learner, goal)
    )
    """,
)
DAMAGED = sqlite3.DatabaseError("its contents are damaged")
log = logging.getLogger(__name__)


class Unusable(Exception):
    """The file cannot be used now; why is in the log."""


class Full(ValueError):
    """A learner has as many attempts as are kept."""


@dataclass(frozen=True)
class Drawn:
    """A question of an attempt: the family and seed that make it again, and the answer once there is one."""

    family: str
    seed: int
    objective: int
    answer: str | None = None
    right: bool | None = None
    answered_at: str | None = None


@dataclass(frozen=True)
class Attempt:
    """Questions that were drawn together. `id` is its place among the learner's attempts, from 1."""

    id: int | str
    started_at: str
    questions: tuple[Drawn, ...]

    @property
    def score(self) -> int:
        return sum(question.right is True for question in self.questions)

    @property
    def kept(self) -> bool:
        """False for one that lives in its own address, which is its `id`."""
        return isinstance(self.id, int)

    @property
    def first_open(self) -> int | None:
        """The number of the first question without an answer; None when the attempt is over."""
        return next((n for n, question in enumerate(self.questions, start=1) if question.right is None), None)

    def answered(self, number: int, answer: str, right: bool) -> "Attempt":
        """The attempt with this answer; as it is if the question has one, for the first answer counts."""
        questions = list(self.questions)
        if questions[number - 1].right is None:
            questions[number - 1] = replace(questions[number - 1], answer=answer, right=right, answered_at=now())
        return replace(self, questions=tuple(questions))


@dataclass(frozen=True)
class Progress:
    """All that is kept about a learner. `seen`, `solved` and `goals` are names with the time of the first time."""

    seen: dict[str, str]
    solved: dict[str, str]
    goals: dict[str, str]
    attempts: tuple[Attempt, ...]
    place: str | None


class Store:
    """The file, made when something is first written. `path` may name a folder; None is no file at all."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._reported = False

    @contextmanager
    def reading(self, token: str | None, begin: str = "BEGIN") -> Iterator["Learner | None"]:
        """The learner of that token, or None; Unusable."""
        if not token or self._is_missing():
            yield None
            return
        with self._transaction(begin, mode="rw") as connection:
            yield _find(connection, token)

    @contextmanager
    def writing(self, token: str | None) -> Iterator["Learner"]:
        """The learner of that token, or a new one with a token of their own; all is written or nothing. Unusable."""
        with self._transaction("BEGIN IMMEDIATE", mode="rwc") as connection:
            # A token that is not known is not taken over: only tokens made here are.
            learner = _find(connection, token) if token else None
            learner = learner or _new(connection)
            connection.execute("UPDATE learners SET visited_at = ? WHERE id = ?", (now(), learner.id))
            yield learner
        self._reported = False

    def forget(self, token: str | None) -> None:
        """Delete the learner of that token and all that is kept about them, if there is one. Unusable."""
        with self.reading(token, "BEGIN IMMEDIATE") as learner:
            if learner:
                learner.forget()

    @contextmanager
    def _transaction(self, begin: str, mode: str) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._open(mode)) as connection:
                _patiently(connection, begin)
                yield connection
                _patiently(connection, "COMMIT")
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:  # SQLite's own words of a damaged file
            if not self._reported:  # one line a fault, not one a request
                self._reported = True
                log.error(
                    "queue-lab: no progress is kept, for %s cannot be used: %s. %s",
                    self.path or "the data file",
                    str(error).rstrip("."),
                    "Another program holds it."
                    if _is_busy(error)
                    else "Repair it, move it away, or choose another with --data.",
                )
            raise Unusable(str(error)) from error

    @property
    def file(self) -> str:
        """Where the file is, or will be."""
        if self.path is None:
            raise OSError("there is no home folder to put it in")
        path = os.path.abspath(self.path)
        return os.path.join(path, FILE) if os.path.isdir(path) else path

    def _is_missing(self) -> bool:
        try:
            os.stat(self.file)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:  # it may well be there
            pass
        return False

    def _open(self, mode: str) -> sqlite3.Connection:
        file = Path(self.file)
        if mode == "rwc":
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        connection = sqlite3.connect(f"{file.as_uri()}?mode={mode}", uri=True, isolation_level=None, timeout=0.02)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")  # what a learner deletes is gone from the file too
            if _version(connection) != len(MIGRATIONS):
                _migrate(connection)
            if mode == "rwc":
                with suppress(sqlite3.OperationalError):  # a disk without shared memory: slower, not wrong
                    connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
        return connection


class Learner:
    """What one learner has done, within a transaction. `token` is known to the learner's browser alone."""

    def __init__(self, connection: sqlite3.Connection, id: int, token: str) -> None:
        self._connection, self.id, self.token = connection, id, token

    def see(self, section: str, at: str | None = None) -> None:
        """Note that a section was seen; the earliest time counts."""
        self._note("seen", "section", section, at)

    def solve(self, exercise: str, at: str | None = None) -> None:
        """Note that an exercise was solved; the earliest time counts."""
        self._note("solved", "exercise", exercise, at)

    def reach(self, goal: str, at: str | None = None) -> None:
        """Note that a goal was reached; the earliest time counts."""
        self._note("goals", "goal", goal, at)

    def go_to(self, place: str) -> None:
        """Note the address where the learner is."""
        self._connection.execute("UPDATE learners SET place = ? WHERE id = ?", (place, self.id))

    def progress(self) -> Progress:
        """All that is kept."""
        seen, solved = self._times("seen", "section"), self._times("solved", "exercise")
        (place,) = self._row("SELECT place FROM learners WHERE id = ?", str | None)
        return Progress(seen, solved, self.goals(), self.attempts(), place)

    def goals(self) -> dict[str, str]:
        """The goals that were reached, with the time of the first time."""
        return self._times("goals", "goal")

    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts at the quiz, the first one first."""
        questions: dict[int, list[Drawn]] = {}
        for attempt, family, seed, objective, answer, right, at in self._rows(
            "SELECT attempt, family, seed, objective, answer, is_right, answered_at"
            " FROM questions WHERE learner = ? ORDER BY attempt, number",
            *(int, str, int, int, str | None, int | None, str | None),
        ):
            drawn = Drawn(family, seed, objective, answer, None if right is None else bool(right), at)
            questions.setdefault(attempt, []).append(drawn)
        started = self._rows("SELECT attempt, started_at FROM attempts WHERE learner = ? ORDER BY attempt", int, str)
        return tuple(Attempt(id, at, tuple(questions.get(id, ()))) for id, at in started)

    def add(self, questions: tuple[Drawn, ...], started_at: str | None = None) -> Attempt:
        """A new attempt with these questions and their answers; Full."""
        (last,) = self._row("SELECT coalesce(max(attempt), 0) FROM attempts WHERE learner = ?", int)
        if last >= MOST_ATTEMPTS:
            raise Full(f"quiz would have more than the {MOST_ATTEMPTS} attempts that are kept")
        attempt = Attempt(last + 1, started_at or now(), questions)
        self._connection.execute("INSERT INTO attempts VALUES (?, ?, ?)", (self.id, attempt.id, attempt.started_at))
        self._connection.executemany(
            "INSERT INTO questions VALUES (?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
            [(self.id, last + 1, number, q.family, q.seed, q.objective) for number, q in enumerate(questions, start=1)],
        )
        self._answer_all(last + 1, questions)
        return attempt

    def answer(self, attempt: int, number: int, answer: str, right: bool, at: str | None = None) -> None:
        """Keep the answer to a question that has none; else the first one stays. Too long a text is left out."""
        if _size(answer) > self._room:
            answer = ""
        changed = self._connection.execute(
            "UPDATE questions SET answer = ?, is_right = ?, answered_at = ?"
            " WHERE learner = ? AND attempt = ? AND number = ? AND is_right IS NULL",
            (answer, right, at or now(), self.id, attempt, number),
        )
        self._room -= _size(answer) * changed.rowcount

    def merge(self, other: Progress) -> None:
        """Add what was kept elsewhere. The same twice is the same once, and the place here stays.

        Full when that would be more attempts than a learner may keep.
        """
        for section, at in other.seen.items():
            self.see(section, at)
        for exercise, at in other.solved.items():
            self.solve(exercise, at)
        for goal, at in other.goals.items():
            self.reach(goal, at)
        known = {_signature(attempt): attempt for attempt in self.attempts()}
        for attempt in other.attempts:
            if mine := known.get(_signature(attempt)):
                self._answer_all(int(mine.id), attempt.questions)
            else:
                known[_signature(attempt)] = self.add(attempt.questions, attempt.started_at)
        if other.place:
            self._connection.execute(
                "UPDATE learners SET place = coalesce(place, ?) WHERE id = ?", (other.place, self.id)
            )

    def forget(self) -> None:
        """Delete the learner and all that is kept about them."""
        self._connection.execute("DELETE FROM learners WHERE id = ?", (self.id,))

    @cached_property
    def _room(self) -> int:
        """The bytes that further answers may take."""
        answers = self._rows("SELECT answer FROM questions WHERE learner = ? AND answer IS NOT NULL", str)
        return MOST_ANSWER_BYTES - sum(_size(answer) for (answer,) in answers)

    def _answer_all(self, attempt: int, questions: tuple[Drawn, ...]) -> None:
        for number, drawn in enumerate(questions, start=1):
            if drawn.right is not None:
                self.answer(attempt, number, drawn.answer or "", drawn.right, drawn.answered_at)

    def _note(self, table: str, name: str, value: str, at: str | None) -> None:
        self._connection.execute(
            f"INSERT INTO {table} (learner, {name}, at) VALUES (?, ?, ?)"
            f" ON CONFLICT DO UPDATE SET at = min(at, excluded.at)",
            (self.id, value, at or now()),
        )

    def _times(self, table: str, name: str) -> dict[str, str]:
        return dict(self._rows(f"SELECT {name}, at FROM {table} WHERE learner = ? ORDER BY at, {name}", str, str))

    def _row(self, query: str, *types: Any) -> tuple:
        for row in self._rows(query, *types):
            return row
        raise DAMAGED

    def _rows(self, query: str, *types: Any) -> list[tuple]:
        """The rows, with values of these types: a damaged file can have any in any column."""
        rows = self._connection.execute(query, (self.id,)).fetchall()
        if not all(isinstance(value, type) for row in rows for value, type in zip(row, types, strict=True)):
            raise DAMAGED
        return rows


def now() -> str:
    """The time as it is kept: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _find(connection: sqlite3.Connection, token: str) -> Learner | None:
    row = connection.execute("SELECT id FROM learners WHERE token_hash = ?", (_hash(token),)).fetchone()
    return Learner(connection, row[0], token) if row else None


def _new(connection: sqlite3.Connection) -> Learner:
    connection.execute(
        "DELETE FROM learners WHERE visited_at < strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?)", (f"-{KEPT_DAYS} days",)
    )
    token = secrets.token_urlsafe(32)
    added = connection.execute("INSERT INTO learners (token_hash, visited_at) VALUES (?, ?)", (_hash(token), now()))
    return Learner(connection, added.lastrowid or 0, token)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()  # the token is random and long: salt and slowness add nothing


def _size(answer: str) -> int:
    return len(json.dumps(answer)) - len('""')


def _signature(attempt: Attempt) -> tuple:
    return attempt.started_at, *((drawn.family, drawn.seed) for drawn in attempt.questions)


def _patiently(connection: sqlite3.Connection, statement: str) -> sqlite3.Cursor:
    """Execute it, again and again while another process is in the way, for BUSY_MS at most.

    A wait of SQLite's own would hold up all that this process does.
    """
    until = time.monotonic() + BUSY_MS / 1_000
    while True:
        try:
            return connection.execute(statement)
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _is_busy(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY  # the rest says why it is busy


def _version(connection: sqlite3.Connection) -> int:
    return _patiently(connection, "PRAGMA user_version").fetchone()[0]


def _migrate(connection: sqlite3.Connection) -> None:
    if _version(connection) < len(MIGRATIONS):
        _patiently(connection, "BEGIN IMMEDIATE")
    version = _version(connection)  # once more: another process may have been first
    if version > len(MIGRATIONS):
        raise sqlite3.DatabaseError(
            f"its schema has version {version}, and this program knows {len(MIGRATIONS)}: it is of a newer Queue Lab"
        )
    if not version and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError("it is another program's database")
    for migration in MIGRATIONS[version:]:
        for statement in migration.split(";"):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    connection.execute("COMMIT")
