"""An audited account for each test."""

from collections.abc import Iterator

import pytest

from tests.audit.world import AuditWorld, audit_world


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[AuditWorld]:
    with audit_world(monkeypatch) as made:
        yield made


@pytest.fixture
def long_world(monkeypatch: pytest.MonkeyPatch) -> Iterator[AuditWorld]:
    """Five weeks and a little."""
    with audit_world(monkeypatch, days=37) as made:
        yield made
