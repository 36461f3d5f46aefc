"""Finds and compiles the extensions; all else stands in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("sktemper")
SIMD = PACKAGE / "simd"
SHARED = (PACKAGE / "special.pyx").as_posix()
# SKTEMPER_DEBUG=1 checks every index and leaves C's assert() in.
DEBUG = os.environ.get("SKTEMPER_DEBUG", "0") not in ("", "0")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    # Off in both: with wraparound a negative index would pass the bounds check, and
    # without cdivision a debug build would compute another thing than a release.
    "wraparound": False,
    "cdivision": True,
    "freethreading_compatible": True,
}
# Never -ffast-math, which flips denormals for the whole process or breaks careful
# code, and never -march=native: what ships must run elsewhere.
FLAGS = {
    "unix": ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"],
    "msvc": ["/O2"],
}
# Python's own flags have -g (megabytes in a wheel) and -DNDEBUG.
if DEBUG:
    FLAGS = {compiler: [*flags, "-UNDEBUG"] for compiler, flags in FLAGS.items()}
else:
    FLAGS["unix"].append("-g0")


def paths(directory, pattern):
    return sorted(path.as_posix() for path in directory.glob(pattern))


def extensions():
    """One extension for each .pyx; `special` has the shared C sources compiled in."""
    depends = [*paths(SIMD, "*.h"), *paths(PACKAGE, "**/*.pxd"), "setup.py"]
    return [
        Extension(
            name=source.removesuffix(".pyx").replace("/", "."),
            sources=[source, *(paths(SIMD, "*.c") if source == SHARED else [])],
            depends=depends,
            include_dirs=[SIMD.as_posix()],
        )
        for source in paths(PACKAGE, "**/*.pyx")
    ]


class BuildExt(build_ext):
    """Translates and compiles outside of the source tree, by the compiler's flags."""

    def build_extension(self, ext):
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        translated = cythonize(
            [ext], build_dir=self.build_temp, compiler_directives=DIRECTIVES
        )
        ext.sources = translated[0].sources
        super().build_extension(ext)


# Scripts in .ci/ import this module for what stands above.
if __name__ == "__main__":
    setup(
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExt},
        # A debug build must not be taken for a release build that is up to date.
        options={"build": {"build_base": "build/debug"}} if DEBUG else {},
    )
