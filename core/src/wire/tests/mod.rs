//! Tables of bytes and the deltas that they are read as.

mod bad_input;
mod completions;
mod events;
mod messages;
mod servers;

use super::{Api, CallDelta, Delta, Finish, Options, Reader, Usage, joined};

/// The deltas of an answer, which are the same however it is cut.
fn read_with(api: Api, options: &Options, bytes: &[u8]) -> Vec<Delta> {
    let read = |chunks: &mut dyn Iterator<Item = &[u8]>| {
        let (mut reader, mut deltas) = (Reader::new(api, options.clone()), Vec::new());
        for chunk in chunks {
            reader.feed(chunk, &mut deltas);
        }
        reader.finish(&mut deltas);
        joined(deltas)
    };
    let whole = read(&mut std::iter::once(bytes));
    for size in [1, 3, 7] {
        assert_eq!(read(&mut bytes.chunks(size)), whole, "in chunks of {size}");
    }
    whole
}

fn read(api: Api, text: &str) -> Vec<Delta> {
    read_with(api, &Options::default(), text.as_bytes())
}

/// Events of these data.
fn events(data: &[&str]) -> String {
    data.iter().flat_map(|data| ["data: ", data, "\n\n"]).collect()
}

/// Deltas of a chat completion, each of them these fields; then its end.
fn chat(deltas: &[&str]) -> Vec<Delta> {
    let mut deltas = read(Api::Completions, &(chunks(deltas) + &events(&[STOP, "[DONE]"])));
    assert_eq!(deltas.pop(), Some(finish("stop")));
    deltas
}

/// Chunks of a chat completion whose deltas have these fields.
fn chunks(deltas: &[&str]) -> String {
    let chunk = |fields| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{{fields}}},\"finish_reason\":null}}]}}\n\n"
        )
    };
    deltas.iter().map(chunk).collect()
}

const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn text(text: &str) -> Delta {
    Delta::Text(text.to_owned())
}

fn reasoning(text: &str) -> Delta {
    Delta::Reasoning(text.to_owned())
}

fn finish(reason: &str) -> Delta {
    Delta::Finish(Finish { reason: Some(reason.to_owned()), details: None })
}

fn call(number: usize, id: Option<&str>, name: Option<&str>, arguments: &str) -> Delta {
    let [id, name] = [id, name].map(|text| text.map(str::to_owned));
    Delta::Call(CallDelta { number, id, name, arguments: arguments.to_owned() })
}

fn usage(input: u64, output: u64) -> Delta {
    Delta::Usage(Usage { input, output, ..Usage::default() })
}

fn extra(path: &str, json: &str) -> Delta {
    Delta::Extra(super::Extra { path: path.to_owned(), json: json.to_owned() })
}

fn opaque(call: Option<usize>, name: &str, json: &str) -> Delta {
    Delta::Opaque(super::Opaque { call, name: name.to_owned(), json: json.to_owned() })
}

fn info(id: Option<&str>, model: Option<&str>) -> Delta {
    let [id, model] = [id, model].map(|text| text.map(str::to_owned));
    Delta::Info(super::Info { id, model })
}
