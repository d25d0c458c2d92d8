//! What prompts of several rows have in common.

use super::super::{
    CallsForm, Frame, Joints, JsonLayout, Prompt, ResultText, ResultsForm, Str, ToolObject,
    ToolsForm, ToolsLayout, TurnForm,
};

/// What stands before each message of an answer but the first, whose mark is the server's.
pub const ASSISTANT: &str = "<|start|>assistant";

/// A turn in which each part is a message, and a thought has this frame.
pub fn messages(before: &'static str, behind: &'static str) -> TurnForm {
    turn(before, behind, [ASSISTANT; 3])
}

/// An object that is a call or the answer; what a tool returned is an observation.
pub fn react() -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::Json(ToolObject::Function, JsonLayout::Compact),
            around: Frame::default(),
            each: Frame::new("- ", ""),
            between: "\n".into(),
        },
        turn: turn("", "", ["\n", "\n", "\n"]),
        calls: CallsForm { between: "\n".into(), unmarked: true, ..CallsForm::default() },
        results: ResultsForm {
            text: ResultText::Json,
            failure: "ERROR - ".into(),
            ..results("Observation: ", "", "\n")
        },
        ..Prompt::default()
    }
}

pub fn mistral(calls: CallsForm, results: ResultsForm) -> Prompt {
    Prompt {
        tools: array_of_tools(ToolObject::Tool, "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        turn: turn("", "", ["", "", "\n"]),
        calls,
        results,
        ..Prompt::default()
    }
}

pub fn harmony(call: &'static str, result: [&'static str; 2]) -> Prompt {
    Prompt {
        tools: ToolsForm {
            layout: ToolsLayout::TypeScript,
            around: Frame::new(
                "## functions\n\nnamespace functions {\n\n",
                "\n\n} // namespace functions",
            ),
            each: Frame::default(),
            between: "\n\n".into(),
        },
        turn: TurnForm {
            text: Frame::new("<|channel|>final<|message|>", "<|end|>"),
            preamble: Some(Frame::new("<|channel|>commentary<|message|>", "<|end|>")),
            ..messages("<|channel|>analysis<|message|>", "<|end|>")
        },
        calls: CallsForm {
            message: Frame::new(call, "<|call|>"),
            between: ASSISTANT.into(),
            ..CallsForm::default()
        },
        results: ResultsForm { text: ResultText::Json, ..results(result[0], result[1], "") },
        ..Prompt::default()
    }
}

/// Tags on lines of their own.
pub fn invokes() -> CallsForm {
    CallsForm {
        open: "\n".into(),
        between: "\n".into(),
        close: "\n".into(),
        head: "\n".into(),
        parameter: "\n".into(),
        ..CallsForm::default()
    }
}

pub fn array(json: JsonLayout) -> CallsForm {
    CallsForm { json, ..CallsForm::default() }
}

/// What stands around a thought inside its marks, behind a thought, between text and calls, and between any other parts.
pub fn turn(before: &'static str, behind: &'static str, joints: [&'static str; 3]) -> TurnForm {
    let [thought, calls, other] = joints.map(Str::from);
    TurnForm {
        thought: Frame::new(before, behind),
        joints: Some(Joints { thought, calls, other }),
        ..TurnForm::default()
    }
}

pub fn json_tools(layout: JsonLayout, between: &'static str) -> ToolsForm {
    ToolsForm {
        layout: ToolsLayout::Json(ToolObject::Tool, layout),
        around: Frame::default(),
        each: Frame::default(),
        between: between.into(),
    }
}

pub fn functions(
    before: &'static str,
    each: &'static str,
    behind_each: &'static str,
    behind: &'static str,
) -> ToolsForm {
    ToolsForm {
        layout: ToolsLayout::Json(ToolObject::Function, JsonLayout::Compact),
        around: Frame::new(before, behind),
        each: Frame::new(each, behind_each),
        between: "\n".into(),
    }
}

pub fn array_of_tools(object: ToolObject, before: &'static str, behind: &'static str) -> ToolsForm {
    ToolsForm {
        layout: ToolsLayout::Array(object, JsonLayout::Compact),
        around: Frame::new(before, behind),
        each: Frame::default(),
        between: Str::default(),
    }
}

/// Results as text, each in this frame.
pub fn results(before: &'static str, behind: &'static str, between: &'static str) -> ResultsForm {
    ResultsForm {
        each: Frame::new(before, behind),
        between: between.into(),
        ..ResultsForm::default()
    }
}
