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


def files_to_prompt() -> Path | None:
    """Installs files-to-prompt and returns where it is, or nothing."""
    folder = WORK / "python"
    program = folder / "bin" / "files-to-prompt"

    def install() -> None:
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "files-to-prompt"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    return installed("files-to-prompt", program, install)


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
        cause = getattr(error, "stderr", None)
        lines = cause.decode(errors="replace").strip().splitlines() if cause else [str(error)]
        say(f"skipped: {name} cannot be installed: {lines[-1] if lines else error}")
        return None
    return program if program.exists() else None
