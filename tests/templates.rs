//! The response templates that models ship: which are read, and that the dialects read their models' texts.

use std::path::PathBuf;
use std::sync::Arc;

use cogency_rs::dialect::Dialect;
use cogency_rs::dialect::template::{TemplateError, from_response_template};
use cogency_rs::protocol::stored::ShownCall;
use cogency_rs::protocol::write::Renderer;
use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser};
use serde_json::Value;

/// What becomes of a template.
enum Is {
    /// It is read; its dialect reads a text as these events.
    Read(&'static str, &'static [&'static str]),
    /// It is refused for this field.
    Refused(&'static str),
}

const QWEN2: Is = Is::Read(
    "<think>\nHm.\n</think>\n\nLet me see.\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": \"</tool_call>\"}}\n\
     </tool_call>\n<tool_call>\n{\"name\": \"b\", \"arguments\": {}}\n</tool_call><|im_end|>\n",
    &[
        "think Hm.",
        "respond Let me see.",
        r#"call {"name": "a", "args": {"x": "</tool_call>"}}"#,
        r#"call {"name": "b", "args": {}}"#,
    ],
);
const QWEN3_5: Is = Is::Read(
    "<think>\nHm.\n</think>\n\nLet me see.\n\n<tool_call>\n<function=get.it>\n<parameter=x>\n 1\n2 \n</parameter>\n\
     <parameter=y>\n<b> </parameter> \"q\"\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=b>\n</function>\n\
     </tool_call><|im_end|>",
    &[
        "think Hm.",
        "respond Let me see.",
        r#"call {"name": "get.it", "args": {"x": "1\n2", "y": "<b> </parameter> \"q\""}}"#,
        r#"call {"name": "b", "args": {}}"#,
    ],
);
const QWEN3_JSON: Is = Is::Read(
    "<think>Hm.</think><tool_call><function=a><parameter=x>[1, \"2\"]</parameter><parameter=y>two\nlines</parameter></function>\
     </tool_call>",
    &["think Hm.", r#"call {"name": "a", "args": {"x": [1, "2"], "y": "two\nlines"}}"#],
);
const GEMMA4: Is = Is::Read(
    "<|channel>thought\nHm.<channel|>Let me see.<|tool_call>call:a{x:<|\"|>{<tool_call|>}<|\"|>,y:[1,{k:true}]}<tool_call|>\
     <|tool_call>call:b{}<tool_call|><turn|>",
    &[
        "think Hm.",
        "respond Let me see.",
        r#"call {"name": "a", "args": {"x": "{<tool_call|>}", "y": [1, {"k": true}]}}"#,
        r#"call {"name": "b", "args": {}}"#,
    ],
);
const TEMPLATES: [(&str, Is); 19] = [
    ("transformers_fallback_qwen2", QWEN2),
    ("transformers_fallback_qwen3_5", QWEN3_5),
    ("transformers_fallback_gemma4", GEMMA4),
    (
        "hf_test_cohere_template",
        Is::Read(
            "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n{\"tool_call_id\": \"0\", \"tool_name\": \"a\", \
             \"parameters\": {\"x\": [1]}},\n{\"tool_call_id\": \"1\", \"tool_name\": \"b\", \"parameters\": {}}\n]\
             <|END_ACTION|><|START_RESPONSE|>Done.<|END_RESPONSE|>",
            &[
                "think Hm.",
                r#"call {"name": "a", "args": {"x": [1]}}"#,
                r#"call {"name": "b", "args": {}}"#,
                "respond Done.",
            ],
        ),
    ),
    (
        "hf_test_ernie_template",
        Is::Read(
            "Hm.\n</think>\n\n<response>\nLet me see.\n</response>\n\n<tool_call>\n{\"name\": \"a\", \"arguments\": {\"x\": 1}}\n\
             </tool_call>\n",
            &["think Hm.", "respond Let me see.", r#"call {"name": "a", "args": {"x": 1}}"#],
        ),
    ),
    (
        "hf_test_gpt_oss_template",
        Is::Read(
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.a \
             <|constrain|>json<|message|>{\"x\": \"<|end|>\"}<|call|>",
            &["think Hm.", r#"call {"name": "a", "args": {"x": "<|end|>"}}"#],
        ),
    ),
    ("hf_test_smollm_template", QWEN2),
    ("hf_test_qwen3_template", QWEN3_JSON),
    ("hf_test_gemma4_template", GEMMA4),
    ("hf_test_inkling_template", Is::Refused("fields.thinking.open_pattern")),
    ("trl_qwen3_template", QWEN2),
    ("trl_qwen3_5_template", QWEN3_5),
    (
        "trl_glm4moe_template",
        Is::Read(
            "<think>Hm.</think>\nLet me see.\n<tool_call>a\n<arg_key>x</arg_key>\n<arg_value> 1 </arg_value>\n\
             <arg_key>y z</arg_key>\n<arg_value>two\nlines</arg_value>\n</tool_call>\n<tool_call>b\n</tool_call><|user|>",
            &[
                "think Hm.",
                "respond Let me see.",
                r#"call {"name": "a", "args": {"x": "1", "y z": "two\nlines"}}"#,
                r#"call {"name": "b", "args": {}}"#,
            ],
        ),
    ),
    (
        "trl_llama3_template",
        Is::Read(
            "Let me see. {\"name\": \"a\", \"parameters\": {\"x\": {\"y\": \"}<|eot_id|>\"}}}<|eot_id|>",
            &["respond Let me see.", r#"call {"name": "a", "args": {"x": {"y": "}<|eot_id|>"}}}"#],
        ),
    ),
    (
        "trl_gptoss_template",
        Is::Read(
            " to=functions.a<|channel|>commentary json<|message|>{\"x\": 1}<|call|>",
            &[r#"call {"name": "a", "args": {"x": 1}}"#],
        ),
    ),
    (
        "trl_lfm2_2_5_template",
        Is::Read(
            "<think>Hm.</think><|tool_call_start|>[a(x='1, 2', y=[1, {'k': True}]), b()]<|tool_call_end|>Done.<|im_end|>",
            &[
                "think Hm.",
                r#"call {"name": "a", "args": {"x": "1, 2", "y": [1, {"k": true}]}}"#,
                r#"call {"name": "b", "args": {}}"#,
                "respond Done.",
            ],
        ),
    ),
    (
        "trl_nemotron_3_template",
        Is::Read(
            "Hm.\n</think>\n\n<tool_call>\n<function=a>\n<parameter=x>\n1\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
            &["think Hm.", r#"call {"name": "a", "args": {"x": "1"}}"#],
        ),
    ),
    ("trl_gemma4_template", GEMMA4),
    (
        "trl_deepseek_r1_distill_template",
        Is::Read("Hm.\n</think>\n\nDone.<｜end▁of▁sentence｜>", &["think Hm.", "respond Done."]),
    ),
];

/// The templates by name; `None`, with a message, if they are absent.
fn templates() -> Option<Vec<(String, Value)>> {
    let folder = std::env::var_os("COGENCY_RS_RECORDINGS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data"),
        PathBuf::from,
    );
    let file = folder.join("response_templates.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: no {}; name its folder in COGENCY_RS_RECORDINGS", file.display());
        return None;
    };
    let all: Value = serde_json::from_str(&text).expect("the templates are JSON");
    let row =
        |row: &Value| (row["name"].as_str().unwrap_or_default().into(), row["template"].clone());
    Some(all["templates"].as_array().expect("a list of templates").iter().map(row).collect())
}

fn read(grammar: &Arc<Grammar>, begins_in_think: bool, pieces: &[&str]) -> Vec<String> {
    let options = Options { begins_in_think, ..Options::default() };
    let mut parser = Parser::new(Arc::clone(grammar), options);
    let mut events = Vec::new();
    for piece in pieces {
        parser.feed(piece, &mut events);
    }
    parser.finish(&Ending::Stopped, &mut events);
    events.iter().filter_map(shown).collect()
}

/// An event as the table has it; `None` for blank text, and for the event that runs the calls.
fn shown(event: &Event) -> Option<String> {
    let text =
        |text: &cogency_rs::protocol::Text| text.to_str().expect("no surrogate").trim().to_owned();
    match event {
        Event::Think(run) | Event::Respond(run) if run.is_blank() => None,
        Event::Think(run) => Some(format!("think {}", text(run))),
        Event::Respond(run) => Some(format!("respond {}", text(run))),
        Event::Call(call) => Some(format!("call {}", call.json())),
        Event::Execute => None,
        other => Some(format!("{other:?}")),
    }
}

#[test]
fn templates_are_read_or_refused_as_the_table_says() {
    let Some(templates) = templates() else { return };
    let names: Vec<_> = templates.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, TEMPLATES.map(|(name, _)| name));
    for ((name, template), (_, is)) in templates.iter().zip(&TEMPLATES) {
        match (from_response_template(template), is) {
            (Ok(dialect), Is::Read(..)) => {
                dialect.check().unwrap_or_else(|error| panic!("{name}: {error}"));
                let json = serde_json::to_value(&dialect).expect("a dialect is JSON");
                assert_eq!(serde_json::from_value::<Dialect>(json).ok(), Some(dialect), "{name}");
            }
            (Err(TemplateError { field, .. }), Is::Refused(expected)) => {
                assert_eq!(field, *expected, "{name}");
            }
            (Ok(_), Is::Refused(_)) => panic!("{name} is read"),
            (Err(error), Is::Read(..)) => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn a_translated_dialect_reads_its_model_however_the_text_is_cut() {
    let Some(templates) = templates() else { return };
    for ((name, template), (_, is)) in templates.iter().zip(&TEMPLATES) {
        let Is::Read(text, expected) = is else { continue };
        let dialect =
            from_response_template(template).unwrap_or_else(|error| panic!("{name}: {error}"));
        let begins = dialect.begins_in_reasoning;
        let grammar = Arc::new(Grammar::new(vec![Arc::new(dialect)]));
        assert_eq!(read(&grammar, begins, &[text]), *expected, "{name}");
        for (at, _) in text.char_indices() {
            let (first, second) = text.split_at(at);
            assert_eq!(read(&grammar, begins, &[first, second]), *expected, "{name}, cut at {at}");
        }
        let single: Vec<&str> = text.split("").collect();
        assert_eq!(read(&grammar, begins, &single), *expected, "{name}, character by character");
    }
}

#[test]
fn a_translated_dialect_reads_the_calls_that_it_writes() {
    let Some(templates) = templates() else { return };
    let call = |name: &str, args: &str| ShownCall {
        name: format!("\"{name}\""),
        args: args.into(),
        id: None,
        server: None,
    };
    let calls = [call("a", r#"{"x": "two\nlines, </a> \"q\"", "y": "b"}"#), call("b_2", "{}")];
    for (name, template) in templates {
        let Ok(dialect) = from_response_template(&template) else { continue };
        if dialect.calls.bodies.is_empty() {
            continue; // it has no calls
        }
        let dialect = Arc::new(dialect);
        let written = Renderer::new(Arc::clone(&dialect)).calls(&calls, true);
        let grammar = Arc::new(Grammar::new(vec![dialect]));
        let text = written.to_str().expect("no surrogate");
        let expected = calls.each_ref().map(|ShownCall { name, args, .. }| {
            format!(r#"call {{"name": {name}, "args": {args}}}"#)
        });
        assert_eq!(read(&grammar, false, &[text]), expected, "{name}: {text}");
    }
}
