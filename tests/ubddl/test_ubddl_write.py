import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ubddl_frame import scenario

from libero_safety.ubddl import words
from libero_safety.ubddl.parse import parse
from libero_safety.ubddl.reader import UbddlError
from libero_safety.ubddl.spec import (
    AtLeast,
    Camera,
    Choice,
    Circle,
    Compare,
    Constraint,
    Entity,
    Fact,
    Jitter,
    Line,
    Logic,
    Look,
    Measure,
    Motion,
    Noise,
    Parabola,
    ReachIn,
    Rect,
    Region,
    Robot,
    Scenario,
    Still,
    Term,
    Uniform,
    WayPoint,
    WayPoints,
    Withdraw,
)
from libero_safety.ubddl.write import write, write_constraint

NAMES = ("a_1", "b_2", "c", "größe", "Big-3", "x_with_hand_1")
name = st.sampled_from(NAMES)
real = st.floats(-1e6, 1e6, allow_nan=False)
positive = st.floats(1e-2, 1e3)
fraction = st.floats(0, 10)


def nums(base: st.SearchStrategy[float]) -> st.SearchStrategy:
    pair = st.tuples(base, base).map(sorted)
    return st.one_of(
        base, pair.map(lambda p: Uniform(*p)), st.lists(base, min_size=1, max_size=3).map(_choice)
    )


def _choice(options: list) -> Choice:
    return Choice(tuple(options))


vec = st.tuples(nums(real), nums(real), nums(real))
direction = vec.filter(lambda v: v != (0.0, 0.0, 0.0))
word = st.one_of(name, st.lists(name, min_size=1, max_size=3).map(_choice))


def _term(draw_name: str, other: str, value: float, word_: str) -> Term:
    roles = words.PREDICATES[word_].roles
    args = [value if role == "number" else other if i else draw_name for i, role in enumerate(roles)]
    return Term(word_, tuple(args))


terms = st.builds(_term, name, name, positive, st.sampled_from(sorted(words.PREDICATES)))
compares = st.builds(
    lambda op, n, limit: Compare(op, Measure("Tilt", (n,)), limit),
    st.sampled_from(["<", "<=", ">", ">="]),
    name,
    real,
)
formulas = st.recursive(
    st.one_of(terms, compares),
    lambda inner: st.one_of(
        st.builds(
            lambda op, items: Logic(op, tuple(items)),
            st.sampled_from(["And", "Or"]),
            st.lists(inner, max_size=3),
        ),
        inner.map(lambda item: Logic("Not", (item,))),
        st.lists(inner, min_size=1, max_size=3).map(lambda items: AtLeast(len(items), tuple(items))),
        st.tuples(inner, inner).map(lambda pair: Logic("Implies", pair)),
    ),
    max_leaves=6,
)


def _rule(word_: str, a: str, b: str, limit: float, formula) -> Constraint:
    rule = words.CONSTRAINTS[word_]
    if rule.formula:
        return Constraint(word_, formula=formula)
    args = ("robot.hand" if role == "body" and not i else (a, b)[i] for i, role in enumerate(rule.roles))
    return Constraint(word_, tuple(args), limit if rule.unit else None)


rules = st.builds(_rule, st.sampled_from(sorted(words.CONSTRAINTS)), name, name, st.floats(0, 3), formulas)
facings = st.sampled_from(["fixed", "follow"])
paths = st.one_of(
    st.builds(Line, direction, nums(st.floats(0, 10)), nums(positive), nums(fraction), st.booleans()),
    st.builds(Circle, st.tuples(nums(real), nums(real)), nums(positive), nums(fraction), facings),
    st.builds(
        lambda offsets, mode, phase, facing: WayPoints(
            tuple(WayPoint(i + 1.0, o) for i, o in enumerate(offsets)),
            mode,
            0.0 if mode == "stop" else phase,
            facing,
        ),
        st.lists(vec, min_size=1, max_size=3),
        st.sampled_from(["stop", "loop", "pingpong"]),
        nums(fraction),
        facings,
    ),
    st.builds(Parabola, vec, nums(positive), nums(fraction)),
    st.just(Still()),
)


def _motion(entity, path, height, tilt, jitter, reach_in, withdraw) -> Motion:
    added = (None, None, None) if isinstance(path, Parabola) else (jitter, reach_in, withdraw)
    return Motion(entity, path, height, tilt, *added)


angles = nums(st.floats(-3, 3))
motions = st.builds(
    _motion,
    name,
    paths,
    st.none() | nums(real),
    st.tuples(angles, angles),
    st.none() | st.builds(Jitter, nums(fraction), nums(positive)),
    st.none() | st.builds(ReachIn, nums(fraction), vec, nums(positive), nums(fraction)),
    st.none() | st.builds(Withdraw, nums(fraction), direction, nums(fraction), nums(positive), st.booleans()),
)
rects = st.tuples(real, real, real, real).map(
    lambda v: Rect(min(v[0], v[1]), min(v[2], v[3]), max(v[0], v[1]), max(v[2], v[3]))
)
regions = st.builds(
    lambda n, t, r, yaw, rgba: Region(n, t, tuple(r), yaw and (min(yaw), max(yaw)), rgba),
    name,
    name,
    st.lists(rects, max_size=2),
    st.none() | st.tuples(real, real),
    st.none() | st.tuples(fraction, fraction, fraction, fraction),
)
sentence = st.text("abc ,'\"(é1", min_size=1, max_size=20).map(
    lambda t: " ".join(t.replace("(", "(x)").split())
)
sentences = sentence.filter(bool)
instructions = st.one_of(sentences, st.lists(sentences, min_size=2, max_size=3).map(_choice))


def unique(items: st.SearchStrategy, key) -> st.SearchStrategy[tuple]:
    return st.lists(items, max_size=4, unique_by=key).map(tuple)


scenarios = st.builds(
    Scenario,
    name=name,
    instruction=instructions,
    arena=name,
    entities=unique(
        st.builds(
            Entity,
            name,
            word,
            st.sampled_from(["object", "fixture"]),
            st.sampled_from([None, "train", "test"]),
        ),
        lambda e: e.name,
    ),
    regions=unique(regions, lambda r: r.full_name),
    init=unique(st.builds(lambda a, b: Fact("On", (a, b)), name, name), lambda f: f.args[0]),
    goal=st.none() | formulas,
    reference_goal=st.none() | formulas,
    constraints=st.lists(rules, max_size=4).map(tuple),
    motions=unique(motions, lambda m: m.entity),
    cameras=unique(
        st.builds(Camera, st.sampled_from(words.CAMERAS), nums(real), nums(real), nums(real), nums(positive)),
        lambda c: c.name,
    ),
    looks=unique(
        st.one_of(
            st.builds(Look, st.sampled_from(words.LOOKS[:4]), word),
            st.builds(Look, st.just("light"), nums(fraction)),
        ),
        lambda look: look.part,
    ),
    noises=unique(
        st.builds(
            Noise, st.sampled_from(words.NOISES), nums(fraction), st.sampled_from([(), words.CAMERAS[:1]])
        ),
        lambda n: n.kind,
    ),
    robot=st.builds(Robot, nums(fraction), name),
    interest=st.lists(name, max_size=2).map(tuple),
    suite=st.sampled_from(["", "tsa"]),
    level=st.sampled_from([0, 1, 2]),
)


@settings(max_examples=60, deadline=None)
@given(scenarios)
def test_reading_what_was_written_gives_the_same_scenario(s: Scenario) -> None:
    assert parse(write(s)).at(s.level) == s


@pytest.mark.parametrize("bad", ["a (b", "a) b (", "a ; b", " a", "", "a\0"])
def test_an_instruction_that_no_file_can_hold_is_refused(bad: str) -> None:
    with pytest.raises(UbddlError, match="cannot be written"):
        write(Scenario("x", bad, "kitchen"))


def test_a_name_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(UbddlError, match="cannot be written"):
        write(Scenario("x", "y", "kitchen", entities=(Entity("a b", "mug", "object"),)))


def test_a_rule_reads_as_in_the_file() -> None:
    rules_ = scenario(
        constraints="(:constraints (MaxForce robot mug_1 50N) (NoContact robot mug_1))"
    ).constraints
    assert [write_constraint(rule) for rule in rules_] == [
        "(MaxForce robot mug_1 50.0N)",
        "(NoContact robot mug_1)",
    ]
