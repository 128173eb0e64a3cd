"""The server of `queue-lab`: one process, a greenlet a connection. The caller has let gevent patch Python."""

import errno
import gc
import os
import signal
import sys
from contextlib import suppress
from http.client import HTTPException

import gevent
from gevent import monkey, socket
from gevent.event import Event
from gevent.pool import Pool
from gevent.pywsgi import WSGIHandler, WSGIServer

DRAIN_S = 4
IDLE_S = 60  # so long may a client keep a connection without asking, or leave an answer unread
MAX_CONNECTIONS = 4_000
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # "on all addresses" is none that a browser can open


class Handler(WSGIHandler):
    """Counts the answers under way, and takes a client that went away for what it is: nothing to report."""

    busy = 0
    ignored_socket_errors = (
        *WSGIHandler.ignored_socket_errors,
        *(errno.ECONNABORTED, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENOTCONN, errno.ETIMEDOUT),
    )

    def handle(self):
        self.socket.settimeout(IDLE_S)
        with suppress(OSError):
            super().handle()

    def read_request(self, raw_requestline):
        try:
            return super().read_request(raw_requestline)
        except HTTPException:  # too many headers: its own traceback would be all that is said of it
            return False
        except OSError:
            raise gevent.GreenletExit from None

    def handle_one_response(self):
        Handler.busy += 1
        try:
            super().handle_one_response()
        finally:
            Handler.busy -= 1
        # The next request of this connection may be there already: the others go first. Not 0: see YIELD_S in runs.py.
        gevent.sleep(0.000_001)


def serve(app, host: str, port: int) -> int:
    """Serve until SIGINT or SIGTERM and return 0; 1, with a line on stderr, when the address cannot be had.

    The first signal lets answers under way end for a few seconds, a second one cuts them off.
    """
    try:
        listener = _listen(host, port)
    except (OSError, UnicodeError) as error:  # a host that is no possible name is a UnicodeError
        reason = f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}"
        print(f"queue-lab: {reason}. Choose another with --port (or --host).", file=sys.stderr)
        return 1
    port = listener.getsockname()[1]
    server = WSGIServer(
        listener,
        app,
        log=None,
        spawn=Pool(_room()),
        handler_class=Handler,
        environ={"SERVER_NAME": host},  # else it is looked up in the DNS
    )
    stop, cut = Event(), Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        gevent.signal_handler(number, lambda: cut.set() if stop.is_set() else stop.set())
    gc.collect()
    gc.freeze()  # what is loaded stays: no collection needs to walk it again
    server.start()
    shown = ANY.get(host, host)
    shown = f"[{shown}]" if ":" in shown else shown
    print(f"Queue Lab: http://{shown}:{port}/  (Ctrl+C stops it)", flush=True)
    stop.wait()
    server.close()
    if Handler.busy:
        print(f"Answers under way have {DRAIN_S} s to end (Ctrl+C again cuts them off)", flush=True)
    with gevent.Timeout(DRAIN_S, False):
        while Handler.busy and not cut.wait(0.02):
            pass
    server.stop(timeout=0)
    return 0


def _listen(host: str, port: int) -> socket.socket:
    look_up = monkey.get_original("socket", "getaddrinfo")  # gevent's reports a strange host with a traceback
    family, kind, protocol, _, address = look_up(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # on Windows it would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Accepted sockets inherit it; without it a page takes 44 ms instead of 1.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError:
        listener.close()
        raise
    return listener


def _room() -> int:
    """How many connections fit; the rest wait. Raises the limit of open files (256 on a Mac) as needed."""
    if os.name != "posix":
        return MAX_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS * 4 // 3  # a quarter is for files, databases and the listener
    if resource.RLIM_INFINITY != soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MAX_CONNECTIONS, soft * 3 // 4)
