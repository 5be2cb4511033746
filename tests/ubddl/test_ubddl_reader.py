import time

import pytest

from libero_safety.ubddl.reader import MAX_DEPTH, Atom, Node, UbddlError, read, read_file, short


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("", 1, 1, "no scenario"),
        ("  ; only a comment\n", 1, 1, "no scenario"),
        ("word", 1, 1, "expected '('"),
        ("(a (b c)\n  (d e)", 1, 1, "unmatched '('"),
        ("(define\n (:init (On a b)\n", 2, 2, "'(define' at 1:1"),
        ("(define (a b))\n  )", 2, 3, "already closed at 1:14"),
        (")", 1, 1, "unmatched ')'"),
        ("(a) (b)", 1, 5, "text after the end"),
        ("(a\0b)", 1, 3, "NUL"),
    ],
)
def test_broken_text_is_located(text: str, line: int, column: int, said: str) -> None:
    with pytest.raises(UbddlError) as caught:
        read(text, "f.ubddl")
    assert (caught.value.place.line, caught.value.place.column) == (line, column)
    assert said in caught.value.message
    assert str(caught.value).startswith(f"f.ubddl:{line}:{column}: ")


def test_a_hundred_thousand_parentheses_are_a_located_error() -> None:
    with pytest.raises(UbddlError, match=f"deeper than {MAX_DEPTH}") as caught:
        read("(" * 100_000 + ")" * 100_000)
    assert caught.value.place.column == MAX_DEPTH + 1


def test_the_deepest_allowed_nesting_reads() -> None:
    assert isinstance(read("(" * MAX_DEPTH + ")" * MAX_DEPTH), Node)


def test_every_word_remembers_its_place() -> None:
    root = read("(define ; a comment (with parentheses\n\t(On\n   Größe_1 b))")
    fact = root.items[1]
    assert isinstance(fact, Node)
    assert [str(item) for item in fact.items] == ["On", "Größe_1", "b"]
    places = [(item.place.line, item.place.column) for item in fact.items]
    assert places == [(2, 3), (3, 4), (3, 12)]


def test_a_byte_order_mark_and_windows_line_ends_change_no_place() -> None:
    plain, marked = read("(a\n  (b c))"), read("\ufeff(a\r\n  (b c))")
    assert str(plain) == str(marked)
    assert plain.items[1].place == marked.items[1].place


@pytest.mark.parametrize(
    "sentence",
    [
        "put the cup (the red one) on the plate",
        'take the "big" cup',
        "größe: 3, bitte!",
        "a  b",
        "don't ((do)) it",
    ],
)
def test_language_survives_byte_for_byte(sentence: str) -> None:
    root = read(f"(define (:language   {sentence}  ) (x))")
    node = root.items[1]
    assert isinstance(node, Node)
    assert node.raw_rest() == sentence


def test_comments_do_not_belong_to_the_language() -> None:
    node = read("(:language put it down ; gently )\n)")
    assert node.raw_rest() == "put it down"


def test_bytes_that_are_not_utf8_are_located(tmp_path) -> None:
    path = tmp_path / "bad.ubddl"
    path.write_bytes("(a\n é".encode() + b"\xff)")
    with pytest.raises(UbddlError, match="0xff is not UTF-8") as caught:
        read_file(path)
    assert (caught.value.place.line, caught.value.place.column) == (2, 3)


def test_a_missing_file_is_an_error_of_ours(tmp_path) -> None:
    with pytest.raises(UbddlError, match="cannot read the file"):
        read_file(tmp_path / "none.ubddl")


@pytest.mark.slow
def test_ten_megabytes_read_in_seconds() -> None:
    text = "(define " + "(On thing_12345 table.left) " * 360_000 + ")"
    assert len(text) > 10_000_000
    start = time.process_time()
    root = read(text)
    assert time.process_time() - start < 20
    assert root.items[-1].place.line == 1


def test_messages_show_the_beginning_of_long_lists() -> None:
    assert short(read("(a (b c) ())")) == "(a (b c) ())"
    long = short(read("(" + "word " * 1000 + ")"))
    assert long.startswith("(word word")
    assert long.endswith("...")
    assert len(long) <= 60


def test_an_atom_is_its_text() -> None:
    atom = read("(abc)").items[0]
    assert isinstance(atom, Atom)
    assert str(atom) == "abc"
