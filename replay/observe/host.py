# SPDX-License-Identifier: Apache-2.0
"""Read counters of the target's machine from /proc (proc(5)), locally or through ssh.

One ssh connection serves the whole run. A remote shell prints some files for each line that it receives. ssh uses keys
or an agent and never prompts. Nothing is installed on the remote machine. On the local machine, a pid file or a socket
identifies the target's process.
"""

import os
import select
import shlex
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from ...common.errors import InputError, OptionError, TargetError
from ...servers.facts import Facts
from ...servers.target import Target
from .ticks import process_cpu_ns

Values = Iterator[tuple[str, str, float]]  # tuples of source, name and value

CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
FILES = ("stat", "diskstats", "net/dev", "pressure/cpu", "pressure/io", "pressure/memory")
BREAK, END = "== querytape", "== querytape end"
SERVERS = ("mysqld", "mariadbd")  # names of the target's process
# The target's process is the process in the target's pid file. Without the file, it is the only process with the name
# of a server.
SCRIPT = (
    'p=$(cat {pid_file} 2>/dev/null); case $p in ""|*[!0-9]*) p=$(pidof '
    + " ".join(SERVERS)
    + ' 2>/dev/null);; esac; case $p in ""|*[!0-9]*) p=none;; esac; while read -r tick; do '
    + f" echo {BREAK!r}; ".join(f"cat /proc/{name} 2>/dev/null;" for name in (*FILES, "$p/stat"))
    + f" echo {END!r}; done"
)
FIRST_ANSWER_S, ANSWER_S = 15.0, 5.0
MAX_PATH = 107  # longest path of a Unix socket


class Host:
    """The local machine.

    `source`: the name of its samples. `pid`: the target's process, if it is known and runs on this machine.
    """

    def __init__(self, proc: Path = Path("/proc"), source: str = "host", pid: int | None = None) -> None:
        self._proc = proc
        self._source = source
        self._files = (*FILES, f"{pid}/stat") if pid else FILES

    def read(self) -> Values:
        """Yield counters since the start of the machine. Raises TargetError if the counters can no longer be read."""
        yield from counters([_text(self._proc / name) for name in self._files], self._source)
        yield self._source, "own cpu_ns", float(process_cpu_ns())

    def close(self) -> None:
        """Release the resources of `read`. This machine needs none."""


class SshHost(Host):
    """Another machine, `ssh://user@host:port`. Raises TargetError if ssh cannot connect.

    `pid_file`: the path of the target's pid file on that machine.
    """

    def __init__(self, url: str, pid_file: str = "") -> None:
        self._url = url
        self._process = subprocess.Popen(
            [*ssh_command(url), SCRIPT.format(pid_file=shlex.quote(pid_file or "/nowhere"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,  # Ctrl-C must reach only the replay; the replay itself ends ssh
        )
        try:
            self._request(FIRST_ANSWER_S)
        except BaseException:
            self.close()
            raise

    def read(self) -> Values:
        """Yield counters since the start of the remote machine. Raises TargetError if it does not answer within 5 s."""
        return counters(self._request(ANSWER_S))

    def _request(self, within_s: float) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        until, answer = time.monotonic() + within_s, b""
        try:
            self._process.stdin.write(b"tick\n")
            while not answer.rstrip().endswith(END.encode()):
                left = until - time.monotonic()
                if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                    raise TargetError(f"--host-metrics {self._url}: no answer within {within_s:.0f} s")
                piece = os.read(self._process.stdout.fileno(), 1 << 16)
                if not piece:
                    raise TargetError(f"--host-metrics {self._url}: {self._complaint()}")
                answer += piece
        except OSError:
            raise TargetError(f"--host-metrics {self._url}: {self._complaint()}") from None
        return answer.decode("ascii", "replace").removesuffix("\n").removesuffix(END).split(BREAK + "\n")

    def _complaint(self) -> str:
        """Return the last line of ssh's error output."""
        assert self._process.stderr is not None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(2)
        ready = select.select([self._process.stderr], [], [], 0)[0]
        output = os.read(self._process.stderr.fileno(), 1 << 16).decode("utf-8", "replace").strip() if ready else ""
        return output.splitlines()[-1] if output else "ssh ended"

    def close(self) -> None:
        """End ssh."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def ssh_command(url: str) -> list[str]:
    """Return the ssh command line for `ssh://user@host:port`. Raises InputError if the URL is invalid or ssh is
    missing.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise OptionError(f"--host-metrics: expected ssh://user@host:22; found {url!r}") from None
    if parts.scheme != "ssh" or not parts.hostname or parts.password or parts.path.strip("/"):
        raise OptionError(f"--host-metrics: expected ssh://user@host:22; found {url!r}")
    program = shutil.which("ssh")
    if program is None:
        raise InputError("--host-metrics: ssh was not found on this machine")
    try:
        port = ["-p", str(parts.port)] if parts.port else []
    except ValueError:
        raise OptionError(f"--host-metrics: expected a port from 1 to 65535 in {url!r}") from None
    user = ["-l", parts.username] if parts.username else []
    return [program, "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", *port, *user, "--", parts.hostname]


def counters(texts: list[str], source: str = "host") -> Values:
    """Yield the counters in FILES and in the stat file of the target's process.

    The counters are CPU time in ticks, context switches, disk and network bytes, and stalls in microseconds.
    """
    texts = [*texts, *([""] * (len(FILES) + 1 - len(texts)))]
    named = (*_of_stat(texts[0]), *_of_devices(*texts[1:3]), *_of_pressure(texts[3:6]), *_of_process(texts[6]))
    return ((source, name, value) for name, value in named)


def _of_stat(text: str) -> Iterator[tuple[str, float]]:
    cpus = 0
    for line in text.splitlines():
        word, *values = line.split() or [""]
        if word == "cpu":
            for name, value in zip(CPU_FIELDS, values, strict=False):
                yield f"cpu {name}", float(value)
        elif word.startswith("cpu"):
            cpus += 1
        elif word in ("ctxt", "procs_running", "procs_blocked"):
            yield word, float(values[0])
        elif word == "intr":
            yield "interrupts", float(values[0])
    if cpus:
        yield "cpus", float(cpus)


def _of_pressure(texts: list[str]) -> Iterator[tuple[str, float]]:
    """Yield how long tasks waited for CPU, disk or memory (pressure stall information).

    Some kernels lack this information.
    """
    for name, text in zip(("cpu", "io", "memory"), texts, strict=True):
        for line in text.splitlines():
            word, _, total = line.partition(" ")[0], *line.rpartition("total=")[1:]
            if word == "some" and total.isdigit():
                yield f"pressure {name} some_us", float(total)


def _of_process(text: str) -> Iterator[tuple[str, float]]:
    """Yield the CPU ticks of the target's process.

    Yield nothing if the text is empty or is the stat of another program.
    """
    head, _, rest = text.rpartition(")")
    fields = rest.split()
    if head.partition("(")[2].startswith(SERVERS) and len(fields) > 12:
        yield "target cpu", float(fields[11]) + float(fields[12])


def _of_devices(disks: str, net: str) -> Iterator[tuple[str, float]]:
    for line in disks.splitlines():
        part = line.split()
        if len(part) > 9 and not part[2].startswith(("loop", "ram")):
            yield f"disk {part[2]} read_bytes", float(part[5]) * 512
            yield f"disk {part[2]} written_bytes", float(part[9]) * 512
    for line in net.splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            part = rest.split()
            yield f"net {name.strip()} received_bytes", float(part[0])
            yield f"net {name.strip()} sent_bytes", float(part[8])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def local_process(target: Target, facts: Facts) -> int | None:
    """Return the process id of a server on this machine. Return None if the process is uncertain."""
    if target.socket is not None:
        return listener(target.socket)
    if facts.hostname != socket.gethostname() or facts.variables.get("port") != str(target.port):
        return None
    return listener(facts.variables.get("socket", ""))


def listener(path: str) -> int | None:
    """Return the process that listens on a Unix socket. Return None if the process is unknown."""
    if not path.startswith("/") or len(path.encode()) > MAX_PATH:
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
            pid = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except (OSError, ValueError):
            return None
    return pid or None  # pid 0: a process of another namespace


def pid_file(variables: Mapping[str, str]) -> str:
    """Return the path of a server's pid file on its machine. Return "" if the path is unknown."""
    path = variables.get("pid_file", "")
    if not path:
        return ""
    return str(Path(variables.get("datadir", "/")) / path)
