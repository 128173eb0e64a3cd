"""Several changes to an SQLite database as one."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All that the block changes, or nothing if it raises. `db` is a connection with isolation_level=None."""
    db.execute("BEGIN IMMEDIATE")  # lock now: two readers that both want to write would block each other
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # some errors, such as a full disk, have rolled back already
            db.execute("ROLLBACK")
        raise
