"""Runs a learner's code inside Pyodide. The worker loads this once, then calls `install` and `run`."""

import asyncio
import dataclasses
import importlib
import json
import linecache
import sys
import time
import traceback
import types
import warnings
from pathlib import Path

STREAMS = sys.stdout, sys.stderr
dumps, asdict, sleep = json.dumps, dataclasses.asdict, time.sleep  # whatever a learner's code puts in their place
HOME = Path("/home/pyodide")
FILE = "exercise.py"
sys.dont_write_bytecode = True  # a file that changes twice in a second would be mistaken for its old bytecode
sys.path.insert(0, str(HOME))


class Loop(asyncio.BaseEventLoop):
    """What asyncio.run runs on. Pyodide's own loop needs JavaScript to go on, and that waits for Python here."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, timeout: float | None) -> list:
        if timeout is None:
            raise RuntimeError("every task waits, and nothing is left that could wake one up")
        sleep(timeout)
        return []

    def _process_events(self, events: list) -> None:
        """There are none: nothing comes from outside."""

    def _write_to_self(self) -> None:
        """Nothing has to be woken: `select` never waits for anything but the time."""


with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    asyncio.set_event_loop_policy(None)  # Python's own in place of Pyodide's, which makes Pyodide's loop
asyncio.new_event_loop = asyncio.events.new_event_loop = Loop


def install(files: str) -> None:
    """Write the files of a JSON object, name -> text, and forget what was imported from their old texts."""
    for name, text in json.loads(files).items():
        path = HOME / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name in [name for name in sys.modules if name.split(".")[0] == "lessons"]:
        del sys.modules[name]
    linecache.checkcache()
    importlib.invalidate_caches()


def run(job: str) -> str:
    """Run what a JSON object describes, and say in another how it went.

    `source` is a program; with `check`, a module's name, its check(source) comes after it. `section` is a
    module with a section's program instead, and `params` what its run is asked for. `error` is a traceback,
    with `line` of `file`; `clean` says whether Python's own modules are as they were, so that the next run can
    use them.
    """
    asked = json.loads(job)
    asyncio.set_event_loop(None)
    asyncio._set_running_loop(None)  # Pyodide's
    result = {"error": None, "file": None, "line": None, "verdict": None, "steps": None}
    before = [(module, dict(vars(module))) for module in list(sys.modules.values()) if _is_pythons(module)]
    try:
        if asked.get("section"):
            result["steps"] = _section(importlib.import_module(asked["section"]), asked["params"])
        else:
            _program(asked["source"])
            if asked.get("check"):
                verdict = importlib.import_module(asked["check"]).check(asked["source"])
                result["verdict"] = asdict(verdict)
    except BaseException as error:
        result |= _told(error)
    for stream in STREAMS:
        stream.flush()
    clean = all(vars(module).get(name) is old[name] for module, old in before for name in old)
    return dumps({**result, "clean": clean})


def _is_pythons(module: object) -> bool:
    name = getattr(module, "__name__", "")
    return isinstance(module, types.ModuleType) and name != "__main__" and name.split(".")[0] != "lessons"


def _program(source: str) -> None:
    module = types.ModuleType("__main__")
    module.__file__ = FILE
    sys.modules["__main__"] = module  # dataclasses, pickle and unittest look it up
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    try:
        exec(compile(source, FILE, "exec"), module.__dict__)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise


def _section(program: types.ModuleType, given: dict[str, str]) -> list[str]:
    """The steps of the run, in words. What it prints is printed, even if the run breaks off."""
    params = importlib.import_module("lessons.params")
    fields = {field.name for field in params.fields(program.Params)}  # a learner may have taken one away
    values = params.read(program.Params, {name: text for name, text in given.items() if name in fields})
    watching = importlib.import_module("lessons.recorder")
    recorder = watching.Recorder()
    try:
        program.run(values, recorder)
    except watching.StepLimitReached:
        pass
    finally:
        recorder.close()
        for step in recorder.steps:
            line = step.sentence if step.kind == "limit" else step.printed
            if line is not None:
                print(line)
    in_seconds = importlib.import_module("lessons.recording").in_seconds
    return [f"t={in_seconds(step.at_ms)}: {step.sentence}" for step in recorder.steps]


def _told(error: BaseException) -> dict:
    """The traceback without the frames of this file and of imports, and the last place in the learner's files."""
    report = traceback.TracebackException.from_exception(error)
    place = None, None
    part = report
    while part is not None:
        part.stack[:] = [one for one in part.stack if one.filename[0] != "<" and "/importlib/" not in one.filename]
        part = part.__cause__ or part.__context__
    for frame in report.stack:
        if frame.filename == FILE or frame.filename.startswith(str(HOME)):
            place = frame.filename, frame.lineno
    if isinstance(error, SyntaxError) and error.filename:
        place = error.filename, error.lineno
    file = place[0] and place[0].removeprefix(f"{HOME}/")
    return {"error": "".join(report.format()).replace(f"{HOME}/", ""), "file": file, "line": place[1]}
