//! Calls that are JSON objects.

use serde_json::{Map, Value};

use super::super::form::{DecisionKeys, Json, JsonShape};
use super::super::text::Str;
use super::fields::{CallExample, Spellings, Wrong};

/// The JSON object of a call, and whether its id comes before its name.
pub(super) fn json(
    example: &CallExample,
    shape: JsonShape,
    call: &Map<String, Value>,
    spellings: &Spellings<'_>,
) -> Result<(Json, bool), Wrong> {
    for (field, text) in
        [("arg", &example.arg), ("args", &example.args), ("json_args", &example.json_args)]
    {
        if !text.is_empty() {
            return Err((field, "is not part of a JSON object".into()));
        }
    }
    let keys = Keys::new("call", call)?;
    let [name, args] = ["name", "args"].map(|slot| keys.of(slot).map(|key| spellings.of(key)));
    let decision = match &example.answer {
        Value::Null => keys.nothing_fixed().map(|()| None)?,
        Value::Object(answer) => Some(decision(&keys, &Keys::new("answer", answer)?)?),
        _ => return Err(("answer", "must be an object".into())),
    };
    let place = |slot: &str| keys.placed.iter().position(|(known, _)| *known == slot);
    let id_first = place("id").is_some_and(|id| Some(id) < place("name"));
    let key = |slot: &str| keys.find(slot).map(|key| Str::from(key.to_owned()));
    let json = Json {
        shape,
        name: name?,
        args: args?,
        no_args: example.no_args,
        empty_names: example.empty_names,
        args_as_text: example.args_as_text,
        skips_others: example.skips_others,
        id: key("id"),
        server: key("server"),
        decision,
    };
    Ok((json, id_first))
}

/// The keys of an object that is a call or the answer, from both.
fn decision(call: &Keys<'_>, answer: &Keys<'_>) -> Result<DecisionKeys, Wrong> {
    let differs =
        "must have one key with a text of its own, the same one in \"call\" and \"answer\"";
    let [(key, of_call)] = call.fixed[..] else { return Err(("call", differs.into())) };
    let [(other, of_answer)] = answer.fixed[..] else { return Err(("answer", differs.into())) };
    if key != other {
        return Err(("answer", differs.into()));
    }
    let text = |text: &str| Str::from(text.to_owned());
    Ok(DecisionKeys {
        key: text(key),
        call: text(of_call),
        answer: text(of_answer),
        answer_key: text(answer.of("text")?),
        thought_key: text(answer.of("thought")?),
    })
}

/// The keys of an object, by their placeholders.
struct Keys<'e> {
    field: &'static str,
    placed: Vec<(&'e str, &'e str)>,
    fixed: Vec<(&'e str, &'e str)>,
}

impl<'e> Keys<'e> {
    fn new(field: &'static str, object: &'e Map<String, Value>) -> Result<Self, Wrong> {
        const SLOTS: [&str; 6] = ["name", "args", "id", "server", "text", "thought"];
        let mut keys = Self { field, placed: Vec::new(), fixed: Vec::new() };
        for (key, value) in object {
            let Value::String(value) = value else {
                return Err((field, format!("the value of {key:?} must be a text")));
            };
            let slot = value.strip_prefix('{').and_then(|slot| slot.strip_suffix('}'));
            match slot {
                None => keys.fixed.push((key, value)),
                Some(slot) if SLOTS.contains(&slot) && keys.find(slot).is_none() => {
                    keys.placed.push((slot, key));
                }
                Some(_) => {
                    return Err((
                        field,
                        format!(
                            "has {value:?}, an unknown placeholder, or one that is there twice"
                        ),
                    ));
                }
            }
        }
        Ok(keys)
    }

    fn find(&self, slot: &str) -> Option<&'e str> {
        self.placed.iter().find(|(known, _)| *known == slot).map(|(_, key)| *key)
    }

    fn of(&self, slot: &str) -> Result<&'e str, Wrong> {
        self.find(slot).ok_or_else(|| (self.field, super::fields::needs(&format!("{{{slot}}}"))))
    }

    /// Without an answer to tell it from, nothing is always the same.
    fn nothing_fixed(&self) -> Result<(), Wrong> {
        match self.fixed.first() {
            None => Ok(()),
            Some((key, _)) => {
                Err((self.field, format!("the value of {key:?} must be a placeholder")))
            }
        }
    }
}
