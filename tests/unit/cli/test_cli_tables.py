"""Tables on a terminal: no line is longer than it, and no id is broken."""

import pytest

from freehold.cli.output.tables import Rows, format_table, with_ids
from freehold.cli.output.terminal import fold_text

CRN = "crn:v1:bluemix:public:is:us-south:a/f0e1d2c3b4a5968778695a4b3c2d1e0f::vpc:r006-bb14aaf1-5a98-4a07-a45b-68466e33"
ROWS = [
    ("delete", "transit-gateway-connection", "m1-transitgateway-vpc-con", "e697d6a5-7f7b-4344", "ours by its marks")
]
HEADS = ("ACTION", "KIND", "NAME", "ID", "WHY")


@pytest.mark.parametrize("room", [60, 80, 100, 160])
def test_an_id_has_a_column_or_stands_in_the_sentence(room: int) -> None:
    lines = with_ids(HEADS, ROWS, room)
    assert ("ID" in lines[0].split()) == (room == 160)
    assert "e697d6a5-7f7b-4344" in " ".join(lines)
    assert room < 80 or max(map(len, lines)) <= room


def test_one_long_name_does_not_put_all_sentences_below_their_rows() -> None:
    table = Rows(("REASON", "MESSAGE"), (("Made", "it is made"), ("Retrying", f"vpc a: attach tag ({CRN}) came late")))
    assert max(map(len, format_table(table, 100))) <= 100
    assert format_table(table, 100)[1].split() == ["Made", "it", "is", "made"]


def test_a_resource_name_of_the_cloud_is_shortened_where_it_does_not_fit_and_never_broken() -> None:
    text = f"vpc a: attach tag ({CRN}) came late"
    assert fold_text(text, "  ", 200) == [f"  {text}"]
    assert fold_text(text, "  ", 80) == ["  vpc a: attach tag (vpc:r006-bb14aaf1-5a98-4a07-a45b-68466e33) came late"]
