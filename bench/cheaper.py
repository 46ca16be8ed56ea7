"""What is spared a worker that plays thousands of incidents, and changes nothing that is measured?

Every incident has processes, sessions and clients of its own, as in Lambda. What botocore and moto work out anew for each of
them, from the same service models and to the same end, is worked out once here.
"""

import functools
import gc
import random
import uuid
from collections.abc import Callable
from typing import Any

import botocore.client
import botocore.endpoint_provider
import botocore.hooks
import moto.core.responses


def spare_what_repeats() -> None:
    """Spare this process what repeats, until it ends.

    It looks for garbage rarely, since the models of services and of the emulator, most of what it holds, stay; the emulator
    lists the methods of a class once, not at each call; ids are drawn by Python, not by the system. Of botocore, the names
    of events, the models and rule sets of services and the classes of clients are shared.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    emulator: Any = moto.core.responses
    emulator.method_names_from_class = functools.cache(emulator.method_names_from_class)
    uuid.uuid4 = lambda: uuid.UUID(int=random.getrandbits(128), version=4)
    _share_event_names()
    provider: Any = botocore.endpoint_provider
    provider.RuleSet = _once_for_the_same(provider.RuleSet)
    creator: Any = botocore.client.ClientCreator
    load, make = creator._load_service_model, creator._create_client_class  # noqa: SLF001  there is no public way in
    models: dict[tuple[str, object], Any] = {}
    classes: dict[int, Any] = {}

    def model_of(self: Any, service_name: str, api_version: object = None) -> Any:
        key = (service_name, api_version)
        if key not in models:
            models[key] = load(self, service_name, api_version)
        return models[key]

    def class_of(self: Any, service_name: str, service_model: Any) -> Any:
        if id(service_model) not in classes:
            classes[id(service_model)] = make(self, service_name, service_model)
        return classes[id(service_model)]

    creator._load_service_model, creator._create_client_class = model_of, class_of  # noqa: SLF001


def _share_event_names() -> None:
    """Translate the name of an event once for all sessions and clients that use botocore's own aliases."""
    aliaser: Any = botocore.hooks.EventAliaser
    names: dict[str, str] = {}
    begin = aliaser.__init__

    def begun(self: Any, event_emitter: object, event_aliases: object = None) -> None:
        begin(self, event_emitter, event_aliases)
        if event_aliases in (None, botocore.hooks.EVENT_ALIASES):
            self._alias_name_cache = names

    aliaser.__init__ = begun


def _once_for_the_same(make: Callable[..., Any]) -> Callable[..., Any]:
    """Make one rule set of the same data, which sessions share and nobody changes."""
    made: dict[tuple[int, int], tuple[object, object, Any]] = {}

    def once(*, rules: object, partitions: object, **rest: object) -> Any:
        key = (id(rules), id(partitions))
        if key not in made:
            # What the key stands for is kept as well, so that no other data ever gets its address.
            made[key] = (rules, partitions, make(rules=rules, partitions=partitions, **rest))
        return made[key][2]

    return once
