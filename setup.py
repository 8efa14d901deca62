# SPDX-License-Identifier: Apache-2.0
"""Packaging: the checkout is the package, and `native/` becomes one abi3 extension through cffi."""

from setuptools import setup

PACKAGES = ["", "capture", "capture.tools", "replay", "analyze", "native", "schemas", "demo"]

setup(
    name="querytape",
    version="0.1.0",
    description="Record MySQL traffic, replay it natively against other servers, compare what came back",
    long_description=open("README.md", encoding="utf-8").read(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.11",
    package_dir={"querytape": "."},
    packages=["querytape" + ("." + name if name else "") for name in PACKAGES],
    package_data={
        "querytape.schemas": ["*.sql"],
        "querytape.replay": ["*.sql"],
        "querytape.capture": ["*.sql"],
        "querytape.analyze": ["*.sql", "templates/*"],
        "querytape": ["py.typed"],
    },
    exclude_package_data={"querytape": ["setup.py"]},
    install_requires=[
        "duckdb>=2.0,<3",
        "cffi>=2.0",
        "click>=8.1,<9",
        "rich>=13",
        "Jinja2>=3.1",
        "sqlparse>=0.5",
        "PyMySQL[rsa]>=1.1",
    ],
    extras_require={"dev": ["pytest>=8", "ruff>=0.9", "mypy>=1.11", "types-PyMySQL", "build", "setuptools>=77"]},
    cffi_modules=["native/build_ffi.py:ffi"],
    entry_points={"console_scripts": ["querytape = querytape.cli:main"]},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
    zip_safe=False,
)
