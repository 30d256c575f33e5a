"""Safety lines of what is shown to a person about a create that was cut off, and of what may be decided by it."""

from functools import partial

from mutants.rows import Mutant

_interrupted = partial(Mutant, "engine/phases/interrupted.py")
_intents = partial(Mutant, "engine/phases/intents.py")
_keys = partial(Mutant, "engine/keys.py")
_texts = partial(Mutant, "engine/texts.py")
_questions = partial(Mutant, "controllers/recovery/open_decisions.py")
_other_objects = partial(Mutant, "controllers/other_objects.py")
_resolve = partial(Mutant, "cli/commands/resolve.py")
_ec2 = partial(Mutant, "providers/aws/ec2.py")
_table = partial(Mutant, "providers/aws/kinds/route_table.py")
_nat = partial(Mutant, "providers/aws/kinds/nat_gateway.py")
_endpoint = partial(Mutant, "providers/aws/kinds/vpc_endpoint.py")
_instance = partial(Mutant, "providers/aws/kinds/instance.py")
_vpc = partial(Mutant, "providers/aws/kinds/vpc.py")
_gateway = partial(Mutant, "providers/aws/kinds/internet_gateway.py")
_address = partial(Mutant, "providers/aws/kinds/elastic_ip.py")

MUTANTS = (
    _interrupted(
        "claims",
        "for ident, objects in owned.items()",
        "for ident, objects in ()",
        "what another object has on record is marked as ours, and deleted with it",
    ),
    _interrupted(
        "_anothers_mark",
        'return f"a mark of uuid {\', \'.join(others)} on {seen.target}" if others else ""',
        'return ""',
        "what another owner marked on a shared carrier is deleted with ours",
    ),
    _interrupted(
        "candidates",
        "if not any(birth_marks.matches_own_create(ctx, key, each) for each in of_node.values()):",
        "if False:",
        "what has lost its tags is named, and cannot be called ours",
    ),
    _interrupted(
        "candidates",
        "if not any(birth_marks.matches_own_create(ctx, key, each) for each in of_node.values()):",
        "if True:",
        "what a birth mark shows to be another one can still be called ours",
    ),
    _ec2(
        "Ec2Driver._beside",
        "return [seen for seen in found if seen.attributes[home.attribute] == place]",
        "return found",
        "a gateway of another VPC stops a create",
    ),
    _vpc(
        "VpcDriver.stripped",
        'free.pop(row["VpcId"], None)',
        "pass",
        "a VPC in use stops a create",
    ),
    _vpc(
        "_may_be",
        'alike = bool(request.get("ipv6")) is bool(seen.attributes["ipv6"])',
        "alike = True",
        "a VPC without the IPv6 range that ours was made with stops a create",
    ),
    _gateway(
        "_may_be",
        "return not seen.parts",
        "return True",
        "a gateway in use stops a create",
    ),
    _address(
        "_may_be",
        'not seen.attributes["association"] and ',
        "",
        "an address in use stops a create",
    ),
    _address(
        "_may_be",
        ' and seen.attributes["pool"] in ("", "amazon")',
        "",
        "an address that a company brought stops a create",
    ),
    _table(
        "_may_be",
        'not seen.attributes["main"] and ',
        "",
        "the main route table of our VPC stops a create",
    ),
    _table(
        "_may_be",
        " and not any(part.kind == ASSOCIATION for part in seen.parts)",
        "",
        "a route table in use stops a create",
    ),
    _nat(
        "_may_be",
        'str(seen.attributes["allocation_id"]) == str(request["allocation_id"])',
        "True",
        "a NAT gateway with another address stops a create",
    ),
    _endpoint(
        "_may_be",
        '(seen.attributes["service_name"], seen.attributes["type"]) == (str(request["service_name"]), "Gateway")',
        "True",
        "an endpoint of another service stops a create",
    ),
    _instance(
        "_may_be",
        'all(seen.attributes[name] == request[name] for name in ("image_id", "instance_type"))',
        "True",
        "an instance of another type stops a create",
    ),
    _resolve(
        "_choose",
        'if verdict == "not-mine" and (by_id or ident) and len(ids) > 1 and not question.recorded:',
        "if False:",
        "a person who calls one of several not theirs gives all of them up",
    ),
    _resolve(
        "_command",
        "if shown and len(matching(among, shown)) == 1 else",
        "if shown else",
        "the command that is printed is refused, because its id means several creates",
    ),
    _keys(
        "is_same",
        "(each.encode(errors=_ANY) for each in (said, right))",
        "(said, right)",
        "a letter that is no ASCII, in a tag or a record, stops every pass",
    ),
    _texts(
        "parsed",
        '" in text.lower():',
        '" in "":',
        "half a character in a record stops the passes of other objects",
    ),
    _interrupted(
        "_stripped",
        "if each.id not in recorded",
        "",
        "what is on record for another node is offered as what a create has made",
    ),
    _interrupted(
        "_stripped",
        "if not _is_anothers(ctx, key, each, each.tags or ())",
        "",
        "another owner's mark is no answer, and the create waits for ever",
    ),
    _interrupted(
        "_stripped",
        "return [each for each in free if each.id not in owned]",
        "return free",
        "what another object has on record is offered as ours",
    ),
    _interrupted(
        "_stripped",
        "ids, ctx.deps.ring)",
        "ids)",
        "whoever may edit an object ends the questions of all others, and a second one is made",
    ),
    _interrupted(
        "_stripped",
        " | ctx.journal.tags | frozenset(entry.node_tags)",
        "",
        "what has kept its name is not shown to the person who is asked",
    ),
    _interrupted(
        "_stripped",
        "if asked := _asked(ctx, key, entry):",
        "asked = _asked(ctx, key, entry)\n    if False:",
        "a tag that somebody puts on what is asked about makes a second one, and what comes later is asked about",
    ),
    _interrupted(
        "_asked",
        "entry.candidates if any(is_same(entry.signature, each) for each in signatures) else ()",
        "entry.candidates",
        "whoever may edit the object has a person shown any resource as the object's",
    ),
    _interrupted(
        "_is_only_missed",
        "since is not None and not ctx.settled(key, since)",
        "False",
        "one read that lags answers the question, and a second one is made",
    ),
    _interrupted(
        "is_unasked",
        "return not told and seen.id not in _asked(ctx, key, entry)",
        "return False",
        "what a person says before ours can show makes a stranger's ours, and loses ours",
    ),
    _intents(
        "_no_effect",
        "if question := await _question(ctx, key):",
        "if question := None:",
        "a second VPC is made, and the first, which somebody stripped, is an orphan that nobody is told of",
    ),
    _intents(
        "_question",
        "return of_error(error)",
        "return None",
        "a list that could not be read counts as an empty one, and a second resource is made",
    ),
    _intents(
        "_look_for_effect",
        "await _question(ctx, key) or ",
        "",
        "what a token has made and somebody stripped is not named",
    ),
    _intents(
        "_key_lost",
        "await interrupted.ask(ctx, key) if settled else ()",
        "()",
        "what a create has made whose key is lost is not named",
    ),
    _ec2(
        "Ec2Driver.stripped",
        "if _without_birth_mark(seen.tags) <= tags",
        "",
        "what has tags of its owner's stops a create",
    ),
    _ec2(
        "Ec2Driver.stripped",
        "if _without_birth_mark(seen.tags) <= tags",
        "if not seen.tags",
        "what has kept its name is made a second time",
    ),
    _ec2(
        "_without_birth_mark",
        " if key != BIRTH",
        "",
        "what has a birth mark whose key is lost is not named",
    ),
    _vpc(
        "_may_be",
        " and not seen.parts",
        "",
        "a VPC with a second range, which ours has not yet, stops a create",
    ),
    _resolve(
        "_choose",
        "if question.unread:",
        "if False:",
        "a list that could not be read looks like an empty one, and a person says --not-mine",
    ),
    _questions(
        "_told",
        "json.dumps(tag[:LONGEST_TAG], ensure_ascii=False)",
        "tag",
        "a tag of a stranger's reads like evidence",
    ),
    _other_objects(
        "owning",
        "(ring is None or _is_signed(raw, journal, key, entry, ring))",
        "True",
        "a forged record of one object takes another's resource for its own",
    ),
    _other_objects(
        "_is_signed",
        "if key_of(raw) != Key(journal.owner.namespace, journal.owner.name):",
        "if False:",
        "a record that was copied from another object counts",
    ),
    _interrupted(
        "ask",
        "_signature(ctx, ctx.signing_key(key), key, entry, ids)",
        "_signature(ctx, ctx.keys.writing, key, entry, ids)",
        "a question is forgotten with a key that nothing else needs",
    ),
)
