# SPDX-License-Identifier: Apache-2.0
"""Commands against hostile servers, which send nothing, too little, too much or invalid packets. Each command ends soon
with a message and exit code 1. In the normal test run, each server is used by two commands. `make fuzz` tries all
combinations (QT_DAMAGES).
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.servers import control

from tests.helpers.command_line import RAW, run_here
from tests.helpers.hostile import OK, Client, greeting, hostile, packet
from tests.helpers.tapes import make_tape

Script = Callable[[Client], None]


def answering(*answers: bytes) -> Script:
    """Return a server that accepts every login and sends these answers one after another."""

    def script(client: Client) -> None:
        client.log_in()
        number = 0
        while client.hear():
            client.say(answers[number % len(answers)])
            number += 1

    return script


def refusing(text: bytes) -> Script:
    """Return a server that sends an error packet in place of a greeting."""
    return lambda client: client.say(packet(0, b"\xff\x15\x04" + text))


MODES: dict[str, Script] = {
    "silent": Client.hold,
    "closes at once": lambda client: None,
    "half a greeting": lambda client: client.say(greeting()[:20]),
    "greets and is silent": lambda client: (client.say(greeting()), client.hold())[1],
    "is silent after the login": lambda client: (client.log_in(), client.hear(), client.hold())[2],
    "closes after the login": Client.log_in,
    "refuses with escapes": refusing(b"#28000\x1b[31mred\x1b]0;title\x07\r\n"),
    "another protocol": lambda client: client.say(b"SSH-2.0-OpenSSH_9.2\r\n" * 3),
    "a packet of 16 MiB": lambda client: client.say(b"\xff\xff\xff\0" + bytes(1 << 20)),
    "OK to everything": answering(packet(1, OK)),
    "errors to everything": answering(packet(1, b"\xff\x28\x04#42000no \x1b[2J")),
    "asks for a file": answering(packet(1, b"\xfb/etc/passwd")),
    "nonsense": answering(packet(1, b"\xfc\xff\xff"), packet(9, b""), b"\0" * 9),
}
COMMANDS = {
    "replay": "replay {tape} --target {url} -o {new}",
    "sweep": "sweep {tape} --target {url} --sessions 1 --each 100ms -o {new}",
    "compare": "compare {tape} --target a={url} --target b={url} --rounds 1 --pause 0s -o {new}",
    "compare --quick": "compare {tape} --target a={url} --target b={url} --quick -o {new}",
    "capture server": "capture server {url} --duration 1s --restore-file {file} -o {new}",
    "capture server --restore": "capture server {url} --restore --restore-file {file}",
    "plans": "plans {tape} --target a={url} --target b={url} -o {new}",
    "inspect --source": "inspect {tape} --source {url}",
    "capture --source": "capture slowlog {log} --source {url} -o {new}",
}
EVERY = "QT_DAMAGES" in os.environ


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inputs")
    tape = make_tape(folder / "t.tape", [{"statement": f"SELECT {n}"} for n in range(20)])
    log = folder / "slow.log"
    log.write_text("# Time: 2024-06-10T06:13:20.000100Z\n# User@Host: a[a] @ h []  Id: 5\n# Query_time: 0.1  Lock_time: 0"
                   " Rows_sent: 0  Rows_examined: 0\nSET timestamp=1718000000;\nSELECT 1;\n")  # fmt: skip
    return {"tape": str(tape), "log": str(log)}


@pytest.mark.long
@pytest.mark.parametrize("mode", list(MODES))
def test_every_command_ends_with_a_message_against_a_hostile_server(
    mode: str, inputs: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command hangs, leaves an unfinished run, or prints raw errors or terminal escapes."""
    real = control.ControlConnection.__init__

    def impatient(self: control.ControlConnection, timeout_s: float, answer_s: float, **more: Any) -> None:
        real(self, min(timeout_s, 1), min(answer_s, 1), **more)

    monkeypatch.setattr(control.ControlConnection, "__init__", impatient)
    with hostile(MODES[mode]) as server:
        url = f"mysql://app@127.0.0.1:{server.port}/shop"
        at = list(MODES).index(mode)
        for name in COMMANDS if EVERY else [list(COMMANDS)[(at + step) % len(COMMANDS)] for step in (0, 3)]:
            text = COMMANDS[name]
            words = {**inputs, "url": url, "new": str(tmp_path / "new"), "file": str(tmp_path / "restore.json")}
            ended = run_here(*(word.format(**words) for word in text.split()))
            said = ended.out + ended.err
            assert ended.code in (0, 1), (name, ended)
            assert not RAW.search(said), (name, said)
            assert not set("\x1b\x07") & set(said), (name, said)
            assert ended.code == 0 or ended.err.strip(), name
            if ended.code == 0:
                assert name.endswith(" --source"), (name, ended)  # a server may give any answer about itself
            assert not any(b"root:" in data for data in server.heard)
            shutil.rmtree(tmp_path / "new", ignore_errors=True)
