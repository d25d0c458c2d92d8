"""A model in a file, run in this process by llama.cpp."""

from __future__ import annotations

import asyncio
import importlib
import secrets
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Future
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, Self, Unpack

from .._core import Detection, Dialect
from ..errors import ConfigError, LLMError
from ..guards.arguments import MODEL_NAMES, check_count, refused, refuses_misnamed
from .failures import Service
from .http import HttpConnection
from .openai import ChatCompletions
from .request import Delta, ModelRequest
from .served_model import ServedModel
from .settings import LocalSettings, ModelSettings, Timeout, check_settings, limit_in, timeout_of

_MAGIC = b"GGUF"
_NOT_INSTALLED = (
    "LocalModel runs llama.cpp, which comes with the extra `local`: pip install 'cogency-rs[local]'. Where xllamacpp "
    "has no wheel (Windows on ARM, musl), run a server such as Ollama: OpenAIModel(base_url=...)"
)


class LocalModel:
    """A model in a GGUF file, run in this process by llama.cpp: no server to start, no key, no network.

    The file is loaded when the model is first asked, or by `load`, and stays until `aclose`. Runs that ask at the same
    time share the model; while each of its `slots` has an answer to write, further ones wait. Closing an answer stops
    the model at once.

    Args:
        path: the file.
        context: how many tokens a prompt and its answer may have together; more take more memory.
        slots: how many answers are written at the same time. Each has its own context.
        threads: how many threads compute; by default one for each physical core.
        gpu_layers: how many layers of the model a graphics card computes, if llama.cpp was built for it; by default as
            many as fit.
        settings: sent with every request, see `LocalSettings`. Any other field of llama.cpp's server goes into
            `extra_body`.

    Attributes:
        name: the file's name, without its ending.
        detection: what the file's chat template shows of the dialect; `None` if it shows none.
        dialect: how the model writes its calls, as the template shows; `None` if it shows none.

    Raises:
        ConfigError: llama.cpp is not installed, the file does not exist or is not GGUF, or an argument is invalid.

    It needs the extra `local`. llama.cpp's own server runs the model, on a local port and with a random key.
    """

    calls_natively = False
    provider = "llama.cpp"
    takes_grammar = True
    transport = "local"
    keeps_messages = True

    @refuses_misnamed("LocalModel", MODEL_NAMES)
    def __init__(
        self,
        path: str | PathLike[str],
        *,
        context: int = 8192,
        slots: int = 2,
        threads: int | None = None,
        gpu_layers: int | None = None,
        **settings: Unpack[LocalSettings],
    ) -> None:
        check_settings("LocalModel", settings, LocalSettings)
        if not isinstance(path, str | PathLike):
            raise refused("path", path, "the path of a GGUF file")
        self._path = _checked(Path(path))
        self.name = self._path.stem
        self.detection = _detected(self._path)
        self.dialect = self.detection and self.detection.dialect
        check_count("context", context, or_none=False)
        check_count("slots", slots, or_none=False)
        check_count("threads", threads)
        check_count("gpu_layers", gpu_layers, least=0)
        if find_spec("xllamacpp") is None:
            raise ConfigError(_NOT_INSTALLED)
        self._context, self._slots = context, slots
        self._threads, self._gpu_layers = threads, gpu_layers
        self._settings = settings
        self._lock = threading.Lock()  # runs may be in several threads; held for a moment only
        self._loading: Future[_Loaded] | None = None
        timeout_of(ModelSettings(settings).of_client)  # refuses those that no question could have

    def __repr__(self) -> str:
        return f"LocalModel({str(self._path)!r})"

    async def load(self) -> None:
        """Load the file, if it is not loaded. In a terminal, a line says so meanwhile.

        Nothing else in the process runs until it is loaded, as llama.cpp's binding does not release the GIL.
        A service loads it before it answers.

        Raises:
            LLMError: llama.cpp cannot run the model.
        """
        await self._loaded()

    def output_limit(self, request: ModelRequest) -> str | None:
        """The setting that bounds the length of the answer to this request; see `Model`."""
        return limit_in(self._settings, request.settings)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """Ask, and yield the answer while it is written; see `Model`.

        Raises:
            LLMError: llama.cpp cannot run the model, or refused the request. The message says what to do.
        """
        while not self._takes(loaded := await self._loaded()):
            pass  # it was closed in this moment, and is loaded again
        try:
            async with aclosing(loaded.client.stream(request)) as answer:
                async for delta in answer:
                    loaded.has_answered = True
                    yield delta
        finally:
            self._lets_go(loaded)

    async def aclose(self) -> None:
        """Free the model's memory, once no answer is being written. If asked again, the model is loaded again."""
        with self._lock:
            loading, self._loading = self._loading, None
        if loading is None:
            return
        try:
            loaded = await asyncio.shield(asyncio.wrap_future(loading))
        except LLMError:
            return
        self._lets_go(loaded)
        await asyncio.shield(asyncio.wrap_future(loaded.is_unused))
        if not loaded.has_answered:
            await _first_answer(loaded.client)
        await loaded.client.aclose()
        await asyncio.to_thread(loaded.server.clear)  # llama.cpp waits for its threads

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _loaded(self) -> _Loaded:
        """The model, loaded. Of all that ask at first, one loads it; it goes on if those that wait are cancelled."""
        with self._lock:
            if (loading := self._loading) is None:
                loading = self._loading = Future()
                threading.Thread(target=self._load, args=(loading,), name=repr(self)).start()
        return await asyncio.shield(asyncio.wrap_future(loading))

    def _takes(self, loaded: _Loaded) -> bool:
        with self._lock:
            loaded.users += bool(loaded.users)
            return bool(loaded.users)

    def _lets_go(self, loaded: _Loaded) -> None:
        with self._lock:
            loaded.users -= 1
            is_unused = not loaded.users
        if is_unused:
            loaded.is_unused.set_result(None)

    def _load(self, loading: Future[_Loaded]) -> None:
        llama: Any = importlib.import_module("xllamacpp")
        key = secrets.token_urlsafe(32)
        try:
            with _shown(f"loading {self.name} ({self._path.stat().st_size / 1e6:,.0f} MB)"):
                server = llama.Server(self._parameters(llama, key))
            loading.set_result(_Loaded([server], self._served(server.listening_address, key)))
        except Exception as error:
            with self._lock:
                if self._loading is loading:
                    self._loading = None  # the next that asks tries again
            loading.set_exception(
                LLMError(
                    f"llama.cpp cannot run {str(self._path)!r}: the file may be damaged or of an unknown kind, or "
                    f"context={self._context} and slots={self._slots} may take more memory than there is ({error})",
                    cause=error,
                )
            )

    def _parameters(self, llama: Any, key: str) -> Any:
        given = llama.CommonParams()
        given.model.path = str(self._path)
        given.model_alias = {self.name}
        given.hostnames, given.port, given.api_keys = ["127.0.0.1"], 0, [key]
        given.endpoint_slots = given.endpoint_props = given.endpoint_metrics = given.ui = False
        given.offline = True
        given.verbosity = -1
        given.sse_ping_interval = 1  # seconds in which it notices that nobody reads an answer
        given.n_parallel, given.n_ctx = self._slots, self._context * self._slots
        if self._threads is not None:
            given.cpuparams.n_threads = given.cpuparams_batch.n_threads = self._threads
        if self._gpu_layers is not None:
            given.n_gpu_layers = self._gpu_layers
        return given

    def _served(self, address: str, key: str) -> ServedModel:
        # No proxy is between, and it waits as long as the model computes.
        connection = HttpConnection(
            f"{address}/v1",
            key,
            lambda key: {"authorization": f"Bearer {key}"},
            models_path="/models",
            proxy="",
            verify=None,
            timeout=Timeout(read=None),
        )
        return ServedModel(
            structured_output=False,
            provider=self.provider,
            service=Service(connection, self.name, str(self._path), key=""),
            endpoint=ChatCompletions(None, counts_along=True),
            settings={"timeout": None, "max_retries": 0, **self._settings},
        )


@dataclass
class _Loaded:
    """A model that is loaded.

    Attributes:
        server: llama.cpp's server, in a list so that its last reference can be dropped, which stops it. It would keep
            the interpreter meanwhile if it still wrote an answer.
        client: asks it.
        users: how many answers are being written, and one more until it is closed.
        is_unused: done when there is no user left.
        has_answered: whether it has answered anything.
    """

    server: list[Any]
    client: ServedModel
    users: int = 1
    is_unused: Future[None] = field(default_factory=Future[None])
    has_answered: bool = False


async def _first_answer(client: ServedModel) -> None:
    """Ask for one token: a server of llama.cpp that is dropped before it has begun to work never ends."""
    shortest = ModelRequest([{"role": "user", "content": "."}], settings={"max_tokens": 1})
    with suppress(LLMError):
        async with aclosing(client.stream(shortest)) as answer:
            async for _ in answer:
                pass


def _checked(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except OSError as error:
        raise ConfigError(
            f"the model {str(path)!r} cannot be read: {error.strerror}; name a GGUF file, such as one of "
            "https://huggingface.co/models?library=gguf"
        ) from error
    if begins != _MAGIC:
        raise ConfigError(
            f"{str(path)!r} is not a GGUF file, which is what llama.cpp runs: look for a file that ends in .gguf"
        )
    return path


def _detected(path: Path) -> Detection | None:
    try:
        return Dialect.detect(path)
    except ConfigError:  # it has no chat template, or its head is damaged, as llama.cpp will say
        return None


@contextmanager
def _shown(line: str) -> Generator[None, None, None]:
    """Show a line in the terminal, if there is one, while the block lasts."""
    # The name of a file may hold anything.
    line = "".join(each if each.isprintable() else "\ufffd" for each in line)
    is_shown = sys.stderr is not None and sys.stderr.isatty()
    if is_shown:
        print(f"{line} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
