from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons import params


@dataclass(frozen=True)
class Asked:
    count: int = params.whole(5, low=2, high=1_000, unit="ms", label="Count")
    at_ms: int | None = params.whole_or_never(None, low=0, high=999_999_999_999, label="At")
    colour: str = params.choice("red", {"red": "Red", "green": "Green"}, label="Colour")
    loud: bool = params.flag(False, label="Loud")
    name: str = params.text("Ada", max_length=9, label="Name")


@dataclass(frozen=True)
class Range:
    low: int = params.whole(1, low=0, high=9, label="Low")
    high: int = params.whole(5, low=0, high=9, label="High")

    def conflicts(self):
        if self.low > self.high:
            return {"low": f"low must not be more than high ({self.high}), not {self.low}"}
        return {}


def problems(params_class, given):
    with pytest.raises(params.Invalid) as caught:
        params.read(params_class, given)
    return caught.value.problems


def test_what_is_not_given_has_its_default():
    assert Asked(5, None, "red", False, "Ada") == params.read(Asked, {})


def test_a_field_without_a_kind_is_a_constant():
    @dataclass(frozen=True)
    class Plain(Asked):
        pause_ms: int = 5

    assert params.fields(Asked) == params.fields(Plain)
    assert 5 == params.read(Plain, {"count": "7"}).pause_ms
    assert "pause_ms" in problems(Plain, {"pause_ms": "7"})[0].message


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("count", "2", 2),
        ("count", "1000", 1_000),
        ("count", "007", 7),
        ("count", "\t 7\n", 7),
        ("at_ms", "never", None),
        ("at_ms", "0", 0),
        ("at_ms", "999999999999", 999_999_999_999),
        ("colour", "green", "green"),
        ("colour", " green ", "green"),
        ("loud", "yes", True),
        ("loud", "no", False),
        ("name", "a", "a"),
        ("name", "  two words ", "two words"),
        ("name", "Ọládélé", "Ọládélé"),
        ("name", "<b>&'\"", "<b>&'\""),
    ],
)
def test_a_text_within_bounds_is_read(field, text, value):
    assert value == getattr(params.read(Asked, {field: text}), field)


NOT_WHOLE = [
    "",
    " ",
    "+5",
    "-1",
    "- 1",
    "5.0",
    "1e3",
    "1_0",
    "1,0",
    "1 0",
    "0x5",
    "٣",
    "５",
    "²",
    "½",
    "five",
    "never",
]


@pytest.mark.parametrize("text", [*NOT_WHOLE, "1", "1001", "9" * 13, "9" * 5_000, "null", "5\x00"])
def test_a_whole_number_has_only_the_ten_digits_and_its_bounds(text):
    (problem,) = problems(Asked, {"count": text})

    assert "a whole number from 2 to 1,000 (ms)" == problem.allowed
    assert ("count", text) == (problem.field, problem.value)
    assert problem.message.startswith('count must be a whole number from 2 to 1,000 (ms), not "')


@pytest.mark.parametrize("text", [*(text for text in NOT_WHOLE if text != "never"), "Never", "none", "1000000000000"])
def test_a_time_is_a_whole_number_or_never(text):
    (problem,) = problems(Asked, {"at_ms": text})

    assert "never, or a whole number from 0 to 999,999,999,999" == problem.allowed


@pytest.mark.parametrize("text", ["", "Red", "red,green", "red\x00", "0", "blue"])
def test_a_choice_is_one_of_its_values_and_not_of_its_labels(text):
    (problem,) = problems(Asked, {"colour": text})

    assert "one of red, green" == problem.allowed


@pytest.mark.parametrize("text", ["", "Yes", "on", "true", "1", "0", "y"])
def test_a_flag_is_yes_or_no(text):
    (problem,) = problems(Asked, {"loud": text})

    assert "yes or no" == problem.allowed


@pytest.mark.parametrize(
    "text", ["", "   ", "ten chars.", "a\nb", "a\tb", "a\x00b", "a\u2028b", "a\u202eb", "a\u200bb", "\ud800"]
)
def test_a_text_is_one_printable_line_of_bounded_length(text):
    (problem,) = problems(Asked, {"name": text})

    assert "1 to 9 characters on one line" == problem.allowed


@pytest.mark.parametrize("name", ["Count", "count ", "", "__class__", "conflicts", "step"])
def test_an_unknown_field_is_named_together_with_those_there_are(name):
    (problem,) = problems(Asked, {name: "5"})

    assert f'there is no field "{name}": it must be one of count, at_ms, colour, loud, name' == problem.message


def test_all_that_is_wrong_is_told_at_once():
    found = problems(Asked, {"count": "1", "loud": "yes", "name": "", "speed": "9"})

    assert ["count", "name", "speed"] == [problem.field for problem in found]


def test_a_long_value_is_cut_in_the_message_only():
    (problem,) = problems(Asked, {"count": "9" * 5_000})

    assert "9" * 5_000 == problem.value
    assert f'not "{"9" * 59}…"' in problem.message


def test_an_error_reads_as_its_messages():
    with pytest.raises(params.Invalid, match=r'^count must be .*, not "1"\nloud must be yes or no, not "1"$'):
        params.read(Asked, {"count": "1", "loud": "1"})


def test_values_that_do_not_go_together_are_a_problem_of_the_named_field():
    (problem,) = problems(Range, {"high": "0"})

    assert (
        params.Problem("low", "1", "low must not be more than high (0), not 1", "a whole number from 0 to 9") == problem
    )


def test_values_are_compared_only_when_each_is_right():
    assert ["high"] == [problem.field for problem in problems(Range, {"low": "9", "high": "ten"})]


def test_the_query_has_what_differs_from_the_defaults():
    assert {} == params.query(Asked())
    assert {"count": "6", "at_ms": "0", "loud": "yes"} == params.query(Asked(count=6, at_ms=0, loud=True))


@settings(deadline=None)
@given(
    st.builds(
        Asked,
        st.integers(2, 1_000),
        st.none() | st.integers(0, 9**9),
        st.sampled_from(["red", "green"]),
        st.booleans(),
    )
)
def test_what_is_asked_is_read_back_from_its_query(asked):
    assert asked == params.read(Asked, params.query(asked))


def test_fields_say_what_a_form_and_a_help_text_need():
    assert [
        ("count", "Count", "ms", "5", "a whole number from 2 to 1,000 (ms)"),
        ("at_ms", "At", "", "never", "never, or a whole number from 0 to 999,999,999,999"),
        ("colour", "Colour", "", "red", "one of red, green"),
        ("loud", "Loud", "", "no", "yes or no"),
        ("name", "Name", "", "Ada", "1 to 9 characters on one line"),
    ] == [(f.name, f.label, f.unit, f.default_text, f.allowed) for f in params.fields(Asked)]
