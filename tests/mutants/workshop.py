# SPDX-License-Identifier: Apache-2.0
"""A copy of the checkout in which one mutant after the other is tried.

The copy's own process has loaded the large libraries and forks for each mutant, so that a try costs what its tests
cost. A file of C is compiled alone and linked with what was compiled before.
"""

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .mutations import Mutant
from .rooms import LEFT_OUT, asked

SKIPPED = {".git", ".venv", ".servers", "build", "dist"}
KILLED, SURVIVED, UNBUILDABLE = "killed", "survived", "can't be built"
TIMEOUT_S = 240
MEMORY = 6 << 30


class Workshop:
    """A copy in a folder of its own; `close` removes it."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.checkout, self.root, self.folder = checkout, folder / "querytape", folder
        self.objects = folder / "objects"
        self.command: list[str] = []
        ignore = shutil.ignore_patterns(*SKIPPED, "__pycache__", "build-*", ".*_cache")
        shutil.copytree(checkout, self.root, ignore=ignore, symlinks=True)
        extension = next(self.root.glob("native/_querytape*.so"))
        self.extension = extension
        self.original = extension.read_bytes()

    def try_out(self, mutant: Mutant) -> str:
        """Return whether the tests notice a mutant."""
        path = self.root / mutant.path
        before = path.read_bytes()
        tests = list(mutant.tests) or asked(mutant.path, self.root)
        try:
            path.write_text(mutant.text(), encoding="utf-8")
            if path.suffix == ".c" and not self._build(path):
                return UNBUILDABLE
            return self._ask(tests)
        finally:
            path.write_bytes(before)
            if path.suffix == ".c":
                self._replace_extension(self.original)

    def passes(self, tests: list[str]) -> bool:
        """Whether tests pass without a mutant."""
        return self._ask(tests) == SURVIVED

    def _ask(self, tests: list[str]) -> str:
        python = [test for test in tests if not test.startswith("native:")]
        if python and not self._pytest(python):
            return KILLED
        for part in (test.removeprefix("native:") for test in tests if test.startswith("native:")):
            make = ["make", "-s", "-C", "tests/native", "CC=gcc", f"PART={part}", "test"]
            if not self._run(make):
                return KILLED
        return SURVIVED

    def _run(self, command: list[str]) -> bool:
        done = subprocess.Popen(
            command, cwd=self.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            return done.wait(TIMEOUT_S) == 0
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            done.wait()
            return False

    def _pytest(self, tests: list[str]) -> bool:
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                os._exit(self._in_child(tests))
            os._exit(70)
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) == 0
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return False

    def _in_child(self, tests: list[str]) -> int:
        import pytest

        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(self.root)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        for name in [name for name in sys.modules if name.split(".")[0] in ("querytape", "tests")]:
            del sys.modules[name]
        sys.path[:0] = [str(self.root), str(self.folder)]
        sys.dont_write_bytecode = True
        os.environ.update(PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(self.folder / "tmp"))
        (self.folder / "tmp").mkdir(exist_ok=True)
        chosen = " and ".join(f"not {name}" for name in LEFT_OUT)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not mariadb and not mysql", "-k", chosen]
        return int(pytest.main([*options, f"--basetemp={self.folder}/tmp/pytest", *tests]))

    def _build(self, changed: Path) -> bool:
        """Compile one file, the others the first time; put the extension of both in place."""
        sources = [*sorted(self.root.glob("native/*/*.c")), self.root / "native/_querytape.c"]
        if not self.command:
            self.command = _compiler(self.root)
            clean = changed.read_bytes()
            changed.write_bytes((self.checkout / changed.relative_to(self.root)).read_bytes())
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                built = list(pool.map(self._compile, sources))
            changed.write_bytes(clean)
            if not all(built):
                raise RuntimeError("the extension can't be built without a mutant")
        if not self._compile(changed, "mutant"):
            return False
        objects = [str(self._object(source)) for source in sources if source != changed]
        new = self.folder / "mutant.so"
        link = [
            "gcc",
            "-shared",
            *objects,
            str(self._object(changed, "mutant")),
            *_libraries(self.root),
            "-o",
            str(new),
        ]
        if not self._run(link):
            return False
        self._replace_extension(new.read_bytes())
        return True

    def _replace_extension(self, content: bytes) -> None:
        other = self.extension.with_suffix(".new")
        other.write_bytes(content)
        other.chmod(0o755)
        other.replace(self.extension)

    def _object(self, source: Path, kind: str = "object") -> Path:
        return self.objects / kind / source.relative_to(self.root).with_suffix(".o")

    def _compile(self, source: Path, kind: str = "object") -> bool:
        target = self._object(source, kind)
        target.parent.mkdir(parents=True, exist_ok=True)
        return self._run([*self.command, "-c", str(source), "-o", str(target)])


def _flags(root: Path, what: str) -> list[str]:
    code = f"import build_ffi as b; print('\\n'.join(b.ffi._assigned_source[3][{what!r}]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root / "native", check=True, capture_output=True, text=True)
    return done.stdout.split()


def _compiler(root: Path) -> list[str]:
    import sysconfig

    flags = [flag for flag in _flags(root, "extra_compile_args") if flag not in ("-O3", "-g", "-Wall", "-Wextra")]
    include = sysconfig.get_paths()["include"]
    return ["gcc", "-O0", "-fPIC", "-w", "-DPy_LIMITED_API=0x030b0000", *flags, f"-I{include}"]


def _libraries(root: Path) -> list[str]:
    return _flags(root, "extra_link_args")


def warm_up() -> None:
    """Load what every test loads and mutants are not in; nothing of it starts a thread before it is used."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import cffi  # noqa: F401
    import duckdb  # noqa: F401
    import jinja2  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import rich.console  # noqa: F401
    import scipy.special  # noqa: F401
