//! Takes turns until the model has answered; a script plays the model: `cargo run --bin turn`.

use std::time::{SystemTime, UNIX_EPOCH};

use cogency_agent::execution::{Effect, Toolbox, tool};
use cogency_agent::{Log, LogRow, MemoryLog, TurnSetup, chunks, take_turn};
use cogency_rs::protocol::{Event, Grammar};
use cogency_rs::turn::{Breaker, Decision, Emission, Situation, decide};
use serde::Deserialize;

#[derive(Deserialize)]
struct Weather {
    city: String,
}

const SCRIPT: [&[&str]; 2] = [
    &[
        "I look it up.<tool",
        "_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>",
    ],
    &["It is 4 degrees ", "in Oslo."],
];

fn emit(emission: Emission) {
    match emission {
        Emission::Event(Event::Respond(text)) => println!("model: {text}"),
        Emission::Event(Event::Call(call)) => println!("call: {}", call.json()),
        Emission::Results(results, _) => println!("results: {results}"),
        other => println!("{other:?}"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather =
        tool("weather", |Weather { city }| async move { Ok(format!("{city}: 4 degrees")) });
    // It changes nothing, so its calls begin while the model still writes.
    let weather = weather.with_effect(Effect::ReadOnly { retries: 2 });
    let grammar = Grammar::preset("hermes").expect("a row of the table");
    let setup = TurnSetup::new(grammar, Toolbox::of([weather])?);

    let (log, mut breaker) = (MemoryLog::new(), Breaker::new(3.0));
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
    log.append("oslo", vec![LogRow::user("How warm is it in Oslo?", now)]).await?;
    for answer in SCRIPT {
        // A real model has a stream here: any `Stream` of `ModelOutput`, asked with the messages so far.
        let output = chunks(answer.iter().copied());
        let report = take_turn(output, &setup, &log, "oslo", &mut breaker, emit).await?;
        let situation = Situation {
            outcome: report.outcome,
            is_to_stop: false,
            is_to_go_on: false,
            is_refused: false,
        };
        if decide(situation) != Decision::GoOn {
            println!("{} after {} messages", report.outcome.name(), report.messages.len());
            break;
        }
    }
    Ok(())
}
