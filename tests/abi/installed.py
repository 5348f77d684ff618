#!/usr/bin/env python3
"""Installs into an empty folder and uses what lies there as a stranger would: pkg-config, headers, library, tools."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tap import Tap


CXX = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
C = ["-x", "c", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]


def run(*command, **keywords):
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **keywords)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{process.stdout}{process.stderr}")
    return process.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--meson", required=True)
    parser.add_argument("--prefix", required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--tools", default="")
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--model", required=True, type=pathlib.Path, help="a model folder")
    parser.add_argument("--share", required=True, help="where the prefix holds the examples")
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    tap = Tap()

    def step(name, function):
        try:
            function()
            tap.report(name)
        except (RuntimeError, OSError) as error:
            tap.report(name, str(error))

    with tempfile.TemporaryDirectory(prefix="ml-install-") as destdir:
        root = pathlib.Path(destdir + options.prefix)
        libdir = root / options.libdir
        environment = dict(os.environ, DESTDIR=destdir, PKG_CONFIG_SYSROOT_DIR=destdir,
                           PKG_CONFIG_PATH=f"{libdir}/pkgconfig", LD_LIBRARY_PATH=str(libdir))
        environment.pop("ML_TARGET", None)

        def install():
            run(*options.meson.split(), "install", "--no-rebuild", "--quiet", "-C", options.build, env=environment)

        def link_names():
            soname = run("objdump", "-p", libdir / "libml.so")
            if "SONAME               libml.so.0\n" not in soname:
                raise RuntimeError(f"the soname is not libml.so.0:\n{soname}")
            for name in ("libml.so", "libml.so.0"):
                if not (libdir / name).is_symlink():
                    raise RuntimeError(f"{name} is no link")

        def pkg_config():
            version = run("pkg-config", "--modversion", "libml", env=environment).strip()
            if version != options.version:
                raise RuntimeError(f"pkg-config says version {version}, not {options.version}")

        def program():
            flags = run("pkg-config", "--cflags", "--libs", "libml", env=environment).split()
            binary = pathlib.Path(destdir) / "program"
            run(*options.compiler, *CXX, options.program, "-o", binary, *flags)
            out = run(binary, destdir, env=environment)
            if out != f"libml {options.version}\n":
                raise RuntimeError(f"the program prints {out!r}")

        examples = root / options.share / "examples"

        def says_what_ml_run_says(*command):
            expected = run(root / "bin/ml-run", options.model, "-n", "40", "Once upon a time", env=environment)
            out = run(*command, options.model, "Once upon a time", env=environment)
            if out != expected:
                raise RuntimeError(f"{command[-1]} prints {out!r}, ml-run {expected!r}")

        def example(source, language):
            flags = run("pkg-config", "--cflags", "--libs", "libml", env=environment).split()
            binary = pathlib.Path(destdir) / source.replace(".", "-")
            run(*options.compiler, *language, examples / source, "-x", "none", "-o", binary, *flags)
            says_what_ml_run_says(binary)

        def cmake():
            build = pathlib.Path(destdir) / "cmake"
            run("cmake", "-S", examples, "-B", build, f"-Dlibml_DIR={libdir}/cmake/libml", env=environment)
            run("cmake", "--build", build, env=environment)
            says_what_ml_run_says(build / "generate")

        def cmake_versions():
            script = pathlib.Path(destdir) / "accepts.cmake"
            script.write_text(f'include("{libdir}/cmake/libml/libmlConfigVersion.cmake")\n'
                              'message(STATUS "${PACKAGE_VERSION} ${PACKAGE_VERSION_COMPATIBLE}")\n')
            major, minor, patch = options.version.split(".")
            for wanted, accepted in ((options.version, "TRUE"), (major, "TRUE"), (f"{major}.{minor}.{int(patch) + 1}", "FALSE"),
                                     (f"{int(major) + 1}.0", "FALSE")):
                out = run("cmake", f"-DPACKAGE_FIND_VERSION={wanted}", f"-DPACKAGE_FIND_VERSION_MAJOR={wanted.split('.')[0]}",
                          "-P", script)
                if out.strip() != f"-- {options.version} {accepted}":
                    raise RuntimeError(f"asked for {wanted}, it says {out!r}")

        def python():
            says_what_ml_run_says(sys.executable, examples / "generate.py")
            broken = subprocess.run([sys.executable, examples / "generate.py", "/nowhere"], env=environment,
                                    capture_output=True, text=True, check=False)
            if broken.returncode != 1 or "generate.py: /nowhere: " not in broken.stderr:
                raise RuntimeError(f"without a model it says {broken.stderr!r}")

        step("meson install", install)
        step("libml.so has its links and soname", link_names)
        if shutil.which("pkg-config") is None:
            tap.report("pkg-config knows the version", skip="pkg-config is not installed")
            for name in ("a program builds", "examples/generate.cpp builds", "examples/generate.c builds"):
                tap.report(f"{name} through pkg-config and runs", skip="pkg-config is not installed")
        else:
            step("pkg-config knows the version", pkg_config)
            step("a program builds through pkg-config and runs", program)
            step("examples/generate.cpp builds through pkg-config and runs", lambda: example("generate.cpp", CXX))
            step("examples/generate.c builds through pkg-config and runs", lambda: example("generate.c", C))
        if shutil.which("cmake") is None:
            for name in ("CMake is told which versions fit", "examples/generate.cpp builds through CMake and runs"):
                tap.report(name, skip="cmake is not installed")
        else:
            step("CMake is told which versions fit", cmake_versions)
            step("examples/generate.cpp builds through CMake and runs", cmake)
        step("examples/generate.py runs", python)
        for tool in options.tools.split():
            step(f"installed {tool} runs", lambda tool=tool: run(root / "bin" / tool, "--version", env=environment))
    return tap.finish()


if __name__ == "__main__":
    sys.exit(main())
