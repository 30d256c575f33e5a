"""Safety lines of creates that a cloud treats as some of AWS does: what must not be made, or sent, a second time."""

from functools import partial

from mutants.rows import Mutant

_intents = partial(Mutant, "engine/phases/intents.py")
_create_identity = partial(Mutant, "engine/create_identity.py")
_create = partial(Mutant, "engine/phases/create.py")
_journal = partial(Mutant, "engine/journal.py")
_reveal = partial(Mutant, "engine/phases/reveal.py")
_drift = partial(Mutant, "engine/phases/drift.py")
_secret_values = partial(Mutant, "engine/secret_values.py")
_keys = partial(Mutant, "engine/keys.py")
_questions = partial(Mutant, "controllers/recovery/open_decisions.py")
_ports = partial(Mutant, "providers/access/ports.py")
_observe = partial(Mutant, "engine/phases/observe.py")
_decide = partial(Mutant, "engine/phases/decide.py")
_context = partial(Mutant, "engine/context.py")
_birth_marks = partial(Mutant, "engine/birth_marks.py")
_kinds = partial(Mutant, "engine/kinds.py")

TOKENS = (
    _intents(
        "_token_protects",
        "if kind.token_life < inf and not -CLOCK_SKEW <= age <= kind.token_life - CLOCK_SKEW:",
        "if False:",
        "an expired token makes a second resource",
    ),
    _intents(
        "_token_protects",
        "not -CLOCK_SKEW <= age <=",
        "not age <=",
        "a token counts as fresh when our clock has gone back, and makes a second resource",
    ),
    _intents(
        "_token_protects",
        "return same_caller or TokenBinding.CALLER not in kind.token_binds",
        "return True",
        "a token that is bound to other credentials makes a second resource",
    ),
    _intents(
        "_resolve",
        "elif entry.had_effect:",
        "elif False:",
        "what a token made with another request is forgotten when the token expires, and made again",
    ),
    _intents(
        "_resolve",
        "elif unknown := _of_forgotten_attempts(ctx, key, candidates):",
        "elif unknown := ():",
        "what a forgotten attempt made is made again under an earlier token",
    ),
    _create_identity(
        "birth_of",
        "wanted_tags.beside_marks(ctx, key) if bound is None else frozenset(bound)",
        "wanted_tags.beside_marks(ctx, key)",
        "a create is repeated with today's tags, and its token refuses it",
    ),
    _create(
        "_created",
        "intents.token_was_used(ctx, key)",
        "pass",
        "a mismatch of a token is on no record when the process dies, and the resource is made again",
    ),
    _create(
        "_created",
        "spent = ctx.kind(key).spends_tokens and not isinstance(result, Retryable)",
        "spent = False",
        "a create is sent for ever under a token that the cloud has bound to a refused one",
    ),
    _create(
        "_created",
        " and not isinstance(result, Retryable)",
        "",
        "an outage uses up the attempts that a journal may count",
    ),
    _intents(
        "_replay",
        "if ctx.kind(key).spends_tokens:",
        "if False:",
        "a refusal that no record holds is heard for as long as its token lives, and the object is never deleted",
    ),
    _intents(
        "_replay",
        "if ctx.kind(key).spends_tokens:",
        "if True:",
        "what only its token finds counts as never made because a repeat is refused",
    ),
    _kinds(
        "Kind.spends_tokens",
        "return self.dedupe is Dedupe.TOKEN and self.tells_apart",
        "return self.dedupe is Dedupe.TOKEN",
        "a restored journal makes a second resource under an earlier token, and nothing tells them apart",
    ),
    _journal(
        "after_refusal",
        "if token_spent and entry.attempt < MOST_REFUSED",
        "if token_spent",
        "a quota that nobody raises makes the journal unreadable",
    ),
)

EXISTING = (
    _birth_marks(
        "not_from_intent",
        "if old and ctx.node(key).answered != observed.id:",
        "if old:",
        "with a wrong clock nothing is ever created of a kind that answers with what was there",
    ),
    _intents(
        "reply_counts",
        "return not ctx.kind(key).answers_existing or birth_marks.has_birth_mark(ctx, key, reply)",
        "return True",
        "a stranger's resource that a create answered with is marked, and deleted with the object",
    ),
    _create(
        "_created",
        "if isinstance(result, Observed) and not intents.reply_counts(ctx, key, result):\n        "
        "intents.look_for_own(ctx, key, result)",
        "if isinstance(result, Observed) and not intents.reply_counts(ctx, key, result):\n        "
        "ctx.state.made[key, entry.attempt] = result",
        "a stranger's resource that a create answered with is recorded by the next pass",
    ),
    _kinds(
        "Registry",
        "if kind.answers_existing and not kind.tells_apart:",
        "if False:",
        "a kind is registered whose creates nothing can ever prove",
    ),
)

ONCE = (
    _birth_marks(
        "without_resource",
        "vacant = replace(vacant, gone=entry.id)",
        "pass",
        "a machine that somebody terminated is made again",
    ),
    _birth_marks(
        "without_resource",
        " and not entry.deleting",
        "",
        "what a person had deleted and wants again is reported as deleted by somebody",
    ),
    _create(
        "_decide_by_candidates",
        "if occupied := prune.holds_place(ctx, node):",
        "if occupied := None:",
        "a plan shows a create that the cloud refuses, and nobody is told that a prune would free the range",
    ),
    _create(
        "_decide_by_candidates",
        " or await _foreseen(ctx, node)",
        "",
        "a plan shows a create that the cloud refuses because of a stranger's subnet",
    ),
    _create(
        "_foreseen",
        "if not ctx.deps.foresees or",
        "if",
        "each create of a subnet costs a read more",
    ),
    _create(
        "_why_not_created",
        "if entry and entry.gone and kind.once:",
        "if False:",
        "a machine that somebody terminated is made again by the next pass",
    ),
    _observe(
        "_absent",
        "ctx.journal = ctx.journal.put(key, birth_marks.without_resource(ctx, key, let_go(entry)))",
        "ctx.journal = ctx.journal.put(key, let_go(entry))",
        "a machine that another owner took and terminated is made again",
    ),
    _observe(
        "record_owned",
        ', gone=""',
        "",
        "a machine that came back is said to have gone",
    ),
    _questions(
        "questions",
        "(gone or entry.fails >= kind.attempts)",
        "entry.fails >= kind.attempts",
        "nobody can decide that a machine is made again",
    ),
    _questions(
        "_is_told",
        "return told or",
        "return",
        "a person is asked about what its own marks prove",
    ),
    _decide(
        "_not_mine",
        'gone="", ',
        "",
        "what a person wants to have made again never is",
    ),
)

SECRETS = (
    _reveal(
        "first",
        "return with_each(request, recorded), _with_values(request, values)",
        "return with_each(request, lambda one: values[one.path].decode()), _with_values(request, values)",
        "the value of a secret is in the journal",
    ),
    _reveal(
        "again",
        "if not hmac.compare_digest(recorded, now):",
        "if False:",
        "whoever may edit the object has any Secret of the namespace sent to a machine",
    ),
    _reveal(
        "again",
        "_digest(ctx, entry.key, key, one, values[one.path])",
        "_digest(ctx, ctx.keys.writing, key, one, values[one.path])",
        "after a new writing key no create with a secret is repeated, and its token is lost",
    ),
    _reveal(
        "again",
        "except NotFound:",
        "except ZeroDivisionError:",
        "a create whose Secret has been deleted is never resolved",
    ),
    _reveal(
        "_digest",
        'f"{one.path}\\0{one.reference}"',
        "one.reference",
        "a reference is moved to a field that everybody can read",
    ),
    _keys(
        "ObjectKeys.secret_digest",
        '"secret", str(key), place',
        '"secret", place',
        "the secret of one machine is sent to another",
    ),
    _intents(
        "_replay",
        "driver.create(request, birth)",
        "driver.create(entry.request or {}, birth)",
        "a repeat is sent with a reference in place of the value",
    ),
    _create(
        "_requests",
        "ctx.block(node.key, of_error(error))",
        "pass",
        "nobody is told that a Secret is missing",
    ),
    _drift(
        "_sync",
        "fixed = sorted(drifted.keys() - kind.changeable)",
        "fixed: list[str] = []",
        "a person is sent to change in the cloud what nobody can change there",
    ),
    _drift(
        "_drift",
        "without_digests(asked.get(a))",
        "asked.get(a)",
        "the digest of a secret is told as drift",
    ),
    _secret_values(
        "withhold",
        "seen.message = without(seen.message, hidden)",
        "pass",
        "a refusal that repeats the request shows a secret in a condition",
    ),
    _secret_values(
        "withhold",
        "seen = seen.__cause__ or seen.__context__",
        "seen = None",
        "a traceback in the log shows a secret",
    ),
    _secret_values(
        "SecretValue.__repr__",
        'return f"(secret {self.reference})"',
        "return self._value.decode()",
        "a plan shows a secret",
    ),
    _secret_values(
        "_parts",
        "*(line.strip() for line in text.splitlines())",
        "",
        "a line of a secret is in a message",
    ),
    _ports(
        "ObjectPort.send",
        "call = replace(call, detail=without(call.detail, call.hidden))",
        "pass",
        "a careless driver writes a secret into the audit log",
    ),
    _ports(
        "ObjectPort.send",
        "withhold(error, call.hidden)",
        "pass",
        "a refusal that repeats the request writes a secret into the audit log",
    ),
)

FORGOTTEN = (
    _birth_marks(
        "sought",
        "return any_nonce(ctx, key.kind) if ctx.kind(key).tagging is Tagging.ON_CREATE else nonces(ctx, key)",
        "return nonces(ctx, key)",
        "what an attempt made that a restored journal has forgotten is made a second time",
    ),
    _create(
        "_decide_by_candidates",
        "if forgotten := [c for c in candidates if birth_marks.has_unspent_birth_mark(ctx, key, c)]:",
        "if forgotten := []:",
        "beside what a forgotten attempt made a second one is created",
    ),
    _birth_marks(
        "is_of_another_node",
        'return has_nonce(ctx, key._replace(logical=""), observed)',
        "return False",
        "a resource of another node of ours holds up a create",
    ),
    _observe(
        "_forget_refused_delete",
        "if entry and entry.deleting and key in ctx.graph.nodes",
        "if entry and not entry.deleting and key in ctx.graph.nodes",
        "a machine whose delete was refused long ago is made a second time when it goes",
    ),
)

MUTANTS = (*FORGOTTEN, *TOKENS, *EXISTING, *ONCE, *SECRETS)
