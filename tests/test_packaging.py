import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NPM = ROOT / "webapp" / "npm"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGE = json.loads((NPM / "package.json").read_text(encoding="utf-8"))
NODE = re.search(r'^NODE = "(.+)"', (NPM / "hook.py").read_text(encoding="utf-8"), re.MULTILINE)[1]


def distribution(requirement):
    return re.match(r"[\w.-]+", requirement)[0]


RUNTIME = [distribution(line) for line in PROJECT["project"]["dependencies"]]
TEST = [distribution(line) for line in PROJECT["project"]["optional-dependencies"]["test"]]
BUILD = [distribution(line) for line in [*PROJECT["build-system"]["requires"], NODE]]


def tracked():
    """Files that git tracks or would add; without git, as in an unpacked sdist, the test is skipped."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(listed, cwd=ROOT, encoding="utf-8")
    return [name for name in names.split("\0") if name and (ROOT / name).is_file()]


def test_what_builds_the_project_is_pinned_exactly():
    pins = [*PROJECT["build-system"]["requires"], NODE]
    pins += [f"{name}=={version}" for name, version in PACKAGE["dependencies"].items()]

    assert [] == [pin for pin in pins if not re.fullmatch(r"[@\w./-]+==\d+(\.\d+)+", pin)]


def test_the_lock_holds_a_digest_of_every_package_and_no_host():
    lock = json.loads((NPM / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    packages = {name: entry for name, entry in lock.items() if name}

    assert PACKAGE["dependencies"] == lock[""]["dependencies"]
    assert [] == [name for name, entry in packages.items() if not entry["integrity"].startswith("sha512-")]
    assert [] == [name for name, entry in packages.items() if "resolved" in entry]


def test_no_third_party_file_is_tracked():
    foreign = re.compile(r"(^|/)(vendor|node_modules|\.venv|dist|build)/|\.min\.|\.(wasm|whl|tgz)$|uv\.lock$")

    assert [] == [name for name in tracked() if foreign.search(name)]


def test_htmx_and_its_extension_are_one_file_in_that_order():
    text = (ROOT / "static" / "vendor" / "htmx" / "htmx.js").read_text(encoding="utf-8")

    assert 0 <= text.index("var htmx") < text.index("\n;\n") < text.index('registerExtension("sse"')


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_every_file_that_runs(wheel):
    moved = {"static/": "webapp/static/", "templates/": "webapp/templates/"}
    wanted = [f"static/vendor/{name}" for files in PACKAGE["vendor"].values() for name in files]
    wanted += [name for name in tracked() if re.match("(lessons|static|templates|webapp)/", name)]
    places = [re.sub(r"^\w+/", lambda found: moved.get(found[0], found[0]), name) for name in wanted]

    assert [] == [p for p in places if not p.startswith("webapp/npm/") and not (wheel / p).is_file()]
    assert not (wheel / "webapp" / "npm").exists()


def test_an_installed_wheel_serves_its_own_files(wheel, tmp_path):
    program = (
        "import webapp; app = webapp.create_app(); client = app.test_client();"
        "asset = app.jinja_env.globals['asset'];"
        "answers = [client.get(path) for path in ('/', asset('vendor/htmx/htmx.js'))];"
        "print(*(answer.status_code for answer in answers), webapp.__file__)"
    )
    run = [sys.executable, "-c", program]
    env = {**os.environ, "PYTHONPATH": str(wheel)}
    printed = subprocess.run(run, cwd=tmp_path, env=env, check=True, capture_output=True, text=True).stdout

    assert f"200 200 {wheel / 'webapp' / '__init__.py'}" == printed.strip()


@pytest.mark.parametrize("name", sorted({*RUNTIME, *TEST, *BUILD, *PACKAGE["dependencies"]}))
def test_the_readme_says_why_each_dependency_is_there(name):
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    whole_name = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
    rests = [re.sub(whole_name, "", line) for line in lines if re.search(whole_name, line, re.IGNORECASE)]

    assert any(len(re.findall(r"[A-Za-z]{2,}", rest)) >= 2 for rest in rests), f"no reason given for {name}"


def test_ci_runs_the_readmes_test_line():
    line = 'python3 -m venv .venv && .venv/bin/pip install -e ".[test]" && .venv/bin/pytest'

    assert line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert line in (ROOT / "README.md").read_text(encoding="utf-8")
