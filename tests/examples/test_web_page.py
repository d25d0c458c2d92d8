"""The web page in a real browser: what the user sees of a run, also of one that ends early.

Needs Chromium or Chrome: on the PATH, or named by COGENCY_RS_CHROMIUM.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio
from fastapi import Request
from web_agent import SESSION, create_app, user_of

from cogency_rs import SQLite, ToolResult
from cogency_rs.storage import CallRecord
from cogency_rs.tools import ToolOptions
from support.pages import CHECKOUT
from support.serving import Model, serving
from support.tools import FAIL, OK, FunctionTool, Waiting, block, call, raises, returns, stored

pytest.importorskip("playwright", reason="playwright is in the extra dev")
from playwright.async_api import Locator, Page, async_playwright, expect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("COGENCY_RS_CHROMIUM") or next(
    filter(None, map(shutil.which, NAMES)), None
)

GUIDE = (CHECKOUT / "docs" / "web.md").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="no Chromium on the PATH; install it (Debian: apt install chromium) "
        "or name it in COGENCY_RS_CHROMIUM",
    ),
    pytest.mark.asyncio(loop_scope="module"),
]

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-proxy-server",
]

expect.set_options(timeout=30_000)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser():
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()


async def _pay(euros: int, **_: Any) -> ToolResult:
    return ToolResult(f"paid {euros} euros")


PAY = FunctionTool("pay", _pay, schema={"euros": {"type": "integer", "required": True}})
PAY.options = ToolOptions(requires_approval=True)  # pyright: ignore[reportAttributeAccessIssue]


class Tab:
    """The page in a tab of the browser, and its errors."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    async def another(self) -> Tab:
        """Another tab of the same browser."""
        return Tab(await self.page.context.new_page())

    def find(self, selector: str) -> Locator:
        return self.page.locator(f"#conversation {selector}")

    @property
    def state(self) -> Locator:
        return self.page.locator("#state")

    async def open(self, address: str) -> None:
        await self.page.goto(address)
        await self.until_loaded()

    async def reload(self) -> None:
        await self.page.reload()
        await self.until_loaded()

    async def until_loaded(self) -> None:
        # A field, not the fieldset that holds it: Playwright calls only controls disabled.
        await expect(self.page.locator("#text")).to_be_enabled()

    async def ask(self, text: str = "hello") -> None:
        await self.page.fill("#text", text)
        await self.page.press("#text", "Enter")
        await expect(self.find(".user").last).to_have_text(text)

    async def until_answered(self) -> None:
        await expect(self.page.locator("#send")).to_be_visible()

    async def calls(self) -> list[tuple[str, str]]:
        """State and outcome of each call."""
        return [
            (await card.get_attribute("data-state"), await card.locator(".outcome").inner_text())
            for card in await self.find(".call").all()
        ]


@asynccontextmanager
async def tab(browser: Any, model: Any, *tools: Any) -> AsyncIterator[Tab]:
    """The page of an agent, in a new tab."""
    async with serving(create_app(model, tools, SQLite(":memory:"))) as address:
        context = await browser.new_context()
        opened = Tab(await context.new_page())
        await opened.open(address)
        yield opened
        assert opened.errors == []
        await context.close()


async def test_a_run_is_shown_while_it_happens(browser):
    waiting = Waiting()
    model = Model(
        ("<think>hm, ", None, "let me see</think>", f"Looking.{block('wait', 'fail')}"),
        ("It is ", None, "42.<end>"),
    )
    async with tab(browser, model, waiting, FAIL) as page:
        await page.ask("What is it?")
        await expect(page.find(".think .text")).to_have_text("hm,")
        await expect(page.find(".think .text")).to_be_visible()
        await expect(page.page.locator("#send")).to_be_hidden()

        model.release.set()
        await expect(page.find(".respond")).to_have_text("Looking.")
        await expect(page.find(".think .text")).to_have_text("hm, let me see")
        await expect(page.find(".think .text")).to_be_hidden()  # thoughts are folded, once complete
        await expect(page.find(".call[data-state=failure]")).to_have_count(1)
        await expect(page.find(".call[data-state=running]")).to_have_count(1)
        await expect(page.find(".call .seconds")).to_have_text([re.compile(r"\d s")] * 2)

        model.release.clear()
        waiting.release.set()
        await expect(page.find(".respond").last).to_have_text("It is")
        assert await page.calls() == [("success", "waited"), ("failure", "it failed")]

        model.release.set()
        await expect(page.find(".respond").last).to_have_text("It is 42.")
        await page.until_answered()
        await expect(page.find(".open")).to_have_count(0)


async def test_a_call_shows_its_arguments_and_its_content(browser):
    model = Model(block(call("ok", file="a.txt", lines=3)), "Done.<end>")
    async with tab(browser, model, OK) as page:
        await page.ask()
        await page.until_answered()
        await expect(page.find(".call .name")).to_have_text("ok")
        await expect(page.find(".call .args")).to_have_text('file: "a.txt", lines: 3')
        await expect(page.find(".call .content")).to_be_hidden()
        await page.find(".call summary").click()
        await expect(page.find(".call .content")).to_have_text(re.compile('"file": "a.txt"'))


HIDING = {"a": "x\u202ey\u200b", 'to: "ada", b': " \u2800\U0001d159\u3164"}


async def test_nothing_hides_in_the_arguments_of_a_call(browser):
    async with tab(browser, Model(block(call("ok", **HIDING)), "Done.<end>"), OK) as page:
        await page.ask()
        await page.until_answered()
        shown = await page.find(".call .args").inner_text()
    assert shown == r'''a: "x\u{202e}y\u{200b}", "to: \"ada\", b": " \u{2800}\u{1d159}\u{3164}"'''


async def test_nothing_hides_in_what_the_page_of_the_guide_asks(browser):
    [*_, script] = re.findall("^(?:const (?:unseen|visible|written) = .*\n)+", GUIDE, re.MULTILINE)
    page = await browser.new_page()
    shown = await page.evaluate(
        f"(args) => {{ {script} return written({{name: 'ok', args}}) }}", HIDING
    )
    assert (
        shown
        == r""""ok" {"a":"x\u{202e}y\u{200b}","to: \"ada\", b":" \u{2800}\u{1d159}\u{3164}"}"""
    )


MARKDOWN = """\
# Title

A **bold** and *fine* `<code>` [link](https://example.org/a), 2 * 3 * 4, [not](javascript:alert(1)).

- one
- two **bold**

| a | b |
| --- | --- |
| 1 | `2` |

```
**not bold**
<b>
```
"""


async def test_simple_markdown_is_drawn(browser):
    async with tab(browser, Model(f"{MARKDOWN}<end>")) as page:
        await page.ask()
        await page.until_answered()
        await expect(page.find(".respond h3")).to_have_text("Title")
        await expect(page.find(".respond p strong")).to_have_text("bold")
        await expect(page.find(".respond em")).to_have_text("fine")
        await expect(page.find(".respond p code")).to_have_text("<code>")
        await expect(page.find(".respond a")).to_have_attribute("href", "https://example.org/a")
        await expect(page.find(".respond p")).to_contain_text(
            "2 * 3 * 4, [not](javascript:alert(1))."
        )
        await expect(page.find(".respond li")).to_have_text(["one", "two bold"])
        await expect(page.find(".respond :is(th, td)")).to_have_text(["a", "b", "1", "2"])
        await expect(page.find(".respond pre")).to_have_text("**not bold**\n<b>")


async def test_a_call_is_shown_while_it_is_written(browser):
    begun, rest = block("ok").split('"args": {}')
    model = Model((f'{begun}"args": {{"text": "<b>Dear', None, f' Ada"}}{rest}'), "Done.<end>")
    async with tab(browser, model, OK) as page:
        await page.ask()
        await expect(page.find(".writing summary")).to_have_text("Writing a call of ok …")
        await expect(page.find(".writing .text")).to_have_text("text: <b>Dear")
        model.release.set()
        await page.until_answered()
        await expect(page.find(".writing")).to_have_count(0)
        await expect(page.find(".call")).to_have_count(1)


async def test_a_reloaded_page_shows_the_same(browser):
    model = Model(f"<think>hm</think>Looking.{block('ok', 'fail')}", "Done.<end>")
    async with tab(browser, model, OK, FAIL) as page:
        await page.ask()
        await page.until_answered()
        shown = await page.find("> :not(.call)").all_text_contents()
        calls = await page.calls()
        await page.reload()
        await expect(page.find("> :not(.call)")).to_have_text(shown)
        assert await page.calls() == calls


async def test_a_page_that_is_reloaded_in_the_middle_of_an_answer_goes_on(browser):
    waiting = Waiting()
    model = Model(f"Waiting.{block('wait')}", ("It is ", None, "42.<end>"))
    async with tab(browser, model, waiting) as page:
        await page.ask()
        await waiting.started.wait()
        await page.reload()
        await expect(page.find(".call[data-state=running]")).to_have_count(1)
        await expect(page.page.locator("#stop")).to_be_visible()
        waiting.release.set()
        await expect(page.find(".respond").last).to_have_text("It is")
        await page.reload()
        await expect(page.find(".respond")).to_have_text(["Waiting.", "It is"])
        model.release.set()
        await expect(page.find(".respond")).to_have_text(["Waiting.", "It is 42."])
        await page.until_answered()
        assert await page.calls() == [("success", "waited")]


async def test_two_tabs_show_the_same_run(browser):
    waiting = Waiting()
    async with tab(browser, Model(block("wait"), "Done.<end>"), waiting) as page:
        other = await page.another()
        await other.open(page.page.url)
        await page.ask("from one tab")
        await expect(other.find(".user")).to_have_text("from one tab")
        await expect(other.page.locator("#stop")).to_be_visible()
        waiting.release.set()
        for each in (page, other):
            await expect(each.find(".respond")).to_have_text("Done.")
            assert await each.calls() == [("success", "waited")]
        assert other.errors == []
        await other.page.close()


async def test_a_run_outlives_its_tab(browser):
    waiting = Waiting()
    async with tab(browser, Model(block("wait"), "Done.<end>"), waiting) as page:
        await page.ask()
        await waiting.started.wait()
        address = page.page.url
        await page.page.goto("about:blank")
        waiting.release.set()
        await page.open(address)
        await expect(page.find(".respond")).to_have_text("Done.")
        assert await page.calls() == [("success", "waited")]


@pytest.mark.parametrize("opened", ["live", "from the log"])
@pytest.mark.parametrize(
    ("button", "calls"),
    [
        ("Approve", [("success", "ok"), ("success", "paid 5 euros")]),
        ("Deny", [("success", "ok"), ("failure", re.compile("was rejected by user"))]),
    ],
)
async def test_a_call_waits_until_the_user_decides(browser, opened, button, calls):
    model = Model(f"Paying.{block('ok', call('pay', euros=5))}", "Done.<end>")
    async with tab(browser, model, OK, PAY) as page:
        await page.ask()
        if opened == "from the log":
            await expect(page.find(".decide")).to_be_visible()
            await page.reload()
        await expect(page.find(".decide pre")).to_have_text('{ "euros": 5 }')
        await expect(page.state).to_have_text("Waits for you")
        await expect(page.find(".call .outcome").first).to_have_text("waits for the others")
        await page.find(f".decide button:text('{button}')").click()
        await expect(page.find(".respond").last).to_have_text("Done.")
        await page.until_answered()
        await expect(page.find(".call")).to_have_count(2)
        await expect(page.find(".decide")).to_have_count(0)
        for card, (state, outcome) in zip(await page.find(".call").all(), calls, strict=True):
            await expect(card).to_have_attribute("data-state", state)
            await expect(card.locator(".outcome")).to_have_text(outcome)
        await expect(page.state).to_be_empty()


async def test_each_of_two_calls_is_decided_separately_and_in_any_tab(browser):
    model = Model(block(call("pay", euros=1), call("pay", euros=2)), "Done.<end>")
    async with tab(browser, model, PAY) as page:
        await page.ask()
        other = await page.another()
        await other.open(page.page.url)
        await page.find(".decide button:text('Approve')").first.click()
        await expect(other.find(".decide")).to_have_count(1)
        await expect(other.find(".call .outcome").first).to_have_text(
            "approved, and waits for the others"
        )
        await other.find(".decide button:text('Deny')").click()
        for each in (page, other):
            await expect(each.find(".respond").last).to_have_text("Done.")
            await expect(each.find(".call")).to_have_count(2)
            [first, second] = await each.calls()
            assert first == ("success", "paid 1 euros")
            assert second[0] == "failure"
        assert other.errors == []
        await other.page.close()


async def test_another_question_denies_the_calls_that_wait(browser):
    model = Model(block(call("pay", euros=1)), "Never mind.<end>")
    async with tab(browser, model, PAY) as page:
        await page.ask()
        await expect(page.find(".decide")).to_be_visible()
        await page.ask("Something else")
        await expect(page.find(".respond").last).to_have_text("Never mind.")
        await page.until_answered()
        await expect(page.find(".decide")).to_have_count(0)
        assert await page.calls() == [("failure", "denied")]


HTML = """<img src=x onerror="document.title = 'run'"><script>document.title = 'run'</script>"""


@pytest.mark.parametrize(
    ("turn", "tool", "shown_in"),
    [
        pytest.param(HTML, OK, ".respond", id="in the text of the model"),
        pytest.param(f"- {HTML}", OK, ".respond li", id="in its markdown"),
        pytest.param(f"<think>{HTML}</think>", OK, ".think", id="in its reasoning"),
        pytest.param(block(call("ok", x=HTML)), OK, ".args", id="in an argument"),
        pytest.param(block(call(HTML)), OK, ".name", id="in the name of a call"),
        pytest.param(
            block("t"),
            returns(ToolResult("read", HTML)),
            ".content",
            id="in the content of a result",
        ),
        pytest.param(block("t"), returns(ToolResult(HTML)), ".outcome", id="in an outcome"),
        pytest.param(block("t"), raises(ValueError(HTML)), ".outcome", id="in a failure"),
    ],
)
async def test_html_is_shown_as_text_and_never_run(browser, turn, tool, shown_in):
    async with tab(browser, Model(turn, "Done.<end>"), tool) as page:
        for opened in ("live", "from the log"):
            if opened == "live":
                await page.ask(HTML)
                await page.until_answered()
            else:
                await page.reload()
            await expect(page.find(".user")).to_have_text(HTML)
            found = await page.find(shown_in).first.text_content()
            assert HTML in found.replace('\\"', '"')
            await expect(page.find(":is(img, script)")).to_have_count(0)
            assert "cogency-rs" in await page.page.title()


async def test_a_call_that_needs_approval_is_shown_as_text_too(browser):
    def anything(**_: Any) -> ToolResult:
        return ToolResult("ok")

    tool = FunctionTool("pay", anything)
    tool.options = PAY.options  # pyright: ignore[reportAttributeAccessIssue]
    async with tab(browser, Model(block(call("pay", to=HTML))), tool) as page:
        await page.ask()
        await expect(page.find(".decide pre")).to_contain_text("<img src=x")
        await expect(page.find(":is(img, script)")).to_have_count(0)


async def test_a_script_in_html_that_becomes_part_of_the_page_does_not_run(browser):
    async with tab(browser, Model()) as page:
        await page.page.evaluate("(html) => { document.body.innerHTML = html; }", HTML)
        image = page.page.locator("img")
        await image.evaluate(
            "(image) => image.complete || new Promise((done) => image.addEventListener('error', done))"
        )
        assert "cogency-rs" in await page.page.title()


async def test_a_long_result_does_not_make_the_page_wider(browser):
    long = "x" * 5000
    tool = returns(ToolResult("read", long))
    async with tab(browser, Model(f"{long}{block(call('t', x=long))}", "Done.<end>"), tool) as page:
        await page.page.set_viewport_size({"width": 390, "height": 844})
        await page.ask(long)
        await page.until_answered()
        await page.find(".call summary").click()
        assert await page.page.evaluate("() => document.documentElement.scrollWidth") == 390


async def test_stop_cancels_the_run_and_the_conversation_goes_on(browser):
    waiting = Waiting()
    model = Model(f"Waiting.{block('ok', 'wait')}", "Hello again.<end>")
    async with tab(browser, model, OK, waiting) as page:
        await page.ask()
        await expect(page.find(".call[data-state=running]")).to_have_count(1)
        await expect(page.find(".call[data-state=success]")).to_have_count(1)
        await waiting.started.wait()
        await page.page.click("#stop")
        await page.until_answered()
        assert await page.calls() == [("success", "ok"), ("failure", "cancelled")]
        assert waiting.journal == ["started", "stopped"]
        await expect(page.find(".note")).to_have_text(re.compile("was stopped"))
        await page.ask()
        await expect(page.find(".respond").last).to_have_text("Hello again.")
        await page.until_answered()
        await page.reload()
        await expect(page.find(".note")).to_have_text(re.compile("was stopped"))
        assert [state for state, _ in await page.calls()] == ["success", "failure"]


async def test_when_the_server_comes_back_the_page_shows_how_the_run_ended(browser, tmp_path: Path):
    waiting, file = Waiting(), tmp_path / "log.db"
    page = Tab(await browser.new_page())
    async with serving(create_app(Model(block("wait")), [waiting], SQLite(file))) as address:
        await page.open(address)
        await page.ask()
        await waiting.started.wait()
    await expect(page.state).to_have_text(re.compile("No connection"))
    port = int(address.rpartition(":")[2])
    async with serving(create_app(Model("Hello again.<end>"), [], SQLite(file)), port):
        await expect(page.find(".call")).to_have_attribute("data-state", "failure")
        await expect(page.state).to_be_empty()
        await expect(page.find(".note")).to_have_text(re.compile("was stopped"))
        await page.ask()
        await expect(page.find(".respond")).to_have_text("Hello again.")
        await page.page.close()
    assert page.errors == []


async def test_a_run_whose_server_was_killed_can_go_on(browser, tmp_path: Path):
    file, session = tmp_path / "log.db", "s" * 40
    cookies = Request({"type": "http", "headers": [(b"cookie", f"{SESSION}={session}".encode())]})
    async with SQLite(file) as storage:
        await storage.save_message("c", user_of(cookies), "user", "What is it?")
    async with serving(create_app(Model("It is 42.<end>"), [], SQLite(file))) as address:
        context = await browser.new_context()
        await context.add_cookies([{"name": SESSION, "value": session, "url": address}])
        page = Tab(await context.new_page())
        await page.open(f"{address}/#c")
        await page.find("#go-on button").click()
        await expect(page.find(".respond")).to_have_text("It is 42.")
        await expect(page.find("#go-on")).to_have_count(0)
        await context.close()
    assert page.errors == []


@pytest.mark.parametrize(
    ("status", "button", "expected"),
    [
        ("open", "It happened", "receipt 7"),
        ("open", "It did not happen", "paid 9 euros"),
        ("unknown", "It happened", "It was not known whether your call to 'pay'"),
        ("unknown", "It did not happen", "Now it is known: it did not happen"),
    ],
)
async def test_a_call_whose_outcome_is_unknown_asks_what_happened(
    browser, tmp_path: Path, status, button, expected
):
    file, session = tmp_path / "log.db", "s" * 40
    cookies = Request({"type": "http", "headers": [(b"cookie", f"{SESSION}={session}".encode())]})
    async with SQLite(file) as log:
        record = CallRecord("call-1", "batch", 0, "pay", attempt=1, started_at=1.0)
        rows = [("user", "Pay.", 1.0), ("call", stored("pay", euros=9), 2.0)]
        user = user_of(cookies)
        await log.append("c", user_id=user, rows=rows, calls=[record])
        if status == "unknown":
            results = '[{"tool": "pay", "status": "failure", "content": "It is not known."}]'
            rows = [("result", results, 3.0), ("respond", "I cannot tell.", 4.0)]
            told = record._replace(status="unknown", completed_at=3.0)
            await log.append("c", user_id=user, rows=rows, calls=[told])
    pay = FunctionTool("pay", _pay, schema={"euros": {"type": "integer", "required": True}})
    async with serving(create_app(Model("Now I know.<end>"), [pay], SQLite(file))) as address:
        context = await browser.new_context()
        await context.add_cookies([{"name": SESSION, "value": session, "url": address}])
        page = Tab(await context.new_page())
        await page.open(f"{address}/#c")
        asked = page.find(".call .decide")
        await expect(asked.locator("p")).to_have_text("Did pay happen, with these arguments?")
        await expect(page.state).to_have_text("Waits for you")
        await asked.locator("input").fill("receipt 7")
        await asked.get_by_role("button", name=button, exact=True).click()
        await expect(page.find(".decide")).to_have_count(0)
        await page.find("#go-on button").click()
        await expect(page.find(".respond").last).to_have_text("Now I know.")
        await expect(page.page.locator("#conversation")).to_contain_text(expected)
        await context.close()
    assert page.errors == []


async def test_another_browser_is_told_that_it_has_no_such_conversation(browser):
    async with tab(browser, Model("It is 42.<end>")) as page:
        await page.ask()
        await page.until_answered()
        other = Tab(await browser.new_page())
        await other.page.goto(page.page.url)
        await expect(other.state).to_have_text("You have no such conversation")
        await expect(other.find("*")).to_have_count(0)
        await expect(other.page.locator("#text")).to_be_disabled()
        assert other.errors == []
        await other.page.close()


async def test_an_error_of_the_model_is_shown(browser):
    class Broken(Model):
        async def __call__(self, messages):
            yield "It is "
            await asyncio.sleep(0)
            raise ConnectionError("the model hung up")

    async with tab(browser, Broken()) as page:
        for _ in ("live", "from the log"):
            if not await page.find(".user").count():
                await page.ask()
            else:
                await page.reload()
            await page.until_answered()
            await expect(page.find(".respond")).to_have_text("It is")
            await expect(page.find(".note.error").last).to_have_text(
                "ConnectionError: the model hung up"
            )


async def test_a_malformed_block_is_shown_as_an_error(browser):
    async with tab(browser, Model("Now.<execute>[{]</execute>", "Sorry.<end>")) as page:
        await page.ask()
        await page.until_answered()
        await expect(page.find(".respond")).to_have_text(["Now.", "Sorry."])
        note = "A call could not be read. The model is asked to write it again."
        await expect(page.find(".note.error")).to_have_text(note)


async def test_a_question_that_is_refused_stays_in_its_field(browser):
    waiting = Waiting()
    async with tab(browser, Model(block("wait"), "Done.<end>"), waiting) as page:
        await page.page.route(
            "**/conversations/*", lambda route: route.fulfill(status=500, body="{}")
        )
        await page.page.fill("#text", "hello")
        await page.page.press("#text", "Enter")
        await expect(page.find(".note.error")).to_have_text("The server answered: 500")
        await expect(page.page.locator("#text")).to_have_value("hello")
