//! What rows have in common.

use super::super::{
    Args, BatchEnd, Body, Dialect, Flag, Frame, Head, HeadForm, Json, JsonShape, LoneMark,
    MessageHeads, Pair, Parameters, Python, Str, Trim, Unmarked, Untyped,
};
use super::super::{models, prompts, tokens};

/// What most models reason between.
pub(super) const THINK: (&str, &str) = ("<think>", "</think>");

/// A dialect with nothing but a name and a body.
pub(super) fn dialect(name: &'static str, body: Body) -> Dialect {
    Dialect {
        name: name.into(),
        models: models::models(name),
        reasoning: Vec::new(),
        begins_in_reasoning: false,
        answer: Vec::new(),
        results: Vec::new(),
        heads: None,
        at_line_start: false,
        open: Vec::new(),
        close: Vec::new(),
        unmarked: Unmarked::Never,
        bodies: vec![body],
        batch: BatchEnd::Answer,
        lone_mark: LoneMark::Text,
        end: Vec::new(),
        turn_end: Vec::new(),
        ignored: Vec::new(),
        tokens: tokens::tokens(name),
        stop: marks(prompts::stop(name)),
        prompt: prompts::prompt(name),
    }
}

impl Dialect {
    /// The same, with the prompts of another row.
    pub(super) fn prompted_as(mut self, relative: &str) -> Self {
        self.stop = marks(prompts::stop(relative));
        self.prompt = prompts::prompt(relative);
        self
    }

    /// A row that names no stops of its own has the marks that end its model's turn, and of its relative those that only the
    /// system writes.
    pub(super) fn stop_at_its_end(&mut self) {
        if !prompts::stop(&self.name).is_empty() {
            return;
        }
        let Frame { before, .. } = &self.prompt.results.around;
        let frames = [before, &self.prompt.results.each.before];
        self.stop.retain(|stop| frames.iter().any(|frame| frame.contains(&**stop)));
        // One that calls may begin with would cut them off.
        let begins_calls = |end: &&Str| self.open.iter().any(|open| open.starts_with(&***end));
        let ends = self.turn_end.iter().filter(|end| !begins_calls(end)).cloned();
        self.stop.splice(..0, ends);
    }

    /// The same, with another body that is read too.
    pub(super) fn or(mut self, body: Body) -> Self {
        self.bodies.push(body);
        self
    }

    /// The same, with the marks and blocks of another row, which are read too.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.bodies.extend(other.bodies);
        add(&mut self.reasoning, other.reasoning);
        add(&mut self.answer, other.answer);
        for (own, others) in [
            (&mut self.open, other.open),
            (&mut self.close, other.close),
            (&mut self.turn_end, other.turn_end),
            (&mut self.ignored, other.ignored),
            (&mut self.tokens, other.tokens),
        ] {
            add(own, others);
        }
        self
    }
}

/// Adds what is not there yet.
fn add<T: PartialEq>(own: &mut Vec<T>, others: Vec<T>) {
    for other in others {
        if !own.contains(&other) {
            own.push(other);
        }
    }
}

pub(super) fn marks(marks: &[&'static str]) -> Vec<Str> {
    marks.iter().map(|&mark| mark.into()).collect()
}

pub(super) fn pairs(pairs: &[(&'static str, &'static str)]) -> Vec<Pair> {
    pairs.iter().map(|&(open, close)| Pair { open: open.into(), close: close.into() }).collect()
}

pub(super) fn json_form(shape: JsonShape, name: &[&'static str], args: &[&'static str]) -> Json {
    Json {
        shape,
        name: marks(name),
        args: marks(args),
        args_optional: false,
        args_as_text: false,
        empty_names: false,
        skips_others: false,
        id: None,
        server: None,
        decision: None,
    }
}

pub(super) fn json(shape: JsonShape, name: &[&'static str], args: &[&'static str]) -> Body {
    Body::Json(json_form(shape, name, args))
}

pub(super) fn head_form(
    open: &'static str,
    ends: &[&'static str],
    form: HeadForm,
    args: Args,
    close: &'static str,
) -> Head {
    let (open, ends, close) = (open.into(), marks(ends), close.into());
    Head { open, ends, form, args, close, until: Vec::new(), bare: false }
}

pub(super) fn head(
    open: &'static str,
    ends: &[&'static str],
    form: HeadForm,
    args: Args,
    close: &'static str,
) -> Body {
    Body::Head(head_form(open, ends, form, args, close))
}

pub(super) fn parameters_form(
    open: &'static str,
    key_end: &'static str,
    value_open: &'static str,
    close: &'static str,
) -> Parameters {
    Parameters {
        around: None,
        whole: None,
        open: open.into(),
        key_end: key_end.into(),
        value_open: value_open.into(),
        close: close.into(),
        entities: false,
        flag: None,
        trim: Trim::Nothing,
        untyped: Untyped::Text,
    }
}

/// `<function=NAME><parameter=KEY>value</parameter></function>`, also without a block around it.
pub(super) fn functions(trim: Trim) -> Body {
    let parameters = Parameters { trim, ..parameters_form("<parameter=", ">", "", "</parameter>") };
    Body::Head(Head {
        bare: true,
        ..head_form(
            "<function=",
            &[">"],
            HeadForm::Name,
            Args::Parameters(parameters),
            "</function>",
        )
    })
}

/// `<parameter name="KEY">value</parameter>`, with something in front of the tags' names.
pub(super) fn parameters(before: &str, trim: Trim) -> Parameters {
    Parameters {
        open: format!("<{before}parameter name=\"").into(),
        close: format!("</{before}parameter>").into(),
        trim,
        ..parameters_form("", "\">", "", "")
    }
}

/// `<invoke name="NAME">…</invoke>`, likewise.
pub(super) fn invoke(before: &str, parameters: Parameters) -> Head {
    Head {
        open: format!("<{before}invoke name=\"").into(),
        close: format!("</{before}invoke>").into(),
        ..head_form("", &["\">"], HeadForm::Name, Args::Parameters(parameters), "")
    }
}

/// `DeepSeek`'s reasoning and its end.
pub(super) fn deepseek(name: &'static str, body: Body) -> Dialect {
    Dialect {
        reasoning: pairs(&[THINK]),
        turn_end: marks(&["<｜end▁of▁sentence｜>"]),
        ..dialect(name, body)
    }
}

pub(super) fn dsml(
    name: &'static str,
    open: &'static str,
    close: &'static str,
    space: &str,
) -> Dialect {
    let before = format!("｜DSML｜{space}");
    let parameters = Parameters {
        key_end: "\"".into(),
        value_open: ">".into(),
        flag: Some(Flag { name: "string".into(), text: "true".into(), json: "false".into() }),
        ..parameters(&before, Trim::Nothing)
    };
    Dialect {
        open: marks(&[open]),
        close: marks(&[close]),
        ignored: marks(&["</think>", close]),
        ..deepseek(name, Body::Head(Head { bare: true, ..invoke(&before, parameters) }))
    }
}

pub(super) fn dsml_v4(name: &'static str) -> Dialect {
    dsml(name, "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", "")
}

/// With a space in front of each word.
pub(super) fn dsml_v41(name: &'static str) -> Dialect {
    dsml(name, "<｜DSML｜ calls>", "</｜DSML｜ calls>", " ")
}

/// Kimi K3's marks, whose words are between tokens; a server that shows tokens puts a space on each side of a word.
pub(super) fn kimi_k3(space: &str) -> Dialect {
    let open = |word: &str| Str::from(format!("<|open|>{space}{word}{space}<|sep|>"));
    let close = |word: &str| Str::from(format!("<|close|>{space}{word}{space}<|sep|>"));
    let pair = |word| Pair { open: open(word), close: close(word) };
    let parameters = Parameters {
        whole: Some(Pair { open: open("json type=\"object\""), close: close("json") }),
        open: format!("<|open|>{space}argument key=\"").into(),
        close: close("argument"),
        entities: true,
        flag: Some(Flag { name: "type".into(), text: "string".into(), json: "".into() }),
        ..parameters_form("", "\"", "<|sep|>", "")
    };
    let call = Head {
        open: format!("<|open|>{space}call ").into(),
        close: close("call"),
        ..head_form(
            "",
            &["<|sep|>"],
            HeadForm::Attributes("tool".into()),
            Args::Parameters(parameters),
            "",
        )
    };
    Dialect {
        reasoning: vec![pair("think")],
        answer: vec![pair("response")],
        open: vec![open("tools")],
        close: vec![close("tools")],
        turn_end: vec![close("message"), "<|end_of_msg|>".into()],
        ..dialect("kimi-k3", Body::Head(call))
    }
}

/// Qwen's marks around calls.
pub(super) fn qwen(name: &'static str, body: Body) -> Dialect {
    Dialect {
        reasoning: pairs(&[THINK]),
        open: marks(&["<tool_call>"]),
        close: marks(&["</tool_call>"]),
        ignored: marks(&["</think>", "</tool_call>"]),
        turn_end: marks(&["<|im_end|>", "<|endoftext|>"]),
        ..dialect(name, body)
    }
}

/// One JSON object between the same marks.
pub(super) fn hermes(name: &'static str) -> Dialect {
    Dialect {
        ignored: marks(&["</think>"]),
        ..qwen(name, json(JsonShape::Object, &["name"], &["arguments"]))
    }
}

/// A section of calls, and the marks of results that a model may write itself.
pub(super) fn deepseek_section(name: &'static str, body: Body) -> Dialect {
    Dialect {
        open: marks(&["<｜tool▁calls▁begin｜>"]),
        close: marks(&["<｜tool▁calls▁end｜>"]),
        ignored: marks(&[
            "</think>",
            "<｜tool▁outputs▁begin｜>",
            "<｜tool▁output▁begin｜>",
            "<｜tool▁output▁end｜>",
            "<｜tool▁outputs▁end｜>",
        ]),
        ..deepseek(name, body)
    }
}

/// Step 3: tags inside of `DeepSeek`'s marks, whose bars and joints are others.
pub(super) fn step3() -> Dialect {
    let call = |open: &'static str| {
        Body::Head(Head {
            open: open.into(),
            close: "</steptml:invoke><｜tool_call_end｜>".into(),
            ..invoke(
                "steptml:",
                Parameters { untyped: Untyped::Json, ..parameters("steptml:", Trim::Nothing) },
            )
        })
    };
    Dialect {
        reasoning: pairs(&[THINK]),
        open: marks(&["<｜tool_calls_begin｜>"]),
        close: marks(&["<｜tool_calls_end｜>"]),
        ignored: marks(&["</think>"]),
        turn_end: marks(&["<|EOT|>"]),
        ..dialect(
            "step3",
            call("<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\""),
        )
        .or(call("<｜tool_call_begin｜><steptml:invoke name=\""))
        .prompted_as("minimax-m2")
    }
}

/// Python calls in a list, wherever it stands.
pub(super) fn pythonic(name: &'static str) -> Dialect {
    Dialect {
        unmarked: Unmarked::Anywhere,
        open: marks(&["<|python_start|>"]),
        close: marks(&["<|python_end|>"]),
        ignored: marks(&["<|python_end|>"]),
        turn_end: marks(&["<|eot|>", "<|eom|>"]),
        ..dialect(name, Body::Python(Python::List))
    }
}

/// Messages on channels; what stands before the name of a tool in a recipient.
pub(super) fn channels(prefix: &'static str) -> MessageHeads {
    MessageHeads {
        open: marks(&["<|start|>", "<|channel|>"]),
        channel: "<|channel|>".into(),
        recipient: "to=".into(),
        end: "<|message|>".into(),
        close: marks(&["<|end|>", "<|call|>", "<|return|>"]),
        reasoning: marks(&["analysis"]),
        answer: marks(&["assistant", "user"]),
        prefix: prefix.into(),
        names_call: true,
    }
}

/// Messages to the model itself, to the user, and to tools, with calls in those.
pub(super) fn muse(name: &'static str) -> Dialect {
    let parameters = Parameters { untyped: Untyped::Json, ..parameters("atem:", Trim::Nothing) };
    Dialect {
        heads: Some(MessageHeads {
            open: marks(&["<|start|>"]),
            channel: "".into(),
            recipient: "to=".into(),
            end: "<|message|>".into(),
            close: marks(&["<|eom|>", "<|eot|>"]),
            reasoning: marks(&["self"]),
            answer: marks(&["assistant", "user", "commentary"]),
            prefix: "".into(),
            names_call: false,
        }),
        open: marks(&["<atem:function_calls>"]),
        close: marks(&["</atem:function_calls>"]),
        ignored: marks(&["</atem:function_calls>", "<|message|>"]),
        turn_end: marks(&["<|eot|>"]),
        ..dialect(
            name,
            Body::Head(Head {
                bare: true,
                open: "<atem:invoke ".into(),
                ends: marks(&[">"]),
                form: HeadForm::Attributes("name".into()),
                ..invoke("atem:", parameters)
            }),
        )
        .prompted_as("muse-glimmer")
    }
}
