# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/ci.md. They pass the schemas and linters of GitHub and GitLab, and use existing inputs and
variables.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

BIN = Path(sys.executable).parent
PAGE = CHECKOUT / "docs" / "ci.md"


def example(file: str) -> str:
    """Return the example after the given file name on the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"`{file}`:\n\n")[2]
    lines = re.match(r"(?:    .*\n|\n)+", text)
    assert lines is not None, file
    return "".join(line.removeprefix("    ") for line in lines[0].splitlines(keepends=True))


def linter_faults(*words: object) -> str:
    """Run a linter from this environment. Return its output, or "" if it finds no fault."""
    done = subprocess.run([str(BIN / str(words[0])), *map(str, words[1:])], capture_output=True, text=True, timeout=120)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "schema"),
    [(".github/workflows/replay.yml", "vendor.github-workflows"), (".gitlab-ci.yml", "vendor.gitlab-ci")],
)
def test_ci_examples_match_their_schema(file: str, schema: str, tmp_path: Path) -> None:
    """The test also checks that the schema refuses a misspelled key."""
    path = tmp_path / "copied.yml"
    more = ["--data-transform", "gitlab-ci"] if "gitlab" in schema else []
    path.write_text(example(file), encoding="utf-8")
    assert linter_faults("check-jsonschema", "--builtin-schema", schema, *more, path) == ""
    path.write_text(example(file).replace("services:", "servises:"), encoding="utf-8")
    assert "servises" in linter_faults("check-jsonschema", "--builtin-schema", schema, *more, path)


def test_example_workflow_passes_zizmor(tmp_path: Path) -> None:
    """The test also checks that zizmor reports a pull request title inside a script."""
    path = tmp_path / ".github" / "workflows" / "replay.yml"
    path.parent.mkdir(parents=True)
    # As the page requires, the reader inserts the owner and the commit hash of the action.
    text = example(".github/workflows/replay.yml").replace(
        "OWNER/querytape@v0.1.0", f"me/querytape@{'1' * 40} # v0.1.0"
    )
    path.write_text(text, encoding="utf-8")
    assert linter_faults("zizmor", "--offline", "--no-progress", path) == ""
    path.write_text(
        text.replace("cat migrations/*.sql", "echo ${{ github.event.pull_request.title }}"), encoding="utf-8"
    )
    assert "template-injection" in linter_faults("zizmor", "--offline", "--no-progress", path)


def test_example_inputs_and_variables_exist() -> None:
    """action.yml declares the inputs of the GitHub example. The CI scripts read the variables of the GitLab example."""
    action = (CHECKOUT / "action.yml").read_text(encoding="utf-8")
    inputs = set(re.findall(r"^  ([a-z-]+):$", action.partition("\noutputs:")[0], re.M))
    workflow = example(".github/workflows/replay.yml").partition("OWNER/querytape")[2]
    used = set(re.findall(r"^          ([a-z-]+):", workflow, re.M))
    assert used
    assert used <= inputs
    rows = PAGE.read_text(encoding="utf-8").partition("| input | meaning |")[2].partition("| output | meaning |")[0]
    assert set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (.*?) \|", rows, re.M)))) == inputs
    scripts = "".join(path.read_text(encoding="utf-8") for path in (CHECKOUT / "scripts").glob("ci-*"))
    variables = set(re.findall(r"\bQT_[A-Z_]+", PAGE.read_text(encoding="utf-8")))
    assert [name for name in sorted(variables) if name not in scripts] == []


def test_action_passes_inputs_through_the_environment() -> None:
    """An input that is inserted into a shell script could inject commands."""
    action = (CHECKOUT / "action.yml").read_text(encoding="utf-8")
    runs = re.findall(r"^      run: (?:\|\n((?:        .*\n)+)|(.*))", action, re.M)
    assert len(runs) == 3
    assert not [text for both in runs for text in both if "${{" in text]
