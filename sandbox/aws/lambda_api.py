"""What does Lambda's control plane answer?

Answered from the account's records, since moto has no paging, no floor, no account settings and no Kafka mappings. Does
not run functions: Invoke and the durable operations belong to whoever plays the functions.

AWS facts kept, each with a test (source: responses recorded against AWS, the Lambda API model, or the developer guide):
unset concurrency has no field while 0 has one; the floor and its text; 0 is never refused; the present reservation is
credited back; the provisioned floor with its odd blanks; qualified names; 50 functions a page whatever MaxItems says.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sandbox.aws.calls import Answer, Request, Respond
from sandbox.aws.lambda_wording import GONE, RefusedError, invalid, missing, page, parts
from sandbox.aws.mappings_api import MappingOperations
from sandbox.aws.records import FunctionRecord

if TYPE_CHECKING:
    from sandbox.aws.account import EmbeddedAccount

FUNCTIONS_A_PAGE = 50
_ALIAS = "live"

FLOOR = (
    "Specified ReservedConcurrentExecutions for function decreases account's UnreservedConcurrentExecution "
    "below its minimum value of [{}]."
)
# The leading and the double blank are AWS's.
PROVISIONED_FLOOR = (
    " ReservedConcurrentExecutions  {} should not be lower than function's total provisioned concurrency [{}]."
)
QUALIFIED = (
    "This operation is permitted on Lambda functions only. Aliases and versions do not support this operation. "
    "Please specify either a function name or an unqualified function ARN."
)


class LambdaApi:
    """Handler of Lambda's control-plane calls for one account."""

    def __init__(self, account: "EmbeddedAccount") -> None:
        self._account = account
        self._operations: Mapping[str, Callable[[Request], Mapping[str, Any]]] = {
            "GetAccountSettings": self._account_settings,
            "ListFunctions": self._list_functions,
            "GetFunction": self._get_function,
            "GetFunctionConfiguration": lambda r: self._configuration(self._function(r)),
            "GetFunctionConcurrency": lambda r: _reserved(self._function(r)),
            "PutFunctionConcurrency": self._put_concurrency,
            "DeleteFunctionConcurrency": self._delete_concurrency,
            "GetFunctionEventInvokeConfig": self._invoke_config,
            "ListProvisionedConcurrencyConfigs": self._provisioned,
            "GetPolicy": self._policy,
            "ListFunctionUrlConfigs": self._urls,
            "ListTags": lambda r: {"Tags": dict(self._by_name(str(r.parameters["Resource"])).tags)},
            "TagResource": self._tag,
            "UntagResource": self._untag,
            **MappingOperations(account).operations,
        }

    def handle(self, request: Request) -> Answer | None:
        """Answer a call, or leave it."""
        operation = self._operations.get(request.operation)
        if request.service != "lambda" or operation is None or not self._account.owns(request):
            return None
        self._account.settle(request.now)
        try:
            return Respond(parsed=operation(request))
        except RefusedError as refused:
            return refused.refusal

    # -- functions ----------------------------------------------------------------------------------------------------

    def _account_settings(self, _: Request) -> Mapping[str, Any]:
        account = self._account
        limit = {
            "ConcurrentExecutions": account.concurrency_limit,
            "UnreservedConcurrentExecutions": account.unreserved,
            "TotalCodeSize": 80_530_636_800,
            "CodeSizeUnzipped": 262_144_000,
            "CodeSizeZipped": 52_428_800,
        }
        usage = {"FunctionCount": len(account.functions), "TotalCodeSize": 0}
        return {"AccountLimit": limit, "AccountUsage": usage}

    def _list_functions(self, request: Request) -> Mapping[str, Any]:
        names = list(self._account.functions)
        one_page, marker = page(names, request, FUNCTIONS_A_PAGE)
        found = [self._configuration(self._account.functions[name]) for name in one_page]
        return {"Functions": found, "NextMarker": marker}

    def _get_function(self, request: Request) -> Mapping[str, Any]:
        function = self._function(request)
        answer: dict[str, Any] = {
            "Configuration": self._configuration(function),
            "Code": {"RepositoryType": "S3", "Location": "https://example.invalid/code.zip"},
        }
        # AWS sends neither an empty map of tags nor an empty Concurrency. It sends tags only to who may lambda:ListTags,
        # and TagsError to others; the call works for them, too (botocore 1.44, GetFunctionResponse).
        hidden = self._account.hides_tags(request)
        if hidden:
            answer["TagsError"] = {"ErrorCode": "AccessDeniedException", "Message": hidden}
        elif function.tags:
            answer["Tags"] = dict(function.tags)
        if function.reserved is not None:
            answer["Concurrency"] = _reserved(function)
        return answer

    def _configuration(self, function: FunctionRecord) -> Mapping[str, Any]:
        modified = function.last_modified.strftime("%Y-%m-%dT%H:%M:%S.000+0000") if function.last_modified else None
        answer: dict[str, Any] = {
            "FunctionName": function.name,
            "FunctionArn": function.arn,
            "Runtime": "python3.13",
            "Role": f"arn:aws:iam::{self._account.account_id}:role/{function.name}",
            "Handler": "app.handler",
            "Timeout": function.timeout_s,
            "MemorySize": function.memory_mb,
            "LastModified": modified,
            "Version": "$LATEST",
            "PackageType": "Zip",
            "State": "Active",
            "LastUpdateStatus": "Successful",
        }
        if function.dead_letter_arn is not None:
            answer["DeadLetterConfig"] = {"TargetArn": function.dead_letter_arn}
        if function.managed_instances:
            arn = self._account.arn("lambda", "capacity-provider:default")
            answer["CapacityProviderConfig"] = {
                "LambdaManagedInstancesCapacityProviderConfig": {"CapacityProviderArn": arn}
            }
        return answer

    def _put_concurrency(self, request: Request) -> Mapping[str, Any]:
        function, wanted = self._unqualified(request), int(request.parameters["ReservedConcurrentExecutions"])
        account = self._account
        if wanted < function.provisioned and wanted > 0:
            raise invalid(PROVISIONED_FLOOR.format(wanted, function.provisioned))
        left = account.unreserved + (function.reserved or 0) - wanted
        if wanted > 0 and left < account.unreserved_floor:
            raise invalid(FLOOR.format(account.unreserved_floor))
        account.set_reserved(function.name, wanted)
        return _reserved(function)

    def _delete_concurrency(self, request: Request) -> Mapping[str, Any]:
        self._account.set_reserved(self._unqualified(request).name, None)
        return {}

    def _invoke_config(self, request: Request) -> Mapping[str, Any]:
        function = self._function(request)
        config, arn = function.invoke_config, f"{function.arn}:$LATEST"
        if config is None:
            raise missing(f"The function {arn} doesn't have an EventInvokeConfig")
        destination = {"OnFailure": {"Destination": config.on_failure}} if config.on_failure else {}
        return {
            "FunctionArn": arn,
            "LastModified": function.last_modified or request.now,
            "MaximumEventAgeInSeconds": config.max_event_age_s,
            "MaximumRetryAttempts": config.maximum_retries,
            "DestinationConfig": {"OnSuccess": {}, "OnFailure": {}} | destination,
        }

    def _provisioned(self, request: Request) -> Mapping[str, Any]:
        function = self._function(request)
        if not function.provisioned:
            return {"ProvisionedConcurrencyConfigs": []}
        amount = function.provisioned
        config = {
            "FunctionArn": f"{function.arn}:{_ALIAS}",
            "RequestedProvisionedConcurrentExecutions": amount,
            "AvailableProvisionedConcurrentExecutions": amount,
            "AllocatedProvisionedConcurrentExecutions": amount,
            "Status": "READY",
        }
        return {"ProvisionedConcurrencyConfigs": [config]}

    def _policy(self, request: Request) -> Mapping[str, Any]:
        function = self._function(request)
        if not function.principals:
            raise missing(GONE)
        statements = [
            {
                "Sid": f"allow-{position}",
                "Effect": "Allow",
                "Principal": {"Service": principal},
                "Action": "lambda:InvokeFunction",
                "Resource": function.arn,
            }
            for position, principal in enumerate(function.principals)
        ]
        policy = {"Version": "2012-10-17", "Id": "default", "Statement": statements}
        return {"Policy": json.dumps(policy), "RevisionId": "00000000-0000-4000-8000-000000000000"}

    def _urls(self, request: Request) -> Mapping[str, Any]:
        function = self._function(request)
        if not function.function_url:
            return {"FunctionUrlConfigs": []}
        url = {
            "FunctionUrl": f"https://{function.name}.lambda-url.{self._account.region}.on.aws/",
            "FunctionArn": function.arn,
            "CreationTime": "2026-01-01T00:00:00.000Z",
            "LastModifiedTime": "2026-01-01T00:00:00.000Z",
            "AuthType": "NONE",
        }
        return {"FunctionUrlConfigs": [url]}

    def _tag(self, request: Request) -> Mapping[str, Any]:
        self._by_name(str(request.parameters["Resource"])).tags.update(request.parameters["Tags"])
        self._account.changed()
        return {}

    def _untag(self, request: Request) -> Mapping[str, Any]:
        tags = self._by_name(str(request.parameters["Resource"])).tags
        for key in request.parameters["TagKeys"]:
            tags.pop(key, None)
        self._account.changed()
        return {}

    # -- finding ------------------------------------------------------------------------------------------------------

    def _function(self, request: Request) -> FunctionRecord:
        return self._by_name(str(request.parameters["FunctionName"]))

    def _unqualified(self, request: Request) -> FunctionRecord:
        name, qualifier = parts(str(request.parameters["FunctionName"]))
        if qualifier is not None:
            raise invalid(QUALIFIED)
        return self._by_name(name)

    def _by_name(self, given: str) -> FunctionRecord:
        name, _ = parts(given)
        if name not in self._account.functions:
            raise missing(f"Function not found: {self._account.arn('lambda', f'function:{name}')}:$LATEST")
        return self._account.functions[name]


def _reserved(function: FunctionRecord) -> Mapping[str, Any]:
    return {} if function.reserved is None else {"ReservedConcurrentExecutions": function.reserved}
