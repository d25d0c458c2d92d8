"""The people of a world: they ask, decide about calls that they are shown, fork, and say what became of calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from cogency_rs.errors import CallChangedError, ConfigError, DecisionError, LLMError
from cogency_rs.execution import NotHappened
from cogency_rs.hooks import ToolApproved

from .ledger import Decided, Question, Told
from .machine import Died, Machine, Talk, ended
from .plan import Ask, Click, Fork, Settle

if TYPE_CHECKING:
    from .world import World

__all__ = ["People"]


class People:
    """All people.

    Args:
        world: the world that they are in.

    Attributes:
        talks: all conversations.
    """

    def __init__(self, world: World) -> None:
        self._world, self._plan = world, world.plan
        self._loop, self._ledger = world.loop, world.ledger
        self._mind, self._bank, self._process = world.mind, world.bank, world.process
        self.talks = [
            Talk(f"talk-{self._plan.seed}-{n}", ("alice", "bob")[n % 2])
            for n in range(self._plan.talks)
        ]
        self._shown_rates: dict[str, int] = {}
        self._begun: list[asyncio.Task[None]] = []

    def live(self) -> list[asyncio.Task[None]]:
        """Begin what the plan says; the tasks end when nobody does anything."""
        works = [
            *(self._talk(talk) for talk in range(len(self.talks))),
            *(self._fork(fork) for fork in self._plan.forks),
            *(self._settle(settle) for settle in self._plan.settles),
        ]
        return [self._loop.create_task(work) for work in works]

    async def _talk(self, number: int) -> None:
        talk, before = self.talks[number], None
        for ask in self._plan.asks:
            if ask.talk != number:
                continue
            if before is not None and ask.alone:
                await before
            await asyncio.sleep(ask.after)
            if ask.by == "other" and not talk.begun:
                continue
            before = self._loop.create_task(self._ask(talk, ask))
            self._begun.append(before)
        while True:
            left = [task for task in self._begun if not task.done()]
            if not left:
                return
            await asyncio.wait(left)

    def _question(self, talk: Talk, ask: Ask) -> Question:
        question = Question(self._mind.mark("Q"), talk.id, ask.by == "owner")
        self._ledger.questions[question.mark] = question
        if not ask.alone or ask.by != "owner":
            self._ledger.overlapping.add(talk.id)
        self._mind.will_answer(question.mark, talk.id, ask.steps)
        return question

    async def _ask(self, talk: Talk, ask: Ask) -> None:
        """Ask a question, and do what is needed until it has its answer."""
        question = self._question(talk, ask)
        user = talk.user if ask.by == "owner" else "mallory"
        machine = self._process(ask.process)
        going = machine.begin(
            talk,
            lambda agent: agent.run(
                f"{question.mark} please", conversation_id=talk.id, user_id=user
            ),
        )
        for _ in range(5):
            result, error = await ended(going)
            if result is not None:
                talk.begun = True
                if question.mark in self._mind.read:
                    question.text, question.status = result.text, result.status
                if result.status != "waiting":
                    return
                clicks = self._show(talk, result)
                if ask.gives_up or not clicks:
                    return
                await asyncio.wait(clicks)
                return
            question.error = error
            self._note(error)
            if ask.gives_up or ask.by != "owner" or isinstance(error, ConfigError):
                return
            await asyncio.sleep(2.0)
            going = self._process(ask.resumed_by).begin(
                talk, lambda agent: agent.resume(talk.id, user_id=user)
            )

    def _show(self, talk: Talk, result: Any) -> list[asyncio.Task[None]]:
        """Show calls that wait to people, who decide about them in their time."""
        together: list[tuple[str, str, Click]] = []
        apart: list[list[tuple[str, str, Click]]] = []
        for call in result.waiting:
            mark = call.args.get("c", "")
            plan = self._mind.calls.get(mark)
            if plan is None or mark in talk.shown:
                continue
            talk.shown.add(mark)
            self._shown_rates[mark] = self._bank.rate()
            self._mind.known.append(call.id)
            clicks = [(mark, call.id, each) for each in plan.clicks if each.verdict != "never"]
            if clicks and mark in self._mind.together:
                together.append(clicks.pop(0))
            apart += [[each] for each in clicks]
        if together:
            apart.insert(0, together)
        begun = [self._loop.create_task(self._click(talk, each)) for each in apart]
        self._begun += begun
        return begun

    async def _click(self, talk: Talk, clicks: list[tuple[str, str, Click]]) -> None:
        """Let people decide about calls, all at once."""
        await asyncio.sleep(max(click.after for _, _, click in clicks))
        place = clicks[0][2].process
        going = self._decide(talk, clicks)
        for _ in range(4):
            result, error = await ended(going)
            if result is not None:
                if result.status == "waiting":
                    self._show(talk, result)
                return
            self._note(error)
            if isinstance(error, CallChangedError):  # they look again, and decide again
                for mark, _, _ in clicks:
                    self._shown_rates[mark] = self._bank.rate()
                await asyncio.sleep(1.0)
                going = self._decide(talk, clicks)
                continue
            if not isinstance(error, Died):
                return
            await asyncio.sleep(3.0)
            going = self._process(place).begin(
                talk, lambda agent: agent.resume(talk.id, user_id=talk.user)
            )

    def _decide(self, talk: Talk, clicks: list[tuple[str, str, Click]]) -> asyncio.Future[Any]:
        ledger = self._ledger
        decisions: dict[str, Any] = {}
        made: list[Decided] = []
        for mark, id, click in clicks:
            amount = None
            decision: Any = click.verdict == "yes"
            if click.verdict == "edit":
                amount = ledger.calls[mark].amount + 1_000_000
                decision = ToolApproved(args={"c": mark, "amount": amount})
            decisions[id] = decision
            rate = self._shown_rates[mark]
            made.append(Decided(mark, click.verdict, amount, ledger.event(), rate=rate))
        ledger.decided += made
        going = self._process(clicks[0][2].process).begin(
            talk, lambda agent: agent.resume(talk.id, decisions, user_id=talk.user)
        )

        def over(going: asyncio.Future[Any]) -> None:
            if not going.cancelled() and going.exception() is None:
                taken = ledger.event()
                for decided in made:
                    decided.taken = taken

        going.add_done_callback(over)
        return going

    async def _fork(self, fork: Fork) -> None:
        await asyncio.sleep(fork.at)
        talk = self.talks[fork.talk % len(self.talks)]
        result, error = await ended(
            self._process(fork.process).begin(
                talk, lambda agent: agent.fork(talk.id, user_id=talk.user)
            )
        )
        if result is None:
            self._note(error)
            return
        new = Talk(result, talk.user)
        self._ledger.parents[new.id] = talk.id
        self.talks.append(new)
        await self._ask(new, Ask(0, fork.process, (), gives_up=True))

    async def _settle(self, settle: Settle) -> None:
        await asyncio.sleep(settle.at)
        await self.settle_all(self._process(settle.process))

    async def settle_all(self, machine: Machine) -> None:
        """Say of each call that is not known what became of it."""
        talk = self.talks[0]
        pending, error = await ended(machine.begin(talk, lambda agent: agent.pending()))
        if pending is None:
            self._note(error)
            return
        for call in pending:
            mark = (call.args or {}).get("c", "")
            if call.needs != "settling" or mark not in self._mind.calls or self._may_come(mark):
                continue
            happened = self._ledger.has_effect(mark)
            told: Any = {"receipt": f"R{mark[1:]}"} if happened else NotHappened()
            self._ledger.told.append(Told(mark, happened, self._ledger.event()))
            _, error = await ended(
                machine.begin(
                    talk,
                    lambda agent, call=call, told=told: agent.settle(
                        call.conversation_id, call.id, told, user_id=call.user_id
                    ),
                )
            )
            self._note(error)

    def _may_come(self, mark: str) -> bool:
        """Whether a process that has not died may still carry a call out."""
        is_frozen = any(
            machine.frozen is not None and not machine.is_dead for machine in self._world.machines
        )
        # In a file, whose leases are as right as the clocks, a call may look open while its process carries it out.
        is_running = self._world.bank.may_come(mark)
        return self._ledger.calls[mark].tool == "look" or is_frozen or is_running

    def _note(self, error: BaseException | None) -> None:
        """Note an exception that no fault explains."""
        if error is None or isinstance(error, Died):
            return
        name = type(error).__name__
        if name in ("OwnerError", "LLMError", "ConfigError", "BusyError"):
            return
        if isinstance(error, DecisionError):
            return
        # A file's leases are as right as the clocks of those who share it.
        explained = self._world.happened or (
            self._plan.storage != "memory" and self._plan.has_wrong_clocks
        )
        if name in ("StorageError", "ToolError") and explained and not self._world.is_calm:
            return
        self._ledger.wrong.append(f"{name}: {error}"[:200])

    async def bring_to_an_end(self, machine: Machine, talk: Talk) -> None:
        """Let a process without faults go on until nothing is left, and ask once more."""
        going = machine.begin(talk, lambda agent: agent.resume(talk.id, user_id=talk.user))
        for _ in range(12):
            result, error = await ended(going)
            if isinstance(error, ConfigError) and talk.id not in {
                prompt.talk for prompt in self._ledger.prompts
            }:
                return  # it never began
            if isinstance(error, LLMError):
                going = machine.begin(talk, lambda agent: agent.resume(talk.id, user_id=talk.user))
                continue
            if error is not None:
                self._ledger.wrong.append(f"{talk.id} cannot be resumed: {error!r}"[:300])
                break
            if result.status != "waiting":
                break
            decisions: dict[str, bool] = {}
            for call in result.waiting:
                mark = call.args.get("c", "")
                if mark in self._ledger.calls:
                    decided = Decided(mark, "no", None, self._ledger.event())
                    self._ledger.decided.append(decided)
                decisions[call.id] = False
            going = machine.begin(
                talk,
                lambda agent, decisions=decisions: agent.resume(
                    talk.id, decisions, user_id=talk.user
                ),
            )
        else:
            self._ledger.wrong.append(f"{talk.id} never ends")
        last = self._question(talk, Ask(0, 0, ()))
        result, error = await ended(
            machine.begin(
                talk,
                lambda agent: agent.run(
                    f"{last.mark} please", conversation_id=talk.id, user_id=talk.user
                ),
            )
        )
        if error is not None:
            self._ledger.wrong.append(f"{talk.id} takes no question: {error!r}"[:300])
        elif result.status != "completed":
            self._ledger.wrong.append(f"{talk.id} ends as {result.status}")
        else:
            last.text, last.status = result.text, result.status
            self._ledger.last[talk.id] = len(self._ledger.prompts) - 1
