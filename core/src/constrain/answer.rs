//! Whole answers: reasoning, text, and calls.

use super::builder::{Builder, Spelling, marks_in_text};
use super::error::GrammarError;
use super::expr::{Expr, choice, class, literal, optional, repeat, sequence};
use super::options::{CallChoice, GrammarOptions, Parallel, Reasoning};
use super::shape::TextShape;
use super::text::{Avoiding, TextForm, TextRules};
use crate::dialect::{
    BatchEnd, Body, DecisionKeys, Dialect, Frame, Json, MessageHeads, Python, Unmarked,
};

/// What a mark is mentioned between.
const QUOTES: [char; 3] = ['"', '\'', '`'];

impl Builder {
    /// The answers that are allowed.
    ///
    /// # Errors
    /// The dialect cannot hold a name or a key, or has a form that is not covered.
    pub fn answer(&mut self, options: &GrammarOptions) -> Result<Expr, GrammarError> {
        let dialect = self.dialect.clone();
        let Some(body) = dialect.calls.bodies.first() else {
            return Err(self.uncovered("no body"));
        };
        if let Some(heads) = &dialect.heads {
            return self.messages(heads, options);
        }
        let thought = self.thought(&dialect, options.reasoning)?;
        if let Body::Json(Json { decision: Some(decision), .. }) = body {
            let rest = self.decided(body, decision, options)?;
            return Ok(match thought {
                Some((thought, true)) => sequence([thought, rest]),
                Some((thought, false)) => sequence([optional(thought), rest]),
                None => rest,
            });
        }
        let blocks = match options.calls {
            CallChoice::None => None,
            _ => Some(self.blocks(&dialect, body, options)?),
        };
        let rest = |builder: &mut Self, follows_thought| {
            builder.rest(&dialect, blocks.as_ref(), options, follows_thought)
        };
        Ok(match thought {
            Some((thought, true)) => sequence([thought, rest(self, true)]),
            Some((thought, false)) => {
                choice([sequence([thought, rest(self, true)]), rest(self, false)])
            }
            None => rest(self, false),
        })
    }

    /// Reasoning with its marks, and whether the answer begins in it; `None` if there is none.
    fn thought(
        &mut self,
        dialect: &Dialect,
        reasoning: Reasoning,
    ) -> Result<Option<(Expr, bool)>, GrammarError> {
        let is_open = match reasoning {
            Reasoning::None => return Ok(None),
            Reasoning::Open => true,
            Reasoning::Auto => dialect.begins_in_reasoning,
        };
        let Some(pair) = dialect.reasoning.first() else {
            return if is_open {
                Err(self.uncovered("it has no marks of reasoning"))
            } else {
                Ok(None)
            };
        };
        let text = self.thought_text(&[&pair.close]);
        let close = if pair.close.is_empty() { "\n" } else { &pair.close };
        let open = if is_open { "" } else { &pair.open };
        Ok(Some((sequence([literal(open), text, literal(close)]), is_open)))
    }

    /// Text that may be in reasoning.
    fn thought_text(&mut self, followers: &[&str]) -> Expr {
        let dialect = self.dialect.clone();
        if dialect.unmarked != Unmarked::Anywhere {
            return self.text().all();
        }
        // In reasoning a bracket opens nothing.
        let marks = marks_in_text(&dialect, &self.outside);
        let marks = marks.iter().map(|mark| &**mark).filter(|mark| !["{", "["].contains(mark));
        let form = TextForm { followers, ..TextForm::default() };
        Avoiding::new(marks).rules(&mut self.rules, "thought", &form).all()
    }

    /// The rules of free text.
    fn text(&mut self) -> TextRules {
        if let Some(text) = &self.text {
            return text.clone();
        }
        let dialect = self.dialect.clone();
        let followers = followers(&dialect);
        let form = TextForm { followers: &followers, ..TextForm::default() };
        let text = self.marks.rules(&mut self.rules, "text", &form);
        self.text.insert(text).clone()
    }

    /// Free text with which an answer begins, or what follows its reasoning.
    fn first_text(&mut self, dialect: &Dialect, follows_thought: bool) -> Expr {
        let mut not_first = Vec::new();
        if follows_thought {
            not_first.extend(QUOTES);
        }
        if dialect.unmarked == Unmarked::AtStart {
            not_first.extend(['{', '[']);
        }
        let text = self.text();
        if not_first.is_empty() {
            return text.all();
        }
        let followers = followers(dialect);
        let form = TextForm { followers: &followers, ..TextForm::default() };
        self.marks.starting(&mut self.rules, &text, &form, &not_first)
    }

    /// What follows reasoning, or is the whole answer.
    fn rest(
        &mut self,
        dialect: &Dialect,
        blocks: Option<&Blocks>,
        options: &GrammarOptions,
        follows_thought: bool,
    ) -> Expr {
        let gap = gap(dialect);
        if let Some(blocks) = blocks.filter(|_| options.must_call()) {
            return sequence([gap, blocks.first.clone()]);
        }
        let text = self.first_text(dialect, follows_thought);
        let mut parts = Vec::new();
        let Frame { before, behind } = &dialect.prompt.turn.text;
        let is_framed = !before.trim().is_empty() || !behind.trim().is_empty();
        if is_framed {
            let inner = self.text().all();
            parts.push(sequence([gap.clone(), literal(&**before), inner, literal(&**behind)]));
        }
        let ends = dialect.end.iter().map(|end| literal(&**end));
        let plain = || {
            let ends: Vec<Expr> = ends.clone().chain([literal("")]).collect();
            sequence([text.clone(), if ends.len() > 1 { choice(ends) } else { literal("") }])
        };
        match blocks {
            None => parts.push(plain()),
            Some(blocks) => {
                let is_bare = dialect.unmarked == Unmarked::AtStart;
                if is_bare && blocks.is_unmarked {
                    parts.push(sequence([gap.clone(), blocks.first.clone()]));
                }
                let preamble = dialect.prompt.turn.preamble.as_ref().filter(|_| is_framed);
                let frame = preamble.unwrap_or(&dialect.prompt.turn.text);
                if let Some(later) = &blocks.later {
                    let framed = !frame.before.trim().is_empty() || !frame.behind.trim().is_empty();
                    let before = if framed {
                        let inner = self.text().all();
                        let parts = [literal(&*frame.before), inner, literal(&*frame.behind)];
                        optional(sequence(parts))
                    } else if dialect.at_line_start {
                        optional(sequence([text.clone(), literal("\n")]))
                    } else {
                        text.clone()
                    };
                    let mut ends: Vec<Expr> = vec![later.clone()];
                    if framed || dialect.at_line_start {
                        parts.push(sequence([before, later.clone()]));
                        parts.push(plain());
                    } else {
                        ends.extend(dialect.end.iter().map(|end| literal(&**end)));
                        ends.push(literal(""));
                        parts.push(sequence([before, choice(ends)]));
                    }
                } else {
                    parts.push(plain());
                }
            }
        }
        choice(parts)
    }

    /// The calls of an answer.
    fn blocks(
        &mut self,
        dialect: &Dialect,
        body: &Body,
        options: &GrammarOptions,
    ) -> Result<Blocks, GrammarError> {
        let parallel = options.parallel;
        let form = &dialect.calls.layout;
        let is_unmarked = form.unmarked && dialect.unmarked != Unmarked::Never
            || dialect.calls.open.is_empty() && !matches!(body, Body::Head(_));
        let is_closed = match body {
            Body::Head(head) if dialect.calls.open.is_empty() => !head.close.is_empty(),
            _ => !dialect.calls.close.is_empty() && !is_unmarked,
        };
        let may_repeat = parallel == Parallel::Many && dialect.batch == BatchEnd::Answer;
        let whole = |builder: &mut Self, is_marked: bool| -> Result<Expr, GrammarError> {
            let block = builder.block(body, is_marked, parallel)?;
            let block = builder.rules.add("block", block);
            let between = match (is_closed, &*form.between) {
                (true, _) if options.must_call() => gap(dialect),
                (true, _) => builder.text().all(),
                (false, "") if builder.is_each(body) && is_unmarked => optional(literal("\n")),
                (false, between) => literal(between),
            };
            // Where the first block holds all calls, and nothing ends it, there is no other.
            let repeats = may_repeat && (is_closed || builder.is_each(body));
            if !repeats {
                return Ok(block);
            }
            let more = sequence([between, block.clone()]);
            let blocks = sequence([block, repeat(more, 0, None)]);
            Ok(builder.rules.add("calls", blocks))
        };
        let first = whole(self, !is_unmarked)?;
        let later = match (is_unmarked, dialect.unmarked) {
            (false, _) | (true, Unmarked::Anywhere) => Some(first.clone()),
            _ if dialect.calls.open.is_empty() => None,
            _ => Some(whole(self, true)?),
        };
        if matches!(body, Body::Python(Python::Lines)) && is_unmarked {
            return Err(self.uncovered("calls in Python without a mark"));
        }
        Ok(Blocks { first, later, is_unmarked })
    }

    /// Answers that are one object: calls, or what the model says.
    fn decided(
        &mut self,
        body: &Body,
        decision: &DecisionKeys,
        options: &GrammarOptions,
    ) -> Result<Expr, GrammarError> {
        let space = self.space(Spelling::Json);
        let string = self.string(&TextShape::default(), Spelling::Json);
        let pair = |builder: &Self, key: &str, value: Expr| {
            let key = builder.json(&key.into());
            sequence([literal(key), literal(":"), space.clone(), value])
        };
        let comma = sequence([literal(","), space.clone()]);
        let kind = literal(self.json(&(&*decision.answer).into()));
        let answer = sequence([
            literal("{"),
            space.clone(),
            pair(self, &decision.thought_key, string.clone()),
            comma.clone(),
            pair(self, &decision.key, kind),
            comma,
            pair(self, &decision.answer_key, string),
            space,
            literal("}"),
        ]);
        Ok(match options.calls {
            CallChoice::None => answer,
            CallChoice::Auto => choice([self.block(body, false, options.parallel)?, answer]),
            _ => self.block(body, false, options.parallel)?,
        })
    }

    /// Answers that are messages, each with a head. What ends the last one may be a mark at which the server stops.
    fn messages(
        &mut self,
        heads: &MessageHeads,
        options: &GrammarOptions,
    ) -> Result<Expr, GrammarError> {
        let dialect = self.dialect.clone();
        let turn = &dialect.prompt.turn;
        let Some(joints) = &turn.joints else {
            return Err(self.uncovered("nothing between messages"));
        };
        let text = self.text().all();
        let framed = |frame: &Frame| {
            sequence([literal(&*frame.before), text.clone(), literal(&*frame.behind)])
        };
        let thought = match options.reasoning {
            Reasoning::None => literal(""),
            Reasoning::Auto if !dialect.begins_in_reasoning => {
                optional(sequence([framed(&turn.thought), literal(&*joints.thought)]))
            }
            _ => {
                let end = literal(format!("{}{}", turn.thought.behind, joints.thought));
                sequence([text.clone(), end])
            }
        };
        let last = |frame: &Frame| {
            let Frame { before, behind } = frame;
            sequence([literal(&**before), text.clone(), optional(literal(&**behind))])
        };
        let answer = last(&turn.text);
        if options.calls == CallChoice::None {
            return Ok(sequence([thought, answer]));
        }
        let call = self.message(heads)?;
        let call = self.rules.add("message", call);
        let Frame { behind, .. } = &dialect.calls.layout.message;
        let between = literal(format!("{behind}{}", dialect.calls.layout.between));
        let more = match options.parallel {
            Parallel::Many => repeat(sequence([between, call.clone()]), 0, None),
            Parallel::One => literal(""),
        };
        let calls = sequence([call, more, optional(literal(&**behind))]);
        if options.calls != CallChoice::Auto {
            return Ok(sequence([thought, calls]));
        }
        let preamble = turn.preamble.as_ref().unwrap_or(&turn.text);
        let preamble = optional(sequence([framed(preamble), literal(&*joints.calls)]));
        Ok(sequence([thought, choice([answer, sequence([preamble, calls])])]))
    }
}

/// The calls of an answer.
struct Blocks {
    /// Those with which it begins.
    first: Expr,
    /// Those that follow text; `None` if none may.
    later: Option<Expr>,
    /// Whether the first ones have no mark.
    is_unmarked: bool,
}

/// What may come before the first of the calls, or between two, if there is no text.
fn gap(dialect: &Dialect) -> Expr {
    let space = repeat(class(&[('\n', '\n'), (' ', ' ')]), 0, Some(2));
    if dialect.at_line_start { literal("") } else { space }
}

/// What may come after free text.
fn followers(dialect: &Dialect) -> Vec<&str> {
    let calls = &dialect.calls.layout;
    let head = dialect.calls.bodies.iter().filter_map(|body| match body {
        Body::Head(head) => Some(&*head.open),
        _ => None,
    });
    let turn = &dialect.prompt.turn;
    let frames = [&turn.thought, &turn.text].into_iter().chain(&turn.preamble);
    let mut followers: Vec<&str> = dialect.calls.open.iter().map(|open| &**open).collect();
    if followers.is_empty() {
        followers.extend(head);
    }
    followers.extend(dialect.reasoning.iter().map(|pair| &*pair.close));
    followers.extend(frames.map(|frame| &*frame.behind));
    followers.extend(dialect.end.iter().map(|end| &**end));
    followers.push(&calls.message.behind);
    followers.retain(|follower| !follower.trim().is_empty());
    followers
}
