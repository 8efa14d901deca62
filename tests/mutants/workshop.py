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
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .mutations import Mutant
from .rooms import LEFT_OUT, asked

SKIPPED = {".git", ".venv", ".servers", "build", "dist"}
KILLED, SURVIVED, UNBUILDABLE = "killed", "survived", "can't be built"
UNDECIDED = "undecided: no answer in time"
TIMEOUT_S = 600
CPU_OF_ONE_S = 25  # of one test: an endless loop is noticed
LIMIT_S = "90"  # of one program of the C tests
AT_ONCE = 4
PROGRAMS = "programs: "  # of the C tests, those that failed
MEMORY = 6 << 30
CONTROL = "tests/capture/sources/test_wrong_tapes.py"


class Base:
    """The objects of the extension without a mutant, compiled once for all workshops, and how they are linked."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.command, self.libraries, self.folder = compiler(checkout), flags(checkout, "extra_link_args"), folder
        self.programs: Path | None = None
        face = folder / "_querytape.c"
        code = f"import build_ffi as b; b.ffi.emit_c_code({str(face)!r})"
        subprocess.run([sys.executable, "-c", code], cwd=checkout / "native", check=True, stdout=subprocess.DEVNULL)
        sources = {str(path.relative_to(checkout)): path for path in sorted(checkout.glob("native/*/*.c"))}
        sources[face.name] = face
        self.objects = {name: folder / f"{n}.o" for n, name in enumerate(sources)}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(lambda name: self.compile(sources[name], self.objects[name]), sources))
        if not all(built):
            raise RuntimeError("the extension can't be built without a mutant")

    def build_programs(self, checkout: Path) -> None:
        """Compile what the C tests are linked of, once for all workshops."""
        self.programs = self.folder / "querytape" / "tests" / "native"
        shutil.copytree(checkout / "native", self.folder / "querytape" / "native", symlinks=True)
        shutil.copytree(checkout / "tests" / "native", self.programs, ignore=shutil.ignore_patterns("build-*"))
        if not make(self.programs, ["normalize"]):
            raise RuntimeError("the C tests can't be built without a mutant")

    def compile(self, source: Path, target: Path) -> bool:
        """Compile one file; False where the compiler refuses it."""
        return quietly([*self.command, "-c", str(source), "-o", str(target)], source.parent)

    def link(self, inside: str, changed: Path, target: Path) -> bool:
        """Link the extension with another object for one file."""
        objects = [str(path) for name, path in self.objects.items() if name != inside]
        return quietly(["gcc", "-shared", *objects, str(changed), *self.libraries, "-o", str(target)], changed.parent)


class Workshop:
    """A copy in a folder of its own. `base` is needed for mutants of C."""

    def __init__(self, checkout: Path, folder: Path, base: Base | None) -> None:
        self.root, self.folder, self.base = folder / "querytape", folder, base
        self.sound: set[str] = set()
        ignore = shutil.ignore_patterns(*SKIPPED, "build-*", ".*_cache")  # what is compiled stays: times are kept
        shutil.copytree(checkout, self.root, ignore=ignore, symlinks=True)
        self.extension = next(self.root.glob("native/_querytape*.so"))
        self.original = self.extension.read_bytes()
        (folder / "tmp").mkdir()
        if base is not None and base.programs is not None:
            shutil.copytree(base.programs / "build-test", self.root / "tests" / "native" / "build-test")

    def try_out(self, mutant: Mutant) -> str:
        """Return whether the tests notice a mutant; what fails with it has to pass without."""
        path = self.root / mutant.path
        before = path.read_bytes()
        first, others = asked(mutant.path, self.root)
        needs_extension = path.suffix == ".c" and not all(test.startswith("native:") for test in [*first, *others])
        try:
            path.write_text(mutant.text(), encoding="utf-8")
            if needs_extension and not self._build(mutant.path):
                return UNBUILDABLE
            result, failed = self._ask(first)
            if result == SURVIVED and others:
                result, failed = self._ask(others)
        finally:
            path.write_bytes(before)
            if needs_extension:
                self._replace_extension(self.original)
        if needs_extension and result == KILLED and not self._is_sound():
            return "the extension that is built here fails without it"
        if failed and failed not in self.sound:
            if self._ask([failed])[0] != SURVIVED:
                return f"{failed} fails without it"
            if not failed.startswith(PROGRAMS + "engine"):  # they need a processor in time: asked each time
                self.sound.add(failed)
        return result

    def _is_sound(self) -> bool:
        """Whether the extension as it is linked here, without a mutant, passes a test; asked once."""
        if CONTROL not in self.sound:
            inside = next(iter(self.base.objects)) if self.base else ""
            if not self._build(inside) or self._ask([CONTROL])[0] != SURVIVED:
                return False
            self._replace_extension(self.original)
            self.sound.add(CONTROL)
        return True

    def _ask(self, tests: list[str]) -> tuple[str, str]:
        """Return what tests come to, and the first that failed: C tests, which answer at once, before those in Python."""
        folder = self.root / "tests" / "native"
        for part in (test.removeprefix("native:") for test in tests if test.startswith("native:")):
            names = [path.stem.removeprefix("test_") for path in sorted(folder.glob(f"test_*{part}*.c"))]
            found = self._native(names)
            if found[0] != SURVIVED:
                return found
        exactly = [name for test in tests if test.startswith(PROGRAMS) for name in test.removeprefix(PROGRAMS).split()]
        found = self._native(exactly)
        python = [test for test in tests if not test.startswith(("native:", PROGRAMS))]
        if found[0] != SURVIVED or not python:
            return found
        if (result := self._pytest(python)) == SURVIVED:
            return SURVIVED, ""
        told = (self.folder / name for name in ("failed", "running"))
        return result, next((path.read_text(encoding="utf-8") for path in told if path.exists()), "")

    def _native(self, names: list[str]) -> tuple[str, str]:
        """Return what C tests come to, and which failed. What the compiler warns of is no answer of a test."""
        if not names:
            return SURVIVED, ""
        folder, programs = self.root / "tests" / "native", [f"build-test/{name}" for name in names]
        if not make(folder, names):
            return UNBUILDABLE, ""
        for at_once in (AT_ONCE, 1):  # they wait most of their time; what fails has to fail alone, too
            with ThreadPoolExecutor(at_once) as pool:
                passed = list(pool.map(lambda program: quietly(["timeout", LIMIT_S, program], folder), programs))
                programs = [program for program, good in zip(programs, passed, strict=True) if not good]
            if not programs:
                return SURVIVED, ""
        return KILLED, PROGRAMS + " ".join(program.removeprefix("build-test/") for program in programs)

    def _pytest(self, tests: list[str]) -> str:
        for name in ("failed", "running"):
            (self.folder / name).unlink(missing_ok=True)
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):
                os._exit(self._in_child(tests))
            os._exit(70)
        deadline = time.monotonic() + TIMEOUT_S
        try:
            while time.monotonic() < deadline:
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    pid = 0
                    return SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED
                time.sleep(0.02)
            return UNDECIDED
        finally:
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)

    def _in_child(self, tests: list[str]) -> int:
        import pytest

        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_OF_ONE_S, resource.RLIM_INFINITY))
        os.chdir(self.root)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        for name in [name for name in sys.modules if name.split(".")[0] in ("querytape", "tests")]:
            del sys.modules[name]
        sys.path[:0] = [str(self.root), str(self.folder)]
        sys.dont_write_bytecode = True
        os.environ.update(PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(self.folder / "tmp"))
        without = " and ".join(f"not {name}" for name in LEFT_OUT)
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not mariadb and not mysql", "-k", without]
        return int(pytest.main([*options, f"--basetemp={self.folder}/tmp/pytest", *tests], [FirstFailure(self.folder)]))

    def _build(self, inside: str) -> bool:
        """Compile one file and put the extension with it in place."""
        assert self.base is not None
        new, extension = self.folder / "mutant.o", self.folder / "mutant.so"
        if not self.base.compile(self.root / inside, new) or not self.base.link(inside, new, extension):
            return False
        self._replace_extension(extension.read_bytes())
        return True

    def _replace_extension(self, content: bytes) -> None:
        other = self.extension.with_suffix(".new")
        other.write_bytes(content)
        other.chmod(0o755)
        other.replace(self.extension)


class FirstFailure:
    """A plugin of pytest that keeps the name of the first test, or file, that failed, be it by a signal."""

    def __init__(self, folder: Path) -> None:
        self.file, self.running = folder / "failed", folder / "running"

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins: it has a limit of its own."""
        self.running.write_text(nodeid, encoding="utf-8")
        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime) + CPU_OF_ONE_S
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.RLIM_INFINITY))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test, its set-up or its end."""
        self._keep(report)

    def pytest_collectreport(self, report: Any) -> None:
        """A file that can't be imported."""
        self._keep(report)

    def _keep(self, report: Any) -> None:
        if report.failed and not self.file.exists():
            self.file.write_text(report.nodeid, encoding="utf-8")


def quietly(command: list[str], folder: Path) -> bool:
    """Run a command without its output; False where it fails or takes too long."""
    done = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return done.wait(TIMEOUT_S) == 0
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, signal.SIGKILL)
        done.wait()
        return False


def make(folder: Path, names: list[str]) -> bool:
    """Build C tests, quick to compile; False where the compiler refuses something."""
    programs = [f"build-test/{name}" for name in names]
    return quietly(["make", "-s", f"-j{os.cpu_count()}", "CC=gcc", "WARNINGS=-w", *programs], folder)


def flags(root: Path, what: str) -> list[str]:
    """Return compiler or linker flags as native/build_ffi.py has them."""
    code = f"import build_ffi as b; print('\\n'.join(b.ffi._assigned_source[3][{what!r}]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root / "native", check=True, capture_output=True, text=True)
    return done.stdout.split()


def compiler(root: Path) -> list[str]:
    """Return the compiler's command for one file of the extension: quick to compile, silent."""
    kept = [flag for flag in flags(root, "extra_compile_args") if flag not in ("-O3", "-g", "-Wall", "-Wextra")]
    include = sysconfig.get_paths()["include"]
    return ["gcc", "-O0", "-fPIC", "-w", "-DPy_LIMITED_API=0x030b0000", *kept, f"-I{include}"]


def warm_up() -> None:
    """Load what every test loads and mutants are not in; nothing of it starts a thread before it is used."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import cffi  # noqa: F401
    import click  # noqa: F401
    import duckdb  # noqa: F401
    import jinja2  # noqa: F401
    import jsonschema  # noqa: F401
    import numpy  # noqa: F401
    import pymysql  # noqa: F401
    import pytest  # noqa: F401
    import rich.console  # noqa: F401
    import scipy.special
    import scipy.stats  # noqa: F401
    import sqlparse  # noqa: F401
    import vl_convert  # noqa: F401
