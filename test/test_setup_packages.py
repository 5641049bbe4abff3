"""Installation of packages by setup: uv, pip, locks with hashes, linked packages."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from setup_checkout import ROOT, UV, Checkout, write_python_package


def write_wheel(folder: Path, name: str, contents: dict[str, str]) -> str:
    """Writes a wheel of version 1.0. Returns its line in a lock file."""
    info = f"{name}-1.0.dist-info"
    contents = {
        **contents,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = [
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}"
        for path, text in contents.items()
    ]
    contents[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for inner, text in contents.items():
            entry = zipfile.ZipInfo(inner)
            entry.external_attr = 0o100755 << 16
            wheel.writestr(entry, text)
    return f"{name}==1.0 \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def pip_settings(folder: Path) -> dict[str, str]:
    return {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


@pytest.mark.slow
def test_uv_checks_hashes(checkout: Checkout) -> None:
    checkout("setup")
    arguments = (checkout.home / "uv_arguments").read_text().split()
    assert {"--require-hashes", "--no-deps", f"{checkout.root}/requirements/ros.lock"} <= set(arguments)


@pytest.mark.slow
def test_uv_is_fetched_by_pip_with_a_checked_hash(checkout: Checkout, tmp_path: Path) -> None:
    (checkout.programs / "uv").unlink()
    checkout.write("requirements/uv.lock", write_wheel(tmp_path, "uv", {"uv-1.0.data/scripts/uv": UV}))
    elsewhere = {"PIP_TARGET": str(tmp_path / "target"), "PIP_USER": "1", "PIP_REQUIRE_VIRTUALENV": "1"}
    done = checkout("report", **pip_settings(tmp_path), **elsewhere)
    assert done.returncode == 7, done.stderr
    assert "pip installs" not in done.stderr and (checkout.home / "uv_arguments").exists()


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_pip_installs_where_uv_fails_and_checks_hashes(right: bool, checkout: Checkout, tmp_path: Path) -> None:
    line = write_wheel(tmp_path, "known", {"known.py": ""})
    for lock in ("core.lock", "suite.lock", "ros.lock"):
        checkout.write(f"requirements/{lock}", line if right else re.sub("sha256:...", "sha256:000", line))
    done = checkout("exec", "true", BROKEN="uv", **pip_settings(tmp_path))
    assert "pip installs the packages, which takes some minutes" in done.stderr
    known = checkout.site_packages() / "known.py"
    assert known.exists() == right and done.returncode == 1  # the stand-in for pip installed no colcon
    if not right:
        assert "hint: the registry served another file than the one that was locked" in done.stderr


@pytest.mark.slow
def test_pip_does_not_try_again_on_a_full_disk(checkout: Checkout) -> None:
    done = checkout("exec", "true", BROKEN="disk")
    assert done.returncode == 1
    assert "pip installs" not in done.stderr and "hint: free some disk space" in done.stderr


@pytest.mark.parametrize("lock", ["core.lock", "suite.lock", "ros.lock", "ros_kilted.lock", "uv.lock"])
def test_locks_pin_exact_versions_with_hashes_and_name_no_host(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text()
    lines = re.findall(r"^[A-Za-z0-9].*", text, re.MULTILINE)
    assert lines and all(re.match(r"[a-z0-9-]+==[0-9][^\s;]*( ; .+)? \\$", line) for line in lines)
    assert not re.search(r"://|--index|--find-links|file:", text)
    assert lines == re.findall(r"^[a-z0-9].*(?=\n    --hash=sha256:)", text, re.MULTILINE)


@pytest.mark.slow
def test_linked_packages_are_live_and_have_their_executables(tmp_path: Path) -> None:
    folder, prefix = tmp_path / "some_package", tmp_path / "install"
    write_python_package(folder)
    (folder / "some_package" / "__init__.py").write_text("def main():\n    print('here')\n    return 3\n")
    link = [sys.executable, "-I", str(ROOT / "tools/setup/link_packages.py"), str(prefix), str(folder)]
    for _ in range(2):
        subprocess.run(link, check=True)
    assert (prefix / "share/ament_index/resource_index/packages/some_package").exists()
    given = {**os.environ, "PYTHONPATH": str(next(prefix.glob("lib/python3*/site-packages")))}
    done = subprocess.run([prefix / "lib/some_package/say"], env=given, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "here\n")
    (folder / "some_package" / "__init__.py").write_text("def main():\n    print('changed')\n")
    done = subprocess.run([prefix / "lib/some_package/say"], env=given, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "changed\n")
    code = "from importlib.metadata import entry_points as e; print([p.value for p in e(name='say')])"
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True)
    assert done.stdout == "['some_package:main']\n"
