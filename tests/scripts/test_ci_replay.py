# SPDX-License-Identifier: Apache-2.0
"""The shell script of the GitHub Action on two real servers, one of which lacks an index."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from xml.etree import ElementTree

import pytest
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

from tests.conftest import CHECKOUT, skip_loudly

pytestmark = pytest.mark.server

SCRIPT = CHECKOUT / "scripts" / "ci-replay"
PROGRAM = Path(sys.executable).parent / "querytape"
QUICK = "\n  --pause\n  0s\n\n"  # one word per line, with blanks and empty lines
GATE = "slower > 0 or p99_ratio > 4"  # a busy machine may hide the verdict "slower"
FILES = {"report.html", "report.md", "report.json", "junit.xml", "log.txt"}


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[tuple[Server, Server]]:
    """Start a production server and a candidate whose migration lost an index."""
    if find_program("mariadb") is None:
        skip_loudly(request, missing_sentence("mariadb"))
    with ExitStack() as stack:
        both = [stack.enter_context(start_server("mariadb")) for _ in range(2)]
        for server in both:
            server.execute("CREATE DATABASE shop")
            server.execute("CREATE TABLE shop.t (id INT PRIMARY KEY, customer INT, hash CHAR(64), KEY (customer))")
            server.execute("INSERT INTO shop.t SELECT seq, seq % 3000, SHA2(seq, 256) FROM seq_1_to_60000", db="shop")
            server.execute("CREATE USER app@localhost IDENTIFIED BY 'secret'")
            server.execute("GRANT SELECT ON shop.* TO app@localhost")
        both[1].execute("ALTER TABLE shop.t DROP KEY customer")
        yield both[0], both[1]


@pytest.fixture(scope="module")
def tape(servers: tuple[Server, Server], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Convert production's slow log into a tape."""
    production, folder = servers[0], tmp_path_factory.mktemp("tape")
    production.execute("SET GLOBAL slow_query_log = ON, GLOBAL long_query_time = 0")
    threads = [threading.Thread(target=ask, args=(production, number)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    production.execute("SET GLOBAL slow_query_log = OFF")
    log = folder / "slow.log"
    log.write_bytes(production.slow_log.read_bytes())
    subprocess.run([PROGRAM, "capture", "slowlog", log, "-o", folder / "shop.tape"], check=True, capture_output=True)
    return folder / "shop.tape"


def ask(server: Server, session: int) -> None:
    """Act as a client for some seconds. Pause after each statement."""
    with closing(server.connect("shop")) as connection, connection.cursor() as cursor:
        for number in range(150):
            cursor.execute(f"SELECT COUNT(*), MAX(hash) FROM t WHERE customer = {session * 100 + number}")
            cursor.execute(f"SELECT hash FROM t WHERE id = {1 + session * 100 + number}")
            time.sleep(0.03)


class Job:
    """A job of a CI system: its folder and the inputs of the script."""

    def __init__(self, folder: Path, tape: Path) -> None:
        self.folder, self.tape = folder, tape
        self.output = folder / "querytape-report"

    def url(self, server: Server) -> str:
        """Return the URL of a server for the job. The URL has an account with a password and uses the socket."""
        return f"mysql://app@localhost/shop?socket={server.socket}"

    def run(self, **given: str) -> "subprocess.CompletedProcess[str]":
        """Run the script as a step of a GitHub job."""
        (self.folder / "runner").mkdir(exist_ok=True)
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ},
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(self.folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "RUNNER_TEMP": str(self.folder / "runner"),
            "QUERYTAPE_PASSWORD": "secret",
            "QT_QUERYTAPE": str(PROGRAM),
            "QT_TAPE": str(self.tape),
            **given,
        }
        return subprocess.run([SCRIPT], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the step."""
        lines = (self.folder / "outputs").read_text().splitlines()
        return dict(line.partition("=")[::2] for line in lines)


@pytest.fixture
def job(tmp_path: Path, tape: Path) -> Job:
    """Create a job whose folder contains only the tape."""
    return Job(tmp_path, tape)


@pytest.mark.long
def test_lost_index_fails_the_gate(job: Job, servers: tuple[Server, Server]) -> None:
    """The script exits with code 3. The Markdown report names the slower statement. All output files exist, and the
    runs are removed.
    """
    a, b = map(job.url, servers)
    done = job.run(QT_BASELINE=a, QT_CANDIDATE=b, QT_ROUNDS="2", QT_COMPARE_OPTIONS=QUICK, QT_FAIL_ON=GATE)
    assert done.returncode == 3, done.stdout + done.stderr
    assert {path.name for path in job.output.iterdir()} == FILES
    text = (job.output / "report.md").read_text()
    assert re.search(r"^\| (\*\*slower\*\*|inconclusive: during).*`select count.*customer = \?`", text, re.M | re.I), (
        text
    )
    assert (job.folder / "summary.md").read_text() == text
    assert job.outputs() == {"result": "failed", "exit-code": "3", "report": "querytape-report"}
    assert json.loads((job.output / "report.json").read_text())["digests"]
    assert list(ElementTree.parse(job.output / "junit.xml").getroot().iter("failure"))
    assert list((job.folder / "runner").iterdir()) == []
    assert re.search(r"--fail-on: (p99_ratio > 4|slower > 0)", (job.output / "log.txt").read_text())
    assert "secret" not in done.stdout + (job.output / "log.txt").read_text()


@pytest.mark.long
def test_output_cannot_contain_workflow_commands(job: Job, servers: tuple[Server, Server]) -> None:
    """GitHub must not execute commands in the output of querytape. The script disables workflow commands and enables
    them again with a random token.
    """
    gone = f"mysql://app@localhost/shop?socket={job.folder}/nothing"
    done = job.run(QT_BASELINE=gone, QT_CANDIDATE=job.url(servers[0]))
    tokens = re.findall(r"^::stop-commands::(querytape-[0-9a-f]{32})$", done.stdout, re.M)
    assert len(tokens) == 1, done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith("querytape: error")
    for token in tokens:
        assert done.stdout.index(f"::stop-commands::{token}") < done.stdout.index(f"\n::{token}::\n")


@pytest.mark.long
def test_equal_servers_pass_the_gate(job: Job, servers: tuple[Server, Server]) -> None:
    """The script exits with code 0 if the gate does not trigger."""
    url = job.url(servers[0])
    done = job.run(
        QT_BASELINE=url, QT_CANDIDATE=url, QT_ROUNDS="1", QT_COMPARE_OPTIONS=QUICK, QT_FAIL_ON="new_errors > 0"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert job.outputs()["result"] == "passed"
    assert {path.name for path in job.output.iterdir()} == FILES


@pytest.mark.long
def test_unreachable_server_is_an_error(job: Job, servers: tuple[Server, Server]) -> None:
    """The script exits with code 1, never 0. It writes the error to report.md, so that the job has something to show."""
    gone = f"mysql://app@localhost/shop?socket={job.folder}/nothing"
    done = job.run(QT_BASELINE=job.url(servers[0]), QT_CANDIDATE=gone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert job.outputs()["result"] == "error"
    assert "exit code 1" in (job.output / "report.md").read_text()
    assert "cannot connect to app@" in (job.output / "report.md").read_text()
    assert (job.folder / "summary.md").exists()


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("QT_CANDIDATE", "mysql://app@localhost/shop;touch pwned"),
        ("QT_CANDIDATE", "$(touch pwned)"),
        ("QT_FAIL_ON", "slower > 0'; touch pwned; '"),
        ("QT_FAIL_ON", "`touch pwned`"),
        ("QT_FAIL_ON", "-o pwned"),
        ("QT_ROUNDS", "1; touch pwned"),
        ("QT_ROUNDS", "x[$(touch pwned)]"),
        ("QT_COMPARE_OPTIONS", "--pause\n$(touch pwned)"),
        ("QT_COMPARE_OPTIONS", "*"),
        ("QT_REPLAY_OPTIONS", "--init\n;touch pwned\n--nothing"),
        ("QT_OUTPUT", "out\nresult=passed"),
        ("QT_OUTPUT", "-o pwned"),
        ("QT_TAPE", "--help"),
    ],
)
def test_inputs_are_never_executed(job: Job, servers: tuple[Server, Server], name: str, value: str) -> None:
    """The shell never interprets an input of the action. No input becomes an option or another output of the step."""
    a = job.url(servers[0])
    given = {"QT_BASELINE": a, "QT_CANDIDATE": a, "QT_ROUNDS": "1", "QT_COMPARE_OPTIONS": QUICK, name: value}
    if name == "QT_OUTPUT":
        given |= {"QT_CANDIDATE": f"mysql://app@localhost/shop?socket={job.folder}/nothing"}
    done = job.run(**given)
    assert done.returncode in (1, 2), done.stdout + done.stderr
    assert not [path for path in job.folder.rglob("*pwned*") if path.name != "-o pwned"], done.stdout
    if (job.folder / "outputs").exists():
        assert job.outputs()["result"] == "error"


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ({"QT_TAPE": ""}, "expected QT_TAPE"),
        ({"QT_CANDIDATE": ""}, "expected QT_CANDIDATE"),
        ({"QT_TAPE": "/"}, "expected tape.json in it"),
        ({"QT_QUERYTAPE": "querytape-that-is-not-there"}, "there is no program"),
        ({"QT_BASELINE": ""}, "expected QT_BASELINE"),
        ({"QT_OUTPUT": "."}, ". is there already"),
    ],
)
def test_missing_input_is_reported(job: Job, missing: dict[str, str], sentence: str) -> None:
    """Wrong usage causes exit code 2 and a one-line message. The script runs no command."""
    done = job.run(**{"QT_BASELINE": "mysql://app@a.invalid", "QT_CANDIDATE": "mysql://app@b.invalid", **missing})
    assert done.returncode == 2
    assert sentence in done.stderr
    assert not job.output.exists()
