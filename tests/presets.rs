//! The table of presets, as data: each dialect is the value that `tests/dialects/table.jsonl` has for it.
//!
//! The file shows in a change which fields of which dialects it changes. `UPDATE_TABLE=1 cargo test --test interface presets`
//! writes it.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use cogency_rs::dialect::{Dialect, presets};
use serde_json::{Map, Value, json};

/// The fields of a dialect that are not those of every dialect, where members are compared one by one.
fn own(value: Value, usual: &Value) -> Value {
    match (value, usual) {
        (Value::Object(members), Value::Object(usual)) => {
            let own = members.into_iter().filter_map(|(name, member)| {
                let usual = usual.get(&name).unwrap_or(&Value::Null);
                (member != *usual).then(|| (name, own(member, usual)))
            });
            Value::Object(own.collect::<Map<_, _>>())
        }
        (value, _) => value,
    }
}

fn rows() -> BTreeMap<String, Value> {
    let usual = Dialect::from_json(json!({"name": "any", "calls": []})).expect("a dialect");
    let usual = serde_json::to_value(&usual).expect("JSON");
    let row = |name: &str| {
        let preset = presets::preset(name).expect("a row");
        (name.to_owned(), own(serde_json::to_value(&*preset).expect("JSON"), &usual))
    };
    presets::names().map(row).collect()
}

#[test]
fn each_preset_is_what_the_table_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/dialects/table.jsonl");
    let rows = rows();
    if env::var_os("UPDATE_TABLE").is_some() {
        let lines: Vec<String> = rows.values().map(Value::to_string).collect();
        fs::write(&file, lines.join("\n") + "\n").expect("the table is written");
    }
    let table = fs::read_to_string(&file).expect("the table");
    let written: BTreeMap<String, Value> = table
        .lines()
        .map(|line| {
            let row: Value = serde_json::from_str(line).expect("a row is JSON");
            (row["name"].as_str().expect("a row has a name").to_owned(), row)
        })
        .collect();
    assert_eq!(
        rows.keys().collect::<Vec<_>>(),
        written.keys().collect::<Vec<_>>(),
        "a dialect is missing; see the top of this file"
    );
    for (name, row) in &rows {
        assert_eq!(row, &written[name], "{name} has changed; see the top of this file");
    }
}
