//! What the readers' states take, in bytes.

use cogency_rs::dialect::presets;
use cogency_rs::protocol::Parser;
use cogency_rs::protocol::block::BlockReader;
use cogency_rs::protocol::body::head::HeadReader;
use cogency_rs::protocol::body::json::JsonReader;
use cogency_rs::protocol::body::value::ValueReader;
use cogency_rs::protocol::body::{Calls, parameters::ParametersReader};
use trials::cursor::{Task, sizes};
use trials::extent::{JsonItem, ParamsItem};

fn main() {
    let (json, params, shared) = sizes(&presets::preset("hermes").unwrap());
    println!(
        "today: json {} head {} (parameters {} value {})",
        size_of::<JsonReader>(),
        size_of::<HeadReader>(),
        size_of::<ParametersReader>(),
        size_of::<ValueReader>()
    );
    println!("A: json {} params {}", size_of::<JsonItem>(), size_of::<ParamsItem>());
    println!("B: json {json} params {params} task {} shared {shared}", size_of::<Task>());
    println!(
        "calls {} block {} parser {}",
        size_of::<Calls>(),
        size_of::<BlockReader>(),
        size_of::<Parser>()
    );
    fn is_safe<T: Send + Sync>() {}
    is_safe::<Task>();
}
