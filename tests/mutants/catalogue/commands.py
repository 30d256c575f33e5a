"""Safety lines of the commands on clusters: no success that nobody has seen, nothing stored that was not agreed to."""

from functools import partial

from mutants.rows import Mutant

_following = partial(Mutant, "cli/objects/following.py")
_deciding = partial(Mutant, "cli/objects/decisions.py")
_view = partial(Mutant, "cli/output/view.py")
_looks = partial(Mutant, "controllers/observation_log.py")
_reconciler = partial(Mutant, "controllers/reconciler.py")
_app = partial(Mutant, "controllers/app.py")
_dry_run = partial(Mutant, "engine/dry_run.py")
_applying = partial(Mutant, "cli/objects/applying.py")
_engine = partial(Mutant, "engine/engine.py")
_balancing = partial(Mutant, "providers/aws/balancing_driver.py")
_vpc = partial(Mutant, "providers/aws/kinds/vpc.py")
_last_refusals = partial(Mutant, "controllers/plan/last_errors.py")
_keys_command = partial(Mutant, "cli/commands/keys.py")
_lost_key = partial(Mutant, "cli/commands/lost_key.py")
_lost_key_evidence = partial(Mutant, "controllers/keyring/lost_key_evidence.py")

MUTANTS = (
    _keys_command(
        "accept",
        "not agreed or agreed != shown.digest",
        "not agreed",
        "a list that nobody has seen is accepted under the digest of another one",
    ),
    _lost_key(
        "accepted",
        "row.standing is Standing.AGREES and ",
        "",
        "a record that its marks do not show is accepted, and counts when somebody copies marks later",
    ),
    _lost_key(
        "accepted",
        " and shown.path(each, row) not in out",
        "",
        "what a person has left out is believed, and deleted with the object",
    ),
    _lost_key(
        "require_acceptable",
        "row.standing is Standing.UNREAD and path not in out",
        "False",
        "a loss is accepted although some of its records could not be shown",
    ),
    _lost_key_evidence(
        "_shown",
        "found.strength is Strength.PROVEN",
        "True",
        "a record without marks is offered as one that its marks show",
    ),
    _following(
        "UntilReady.__call__",
        " and all(map(picture.is_looked_at, picture.wanted))",
        "",
        "up of a paused cluster says Ready, and nobody has looked at the cloud",
    ),
    _following(
        "ViewSnapshot.views",
        "news=self.is_news(each)",
        "news=True",
        "up of an unchanged manifest ends with what an earlier process said of the cloud",
    ),
    _following(
        "ViewSnapshot.is_news",
        " and _is_at_least(_version(obj), look.version)",
        "",
        "the Ready from before the pass counts until the watch shows what the pass found",
    ),
    _following(
        "_LookReader.__init__",
        "session.running is None",
        "False",
        "beside a running server up ends with what that has seen minutes ago",
    ),
    _following(
        "ViewSnapshot.look",
        'look if look is not None and _is_at_least(look.version, self.applied.get(followed, "0")) else None',
        "look",
        "up fails because of an annotation that it has just taken away",
    ),
    _following(
        "ViewSnapshot.silent",
        "self.is_news(each) and ",
        "",
        "up waits two hours for an operator that cannot finish a reconcile of the object",
    ),
    _following(
        "_SilenceDetector.seconds",
        "picture.queued < self._least_queued or ",
        "",
        "up gives up while an operator that has just started takes its objects in turn",
    ),
    _following(
        "_SilenceDetector.seconds",
        "silent, picture.connections",
        "silent, 0",
        "up gives up on a server that has just taken the place of a killed one",
    ),
    _last_refusals(
        "with_last_refusals",
        "is not _is_of_delete(status)",
        "is None",
        "a plan of a delete says that it was refused last time, and an update was",
    ),
    _view(
        "view",
        "blocked = () if outdated else",
        "blocked = () if outdated and deleting else",
        "up asks for somebody to act on what the manifest has mended",
    ),
    _deciding(
        "_store",
        "if why := _changed(raw, newest, made):",
        'if why := "":',
        "a delete is stored that another plan than the one of now was agreed to for",
    ),
    _deciding(
        "_changed",
        "_spec_of_user(before) != _spec_of_user(now)",
        "False",
        "what the spec wants again is still deleted",
    ),
    _deciding(
        "_changed",
        "_grounds(then.get(decision.about)) != _grounds(today.get(decision.about))",
        "False",
        "what was agreed to of one resource is stored for the next one of that node",
    ),
    Mutant(
        "engine/texts.py",
        "texts_in",
        "if name not in without:",
        "if name in without:",
        "what an object names by id, name or ARN is deleted with the surplus of another one",
    ),
    _reconciler(
        "Reconciler._begin",
        "self._asked.add(uid)",
        "pass",
        "up says Ready, and an attribute that is read once an hour has been changed meanwhile",
    ),
    _reconciler(
        "Reconciler._forget_readings",
        "current.binding.cloud.look_anew()",
        "pass",
        "up says Ready, and a subnet that was given has gone meanwhile",
    ),
    _balancing(
        "BalancingDriver.forget",
        "self._client.session.seldom.forget(ident)",
        "pass",
        "up says Ready, and somebody has changed an attribute of the load balancer",
    ),
    _vpc(
        "VpcDriver.forget",
        "self._dns.forget(ident)",
        "pass",
        "up says Ready, and somebody has switched host names off in the VPC",
    ),
    _looks(
        "Looks.note",
        "if key in self._asked:",
        "if False:",
        "a pass that had begun before the question counts as its answer",
    ),
    _reconciler(
        "Reconciler._begin",
        "known.state.invalidate()",
        "pass",
        "who asks for a look gets what the process remembers",
    ),
    _reconciler(
        "Reconciler._ensure",
        "Seen.LOOKED if done.looked else Seen.TOLD",
        "Seen.LOOKED",
        "a pass that trusts its memory counts as a look",
    ),
    _app(
        "Operator.look_anew",
        "controller.queue.add(key)",
        "pass",
        "who asks for a look waits for the next round",
    ),
    _dry_run(
        "DryRunDriver._calls_after_create",
        "return kind.calls_a_change(later) if later else 0",
        "return 0",
        "a plan promises fewer writes than there are: those after a create are missing",
    ),
    _applying(
        "_try_all",
        'Key("default", _TRIAL_NAME)',
        'Key("default", each.key.name)',
        "what goes into a new namespace is refused, or planned, as a change of its namesake in another one",
    ),
    _engine(
        "_plan_deep_look",
        "state, ctx.looked = ctx.state, ctx.deep",
        "state, ctx.looked = ctx.state, True",
        "a pass that trusts its memory counts as a look",
    ),
)
