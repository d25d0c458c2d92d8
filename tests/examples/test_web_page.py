"""The web page in a real browser: what its reader sees of a turn, and of one that ends early.

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
from serving import Model, serving
from tools import FAIL, OK, Waiting, block, call, raises, returns
from web_agent import create_app

from cogency_rs import SQLite, ToolResult

pytest.importorskip("playwright", reason="playwright is in the extra dev")
from playwright.async_api import Locator, Page, async_playwright, expect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = os.environ.get("COGENCY_RS_CHROMIUM") or next(
    filter(None, map(shutil.which, NAMES)), None
)

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


class Tab:
    """The page in a tab, and what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: self.errors.append(dialog.message))

    def find(self, selector: str) -> Locator:
        return self.page.locator(f"#conversation {selector}")

    async def ask(self, text: str = "hello") -> None:
        await self.page.fill("#text", text)
        await self.page.press("#text", "Enter")

    async def answered(self) -> None:
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
        opened = Tab(await browser.new_page())
        await opened.page.goto(address)
        await expect(opened.page.locator("#state")).to_be_empty()
        yield opened
        assert opened.errors == []
        await opened.page.close()


async def test_a_turn_is_shown_while_it_happens(browser):
    waiting = Waiting()
    model = Model(
        ("<think>hm, ", None, "let me see</think>", f"Looking.{block('wait', 'fail')}"),
        ("It is ", None, "42.<end>"),
    )
    async with tab(browser, model, waiting, FAIL) as page:
        await page.ask("What is it?")
        await expect(page.find(".user")).to_have_text("What is it?")
        await expect(page.find(".think p")).to_have_text("hm, ")
        await expect(page.page.locator("#send")).to_be_hidden()

        model.release.set()
        await expect(page.find(".think p")).to_have_text("hm, let me see")
        await expect(page.find(".respond")).to_have_text("Looking.")
        await expect(page.find(".call[data-state=running]")).to_have_count(2)

        model.release.clear()
        waiting.release.set()
        await expect(page.find(".respond").last).to_have_text("It is ")
        assert await page.calls() == [("success", "waited"), ("failure", "it failed")]

        model.release.set()
        await expect(page.find(".respond").last).to_have_text("It is 42.")
        await page.answered()
        await expect(page.find(".open")).to_have_count(0)


async def test_a_call_shows_its_arguments_and_its_content(browser):
    model = Model(block(call("ok", file="a.txt", lines=3)), "Done.<end>")
    async with tab(browser, model, OK) as page:
        await page.ask()
        await page.answered()
        await expect(page.find(".call .name")).to_have_text("ok")
        await expect(page.find(".call .args")).to_have_text('file: "a.txt", lines: 3')
        await expect(page.find(".call .content")).to_be_hidden()
        await page.find(".call summary").click()
        await expect(page.find(".call .content")).to_have_text(re.compile('"file": "a.txt"'))


async def test_opened_again_the_page_shows_the_same(browser):
    model = Model(f"<think>hm</think>Looking.{block('ok', 'fail')}", "Done.<end>")
    async with tab(browser, model, OK, FAIL) as page:
        await page.ask()
        await page.answered()
        shown = await page.find("> *").all_text_contents()
        calls = await page.calls()
        await page.page.reload()
        await expect(page.find("> *")).to_have_text(shown)
        assert await page.calls() == calls


HTML = """<img src=x onerror="document.title = 'run'"><script>document.title = 'run'</script>"""


@pytest.mark.parametrize(
    ("turn", "tool", "shown_in"),
    [
        pytest.param(HTML, OK, ".respond", id="in the text of the model"),
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
                await page.answered()
            else:
                await page.page.reload()
            await expect(page.find(".user")).to_have_text(HTML)
            found = await page.find(shown_in).first.text_content()
            assert HTML in found.replace('\\"', '"')
            await expect(page.find(":is(img, script)")).to_have_count(0)
            assert "cogency-rs" in await page.page.title()


async def test_even_html_that_became_part_of_the_page_would_not_run(browser):
    async with tab(browser, Model()) as page:
        await page.page.evaluate("(html) => { document.body.innerHTML = html; }", HTML)
        image = page.page.locator("img")
        await image.evaluate(
            "(image) => image.complete || new Promise((done) => image.addEventListener('error', done))"
        )
        assert "cogency-rs" in await page.page.title()


async def test_stop_cancels_the_turn_and_the_conversation_goes_on(browser):
    waiting = Waiting()
    model = Model(f"Waiting.{block('ok', 'wait')}", "Hello again.<end>")
    async with tab(browser, model, OK, waiting) as page:
        await page.ask()
        await expect(page.find(".call[data-state=running]")).to_have_count(2)
        await page.page.click("#stop")
        await page.answered()
        assert await page.calls() == [("success", "ok"), ("failure", "Cancelled")]
        assert waiting.journal == ["started", "stopped"]
        await expect(page.find(".note")).to_have_text(re.compile("ended without an answer"))
        await page.ask()
        await expect(page.find(".respond").last).to_have_text("Hello again.")


async def test_a_tab_that_is_closed_cancels_the_turn_and_another_one_shows_it(browser):
    waiting = Waiting()
    async with tab(browser, Model(block("wait")), waiting) as page:
        await page.ask()
        await waiting.started.wait()
        address, other = page.page.url, Tab(await browser.new_page())
        await page.page.close()
        await other.page.goto(address)
        await expect(other.find(".call")).to_have_attribute("data-state", "failure")
        assert await other.calls() == [("failure", "Cancelled")]
        assert waiting.journal == ["started", "stopped"]


async def test_when_the_server_comes_back_the_page_shows_what_became_of_the_turn(
    browser, tmp_path: Path
):
    waiting, file = Waiting(), tmp_path / "log.db"
    page = Tab(await browser.new_page())
    async with serving(create_app(Model(block("wait")), [waiting], SQLite(file))) as address:
        await page.page.goto(address)
        await page.ask()
        await waiting.started.wait()
    await expect(page.page.locator("#state")).to_have_text(re.compile("No connection"))
    port = int(address.rpartition(":")[2])
    async with serving(create_app(Model("Hello again.<end>"), [], SQLite(file)), port):
        await expect(page.find(".call")).to_have_attribute("data-state", "failure")
        assert await page.calls() == [("failure", "Cancelled")]
        await page.ask()
        await expect(page.find(".respond")).to_have_text("Hello again.")
        await page.page.close()
    assert page.errors == []


async def test_what_goes_wrong_is_shown(browser):
    class Broken(Model):
        async def __call__(self, messages):
            yield "It is "
            await asyncio.sleep(0)
            raise ConnectionError("the model hung up")

    async with tab(browser, Broken()) as page:
        await page.ask()
        await page.answered()
        await expect(page.find(".respond")).to_have_text("It is ")
        await expect(page.find(".note.error")).to_have_text(
            ["The answer was cut.", "ConnectionError: the model hung up"]
        )


async def test_a_malformed_block_is_shown_as_an_error(browser):
    async with tab(browser, Model("Now.<execute>[{]</execute>", "Sorry.<end>")) as page:
        await page.ask()
        await page.answered()
        await expect(page.find(".respond")).to_have_text(["Now.", "Sorry."])
        note = "A call could not be read. The model is asked to write it again."
        await expect(page.find(".note.error")).to_have_text(note)


async def test_too_many_failures_are_shown(browser):
    async with tab(browser, Model(*[block("fail")] * 3), FAIL) as page:
        await page.ask()
        await page.answered()
        assert await page.calls() == [("failure", "it failed")] * 3
        await expect(page.find(".note.error")).to_have_text("Max failures. Terminating.")
