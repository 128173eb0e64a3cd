"""The command line: serve the lesson, list its sections, print a section's run."""

import argparse
import os
import sys

USAGE = """queue-lab [serve] [--host HOST] [--port PORT] [--data PATH]
       queue-lab list
       queue-lab run SECTION [name=value ...] [--steps]"""


def main(argv: list[str] | None = None) -> int:
    """Do what the arguments say and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # ₦ in any locale. The types do not know that these are text files.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    argv = sys.argv[1:] if argv is None else argv
    commands = {"serve": _serve, "list": _list, "run": _run}
    name, rest = (argv[0], argv[1:]) if argv and argv[0] in commands else ("serve", argv)
    try:
        try:
            return commands[name](rest)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has had enough, as in `queue-lab list | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _serve(argv: list[str]) -> int:
    parser = argparse.ArgumentParser("queue-lab", usage=USAGE, description="Serve the lesson to a browser.")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (%(default)s)")
    parser.add_argument("--port", type=_port, default=8000, help="the port to listen on (%(default)s)")
    parser.add_argument("--data", metavar="PATH", help="where progress is kept ($QUEUE_LAB_DATA, or in ~/.queue-lab)")
    args = parser.parse_args(argv)

    from gevent import monkey

    monkey.patch_all()  # before anything that may keep a socket, a lock or a thread

    from webapp import create_app
    from webapp.server import serve

    return serve(create_app({"DATABASE": args.data}), args.host, args.port)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"a port is a whole number from 0 to 65535, not {text!r}")
    return int(text)


def _list(argv: list[str]) -> int:
    parser = argparse.ArgumentParser("queue-lab list", description="List the sections and their parameters.")
    parser.parse_args(argv)
    print(_sections(), end="")
    return 0


def _run(argv: list[str]) -> int:
    from lessons import contents, params
    from lessons.recording import as_text

    parser = argparse.ArgumentParser(
        "queue-lab run",
        description="Print what a section's program prints.",
        epilog=_sections(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("section", metavar="SECTION")
    parser.add_argument("settings", nargs="*", metavar="name=value", help="a parameter, if not its default")
    parser.add_argument("--steps", action="store_true", help="print every step, not only the printed lines")
    args = parser.parse_intermixed_args(argv)
    try:
        section = contents.section(args.section)
    except KeyError:
        unknown = f'queue-lab: there is no section "{args.section}". The sections are:'
        print(unknown, _sections(), sep="\n\n", end="", file=sys.stderr)
        return 2
    given = {}
    for setting in args.settings:
        name, equals, value = setting.partition("=")
        if not equals:
            parser.error(f'"{setting}" is not name=value')
        if name in given:
            parser.error(f"{name} must be given once")
        given[name] = value
    try:
        recording = section.record(params.read(section.Params, given))
    except params.Invalid as invalid:
        for problem in invalid.problems:
            print(f"queue-lab: {problem.message}", file=sys.stderr)
        return 2
    print(as_text(recording, args.steps), end="")
    return 0


def _sections() -> str:
    from lessons import contents, params

    sections = contents.sections()
    fields = {section: params.fields(section.Params) for section in sections}
    every = [field for of_one in fields.values() for field in of_one]
    slug_width = max((len(section.slug) for section in sections), default=0)
    name_width = max((len(field.name) for field in every), default=0)
    default_width = max((len(field.default_text) for field in every if len(field.default_text) <= 24), default=0)
    lines = []
    for section in sections:
        lines.append(f"{section.slug:{slug_width}}  {section.title}")
        for field in fields[section]:
            default = field.default_text.ljust(default_width)
            lines.append(f"  {field.name:{name_width}}  {default}  {field.allowed}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
