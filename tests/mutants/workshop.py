# SPDX-License-Identifier: Apache-2.0
"""A copy of the checkout in which mutants are tried one after another. For a mutant of a C file, only this file is
compiled and then linked with the other objects. C tests run before Python tests. If a test fails with a mutant but also
without it, the result is not counted.
"""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .mutations import Mutant
from .rooms import c_tests, python_tests

SKIPPED = (".git", ".venv", ".servers", "build", "dist", "build-*", ".*_cache")
KILLED, SURVIVED, UNBUILDABLE = "killed", "survived", "can't be built"
UNDECIDED = "undecided: no answer in time"
TIMEOUT_S = 600
PROGRAM_S = "90"  # limit of one C test program
CPU_S = 300  # limit of the Python tests, because a mutant may cause an endless loop
MEMORY = 6 << 30
FAST = "not server and not browser and not long"


class Base:
    """The extension's objects without mutants, and the command that links them. The objects are compiled once for all
    workshops.
    """

    def __init__(self, checkout: Path, folder: Path) -> None:
        self.folder, self.libraries = folder, build_flags(checkout, "extra_link_args")
        slow = ("-O3", "-g", "-Wall", "-Wextra")
        flags = [flag for flag in build_flags(checkout, "extra_compile_args") if flag not in slow]
        include = f"-I{sysconfig.get_paths()['include']}"
        self.command = ["gcc", "-O0", "-fPIC", "-w", "-DPy_LIMITED_API=0x030b0000", *flags, include]
        face = folder / "_querytape.c"
        code = f"import build_ffi as b; b.ffi.emit_c_code({str(face)!r})"
        subprocess.run([sys.executable, "-c", code], cwd=checkout / "native", check=True, stdout=subprocess.DEVNULL)
        sources = {str(path.relative_to(checkout)): path for path in sorted(checkout.glob("native/*/*.c"))}
        sources[face.name] = face
        self.objects = {name: folder / f"{n}.o" for n, name in enumerate(sources)}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            built = list(pool.map(lambda name: self.compile(sources[name], self.objects[name]), sources))
        if not all(built) or not self.link({}, folder / "base.so"):
            raise RuntimeError("the extension can't be built without a mutant")

    def compile(self, source: Path, target: Path) -> bool:
        """Compile one file. Return False if the compiler reports an error."""
        return ended([*self.command, "-c", str(source), "-o", str(target)], source.parent)[0] == 0

    def link(self, changed: dict[str, Path], target: Path) -> bool:
        """Link the extension, with new objects for the changed files. Return False on error."""
        objects = [str(path) for path in (self.objects | changed).values()]
        return ended(["gcc", "-shared", *objects, *self.libraries, "-o", str(target)], self.folder)[0] == 0


class Workshop:
    """A copy of the checkout in its own folder. Mutants of C files need `base`."""

    def __init__(self, checkout: Path, folder: Path, base: Base | None) -> None:
        self.root, self.folder, self.base = folder / "querytape", folder, base
        self.sound: set[str] = set()
        shutil.copytree(checkout, self.root, ignore=shutil.ignore_patterns(*SKIPPED), symlinks=True)
        self.extension = next(self.root.glob("native/_querytape*.so"))
        if base is not None:
            self._use(base.folder / "base.so")
        (folder / "tmp").mkdir()

    def try_out(self, mutant: Mutant) -> str:
        """Return the result of a mutant: killed, survived, unbuildable or undecided."""
        path = self.root / mutant.path
        before = path.read_bytes()
        programs, python = (
            [*own, *others] for own, others in (of(mutant.path, self.root) for of in (c_tests, python_tests))
        )
        try:
            path.write_text(mutant.text(), encoding="utf-8")
            result, failed = self._programs(programs)
            if result == SURVIVED and python:
                if path.suffix == ".c" and not self._build(mutant.path):
                    return UNBUILDABLE
                result, failed = self._pytest(python)
        finally:
            path.write_bytes(before)
            if self.base is not None:
                self._use(self.base.folder / "base.so")
        if result == KILLED and failed not in self.sound:
            again = self._programs([failed]) if failed in programs else self._pytest([failed] if failed else python)
            if again[0] != SURVIVED:
                return f"{failed} fails without it"
            self.sound.add(failed)
        return result

    def _programs(self, names: list[str]) -> tuple[str, str]:
        """Return the result of the C tests and the name of the failed test. A failed test runs a second time, because a
        busy machine can cause a timeout.
        """
        folder = self.root / "tests" / "native"
        if names and not make(folder, names):
            return UNBUILDABLE, ""
        for name in names:
            command = ["timeout", PROGRAM_S, f"build-test/{name}"]
            if ended(command, folder)[0] != 0 and ended(command, folder)[0] != 0:
                return KILLED, name
        return SURVIVED, ""

    def _pytest(self, tests: list[str]) -> tuple[str, str]:
        """Return the result of the Python tests and the name of the first failed test. The name is empty if a signal
        ended the process.
        """
        more = {"PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.folder / "tmp")}
        options = ["-x", "-q", "-rfE", "-p", "no:cacheprovider", "-m", FAST, f"--basetemp={self.folder}/tmp/pytest"]
        code, said = ended([sys.executable, "-m", "pytest", *options, *tests], self.root, limit, more)
        if code in (0, 5):  # 5: no test of this tier was selected
            return SURVIVED, ""
        failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", said, re.M)
        return UNDECIDED if code is None else KILLED, failed[1] if failed else ""

    def _build(self, inside: str) -> bool:
        """Compile one file, link the extension with its object, and install the extension. Return False on error."""
        assert self.base is not None
        new, extension = self.folder / "mutant.o", self.folder / "mutant.so"
        if not self.base.compile(self.root / inside, new) or not self.base.link({inside: new}, extension):
            return False
        self._use(extension)
        return True

    def _use(self, extension: Path) -> None:
        other = self.extension.with_suffix(".new")
        shutil.copy(extension, other)
        other.replace(self.extension)


def limit() -> None:
    """Limit the CPU time and memory of a process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))


def ended(
    command: list[str],
    folder: Path,
    prepare: Callable[[], None] | None = None,
    more: dict[str, str] | None = None,
) -> tuple[int | None, str]:
    """Run a command. Return its exit code and its output. The exit code is None after the time limit."""
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, **(more or {})}, preexec_fn=prepare, start_new_session=True, **pipes
    )
    try:
        said = process.communicate(timeout=TIMEOUT_S)[0]
        return process.returncode, said
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None, ""


def make(folder: Path, names: list[str]) -> bool:
    """Build C tests with fast compiler flags. Return False if the compiler reports an error."""
    programs = [f"build-test/{name}" for name in names]
    return ended(["make", "-s", f"-j{os.cpu_count()}", "CC=clang", "WARNINGS=-w", *programs], folder)[0] == 0


def build_flags(root: Path, what: str) -> list[str]:
    """Return the compiler or linker flags of native/build_ffi.py."""
    code = f"import build_ffi as b; print('\\n'.join(b.ffi._assigned_source[3][{what!r}]))"
    done = subprocess.run([sys.executable, "-c", code], cwd=root / "native", check=True, capture_output=True, text=True)
    return done.stdout.split()
