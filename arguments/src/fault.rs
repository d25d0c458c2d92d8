//! Faults as sentences: which of the validator's errors are worth saying, in which order, and how.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::rc::Rc;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use jsonschema::paths::{Location, LocationSegment};
use serde_json::{Number, Value as Schema};

use super::budget::Budget;
use super::names::nearest;
use super::shown::{cut, received, shown, shown_schema};
use super::value::{Value, first_repeated};
use super::words::{Wanted, alternatives, described, wanted};

/// Faults that are listed; the others are counted.
pub const MOST_FAULTS: usize = 10;

/// Known names that are listed with an unknown one.
const MOST_NAMES: usize = 20;

/// Unknown names that others are looked for that were meant, and how many others.
const MOST_COMPARED: (usize, usize) = (20, 300);

/// A step into the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum PathStep {
    Name(String),
    Index(usize),
}

type Path = Vec<PathStep>;

/// One fault.
#[derive(Debug)]
enum ArgumentFault {
    /// A required member of the object at `of` was not given.
    Missing { of: Path, name: String },
    /// A member of the object at `of` is not known.
    Unknown { of: Path, name: String, known: Rc<[String]>, patterns: Rc<[String]> },
    /// The value at `at` does not fit.
    Wrong { at: Path, problem: String },
}

/// The validator's errors as sentences.
///
/// `left_out` are the arguments that were removed before the check: they are null, which is their default.
pub fn in_words(
    errors: &[ValidationError<'_>],
    schema: &Schema,
    arguments: &Value<'_>,
    left_out: &[String],
    budget: &Budget,
) -> Vec<String> {
    let left_out: HashSet<&String> = left_out.iter().collect();
    let mut faults = FaultReader { schema, arguments, budget }.faults(errors);
    faults.retain(|fault| {
        !matches!(fault, ArgumentFault::Missing { of, name } if of.is_empty() && left_out.contains(name))
    });
    let mut sentences = sentences(&faults, schema, arguments);
    let mut seen = HashSet::new();
    sentences.retain(|sentence| seen.insert(sentence.clone()));
    if sentences.len() > MOST_FAULTS {
        let others = sentences.len() - MOST_FAULTS;
        let others = if budget.has_enough_faults() {
            format!("at least {others}")
        } else {
            others.to_string()
        };
        sentences.truncate(MOST_FAULTS);
        sentences.push(format!("and {others} more faults"));
    }
    sentences
}

struct FaultReader<'a> {
    schema: &'a Schema,
    arguments: &'a Value<'a>,
    budget: &'a Budget,
}

impl FaultReader<'_> {
    fn faults(&self, errors: &[ValidationError<'_>]) -> Vec<ArgumentFault> {
        // An error that lists the values that fit says more than one that names their type.
        let is_choice = |error: &&ValidationError<'_>| {
            matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. })
        };
        let choices: HashSet<&str> =
            errors.iter().filter(is_choice).map(|error| error.instance_path().as_str()).collect();
        let is_said = |error: &&ValidationError<'_>| {
            matches!(error.kind(), Kind::Type { .. })
                && choices.contains(error.instance_path().as_str())
        };
        errors.iter().filter(|error| !is_said(error)).flat_map(|error| self.fault(error)).collect()
    }

    fn fault(&self, error: &ValidationError<'_>) -> Vec<ArgumentFault> {
        let at = path_of(error.instance_path());
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default().to_owned();
                vec![ArgumentFault::Missing { of: at, name }]
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let parent = self.parent(error);
                let known = keys(parent.and_then(|schema| schema.get("properties")));
                let patterns = keys(parent.and_then(|schema| schema.get("patternProperties")));
                let fault = |name: &String| {
                    let (known, patterns) = (known.clone(), patterns.clone());
                    ArgumentFault::Unknown { of: at.clone(), name: name.clone(), known, patterns }
                };
                unexpected.iter().take(1000).map(fault).collect()
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => self.union(error, context),
            // Without `properties` next to it, the keyword is reported as the schema `false` for the whole object.
            Kind::FalseSchema if is_additional(error, &at) => {
                let given = match value_at(self.arguments, &at) {
                    Some(Value::Object(members)) => members.iter().map(|(name, _)| name).collect(),
                    _ => Vec::new(),
                };
                let patterns =
                    self.parent(error).and_then(|schema| schema.get("patternProperties"));
                let patterns = keys(patterns);
                let fault = |name: &String| {
                    let (known, patterns) = (Rc::from([]), patterns.clone());
                    ArgumentFault::Unknown { of: at.clone(), name: name.clone(), known, patterns }
                };
                given.into_iter().take(1000).map(fault).collect()
            }
            _ => vec![ArgumentFault::Wrong {
                problem: self.problem(error, value_at(self.arguments, &at)),
                at,
            }],
        }
    }

    /// What is wrong with a value that fits no branch of a union: the faults of the branch that was meant, or else which kinds
    /// of value fit.
    fn union(
        &self,
        error: &ValidationError<'_>,
        branches: &[Vec<ValidationError<'_>>],
    ) -> Vec<ArgumentFault> {
        let at = path_of(error.instance_path());
        let meant: Vec<_> = branches.iter().filter(|branch| is_meant(branch, error)).collect();
        let alone: Option<Vec<_>> =
            meant.iter().map(|branch| only_missing(branch, error)).collect();
        if let Some(names) = alone.filter(|names| names.len() > 1) {
            let names: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
            let problem = format!("must have {}, but had no such key", names.join(" or "));
            return vec![ArgumentFault::Wrong { at, problem }];
        }
        let depth = at.len();
        let best = meant.into_iter().min_by_key(|branch| {
            // A member with the wrong constant marks another branch of the union.
            let marks = |error: &&ValidationError<'_>| {
                matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. })
                    && error.instance_path().segments().count() == depth + 1
            };
            (branch.iter().filter(marks).count(), branch.len())
        });
        if let Some(best) = best {
            return self.faults(best);
        }
        let wanted = self.wanted_by(branches, error);
        let value = value_at(self.arguments, &at);
        let problem = if wanted.words.is_empty() {
            format!("fits none of its schema's alternatives, got {}", was(value))
        } else {
            format!("must be {}, got {}", alternatives(wanted), was(value))
        };
        vec![ArgumentFault::Wrong { at, problem }]
    }

    fn wanted_by(
        &self,
        branches: &[Vec<ValidationError<'_>>],
        union: &ValidationError<'_>,
    ) -> Wanted {
        let mut all = Wanted::default();
        let mut add = |more: Wanted| {
            all.words.extend(more.words);
            all.others += more.others;
        };
        for branch in branches {
            let here = || branch.iter().filter(|error| is_same_place(error, union));
            let choice = here()
                .find(|error| matches!(error.kind(), Kind::Enum { .. } | Kind::Constant { .. }));
            if let Some(wanted) = choice
                .or_else(|| here().find(|error| matches!(error.kind(), Kind::Type { .. })))
                .and_then(|error| wanted(error, self.schema))
            {
                add(wanted);
                continue;
            }
            for error in here() {
                if let Kind::AnyOf { context } | Kind::OneOfNotValid { context } = error.kind() {
                    add(self.wanted_by(context, union));
                }
            }
        }
        // Null is named last.
        all.words.sort_by_key(|each| each == "null");
        all
    }

    /// The schema that has the keyword of an error.
    fn parent(&self, error: &ValidationError<'_>) -> Option<&Schema> {
        let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.schema.pointer(parent)
    }

    /// What is wrong with a value, as the words after the argument's name.
    fn problem(&self, error: &ValidationError<'_>, value: Option<&Value<'_>>) -> String {
        if let Some(wanted) = wanted(error, self.schema) {
            return format!("must be {}, got {}", alternatives(wanted), was(value));
        }
        let number = || value.map(shown).unwrap_or_default();
        let size = |bound: &str, limit: u64, other: &str| {
            let exact =
                self.parent(error).and_then(|schema| schema.get(other)).and_then(Schema::as_u64);
            let bound = if exact == Some(limit) { "" } else { bound };
            let (unit, had) = match value {
                Some(Value::String(text)) => ("characters", text.characters()),
                Some(Value::Array(items)) => ("items", items.len() as u64),
                Some(Value::Object(members) | Value::ForeignObject(_, members)) => {
                    ("items", members.len() as u64)
                }
                _ => ("items", 0),
            };
            format!("must have {bound}{limit} {unit}, got {had}")
        };
        match error.kind() {
            Kind::Minimum { limit } => {
                format!("must be at least {}, got {}", bound(limit), number())
            }
            Kind::Maximum { limit } => {
                format!("must be at most {}, got {}", bound(limit), number())
            }
            Kind::ExclusiveMinimum { limit } => {
                format!("must be more than {}, got {}", bound(limit), number())
            }
            Kind::ExclusiveMaximum { limit } => {
                format!("must be less than {}, got {}", bound(limit), number())
            }
            Kind::MultipleOf { multiple_of } => {
                let factor = Number::from_f64(*multiple_of).map_or(Schema::Null, Schema::Number);
                format!("must be a multiple of {}, got {}", bound(&factor), number())
            }
            Kind::MinLength { limit } => size("at least ", *limit, "maxLength"),
            Kind::MaxLength { limit } => size("at most ", *limit, "minLength"),
            Kind::MinItems { limit } => size("at least ", *limit, "maxItems"),
            Kind::MaxItems { limit } => size("at most ", *limit, "minItems"),
            Kind::MinProperties { limit } => size("at least ", *limit, "maxProperties"),
            Kind::MaxProperties { limit } => size("at most ", *limit, "minProperties"),
            Kind::AdditionalItems { limit } => size("at most ", *limit as u64, ""),
            // The keyword `pattern` is ours.
            Kind::Custom { message, .. } => format!("{message}, got {}", was(value)),
            Kind::UniqueItems => match value {
                Some(Value::Array(items)) => match first_repeated(items, self.budget) {
                    Some(place) => format!(
                        "must not have an item twice, but has {} again at [{place}]",
                        shown(&items[place])
                    ),
                    None => "must not have an item twice".into(),
                },
                _ => "must not have an item twice".into(),
            },
            Kind::Contains => {
                let items =
                    self.parent(error).and_then(|schema| described(schema.get("contains")?));
                let items = items.map_or("the items that its schema asks for".into(), |item| {
                    format!("items that are {item}")
                });
                let limits = self.parent(error).map(contains_limits).unwrap_or_default();
                format!("must have {limits}{items}, got {}", was(value))
            }
            Kind::FalseSchema => format!("must not be given, got {}", was(value)),
            Kind::Not { schema } => match described(schema) {
                Some(excluded) => format!("must not be {excluded}, got {}", was(value)),
                None => format!("must not fit {}, got {}", shown_schema(schema), was(value)),
            },
            Kind::OneOfMultipleValid { context } => {
                let fitting = context.iter().filter(|branch| branch.is_empty()).count();
                format!("must fit only one of its schema's alternatives, but fits {fitting}")
            }
            Kind::PropertyNames { error } => {
                let name = error.instance().as_str().unwrap_or_default();
                let name_value = Value::String(Box::new(name));
                format!(
                    "has the name {}, which {}",
                    shown(&name_value),
                    self.problem(error, Some(&name_value))
                )
            }
            Kind::UnevaluatedItems { unexpected } => {
                format!("has {} more items than its schema allows", unexpected.len())
            }
            kind => {
                format!("does not fit its schema's '{}', got {}", kind.keyword(), was(value))
            }
        }
    }
}

fn was(value: Option<&Value<'_>>) -> String {
    value.map_or_else(|| "something else".into(), received)
}

fn bound(limit: &Schema) -> String {
    match limit.as_f64() {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        Some(value) if limit.is_f64() && value.fract() == 0.0 && value.abs() < 1e15 => {
            format!("{}", value as i64)
        }
        _ => shown_schema(limit),
    }
}

fn contains_limits(schema: &Schema) -> String {
    let number = |keyword: &str| schema.get(keyword).and_then(Schema::as_u64);
    match (number("minContains"), number("maxContains")) {
        (least, Some(most)) => format!("{} to {most} ", least.unwrap_or(1)),
        (least, None) => format!("at least {} ", least.unwrap_or(1)),
    }
}

fn is_same_place(error: &ValidationError<'_>, union: &ValidationError<'_>) -> bool {
    error.instance_path().as_str() == union.instance_path().as_str()
}

/// Whether the error is of the keyword `additionalProperties`, and not of a property that has this name.
fn is_additional(error: &ValidationError<'_>, at: &[PathStep]) -> bool {
    const KEYWORD: &str = "additionalProperties";
    let is_name = matches!(at.last(), Some(PathStep::Name(name)) if name == KEYWORD);
    error.schema_path().as_str().rsplit('/').next() == Some(KEYWORD) && !is_name
}

/// Whether a value was meant for this branch of a union: it has a type and a value that the branch asks for.
fn is_meant(branch: &[ValidationError<'_>], union: &ValidationError<'_>) -> bool {
    branch.iter().filter(|error| is_same_place(error, union)).all(|error| match error.kind() {
        Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. } | Kind::FalseSchema => false,
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            context.iter().any(|branch| is_meant(branch, union))
        }
        _ => true,
    })
}

/// The one member that a branch misses, if it asks for nothing else.
fn only_missing(branch: &[ValidationError<'_>], union: &ValidationError<'_>) -> Option<String> {
    match branch {
        [error] if is_same_place(error, union) => match error.kind() {
            Kind::Required { property } => property.as_str().map(str::to_owned),
            _ => None,
        },
        _ => None,
    }
}

fn keys(object: Option<&Schema>) -> Rc<[String]> {
    object
        .and_then(Schema::as_object)
        .map(|object| object.keys().cloned().collect())
        .unwrap_or_default()
}

fn path_of(location: &Location) -> Path {
    let step = |segment| match segment {
        LocationSegment::Property(name) => PathStep::Name(name.to_string()),
        LocationSegment::Index(place) => PathStep::Index(place),
    };
    location.segments().map(step).collect()
}

fn value_at<'a, 'b>(arguments: &'a Value<'b>, path: &[PathStep]) -> Option<&'a Value<'b>> {
    path.iter().try_fold(arguments, |value, step| match (value, step) {
        (Value::Object(members), PathStep::Name(name)) => members.get(name),
        (Value::Array(items), PathStep::Index(place)) => items.get(*place),
        _ => None,
    })
}

/// The faults as sentences: in the order of the schema's properties, then unknown arguments.
fn sentences(faults: &[ArgumentFault], schema: &Schema, arguments: &Value<'_>) -> Vec<String> {
    let order = keys(schema.get("properties"));
    let places: HashMap<&String, usize> = order.iter().zip(0..).collect();
    let rank = |step: Option<&PathStep>| match step {
        Some(PathStep::Name(name)) => places.get(name).copied().unwrap_or(order.len()),
        _ => order.len(),
    };
    let mut missing: Vec<(&Path, &str)> = Vec::new();
    for fault in faults {
        if let ArgumentFault::Missing { of, name } = fault {
            missing.push((of, name));
        }
    }
    let mut is_paired = vec![false; missing.len()];
    let mut ranked: Vec<(usize, String)> = Vec::new();
    let mut listed = HashSet::new();
    let mut compared = 0;
    for fault in faults {
        let ArgumentFault::Unknown { of, name, known, patterns } = fault else { continue };
        // A missing argument and an unknown one with a similar name are one fault: the name was written wrongly.
        compared += 1;
        let few = if compared > MOST_COMPARED.0 { 0 } else { MOST_COMPARED.1 };
        let open =
            || (0..missing.len()).filter(|at| !is_paired[*at] && missing[*at].0 == of).take(few);
        let meant = nearest(name, open().map(|at| missing[at].1));
        let paired = meant.and_then(|meant| open().find(|at| missing[*at].1 == meant));
        let who = argument(of, Some(name));
        if let (Some(meant), Some(at)) = (meant, paired) {
            is_paired[at] = true;
            let step = of.first().cloned().unwrap_or_else(|| PathStep::Name(meant.to_owned()));
            ranked.push((
                rank(Some(&step)),
                format!("{who} is not known; did you mean '{meant}', which is required and was not given?"),
            ));
            continue;
        }
        let given = value_at(arguments, of);
        let is_given = |name: &str| matches!(given, Some(Value::Object(members)) if members.get(name).is_some());
        let hint = match nearest(
            name,
            known.iter().map(String::as_str).filter(|name| !is_given(name)).take(few),
        ) {
            Some(meant) => format!("; did you mean '{meant}'?"),
            None if listed.insert(of.clone()) => format!("; {}", known_names(known, patterns)),
            None => String::new(),
        };
        let place = if of.is_empty() { usize::MAX } else { rank(of.first()) };
        ranked.push((place, format!("{who} is not known{hint}")));
    }
    let mut paired = is_paired.into_iter();
    for fault in faults {
        match fault {
            ArgumentFault::Missing { of, name } => {
                if paired.next() == Some(false) {
                    let first = of.first().cloned().unwrap_or_else(|| PathStep::Name(name.clone()));
                    let who = argument(of, Some(name));
                    ranked.push((
                        rank(Some(&first)),
                        format!("{who} is required, but was not given"),
                    ));
                }
            }
            ArgumentFault::Wrong { at, problem } => {
                ranked.push((rank(at.first()), format!("{} {problem}", argument(at, None))));
            }
            ArgumentFault::Unknown { .. } => {}
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, sentence)| sentence).collect()
}

fn known_names(known: &[String], patterns: &[String]) -> String {
    let mut names: Vec<String> = known.iter().take(MOST_NAMES).cloned().collect();
    names.extend(patterns.iter().take(3).map(|each| format!("what matches {}", cut(each.clone()))));
    if names.is_empty() {
        return "there are none".into();
    }
    if known.len() > MOST_NAMES {
        names.push(format!("and {} more", known.len() - MOST_NAMES));
    }
    format!("known are {}", names.join(", "))
}

/// `argument 'a.b[2]'`, or `the arguments` for all of them.
fn argument(path: &[PathStep], member: Option<&str>) -> String {
    /// Names that a person reads are shorter.
    const MOST: usize = 200;
    let mut text = String::new();
    let names = path.iter().cloned().chain(member.map(|name| PathStep::Name(name.to_owned())));
    for step in names {
        match step {
            PathStep::Name(name) if text.is_empty() => text.push_str(&name),
            PathStep::Name(name) => {
                text.push('.');
                text.push_str(&name);
            }
            PathStep::Index(place) => _ = write!(text, "[{place}]"),
        }
    }
    if text.is_empty() && member.is_none() {
        return "the arguments".into();
    }
    if let Some((end, _)) = text.char_indices().nth(MOST) {
        text.truncate(end);
        text.push_str("...");
    }
    format!("argument '{text}'")
}
