//! Tools as the model of a dialect was taught to see them.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::dialect::{JsonLayout, Str, ToolObject, ToolsForm, ToolsLayout};
use crate::protocol::canonical::{self, json_string};
use crate::protocol::stored::ShownCall;
use crate::protocol::write::Renderer;

/// A tool of a prompt.
#[derive(Clone, Copy, Debug)]
pub struct Tool<'a> {
    /// The name the model calls it by.
    pub name: &'a str,
    /// One line: how it is called and what it does.
    pub line: &'a str,
    /// `{"type": "function", "function": {"name", "description", "parameters"}}`, the parameters a JSON Schema.
    pub declared: &'a Value,
}

/// Declares tools, in their order; equal tools give equal text.
///
/// # Complexity
/// O(tools)
#[must_use]
pub fn declared(renderer: &Renderer, tools: &[Tool<'_>]) -> String {
    declared_as(renderer, &renderer.dialect().prompt.tools, tools)
}

/// Declares tools in another form than the dialect's own; see [`declared`].
#[must_use]
pub fn declared_as(renderer: &Renderer, form: &ToolsForm, tools: &[Tool<'_>]) -> String {
    let ToolsForm { layout, around, each, between } = form;
    if let ToolsLayout::Array(object, layout) = layout {
        let objects: Vec<_> = tools.iter().map(|tool| canonical(&shown(tool, *object))).collect();
        let array = ["[", &objects.join(", "), "]"].concat();
        return [&*around.before, &renderer.json(&array, *layout), &*around.behind].concat();
    }
    let write = |tool: &Tool<'_>| match layout {
        ToolsLayout::Signature => renderer.words(tool.line),
        ToolsLayout::Json(object, layout) => {
            renderer.json(&canonical(&shown(tool, *object)), *layout)
        }
        ToolsLayout::Array(..) => String::new(),
        ToolsLayout::Elements(element, name) => elements(renderer, tool, element, name),
        ToolsLayout::Heading => heading(renderer, tool),
        ToolsLayout::Example => example(renderer, tool),
        ToolsLayout::TypeScript => typescript(renderer, tool),
        ToolsLayout::Docstring => docstring(renderer, tool),
        ToolsLayout::Braces(mark) => in_braces(renderer, tool, mark),
    };
    let tools: Vec<_> =
        tools.iter().map(|tool| [&*each.before, &write(tool), &*each.behind].concat()).collect();
    [&*around.before, &tools.join(between), &*around.behind].concat()
}

fn function<'a>(tool: &Tool<'a>) -> &'a Value {
    tool.declared.get("function").unwrap_or(tool.declared)
}

fn shown(tool: &Tool<'_>, object: ToolObject) -> Value {
    match object {
        ToolObject::Tool => tool.declared.clone(),
        ToolObject::Function => function(tool).clone(),
        ToolObject::Responses => {
            let mut function = function(tool).clone();
            if let Value::Object(members) = &mut function {
                members.insert("responses".into(), Value::Null);
            }
            function
        }
    }
}

/// A value as canonical JSON.
fn canonical(value: &Value) -> String {
    canonical::canonical(value.to_string().as_bytes()).expect("a value is written as JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The parameters of a tool: name, schema, and whether it is required.
fn parameters(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties.map(move |(name, schema)| (name, schema, required.contains(&**name)))
}

fn elements(renderer: &Renderer, tool: &Tool<'_>, element: &str, name: &str) -> String {
    let function = function(tool);
    let schema = &function["parameters"];
    let mut lines = vec![format!("<{element}>"), line(renderer, name, &json!(tool.name))];
    lines.extend(function.get("description").map(|text| line(renderer, "description", text)));
    lines.push("<parameters>".into());
    for (name, schema, _) in parameters(schema) {
        lines.extend(["<parameter>".into(), line(renderer, "name", &json!(name))]);
        let known = ["type", "description"];
        let members = schema.as_object();
        let of = |key: &&str| members.and_then(|members| members.get(*key));
        lines.extend(known.iter().filter_map(|key| Some(line(renderer, key, of(key)?))));
        lines.extend(others(renderer, members, &known));
        lines.push("</parameter>".into());
    }
    lines.extend(others(renderer, schema.as_object(), &["type", "properties"]));
    lines.push("</parameters>".into());
    lines.extend(others(renderer, function.as_object(), &["name", "description", "parameters"]));
    lines.push(format!("</{element}>"));
    lines.join("\n")
}

fn line(renderer: &Renderer, element: &str, value: &Value) -> String {
    let text = match value {
        // No element ends in a text.
        Value::String(text) => renderer.words(text).replace("</", "&lt;/"),
        value => renderer.json(&canonical(value), JsonLayout::Compact),
    };
    let element = renderer.words(element);
    format!("<{element}>{text}</{element}>")
}

fn others(
    renderer: &Renderer,
    members: Option<&Map<String, Value>>,
    known: &[&str],
) -> Vec<String> {
    let members = members.into_iter().flatten().filter(|(key, _)| !known.contains(&&***key));
    members.map(|(key, value)| line(renderer, key, value)).collect()
}

fn heading(renderer: &Renderer, tool: &Tool<'_>) -> String {
    let function = function(tool);
    let [name, description] =
        [tool.name, text(function, "description")].map(|text| renderer.words(text));
    let parameters = renderer.json(&canonical(&function["parameters"]), JsonLayout::Compact);
    format!("### {name}\nDescription: {description}\n\nParameters: {parameters}")
}

fn example(renderer: &Renderer, tool: &Tool<'_>) -> String {
    let function = function(tool);
    let schema = &function["parameters"];
    let mut parts = vec![format!("## {}", renderer.words(tool.name))];
    parts.extend(
        Some(renderer.words(text(function, "description"))).filter(|text| !text.is_empty()),
    );
    let lines: Vec<_> = parameters(schema)
        .map(|(name, schema, is_required)| {
            let required = if is_required { ", required" } else { "" };
            let name = renderer.words(name);
            let about = renderer.words(text(schema, "description"));
            let kind = renderer.words(&type_text(schema));
            format!("- `{name}` ({kind}{required}): {about}").trim_end_matches(": ").to_owned()
        })
        .collect();
    if !lines.is_empty() {
        parts.push(format!("**Parameters:**\n\n{}", lines.join("\n")));
    }
    let args: Map<_, _> =
        parameters(schema).map(|(name, schema, _)| (name.clone(), placeholder(schema))).collect();
    let call = ShownCall {
        name: json_string(tool.name.as_bytes()),
        args: canonical(&Value::Object(args)),
        id: None,
        server: None,
    };
    parts.push(format!("**Example:**\n\n{}", renderer.calls(&[call], true)));
    parts.join("\n\n")
}

/// So many calls of these tools as examples: of the first ones, but those with many arguments last, since an example has to be
/// short.
pub fn examples(tools: &[Tool<'_>], count: usize) -> Vec<ShownCall> {
    let call = |name: &str, args: &Map<String, Value>| ShownCall {
        name: json_string(name.as_bytes()),
        args: canonical(&json!(args)),
        id: None,
        server: None,
    };
    let mut calls: Vec<_> = tools.iter().map(|tool| (tool.name, needed(tool))).collect();
    calls.sort_by_key(|(_, args)| args.len().max(SHORT));
    calls.iter().cycle().take(count).map(|(name, args)| call(name, args)).collect()
}

/// How many arguments a short example may have.
const SHORT: usize = 3;

/// Arguments that a tool cannot do without, or its first one if it can do without any.
fn needed(tool: &Tool<'_>) -> Map<String, Value> {
    let schema = &function(tool)["parameters"];
    let is_needed = parameters(schema).any(|(.., is_required)| is_required);
    let of = parameters(schema).filter(|(.., is_required)| *is_required == is_needed);
    let count = if is_needed { usize::MAX } else { 1 };
    of.take(count).map(|(name, schema, _)| (name.clone(), placeholder(schema))).collect()
}

/// A value that stands for any of this schema.
fn placeholder(schema: &Value) -> Value {
    let listed = schema.get("enum").and_then(|values| values.get(0));
    if let Some(value) = schema.get("const").or(listed).or_else(|| schema.get("default")) {
        return value.clone();
    }
    match &*type_text(schema) {
        "integer" => json!(1),
        "number" => json!(1.5),
        "boolean" => json!(true),
        "array" => json!([]),
        "object" => json!({}),
        "null" => Value::Null,
        _ => json!("text"),
    }
}

/// The types of a schema in a word; "any" where it says nothing.
fn type_text(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<_> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => "any".into(),
    }
}

fn typescript(renderer: &Renderer, tool: &Tool<'_>) -> String {
    let function = function(tool);
    let mut lines = comment(renderer, text(function, "description"));
    let name = renderer.words(tool.name);
    let fields = typescript_fields(renderer, &function["parameters"]);
    lines.push(if fields.is_empty() {
        format!("type {name} = () => any;")
    } else {
        format!("type {name} = (_: {{\n{}\n}}) => any;", fields.join("\n"))
    });
    lines.join("\n")
}

fn comment(renderer: &Renderer, text: &str) -> Vec<String> {
    renderer.words(text).lines().map(|line| format!("// {line}")).collect()
}

fn typescript_fields(renderer: &Renderer, schema: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, schema, is_required) in parameters(schema) {
        lines.extend(comment(renderer, text(schema, "description")));
        let mark = if is_required { "" } else { "?" };
        let default = schema.get("default").map(|value| {
            format!(" // default: {}", renderer.json(&canonical(value), JsonLayout::Compact))
        });
        lines.push(format!(
            "{}{mark}: {},{}",
            renderer.words(name),
            typescript_type(renderer, schema),
            default.unwrap_or_default()
        ));
    }
    lines
}

fn typescript_type(renderer: &Renderer, schema: &Value) -> String {
    let json = |value: &Value| renderer.json(&canonical(value), JsonLayout::Compact);
    let any_of = |schemas: &[Value]| {
        let types: Vec<_> =
            schemas.iter().map(|schema| typescript_type(renderer, schema)).collect();
        types.join(" | ")
    };
    if let Some(value) = schema.get("const") {
        return json(value);
    }
    for key in ["enum", "anyOf", "oneOf"] {
        if let Some(values) = schema.get(key).and_then(Value::as_array) {
            return match key {
                "enum" => values.iter().map(json).collect::<Vec<_>>().join(" | "),
                _ => any_of(values),
            };
        }
    }
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            let of_kind = |kind: &Value| {
                let mut schema = schema.clone();
                schema["type"] = kind.clone();
                schema
            };
            any_of(&kinds.iter().map(of_kind).collect::<Vec<_>>())
        }
        Some(Value::String(kind)) => match &**kind {
            "integer" | "number" => "number".into(),
            "array" => {
                let item = schema
                    .get("items")
                    .map_or("any".into(), |items| typescript_type(renderer, items));
                if item.contains(" | ") { format!("({item})[]") } else { format!("{item}[]") }
            }
            "object" => match &typescript_fields(renderer, schema)[..] {
                [] => "object".into(),
                fields => format!("{{\n{}\n}}", fields.join("\n")),
            },
            kind => renderer.words(kind),
        },
        _ => "any".into(),
    }
}

/// What the template writes, with the brace that it forgets, and its names of types.
fn docstring(renderer: &Renderer, tool: &Tool<'_>) -> String {
    let function = function(tool);
    let schema = &function["parameters"];
    let (mut signature, mut args) = (Vec::new(), String::new());
    for (name, schema, _) in parameters(schema) {
        let (name, kind) = (renderer.words(name), renderer.words(&python_type(schema)));
        let about = renderer.words(text(schema, "description").trim());
        let head = if args.is_empty() { "    Args:\n" } else { "" };
        let _ = write!(args, "{head}        {name}({kind}): {about}");
        signature.push(format!("{name}: {kind}"));
    }
    let schema = if signature.is_empty() { "{}".into() } else { canonical(schema) };
    let [name, about] = [tool.name, text(function, "description")].map(|text| renderer.words(text));
    [
        r#"{"type": "function", "function": {"name": ""#,
        &name,
        r#"", "description": ""#,
        &format!("{name}({}) - {about}\n\n{args}", signature.join(", ")),
        r#"", "parameters": "#,
        &renderer.json(&schema, JsonLayout::Compact),
        "}",
    ]
    .concat()
}

fn python_type(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => match &**kind {
            "string" => "str".into(),
            "number" => "float".into(),
            "integer" => "int".into(),
            "boolean" => "bool".into(),
            "array" => "list[Union[]]".into(), // whatever its items are
            "object" => match schema.get("additionalProperties") {
                Some(values) => format!("dict[str, {}]", python_type(values)),
                None => "dict".into(),
            },
            _ => "Any".into(),
        },
        Some(Value::Array(kinds)) => {
            let kinds: Vec<_> =
                kinds.iter().map(|kind| python_type(&json!({ "type": kind }))).collect();
            format!("Union[{}]", kinds.join(","))
        }
        _ => "Union[]".into(),
    }
}

fn in_braces(renderer: &Renderer, tool: &Tool<'_>, mark: &Str) -> String {
    let function = function(tool);
    let mut members = Map::new();
    for (key, value) in function.as_object().into_iter().flatten() {
        match &**key {
            "name" => {}
            "parameters" => {
                members.insert(key.clone(), in_order(value));
            }
            _ => {
                members.insert(key.clone(), value.clone());
            }
        }
    }
    let declared = renderer.braces(&canonical(&Value::Object(members)), mark);
    format!("declaration:{}{declared}", renderer.words(tool.name))
}

/// A schema with its keys in the order and its types in the letters that these declarations have.
fn in_order(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let place = |key: &str| match key {
        "description" => 0,
        "properties" => 2,
        "required" => 3,
        "type" => 4,
        _ => 1,
    };
    let mut keys: Vec<_> = members.keys().collect();
    keys.sort_by_key(|key| place(key));
    let write = |key: &String| match (&**key, &members[key]) {
        ("type", Value::String(kind)) => json!(kind.to_uppercase()),
        ("properties", Value::Object(properties)) => {
            let mut names: Vec<_> = properties.iter().collect();
            names.sort_by_key(|(name, _)| name.to_lowercase());
            let sorted = names.into_iter().map(|(name, schema)| (name.clone(), in_order(schema)));
            Value::Object(sorted.collect())
        }
        ("items", schema) => in_order(schema),
        (_, value) => value.clone(),
    };
    Value::Object(keys.into_iter().map(|key| (key.clone(), write(key))).collect())
}
