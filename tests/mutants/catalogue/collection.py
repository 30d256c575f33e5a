"""Safety lines of the collection: what proves that something is the cluster's, in which order, what stops it."""

from functools import partial

from mutants.rows import Mutant

_rules = partial(Mutant, "collection/rules.py")
_sweep = partial(Mutant, "collection/sweep.py")
_policy = partial(Mutant, "collection/policy.py")
_balancers = partial(Mutant, "providers/aws/collectors/load_balancers.py")
_groups = partial(Mutant, "providers/aws/collectors/security_groups.py")
_interfaces = partial(Mutant, "providers/aws/collectors/network_interfaces.py")
_volumes = partial(Mutant, "providers/aws/collectors/volumes.py")
_survey = partial(Mutant, "providers/aws/collectors/survey.py")
_phase = partial(Mutant, "engine/phases/collect.py")
_delete = partial(Mutant, "engine/phases/delete.py")
_rivals = partial(Mutant, "controllers/collecting.py")
_binding = partial(Mutant, "providers/aws/permissions/delete_binding.py")

_STRANGERS = "a stranger's is deleted"

PROOFS = (
    _balancers("OF_WORKLOADS", "(OWNED, tagged(SERVICE_NAME)", "(tagged(SERVICE_NAME)", _STRANGERS),
    _balancers(
        "OF_WORKLOADS", "tagged(SERVICE_NAME), ", "", "a load balancer that a user tagged for his cluster is deleted"
    ),
    _balancers("OF_WORKLOADS", "tagged(SERVICE_NAME), IN_NETWORK)", "tagged(SERVICE_NAME))", _STRANGERS),
    _balancers("OF_WORKLOADS", "(tagged_by_name(CONTROLLER_CLUSTER), ", "(", _STRANGERS),
    _balancers("OF_WORKLOADS", "tagged(*STACKS), ", "", "what a user tagged for the controller is deleted"),
    _balancers("OF_WORKLOADS", "tagged(*STACKS), IN_NETWORK)", "tagged(*STACKS))", _STRANGERS),
    _groups("SecurityGroups", "(OWNED, name_begins", "(name_begins", _STRANGERS),
    _groups(
        "SecurityGroups", "name_begins(OF_CLASSIC[0]), ", "", "a user's group with a description like that is deleted"
    ),
    _groups(
        "SecurityGroups", "description_begins(OF_CLASSIC[1]), ", "", "a user's group with a name like that is deleted"
    ),
    _groups(
        "SecurityGroups",
        "description_begins(OF_CLASSIC[1]), IN_NETWORK)",
        "description_begins(OF_CLASSIC[1]))",
        _STRANGERS,
    ),
    _groups(
        "SecurityGroups", '(tagged_by_name(CONTROLLER_CLUSTER), name_begins("k8s-")', '(name_begins("k8s-")', _STRANGERS
    ),
    _groups(
        "SecurityGroups", ', name_begins("k8s-")', "", "a user's group that he tagged for the controller is deleted"
    ),
    _groups("SecurityGroups", 'name_begins("k8s-"), IN_NETWORK)', 'name_begins("k8s-"))', _STRANGERS),
    _interfaces("NetworkInterfaces", "((tagged_by_name(CLUSTER), ", "((", "another cluster's is deleted"),
    _interfaces(
        "NetworkInterfaces", 'tagged(OWNER, value="amazon-vpc-cni"), ', "", "one that the CNI did not make is deleted"
    ),
    _interfaces("NetworkInterfaces", ', value="amazon-vpc-cni"', "", "one that the CNI did not make is deleted"),
    _interfaces("NetworkInterfaces", "IN_NETWORK, ", "", _STRANGERS),
    _interfaces("NetworkInterfaces", ', in_state("available")', "", "one that is in use is deleted"),
    _interfaces("NetworkInterfaces.find", 'bool(row.get("RequesterManaged"))', "False", "a service's is deleted"),
    _volumes("EbsVolumes", "((OWNED, ", "((", "another cluster's data are deleted"),
    _volumes("EbsVolumes", 'tagged(DRIVER, value="true"), ', "", "a volume that no driver made is deleted"),
    _volumes("EbsVolumes", "tagged(VOLUME_NAME), ", "", "a volume that no claim made is deleted"),
    _volumes("EbsVolumes", ', in_state("available")', "", "a volume that is in use is deleted"),
    _rules("OWNED", '== "owned"', 'in ("owned", "shared")', "what is shared by clusters is deleted"),
    _rules("IN_NETWORK", "bool(w.network) and ", "", "without a network, what is in none is deleted"),
    _rules("IN_NETWORK", "and t.network == w.network", "", "a cluster of the name elsewhere loses everything"),
    _rules("tagged_by_name", "t.tags.get(key) == w.name", "key in t.tags", "another cluster's is deleted"),
    _rules("tagged", "bool(t.tags.get(key))", "key in t.tags", "an empty tag counts as a proof"),
    _rules("name_begins", "t.name.startswith(prefix)", "True", "a user's group is deleted"),
    _rules("description_begins", "t.description.startswith(prefix)", "True", "a user's group is deleted"),
    _rules("in_state", "t.state == state", "True", "what is in use is deleted"),
    _rules("judge", "if [] in lacking:", "if lacking:", "what has one proof of all is deleted"),
    _rules(
        "judge",
        "if not claimed:\n        return None",
        "if not claimed:\n        pass",
        "what is not about it is spoken of",
    ),
    _rules(
        "judge", ".casefold() == workloads.uuid", " == workloads.uuid", "ours, in another case, is said to be another's"
    ),
)
NEVER = (
    _rules("judge", "if why := _never(thing, workloads):", "if why := '':", "what others claim too is deleted"),
    _rules("_never", "if UUID in thing.tags:", "if False:", "what has another owner's marks is deleted"),
    _rules("_never", "if EKS_TAG in thing.tags:", "if False:", "what EKS made is deleted"),
    _rules("_never", "if others:", "if False:", "what another cluster uses too is deleted"),
    _rules("_never", "if thing.by_service", "if False", "what a service of the cloud keeps is deleted"),
    _rules("verdicts", "and task not in tasks", "and False", "what the user does not ask for is deleted"),
    _rules("verdicts", "elif isinstance(verdict, Delete) and task is Task.VOLUME:", "elif False:", "data are deleted"),
    _rules("_of_volume", "if volumes is Volumes.RETAIN:", "if False:", "data are deleted that nobody gave up"),
    _rules("_of_volume", "if look.elsewhere:", "if False:", "another cluster's data are deleted"),
    _survey("AwsSurvey._elsewhere", "elsewhere.add(text)", "pass", "another cluster without leftovers loses data"),
    _survey(
        "AwsSurvey.look",
        "if Task.VOLUME in tasks else ()",
        "if False else ()",
        "another cluster loses data",
    ),
    _survey(
        "_namesakes",
        "if other and (",
        "if False and (",
        "beside another owner of the name what is his is deleted",
    ),
    _survey(
        "_namesakes",
        "cluster_key(workloads.name) in tags or ",
        "",
        "beside another owner of the name, who has no cloud controller, what is his is deleted",
    ),
    _rivals("_is_rival", "if journal is not None and journal.owner.uuid == owner.uuid:", "if False:", "nothing goes"),
    _rivals("_is_rival", "return name in called and ", "return ", "beside a cluster of another name nothing goes"),
    _rivals("_is_rival", 'and network in {*texts_in(raw.get("spec")), *ids}', "", "elsewhere is no reason to stop"),
    _rivals("_is_rival", ", *ids}", "}", "what another object of the name made in its network is deleted"),
    _rivals("_is_rival", ", *referred}", "}", "what another object of the Cluster's name made is deleted"),
)
ORDER = (
    _sweep("_FIRST", "(Task.LOAD_BALANCER, Task.TARGET_GROUP)", "()", "the rest begins before traffic has ended"),
    _sweep("_FIRST", ", Task.TARGET_GROUP", ",", "the rest begins before target groups have gone"),
    _sweep("Sweep._delete", "if outcomes and task in _FIRST:", "if False:", "the rest begins before traffic has ended"),
    _sweep("Sweep._delete", "if not (thing.waits_for or thing.held_by)", "", "a stranger's rule is taken out"),
    _sweep("Sweep._delete", "not (thing.waits_for or ", "not (", "what is in use is asked to go again and again"),
    _sweep(
        "Sweep._delete",
        "still = await self._survey.find_remaining(taken) if taken else ()",
        "still = ()",
        "the rest begins before load balancers are seen gone",
    ),
    _sweep("Sweep._send", "if str(step.thing) not in refused", "", "a group goes whose rule could not be taken out"),
    _groups(
        "SecurityGroups.find",
        "may_change=ours | doomed",
        "may_change={row['GroupId'] for row in scene.groups}",
        "a stranger's rule is taken out",
    ),
    _groups("SecurityGroups.find", "may_change=ours | doomed", "may_change=ours", "two groups of Services never go"),
    _groups(
        "SecurityGroups.find", "may_change=ours | doomed", "may_change=doomed", "a group never goes: ours names it"
    ),
    _groups("_placed", "held_by=held, ", "", "a stranger's rule is taken out"),
    _groups("_placed", "waits_for=waits, ", "", "a group is asked to go while something is in it"),
    _groups(
        "_naming",
        'if row["GroupId"] == ident:\n            continue',
        "if False:\n            continue",
        "a rule of the group itself is taken out first",
    ),
    _groups("_naming", '(EGRESS, row.get("IpPermissionsEgress", ())),', "", "an egress rule holds it for ever"),
    _volumes("EbsVolumes.steps", "if volumes is not Volumes.SNAPSHOT:", "if True:", "data go without a copy"),
    _volumes(
        "EbsVolumes._keep_data",
        'if not any(row.get("State") == "completed" for row in found):',
        "if False:",
        "data go before their copy is complete",
    ),
    _volumes("EbsVolumes._keep_data", "if not found:", "if True:", "a copy more at each try"),
)
STOPPED = (
    _sweep(
        "_send_if_wanted",
        "if not isinstance(await ask(), Collect):\n        raise _Stopped",
        "pass",
        "who opts out in the middle loses the rest",
    ),
    _sweep("Sweep.step", "if isinstance(policy, Skip):", "if False:", "who has opted out loses everything"),
    _sweep(
        "Sweep.step",
        "if isinstance(policy, Unreadable):\n            return Collected(False",
        "if isinstance(policy, Unreadable):\n            return Collected(True",
        "an annotation without sense lets the network go",
    ),
    _sweep("Sweep._prove_and_look", "if not site.network:", "if False:", "without a network of its own something goes"),
    _sweep(
        "Sweep._prove_and_look",
        "if others := await rivals(site):",
        "if others := ():",
        "what another object of the name has in the network is deleted",
    ),
    _sweep(
        "Sweep._look_and_delete", "if look.namesakes:", "if False:", "what another owner has in the network is deleted"
    ),
    _sweep("Sweep._look_and_delete", "if look.running:", "if False:", "controllers make again what is collected"),
    _sweep(
        "Sweep._look_and_delete",
        "self._machines_seen or look.lately",
        "self._machines_seen",
        "a new process takes one look for enough",
    ),
    _sweep(
        "Sweep._look_and_delete",
        "self._machines_seen, self._empty_since = True, None",
        "pass",
        "machines that ran all the time leave something",
    ),
    _sweep(
        "Sweep._look_and_delete",
        "        self._empty_since = None\n        self._count",
        "        self._count",
        "what came between two looks is not looked for again",
    ),
    _sweep(
        "Sweep._nothing_left",
        "if self._machines_seen and self._empty_since is None:",
        "if False:",
        "one look is enough while controllers end",
    ),
    _sweep("QUIET", "30.0", "1.0", "the second look is too early"),
    _sweep("Sweep._stands", "and not refused", "", "what came after the last look is never found"),
    _sweep(
        "Sweep._remaining",
        "{ident for idents in traces.values() for ident in idents}",
        "{*self._lingering} if traces else set()",
        "a classic balancer that was made again by its name is waited for, and never goes",
    ),
    _sweep(
        "Sweep.step",
        "return replace(self._until_next(), is_news=False)",
        "return self._until_next()",
        "the same event at each pass",
    ),
    _sweep(
        "Sweep._send",
        "if error is None or isinstance(error, NotFound):",
        "if error is None:",
        "what has gone already is told as a failure",
    ),
    _sweep("Sweep._comes_back", "if not back or (", "if (", "what is only held is said to be made again"),
    _sweep("Sweep._count", "(ids & self._gone) | ", "", "what comes back by its name is never told"),
    _sweep("Sweep._count", "| (ids - self._seen if self._asked else set())", "", "what comes back is never told"),
    _sweep("Sweep._comes_back", "self._returns < MOST_SWEEPS and ", "", "it is never told before an hour"),
    _sweep("Sweep._comes_back", " and lasted <= LONGEST", "", "what comes back once and stays is never told"),
    _policy("decide", "if not gate_on:", "if False:", "with the gate off something is collected"),
    _policy("decide", "if not marked:", "if False:", "an object older than the gate is collected unasked"),
    _policy("decide", "if selector is not None and ", "if False and ", "a cluster that is not selected is collected"),
    _policy("_by_annotation", "if wanted is None:", "if False:", "an annotation without sense is taken for false"),
    _policy(
        "tasks_of",
        "tuple(task for task in Task if task in words)",
        "tuple(words)",
        "tasks run in the order that the user wrote",
    ),
)
PHASE = (
    _phase(
        "is_done",
        "if not ctx.collected and not any(key.kind == KIND for key in ctx.outcomes):",
        "if not ctx.collected:",
        "a pass looks more than once",
    ),
    _phase(
        "_is_swept",
        "if await inner_owners.hold(ctx, ()):\n        return False",
        "pass",
        "the collection begins while machines of the cluster are deleted",
    ),
    _phase(
        "_is_swept", "if first := _goes_before(ctx):", "if first := None:", "it begins before our load balancers go"
    ),
    _phase("_goes_before", "if not (kind.network or stays or leaves):", "if not (stays or leaves):", "it never begins"),
    _phase(
        "_goes_before",
        "kind.network or stays or leaves",
        "kind.network or leaves",
        "what nobody knows to be ours holds it for ever",
    ),
    _phase("_is_swept", "refused=refused", "refused=False", "what came after the last look is never found"),
    _phase(
        "site",
        "if isinstance(seen, CloudError):\n            return of_error(seen)",
        "if isinstance(seen, CloudError):\n            continue",
        "a network that cannot be read is taken for gone",
    ),
    _phase(
        "site", "if entry.phase is Phase.GIVEN:", "if False:", "in a network that the user gives nothing is collected"
    ),
    _phase(
        "_if_proven",
        "if isinstance(tags, CloudError):\n        return of_error(tags)",
        "if isinstance(tags, CloudError):\n        tags = None",
        "a network whose marks cannot be read is taken for nobody's",
    ),
    _phase(
        "_if_proven",
        "return Site(ctx.owner, seen.id) if proven else Site(ctx.owner)",
        "return Site(ctx.owner, seen.id)",
        "whoever edits the record lets a stranger's network be collected",
    ),
    _delete("finished", "or not await collect.is_done(ctx)", "", "an object is released before the collection is done"),
    _phase("is_done", "if ctx.kind(key).network:", "if False:", "nothing says why the network waits"),
    Mutant(
        "engine/engine.py",
        "_delete_waves",
        "if ctx.collected or not await collect.is_done(ctx):",
        "if True:",
        "the network does not go in the pass in which nothing is left",
        equivalent="it goes in the next pass",
    ),
    *(
        Mutant(
            f"providers/aws/kinds/{kind}.py",
            function,
            "network=True",
            "network=False",
            f"a {kind} goes before the collection",
        )
        for kind, function in (
            ("nat_gateway", "kind"),
            ("security_group", "kind"),
            ("elastic_ip", "kind"),
            ("subnet", "kind"),
            ("internet_gateway", "kind"),
            ("vpc", "kind"),
            ("route_table", "kind"),
            ("vpc_endpoint", "kind"),
            ("egress_only_gateway", "kind"),
        )
    ),
    Mutant("providers/aws/kinds/vpc.py", "kind", "holds_external=True", "holds_external=False", "nothing is collected"),
    _binding(
        "bind_to_marks",
        "_bound(marks, COLLECTED_ACTIONS",
        "_bound({}, COLLECTED_ACTIONS",
        "AWS checks nothing of a collected delete",
    ),
)

MUTANTS = (*PROOFS, *NEVER, *ORDER, *STOPPED, *PHASE)
