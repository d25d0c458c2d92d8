//! A chat template, whatever is in it, is rendered or given up: it takes little memory, and the same template has the same end.
#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use cogency_rs::detect::{Source, detect};
use cogency_rs_fuzz::memory::{Counting, most_allocated};
use cogency_rs_fuzz::text;
use libfuzzer_sys::fuzz_target;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that a template may take.
const MOST_MEMORY: usize = 128 << 20;

/// Writes a conversation as models are taught it.
const HEAD: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}\
    {% for c in m.tool_calls or [] %}<tool_call>\n{{ {'name': c.function.name, 'arguments': c.function.arguments} | tojson }}\
    \n</tool_call>{% endfor %}<|im_end|>\n{% endfor %}{% set n = namespace(v='ab', l=[1, 'x']) %}";

/// What a value is: `A` and `B` are values themselves.
const VALUES: [&str; 40] = [
    "1",
    "99999",
    "-3",
    "'ab'",
    "'{:9}{}'",
    "n.v",
    "n.l",
    "messages",
    "tools",
    "[A, B]",
    "[A, A]",
    "(A, B)",
    "{'k': A, 'o': B}",
    "A ~ B",
    "A + B",
    "A * B",
    "A - B",
    "A % B",
    "A ** B",
    "A == B",
    "A in B",
    "A and B",
    "not A",
    "A[1:]",
    "A[::-1]",
    "A[B]",
    "A | join(B)",
    "A | replace('a', B)",
    "A | tojson",
    "A | tojson(indent=B)",
    "A | list",
    "A | string",
    "A | indent(B)",
    "A | map('string')",
    "A | sort",
    "A.format(B, A)",
    "A.split(B)",
    "A.strip(B)",
    "range(A)",
    "f(A)",
];

/// What is done with a value, and again and again.
const STATEMENTS: [&str; 10] = [
    "{{ A }}",
    "{% set n.v = A %}",
    "{% set n.l = A %}",
    "{% for i in range(99) %}{% set n.v = A %}{% endfor %}",
    "{% for i in range(99) %}{% set n.l = A %}{% endfor %}",
    "{% for x in A %}{{ x }}{% endfor %}",
    "{% if A %}x{% endif %}",
    "{% macro f(a) %}{{ A }}{% endmacro %}",
    "{% set t %}{{ A }}{% endset %}",
    "{% set n.l = [A, A] %}",
];

#[derive(Debug)]
struct Input(String);

impl Arbitrary<'_> for Input {
    fn arbitrary(input: &mut Unstructured<'_>) -> Result<Self> {
        let mut template = HEAD.to_owned();
        if u8::arbitrary(input)? % 4 == 0 {
            let bytes = text::from_bytes(input.bytes(input.len())?);
            template.push_str(&String::from_utf8_lossy(&bytes));
            return Ok(Self(template));
        }
        for _ in 0..1 + u8::arbitrary(input)? % 8 {
            let statement = *input.choose(&STATEMENTS)?;
            let value = value(input, 4)?;
            template.push_str(&statement.replace('A', &value));
        }
        Ok(Self(template))
    }
}

fn value(input: &mut Unstructured<'_>, depth: usize) -> Result<String> {
    let form = if depth == 0 { input.choose(&VALUES[..9])? } else { input.choose(&VALUES)? };
    let mut written = String::new();
    for part in form.split_inclusive(['A', 'B']) {
        match part.strip_suffix(['A', 'B']) {
            Some(before) => written.push_str(&format!("{before}({})", value(input, depth - 1)?)),
            None => written.push_str(part),
        }
    }
    Ok(written)
}

fuzz_target!(|input: Input| {
    let source = Source::of(input.0);
    let found = || detect(&source).map(|found| (found.dialect.name.clone(), found.doubts));
    let mut first = None;
    let most = most_allocated(|| first = found());
    assert!(most < MOST_MEMORY, "{most} bytes for {}", source.template);
    assert_eq!(first, found(), "{}", source.template);
});
