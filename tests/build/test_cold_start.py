"""What a cold start has to do, and what it is spared: imports, service models, compiling."""

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import get_args

import botocore.loaders
import botocore.session
import pytest

from functions.respond.trim import trim, without_texts
from scripts import compile_build
from scripts.runtime_api import FunctionProcess, Replied
from unthrottle.adapters.access import Service

ROOT = Path(__file__).parents[2]
SITE_PACKAGES = Path(sysconfig.get_path("purelib"))
SERVICES: tuple[str, ...] = get_args(Service)
HEAVY = ("boto3", "pydantic", "slack_sdk", "aws_lambda_powertools", "aws_durable_execution_sdk_python")


@pytest.mark.parametrize("name", ["intake", "slack"])
def test_a_front_door_imports_nothing_heavy_before_its_first_event(name: str) -> None:
    code = f"import sys, app; print([name for name in {HEAVY!r} if name in sys.modules])"
    said = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "functions" / name, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"


def test_a_request_that_is_not_slacks_loads_neither_the_table_nor_the_commands(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from unthrottle.slack_door import Door, SlackApp\n"
        "from unthrottle.adapters.clock import SystemClock\n"
        "door = Door(app=lambda: SlackApp(signing_secrets=('x',)), control=None, clock=SystemClock(), is_seen=None)\n"
        "assert door.answer({'requestContext': {'http': {'method': 'POST'}}, 'headers': {}, 'body': ''})['statusCode'] == 401\n"
        "print(sorted(name for name in sys.modules if name.startswith('unthrottle.')))\n"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    loaded = said.stdout
    assert "unthrottle.slack_front" in loaded
    assert all(name not in loaded for name in ("unthrottle.control", "unthrottle.ports", "unthrottle.incident"))


def test_each_log_line_is_one_json_object_that_bears_the_incident_and_the_request(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import logging\n"
        "from unthrottle.adapters.logs import every_line_with, request_of, set_up_logging\n"
        "set_up_logging()\n"
        "def handler(event, context):\n"
        "    log = logging.getLogger('unthrottle')\n"
        "    with every_line_with(function_request_id=request_of(context)):\n"
        "        with every_line_with(incident_id='INC-1'):\n"
        "            log.info('action.made', extra={'target': 'it\\n{\"message\": \"forged\"}'})\n"
        "        log.debug('not asked for')\n"
        "        log.warning('after')\n"
        "    return {'request': request_of(context)}\n"
    )
    environment = {"AWS_REGION": "eu-west-1", "AWS_LAMBDA_LOG_FORMAT": "JSON"}
    layer = ROOT / "layers" / "unthrottle"
    with FunctionProcess(tmp_path, path=[layer, SITE_PACKAGES], environment=environment) as running:
        answer = running.send({})
        lines = [json.loads(line) for line in running.output().splitlines() if line.startswith("{")]
    assert isinstance(answer, Replied)
    inside, after = (line for line in lines if line.get("service") == "unthrottle")
    assert (inside["level"], inside["message"], inside["incident_id"]) == ("INFO", "action.made", "INC-1")
    assert inside["target"] == 'it\n{"message": "forged"}'
    assert inside["function_request_id"] == after["function_request_id"] == answer.payload["request"] != ""
    assert (after["message"], "incident_id" in after) == ("after", False)


def test_every_function_of_the_template_logs_as_json() -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    assert template.count("LogFormat: JSON") == template.count("Type: AWS::Serverless::Function")


def test_the_trimmed_models_are_those_of_the_services_that_are_called() -> None:
    kept = (ROOT / "functions" / "respond" / "models.txt").read_text(encoding="utf-8").split()
    assert sorted(kept) == sorted(SERVICES)


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("trimmed") / "data"
    whole = Path(botocore.__file__).parent / "data"
    data.mkdir()
    for file in whole.iterdir():
        if file.is_file():
            shutil.copyfile(file, data / file.name)
        elif file.name in {*SERVICES, "s3", "ec2"}:
            shutil.copytree(file, data / file.name)
    trim(data, set(SERVICES))
    return data


def _session(data: Path | None) -> botocore.session.Session:
    session = botocore.session.Session()
    if data is not None:
        loader = botocore.loaders.Loader([str(data)], include_default_search_paths=False)
        session.register_component("data_loader", loader)
    return session


@pytest.mark.parametrize("region", ["eu-west-1", "us-gov-west-1", "cn-north-1"])
def test_a_trimmed_model_calls_the_same_address_with_the_same_operations(trimmed: Path, region: str) -> None:
    whole, small = _session(None), _session(trimmed)
    for service in SERVICES:
        before, after = (
            session.create_client(service, region, aws_access_key_id="none", aws_secret_access_key="none")
            for session in (whole, small)
        )
        assert after.meta.endpoint_url == before.meta.endpoint_url
        assert after.meta.method_to_api_mapping == before.meta.method_to_api_mapping
        assert after.meta.service_model.signing_name == before.meta.service_model.signing_name


def test_a_trimmed_model_has_the_same_shapes_without_their_documentation(trimmed: Path) -> None:
    for service in SERVICES:
        model = botocore.loaders.Loader().load_service_model(service, "service-2")
        small = json.loads(next(iter(sorted((trimmed / service).glob("*/service-2.json"))[::-1])).read_text())
        assert small == without_texts(json.loads(json.dumps(model)))


def test_services_that_nothing_calls_are_gone(trimmed: Path) -> None:
    assert sorted(folder.name for folder in trimmed.iterdir() if folder.is_dir()) == sorted(SERVICES)
    assert sum(file.stat().st_size for file in trimmed.rglob("*") if file.is_file()) < 3_000_000


def test_a_member_that_is_called_documentation_stays() -> None:
    shape = {"members": {"documentation": {"shape": "String", "documentation": "a text"}}, "documentation": "another"}
    assert without_texts(shape) == {"members": {"documentation": {"shape": "String"}}}


def test_a_service_without_a_model_stops_the_build_before_anything_is_trimmed(tmp_path: Path) -> None:
    (tmp_path / "s3").mkdir()
    with pytest.raises(SystemExit, match=r"no model of lambada\. Nothing was trimmed"):
        trim(tmp_path, {"s3", "lambada"})
    assert (tmp_path / "s3").is_dir()


def test_bytecode_is_made_for_the_templates_python() -> None:
    template = (ROOT / "template.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"python3\.\d+", template)) == {f"python{compile_build.VERSION}"}


def test_a_shim_that_does_not_run_is_passed_over(tmp_path: Path) -> None:
    broken, other, right = tmp_path / "broken", tmp_path / "other", tmp_path / "right"
    broken.write_text("#!/bin/sh\nexit 127\n")
    other.write_text("#!/bin/sh\necho 3.9\n")
    right.write_text(f"#!/bin/sh\necho {compile_build.VERSION}\n")
    for file in (broken, other, right):
        file.chmod(0o755)
    assert compile_build.interpreter(iter([tmp_path / "absent", broken, other, right])) == right
    assert compile_build.interpreter(iter([broken, other])) is None


def test_a_build_that_cannot_be_compiled_is_said_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compile_build, "interpreter", lambda _: None)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert compile_build.main(tmp_path) == 0
    assert "each cold start in Lambda" in capsys.readouterr().err


def test_without_a_build_nothing_is_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compile_build.main(tmp_path / "absent") == 1
    assert "Nothing was compiled" in capsys.readouterr().err


def test_the_compiler_that_is_fetched_is_pinned_by_its_hash() -> None:
    lock = json.loads((ROOT / "scripts" / "bytecode" / "package-lock.json").read_text(encoding="utf-8"))
    assert all(one.get("integrity") for name, one in lock["packages"].items() if name)
