"""Sets up what is measured: our program, and those of others from their registries."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

BENCH = Path(__file__).resolve().parent
WORK = BENCH / ".work"


def say(text: str) -> None:
    """Tells the person what goes on; tables alone go to stdout."""
    print(text, file=sys.stderr, flush=True)


def callsheet() -> Path:
    """Builds the release program and returns where it is."""
    say("building callsheet")
    root = BENCH.parent
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "-p", "callsheet-cli"], cwd=root, check=True)
    return root / "target" / "release" / "callsheet"


def python_packages() -> Path | None:
    """Builds the Python package for release, installs it beside PyYAML and returns the folder of both, or nothing."""
    folder = WORK / "packages"
    mark = folder / "PyYAML"

    def install() -> None:
        venv.create(folder, with_pip=True, clear=True)
        pip_install(folder, "PyYAML")
        mark.touch()

    # The dependency once, the package each time: cargo knows whether there is anything to do.
    if installed("PyYAML", mark, install) is None:
        return None
    say("building the Python package")
    try:
        pip_install(folder, "--force-reinstall", "--no-deps", str(BENCH.parent / "crates" / "callsheet-py"))
    except subprocess.CalledProcessError as error:
        say(f"skipped: the Python package cannot be built: {last_line(error)}")
        return None
    return next((folder / "lib").glob("python*/site-packages"))


def pip_install(folder: Path, *what: str) -> None:
    """Installs something from the registry or a folder into a virtual environment."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *what], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def files_to_prompt() -> Path | None:
    """Installs files-to-prompt and returns where it is, or nothing."""
    folder = WORK / "python"
    program = folder / "bin" / "files-to-prompt"

    def install() -> None:
        venv.create(folder, with_pip=True, clear=True)
        pip_install(folder, "files-to-prompt")

    return installed("files-to-prompt", program, install)


def yaml_libraries() -> Path | None:
    """Installs PyYAML and ruamel.yaml, and returns the Python that has them, or nothing."""
    folder = WORK / "yaml"
    mark = folder / "ruamel"

    def install() -> None:
        venv.create(folder, with_pip=True, clear=True)
        pip_install(folder, "PyYAML", "ruamel.yaml")
        mark.touch()

    found = installed("PyYAML and ruamel.yaml", mark, install)
    return found and folder / "bin" / "python"


def repomix() -> Path | None:
    """Installs repomix and returns where it is, or nothing."""
    folder = WORK / "node"
    program = folder / "node_modules" / "repomix" / "bin" / "repomix.cjs"

    def install() -> None:
        if not shutil.which("npm"):
            raise OSError("npm not found")
        npm = ["npm", "install", "--silent", "--no-fund", "--no-audit", "--no-save", "--prefix", str(folder)]
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([*npm, "repomix"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    return installed("repomix", program, install)


def installed(name: str, program: Path, install) -> Path | None:
    """Returns the program, installed first where it is not there; what cannot be installed is said and skipped."""
    if program.exists():
        return program
    say(f"installing {name}")
    try:
        install()
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"skipped: {name} cannot be installed: {last_line(error)}")
        return None
    return program if program.exists() else None


def last_line(error: Exception) -> str:
    """Returns the last thing that a failed program said, or what the error is."""
    cause = getattr(error, "stderr", None)
    lines = cause.decode(errors="replace").strip().splitlines() if cause else []
    return lines[-1] if lines else str(error)
