//! Folds the rows of a log into the messages that a model is sent: `cargo run --bin folding`.

use cogency_agent::{LogRow, fold};
use cogency_rs::context::{FoldOptions, Rules};
use cogency_rs::dialect::presets;
use cogency_rs::turn::{Row, RowKind};

fn main() {
    let row = |kind, content: &str, timestamp| {
        LogRow::from(Row { kind, content: content.into(), timestamp })
    };
    let call = r#"{"name": "weather", "args": {"city": "Oslo"}}"#;
    let result = r#"[{"tool": "weather", "status": "success", "content": "4 degrees"}]"#;
    let rows = [
        LogRow::user("How warm is it in Oslo?", 1.0),
        row(RowKind::Respond, "I look it up.", 2.0),
        row(RowKind::Call, call, 2.0),
        row(RowKind::Result, result, 3.0),
        row(RowKind::Call, call, 4.0), // the program ended before this call had a result
    ];
    let options = FoldOptions {
        dialect: presets::preset("hermes").expect("a row of the table"),
        rules: Rules::Own,
        ..FoldOptions::default()
    };
    for message in fold(&rows, options) {
        println!("{:?}: {}\n", message.role, message.content);
    }
}
