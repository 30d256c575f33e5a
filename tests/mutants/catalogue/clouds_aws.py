"""Safety lines of the AWS adapter: retries, tokens, the meaning of answers, tags, what counts as gone."""

from functools import partial

from mutants.rows import Mutant

_session = partial(Mutant, "providers/aws/session.py")
_calls = partial(Mutant, "providers/aws/calls.py")
_errors = partial(Mutant, "providers/aws/errors.py")
_permissions = partial(Mutant, "providers/aws/permissions/policies.py")
_marks = partial(Mutant, "engine/keyed_codec.py")
_tags = partial(Mutant, "providers/aws/tags/tag_map.py")
_capa = partial(Mutant, "providers/aws/tags/capa_tags.py")
_tagger = partial(Mutant, "providers/aws/tags/tagger.py")
_native = partial(Mutant, "providers/aws/tags/native_tags.py")
_services = partial(Mutant, "providers/aws/tags/service_tags.py")
_tagging_api = partial(Mutant, "providers/aws/tags/tagging_api.py")
_seen = partial(Mutant, "providers/aws/decoded.py")
_balancing = partial(Mutant, "providers/aws/balancing.py")
_route_table = partial(Mutant, "providers/aws/kinds/route_table.py")
_instance = partial(Mutant, "providers/aws/kinds/instance.py")
_gateway = partial(Mutant, "providers/aws/kinds/internet_gateway.py")

REQUESTS = (
    _permissions(
        "creator",
        ", *IMPLIED",
        "",
        "a creator with our policy cannot make a bucket, which is made with tags",
    ),
    _permissions(
        "creator",
        "for name in kind.sent_writes if",
        "for name in kind.write_operations if",
        "a creator with our policy may do what nothing of ours does",
    ),
    _permissions(
        "creator",
        ", dict(_BALANCING_ROLE)",
        "",
        "in a new account a creator with our policy cannot make a load balancer",
    ),
    _session(
        "AwsSession._config",
        '"total_max_attempts": ATTEMPTS',
        '"total_max_attempts": 3',
        "botocore sends a create again whose reply was lost",
    ),
    _session(
        "AwsSession._build",
        'client.meta.events.register_first("before-parameter-build", _refuse_invented_token)',
        "pass",
        "a create goes out with a client token that nobody can repeat after a crash",
    ),
    _session(
        "_refuse_redirect",
        '"redirected": True',
        '"redirected": False',
        "botocore deletes the bucket of this name in another region",
    ),
    _session(
        "_partition",
        "if not _REGION.fullmatch(region):",
        "if False:",
        "text after the region gets into the name of the host",
    ),
    _session(
        "AwsSession.scrub",
        'text = text.replace(secret, "***") if secret else text',
        "pass",
        "a secret that AWS echoes gets into a status",
    ),
    _calls(
        "is_fenced",
        "return operation in TAGGING or creates",
        "return False",
        "a process that lost its object goes on creating and marking",
    ),
    _calls(
        "is_fenced",
        " and operation not in PARTS",
        "",
        "a route that somebody took out is never put back",
    ),
    _calls(
        "ApiClient._send",
        "if not session.forget(used):",
        "if False:",
        "a request is repeated with the keys that were refused",
    ),
)

ANSWERS = (
    _calls(
        "auditable",
        '"***" if name in SECRET else auditable(each)',
        "auditable(each)",
        "user data with the cluster's keys gets into the audit log",
    ),
    _calls(
        "ApiClient.each_page",
        "raise errors.ListNotFound(again, code=missing.code, request_id=missing.request_id) from missing",
        "return",
        "a list that is not found counts as empty",
    ),
    _calls(
        "ApiClient.each_page",
        "if page.next in seen:",
        "if False:",
        "a list that names a page twice is read for ever",
    ),
    _calls(
        "rows",
        "if not isinstance(found, list):",
        "if found is not None and not isinstance(found, list):",
        "a reply without a list counts as an empty one, or breaks the pass",
    ),
    _errors(
        "_unserved",
        "if effect is Effect.READ:",
        "if True:",
        "a write that may have taken effect counts as one that did nothing",
    ),
    _errors(
        "_of_transport",
        "if name in _NEVER_SENT:",
        "if True:",
        "a write whose reply was lost counts as never sent",
    ),
    _errors(
        "of_failure",
        "if rule is None or rule.error is lifecycle.Unknown:",
        "if rule is None:",
        "an internal error of a read is not asked again",
    ),
    _errors(
        "Rule.fits",
        "if self.words and not self.words.search(failure.text):",
        "if False:",
        "wrong credentials count as a resource in use",
    ),
    _errors(
        "Rule.fits",
        "if self.operations and failure.operation not in self.operations:",
        "if False:",
        "an EKS cluster that is in use counts as a name that is taken",
    ),
    _seen(
        "state_of",
        'return None if word == "deleted" else',
        "return",
        "a NAT gateway that has gone counts as there for an hour",
    ),
    _instance(
        "decode",
        'if word == "terminated":',
        "if False:",
        "an instance that has gone counts as there for an hour",
    ),
    _gateway(
        "decode",
        'if row.get("State") not in _LEAVING',
        "if True",
        "a gateway that is being detached counts as attached",
    ),
    _route_table(
        "_is_made_here",
        'return row.get("Origin", "CreateRoute") == "CreateRoute" and',
        "return",
        "a propagated route counts as one that somebody added, and is removed",
    ),
    _route_table(
        "_is_made_here",
        ' and not target.startswith("vpce-")',
        "",
        "the route of an endpoint counts as one that somebody added, and is removed",
    ),
    _balancing(
        "_rows",
        "if len(idents) == 1:",
        "if True:",
        "one load balancer that is missing hides the others",
    ),
)

TAGS = (
    _tagging_api(
        "TaggingApi.detach",
        "of_ec2 = sorted(by_keeper(targets).get(Keeper.EC2, {}))",
        "of_ec2: list[str] = []",
        "a value that somebody wrote meanwhile is taken off",
    ),
    _tagging_api(
        "TaggingApi._answered",
        'failures = body.get("FailedResourcesMap") or {}',
        "failures: dict[str, dict[str, Any]] = {}",
        "a resource that was not marked counts as marked",
    ),
    _tagger(
        "_not_yet",
        "if not isinstance(error, NotFound):",
        "if True:",
        "a new resource that a service does not know yet counts as gone",
    ),
    _native(
        "NativeTags._send",
        "if keeper is Keeper.BUCKET:",
        "if False:",
        "the tags of a bucket are written by a call of another service",
    ),
    _native(
        "NativeTags._send",
        "if len(group) == 1:",
        "if True:",
        "one resource that is missing keeps all others without marks",
    ),
    _native(
        "NativeTags._described",
        "if len(some) > 1:",
        "if False:",
        "one load balancer that is missing makes the others look unmarked",
    ),
    _tagging_api(
        "_absent",
        "if not errors.is_unreachable(error):",
        "if False:",
        "an index that is throttled counts as absent, and is not asked for an hour",
    ),
    _native(
        "NativeTags._read_or_error",
        "len(some) > 1 and unread",
        "False and unread",
        "whoever may put a control character into a tag of one resource hides the 199 that are read with it",
    ),
    _native(
        "NativeTags.tags_of",
        "if isinstance(tags, CloudError):",
        "if False:",
        "what could not be asked counts as unmarked",
    ),
    _tagger(
        "SourceTagger.everything",
        "if self._carries else {}",
        "if False else {}",
        "what a lost journal had in resources of others is forgotten",
    ),
    _services(
        "ServiceTags.with_tag",
        "if key in tags and (not wanted or tags[key] in wanted)",
        "if True",
        "without the index every load balancer of the region counts as ours",
    ),
    _services(
        "ServiceTags.with_tag",
        "*await self._bucket_arns()",
        "",
        "without the index our buckets are forgotten",
    ),
    _tags(
        "not_of",
        "uuid not in (tags.get(UUID), tags.get(WITHIN))",
        "uuid != tags.get(UUID)",
        "a cluster's own machines count as another cluster of its name",
    ),
    _marks(
        "_fit",
        'return f"{legal[: room - 9]}-{hashlib.sha256(said.encode()).hexdigest()[:8]}"',
        "return legal[:room]",
        "two nodes with long names have one mark",
    ),
    _marks(
        "_fit",
        "if legal == said and len(said) <= room:",
        "if len(said) <= room:",
        "two nodes whose names differ in an illegal character have one mark",
    ),
    Mutant(
        "providers/aws/cluster/tag_checks.py",
        "user_tag_problems",
        "if not OWNERSHIP_PREFIX.holds(key, value):",
        "if False:",
        "a user writes marks of ours with the tags of a subnet",
    ),
    Mutant(
        "providers/aws/types/rules.py",
        "TagRule.require_of_all",
        "if not self.holds(key, value)",
        "if False",
        "a user writes marks of ours with spec.additionalTags, or a key that AWS refuses at each create",
    ),
    _capa(
        "CapaTags.of",
        "ROLE: self.role,",
        "**({} if ROLE in (additional or {}) else {ROLE: self.role}),",
        "a user's tag takes a resource out of what CAPA and the cloud controller find",
    ),
)

MUTANTS = (*REQUESTS, *ANSWERS, *TAGS)
