"""Build of the extensions; all other settings are in pyproject.toml.

If a model has loops in C, `translate` generates the declarations for Cython, and a C
file for each instruction set.  ``sktemper/_simd/__init__.py`` describes their layout.
"""

import gzip
import os
import re
import tarfile
import threading
import tomllib
from multiprocessing.pool import ThreadPool
from pathlib import Path

from Cython.Build import Dependencies, cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.modified import newer_group

PACKAGE = Path("sktemper")
SIMD = PACKAGE / "_simd"
# A .pyx that contains this line uses the C loops of its folder.
INCLUDE = 'include "_loops.pxi"'
# SKTEMPER_DEBUG=1 checks every index and keeps C's assert() active.
DEBUG = os.environ.get("SKTEMPER_DEBUG", "0") not in ("", "0")

# Cython has one global cache of files, but threads build extensions at the same time.
TRANSLATING = threading.Lock()
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    # Debug and release builds have the same values: with wraparound, a negative index
    # would pass the bounds check, and without cdivision, results would differ.
    "wraparound": False,
    "cdivision": True,
    "freethreading_compatible": True,
}
# Do not add -ffast-math: it may flush denormals in the whole process, and breaks code
# that relies on the order of operations.  Do not add -march=native: wheels must run on
# other processors.
FLAGS = {
    "unix": ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd"],
    "msvc": ["/O2"],
}
# Python's own flags include -g, which adds megabytes to a wheel, and -DNDEBUG.
if DEBUG:
    FLAGS = {compiler: [*flags, "-UNDEBUG"] for compiler, flags in FLAGS.items()}
else:
    FLAGS["unix"].append("-g0")


def paths(directory, pattern):
    return sorted(path.as_posix() for path in directory.glob(pattern))


def included(roots):
    """Return the paths of sources and of all files of the package that they include."""
    found, left = set(), list(roots)
    while left:
        path = Path(left.pop())
        if path.as_posix() not in found:
            found.add(path.as_posix())
            text = path.read_text(encoding="utf-8")
            for name in re.findall(r'^#?include "(.+)"', text, re.MULTILINE):
                places = [folder / name for folder in (path.parent, SIMD, Path())]
                left += [os.path.relpath(place) for place in places if place.exists()]
    return sorted(found)


def extensions():
    """Return an extension for each .pyx; a change of what it includes rebuilds it."""
    tables = [SIMD / "simd.h", SIMD / "tables.h", *paths(SIMD, "isa/*.h")]
    return [
        Extension(
            name=source.removesuffix(".pyx").replace("/", "."),
            sources=[source],
            depends=[
                *included([source, *paths(Path(source).parent, "*.h"), *tables]),
                "setup.py",
            ],
            include_dirs=[SIMD.as_posix(), "."],
        )
        for source in paths(PACKAGE, "**/*.pyx")
    ]


def without_comments(path):
    """Return the text of a C file without its comments."""
    text = Path(path).read_text(encoding="utf-8")
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def constants_and_structs(folder):
    """Return Cython declarations of the constants and structs in _blocks.h."""
    blocks = folder / "_blocks.h"
    text = without_comments(blocks) if blocks.exists() else ""
    others = re.findall(r'^#include "(.+)/_blocks\.h"', text, re.MULTILINE)
    lines = [line for other in others for line in constants_and_structs(Path(other))]
    constant = r"^#define[ \t]+(\w+)[ \t]+(\S+)"
    for name, value in re.findall(constant, text, re.MULTILINE):
        is_real = re.fullmatch(r"\d+(\.\d+|e-?\d+)", value)
        lines += [f"const double {name}"] if is_real else ["enum:", f"    {name}"]
    struct = r"\btypedef\s+struct\s*\w*\s*\{(.*?)\}\s*(\w+)\s*;"
    for fields, name in re.findall(struct, text, re.DOTALL):
        lines.append(f"ctypedef struct {name}:")
        for field in re.sub(r"\bvolatile\b", "", fields).split(";")[:-1]:
            # Cython wants a declaration for each pointer
            first, *others = re.split(r",(?![^(]*\))", " ".join(field.split()))
            kind = re.sub(r"\**\w+$", "", first)
            lines += [f"    {first}", *(f"    {kind}{name.strip()}" for name in others)]
    return lines


def loops(folder):
    """Return the members of a folder's table: pointers to functions marked LOOP."""
    loop = r"^LOOP\s+([^;{}()]*?)\s*\bNAME\((\w+)\)\s*\(([^()]*)\)\s*\{"
    found = [
        match
        for header in paths(folder, "*.h")
        for match in re.findall(loop, without_comments(header), re.MULTILINE)
    ]
    members = {}
    for real, suffix in ("float", "f32"), ("double", "f64"):
        for kind, name, parameters in found:
            member = f"{kind} (*{name}_{suffix})({parameters})"
            member = re.sub(r"\bREAL\b", real, re.sub(r"\brestrict\b", "", member))
            members[f"{name}_{suffix}"] = " ".join(member.split())
    return members


CALL = """\
cdef inline {kind} call_{name}({given}{parameters}) noexcept nogil:
    if {is_float}:
        {give}SIMD.{name}_f32({arguments})
    else:
        {give}SIMD.{name}_f64({arguments})
"""
RUN = """\
cdef inline int run_{name}(bint is_float, {parameters}) noexcept nogil:
    cdef unsigned int mode = simd_flush_subnormals()
    cdef int status = call_{name}(is_float, {arguments})
    simd_restore_subnormals(mode)
    return status
"""


def calls(members):
    """Return functions that call each loop for the type of the arguments.

    If the parameters of a loop do not depend on the type, the first argument chooses
    it; if such a loop returns an int, another function, ``run_...``, calls it while
    subnormal numbers are 0.
    """
    functions = []
    for member in members.values():
        found = re.fullmatch(r"(\w+) \(\*(\w+)_f32\)\((.*)\)", member)
        if not found:
            continue
        kind, name, parameters = found.groups()
        given = {"is_float": "is_float", "given": "bint is_float, "}
        is_common = members[f"{name}_f64"] == member.replace("_f32", "_f64")
        if not is_common:
            given = {"is_float": "floating is float", "given": ""}
            parameters = re.sub(r"\bfloat\b", "floating", parameters)
        given |= {"kind": kind, "give": "" if kind == "void" else "return "}
        given |= {"name": name, "parameters": parameters}
        given["arguments"] = ", ".join(re.findall(r"\w+(?=,|$)", parameters))
        functions.append(CALL.format(**given))
        if is_common and kind == "int":
            functions.append(RUN.format(**given))
    return "\n".join(functions)


DECLARATIONS = """\
# Generated by setup.py from the headers of {folder}.
from cython cimport floating
from libc.stdint cimport *

from sktemper._simd.dispatch import instruction_set

cdef extern from "{folder}/_table.h" nogil:
    enum:
        SIMD_BYTES
    unsigned int simd_flush_subnormals() noexcept
    void simd_restore_subnormals(unsigned int mode) noexcept
    {structs}
    ctypedef struct simd_table:
        {members}
    const simd_table *simd_table_of(const char *name) noexcept

#: The loops for the instruction set in use.
cdef const simd_table *SIMD = simd_table_of(instruction_set.encode())

{calls}
"""
TABLE = """\
/* Generated by setup.py from the headers of {folder}. */
#include "simd.h"
{blocks}
#define SIMD_LOOPS "{folder}/_loops.h"
#define SIMD_ALL_LOOPS {names}
#define SIMD_TABLE_(isa) {prefix}_##isa
#define SIMD_TABLE(isa) SIMD_TABLE_(isa)
typedef struct {{
    const char *name;
    {members};
}} simd_table;
#include "tables.h"
"""


def write(path, text):
    """Write a file unless it has this content, so that it is not compiled again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def write_loops(folder, build_dir):
    """Write the generated files for a folder's loops; return the paths of C files."""
    members, out = loops(folder), Path(build_dir, folder)
    has_blocks = (folder / "_blocks.h").exists()
    names = {
        "folder": folder.as_posix(),
        "blocks": f'#include "{folder.as_posix()}/_blocks.h"' if has_blocks else "",
        "prefix": re.sub(r"\W", "_", folder.as_posix()),
        "names": ", ".join(members),
    }
    table = TABLE.format(members=";\n    ".join(members.values()), **names)
    write(out / "_table.h", table)
    pointers = [f"{member} noexcept nogil" for member in members.values()]
    declarations = DECLARATIONS.format(
        structs="\n    ".join(constants_and_structs(folder)),
        members="\n        ".join(["const char *name", *pointers]),
        calls=calls(members),
        **names,
    )
    write(out / "_loops.pxi", declarations)
    sources = []
    for isa in sorted(SIMD.glob("isa/*.h")):
        source = out / f"_loops_{isa.stem}.c"
        write(source, f'#include "_table.h"\n#include "isa/{isa.name}"\n')
        sources.append(source.as_posix())
    return sources


def translate(extension, build_dir):
    """Translate an extension to C; add its C loops if its .pyx uses them."""
    source = Path(extension.sources[0])
    generated = []
    if INCLUDE in source.read_text(encoding="utf-8").splitlines():
        generated = write_loops(source.parent, build_dir)
        extension.include_dirs = [*extension.include_dirs, str(build_dir)]
    with TRANSLATING:
        # The cache would lead to the _loops.pxi of the first extension.
        Dependencies._dep_tree = None
        (translated,) = cythonize(
            [extension],
            build_dir=str(build_dir),
            include_path=[str(Path(build_dir, source.parent))],
            compiler_directives=DIRECTIVES,
            quiet=True,
        )
    extension.sources = [*translated.sources, *generated]
    return extension


def compile_changed(compiler):
    """Return a function like ``compiler.compile`` that compiles only changed sources.

    The C files of an extension, one for each instruction set, are compiled at the same
    time, on all cores.
    """
    compile = compiler.compile

    def compile_on_all_cores(sources, output_dir=None, depends=(), **options):
        def compile_one(source):
            compile([source], output_dir=output_dir, depends=depends, **options)

        objects = compiler.object_filenames(sources, output_dir=output_dir)
        headers = [*depends, *paths(Path(sources[-1]).parent, "_table.h")]
        changed = [
            source
            for source, target in zip(sources, objects, strict=True)
            if compiler.force or newer_group([source, *headers], target)
        ]
        with ThreadPool(os.cpu_count()) as pool:
            pool.map(compile_one, changed, chunksize=1)
        return objects

    return compile_on_all_cores


class BuildExt(build_ext):
    """Command that translates and compiles extensions outside of the source tree."""

    def build_extensions(self):
        if self.compiler.compiler_type == "unix":
            self.compiler.compile = compile_changed(self.compiler)
        super().build_extensions()

    def build_extension(self, ext):
        ext.extra_compile_args = FLAGS.get(self.compiler.compiler_type, [])
        super().build_extension(translate(ext, self.build_temp))


class SDist(sdist):
    """Command that writes reproducible archives if SOURCE_DATE_EPOCH is set."""

    def make_archive(self, base_name, format, *args, base_dir=None, **kwargs):
        """Write an archive; setuptools writes archives of other formats."""
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if format != "gztar" or not epoch:
            return super().make_archive(
                base_name, format, *args, base_dir=base_dir, **kwargs
            )

        def anonymous(member):
            member.mtime, member.uid, member.gid = int(epoch), 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            # Entries are sorted by name.
            archive.add(base_dir, filter=anonymous)
        return str(path)


def readme():
    """Return README.md for a package index, which has no other file of the repository.

    Links and pictures get addresses below "Source" of [project.urls].  As long as it is
    not set, links are replaced by their text, and pictures and captions are left out.
    """
    text = Path("README.md").read_text(encoding="utf-8")
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    source = project["project"].get("urls", {}).get("Source", "").rstrip("/")

    link = r"(!?)\[([^\]]*)\]\((?!https?:)([^)]+)\)"
    if not source:
        return re.sub(link, r"\2", re.sub(rf"{link}\n\n\*[^*]+\*\n\n", "", text))

    def with_address(match):
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}[{match[2]}]({source}/{kind}/main/{match[3]})"

    return re.sub(link, with_address, text)


# Scripts in .ci/ import this module, which must not call setup() then.
if __name__ == "__main__":
    setup(
        long_description=readme(),
        long_description_content_type="text/markdown",
        ext_modules=extensions(),
        cmdclass={"build_ext": BuildExt, "sdist": SDist},
        # Debug builds have another folder, so that they do not replace release builds.
        options={"build": {"build_base": "build/debug"}} if DEBUG else {},
    )
