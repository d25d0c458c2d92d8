#!/usr/bin/env bash
# The package's tests, with AddressSanitizer in the core and Python's objects in memory that it watches.
#
#   tools/asan.sh [arguments of pytest]
#
# It finds what the core does to memory that is freed or not its own, be it Rust's or Python's. Leaks are not looked
# for: Python itself frees little when it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
asan=$PWD/target/asan
triple=$(rustc +nightly --print host-tuple)

# Release code, as it is installed, but for checks of its own besides: of overflows, and of what unsafe code relies on.
RUSTFLAGS="-Zsanitizer=address -Zub-checks -Coverflow-checks" \
	cargo +nightly build --quiet --lib --profile profiling --target "$triple" --target-dir "$asan"

# rustc links the sanitizer's runtime into programs only, and the program is Python here. So the runtime becomes a
# library that is loaded first; it goes without the one part that only a program may hold.
cp "$(rustc +nightly --print target-libdir)/librustc-nightly_rt.asan.a" "$asan/runtime.a"
ar d "$asan/runtime.a" asan_preinit.cpp.o
cc -shared -o "$asan/runtime.so" -Wl,--whole-archive "$asan/runtime.a" -Wl,--no-whole-archive -lpthread -ldl -lm -lrt -lstdc++

rm -rf "$asan/site"
mkdir "$asan/site"
cp -r python/cogency_rs "$asan/site/"
cp "$asan/$triple/profiling/libcogency_rs_python.so" "$asan/site/cogency_rs/_core.abi3.so"

# Reports go to files: pytest keeps what a test prints, and dies with the first one.
rm -f "$asan"/report.*
export PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:log_path=$asan/report LD_PRELOAD=$asan/runtime.so PYTHONPATH=$asan/site
.venv/bin/python -c "import cogency_rs._core as core; assert core.__file__.startswith('$asan'), core.__file__"
# What starts programs that the sanitizer cannot be loaded into: a browser, a server in C++ that throws exceptions, and
# servers that get an environment of their own. Everything is ten times slower, so no example has a deadline.
cannot=(tests/examples/test_web_page.py tests/unit/test_llama_server.py tests/unit/test_cli_serve.py)
status=0
.venv/bin/python -m pytest -q -o timeout=900 --hypothesis-profile=ci "${cannot[@]/#/--ignore=}" "$@" || status=$?
unset LD_PRELOAD
for report in "$asan"/report.*; do
	[ -e "$report" ] || continue
	cat "$report" >&2
	status=1
done
exit $status
