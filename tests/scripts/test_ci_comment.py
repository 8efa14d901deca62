# SPDX-License-Identifier: Apache-2.0
"""One comment per pull or merge request, which each run of the script updates. Local servers simulate GitHub and
GitLab.
"""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow

SCRIPT = CHECKOUT / "scripts" / "ci-comment"
PATHS = {
    "github": r"/repos/shop/web/issues/(7/comments|comments/(\d+))",
    "gitlab": r"/projects/12/merge_requests/7/notes(/(\d+))?",
}
TOKENS = {"github": ("Authorization", "Bearer only-here"), "gitlab": ("PRIVATE-TOKEN", "only-here")}
CHANGES = {"github": "PATCH", "gitlab": "PUT"}


class Forge:
    """The comments of one pull or merge request, served over HTTP."""

    def __init__(self, kind: str) -> None:
        self.kind, self.comments, self.asked = kind, list[dict[str, Any]](), list[str]()
        self.refuses = False
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                code, found = forge.answer(self)
                body = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = do_PUT = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> tuple[int, Any]:
        """Return the status code and JSON of the answer to a request."""
        path, _, query = request.path.partition("?")
        self.asked.append(request.command)
        place = re.fullmatch(PATHS[self.kind], path)
        name, token = TOKENS[self.kind]
        if place is None or request.headers[name] != token:
            return 404, {}
        if request.command == "GET":
            page, each = (int(re.search(rf"\b{word}=(\d+)", query)[1]) for word in ("page", "per_page"))  # type: ignore[index]
            return 200, self.comments[(page - 1) * each : page * each]
        if self.refuses:
            return 403, {"message": "Resource not accessible by integration"}
        body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))["body"]
        if request.command == "POST" and place[2] is None:
            self.comments.append({"id": 1000 + len(self.comments), "body": body})
            return 201, self.comments[-1]
        if request.command == CHANGES[self.kind] and place[2] is not None:
            found = next(each for each in self.comments if each["id"] == int(place[2]))
            found["body"] = body
            return 200, found
        return 405, {}

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a CI job on this forge."""
        url = f"http://127.0.0.1:{self.server.server_port}"
        if self.kind == "gitlab":
            return {
                "GITLAB_CI": "true",
                "CI_API_V4_URL": url,
                "CI_PROJECT_ID": "12",
                "CI_MERGE_REQUEST_IID": "7",
                "QT_GITLAB_TOKEN": "only-here",
            }
        return {
            "GITHUB_API_URL": url,
            "GITHUB_REPOSITORY": "shop/web",
            "QT_REQUEST": "7",
            "GITHUB_TOKEN": "only-here",
        }


@pytest.fixture(params=sorted(PATHS))
def forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    """Start each kind of forge in turn, with other users' comments on two pages."""
    made = Forge(request.param)
    made.comments = [{"id": number, "body": f"looks good {number}"} for number in range(130)]
    yield made
    made.server.shutdown()


def write(forge: Forge, text: str, folder: Path, *name: str, **changed: str) -> "subprocess.CompletedProcess[str]":
    """Run the script with the given report text."""
    (folder / "report.md").write_text(text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, SCRIPT, folder / "report.md", *name],
        env={**forge.environment(), **changed},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_comment_is_created_once_and_then_updated(forge: Forge, tmp_path: Path) -> None:
    """The script finds its comment even if the comment is not on the first page. Comments of other users stay
    unchanged.
    """
    for text in ("# first", "# second", "# third µs"):
        done = write(forge, text, tmp_path)
        assert done.returncode == 0, done.stderr
    assert len(forge.comments) == 131
    assert forge.comments[-1]["body"] == "<!-- querytape: report -->\n# third µs"
    assert [each["body"] for each in forge.comments[:130]] == [f"looks good {number}" for number in range(130)]
    assert [word for word in forge.asked if word != "GET"] == ["POST", CHANGES[forge.kind], CHANGES[forge.kind]]


def test_each_name_has_its_own_comment(forge: Forge, tmp_path: Path) -> None:
    """Two reports on one pull request do not overwrite each other's comments. A name cannot close the marker in the
    comment.
    """
    for name in ("mysql-9", "mariadb", "mysql-9", "--> @all"):
        assert write(forge, f"# {name}", tmp_path, name).returncode == 0
    marks = [each["body"].splitlines()[0] for each in forge.comments[130:]]
    assert marks == ["<!-- querytape: mysql-9 -->", "<!-- querytape: mariadb -->", "<!-- querytape: -----all -->"]


def test_long_report_is_shortened(forge: Forge, tmp_path: Path) -> None:
    """Complete lines are removed and counted, because a comment is limited to 65,536 characters."""
    lines = [f"| {number} | {'x' * 100} |" for number in range(1000)]
    assert write(forge, "\n".join(lines) + "\n", tmp_path).returncode == 0
    body = forge.comments[-1]["body"]
    assert len(body) < 65_536
    kept = [line for line in body.splitlines() if line.startswith("| ")]
    assert kept == lines[: len(kept)]
    assert f"**{1000 - len(kept)} more lines are in report.md" in body


def test_refused_comment_is_an_error(forge: Forge, tmp_path: Path) -> None:
    """A read-only token, an invalid number and a missing report lead to exit code 1 and a one-line message."""
    forge.refuses = True
    done = write(forge, "# x", tmp_path)
    assert (done.returncode, "may not write comments" in done.stderr) == (1, True), done.stderr
    assert "only-here" not in done.stdout + done.stderr
    done = write(forge, "# x", tmp_path, QT_REQUEST="7/../../", CI_MERGE_REQUEST_IID="7/../../")
    assert (done.returncode, "expected the number of a request" in done.stderr) == (1, True)
    for name in ("GITHUB_TOKEN", "QT_GITLAB_TOKEN"):
        if name in forge.environment():
            done = write(forge, "# x", tmp_path, **{name: ""})
            assert (done.returncode, f"{name} is not set" in done.stderr) == (1, True)
    gone = subprocess.run([sys.executable, SCRIPT, tmp_path / "none.md"], capture_output=True, text=True, timeout=60)
    assert (gone.returncode, "none.md" in gone.stderr) == (1, True)
