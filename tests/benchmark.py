"""How long a run, a page and many streams take on this machine: `python tests/benchmark.py`. It is no test.

Machines differ, so each figure has another one beside it. CPU times are also told in yardsticks, one of which
is a fixed loop of plain Python. Streams are also played by a bare server: the same listener and settings, and
an application that does nothing but send events and pages of the same sizes at the same pace.
Everything stays on 127.0.0.1 and ends by itself, as does each of its parts.
"""

import argparse
import functools
import gc
import json
import math
import os
import platform
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("runs", "pages", "streams")
SECTION = "redelivery"  # whose run the streams play
DIFFERENT = "first_look_ms={}"  # makes it a run that nobody has asked for before, of the same length
MAX_STREAMS = 2_500  # above it the application paces no more
MAX_PACE_MS = 2_000
OPENING_S = 3.0  # streams open one after another, so their events are not all due at once
PAGE_CONNECTIONS = 4
SPARE_FILES = 100
PAGES_FOR_S = 2.0
GRACE_S = 20  # how much longer than planned a part may take
REPEATS, REPEAT_S = 200, 0.4  # a thing is measured that often, or for that long


# A run and a page: CPU time in this process


def yardstick() -> int:
    """A fixed piece of work: whole numbers, a dict, strings and calls, as in the lesson's own code."""
    counts: dict[str, int] = {}
    for number in range(20_000):
        key = f"job-{number % 97}"
        counts[key] = counts.get(key, 0) + number * 7 % 13
    return sum(sorted(counts.values()))


def cpu_ms(work: Callable[[], object], before: Callable[[], object] | None = None) -> tuple[float, float]:
    """(best, median) CPU time of many calls, each after a call of `before` that does not count."""
    times: list[float] = []
    until = time.monotonic() + REPEAT_S
    while len(times) < 3 or (len(times) < REPEATS and time.monotonic() < until):
        if before:
            before()
        began = time.process_time()
        work()
        times.append((time.process_time() - began) * 1_000)
    return min(times), statistics.median(times)


def yardsticks(best_ms: float) -> float:
    """How many yardsticks that is, measured now: a busy machine is slow for both."""
    return best_ms / cpu_ms(yardstick)[0]


def measure_runs() -> list[dict[str, Any]]:
    """Each section's default run, recorded anew each time."""
    from lessons import contents

    rows = []
    for section in contents.sections():
        params = section.Params()
        best, median = cpu_ms(lambda section=section, params=params: section.record(params))
        row = {"section": section.slug, "steps": len(section.record(params).steps)}
        rows.append({**row, "best": best, "median": median, "x": yardsticks(best)})
    return rows


def measure_pages() -> list[dict[str, Any]]:
    """Each section's page at the middle of its default run, gzipped, through Flask's test client.

    `first` is the first page of a new process, `new run` the first one with these parameters, and `warm`
    one whose run is known, as when somebody steps.
    """
    from lessons import contents
    from webapp import create_app

    client = create_app().test_client()
    rows = []
    for section in contents.sections():
        address = f"/{section.slug}?step={(len(section.record(section.Params()).steps) + 1) // 2}"

        def page(address: str = address) -> bytes:
            response = client.get(address, headers={"Accept-Encoding": "gzip"})
            assert response.status_code == 200, f"{address}: {response.status}"
            return response.data

        _, first = cpu_ms(page, lambda: forget(all_of_it=True))
        page()
        _, new_run = cpu_ms(page, lambda: forget(all_of_it=False))
        best, warm = cpu_ms(page)
        rows.append(
            {
                "section": section.slug,
                "KB": len(client.get(address).data) / 1_000,
                "gzipped KB": len(page()) / 1_000,
                "first": first,
                "new run": new_run,
                "warm": warm,
                "warm best": best,
                "x": yardsticks(best),
            }
        )
    return rows


def forget(all_of_it: bool) -> None:
    """Empty the caches that hold runs (they have a size); with `all_of_it` those of source and texts too."""
    for name, module in list(sys.modules.items()):
        if not name.startswith(("lessons.", "webapp.")) or name == "webapp.assets":
            continue
        for thing in vars(module).values():
            if isinstance(thing, functools._lru_cache_wrapper) and (all_of_it or thing.cache_parameters()["maxsize"]):
                thing.cache_clear()


# Streams and pages, asked for by a process of its own (`benchmark.py --client`, its plan on standard input)


def play(plan: dict[str, Any]) -> dict[str, Any]:
    """Open the planned streams, ask for pages beside them, and tell what came and when."""
    raise_file_limit(plan["streams"] + SPARE_FILES)
    gc.disable()
    selector = selectors.DefaultSelector()
    began = time.perf_counter()
    play_s = plan["steps"] * plan["pace_ms"] / 1_000
    opening_s = min(OPENING_S, play_s * 2 / 3)
    starts = deque(began + opening_s * nth / plan["streams"] for nth in range(plan["streams"]))
    end = began + opening_s + play_s + GRACE_S
    # Pages are asked for while all streams are open; without streams, for a fixed time.
    pages_from = began + opening_s if plan["streams"] else began
    pages_until = began + play_s if plan["streams"] else began + PAGES_FOR_S
    streams: list[Stream] = []
    pages: list[Pages] = []
    started_pages = not plan["pages"]
    open_clients = 0
    while time.perf_counter() < end and (starts or open_clients or not started_pages):
        now = time.perf_counter()
        while starts and starts[0] <= now:
            starts.popleft()
            streams.append(Stream(plan, len(streams), selector))
            open_clients += 1
        if not started_pages and now >= pages_from:
            started_pages = True
            pages = [Pages(plan, pages_until, selector) for _ in range(PAGE_CONNECTIONS)]
            open_clients += PAGE_CONNECTIONS
        upcoming = starts[0] if starts else pages_from if not started_pages else now + 0.5
        for key, events in selector.select(max(0, min(upcoming - now, 0.5))):
            if not key.data.ready(events):
                selector.unregister(key.fileobj)
                key.data.socket.close()
                open_clients -= 1
    # Opening streams is work too: what is due before all are open and under way is counted apart.
    opened = max((stream.first for stream in streams), default=0) + plan["pace_ms"] / 1_000
    opening = sorted(late for stream in streams for due, late in stream.late_ms if due < opened)
    lateness = sorted(late for stream in streams for due, late in stream.late_ms if due >= opened)
    expected = list(range(1, plan["steps"] + 1))
    latencies = sorted(ms for page in pages for ms in page.latencies_ms)
    paged_s = max((page.last for page in pages), default=0) - min((page.began for page in pages), default=0)
    usage = os.times()
    return {
        "whole": sum(stream.done and stream.ids == expected for stream in streams),
        "lost": sum(plan["steps"] - len(set(stream.ids)) for stream in streams),
        "first byte p99 ms": percentile(sorted(stream.first_ms for stream in streams if stream.first), 99),
        "opening late p99 ms": percentile(opening, 99),
        "late p50 ms": percentile(lateness, 50),
        "late p99 ms": percentile(lateness, 99),
        "pages/s": len(latencies) / paged_s if latencies else None,
        "page p50 ms": percentile(latencies, 50),
        "page p99 ms": percentile(latencies, 99),
        "client CPU s": usage.user + usage.system,
    }


BUFFER = memoryview(bytearray(1 << 18))


class Client:
    """A connection of its own, which does not block."""

    def __init__(self, plan: dict[str, Any], selector: selectors.BaseSelector) -> None:
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect_ex(("127.0.0.1", plan["port"]))
        self.selector = selector
        self.connected = False
        self.began = time.perf_counter()
        selector.register(self.socket, selectors.EVENT_WRITE, self)

    def ready(self, events: int) -> bool:
        """Do what can be done now; False when this is the end of it."""
        try:
            if not self.connected:
                self.connected = True
                self.socket.sendall(self.request)
                self.selector.modify(self.socket, selectors.EVENT_READ, self)
                return True
            count = self.socket.recv_into(BUFFER)
        except OSError:
            return False
        return count > 0 and self.received(bytes(BUFFER[:count]), time.perf_counter())


class Stream(Client):
    """One stream: the ids that came, and how long after its due time each event was whole."""

    ID = re.compile(rb"\r\nid: (\d+)\n")

    def __init__(self, plan: dict[str, Any], nth: int, selector: selectors.BaseSelector) -> None:
        super().__init__(plan, selector)
        address = plan["stream"].format(plan["first"] + nth)
        self.request = f"GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        self.pace_s = plan["pace_ms"] / 1_000
        self.first = 0.0
        self.ids: list[int] = []
        self.late_ms: list[tuple[float, float]] = []  # (due, how late)
        self.done = False
        self.rest = b""

    @property
    def first_ms(self) -> float:
        return (self.first - self.began) * 1_000

    def received(self, data: bytes, now: float) -> bool:
        self.first = self.first or now
        data = self.rest + data
        start = 0
        # An event ends with an empty line; its head may be anywhere, since chunks have heads of their own.
        while (end := data.find(b"\n\n", start)) >= 0:
            head = data[max(0, start - 2) : start + 80]
            if found := self.ID.search(head):
                number = int(found[1])
                self.ids.append(number)
                due = self.first + number * self.pace_s
                self.late_ms.append((due, max(0.0, (now - due) * 1_000)))
            elif b"event: done" in head:
                self.done = True
            start = end + 2
        self.rest = data[start:]
        return not self.done


class Pages(Client):
    """One browser's connection that asks for a page again as soon as it has it."""

    LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)

    def __init__(self, plan: dict[str, Any], until: float, selector: selectors.BaseSelector) -> None:
        super().__init__(plan, selector)
        headers = "Host: localhost\r\nAccept-Encoding: gzip\r\n\r\n"
        self.request = f"GET {plan['page']} HTTP/1.1\r\n{headers}".encode()
        self.until = until
        self.asked = self.last = self.began
        self.latencies_ms: list[float] = []
        self.body = b""

    def received(self, data: bytes, now: float) -> bool:
        self.body += data
        head, empty_line, body = self.body.partition(b"\r\n\r\n")
        if not empty_line or len(body) < int(self.LENGTH.search(head + b"\r\n")[1]):  # type: ignore[index]
            return True
        assert head.startswith(b"HTTP/1.1 200 "), head[:60]
        self.latencies_ms.append((now - self.asked) * 1_000)
        self.body = b""
        self.asked = self.last = now
        if now < self.until:
            self.socket.sendall(self.request)
        return now < self.until


def percentile(ordered: list[float], percent: int) -> float | None:
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] if ordered else None


def raise_file_limit(wanted: int) -> int:
    """Allow that many open files if the machine does, and return how many there may be."""
    if os.name != "posix":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY == soft or soft >= wanted:
        return wanted
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


# The servers, each a process of its own

APPLICATION = [sys.executable, "-m", "webapp.cli", "--port", "0"]
BARE = """
from gevent import monkey; monkey.patch_all()
import json, sys, time
from urllib.parse import parse_qs
from webapp.server import serve

sizes, page_size = json.loads(sys.argv[1])
page = b"x" * page_size
events = []
for number, size in enumerate(sizes, start=1):
    head = b"id: %d\\ndata: " % number
    events.append(head + b"x" * (size - len(head) - 2) + b"\\n\\n")

def app(environ, start):
    if environ["PATH_INFO"] != "/stream":
        start("200 OK", [("Content-Type", "text/html"), ("Content-Length", str(page_size))])
        return [page]
    start("200 OK", [("Content-Type", "text/event-stream")])
    return play(int(parse_qs(environ["QUERY_STRING"])["pace"][0]) / 1_000)

def play(pace_s):
    yield b": open\\n\\n"
    began = time.monotonic()
    for number, event in enumerate(events, start=1):
        time.sleep(max(0, began + number * pace_s - time.monotonic()))
        yield event
    yield b"event: done\\ndata: the run is over\\n\\n"

sys.exit(serve(app, "127.0.0.1", 0))
"""


class Server:
    """A server on a free port."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/", line)
        if not found:
            self.process.kill()
            sys.exit(f"the server did not start: {line}")
        self.port = int(found[1])

    def get(self, path: str) -> bytes:
        """An answer's body, as a browser gets it."""
        from http.client import HTTPConnection

        connection = HTTPConnection("127.0.0.1", self.port, timeout=GRACE_S)
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        assert response.status == 200, f"{path}: {response.status}"
        return body

    @property
    def cpu_s(self) -> float | None:
        """CPU time so far of its one busy thread, where the system tells it."""
        try:
            return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9
        except OSError:
            return None

    @property
    def memory_mb(self) -> float | None:
        try:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return None
        found = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        return int(found[1]) / 1_000 if found else None


@contextmanager
def running(command: list[str]) -> Iterator[Server]:
    server = Server(command)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def asked_of(server: Server, plan: dict[str, Any]) -> dict[str, Any]:
    """What a client with this plan saw, and what the server needed for it."""
    cpu_before, busy_before, memory = server.cpu_s, busy_s(), 0.0
    client = subprocess.Popen(
        [sys.executable, __file__, "--client"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert client.stdin and client.stdout
    client.stdin.write(json.dumps({**plan, "port": server.port}))
    client.stdin.close()
    began = time.monotonic()
    while client.poll() is None:  # what it writes is short: it fits into the pipe
        memory = max(memory, server.memory_mb or 0)
        time.sleep(0.1)
        if time.monotonic() - began > 2 * GRACE_S + plan["steps"] * plan["pace_ms"] / 1_000:
            client.kill()
    answer = client.stdout.read()
    client.stdout.close()
    if client.returncode:
        sys.exit(f"the client ended with {client.returncode}")
    seen = json.loads(answer)
    taken_s = time.monotonic() - began
    if cpu_before is None or busy_before is None:
        return {**seen, "MB": memory or None}
    used = (server.cpu_s or 0) - cpu_before
    others = (busy_s() or 0) - busy_before - used - seen["client CPU s"]
    return {**seen, "MB": memory, "server CPU s": used, "others %": max(0.0, 100 * others / taken_s)}


def busy_s() -> float | None:
    """CPU time of the whole machine so far, where the system tells it."""
    try:
        fields = Path("/proc/stat").read_text().split("\n")[0].split()[1:]
    except OSError:
        return None
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def measure_streams(counts: list[int], different: list[int], pace_ms: int) -> list[dict[str, Any]]:
    """The application and the bare server with so many streams at once, alone and with pages beside them."""
    from lessons import contents

    section = contents.section(SECTION)
    steps = len(section.record(section.Params()).steps)
    page = f"/{SECTION}?step={(steps + 1) // 2}"
    stream = f"/{SECTION}/stream?pace={pace_ms}"
    phases = [(count, False) for count in counts] + [(count, True) for count in different]
    rows: list[dict[str, Any]] = []

    def measure(server: Server, name: str, stream: str, page: str, phases: list[tuple[int, bool]]) -> None:
        plan = {"steps": steps, "pace_ms": pace_ms, "page": page, "stream": stream, "first": 0}
        seen = asked_of(server, {**plan, "streams": 0, "pages": True})
        rows.append({"server": name, "streams": 0, "different": False, "alone": None, "with pages": seen})
        first = int(section.Params().first_look_ms)
        for count, different in phases:
            plan["stream"] = f"{stream}&{DIFFERENT}" if different else stream
            found = []
            for pages in (False, True):
                first += count  # the runs of one phase must not be known from the one before
                found.append(asked_of(server, {**plan, "first": first, "streams": count, "pages": pages}))
            alone, beside = found
            if "server CPU s" in alone:
                alone["CPU ms/event"] = 1_000 * alone["server CPU s"] / (count * steps)
            row = {"server": name, "streams": count, "different": different}
            rows.append({**row, "alone": alone, "with pages": beside})

    with running(APPLICATION) as server:
        events = server.get(f"/{SECTION}/stream?pace=0").split(b"\n\n")[1:-2]
        page_size = len(server.get(page))
        measure(server, "queue-lab", stream, page, phases)
    assert len(events) == steps
    sizes = json.dumps([[len(event) + 2 for event in events], page_size])
    with running([sys.executable, "-c", BARE, sizes]) as server:
        bare_phases = [(count, False) for count in sorted({*counts, *different})]
        measure(server, "bare", f"/stream?pace={pace_ms}", "/page", bare_phases)
    return rows


# The report


def number(value: float | None) -> str:
    """With three digits, or a dash for what is not known."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(heading: list[str], rows: list[list[str]]) -> str:
    """Columns of text: the first one to the left, the others to the right."""
    lines = [heading, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = ""
    for first, *others in lines:
        cells = [first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]
        text += "  ".join(cells).rstrip() + "\n"
    return text


ALONE = {  # heading -> figure
    "late p50": "late p50 ms",
    "p99": "late p99 ms",
    "opening": "opening late p99 ms",
    "first": "first byte p99 ms",
    "CPU": "CPU ms/event",
    "MB": "MB",
    "others": "others %",
}
WITH_PAGES = {
    "late p99": "late p99 ms",
    "pages/s": "pages/s",
    "page p50": "page p50 ms",
    "p99": "page p99 ms",
}


def stream_table(rows: list[dict[str, Any]]) -> str:
    """Both servers' rows, and below each pair how many times the bare server's figure ours is."""
    heading = ["streams", "", "whole", "lost", *ALONE, "|", *WITH_PAGES]
    bare = {row["streams"]: row for row in rows if row["server"] == "bare"}
    lines = []
    for ours in (row for row in rows if row["server"] != "bare"):
        pair = ours, bare[ours["streams"]]
        for row in pair:
            alone, beside = row["alone"] or {}, row["with pages"]
            lines.append(
                [
                    f"{row['streams']:,}" + (" different" if row["different"] else ""),
                    row["server"],
                    *(str(alone.get(key, "-")) for key in ("whole", "lost")),
                    *(number(alone.get(key)) for key in ALONE.values()),
                    "|",
                    *(number(beside.get(key)) for key in WITH_PAGES.values()),
                ]
            )
        alone, beside = (
            ["" if key == "others %" else ratio(*((row[part] or {}).get(key) for row in pair)) for key in keys.values()]
            for part, keys in (("alone", ALONE), ("with pages", WITH_PAGES))
        )
        lines.append(["", "ratio", "", "", *alone, "|", *beside])
    return table(heading, lines)


def ratio(ours: float | None, bare: float | None) -> str:
    return f"{ours / bare:.2f}" if ours and bare else "-"


def report(found: dict[str, Any]) -> Iterator[str]:
    """The figures as text, part by part."""
    yield found["machine"]
    yield f"yardstick: {number(found['yardstick ms'])} ms CPU; x: a best time in yardsticks\n"
    if rows := found.get("runs"):
        keys = ["best", "median", "x"]
        cells = [[row["section"], str(row["steps"]), *(number(row[key]) for key in keys)] for row in rows]
        yield "the default run recorded, CPU ms\n" + table(["section", "steps", *keys], cells)
        yield aim("default run", max(row["median"] for row in rows), 3)
    if rows := found.get("pages"):
        keys = ["KB", "gzipped KB", "first", "new run", "warm", "warm best", "x"]
        cells = [[row["section"], *(number(row[key]) for key in keys)] for row in rows]
        yield (
            "a page in the middle of the default run, median CPU ms: the first of a process, "
            "the first of a run, of a run that is known\n" + table(["section", *keys], cells)
        )
        yield aim("page of a known run", max(row["warm"] for row in rows), 15)
        yield aim("page of a new run", max(row["new run"] for row in rows), 15)
    if rows := found.get("streams"):
        yield (
            f"streams of {SECTION} at once, an event every {found['pace ms']} ms, times in ms\n"
            "late: how long after its due time an event was there; opening: the same, p99, while streams "
            "still open;\nfirst: p99 of the time to the first byte; CPU: of the server for one event; "
            "different: each plays a run of its own;\n"
            f"right of |: with {PAGE_CONNECTIONS} connections that ask for pages without a pause; "
            "ratio: queue-lab to bare;\n"
            "others: CPU of anything else on the machine, in % of a core; with much of it, lateness says little\n"
            + stream_table(rows)
        )
        ours = [row for row in rows if row["server"] != "bare" and row["alone"]]
        lost = sum(row[part]["lost"] for row in ours for part in ("alone", "with pages"))
        yield f"aim: no event lost. {lost} were: {'met' if not lost else 'MISSED'}\n"


def aim(what: str, value: float, most: float) -> str:
    met = "met" if value < most else "MISSED"
    return f"aim: {what} under {most} ms. The slowest takes {number(value)} ms: {met}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure runs, pages and streams on this machine.")
    option = parser.add_argument
    option("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; all if none is named")
    option("--streams", type=counts, default="1,100,1000", metavar="N,N,..", help="at once (%(default)s)")
    option("--different", type=counts, default="20", metavar="N,N,..", help="runs at once (%(default)s)")
    option("--pace", type=int, default=300, metavar="MS", help="pause between events (%(default)s ms)")
    option("--json", action="store_true", help="print JSON instead of tables")
    args = parser.parse_args()
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if not 20 <= args.pace <= MAX_PACE_MS:
        parser.error(f"--pace must be from 20 to {MAX_PACE_MS} ms, not {args.pace}")
    wanted = max([*args.streams, *args.different], default=0) + SPARE_FILES
    if (allowed := raise_file_limit(wanted)) < wanted:
        parser.error(f"so many streams need {wanted} open files, and a process may have {allowed}")

    found: dict[str, Any] = {"machine": machine(), "yardstick ms": cpu_ms(yardstick)[0], "pace ms": args.pace}
    measures = {
        "runs": measure_runs,
        "pages": measure_pages,
        "streams": lambda: measure_streams(args.streams, args.different, args.pace),
    }
    for part in args.parts or PARTS:
        found[part] = measures[part]()
    print(json.dumps(found, indent=1) if args.json else "\n".join(report(found)), flush=True)


def counts(text: str) -> list[int]:
    numbers = sorted({int(part) for part in text.split(",")} - {0})
    if any(not 1 <= number <= MAX_STREAMS for number in numbers) or len(numbers) > 8:
        raise argparse.ArgumentTypeError(f"up to 8 numbers from 1 to {MAX_STREAMS}, or 0 for none, not {text}")
    return numbers


def machine() -> str:
    """What the figures depend on; with more at work than cores, the times of streams say little."""
    load = f", {os.getloadavg()[0]:.1f} processes at work before" if hasattr(os, "getloadavg") else ""
    return f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores{load}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--client"]:
        print(json.dumps(play(json.load(sys.stdin))))
    else:
        main()
