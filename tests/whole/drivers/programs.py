# SPDX-License-Identifier: Apache-2.0
"""The test programs that use the drivers. They are built once, into build/drivers. A missing toolchain is reported."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[2] / "build" / "drivers"
BUILD_TIMEOUT_S = 900
# One statement of the workload fails on purpose. With --force, the client continues after this statement, and its exit
# code still reports other failures.
CLI = (
    "mariadb --no-defaults --comments --protocol=tcp --skip-ssl --host=$QT_HOST --port=$QT_PORT --user=$QT_USER --force"
    f" --default-character-set=utf8mb4 $QT_DB < '{HERE / 'cli' / 'workload.sql'}' || test $? -eq 1"
)
PYTHON_LIBRARIES = ("pymysql", "mysql-connector-python", "mysqlclient", "asyncmy")


@dataclass(frozen=True)
class Driver:
    """A driver, with its command line and its build function. The build function returns the reason of a failure, or
    None.
    """

    name: str
    build: Callable[[], str | None]
    command: Sequence[str]
    text_only: bool = False


def build_python() -> str | None:
    """Create a virtual environment with the Python drivers."""
    python = BUILT / "python" / "bin" / "python"
    if python.exists():
        return None
    return _run([sys.executable, "-m", "venv", str(BUILT / "python")]) or _run(
        [str(python), "-m", "pip", "install", "--quiet", *PYTHON_LIBRARIES]
    )


def build_node() -> str | None:
    """Install the packages of node/package.json."""
    folder = BUILT / "node"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "workload.js"):
        shutil.copy(HERE / "node" / name, folder)
    if (folder / "node_modules" / "mysql2").exists():
        return None
    return _run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder)


def build_go() -> str | None:
    return _run(["go", "build", "-o", str(BUILT / "go"), "."], cwd=HERE / "go")


def build_java() -> str | None:
    """Download both Java connectors and compile java/Workload.java."""
    folder = BUILT / "java"
    if not list(folder.glob("mysql-connector-j-*.jar")):
        copy = ["mvn", "-q", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        if why := _run(copy, cwd=HERE / "java"):
            return why
    return _run(["javac", "-d", str(folder), str(HERE / "java" / "Workload.java")])


def build_rust() -> str | None:
    """Compile a copy of rust/ with cargo, which writes its lock file into the copy."""
    shutil.copytree(HERE / "rust", BUILT / "rust", dirs_exist_ok=True)
    return _run(["cargo", "build", "--quiet"], cwd=BUILT / "rust")


def build_php() -> str | None:
    """Check that PHP has both MySQL extensions. The PHP program needs no build."""
    return _run(["php", "-r", "exit(extension_loaded('mysqli') && extension_loaded('pdo_mysql') ? 0 : 1);"])


def build_cli() -> str | None:
    """Check that the command line client exists. The client needs no build."""
    return _run(["mariadb", "--version"])


def _run(command: Sequence[str], cwd: Path | None = None) -> str | None:
    """Run a build step. Return its error on one line, or None."""
    if shutil.which(command[0]) is None:
        return f"no {command[0]} on this machine"
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=BUILD_TIMEOUT_S)
    return None if done.returncode == 0 else f"{command[0]} failed: {(done.stderr or done.stdout)[-300:]!r}"


def _python(library: str) -> Driver:
    name = f"python-{library.replace('_', '-')}"
    return Driver(
        name,
        build_python,
        (str(BUILT / "python" / "bin" / "python"), str(HERE / "python" / "workload.py"), library),
        text_only=not library.startswith("connector"),
    )


DRIVERS = {
    driver.name: driver
    for driver in (
        *map(_python, ("pymysql", "connector_pure", "mysqlclient", "asyncmy")),
        Driver("node-mysql2", build_node, ("node", str(BUILT / "node" / "workload.js"), "mysql2")),
        Driver("node-mariadb", build_node, ("node", str(BUILT / "node" / "workload.js"), "mariadb")),
        Driver("go", build_go, (str(BUILT / "go"),)),
        Driver("java-mysql", build_java, ("java", "-cp", f"{BUILT / 'java'}:{BUILT / 'java'}/*", "Workload", "mysql")),
        Driver(
            "java-mariadb", build_java, ("java", "-cp", f"{BUILT / 'java'}:{BUILT / 'java'}/*", "Workload", "mariadb")
        ),
        Driver("rust", build_rust, (str(BUILT / "rust" / "target" / "debug" / "querytape-drivers"),)),
        Driver("cli", build_cli, ("sh", "-c", CLI), text_only=True),
        Driver("php-mysqli", build_php, ("php", str(HERE / "php" / "workload.php"), "mysqli")),
        Driver("php-pdo", build_php, ("php", str(HERE / "php" / "workload.php"), "pdo")),
    )
}
