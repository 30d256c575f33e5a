"""Safety lines of the IBM Cloud adapter: the meaning of answers, tags, lists, deletes, tokens, addresses."""

from functools import partial

from mutants.rows import Mutant

_errors = partial(Mutant, "providers/ibm/errors.py")
_tags = partial(Mutant, "providers/ibm/tags.py")
_marks = partial(Mutant, "providers/ibm/marks.py")
_calls = partial(Mutant, "providers/ibm/calls.py")
_session = partial(Mutant, "providers/ibm/session.py")
_tokens = partial(Mutant, "providers/ibm/tokens.py")
_instances = partial(Mutant, "providers/ibm/resource_controller.py")
_vpc = partial(Mutant, "providers/ibm/vpc.py")
_buckets = partial(Mutant, "providers/ibm/buckets.py")
_names = partial(Mutant, "providers/ibm/names.py")
_rules = partial(Mutant, "providers/ibm/rules.py")
_facts = partial(Mutant, "providers/ibm/facts.py")
_power = partial(Mutant, "providers/ibm/power_networks.py")
_networks = partial(Mutant, "providers/ibm/dhcp_networks.py")
_contents = partial(Mutant, "providers/ibm/workspace_contents.py")
_connections = partial(Mutant, "providers/ibm/transit_connections.py")
_balancer_parts = partial(Mutant, "providers/ibm/balancer_parts.py")
_times = partial(Mutant, "providers/ibm/times.py")
_crn = partial(Mutant, "providers/ibm/crn.py")

ANSWERS = (
    _errors(
        "RULES",
        '_rule(lifecycle.NotFound, "It is gone", words=r"dhcp server does not exist"),',
        '_rule(lifecycle.NotFound, "It is gone", words=r"behavior not exist|not found"),',
        "any text with 'not found' in it counts as gone, whatever the status",
    ),
    _errors(
        "RULES",
        '_rule(lifecycle.NotFound, "Check that it still exists", 404, 410),',
        '_rule(lifecycle.NotFound, "Check that it still exists", 403, 404, 410),',
        "what the credentials may not see counts as gone",
        equivalent="an earlier rule has turned every 403 into Denied",
    ),
    _errors(
        "translate",
        "if failure.status == 404 and not failure.spoken:",
        "if False:",
        "the bare 404 of an ingress that lost its backend counts as gone",
    ),
    _errors(
        "_unserved",
        "if effect is Effect.READ:",
        "if True:",
        "a write that may have taken effect counts as one that did nothing",
    ),
    _errors(
        "_of_transport",
        "if _never_sent(error):",
        "if True:",
        "a write whose reply was lost counts as never sent",
    ),
    _errors(
        "read",
        "if error.http_response.status_code < 400:",
        "if False:",
        "a good answer that is cut off counts as a refusal",
    ),
    _errors(
        "Failure.retry_after",
        "return min(float(text), LONGEST_WAIT)",
        "return float(text)",
        "a wrong Retry-After parks an object for a day",
    ),
    _errors(
        "translate",
        "said = scrub(failure.text)[:_LONGEST_TEXT]",
        "said = failure.text[:_LONGEST_TEXT]",
        "a secret in a vendor's error gets into a status",
    ),
    _errors(
        "translate",
        "said = scrub(failure.text)[:_LONGEST_TEXT]",
        "said = scrub(failure.text)",
        "a long error of a vendor makes a status too large to be written",
    ),
    _errors(
        "Rule.fits",
        "if self.statuses and failure.status not in self.statuses:",
        "if False:",
        "the text of an error is matched whatever the status is",
    ),
    _errors(
        "_refused_by_sdk",
        "type(error) is ValueError or",
        "isinstance(error, ValueError) or",
        "a reply that cannot be read counts as a request that was never sent",
    ),
    _calls(
        "ApiClient._send",
        "self.session.tokens.forget(held)",
        "raise",
        "a revoked token is used until it expires",
    ),
    _calls(
        "ApiClient.each_page",
        "raise errors.endless(operation, subject)",
        "return",
        "a list whose pages repeat counts as complete",
    ),
    _calls(
        "_body",
        "if not silent and not isinstance(body, dict | list):",
        "if False:",
        "the HTML page of a captive portal counts as an answer",
    ),
    _calls(
        "_body",
        "body is None and call.effect is Effect.WRITE and reply.get_status_code() in _SILENT",
        "body is None",
        "an empty answer to a read counts as nothing there",
    ),
    _calls(
        "following",
        'link.get("href") or body.get("next_url") or ""',
        'link.get("href") or ""',
        "a list of the Resource Controller ends after its first page",
    ),
    _calls(
        "ApiClient._mapped",
        "raise errors.translate(",
        "raise error from None\n                raise errors.translate(",
        "an SDK's exception reaches the engine",
    ),
)

TAGS = (
    _tags(
        "IbmTagger._answered",
        'answers.get(target, {"is_error": True}).get("is_error")',
        'answers.get(target, {}).get("is_error")',
        "a target that the reply to a batch omits counts as done",
        killed_by="tests/unit/ibm/test_ibm_odd_replies.py::test_a_target_that_the_reply_to_a_batch_omits_has_failed",
    ),
    _tags(
        "IbmTagger._answered",
        'if answers.get(target, {"is_error": True}).get("is_error")',
        "if False",
        "200 counts as success for every target",
    ),
    _tags(
        "IbmTagger._batch",
        "return dict.fromkeys(targets, error)",
        "return {}",
        "a failed batch counts as done",
    ),
    _tags(
        "_refusal",
        'missing = NotFound if verb == "detach" else NotReady',
        "missing = NotFound",
        "a new resource that the tag index does not know yet counts as gone",
    ),
    _tags(
        "_refusal",
        'missing = NotFound if verb == "detach" else NotReady',
        "missing = NotReady",
        "a mark on a carrier that is gone holds the delete for ever",
    ),
    _tags(
        "IbmTagger.tags_of",
        "if not items or (total is not None and offset >= total):",
        "if True:",
        "a mark on the second page of tags counts as missing",
    ),
    _tags(
        "IbmTagger._search",
        'if not items or not cursor or len(items) < body.get("limit", self.SEARCH_PAGE):',
        "if True:",
        "a search ends after its first page: resources on later pages seem to have no mark",
    ),
    _tags(
        "IbmTagger.marked",
        'terms += [f"tags:{PREFIX}{kind}\\\\:{_plain(uuid)}.*" for kind in self._carried]',
        "pass",
        "our marks on carriers are not searched",
    ),
    _tags(
        "IbmTagger.marked",
        'terms += [f"crn:{_quoted(target)}" for target in sorted(set(also))]',
        "pass",
        "the marks of additionally requested targets are not read",
    ),
    _tags(
        "_quoted",
        're.sub(r\'(["\\\\])\', r"\\\\\\1", text)',
        "text",
        "a target from a forged journal becomes a query of its own",
    ),
    _tags(
        "IbmTagger._change",
        "for at in range(0, len(targets), self.BATCH):",
        "for at in range(0, min(len(targets), 1), self.BATCH):",
        "of many targets only the first hundred are marked",
    ),
    _marks(
        "_fit",
        'return f"{legal[: room - 9]}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"',
        "return legal[:room]",
        "two owners with long names have one mark",
    ),
    _marks(
        "IbmCodec.fold",
        "tag.strip().casefold()",
        "tag.strip()",
        "a mark that IBM Cloud shows in another case counts as missing",
    ),
    _marks(
        "IbmCodec.read",
        "if not what.startswith(PREFIX) or not value:",
        "if not value:",
        "a stranger's tag with a uuid counts as the mark of something carried",
    ),
)

DELETES = (
    Mutant(
        "providers/ibm/kinds/workspace.py",
        "WorkspaceDriver.delete",
        "recursive=False",
        "recursive=True",
        "what others put into a workspace is deleted with it",
        killed_by="tests/unit/ibm/test_ibm_odd_replies.py::test_a_workspace_is_not_deleted_with_credentials_of_others",
    ),
    Mutant(
        "providers/ibm/kinds/dhcp_server.py",
        "DhcpServerDriver.create",
        "except CloudError:",
        "except ZeroDivisionError:",
        "a failed read after a successful create is reported as a failed create",
    ),
    Mutant(
        "providers/ibm/kinds/dhcp_server.py",
        "DhcpServerDriver._look",
        "left = await self._marks.left_behind(workspace, ref.target)",
        "left = None",
        "a network that outlives its server counts as gone, and its workspace is deleted",
    ),
    Mutant(
        "providers/ibm/kinds/dhcp_server.py",
        "_matching",
        "nonce_fields = [one for one in here if has_nonce(one.name, want.nonces) or not one.name]",
        "nonce_fields: list[Observed] = []",
        "a DHCP server of ours that still has the name with its nonce is not found",
    ),
    Mutant(
        "providers/ibm/kinds/dhcp_server.py",
        "DhcpServerDriver.delete",
        'if (server.get("network") or {}).get("id") == ident:',
        "if False:",
        "a network with a server is deleted without it, which IBM Cloud refuses for ever",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway_connection.py",
        "_fits",
        'same_network or has_nonce(body.get("name", ""), want.nonces)',
        "same_network",
        "a connection of ours that only its nonce identifies is created again",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway_connection.py",
        "_fits",
        'same_network or has_nonce(body.get("name", ""), want.nonces)',
        'same_network or body.get("name") == want.name or has_nonce(body.get("name", ""), want.nonces)',
        "on a shared gateway another cluster's connection of our name counts as ours",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway.py",
        "TransitGatewayDriver.observe",
        ' and body["status"] != "deleted"',
        "",
        "the delete waits for a deleted gateway that is still listed",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway.py",
        "_fits",
        'body["location"] == want.request["location"] and ',
        "",
        "a namesake in another region counts as the wanted gateway",
    ),
    Mutant(
        "providers/ibm/kinds/security_group.py",
        "SecurityGroupDriver.delete",
        'if (part.request.get("remote") or {}).get("crn"):',
        "if False:",
        "two groups that name each other can never be deleted",
    ),
    Mutant(
        "providers/ibm/kinds/security_group.py",
        "SecurityGroupDriver.delete",
        'if (part.request.get("remote") or {}).get("crn"):',
        "if True:",
        "a refused delete closes the API server's port",
    ),
    Mutant(
        "providers/ibm/kinds/vpc.py",
        "VpcDriver.children",
        'if body["id"] != default',
        "if True",
        "the default group counts as a stranger's, and no VPC is ever deleted",
    ),
    Mutant(
        "providers/ibm/kinds/vpc.py",
        "VpcDriver.children",
        "return [*subnets, *groups]",
        "return subnets",
        "a stranger's group is deleted with the VPC",
    ),
    Mutant(
        "providers/ibm/kinds/load_balancer.py",
        "LoadBalancerDriver._fits",
        "if _born(body, want.nonces):",
        "if False:",
        "a load balancer of ours whose record was lost is created again",
    ),
    Mutant(
        "providers/ibm/kinds/load_balancer.py",
        "LoadBalancerDriver._same_vpc",
        'theirs is not None and ours is not None and bool(theirs["vpc"]["id"] == ours["vpc"]["id"])',
        "True",
        "a namesake in another VPC counts as the wanted load balancer",
    ),
    Mutant(
        "providers/ibm/kinds/cos_bucket.py",
        "CosBucketDriver.observe",
        'if ref.id in (ident, f"{instance}/{named_in_mark(KIND, ident)}"):',
        "if split(ref.id)[2] == name:",
        "a bucket that was deleted and created again elsewhere counts as ours",
    ),
    Mutant(
        "providers/ibm/kinds/cos_instance.py",
        "CosInstanceDriver.children",
        "return [Observed(buckets.join(ref.id, region, name), name, State.READY) for name, region in inside.items()]",
        "return []",
        "buckets of others are deleted with the object storage instance",
    ),
    _instances(
        "Instances.get",
        'None if body is None or body["state"] in GONE else body',
        "body",
        "the delete waits for days for an instance in reclamation",
    ),
    _instances(
        "state_of",
        'if last.get("type") == "delete" and last.get("state") == "in progress":',
        "if False:",
        "a workspace whose delete is under way counts as ready",
    ),
    _instances(
        "Instances._every",
        "for state in _LISTS",
        "for state in (None,)",
        "a workspace that is being provisioned is not found, and created again",
    ),
    _instances(
        "Instances.guid_of",
        "and parsed.service == self._offering.service ",
        "",
        "the mark of an instance of another service leads to a workspace",
    ),
    _vpc(
        "Collection.present",
        "if body is None and not (listed and ref.delete_requested):",
        "if body is None and not listed:",
        "a resource that a list does not show yet counts as gone",
    ),
    _vpc(
        "identify",
        ' or parsed.service != "is" or parsed.type != resource_type',
        "",
        "the mark of a subnet leads to a VPC",
    ),
    _vpc(
        "STATES",
        '"deleting": State.DELETING,',
        "",
        "a resource that is being deleted counts as being created",
    ),
    _buckets(
        "Buckets.of_instance",
        "            if await self._instances.get(instance) is not None:\n                raise\n",
        "",
        "buckets that may not be listed count as gone",
    ),
    _buckets(
        "Buckets._every",
        'if not body.get("IsTruncated") or not page:',
        "if True:",
        "buckets on the second page count as gone",
    ),
    _contents(
        "Contents.children",
        'found += [_network(ref.id, network) for network in networks if network["networkID"] not in managed]',
        "pass",
        "a stranger's network is deleted with the workspace",
    ),
    _contents(
        "Contents.children",
        "for vm in machines\n",
        "for vm in ()\n",
        "a stranger's virtual machine is deleted with the workspace",
    ),
    _networks(
        "MarkedNetworks.left_behind",
        "if on_mark or not managed:",
        "if not managed:",
        "the network of another server counts as left behind by ours",
    ),
    _power(
        "PowerNetworks.workspace",
        " and parsed.instance == guid",
        "",
        "a forged target sends our requests to another workspace",
    ),
)

LAST_LOOK = (
    _calls(
        "ApiClient.read_list",
        'raise errors.ListNotFound(f"{missing.message}. The list is asked for again") from missing',
        "raise",
        "a 404 of a list counts as proof that its items are gone",
    ),
    _calls(
        "rows",
        "if found is not None and not isinstance(found, list):",
        "if False:",
        "a reply without a list counts as an empty list",
    ),
    _power(
        "PowerNetworks._expect_empty",
        "if body is None:",
        "if False:",
        "a workspace that is gone is read for ever",
    ),
    _power(
        "PowerNetworks._expect_empty",
        "if state_of(body) is State.FAILED:",
        "if True:",
        "a workspace whose contents cannot be read counts as empty",
    ),
    _power(
        "PowerNetworks._expect_empty",
        "if isinstance(refused, ListNotFound):",
        "if False:",
        "a workspace that PowerVS does not know counts as deleted",
    ),
    _instances(
        "_fits",
        '(group and body.get("resource_group_id") != group) or ',
        "",
        "a namesake in another resource group counts as the wanted workspace",
    ),
    _instances(
        "_fits",
        ' or (zone and body.get("region_id") != zone)',
        "",
        "a namesake in another zone counts as the wanted workspace",
    ),
    _instances(
        "Instances.by_nonce",
        'has_nonce(body["name"], nonces) or ',
        "",
        "the final check finds no workspace by its nonce",
    ),
    _vpc(
        "Collection.by_nonce",
        "await confirm_vpc(self._client, *scope)",
        "pass",
        "a 404 for the list of a VPC counts as an empty list",
    ),
    _vpc(
        "is_wanted",
        "has_nonce(name, nonces) or ",
        "",
        "the final check finds no subnet by its nonce",
    ),
    Mutant(
        "providers/ibm/kinds/load_balancer.py",
        "LoadBalancerDriver.by_nonce",
        "_born(body, nonces) or ",
        "",
        "the final check finds no load balancer by its nonce",
    ),
    Mutant(
        "providers/ibm/kinds/load_balancer.py",
        "LoadBalancerDriver.by_nonce",
        "await vpc.confirm_vpc(self._client, region, home)",
        "pass",
        "a VPC that is not found counts as one without load balancers",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway.py",
        "TransitGatewayDriver.by_nonce",
        'has_nonce(body["name"], nonces) or ',
        "",
        "the final check finds no gateway by its nonce",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway_connection.py",
        "ConnectionDriver.by_nonce",
        'gateways |= {place.ref.id: place.ref.target for place in places if place.kind == "transit-gateway"}',
        "pass",
        "a connection of ours in a gateway that the spec no longer names is orphaned",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway_connection.py",
        "ConnectionDriver.by_nonce",
        'has_nonce(body.get("name", ""), nonces) or ',
        "",
        "the final check finds no connection by its nonce",
    ),
    Mutant(
        "providers/ibm/kinds/transit_gateway_connection.py",
        "ConnectionDriver.observe",
        "if body is None and not (len(group) > 1 and ref.delete_requested):",
        "if body is None and not len(group) > 1:",
        "a connection that a list does not show yet counts as gone",
    ),
    Mutant(
        "providers/ibm/kinds/dhcp_server.py",
        "DhcpServerDriver.by_nonce",
        'scopes |= {place.ref.id: place.ref.target for place in places if place.kind == "workspace"}',
        "pass",
        "a DHCP server of ours in a workspace that the spec no longer names is orphaned",
    ),
    Mutant(
        "providers/ibm/kinds/dhcp_server.py",
        "_shows_no_network",
        "if not one.name and one.state is State.PENDING:",
        "if False:",
        "a DHCP server without a name yet counts as a stranger's, and the finalizer is removed",
    ),
    _connections(
        "Connections.of_gateway",
        "raise NotReady(f",
        "return []\n            raise NotReady(f",
        "a 404 for the connections of a gateway counts as their absence",
    ),
    _tags(
        "_is_missing",
        "return re.search(about, said, re.IGNORECASE) is not None",
        'return "not found" in said.casefold() or "behavior not exist" in said.casefold()',
        "any text with 'not found' in it counts as a resource that is gone",
    ),
    _tags(
        "_unauthorized",
        'if verb == "attach":',
        "if True:",
        "a denied detach is tried again without a message",
    ),
)

ADDRESSES = (
    _session(
        "_at",
        "if not _REGION.fullmatch(region):",
        "if False:",
        "a region from a forged journal decides to which host our token is sent",
    ),
    _session(
        "_no_traps",
        'if segments != [""] and not {"", ".", ".."}.isdisjoint(segments):',
        "if False:",
        "the id `..` deletes the gateway instead of its connection",
    ),
    _session(
        "_Session.request",
        '{"allow_redirects": False, **settings}',
        "settings",
        "a redirected DELETE becomes a GET, whose 200 counts as done",
    ),
    _session(
        "_Session.__init__",
        "self.trust_env = False",
        "pass",
        "a netrc entry replaces our token",
    ),
    _session(
        "IbmSession.__init__",
        "max_retries=0",
        "max_retries=3",
        "the SDK sends a delete or a rename again",
    ),
    _session(
        "IbmSession._build_cos",
        'retries={"total_max_attempts": 1},',
        "",
        "the SDK sends the create of a bucket again",
    ),
    _session(
        "IbmSession.scrub",
        "(self._secret, self.tokens.access_token, self.tokens.exchanged)",
        "(self._secret, self.tokens.exchanged)",
        "an access token in a vendor's error gets into a status",
    ),
    _session(
        "IbmSession.scrub",
        "(self._secret, self.tokens.access_token, self.tokens.exchanged)",
        "(self._secret, self.tokens.access_token)",
        "the token of the key that assumes a profile, in a vendor's error, gets into a status",
    ),
    _session(
        "IbmSession._client",
        'client.set_http_config({"timeout": (self._timeout[0], read or self._timeout[1])})',
        "pass",
        "a call that hangs holds its thread for ever",
    ),
    _session(
        "_proxies",
        '{} if host in ("localhost", "::1") or host.startswith("127.") else',
        "",
        "behind a proxy the simulated cloud cannot be reached",
    ),
    _tokens(
        "SessionTokenManager.forget",
        "if refused == self.access_token:",
        "if True:",
        "a late refusal of an old token drops the new one",
    ),
    _tokens(
        "SessionTokenManager.get_token",
        "self._replace_at = issued + (expires - issued) * REFRESH_AT",
        "self._replace_at = expires",
        "a token is used until the moment it expires",
    ),
    _tokens(
        "SessionTokenManager._request",
        "if not response.ok:",
        "if False:",
        "a refused API key is reported as an unreadable reply",
    ),
    _names(
        "birth_name",
        "if len(name) > room:",
        "if False:",
        "a long name with its nonce is refused by the cloud",
    ),
    _names(
        "has_nonce",
        'text.casefold().replace("_", "-").split("-")',
        'text.replace("_", "-").split("-")',
        "a nonce in capitals is not recognised",
    ),
    _rules(
        "natural_key",
        "if here == ANYWHERE",
        "if True",
        "a rule of others for one address counts as ours, and is removed with it",
    ),
    _rules(
        "_ports",
        " and tuple(values) != _ALL_PORTS",
        "",
        "a rule for all ports is added again in each pass",
    ),
    _facts(
        "IbmFacts._one",
        "self._kept.pop(key, None)",
        "pass",
        "a new zone stays unknown for an hour",
    ),
    _facts(
        "IbmFacts._region_zones",
        'if zone["status"] in {"available", "impaired"}',
        "",
        "subnets are put into a zone that cannot be used",
    ),
    _balancer_parts(
        "Listeners._pool",
        'if pool["name"] == name or is_nested(pool["name"], name, VPC):',
        "if False:",
        "each pass that finds the listener missing creates its pool again",
    ),
    _times(
        "SETTLE",
        "120.0",
        "20.0",
        "a create may still take effect after its intent is closed",
    ),
    _times(
        "epoch",
        "(read if read.tzinfo else read.replace(tzinfo=UTC))",
        "read",
        "a time without a zone is read as local: a new resource looks older than its create",
    ),
    _crn(
        "Crn.region",
        'return re.sub(r"-\\d+$", "", self.location)',
        "return self.location",
        "the mark of a zonal resource leads to a region that does not exist",
    ),
)

MUTANTS = (*ANSWERS, *TAGS, *DELETES, *LAST_LOOK, *ADDRESSES)
