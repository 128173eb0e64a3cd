"""The two queues that a program can be run with, and the choice between them."""

from typing import Any

from lessons import params
from lessons.reference.hardened_queue import HardenedQueue
from lessons.reference.job_queue import JobQueue

BY_NAME: dict[str, Any] = {"lesson": JobQueue, "hardened": HardenedQueue}


def choice(help: str) -> Any:
    """The field of a section's parameters that names one of BY_NAME."""
    return params.choice("lesson", {"lesson": "The lesson's", "hardened": "Hardened"}, label="Queue", help=help)
