"""Safety lines of the metadata controller: the record of what was written, what is read before it is changed."""

from functools import partial

from mutants.rows import Mutant

_stored = partial(Mutant, "tagging/stored_record.py")
_record = partial(Mutant, "operator/tag_record.py")
_tagger = partial(Mutant, "clouds/aws/tagger.py")

MUTANTS = (
    _tagger(
        "AwsTagger.read",
        "known = [arn for arn in arns if reading_of(arn) is not Reading.NEVER]",
        "known = list(arns)",
        "a resource whose service is not known reads as untagged, and a foreign value on it is overwritten",
    ),
    _tagger(
        "AwsTagger.find",
        "return await self._index.with_tag(query.key, query.values)",
        "return await self.with_tag(query.key, query.values)",
        "where the index is denied, what no service lists counts as released",
    ),
    _stored(
        "Shard.of",
        "return RecordLost() if self.knowledge is Knowledge.PART else {}",
        "return {}",
        "a lost record reads as: nothing was ever written",
    ),
    _record(
        "TagRecord.load",
        "named = frozenset(range(SHARDS)) if begun or head.version else present",
        "named = present",
        "a record that went with its head reads as: nothing was ever written",
    ),
    _record(
        "_opened",
        "return (text if good else None), stored",
        "return text, stored",
        "whoever may edit ConfigMaps makes us remove tags that are not ours",
    ),
    _record(
        "_opened",
        "if _is_missing(ring, [digest]):",
        "if False:",
        "the record of another operator, or of a key that is lost, is written over",
    ),
    _record(
        "TagRecord._write_shard",
        "if any(base.shard.of(resource) != known.of(resource) for resource in records):",
        "if False:",
        "of two writers of one resource the second one forgets what the first one wrote",
    ),
)
