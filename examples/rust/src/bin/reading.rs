//! Reads a model's text into events, however it is cut: `cargo run --bin reading`.

use cogency_rs::protocol::{Ending, Event, Grammar, Options, Parser};

fn main() {
    let grammar = Grammar::preset("hermes").expect("a row of the table");
    let mut parser = Parser::new(grammar, Options::default());
    let mut events = Vec::new();
    for chunk in [
        "I look it up.<tool",
        "_call>\n{\"name\": \"weather\", \"argu",
        "ments\": {\"city\": \"Oslo\"}}\n</tool_call>",
    ] {
        parser.feed(chunk, &mut events);
    }
    parser.finish(&Ending::Stopped, &mut events);
    for event in events {
        match event {
            Event::Respond(text) => println!("text: {text}"),
            Event::Call(call) => println!("call: {}", call.json()),
            Event::Execute => println!("the calls are complete: run them"),
            Event::Error(report) => println!("what could not be read: {}", report.content),
            other => println!("{other:?}"),
        }
    }
}
