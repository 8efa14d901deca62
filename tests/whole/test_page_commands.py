# SPDX-License-Identifier: Apache-2.0
"""Run the commands of the documentation against private servers. The commands run as the pages show them, with three
changes. Addresses of servers become addresses of private servers. Long durations become short. Input files come from a
recording of the demo. A block after `<!-- not run: REASON -->` is not run. The tutorial has its own test, which also
compares the printed lines.
"""

import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

from tests.conftest import skip_loudly
from tests.test_docs_commands import CHECKOUT, PAGES, Shown, commands

GOLDEN = CHECKOUT / "tests" / "capture" / "sources" / "golden"
SHORT = {
    "--rounds": "1",
    "--add": "1",
    "--each": "1s",
    "--duration": "1s",
    "--within": "5s",
    "--pause": "0s",
    "--sessions": "1,2",
    "--last": "1h",
    "--seconds": "2",
    "--user": "root",
    "--warmup": "0",
}
AS_GIVEN = (0, 3, 4)  # success, or a result that is not an error
ENDLESS = {"serve", "--follow"}  # commands that run until a signal
LONGEST_S = 120
# The smallest valid content of a file that no private server can write. The key is the command that captures the file.
ROWS: dict[str, str] = {
    "audit-json": '{"audit_record": {"name": "Query", "timestamp": "2026-11-20T15:21:05Z", "connection_id": "5",'
    ' "status": 0, "user": "app[app] @ web1 []", "db": "shop", "sqltext": "SELECT 1"}}\n',
    "slow.tsv": "start_time\tuser_host\tquery_time\tthread_id\tsql_text\n"
    "2026-11-20 15:21:05.000001\tapp[app] @ web1 []\t00:00:00.000100\t5\tSELECT 1\n",
    "sql.csv": "ts,sql_text,conn,latency\n1718000000123,SELECT 1,5,100\n",
    "proxysql": '{"hostgroup_id": 1, "thread_id": 7, "event": "COM_QUERY", "username": "app", "schemaname": "shop",'
    ' "client": "10.0.0.5:51000", "query": "SELECT 1", "starttime_timestamp_us": 1718000000123456,'
    ' "duration_us": 1534, "rows_sent": 0}\n',
}
COMMANDS_AT_LEAST = 120
USERS = ("app", "admin", "root", "dba")


@dataclass
class World:
    """One recording, two servers with its data, and the results that commands make from them. All files are in
    `folder`.
    """

    folder: Path
    servers: tuple[Server, Server, Server]
    digest: str = ""
    succeeded: set[tuple[str, ...]] = field(default_factory=set)

    def url(self, target: str, production: bool = False) -> str:
        """Return the address of a private server for an example address of a page. `production` means the server from
        which a tape is captured. This server must not be a target of the tape.
        """
        user, host = re.match(r"mysql://(?:(\w+)@)?([\w.-]+)", target).groups()  # type: ignore[union-attr]
        server = self.servers[2 if production else host in {"new", "mysql", "10.0.0.8"}]
        return f"mysql://{user or 'app'}@127.0.0.1:{server.port}/shop"

    def run(self, words: list[str], folder: Path) -> subprocess.Popen[str]:
        """Start a command in a folder."""
        command = [str(Path(sys.executable).parent / "querytape"), *words]
        given = log_of(self, words) if words[0] == "capture" and "-" in words else Path("/dev/null")
        with given.open("rb") as stdin:
            return subprocess.Popen(
                command, cwd=folder, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )

    def done(self, words: list[str], folder: Path) -> str:
        """Run a command to its end, and check that it succeeds."""
        process = self.run(words, folder)
        stopped = False
        try:
            if ENDLESS & set(words):
                time.sleep(3)
                stopped = process.poll() is None
                process.send_signal(signal.SIGINT)
            printed = process.communicate(timeout=LONGEST_S)[0]
        finally:
            process.kill()
        fine = (*AS_GIVEN, 1, 130) if stopped else AS_GIVEN
        assert process.returncode in fine, f"querytape {' '.join(words)}: {process.returncode}\n{printed}"
        return printed

    def prepare(self) -> None:
        """Make one tape, set, run, comparison and plans folder. The runs `part.run` and `set.run` are unfinished."""
        a, b = (self.url(f"mysql://app@{host}/") for host in ("old", "new"))
        for line in (
            "capture shop/slow.log -o ready.tape",
            "tape deal ready.tape 3 -o ready.set",
            f"replay ready.tape --target {a} -o ready.run",
            f"compare ready.tape --target a={a} --target b={b} --rounds 1 --pause 0s --warmup 0 -o ready.compare",
            f"plans ready.tape --target a={a} --target b={b} -o ready.plans",
        ):
            self.done(line.split(), self.folder)
        for line in (f"ready.tape --target {a} -o part.run", f"ready.set --target {a} -o set.run"):
            self.run(["replay", "--duration", "1s", *line.split()], self.folder).communicate()
        first = ["sql", "ready.tape", "--format", "csv", "-c", "SELECT min(digest) FROM events"]
        self.digest = self.done(first, self.folder).split()[-1]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[World]:
    """Record the demo, start two servers with its data, and make one input of each kind."""
    if find_program("mariadb") is None:
        skip_loudly(request, missing_sentence("mariadb"))
    folder = tmp_path_factory.mktemp("pages")
    querytape = str(Path(sys.executable).parent / "querytape")
    subprocess.run([querytape, "demo", "--record-only", "--keep", "shop", "--seconds", "2"], cwd=folder, check=True)
    shorten(folder / "shop" / "slow.log")
    with ExitStack() as stack:
        servers = [stack.enter_context(start_server(data=folder / "shop" / "data")) for _ in range(3)]
        for server in servers:
            for user in USERS:
                server.execute(f"CREATE OR REPLACE USER {user}@'%'")
                server.execute(f"GRANT ALL ON *.* TO {user}@'%' WITH GRANT OPTION")
        made = World(folder, (servers[0], servers[1], servers[2]))
        made.prepare()
        stop = threading.Event()
        traffic = threading.Thread(target=select_until, args=(stop, servers[2]))
        traffic.start()
        yield made
        stop.set()
        traffic.join()


def shorten(log: Path) -> None:
    """Keep the first half of a slow log, so that its replays are short."""
    events = re.split(rb"(?m)^(?=# User@Host)", log.read_bytes())
    log.write_bytes(b"".join(events[: len(events) // 2]))


def log_of(world: World, words: list[str]) -> Path:
    """Return a log of the kind that the given command captures."""
    logs = {"audit": "audit.log", "general": "general_mariadb.log", "binlog": "binlog.txt"}
    return GOLDEN / logs[words[1]] if words[1] in logs else world.folder / "shop" / "slow.log"


def select_until(stop: threading.Event, server: Server) -> None:
    """Connect to a server and send a SELECT every 50 ms, so that a capture from this server has events."""
    while not stop.wait(0.05):
        server.execute("SELECT count(*) FROM shop.orders WHERE customer_id = 7")


class Page:
    """The commands of one page, rewritten for their own folder."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        for script in ("restore.sh", "reset.sh"):
            (folder / script).write_text("#!/bin/sh\nexit 0\n")
            (folder / script).chmod(0o755)
        (folder / "token").write_text("a-token-of-32-characters-or-more-0\n")
        (folder / "token").chmod(0o600)

    def words(self, shown: Shown) -> list[str]:
        """Return the words of a command in the form in which the test runs it."""
        words = list(shown.words)
        written: str | None = None
        for at, word in enumerate(words):
            before = words[at - 1] if at else ""
            if before == "-c":
                continue
            if before in ("-o", "--output", "--salvage"):
                words[at] = written = self.local(word)
            elif before in SHORT and not (before == "--sessions" and words[0] != "sweep"):
                words[at] = SHORT[before]
            elif before in ("--from", "--to") and re.match(r"\+|\d{4}-", word):
                words[at] = "+0s" if before == "--from" else "+1s"
            elif before == "--show":
                words[at] = self.world.digest
            elif before == "--keep" and words[0] == "demo":
                words[at] = self.local(word)
            elif before == "--token-file":
                words[at] = "token"
            elif before == "--metrics":
                words[at] = "127.0.0.1:0"
            elif found := re.search(r"mysql://\S+", word):
                words[at] = word.replace(found.group(), self.world.url(found.group(), words[0] == "capture"))
            elif "sandbox" in word:  # any installed server version is suitable
                words[at] = re.sub(
                    r"sandbox(:[\w.-]+)?\?data=[\w/]+", f"sandbox?data={self.world.folder}/shop/data", word
                )
            elif before == "--resume":
                shutil.rmtree(self.folder / word, ignore_errors=True)
                words[at] = self.given(word, words)
            elif not before.startswith("--") or before in (
                "--plan",
                "--plans",
                "--against",
                "--nightly",
                "--slower-in",
                "--failed-in",
            ):
                words[at] = self.given(word, words)
        self.remove(written, words)
        return [*words[:1], *self.shorter(words), *words[1:]]

    @staticmethod
    def shorter(words: list[str]) -> list[str]:
        """Return additional options that make the command short."""
        missing = {
            "demo": {"--seconds": "2"},
            "compare": {"--within": "5s"}
            if "--quick" in words
            else {"--rounds": "1", "--pause": "0s", "--warmup": "0"},
            "try": {"--rounds": "1", "--pause": "0s"},
        }.get(words[0], {})
        if {"--add", "--plan"} & set(words):
            return []
        return [word for name, value in missing.items() if name not in words for word in (name, value)]

    def local(self, word: str) -> str:
        return word.lstrip("/").replace("/", "_") if word.startswith("/") else word

    def remove(self, written: str | None, words: list[str]) -> None:
        """Remove an earlier result of the same name, unless the command adds to this result."""
        if written and not {"--add", "--plan"} & set(words):
            shutil.rmtree(self.folder / written, ignore_errors=True)

    def given(self, word: str, words: list[str]) -> str:
        """Return a path in the folder of the page. The path has the content that the path on the page names."""
        name = self.local(word)
        path = self.folder / name
        ready = self.world.folder
        if path.exists() or word.startswith(("-", "./")) or not re.search(r"\.\w+$|^/|/$|\*", word):
            return name if path.exists() else word
        kind = {
            ".tape": "ready.tape",
            ".run": "ready.run",
            ".set": "ready.set",
            ".compare": "ready.compare",
            ".plans": "ready.plans",
        }
        if "--resume" in words and path.suffix == ".run":
            shutil.copytree(ready / ("set.run" if "big" in name else "part.run"), path)
        elif path.suffix in kind:
            shutil.copytree(ready / kind[path.suffix], path)
        elif path.suffix == ".toml":
            (self.fleet if words[0] == "fleet" else self.plan)(path)
        elif path.suffix == ".json" and "report" in name:
            targets = [ready / "ready.tape", ready / "ready.run", ready / "ready.run"]
            self.world.done(["report", *map(str, targets), "--json", name], self.folder)
        elif words[0] == "capture" and (rows := ROWS.get(words[1]) or ROWS.get(name)):
            path.write_text(rows)
        elif words[0] == "capture":
            shutil.copyfile(log_of(self.world, words), path)
        else:
            path.mkdir()
            if words[:2] == ["tape", "set"]:
                shutil.copytree(ready / "ready.tape", path / "monday.tape")
        return name

    def plan(self, path: Path) -> None:
        """Write the plan of a comparison."""
        a, b = (self.world.url(f"mysql://app@{host}/") for host in ("old", "new"))
        tape = self.world.folder / "ready.tape"
        path.write_text(f'tape = "{tape}"\nrounds = 1\nwarmup = 0\npause = "0s"\n\n[target]\na = "{a}"\nb = "{b}"\n')

    def fleet(self, path: Path) -> None:
        """Write the plan of a fleet with two pairs."""
        pairs = [
            f'[[pair]]\nname = "{name}"\ntape = "{self.world.folder}/ready.tape"\ntarget = "{self.world.url(target)}"\n'
            for name, target in (("shop", "mysql://app@old"), ("stock", "mysql://app@new"))
        ]
        path.write_text("\n".join(pairs))


RUN = [
    page
    for page in PAGES
    if page.stem != "tutorial" and any(each.run and each.whole for each in commands(page.read_text("utf-8")))
]


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.relative_to(CHECKOUT).as_posix())
def test_commands_on_the_page_succeed(page: Path, world: World, tmp_path: Path) -> None:
    made = Page(world, tmp_path)
    for shown in commands(page.read_text(encoding="utf-8")):
        if shown.whole and shown.run and shown.words not in world.succeeded:
            world.done(made.words(shown), tmp_path)
            world.succeeded.add(shown.words)


def test_most_commands_of_the_pages_run() -> None:
    shown = [each for page in PAGES for each in commands(page.read_text(encoding="utf-8")) if each.whole]
    assert sum(each.run for each in shown) >= COMMANDS_AT_LEAST
