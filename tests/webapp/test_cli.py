import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest

from lessons import contents
from lessons.recording import as_text
from webapp import cli

QUEUE_LAB = [sys.executable, "-m", "webapp.cli"]
# An application of its own, so that these tests are about the server alone.
SERVE = """
from gevent import monkey; monkey.patch_all()
import sys, time
from webapp import server
server.DRAIN_S = 50  # so that a slow machine tells "at once" from "in the end"

def app(environ, start):
    start("200 OK", [("Content-Type", "text/plain")])
    pauses = [float(p) for p in environ["QUERY_STRING"].split(",") if p]
    yield b"first\\n"
    for pause in pauses:
        time.sleep(pause)
        yield b"more\\n"

sys.exit(server.serve(app, sys.argv[1], int(sys.argv[2])))
"""
posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGTERM to catch and no ulimit")


@contextmanager
def running(*command, host="127.0.0.1"):
    """A server on a free port (or the command's), as (process, port, first line)."""
    command = command or (sys.executable, "-c", SERVE, host, "0")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        yield process, int(re.search(r":(\d+)/", line)[1]), line.strip()
    finally:
        process.kill()
        process.communicate()


def get(port, query="", host="127.0.0.1"):
    """A connection that has asked and has the first bytes of the answer."""
    connection = socket.create_connection((host, port), timeout=20)
    connection.sendall(f"GET /?{query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert b"200 OK" in connection.recv(100)
    return connection


def rest(connection):
    with closing(connection):
        return connection.makefile("rb").read().decode()


def queue_lab(*args, **options):
    return subprocess.run([*QUEUE_LAB, *args], capture_output=True, encoding="utf-8", timeout=60, **options)


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]")])
def test_the_printed_address_can_be_opened(host, shown):
    try:
        socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with running(host=host) as (_, port, line):
        assert f"Queue Lab: http://{shown}:{port}/  (Ctrl+C stops it)" == line
        assert "first" in rest(get(port, host=shown.strip("[]")))


def test_a_taken_port_is_one_line_that_says_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = queue_lab("--port", str(port))

    assert (1, "") == (done.returncode, done.stdout)
    assert re.fullmatch(rf"queue-lab: cannot listen on 127\.0\.0\.1 port {port}: .+ with --port .+\n", done.stderr)


@pytest.mark.parametrize("host", ["no such host", "..", "192.0.2.1"])
def test_a_host_that_is_not_ours_is_one_line(host):
    done = queue_lab("serve", "--host", host, "--port", "8000")

    assert (1, "") == (done.returncode, done.stdout)
    assert re.fullmatch(rf"queue-lab: cannot listen on {re.escape(host)} port 8000: .+--host.+\n", done.stderr)


@pytest.mark.parametrize("args", [["--port", "65536"], ["--port", "-1"], ["--port", "web"], ["bogus"]])
def test_wrong_arguments_exit_with_2(args, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(args)

    assert args[-1] in capsys.readouterr().err


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_answers_end_and_takes_no_new_ones(number):
    with running() as (process, port, _):
        idle = socket.create_connection(("127.0.0.1", port))  # a browser keeps such ones open
        connection = get(port, "0.2,0.2,0.2")
        process.send_signal(number)

        assert 3 == rest(connection).count("more")
        assert (0, "") == (process.wait(timeout=20), process.stderr.read())
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        idle.close()


@posix
def test_a_second_signal_cuts_at_once():
    with running() as (process, port, _):
        connection = get(port, "0.1,60")
        while b"more" not in connection.recv(100):
            pass
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.3)
        process.send_signal(signal.SIGTERM)

        assert (0, "") == (process.wait(timeout=20), process.stderr.read())
        assert "more" not in rest(connection)


@posix
def test_a_client_that_goes_away_or_says_too_much_is_not_an_error():
    with running() as (process, port, _):
        for sent in (b"", b"GET", b"GET / HTTP/1.1\r\nHo", b"GET /?0.05,0.05 HTTP/1.1\r\nHost: x\r\n\r\n"):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(sent)
            if sent.endswith(b"\r\n\r\n"):
                connection.recv(10)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()  # with a reset
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n")
            assert b" 400 " in connection.recv(100)
        assert 4 == rest(get(port, "0.05,0.05,0.05,0.05")).count("more")
        process.send_signal(signal.SIGTERM)

        assert (0, "") == (process.wait(timeout=20), process.stderr.read())


@posix
def test_more_clients_than_files_wait_their_turn():
    limited = ["sh", "-c", 'ulimit -n 40; exec "$0" -c "$1" 127.0.0.1 0', sys.executable, SERVE]
    with running(*limited) as (process, port, _):
        connections = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(60)]
        for connection in connections:
            connection.sendall(b"GET /?0.1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert [1] * 60 == [rest(connection).count("more") for connection in connections]
        process.send_signal(signal.SIGTERM)
        assert "" == process.stderr.read()


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHo", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_connection_on_which_nothing_is_asked_is_closed(sent):
    impatient = SERVE.replace("DRAIN_S = 50", "IDLE_S = 0.2")
    with running(sys.executable, "-c", impatient, "127.0.0.1", "0") as (process, port, _):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as silent:
            silent.sendall(sent)
            answers = silent.makefile("rb").read()  # until it is closed

        assert (b"first" in answers) == sent.endswith(b"\r\n\r\n")
        assert 3 == rest(get(port, "0.3,0.3,0.3")).count("more"), "a slow answer is not an idle client"
        process.send_signal(signal.SIGTERM)
        assert "" == process.stderr.read()


def test_the_application_is_served():
    with running(*QUEUE_LAB, "--port", "0") as (_, port, _):
        assert "<title>" in rest(get(port))


def test_nothing_is_imported_before_the_patch():
    program = "import webapp, webapp.cli, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", program]))

    assert [] == [name for name in ("flask", "gevent", "lessons", "socket", "threading") if name in loaded]


def test_list_shows_every_section_and_parameter(capsys):
    assert 0 == cli.main(["list"])

    printed = capsys.readouterr().out
    assert [s.slug for s in contents.sections()] == re.findall(r"^(\S+)  ", printed, re.MULTILINE)
    assert re.search(r"^  seed +\d+ +a whole number from ", printed, re.MULTILINE)


def test_run_prints_the_expected_text(capsys):
    assert 0 == cli.main(["run", "retries"])

    assert contents.section("retries").expected == capsys.readouterr().out


def test_run_takes_parameters_and_steps_in_any_order(capsys):
    orders = ["max_attempts=1", "--steps", "receipts=2"], ["--steps", "receipts=2", "max_attempts=1"]
    printed = []
    for order in orders:
        assert 0 == cli.main(["run", "retries", *order])
        printed.append(capsys.readouterr().out)

    section = contents.section("retries")
    recording = section.record(section.Params(max_attempts=1, receipts=2))
    assert [as_text(recording, True)] * 2 == printed


def test_run_says_every_problem_on_a_line_of_its_own(capsys):
    assert 2 == cli.main(["run", "retries", "max_attempts=0", "colour=red"])

    printed = capsys.readouterr()
    assert ("", 2) == (printed.out, len(printed.err.splitlines()))
    assert re.search(r'^queue-lab: max_attempts must be .+, not "0"$', printed.err, re.MULTILINE)
    assert re.search(r"^queue-lab: .*colour", printed.err, re.MULTILINE)


@pytest.mark.parametrize(
    ("settings", "message"),
    [(["seed"], '"seed" is not name=value'), (["seed=1", "seed=2"], "seed must be given once")],
)
def test_run_refuses_settings_that_say_nothing_or_too_much(settings, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["run", "retries", *settings])

    assert message in capsys.readouterr().err


def test_help_and_an_unknown_section_list_the_sections(capsys):
    cli.main(["list"])
    listed = capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        cli.main(["run", "retries", "--help"])
    assert listed.strip() in capsys.readouterr().out

    assert 2 == cli.main(["run", "bogus"])
    printed = capsys.readouterr()
    assert ("", True) == (printed.out, listed in printed.err)
    assert 'there is no section "bogus"' in printed.err


def test_output_is_utf_8_whatever_the_terminal_says():
    done = queue_lab("run", "₦", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert 'no section "₦"' in done.stderr


@pytest.mark.parametrize("args", [["list"], ["run", "--help"]])
def test_a_reader_that_has_had_enough_is_not_an_error(args):
    process = subprocess.Popen([*QUEUE_LAB, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()

    assert ("", 0) == (process.stderr.read(), process.wait(timeout=20))
    process.stderr.close()
