# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the images of the Containerfile without a daemon and without a registry.

`make test-image` runs this script. A Debian 13 made by mmdebstrap replaces debian:13-slim. buildah builds and runs with
chroot isolation. Each command runs as the image's own user in the image's folder. The demo runs until its report.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from querytape.scripts.make_wheel import run
from querytape.scripts.test_wheel import HEADER, LOG, ROOT, root_archive

DEBIAN = "localhost/debian:13-slim"
USER = "10001"
CONFIGS = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")  # files with this machine's network access settings


class Images:
    """An image store in its own folder."""

    def __init__(self, folder: Path) -> None:
        self.words = ["buildah", "--root", folder / "store", "--runroot", folder / "run", "--storage-driver", "vfs"]

    def __call__(self, *words: object) -> str:
        """Run buildah and return its output."""
        return run(*self.words, *words)

    def debian(self) -> None:
        """Make the image that replaces Debian's image."""
        made = self("from", "scratch").strip()
        self("add", made, root_archive())
        self("commit", "--quiet", made, DEBIAN)
        self("rm", made)

    def build(self, target: str) -> None:
        """Build a target of the Containerfile."""
        mounts = [word for path in CONFIGS if Path(path).exists() for word in ("--volume", f"{path}:{path}:ro")]
        where = ("--isolation", "chroot", "--network", "host", "--pull-never", "--layers", *mounts)
        words = (
            "--build-arg",
            f"DEBIAN={DEBIAN}",
            "--target",
            target,
            "--tag",
            target,
            "--file",
            ROOT / "Containerfile",
        )
        self("bud", *where, *words, ROOT)

    @contextmanager
    def container(self, image: str) -> Iterator[str]:
        """Provide a container of an image during the block."""
        name = self("from", "--pull-never", f"localhost/{image}").strip()
        try:
            yield name
        finally:
            self("rm", name)

    def inside(self, container: str, *words: object) -> str:
        """Run a command in the container as the image's user."""
        return self("run", "--isolation", "chroot", container, "--", *words)


def expect(what: str, said: str, wanted: str) -> None:
    """Exit if the output `said` does not contain the text `wanted`."""
    if wanted not in said:
        raise SystemExit(f"{what}: expected {wanted!r}, found {said[-2000:]}")
    print(f"{what}: {wanted}")


def try_commands(images: Images, container: str, folder: Path) -> None:
    """Check the image's user and program, then capture a log in the container's folder into a tape."""
    config = images("inspect", "--format", "{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}}", container)
    expect("the image's user and program", config, f"{USER}:{USER} [querytape]")
    expect("its user inside", images.inside(container, "id", "-u"), USER)
    log = folder / "slow.log"
    log.write_text(HEADER + "".join(LOG.format(n=n, session=1 + n % 4) for n in range(200)), encoding="ascii")
    images("copy", container, log, "/data/slow.log")
    said = images.inside(container, "querytape", "--version", "--libraries")
    expect("its libraries", said, "(bundled with querytape)")
    images.inside(container, "querytape", "capture", "slow.log", "-o", "shop.tape")
    expect("its tape", images.inside(container, "querytape", "inspect", "shop.tape"), "200")
    for missing in ("cc", "pip", "mariadbd"):
        found = images.inside(container, "sh", "-c", f"command -v {missing} || echo none")
        expect(f"{missing} in it", found, "none")


def main() -> None:
    """Build both targets and test them."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("buildah", "mmdebstrap"))):
        raise SystemExit("make test-image needs root, buildah and mmdebstrap")
    if not list((ROOT / "dist").glob("querytape-*-manylinux*.whl")):
        raise SystemExit("there is no wheel in dist/: make wheel")
    with tempfile.TemporaryDirectory(prefix="qt-image-", dir="/tmp") as name:
        folder = Path(name)
        images = Images(folder)
        images.debian()
        for target in ("querytape", "demo"):
            images.build(target)
        with images.container("querytape") as container:
            try_commands(images, container, folder)
        with images.container("demo") as container:
            said = images.inside(container, "querytape", "demo", "--seconds", "4", "--keep", "/data/demo")
            expect("its demo", said, "The report: /data/demo/report.html")
        print("both images work as their own user")


if __name__ == "__main__":
    main()
