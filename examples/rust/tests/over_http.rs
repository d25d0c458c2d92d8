//! Runs the programs that converse over HTTP against a service on this machine that answers from a script.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;

use serde_json::{Value, json};

/// Runs a program whose requests get these answers, one each. Returns what it printed, and the bodies of its requests.
fn run(program: &str, answers: &[String]) -> (Output, Vec<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the system gives a port");
    let address = listener.local_addr().expect("it listens");
    let mut command = Command::new(program);
    command.env("BASE_URL", format!("http://{address}/v1")).env("MODEL", "m");
    command.env("API_KEY", "secret").env("NO_PROXY", "127.0.0.1");
    let ran = thread::spawn(move || command.output().expect("it can be run"));
    let bodies = answers.iter().map(|answer| {
        let (stream, _) = listener.accept().expect("the program asks");
        serve(stream, answer)
    });
    let bodies = bodies.collect();
    (ran.join().expect("it does not panic"), bodies)
}

/// Answers one request on a connection; returns its body.
fn serve(mut stream: TcpStream, answer: &str) -> Value {
    let mut reader = BufReader::new(stream.try_clone().expect("the system gives a descriptor"));
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("the request is whole");
        match line.to_lowercase().trim().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().expect("a number"),
            Some(("authorization", value)) => assert_eq!(value, "bearer secret"),
            None if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the body is whole");
    stream.write_all(answer.as_bytes()).expect("the program reads");
    serde_json::from_slice(&body).expect("it is JSON")
}

/// The answer of a model that writes these pieces of text.
fn streamed(pieces: &[&str]) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let events: String = pieces
        .iter()
        .map(|piece| json!({"choices": [{"delta": {"content": piece}}]}))
        .fold(String::new(), |events, chunk| events + &format!("data: {chunk}\n\n"));
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    format!("{head}{events}data: {end}\n\ndata: [DONE]\n\n")
}

fn conversation(program: &str, result: &str) {
    let call = "_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>";
    let answers =
        [streamed(&["I look it up.<tool", call]), streamed(&["It is 4 degrees ", "in Oslo."])];
    let (ran, bodies) = run(program, &answers);
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{printed}{}", String::from_utf8_lossy(&ran.stderr));
    assert!(printed.contains("model: I look it up."), "{printed}");
    assert!(printed.ends_with("model: It is 4 degrees in Oslo.\nanswered\n"), "{printed}");
    let messages = |body: &Value| body["messages"].as_array().expect("it has messages").clone();
    assert!(
        messages(&bodies[0])[0]["content"].as_str().is_some_and(|text| text.contains("weather"))
    );
    let shown = &messages(&bodies[1])[3]["content"];
    assert_eq!(shown, &format!("<tool_response>\n{result}\n</tool_response>"));
}

#[test]
fn a_conversation_over_http() {
    conversation(env!("CARGO_BIN_EXE_http"), "Oslo: 4 degrees");
}

#[test]
#[cfg(feature = "python")]
fn a_conversation_with_tools_in_python() {
    conversation(env!("CARGO_BIN_EXE_python"), r#"{"city": "Oslo", "degrees": 4}"#);
}

#[test]
fn a_refused_request_is_told_without_the_key() {
    let body = r#"{"error": {"message": "the key secret is not known"}}"#;
    let head =
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    let (ran, _) = run(env!("CARGO_BIN_EXE_http"), &[answer]);
    let printed = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{printed}");
    assert!(printed.contains("401") && printed.contains("the key <key> is not known"), "{printed}");
    assert!(!printed.contains("secret"), "{printed}");
}
