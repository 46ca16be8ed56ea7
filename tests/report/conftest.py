"""Reports as they are told where no deployment is named: another test of this process may have named one."""

import pytest

from unthrottle.report import shell


@pytest.fixture(autouse=True)
def _no_deployment() -> None:
    shell.reported_by(None, "")
