"""A database whose statements are steps, told with the rows of all its tables."""

import re
import sqlite3
from itertools import islice, zip_longest
from typing import Any

from lessons.recording import Table, listed


class WatchedConnection(sqlite3.Connection):
    """An SQLite connection each of whose statements is a step; `kill_after` makes one of them the process's last."""

    recorder: Any
    tables: tuple[Table, ...] = ()
    _fatal: tuple[str, str] | None = None
    _changes_at_begin = 0

    def kill_after(self, statement: str, sentence: str) -> None:
        """Crash right after the next statement that begins with these words."""
        self._fatal = (statement, sentence)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        who, shown, verb = self.recorder.actor, _shown(sql, parameters), sql.split(maxsplit=1)[0].upper()
        if verb == "BEGIN":
            self._changes_at_begin = self.total_changes
        try:
            cursor = self.cursor(_ReadCursor).execute(sql, parameters)
        except sqlite3.Error as error:
            self.recorder.step("sql", f"the database refuses {who}'s statement: {error}.", detail=shown)
            raise
        if verb not in ("SELECT", "BEGIN", "COMMIT"):
            self._read_tables(_table_written(sql))
        if verb == "COMMIT" and self.total_changes == self._changes_at_begin:
            sentence = f"{who} commits the transaction, in which nothing was written."
        else:
            sentence = _what_sql_did(who, sql, cursor.rowcount)
        # A process that died rolls nothing back: the database does, when it sees that its client is gone.
        with self.recorder.acting("the database" if verb == "ROLLBACK" else who):
            self.recorder.step("sql", sentence, detail=shown)
        if self._fatal and " ".join(sql.split()).startswith(self._fatal[0]):
            sentence, self._fatal = self._fatal[1], None
            self.recorder.crash(sentence)
        return cursor

    def executescript(self, script: str, /) -> sqlite3.Cursor:
        cursor = super().executescript(script)
        self._read_tables()
        names = listed([table.name for table in self.tables])
        self.recorder.step("sql", f"the database is set up, with the tables {names}.", detail=_shown(script, ()))
        return cursor

    def _read_tables(self, only: str | None = None) -> None:
        def read(sql: str) -> sqlite3.Cursor:
            cursor = self.cursor()
            cursor.row_factory = None
            return cursor.execute(sql)

        before = {table.name: table for table in self.tables}
        if only not in before:
            names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
            before = {name: before.get(name, Table(name, (), ())) for (name,) in read(names)}
        for name in before if only not in before else [only]:
            rows = read(f'SELECT * FROM "{name}" ORDER BY rowid')
            columns = tuple(column[0] for column in rows.description)
            # Steps share what did not change: a table of 150 rows that is written 150 times is long otherwise.
            pairs = zip_longest(before[name].rows, rows.fetchall())
            before[name] = Table(name, columns, tuple(old if old == new else new for old, new in pairs if new))
        self.tables = tuple(before.values())


class _ReadCursor(sqlite3.Cursor):
    """A cursor that has read its whole answer: before that SQLite does not say how many rows RETURNING changed."""

    def execute(self, sql: str, parameters: Any = (), /) -> "_ReadCursor":
        super().execute(sql, parameters)
        self._answer = iter(super().fetchall())
        return self

    def fetchone(self) -> Any:
        return next(self._answer, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        return list(islice(self._answer, self.arraysize if size is None else size))

    def fetchall(self) -> list[Any]:
        return list(self._answer)

    def __iter__(self) -> "_ReadCursor":
        return self

    def __next__(self) -> Any:
        return next(self._answer)


def _table_written(sql: str) -> str | None:
    """The one table that a statement can have changed; None when it may be any."""
    words = sql.split(maxsplit=3)
    match [word.upper() for word in words[:2]]:
        case ["INSERT", "INTO"] | ["DELETE", "FROM"]:
            return words[2]
        case ["UPDATE", _]:
            return words[1]
        case _:
            return None


def _what_sql_did(who: str, sql: str, rows: int) -> str:
    words = sql.split()
    match [word.upper() for word in words[:3]]:
        case ["BEGIN", *_]:
            return f"{who} begins a transaction."
        case ["COMMIT", *_]:
            return f"{who} commits the transaction: all of it counts from now on."
        case ["ROLLBACK", *_]:
            return "the transaction is rolled back: nothing of it happened."
        case ["INSERT", "INTO", *_] if rows:
            return f"{who} writes {_rows(rows)} into {words[2]}."
        case ["INSERT", "INTO", *_]:
            return f"{who} writes nothing into {words[2]}: the row is there already."
        case ["UPDATE", *_]:
            columns = re.findall(r"(\w+) = ", sql.partition("SET ")[2].partition("WHERE")[0])
            return f"{who} sets {listed(columns)} in {_rows(rows)} of {words[1]}."
        case ["DELETE", "FROM", *_]:
            return f"{who} deletes {_rows(rows)} of {words[2]}."
        case ["SELECT", *_] if "FROM" in words[:-1]:
            return f"{who} reads {words[words.index('FROM') + 1]}."
        case _:
            return f"{who} asks the database."


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows" if count > 0 else "no row"


def _shown(sql: str, parameters: Any) -> str:
    values = ", ".join(map(repr, parameters.values() if isinstance(parameters, dict) else parameters))
    lines = [line.rstrip() for line in sql.strip().splitlines()]
    indent = min((len(line) - len(line.lstrip()) for line in lines[1:] if line), default=0)
    text = "\n".join([lines[0], *(line[indent:] for line in lines[1:])]) if lines else ""
    return f"{text}\n-- with {values}" if values else text
