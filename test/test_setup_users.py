"""Users and checkouts of other kinds: no HOME, the C locale, a checkout that may only be read.

Nothing is downloaded: uv, colcon and the packages are small stand-ins.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from setup_checkout import ALL, Checkout

#: Takes the rights of root to write everywhere; another user has none.
WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []


def files(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.slow
@pytest.mark.parametrize("home", [None, "", "/no/such/folder"])
def test_a_user_without_a_home_has_the_cache_beside_the_environment(checkout: Checkout, home: str | None) -> None:
    done = checkout("report", HOME=home)
    assert (done.returncode, checkout.made()) == (7, ALL), done.stderr
    assert (checkout.home / "uv_cache_folder").read_text().strip() == str(checkout.home / "uv_cache")


@pytest.mark.slow
def test_a_user_with_a_home_has_the_cache_of_uv(checkout: Checkout) -> None:
    assert checkout("report").returncode == 7
    assert (checkout.home / "uv_cache_folder").read_text().strip() == ""


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "xx_XX.no_such_locale"])
def test_the_locale_does_not_matter(checkout: Checkout, locale: str) -> None:
    checkout.write("src/messages/msg/State.msg", "float64 force  # F in N, angle \u03b8 in \u00b0\n")
    done = checkout("report", LC_ALL=locale, LANG=None)
    assert (done.returncode, checkout.made()) == (7, ALL), done.stderr


@pytest.mark.slow
def test_a_checkout_that_may_only_be_read(checkout: Checkout) -> None:
    """It is refused before anything is made; with HAPTICS_HOME elsewhere it works and nothing is written into it."""
    before = files(checkout.root)
    for path in [checkout.root, *before]:
        path.chmod(path.stat().st_mode & ~0o222)
    refused = checkout("report", HAPTICS_HOME=None, prefix=WITHOUT_RIGHTS)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 2), refused.stderr
    assert "cannot be written" in refused.stderr and "HAPTICS_HOME" in refused.stderr
    done = checkout("report", prefix=WITHOUT_RIGHTS)
    assert (done.returncode, checkout.made()) == (7, ALL), done.stderr
    assert files(checkout.root) == before
