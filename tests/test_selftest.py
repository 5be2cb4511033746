"""The ruler check passes here, is stamped once, and does notice a bent ruler."""

import dataclasses

import pytest

from libero_safety import selftest
from libero_safety.sim import contact


@pytest.mark.parametrize("check", selftest.CHECKS, ids=lambda c: c.__name__)
def test_every_check_passes_on_this_installation(check):
    result = check()
    assert result.ok, result


def test_the_stamp_is_made_once_per_installation(tmp_path, monkeypatch):
    made = selftest.stamp(tmp_path)
    assert made.ok
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr(selftest, "selftest", lambda: pytest.fail("measured again"))
    assert selftest.stamp(tmp_path) == made
    other = {**made.versions, "mujoco": "9.9.9"}
    monkeypatch.setattr(selftest, "installed_versions", lambda: other)
    with pytest.raises(pytest.fail.Exception, match="measured again"):
        selftest.stamp(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"checks": [{"name": 1}]}', "null"])
def test_a_broken_stamp_is_replaced(tmp_path, monkeypatch, content):
    quick = selftest.Stamp((), selftest.installed_versions())
    monkeypatch.setattr(selftest, "selftest", lambda: quick)
    selftest.stamp(tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_text(content)
    assert selftest.stamp(tmp_path) == quick


def test_where_nothing_can_be_written_it_is_measured_again(tmp_path, monkeypatch):
    quick = selftest.Stamp((), selftest.installed_versions())
    monkeypatch.setattr(selftest, "selftest", lambda: quick)
    (tmp_path / "file").write_text("")
    assert selftest.stamp(tmp_path / "file" / "below") == quick
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(selftest.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError()))
    assert selftest.stamp() == quick


def test_the_tangential_component_would_be_noticed(monkeypatch):
    """What two peers did: reading component 2 of the contact wrench."""

    def tangential(model, data, index):
        import mujoco
        import numpy as np

        wrench = np.zeros(6)
        mujoco.mj_contactForce(model, data, index, wrench)
        return float(wrench[2])

    monkeypatch.setattr(contact, "normal_force", tangential)
    assert not selftest.weight_of_a_box().ok


def test_a_wrong_distance_would_be_noticed(monkeypatch):
    true = contact.nearest

    def wrong(*args):
        found = true(*args)
        return dataclasses.replace(found, distance_m=found.distance_m + 0.01)

    monkeypatch.setattr(contact, "nearest", wrong)
    assert not selftest.mesh_distance(20).ok


def test_nan_is_no_pass():
    assert not selftest.CheckResult("x", float("nan"), 0.0, 1.0, "").ok
