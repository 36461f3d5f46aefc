"""Translate every .pyx to C, and compile all C for each target with warnings as errors.

The compiler is the Clang of the package ziglang, which has the headers of each system.
Nothing is linked or run. All instruction sets of a target are compiled, with the flags
of setup.py, because optimisers also warn. Warnings in C that Cython generates are
errors too. The script `.ci/cross_compile` runs this program in an environment with
ziglang.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
os.chdir(ROOT)
import setup  # noqa: E402, the one of this project

# Name of each target in Clang, and additional flags for its C.
TARGETS = {
    "x86_64-linux": ["x86_64-linux-gnu", "-fPIC"],
    "aarch64-linux": ["aarch64-linux-gnu", "-fPIC"],
    "riscv64-linux": ["riscv64-linux-gnu", "-fPIC"],
    "x86_64-macos": ["x86_64-macos", "-fPIC"],
    "aarch64-macos": ["aarch64-macos", "-fPIC"],
    "x86_64-windows": ["x86_64-windows-gnu"],
    "aarch64-windows": ["aarch64-windows-gnu"],
    "wasm32-wasi": ["wasm32-wasi", "-msimd128"],
}
WARNINGS = ["-Wall", "-Wextra", "-Werror"]

# A minimal pyconfig.h for Python.h, with values from the compiler, because the file of
# the running interpreter describes this machine and not the target.
PYCONFIG = """
#define SIZEOF_SHORT __SIZEOF_SHORT__
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_FLOAT __SIZEOF_FLOAT__
#define SIZEOF_DOUBLE __SIZEOF_DOUBLE__
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_UINTPTR_T __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_PID_T 4
#define SIZEOF_TIME_T 8
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_WCHAR_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SSIZE_T 1
#ifdef _WIN32
#define MS_WINDOWS
#define MS_WIN32
#ifdef _WIN64
#define MS_WIN64
#endif
#define NT_THREADS
#define Py_NO_LINK_LIB
#else
#define HAVE_UNISTD_H 1
#ifdef __wasi__
#define HAVE_PTHREAD_STUBS 1
#else
#define HAVE_PTHREAD_H 1
#define _POSIX_THREADS 1
#endif
#endif
"""


def python_headers(directory):
    """Copy the interpreter's headers, and replace pyconfig.h beside Python.h."""
    shutil.copytree(sysconfig.get_path("include"), directory)
    config = PYCONFIG
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        config += "#define Py_GIL_DISABLED 1\n"
    (directory / "pyconfig.h").write_text(config, encoding="utf-8")


def compile_one(target, source, folders, scratch):
    """Return the messages of the compiler, if any, and its time in seconds."""
    name, *own = TARGETS[target]
    command = [sys.executable, "-m", "ziglang", "cc", "-target", name, *own]
    command += [*setup.FLAGS["unix"], "-DNDEBUG", *WARNINGS]
    command += ["-isystem", str(scratch / "include"), "-c", source]
    command += [f"-I{folder}" for folder in folders]
    command += ["-o", str(scratch / f"{target}_{source.replace('/', '_')}.o")]
    begin = time.perf_counter()
    run = subprocess.run(command, capture_output=True, text=True)
    said = (run.stdout + run.stderr).strip()
    if run.returncode and not said:
        said = f"exit code {run.returncode}"
    return said, time.perf_counter() - begin


def main(targets):
    """Compile everything for these targets; return the number of failures."""
    unknown = set(targets) - set(TARGETS)
    if unknown:
        sys.exit(f"Unknown: {', '.join(unknown)}. Targets: {', '.join(TARGETS)}.")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        python_headers(scratch / "include")
        translated = [setup.translate(each, scratch) for each in setup.extensions()]
        jobs = [
            (target, source, each.include_dirs)
            for target in targets
            for each in translated
            for source in each.sources
        ]
        failures = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = pool.map(lambda job: compile_one(*job, scratch), jobs)
            for (target, source, _), (said, seconds) in zip(jobs, results, strict=True):
                label = source.removeprefix(f"{scratch}/")
                verdict = "FAILED" if said else "ok"
                print(f"{target:16} {label:44} {verdict} {seconds:5.1f} s", flush=True)
                if said:
                    failures += 1
                    print(said, flush=True)
    print(f"{len(jobs) - failures} passed, {failures} failed")
    return failures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(TARGETS)) > 0)
