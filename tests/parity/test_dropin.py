"""`install()` and `uninstall()`: what is replaced, where, and that every original is put back."""

import asyncio
import subprocess
import sys
import textwrap
import threading
import types
import warnings

import pytest

import cogency_rs
from cogency_rs.compat import dropin, uninstall
from cogency_rs.errors import ConfigError
from cogency_rs.tools import ToolOptions
from support.tools import rounds

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # cogency's, about its fallback for uuid7
    pytest.importorskip("cogency", reason="needs cogency 3.3.0 (Python 3.11 or 3.12)")
    import cogency.agent
    import cogency.context.assembly
    import cogency.core.accumulator
    import cogency.lib.sqlite
    import cogency.replay
    import cogency.resume


@pytest.fixture(autouse=True)
def _put_back():
    yield
    uninstall()


def names_of_cogency():
    """Every name in every module of cogency, and what it stands for."""
    return {
        (module, name): value
        for module, code in list(sys.modules.items())
        if module.partition(".")[0] == "cogency"
        for name, value in vars(code).items()
    }


def is_ours(value):
    return getattr(value, "__module__", "").startswith("cogency_rs")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("cogency.core.parser", "parse_tokens"),
        ("cogency.replay", "parse_tokens"),
        ("cogency.resume", "parse_tokens"),
        ("cogency.replay", "Accumulator"),
        ("cogency.resume", "Accumulator"),
        ("cogency.context", "assemble"),
        ("cogency.context.assembly", "to_messages"),
        ("cogency.core.accumulator", "CircuitBreaker"),
        ("cogency.core.accumulator", "execute_tools"),
        ("cogency.core.accumulator", "parse_tool_call"),
        ("cogency.context.system", "tool_instructions"),
        ("cogency.lib.sqlite", "SQLite"),
    ],
)
def test_every_module_that_holds_a_replaced_name_holds_ours(module, name):
    assert not is_ours(getattr(sys.modules[module], name))
    cogency_rs.install()
    assert is_ours(getattr(sys.modules[module], name))


def test_no_original_is_left_in_any_module():
    made = cogency_rs.install()
    originals = {id(original) for original, _ in made.replacements.values()}
    assert [key for key, value in names_of_cogency().items() if id(value) in originals] == []


async def test_no_call_begins_while_the_model_still_writes():
    """As in cogency, even if the tool only reads."""
    begun = []

    class Reads:
        name, description, schema = "read", "", {}
        options = ToolOptions(read_only=True)

        async def execute(self, **_):
            begun.append("read")
            return cogency_rs.ToolResult(outcome="ok")

    async def written():
        yield '<execute>[{"name": "read", "args": {}}'
        await rounds(20)
        assert begun == []
        yield "]</execute>"

    cogency_rs.install()
    execution = cogency.core.config.Execution(
        storage=cogency_rs.SQLite(":memory:"),
        tools=(Reads(),),
        shell_timeout=1,
        sandbox_dir="",
        access="sandbox",
    )
    turns = cogency.core.accumulator.Accumulator("u", "c", execution=execution)
    events = turns.process(cogency.core.parser.parse_tokens(written()))
    assert [event["type"] async for event in events] == ["call", "execute", "result"]
    assert begun == ["read"]


def test_the_default_storage_is_ours():
    cogency_rs.install()
    assert isinstance(cogency.lib.sqlite.default_storage(":memory:"), cogency_rs.SQLite)


def test_a_name_that_the_program_imported_before_is_rebound_too():
    program = types.ModuleType("some_program")
    program.read = cogency.core.parser.parse_tokens
    sys.modules["some_program"] = program
    try:
        cogency_rs.install()
        assert is_ours(program.read)
        uninstall()
        assert not is_ours(program.read)
    finally:
        del sys.modules["some_program"]


def test_uninstall_puts_back_everything_exactly():
    before = names_of_cogency()
    cogency_rs.install()
    assert names_of_cogency() != before
    uninstall()
    assert names_of_cogency() == before


def test_installing_twice_is_installing_once():
    before = names_of_cogency()
    made = cogency_rs.install()
    installed = names_of_cogency()
    assert cogency_rs.install() is made
    assert names_of_cogency() == installed
    uninstall()
    uninstall()
    assert names_of_cogency() == before


def test_other_limits_take_the_place_of_the_first_ones():
    before = names_of_cogency()
    first = cogency_rs.install()
    second = cogency_rs.install(tool_timeout=5)
    assert second is not first
    assert second.missing() == []
    uninstall()
    assert names_of_cogency() == before


def test_a_with_block_uninstalls_at_its_end_also_after_an_error():
    before = names_of_cogency()
    with pytest.raises(ZeroDivisionError), cogency_rs.install() as made:
        assert made.missing() == []
        raise ZeroDivisionError
    assert names_of_cogency() == before


def test_an_unknown_version_is_refused_with_the_supported_ones_and_force_goes_ahead(monkeypatch):
    monkeypatch.setattr(cogency, "__version__", "4.0.0")
    before = names_of_cogency()
    with pytest.raises(ConfigError, match=r"cogency 4\.0\.0 .* supports 3\.3\.x"):
        cogency_rs.install()
    assert names_of_cogency() == before
    assert cogency_rs.install(force=True).missing() == []


def test_a_name_that_cogency_does_not_have_leaves_everything_as_it_was(monkeypatch):
    monkeypatch.delattr(cogency.lib.sqlite, "SQLite")
    before = names_of_cogency()
    with pytest.raises(ConfigError, match=r"cogency\.lib\.sqlite\.SQLite was not found"):
        cogency_rs.install()
    assert names_of_cogency() == before
    assert dropin.installation() is None


@pytest.mark.parametrize("limits", [{"tool_timeout": 0}, {"max_concurrency": 0}])
def test_a_limit_with_an_impossible_value_is_refused_by_name(limits):
    with pytest.raises(ConfigError, match=next(iter(limits))):
        cogency_rs.install(**limits)
    assert dropin.installation() is None


async def test_the_calls_results_and_errors_that_callers_get_are_cogencys_own():
    protocols, errors = sys.modules["cogency.core.protocols"], sys.modules["cogency.core.errors"]
    codec = sys.modules["cogency.core.codec"]
    with cogency_rs.install():
        block = '<execute>[{"name": "t", "args": {}}]</execute>'
        [call] = cogency.core.parser.parse_execute_block(block)
        assert type(call) is protocols.ToolCall
        assert type(codec.parse_tool_call('{"name": "t"}')) is protocols.ToolCall
        assert type(codec.parse_tool_result("text")[0]) is protocols.ToolResult
        execution = cogency.core.config.Execution(
            storage=None, tools=(), shell_timeout=1, sandbox_dir="", access="sandbox"
        )
        options = {"execution": execution, "user_id": "u", "conversation_id": "c"}
        assert (
            type(await cogency.core.executor.execute_tool(call, **options)) is protocols.ToolResult
        )
        with pytest.raises(errors.ProtocolError) as caught:
            cogency.core.parser.parse_execute_block("<execute>oops</execute>")
        assert caught.value.original_input == "<execute>oops</execute>"
        with pytest.raises(codec.ToolParseError) as caught:
            codec.parse_tool_call("{oops}")
        assert caught.value.original_json == "{oops}"
        with pytest.raises(protocols.ParseError):
            codec.parse_tool_result('{"outcome": 1}')


async def test_what_the_storage_returns_and_raises_is_cogencys_own(tmp_path):
    protocols, errors = sys.modules["cogency.core.protocols"], sys.modules["cogency.core.errors"]
    with cogency_rs.install():
        async with cogency.lib.sqlite.SQLite(tmp_path / "store.db") as storage:
            await storage.save_message("c", "u", "user", "hello there")
            [match] = await storage.search_messages("hello", "u", None)
            assert type(match) is protocols.MessageMatch
            await storage.save_profile("u", {"who": 1})
            with pytest.raises(protocols.ParseError):
                await storage.load_profile("u")
        with pytest.raises(errors.StorageError, match="closed"):
            await storage.save_message("c", "u", "user", "too late")


def test_every_tool_of_cogency_s_that_does_not_await_is_known_to_block():
    """Such tools run programs, read files and fetch pages. Only `Recall` awaits: it asks the storage."""
    tools = sys.modules["cogency.tools"]
    awaiting = {"Recall"}
    assert set(dropin.BLOCKING) | awaiting == {name for name in tools.__all__ if name[0].isupper()}


async def test_cogency_s_own_shell_calls_run_at_the_same_time_off_the_loop(tmp_path, monkeypatch):
    shell, threads = sys.modules["cogency.tools.shell"], []
    all_there = threading.Barrier(4)
    run = shell.subprocess.run

    def meet(*args, **kwargs):
        threads.append(threading.get_ident())
        all_there.wait(10)
        return run(*args, **kwargs)

    monkeypatch.setattr(shell.subprocess, "run", meet)
    call = sys.modules["cogency.core.protocols"].ToolCall("shell", {"command": "echo hello"})
    execution = cogency.core.config.Execution(
        storage=None,
        tools=(sys.modules["cogency.tools"].Shell,),
        shell_timeout=5,
        sandbox_dir=str(tmp_path),
        access="sandbox",
    )
    with cogency_rs.install():
        results = await cogency.core.executor.execute_tools(
            [call] * 4, execution=execution, user_id="u", conversation_id="c"
        )
    assert [result.content for result in results] == ["hello"] * 4
    assert threading.get_ident() not in threads


async def test_cogency_s_own_tool_error_keeps_its_message_and_is_not_logged(caplog):
    errors = sys.modules["cogency.core.errors"]

    class Refusing:
        name, description, schema = "refuse", "Refuses.", {}

        async def execute(self, **_):
            raise errors.ToolError("Path outside sandbox", validation_failed=True)

    call = sys.modules["cogency.core.protocols"].ToolCall("refuse", {})
    execution = cogency.core.config.Execution(
        storage=None, tools=(Refusing(),), shell_timeout=1, sandbox_dir="", access="sandbox"
    )
    with cogency_rs.install():
        [result] = await cogency.core.executor.execute_tools(
            [call], execution=execution, user_id="u", conversation_id="c"
        )
    assert result.outcome == "Tool execution failed: Path outside sandbox"
    assert caplog.records == []


class SlowTool:
    name, description, schema = "slow", "Waits.", {}

    def __init__(self):
        self.started, self.go_on = asyncio.Event(), asyncio.Event()

    def describe(self, args):
        return self.name

    async def execute(self, **_):
        self.started.set()
        await self.go_on.wait()
        return sys.modules["cogency.core.protocols"].ToolResult(outcome="waited")


async def test_uninstalling_does_not_disturb_a_turn_that_is_running(tmp_path):
    tool = SlowTool()
    with cogency_rs.install():
        storage = cogency.lib.sqlite.SQLite(str(tmp_path / "store.db"))
        execution = cogency.core.config.Execution(
            storage=storage, tools=(tool,), shell_timeout=1, sandbox_dir="", access="sandbox"
        )
        turn = cogency.core.accumulator.Accumulator("u", "c", execution=execution)
        events = cogency.core.parser.parse_tokens(
            '<execute>[{"name": "slow", "args": {}}]</execute>'
        )
        running = asyncio.ensure_future(_types(turn.process(events)))
        await tool.started.wait()
    assert not is_ours(cogency.core.accumulator.Accumulator)
    tool.go_on.set()
    assert await running == ["call", "execute", "result"]
    assert [row["type"] for row in await storage.load_messages("c", "u")] == ["call", "result"]
    await storage.close()


async def test_the_storage_takes_rows_of_any_type_as_cogency_s_does(tmp_path):
    with cogency_rs.install():
        storage = cogency.lib.sqlite.SQLite(str(tmp_path / "store.db"))
        await storage.save_message("c", "u", "assistant", "hello")
        await storage.append("c", user_id="u", rows=[("a type of theirs", "hello", 1.0)])
        types = {row["type"] for row in await storage.load_messages("c", "u")}
        assert types == {"assistant", "a type of theirs"}
        await storage.close()


async def test_calls_are_recorded_inside_cogency_too_and_failures_are_its_own(tmp_path):
    path = tmp_path / "store.db"
    with cogency_rs.install():
        storage = cogency.lib.sqlite.SQLite(str(path))
        execution = cogency.core.config.Execution(
            storage=storage, tools=(), shell_timeout=1, sandbox_dir="", access="sandbox"
        )
        turn = cogency.core.accumulator.Accumulator("u", "c", execution=execution)
        text = '<execute>[{"name": "unknown", "args": {}}]</execute>'
        await _types(turn.process(cogency.core.parser.parse_tokens(text)))
        [call] = await storage.calls("c")
        assert (call.name, call.status) == ("unknown", "failure")
        with pytest.raises(cogency.core.errors.StorageError):
            await storage.append("c", user_id="u", rows=[("user", "half: \ud83d", 1.0)])
        await storage.close()
    plain = cogency.lib.sqlite.SQLite(str(path))
    await plain.save_message("c", "u", "user", "and?")
    rows = await plain.load_messages("c", "u")
    assert [row["type"] for row in rows] == ["call", "result", "user"]


async def _types(events):
    return [event["type"] async for event in events]


def run_python(code):
    """Run code in a Python of its own; returns what it printed."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_install_works_before_cogency_is_imported():
    printed = run_python(
        """
        import sys, cogency_rs
        print("cogency" in sys.modules)
        cogency_rs.install()
        from cogency.core.parser import parse_tokens
        import cogency.replay
        print(parse_tokens.__module__, cogency.replay.parse_tokens is parse_tokens)
        """
    )
    assert printed == ["False", "cogency_rs.compat.dropin", "True"]


def test_without_cogency_the_error_says_what_to_install():
    printed = run_python(
        """
        import sys
        sys.modules["cogency"] = None
        import cogency_rs
        from cogency_rs.errors import ConfigError
        try:
            cogency_rs.install()
        except ConfigError as error:
            print("pip install 'cogency==3.3.*'" in str(error), cogency_rs.compat.dropin.installation())
        """
    )
    assert printed == ["True", "None"]


def test_the_plugin_runs_a_suite_on_our_core_and_says_so(tmp_path):
    suite = tmp_path / "test_suite.py"
    suite.write_text(
        "from cogency.core.parser import parse_tokens\n"
        "def test_core():\n    assert parse_tokens.__module__ == 'cogency_rs.compat.dropin'\n"
    )
    code, printed = run_pytest(suite)
    assert code == 0
    assert f"cogency-rs {cogency_rs.__version__}: in place of " in printed
    assert "names of cogency 3.3.0" in printed


def test_the_plugin_fails_a_run_that_put_an_original_back(tmp_path):
    suite = tmp_path / "test_suite.py"
    suite.write_text(
        "import cogency.core.parser\n"
        "def test_core():\n    cogency.core.parser.parse_tokens = print\n"
    )
    code, printed = run_pytest(suite)
    assert code == 1
    assert "cogency.core.parser.parse_tokens was not ours at the end" in printed


def run_pytest(suite):
    plugin = [
        "-p",
        "cogency_rs.compat.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        suite.parent,
    ]
    options = ["-W", "ignore", "-c", suite.parent / "none.ini"]
    (suite.parent / "none.ini").touch()
    command = [sys.executable, "-m", "pytest", *plugin, *options, suite]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=suite.parent)
    return done.returncode, done.stdout + done.stderr
