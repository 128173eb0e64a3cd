"""The quiz: a bank of question families, five of which make a draw, and the verdict on an answer.

A family is one question in many forms: its numbers come from a seed, and its right answer from a run.
"""

from lessons.quiz.bank import DRAWN, PASS, draw, families
from lessons.quiz.making import Family
from lessons.quiz.question import LONGEST_ANSWER, OBJECTIVES, Kind, Option, Question, Verdict, judge

__all__ = [
    "DRAWN",
    "LONGEST_ANSWER",
    "OBJECTIVES",
    "PASS",
    "Family",
    "Kind",
    "Option",
    "Question",
    "Verdict",
    "draw",
    "families",
    "judge",
]
