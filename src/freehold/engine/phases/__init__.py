"""The phases of a pass, one file each: :mod:`engine` has their order.

Each phase works on the pass under way (:class:`context.PassContext`): on the journal, on what the process remembers of
the object (:class:`state.ObjectState`) and of each node (:class:`state.NodeState`), and on the outcomes, which most
phases write. What one phase writes here, a later one, or the next pass, reads.

Helpers of phases, which :mod:`engine` never calls itself: ``lost_tags`` (of ``intents`` and ``human_decisions``),
``parts``, ``referenced_parts`` and ``resolve_secrets``. ``keyed_tags`` is one too, but for its report.

The table counts, for each file, the fields that its own lines name as ``ctx.…``, ``ctx.state.…`` or ``node.…``: written
if assigned or changed in place there, else read. A test derives it from the sources. It does not count what a file
changes through a function of another file, or a method of the context (``requeue``, ``remember``), nor the outcomes. ::

    child_owners
        writes object.none_within_at
        reads node.last_seen
    collect
        writes collection, network_is_free, node.last_seen
        reads node.delete_sent, node.itself_gone, node.mark_memory, node.refused_since
    create
        writes journal, ready_nodes, node.look_at, node.no_room_for, node.open_since, node.parts, node.unanswered,
            object.create_replies, object.last_sent
        reads creating, node.deferred, node.last_seen, node.retry_at, object.first_seen, object.identity_is_new,
            object.planning
    delete
        writes absent, journal, node.absent_since, node.delete_sent, node.itself_gone, node.last_seen, node.mark_memory,
            node.pending_since, node.refused_since, object.deleted, object.gone
        reads network_is_free, node.id_taken, object.releasing
    detach
        writes journal, object.detached
        reads verified, node.absent_since, node.last_seen
    drift
        writes as_wanted, journal, ready_nodes, node.busy_since, node.last_seen
        reads node.parts
    final_check
        writes object.copied
        reads node.last_seen, object.emptied, object.identity_is_new
    given_requirements
        writes ready_nodes, node.parts
        reads node.last_seen
    given_tags
        writes journal, object.given_tags, object.last_sent
        reads deep, ready_nodes, object.releasing
    human_decisions
        writes approved, decided, journal, ready_nodes, node.deferred, node.look_at, node.open_since, node.retry_at
        reads object.releasing
    intents
        writes journal, node.answered, node.look_at, node.open_since, node.unanswered, object.last_sent
        reads node.deferred, node.retry_at, object.create_replies, object.releasing
    keyed_tags
        writes node.mark_memory
    lost_marks
        writes journal, node.absent_since, node.last_seen, node.mark_memory
        reads node.delete_sent
    lost_tags
        writes journal, object.missed
    mark
        writes journal, node.mark_memory, object.last_sent
        reads node.absent_since, node.last_seen, node.look_at, object.releasing
    observe
        writes journal, ready_nodes, node.absent_since, node.answered, node.deferred, node.delete_sent, node.id_taken,
            node.look_at, node.open_since
        reads node.last_seen, node.mark_memory, object.releasing
    parts
        writes journal, node.last_seen, node.parts
        reads ready_nodes, object.first_seen, object.identity_is_new
    prune
        writes approved, decided, object.at_rest
        reads ready_nodes, node.delete_sent, node.last_seen, node.look_at, node.parts, object.gone
    quick_confirm
        writes deep, ready_nodes, node.last_seen, node.look_at, node.parts, object.at_rest
        reads node.mark_memory, object.copied, object.looked_at
    read_marks
        writes journal, ready_nodes, verified, node.last_seen, node.mark_memory, object.marks_read_at
        reads deep, object.detached, object.identity_is_new, object.releasing
    recovery
        writes journal, object.copied, object.emptied, object.gone, object.missed
        reads absent, ready_nodes, object.deleted
    referenced_parts
        reads node.last_seen
    renewal
        writes journal, node.mark_memory, object.last_sent
        reads deep, verified, node.last_seen, object.first_seen, object.identity_is_new
    resolve_secrets
"""
