"""Safety lines of the Kubernetes client: which calls are repeated, the meaning of answers, the state of a watch."""

from functools import partial

from mutants.rows import Mutant

_client = partial(Mutant, "kube/client.py")
_objects = partial(Mutant, "kube/object_client.py")
_errors = partial(Mutant, "kube/errors.py")
_watch = partial(Mutant, "kube/watch.py")
_auth = partial(Mutant, "kube/auth.py")
_config = partial(Mutant, "kube/config.py")
_tls = partial(Mutant, "kube/tls.py")
_resources = partial(Mutant, "kube/resources.py")
_merge_patch = partial(Mutant, "kube/merge_patch.py")

REQUESTS = (
    _merge_patch(
        "merge_patch",
        "patch: Json = {name: None for name in last if name not in wanted and name in current}",
        "patch: Json = {}",
        "a field that is gone, nested ones too, stays in the status",
    ),
    _objects(
        "ObjectClient._sent",
        'attempts = READ_ATTEMPTS if method == "GET" else 1',
        "attempts = READ_ATTEMPTS",
        "a write that may have taken effect is sent again by the client",
        killed_by="tests/unit/kube/test_kube_client.py::test_a_write_is_not_retried_and_its_error_has_the_wait",
    ),
    _objects(
        "ObjectClient._sent",
        " or wait > LONGEST_WAIT_SECONDS",
        "",
        "a read waits as long as a server says, and holds its worker",
    ),
    _client(
        "KubeClient._send",
        "if response.status == 401:",
        "if False:",
        "an expired token is not renewed",
    ),
    _client(
        "KubeClient._send",
        "self.connection.credentials.invalidate(credential)",
        "pass",
        "the refused token is sent again",
    ),
    _client(
        "KubeClient._send",
        "if response.status >= 300:",
        "if response.status >= 400:",
        "a redirect counts as an answer",
    ),
    _client(
        "KubeClient._once",
        "allow_redirects=False",
        "allow_redirects=True",
        "our token follows a redirect, and a DELETE becomes a GET",
    ),
    _objects(
        "ObjectClient.delete",
        "if uid or resource_version:",
        "if False:",
        "a different object of the same name is deleted",
    ),
    _objects(
        "ObjectClient.pages",
        "            if not token:\n                return",
        "            return",
        "a list ends after its first page: what is on the others counts as gone",
    ),
    _objects(
        "ObjectClient.list",
        "for size in (limit, 0):",
        "for size in (limit,):",
        "a list whose pages expire is never requested in one piece",
    ),
    _objects(
        "ObjectClient._decoded",
        'raise Unavailable(f"{what}: the answer is not JSON", code=status) from None',
        "return {}",
        "the HTML page of a proxy counts as an empty object",
    ),
    _objects(
        "ObjectClient._decoded",
        "if not isinstance(decoded, dict):",
        "if False:",
        "an answer that is not an object reaches the callers",
    ),
    _client(
        "KubeClient.stream",
        "sock_read=idle_timeout",
        "sock_read=None",
        "a watch with a dead connection waits for ever",
    ),
    _client(
        "KubeClient._open",
        "cookie_jar=aiohttp.DummyCookieJar(),",
        "",
        "a load balancer's cookie binds all requests to one API server",
    ),
    _errors(
        "of_status",
        "kind = _BY_CODE.get(code) or (Invalid if 400 <= code < 500 else Unavailable)",
        "kind = _BY_CODE.get(code) or Invalid",
        "a server that is down is reported as a wrong request",
    ),
    _errors(
        "of_status",
        'if reason == "AlreadyExists":',
        "if False:",
        "an object that exists already is reported as a stale write",
    ),
    _errors(
        "of_status",
        ' or _has_cause(details, "ResourceVersionTooLarge")',
        "",
        "after a restore of etcd a watch requests a future version for ever",
    ),
    _errors(
        "_BY_CODE",
        "403: Forbidden",
        "403: NotFound",
        "what we may not see counts as absent",
    ),
    _errors(
        "of_response",
        'if not isinstance(status, dict) or not status.get("message"):',
        "if False:",
        "a failure without a Status breaks the client",
    ),
)

WATCHES = (
    _watch(
        "Reflector._relist",
        "for key in [each for each in self._objects if each not in seen]:",
        "for key in []:",
        "an object that was deleted while the watch was broken stays in the cache",
    ),
    _watch(
        "Reflector._relist",
        "self._unpaged = True",
        "pass",
        "a list whose pages expire is requested by pages for ever",
    ),
    _watch(
        "Reflector._relist",
        "version = version or page.resource_version",
        "version = page.resource_version",
        "changes between two pages are never seen",
    ),
    _watch(
        "Reflector._follow",
        '        except Expired:\n            self._version = ""\n            raise',
        "        except Expired:\n            raise",
        "a watch requests an expired version for ever",
    ),
    _watch(
        "Reflector._follow",
        '"allowWatchBookmarks": "true",',
        "",
        "the version of a quiet resource expires",
    ),
    _watch(
        "Reflector._read",
        "raise of_status(obj)",
        "return []",
        "an error within a watch is ignored",
    ),
    _watch(
        "Reflector._read",
        "self._version = version",
        "pass",
        "a watch that is resumed shows everything again",
    ),
    _watch(
        "Reflector._read",
        "self._objects.pop(key, None)",
        "pass",
        "a deleted object stays in the cache",
    ),
    _watch(
        "Reflector._store",
        'if old is not None and old["metadata"].get("uid") != obj["metadata"].get("uid"):',
        "if False:",
        "an object that was deleted and created again counts as one that changed",
    ),
    _watch(
        "Reflector.changes",
        "if not self._version or self._now() - self._listed_at >= self._resync:",
        "if not self._version:",
        "a lost event is never made up for",
    ),
    _watch(
        "Reflector.changes",
        "if self._now() - started >= 1.0:",
        "if True:",
        "a server whose watches end at once is hammered",
    ),
    _watch(
        "Reflector._delay_after",
        "self._enter(State.FAILING)",
        "pass",
        "an old cache reports that it is up to date",
    ),
    _watch(
        "Reflector._delay_after",
        "self._enter(State.ABSENT)",
        "self._enter(State.FAILING)",
        "a CRD that is not installed counts as a failure",
    ),
    _watch(
        "Reflector._delay_after",
        "return max(delay * random.uniform(0.8, 1.2), asked)",
        "return delay * random.uniform(0.8, 1.2)",
        "the wait that the API server asks for is ignored",
    ),
    _watch(
        "Reflector._delay_after",
        "self._failures = min(self._failures + 1, 16)",
        "pass",
        "a server that is down is called twice a second for ever",
    ),
    _watch(
        "_lines",
        "parts = [rest]",
        "parts = []",
        "an event that comes in two pieces is lost",
    ),
)

CREDENTIALS = (
    _auth(
        "Renewing.invalidate",
        "if used is self._current:",
        "if True:",
        "a late refusal of an old token drops the new one",
    ),
    _auth(
        "Renewing.get",
        "if self._current and self._now() < self._renew_at:",
        "if False:",
        "each caller that waits for a new token fetches its own",
        nth=2,
    ),
    _auth(
        "Renewing.get",
        "if self._current is None:",
        "if True:",
        "the old token is dropped when its renewal fails",
    ),
    _auth(
        "Renewing.get",
        "self._renew_at = self._not_before = self._now() + RETRY_SECONDS",
        "pass",
        "each request tries to renew while renewing fails",
    ),
    _auth(
        "Renewing._next_renewal",
        "max(fresh.expires - EXPIRY_SKEW_SECONDS, self._now() + 1.0)",
        "fresh.expires",
        "a token is used until the moment it expires",
    ),
    _auth(
        "from_file",
        "        if not token:",
        "        if False:",
        "an empty token file counts as a token",
    ),
    _auth(
        "ExecPlugin.run",
        "asyncio.timeout(PLUGIN_SECONDS)",
        "asyncio.timeout(None)",
        "a plugin that hangs hangs the operator",
    ),
    _auth(
        "Credential.__repr__",
        'return "Credential(...)"',
        'return f"Credential({self.authorization})"',
        "the token gets into a log",
    ),
    _config(
        "_merge",
        'into.setdefault(str(entry["name"]), _absolute(body, path.parent))',
        'into[str(entry["name"])] = _absolute(body, path.parent)',
        "the last kubeconfig file is used instead of the first: another cluster is served",
    ),
    _config(
        "_tls",
        'insecure=cluster.get("insecure-skip-tls-verify") is True',
        'insecure="insecure-skip-tls-verify" in cluster',
        "a server is not checked although the kubeconfig says false",
    ),
    _config(
        "_tls",
        'server_name=str(cluster.get("tls-server-name") or ""),',
        'server_name="",',
        "the server is checked under a name that it does not have",
    ),
    _config(
        "proxy_for",
        "            return None\n    if host in",
        "            pass\n    if host in",
        "our token goes through a proxy that NO_PROXY excludes",
    ),
    _config(
        "in_cluster",
        'tls=TlsSettings(ca_file=account / "ca.crt"),',
        "",
        "in a pod the API server's certificate is checked against the wrong CA",
    ),
    _tls(
        "TlsContext._build",
        "context.verify_flags &= ~ssl.VERIFY_X509_STRICT",
        "pass",
        "with Python 3.13 no EKS cluster is reached",
    ),
    _tls(
        "TlsContext._build",
        "if wanted.insecure:",
        "if True:",
        "the certificate of the server is not checked",
    ),
    _tls(
        "TlsContext.get",
        "due = self._now() - self._looked_at >= RELOAD_SECONDS",
        "due = False",
        "a CA that is rotated on disk is not read until a restart",
    ),
    _tls(
        "_load_pair",
        "Path(name).unlink()",
        "pass",
        "private keys stay behind in temporary files",
    ),
    _resources(
        "Resource.object_path",
        "if self.namespaced and not key.namespace:",
        "if False:",
        "a request for one object of a namespace becomes one for the whole cluster",
    ),
    _resources(
        "Resource.object_path",
        "quote(key.name, safe='')",
        "key.name",
        "a name with a slash names another resource",
    ),
)

MUTANTS = (*REQUESTS, *WATCHES, *CREDENTIALS)
