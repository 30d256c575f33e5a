"""Safety lines of the operator on AWS: who may use which identity, and which account an object is served in."""

from functools import partial

from mutants.rows import Mutant

_identities = partial(Mutant, "providers/aws/identity_objects.py")
_aws = partial(Mutant, "providers/aws/accounts.py")
_codec = partial(Mutant, "engine/keyed_codec.py")
_session = partial(Mutant, "providers/aws/session.py")
_text = partial(Mutant, "engine/tag_text.py")

_app = partial(Mutant, "controllers/app.py")

_calls = partial(Mutant, "providers/aws/calls.py")
_binding = partial(Mutant, "providers/aws/permissions/delete_binding.py")
_permissions = partial(Mutant, "providers/aws/permissions/policies.py")
_warnings = partial(Mutant, "providers/aws/cluster/warnings.py")
_cluster_status = partial(Mutant, "providers/objects/cluster_status.py")

MUTANTS = (
    _calls(
        "ApiClient._expired",
        "self.session.caller = {}",
        "pass",
        "each resource tells of credentials that have expired, and nothing tells that it is the credentials",
    ),
    _app(
        "_refuse_peer_of",
        "label in names.UPSTREAM_PROVIDERS",
        'label == "infrastructure-ibmcloud"',
        "beside CAPA two controllers work on one object",
    ),
    _app(
        "refuse_peer",
        "(*SERVED, *REFERRED_TO, *METADATA)",
        "SERVED",
        "beside CAPA's identities two controllers work on one object",
    ),
    _identities(
        "StoredIdentities._use",
        "await self._check(reference, static.allowed_namespaces, namespace)",
        "pass",
        "any namespace creates with another team's keys",
    ),
    _identities(
        "StoredIdentities._use",
        "await self._check(reference, role.allowed_namespaces, namespace)",
        "pass",
        "any namespace assumes another team's role",
    ),
    _identities(
        "StoredIdentities._use",
        "await self._check(reference, _allowed_by_controller(reference, raw), namespace)",
        "pass",
        "a namespace uses the operator's own credentials that the default identity does not allow",
    ),
    _identities(
        "StoredIdentities._check",
        "if isinstance(answer, identities.NotAllowed):",
        "if False:",
        "no identity keeps anybody out",
    ),
    _aws(
        "AwsAccount.account",
        'return f"{await self.client.account()}/{region}"',
        "return await self.client.account()",
        "the resources of an object whose region was changed count as gone",
    ),
    _aws(
        "AwsCloud.account",
        "if known is not None and known.identity == identity:",
        "if known is not None:",
        "keys that were taken away are used until the operator is started anew",
    ),
    _aws(
        "AccountLimits.bucket",
        "place = (account, self._session.region)",
        'place = ("", self._session.region)',
        "one account that is throttled slows all others down",
    ),
    _codec(
        "_carried_key",
        'f"{CARRIED}{kind}.{ident}"',
        "f\"{CARRIED}{kind}.{ident.rpartition('/')[2]}\"",
        "the marks of two resources in one carrier overwrite each other",
    ),
    _text(
        "text",
        "_SPECIAL.sub(_escape, key)",
        "key.replace('=', chr(92) + '=')",
        "a key that ends in a backslash is read as another tag",
    ),
    _aws(
        "AwsAccount._behind",
        "self._session.for_deletes(uuid) if uuid else None",
        "None",
        "the cloud does not check whose a resource is before it is deleted",
    ),
    _session(
        "AwsSession.for_deletes",
        "bind(uuid, role.policy, role.policy_arns)",
        "bind(uuid)",
        "deletes are allowed that the user's session policy does not allow",
    ),
    _session(
        "_why_not_bound",
        "found if isinstance(found, NotBound) else None",
        "None",
        "before the first delete nobody is told that the cloud does not check the owner",
    ),
    _binding(
        "_bound",
        "if not policy and not policy_arns:",
        "if not policy:",
        "beside managed session policies ours allows deletes that they do not allow",
    ),
    _binding(
        "_bound",
        '_statement("Deny", "StringNotEquals", marks, actions)',
        '_statement("Allow", "StringEquals", marks, actions)',
        "deletes are allowed that the user's session policy does not allow, and others' are not denied",
    ),
    _binding(
        "_bound",
        " + sum(map(len, policy_arns))",
        "",
        "STS refuses the session, and nothing of the object is deleted",
    ),
    _binding(
        "_each_once",
        "if len(found) != len(pairs):",
        "if False:",
        "of a policy that says something twice we send the half that the user may not mean",
    ),
    _permissions(
        "NOT_BOUND",
        'frozenset({"s3"})',
        "frozenset()",
        "the delete of a bucket is denied for ever: S3 knows no tag in the condition",
    ),
    _calls(
        "ApiClient.write",
        " or refused.code != TOO_LARGE",
        "",
        "any refusal of the bound session lets deletes go out that the cloud does not check",
    ),
    _calls(
        "ApiClient.write",
        "self.session.not_bound = delete_binding.refused()",
        "self._deletes = None",
        "nobody is told that the cloud does not check the owner",
    ),
    _warnings(
        "_identity",
        "if facts.not_bound and spec.identity_ref:",
        "if False:",
        "nobody is told that the cloud does not check the owner",
    ),
    _cluster_status(
        "_observe",
        "[fields_served(report.plan.notes)] if isinstance(report.plan, ClusterWanted) else []",
        "[]",
        "what is found out by deleting is not told",
    ),
)
