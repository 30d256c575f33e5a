"""Safety lines of the commands on tags: a plan that writes nothing, values that stay words, an audit that has both."""

from functools import partial

from mutants.rows import Mutant

_planning = partial(Mutant, "operator/metadata/planning.py")
_changes = partial(Mutant, "operator/metadata/changes.py")
_metrics = partial(Mutant, "controllers/metrics.py")
_csv = partial(Mutant, "cli/output/tags_csv.py")
_page = partial(Mutant, "cli/output/tags_report_html.py")
_text = partial(Mutant, "cli/output/tags_text.py")
_apply = partial(Mutant, "cli/commands/tags_apply.py")
_list = partial(Mutant, "cli/commands/tags_list.py")
_audit = partial(Mutant, "cli/commands/tags_audit.py")
_logins = partial(Mutant, "cli/local/logins.py")

MUTANTS = (
    _apply(
        "_Now.finished",
        " or self.unknown",
        "",
        "tags are called done where nobody answered",
    ),
    _planning(
        "plan_of",
        "sorted(each.failed.keys() - each.plans.keys())",
        "()",
        "a report counts what could not be read as if it were not there",
    ),
    _audit(
        "changes",
        "of_last_call.get((subject, first), [])",
        "[places for (whose, _), places in of_last_call.items() if whose == subject][-1]",
        "a tag that was written is told as refused, because another call was",
    ),
    _planning(
        "_Recording.send",
        "self._sent.append(batch)",
        "self._sent.append(batch); return await self._inner.send(batch)",
        "a plan tags resources",
    ),
    _planning(
        "_DryObjects.patch",
        "return self._keep(resource, patched(await self.get(resource, key), body))",
        "return await self._stored.client.patch(resource, key, body, subresource=subresource)  # type: ignore",
        "a plan writes statuses and annotations",
    ),
    _planning(
        "_DryObjects.get",
        "return deepcopy(found)",
        "return found",
        "what the plan of one object would store changes the plan of the next one",
    ),
    _planning(
        "PlanMeans.plans",
        "elif self._is_beside_others(key):",
        "elif False:",
        "a plan that waits for a person because of others says that it does not",
    ),
    _planning(
        "PlanMeans._ask_others",
        "await DryPass(self).plan(other)",
        "pass",
        "what others of the same provider would overwrite does not count",
    ),
    _planning(
        "PlanMeans.plans",
        "if why := unknown.get(key):",
        "if why := ():",
        "a plan that could not count all says that nothing waits",
    ),
    _planning(
        "PlanMeans._undecided",
        "if 0 < len(",
        "if 0 <= len(",
        "a plan that overwrites nothing costs the reads of all others",
    ),
    _planning(
        "plan_of",
        "if each.approval for plan in each.plans.values() if risk(plan) is not Risk.NONE",
        "if each.approval for plan in each.plans.values()",
        "additions are said to wait for an approval, and do not",
    ),
    _changes(
        "WatchedPlace.send",
        "changes = changes_of(batch, self._seen)",
        "changes = changes_of(batch, {})",
        "nobody knows any more what somebody else's value was that was taken over",
    ),
    _csv(
        "cell",
        "if text.startswith(_FORMULA)",
        "if False",
        "a tag value is a formula in the spreadsheet of whoever opens the report",
    ),
    _csv(
        "as_csv",
        "quoting=csv.QUOTE_ALL",
        "quoting=csv.QUOTE_MINIMAL",
        "a spreadsheet that splits at semicolons finds a formula inside a cell",
    ),
    _page(
        "_text",
        "html.escape(escaped(text), quote=True)",
        "escaped(text)",
        "a tag value is a script in the report",
    ),
    _page(
        "_text",
        "html.escape(escaped(text), quote=True)",
        "html.escape(text, quote=True)",
        "invisible characters reorder the report",
    ),
    _text(
        "shown",
        "escaped(json.dumps(text, ensure_ascii=False))",
        "text",
        "a tag value hides a line of the plan that a person approves",
    ),
    _list(
        "parsed",
        "if not key:",
        "if False:",
        "a selector of nothing lists the whole account",
    ),
    _audit(
        "_end",
        'row.get("call") or found[at].resource == row.get("resource")',
        'row.get("call")',
        "a resource that the service refused within a call counts as done",
    ),
    _metrics(
        "MeasuredPort.send",
        "self._metrics.sent(call, error)",
        "self._metrics.sent(call, None)",
        "calls that fail are counted as good",
    ),
    _metrics(
        "Metrics.passed",
        "self._forget(key)",
        "pass",
        "an object that is gone manages resources for ever",
    ),
    _logins(
        "_read_from_file",
        "if state.api_key.stat().st_mode & 0o077:",
        "if False:",
        "an API key that others can read is used without a word",
    ),
    _logins(
        "without_secrets",
        "if name != API_KEY_VARIABLE",
        "",
        "the API key is in the environment of every editor and what it starts",
    ),
)
