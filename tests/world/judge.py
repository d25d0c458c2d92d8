"""What must hold in every world. Reads only the ledger and the prompts, never a log or a result of the package.

A prompt is read as a line of marks: questions, words, calls, results and answers, each of which was written once. See
`read`.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .ledger import Ledger, Prompt
from .plan import ASKED_ABOUT

__all__ = ["Fault", "judge", "read"]


class Fault(NamedTuple):
    """A promise that a world breaks.

    Attributes:
        kind: which promise.
        what: how it is broken.
    """

    kind: str
    what: str


class Seen(NamedTuple):
    """A part of a prompt.

    Attributes:
        kind: "Q" question, "W" words, "A" answer, "C" call, "L" a call that was left with its answer, "B" a block that
            cannot be read, "R" a result, "N" what was found out later, "E" a report, or another message without a mark.
        mark: whose it is; of a result, the call's that it comes after.
        text: what is said.
    """

    kind: str
    mark: str
    text: str = ""


# What goes on after a cut is joined to it as it is, and so may have no space before its mark.
_MARKS = re.compile(r"([QWACB])(\d+x)\b")
_USER = re.compile(
    r"<results>\n(.*?)\n</results>|<tool_response>\n(.*?)\n</tool_response>|\b([QWACB])(\d+x)\b",
    re.DOTALL,
)
_NEWS = re.compile(
    r"It was not known whether your call.*?Now it is known: (.*?)(?:\n\n|$)", re.DOTALL
)
_REPORT = re.compile(
    r"No call in it was run|malformed|not valid|could not be read|cut", re.IGNORECASE
)
_UNKNOWN = re.compile(r"not known|unknown", re.IGNORECASE)


def read(messages: Sequence[dict[str, Any]], ledger: Ledger) -> tuple[list[Seen], list[str]]:
    """The marks of a prompt in order, and what is wrong with the order of calls and results."""
    calls = ledger.calls
    seen: list[Seen] = []
    wrong: list[str] = []
    waiting: list[str] = []  # calls whose results have not come

    def result(text: str) -> None:
        if not waiting:
            wrong.append(f"a result comes after no call: {text[:80]}")
            seen.append(Seen("R", "", text))
            return
        seen.append(Seen("R", waiting.pop(0), text))

    def over() -> None:
        if waiting:
            left = [mark for mark in waiting if not calls[mark].may_be_left]
            if left:
                wrong.append(f"calls have no result: {', '.join(left)}")
            for place in range(len(seen)):
                if seen[place].mark in waiting and seen[place].kind == "C":
                    seen[place] = Seen("L", seen[place].mark)
            waiting.clear()

    for message in messages:
        content, role = message.get("content") or "", message["role"]
        if role == "system":
            continue
        if role == "tool":
            result(content)
        elif role == "assistant":
            over()
            for letter, number in _MARKS.findall(content):
                seen.append(Seen(letter, letter + number))
                if letter == "C":
                    waiting.append(letter + number)
            for call in message.get("tool_calls") or ():
                for letter, number in _MARKS.findall(call["function"]["arguments"]):
                    seen.append(Seen(letter, letter + number))
                    if letter == "C":
                        waiting.append(letter + number)
        else:
            rest = content
            for news in _NEWS.finditer(content):
                mark = re.search(r"\bC\d+x\b", news.group(0))
                seen.append(Seen("N", mark.group(0) if mark else "", news.group(1)))
            rest = _NEWS.sub("", content)
            found = False
            for part in _USER.finditer(rest):
                found = True
                results, response, letter, number = part.groups()
                if results is not None:
                    try:
                        listed = json.loads(results)
                    except ValueError:
                        wrong.append(f"results cannot be read: {results[:80]}")
                        listed = []
                    for each in listed:
                        result(_item(each))
                elif response is not None:
                    result(response)
                elif letter == "Q":
                    over()
                    seen.append(Seen("Q", letter + number))
            if not found and rest.strip():
                seen.append(Seen("E", "", rest))
    over()
    return seen, wrong


def _item(item: dict[str, Any]) -> str:
    content = item.get("content")
    text = content if isinstance(content, str) else json.dumps(content)
    return text if item.get("status") == "success" else f"Error: {text}"


def judge(ledger: Ledger) -> list[Fault]:
    """What is wrong with a world; empty if nothing is."""
    faults: dict[Fault, None] = {}
    for fault in _faults(ledger):
        faults[fault] = None
    return list(faults)


def _faults(ledger: Ledger) -> Iterator[Fault]:
    for text in ledger.wrong:
        kind = "stuck" if "ends" in text or "resumed" in text or "question" in text else "raised"
        yield Fault(kind, text)
    yield from _of_effects(ledger)
    yield from _of_prompts(ledger)
    yield from _of_the_end(ledger)


def _of_effects(ledger: Ledger) -> Iterator[Fault]:
    counts = Counter(effect.mark for effect in ledger.effects)
    keys: defaultdict[str, set[str]] = defaultdict(set)
    marks: defaultdict[str, set[str]] = defaultdict(set)
    for effect in ledger.effects:
        keys[effect.mark].add(effect.key)
        marks[effect.key].add(effect.mark)
    for mark, count in counts.items():
        call = ledger.calls.get(mark)
        if call is None or not call.is_whole:
            yield Fault("broken call ran", f"{mark} cannot be read, and was carried out")
            continue
        if count > 1 and call.tool != "send":
            yield Fault("twice", f"{mark} ({call.tool}) had {count} effects")
        if len(keys[mark]) > 1:
            yield Fault("key", f"{mark} was given the keys {sorted(keys[mark])}")
    for key, named in marks.items():
        if len(named) > 1:
            yield Fault("key", f"{sorted(named)} were given one key, {key}")
    for effect in ledger.effects:
        call = ledger.calls.get(effect.mark)
        if call is None:
            continue
        if call.tool not in ASKED_ABOUT:
            if effect.amount != call.amount:
                yield Fault("changed", f"{effect.mark} ran with other arguments")
            continue
        yield from _of_decisions(ledger, effect.mark, effect.amount, effect.at)
        agreed = [
            each for each in ledger.decided if each.mark == effect.mark and each.begun < effect.at
        ]
        if call.tool == "charge" and agreed and all(each.verdict != "edit" for each in agreed):
            shown = {each.rate for each in agreed if each.verdict == "yes"}
            if shown and not shown & {*range(effect.rates[0], effect.rates[1] + 1)}:
                what = f"{effect.mark} ran at the rates {effect.rates}, and {shown} were agreed to"
                yield Fault("changed", what)


def _of_decisions(ledger: Ledger, mark: str, amount: int, at: int) -> Iterator[Fault]:
    made = [each for each in ledger.decided if each.mark == mark and each.begun < at]
    agreed = [each for each in made if each.verdict in ("yes", "edit")]
    if not agreed:
        denied = any(each.verdict == "no" for each in made)
        kind = "denied call ran" if denied else "undecided call ran"
        yield Fault(kind, f"{mark} was carried out, and nobody agreed to it")
        return
    written = ledger.calls[mark].amount
    if amount not in {written if each.amount is None else each.amount for each in agreed}:
        yield Fault("changed", f"{mark} ran with the amount {amount}, to which nobody agreed")
    first = min(each.begun for each in agreed)
    for each in made:
        if each.verdict == "no" and each.taken is not None and each.taken < first:
            yield Fault("denied call ran", f"{mark} was denied first, and was carried out")


def _of_prompts(ledger: Ledger) -> Iterator[Fault]:
    longest: dict[str, list[str]] = {}
    results: dict[tuple[str, str], str] = {}
    happened = {effect.mark: effect for effect in reversed(ledger.effects)}  # the first of each
    for prompt in ledger.prompts:
        seen, wrong = read(_without_broken(prompt, ledger), ledger)
        for text in wrong:
            kind = "no result" if "no result" in text else "stray result"
            yield Fault(kind, f"prompt {prompt.number}: {text}")
        marks = [each.mark for each in seen if each.kind in "QCA"]
        for mark, count in Counter(marks).items():
            if count > 1:
                yield Fault("shown twice", f"prompt {prompt.number} shows {mark} {count} times")
        allowed = _family(ledger, prompt.talk)
        for mark in marks:
            if _talk_of(ledger, mark) not in allowed:
                yield Fault("foreign", f"prompt {prompt.number} of {prompt.talk} shows {mark}")
        before = longest.get(prompt.talk)
        if before is None and prompt.talk in ledger.parents:
            before = longest.get(ledger.parents[prompt.talk])
            taken = [mark for mark in marks if _talk_of(ledger, mark) != prompt.talk]
            if before is not None and not _agree(before, taken):
                yield Fault("order", f"prompt {prompt.number} of a fork: {before} and {taken}")
            before = None
        if prompt.run in ledger.outlived:
            continue  # it read an old state, or one that is not its own: what it is answered cannot be saved
        if before is not None and not _agree(before, marks):
            yield Fault("order", f"prompt {prompt.number}: {before}, and now {marks}")
        if before is None or len(marks) > len(before):
            longest[prompt.talk] = marks
        yield from _of_order(ledger, prompt, marks)
        for each in seen:
            if each.kind == "R" and each.mark:
                yield from _of_result(ledger, prompt, each, happened, results)
            elif each.kind == "N" and each.mark:
                effect = happened.get(each.mark)
                if (effect is not None) != ("it happened" in each.text):
                    yield Fault("told wrongly", f"{each.mark} was found out: {each.text[:80]}")
    yield from _of_reports(ledger)


def _of_order(ledger: Ledger, prompt: Prompt, marks: Sequence[str]) -> Iterator[Fault]:
    """What was written in one conversation comes in the order in which it was written."""
    numbers = [int(mark[1:-1]) for mark in marks]
    talks = {_talk_of(ledger, mark) for mark in marks}
    if len(talks) > 1 or any(not q.by_owner for q in ledger.questions.values()):
        return
    questions = [int(mark[1:-1]) for mark in marks if mark[0] == "Q"]
    if questions != sorted(questions) and not _overlap(ledger, prompt.talk):
        yield Fault("order", f"prompt {prompt.number} has the questions in another order: {marks}")
    calls = [n for n, mark in zip(numbers, marks, strict=True) if mark[0] in "CA"]
    if calls != sorted(calls) and not _overlap(ledger, prompt.talk):
        yield Fault("order", f"prompt {prompt.number} has the answers in another order: {marks}")


def _overlap(ledger: Ledger, talk: str) -> bool:
    return talk in ledger.overlapping


def _agree(one: Sequence[str], other: Sequence[str]) -> bool:
    length = min(len(one), len(other))
    return list(one[:length]) == list(other[:length])


def _family(ledger: Ledger, talk: str) -> set[str]:
    found = {talk}
    while (parent := ledger.parents.get(talk)) is not None:
        found.add(parent)
        talk = parent
    return found


def _talk_of(ledger: Ledger, mark: str) -> str:
    if mark[0] == "Q":
        question = ledger.questions[mark]
        return question.talk if question.by_owner else "somebody else"
    if mark[0] == "A":
        return ledger.answers.get(mark, "")
    return ledger.calls[mark].talk


def _without_broken(prompt: Prompt, ledger: Ledger) -> list[dict[str, Any]]:
    """The messages without the marks of calls that are not whole: those may be shown, and have no result."""
    broken = {mark for mark, call in ledger.calls.items() if not call.is_whole}
    if not broken:
        return list(prompt.messages)
    pattern = re.compile(rf"\b({'|'.join(broken)})\b")
    found = []
    for message in prompt.messages:
        content = message.get("content")
        if message["role"] == "assistant" and isinstance(content, str):
            message = {**message, "content": pattern.sub("broken", content)}
        found.append(message)
    return found


def _of_result(
    ledger: Ledger,
    prompt: Prompt,
    seen: Seen,
    happened: dict[str, Any],
    results: dict[tuple[str, str], str],
) -> Iterator[Fault]:
    mark, text = seen.mark, seen.text
    before = results.setdefault((prompt.talk, mark), text)
    if before != text:
        yield Fault("result changed", f"{mark}: {before[:80]!r}, and now {text[:80]!r}")
    call, effect = ledger.calls[mark], happened.get(mark)
    receipt = re.search(r"\bR(\d+x)\b", text)
    if receipt is not None:
        if receipt.group(1) != mark[1:]:
            yield Fault("told wrongly", f"{mark} has the result of C{receipt.group(1)}")
        elif effect is None and call.tool != "look":
            yield Fault("told wrongly", f"{mark} is told as done, and was not")
        elif effect is not None and effect.at > prompt.at:
            yield Fault("told wrongly", f"{mark} is told as done before it was")
        return
    if _UNKNOWN.search(text):
        return
    if effect is None:
        if not text.startswith("Error") and call.tool != "look":
            yield Fault(
                "told wrongly", f"{mark} ({call.tool}) did not happen, and is told: {text[:100]}"
            )
        return
    if f"no money for {mark}" in text or f"too late for {mark}" in text:
        if effect is not None and f"too late for {mark}" not in text:
            yield Fault("told wrongly", f"{mark} is told as failed, and happened")
        return
    if "Interrupted before completion" in text:
        yield Fault("told wrongly", f"{mark} is told as interrupted, and happened")
    else:
        yield Fault("told wrongly", f"{mark} ({call.tool}) happened, and is told: {text[:100]}")


def _of_reports(ledger: Ledger) -> Iterator[Fault]:
    """A block that cannot be read is answered by a report, in the next prompt of the same run."""
    for mark, written in ledger.broken.items():
        source = ledger.prompts[written.prompt]
        if not written.is_told or source.run in ledger.outlived:
            continue
        following = next(
            (
                prompt
                for prompt in ledger.prompts[written.prompt + 1 :]
                if prompt.run == source.run and prompt.talk == source.talk
            ),
            None,
        )
        if following is None:
            continue
        seen, _ = read(_without_broken(following, ledger), ledger)
        if not any(each.kind == "E" and _REPORT.search(each.text) for each in seen) and not any(
            _REPORT.search(str(message.get("content")))
            for message in following.messages[1:]
            if message["role"] in ("user", "tool")
        ):
            yield Fault(
                "no report",
                f"{mark} could not be read, and prompt {following.number} has no report",
            )


def _of_the_end(ledger: Ledger) -> Iterator[Fault]:
    """Every question that was answered is in the last prompt of its conversation, with its answer."""
    for talk, number in ledger.last.items():
        prompt = ledger.prompts[number]
        seen, _ = read(_without_broken(prompt, ledger), ledger)
        shown = {each.mark for each in seen}
        for question in ledger.questions.values():
            if question.talk != talk or question.status != "completed":
                continue
            if not question.by_owner:
                yield Fault("foreign", f"{question.mark} of somebody else was answered")
            elif question.mark not in shown:
                yield Fault("lost", f"{question.mark} was answered, and is not in the last prompt")
            answer = re.search(r"\bA\d+x\b", question.text or "")
            is_left = answer is not None and answer.group(0) not in shown
            if answer and is_left and ledger.answered_in.get(answer.group(0)) != number:
                yield Fault("lost", f"{answer.group(0)} is not in the last prompt")
