"""Safety lines of the operator on AWS: who may use which identity, and which account an object is served in."""

from functools import partial

from mutants.rows import Mutant

_identities = partial(Mutant, "operator/aws_identities.py")
_aws = partial(Mutant, "operator/aws.py")
_codec = partial(Mutant, "lifecycle/keyed_codec.py")
_session = partial(Mutant, "clouds/aws/session.py")
_text = partial(Mutant, "lifecycle/tag_text.py")

_app = partial(Mutant, "operator/app.py")

_calls = partial(Mutant, "clouds/aws/calls.py")

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
        "StoredIdentities._resolve",
        "await self._check(reference, static.allowed_namespaces, namespace)",
        "pass",
        "any namespace creates with another team's keys",
    ),
    _identities(
        "StoredIdentities._resolve",
        "await self._check(reference, role.allowed_namespaces, namespace)",
        "pass",
        "any namespace assumes another team's role",
    ),
    _identities(
        "StoredIdentities._resolve",
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
        "self._session.narrowed(permissions.bound_deletes(uuid)) if uuid else None",
        "None",
        "the cloud does not check whose a resource is before it is deleted",
    ),
    _session(
        "AwsSession.narrowed",
        " or identity.policy or identity.policy_arns",
        "",
        "deletes are allowed that the user's session policy does not allow",
    ),
)
