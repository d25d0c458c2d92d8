//! A conversation with a model over HTTP: `BASE_URL=… MODEL=… cargo run --features net --bin http`.

use std::error::Error;

use cogency_agent::TurnSetup;
use cogency_agent::execution::{Effect, Toolbox, tool};
use cogency_rs::context::{Tool, system_prompt};
use cogency_rs::protocol::Grammar;
use cogency_rs::protocol::write::Renderer;
use cogency_rs_examples::Service;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Weather {
    city: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let weather =
        tool("weather", |Weather { city }| async move { Ok(format!("{city}: 4 degrees")) });
    let weather = weather.with_effect(Effect::ReadOnly { retries: 2 });
    let grammar = Grammar::preset("hermes").expect("a row of the table");
    let setup = TurnSetup::new(grammar, Toolbox::of([weather])?);

    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let function =
        json!({"name": "weather", "description": "how warm it is", "parameters": parameters});
    let declared = json!({"type": "function", "function": function});
    let tools =
        [Tool { name: "weather", line: "weather(city): how warm it is", declared: &declared }];
    let renderer = Renderer::new(setup.folding.dialect.clone());
    let system = system_prompt(&renderer, &tools, None, None);
    let service = Service::from_environment()?;
    service.converse(&setup, &system, "How warm is it in Oslo?").await
}
