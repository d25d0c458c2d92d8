//! A conversation over HTTP, shared by two of the programs: turns until the model has answered.
#![cfg(feature = "net")]

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cogency_agent::{Log, LogRow, MemoryLog, TurnSetup, ask, fold, take_turn};
use cogency_net::{Client, Reading, Request, Settings, Timeouts, Watch};
use cogency_rs::context::{Message, Role};
use cogency_rs::protocol::Event;
use cogency_rs::turn::{Breaker, Decision, Emission, Situation, decide};
use cogency_rs::wire::{Api, Options, Reader, Secret};
use serde_json::json;

/// A service with the API of `OpenAI`'s chat completions, from the environment: `BASE_URL`, such as
/// `http://localhost:8000/v1`, `MODEL`, and `API_KEY`, which may be missing.
pub struct Service {
    client: Client,
    url: String,
    model: String,
    key: Option<String>,
}

impl Service {
    /// The service that the environment names.
    ///
    /// # Errors
    /// It names no service, or no connection can be made.
    pub fn from_environment() -> Result<Self, Box<dyn Error>> {
        let variable = |name| std::env::var(name).map_err(|_| format!("set {name}"));
        let client = Client::new(Settings {
            connect_timeout: Duration::from_secs(10),
            proxy: None,
            certificates: None,
            user_agent: "cogency-rs-examples".to_owned(),
        })?;
        let url = format!("{}/chat/completions", variable("BASE_URL")?.trim_end_matches('/'));
        Ok(Self { client, url, model: variable("MODEL")?, key: variable("API_KEY").ok() })
    }

    /// The request for the model's next text.
    fn request(&self, system: &str, messages: &[Message]) -> Request {
        let system = json!({"role": "system", "content": system});
        let others = messages.iter().map(|message| {
            let role = if message.role == Role::User { "user" } else { "assistant" };
            json!({"role": role, "content": message.content.to_string()})
        });
        let messages: Vec<_> = std::iter::once(system).chain(others).collect();
        let body = json!({"model": self.model, "messages": messages, "stream": true});
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        headers.extend(
            self.key.iter().map(|key| ("authorization".to_owned(), format!("Bearer {key}"))),
        );
        // A service may repeat the key in an error, where it must not be shown.
        let secrets = self.key.iter().map(|key| Secret::new(key, "<key>")).collect();
        let options = Options { secrets, ..Options::default() };
        Request {
            method: "POST".to_owned(),
            url: self.url.clone(),
            headers,
            body: body.to_string().into_bytes(),
            timeouts: Timeouts { read: Some(Duration::from_secs(60)), total: None },
            reading: Reading::Answer(Box::new(Reader::new(Api::Completions, options))),
            watch: Watch::Each,
        }
    }

    /// Asks the model until it has answered, and runs the calls that it makes meanwhile.
    ///
    /// # Errors
    /// The service cannot be reached, refuses a request, or breaks off. What arrived is in the log.
    pub async fn converse(
        &self,
        setup: &TurnSetup,
        system: &str,
        question: &str,
    ) -> Result<(), Box<dyn Error>> {
        let (log, mut breaker) = (MemoryLog::new(), Breaker::new(3.0));
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        log.append("c", vec![LogRow::user(question, now)]).await?;
        let mut messages = fold(&log.rows("c").await?, setup.folding.clone());
        loop {
            let answer = ask(&self.client, self.request(system, &messages))?;
            let report = take_turn(answer, setup, &log, "c", &mut breaker, show).await?;
            if let Some(why) = report.broken {
                return Err(why.into());
            }
            let situation = Situation {
                outcome: report.outcome,
                is_to_stop: false,
                is_to_go_on: false,
                is_refused: false,
            };
            if decide(situation) != Decision::GoOn {
                println!("{}", report.outcome.name());
                return Ok(());
            }
            messages = report.messages;
        }
    }
}

fn show(emission: Emission) {
    match emission {
        Emission::Event(Event::Respond(text)) => println!("model: {text}"),
        Emission::Event(Event::Call(call)) => println!("call: {}", call.json()),
        Emission::Results(results, _) => println!("results: {results}"),
        other => println!("{other:?}"),
    }
}
