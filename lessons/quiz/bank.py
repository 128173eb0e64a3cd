"""All families, and how five of them are drawn."""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from random import Random

from lessons.quiz import belonging, building, failing, fanning, repeating, together
from lessons.quiz.making import REGISTERED, Family
from lessons.quiz.question import Kind, Question

MODULES = (belonging, building, failing, repeating, together, fanning)  # their import registers the families
KINDS: tuple[Kind, ...] = ("write", "predict", "choose")  # the rarest first
DRAWN = 5
PASS = 4  # of them, answered right
TRIES = 20
LAST = 40  # of so many the draws take care to leave something of each objective


@cache
def families() -> tuple[Family, ...]:
    """The bank, by objective."""
    return tuple(sorted(REGISTERED, key=lambda family: family.objective))


def draw(seed: int, avoid: frozenset[str] = frozenset()) -> tuple[Question, ...]:
    """Five questions of all three kinds and at least four objectives, from families not in `avoid`.

    Where those left cannot keep the rule, avoided ones fill up. Avoiding what was drawn uses up the whole bank.
    """
    chance = Random(f"draw {seed}")
    fresh = {family.id: family.objective for family in families() if family.id not in avoid}
    tries = [_five(fresh, chance) for _ in range(TRIES)]
    five = min(tries, key=lambda five: (sum(family.id not in fresh for family in five), _unevenness(fresh, five)))
    chance.shuffle(five)
    return tuple(family.make(chance.randrange(1_000_000)) for family in five)


def _five(fresh: Mapping[str, int], chance: Random) -> list[Family]:
    """Families by the rule, fresh ones first: at most one has the objective of another. `fresh`: id -> objective."""
    used = Counter[int]()
    five: dict[str, Family] = {}
    for kind in _kinds(fresh, chance):
        repeated = len(used) < len(five)
        allowed = [
            family
            for family in families()
            if family.kind == kind and family.id not in five and not (repeated and used[family.objective])
        ]
        chosen = min(allowed, key=lambda family: (family.id not in fresh, chance.random()))
        five[chosen.id] = chosen
        used[chosen.objective] += 1
    return list(five.values())


def _kinds(fresh: Mapping[str, int], chance: Random) -> list[Kind]:
    """One of each kind and two more, so that each later draw finds its own, too."""
    left = Counter(family.kind for family in families() if family.id in fresh)
    draws = len(fresh) // DRAWN
    spare: list[Kind] = [kind for kind in KINDS for _ in range(left[kind] - draws)]
    if len(spare) < DRAWN - len(KINDS):
        spare += ["choose"] * DRAWN
    return sorted([*KINDS, *chance.sample(spare, DRAWN - len(KINDS))], key=KINDS.index)


def _unevenness(fresh: Mapping[str, int], five: Iterable[Family]) -> int:
    """By how much one objective has more families left than another; as long as many are left, it is no matter."""
    if len(fresh) > LAST:
        return 0
    left = Counter(fresh.values())
    left.subtract(family.objective for family in five if family.id in fresh)
    return max(left.values(), default=0) - min(left.values(), default=0)
