//! Blocks of calls, as the dialect writes them.

use serde_json::Value;

use super::builder::{Builder, Spelling, Tool, is_identifier, is_plain};
use super::error::GrammarError;
use super::expr::{Expr, choice, class, literal, optional, repeat, sequence};
use super::options::Parallel;
use super::raw::in_attribute;
use super::shape::{ObjectShape, Shape};
use super::values::other_word;
use crate::dialect::{
    Args, Blocks, Body, Head, HeadForm, Ids, Json, JsonShape, MessageHeads, Python, Xml,
};

impl Builder {
    /// Whether each call has its own block.
    pub fn is_each(&self, body: &Body) -> bool {
        let holds_one =
            matches!(body, Body::Json(Json { shape: JsonShape::Object, .. }) | Body::Xml(_));
        let is_bare = self.dialect.calls.open.is_empty() && matches!(body, Body::Head(_));
        self.dialect.calls.layout.blocks == Blocks::Each || holds_one || is_bare
    }

    /// A block of calls with its marks, if it has any.
    ///
    /// # Errors
    /// The dialect cannot hold a name or a key.
    pub fn block(
        &mut self,
        body: &Body,
        is_marked: bool,
        parallel: Parallel,
    ) -> Result<Expr, GrammarError> {
        let form = self.dialect.calls.layout.clone();
        let opens_itself =
            matches!(body, Body::Head(head) if self.dialect.calls.open.contains(&head.open));
        let dialect = self.dialect.clone();
        let marks = [&dialect.calls.open, &dialect.calls.close];
        let marks = marks.map(|marks| marks.first().filter(|_| is_marked && !opens_itself));
        let [open, close] = marks.map(|mark| mark.map_or("", |mark| &**mark));
        let several = parallel == Parallel::Many && !self.is_each(body);
        let many = |call: Expr, between: Expr| {
            if several {
                sequence([call.clone(), repeat(sequence([between, call]), 0, None)])
            } else {
                call
            }
        };
        let calls = match body {
            Body::Json(json) => {
                let object = self.json_call(json)?;
                let object = self.rules.add("call", object);
                let space = self.space(Spelling::Json);
                match &json.shape {
                    JsonShape::Object => object,
                    JsonShape::Array => {
                        let comma = sequence([space.clone(), literal(","), space.clone()]);
                        let calls = many(object, comma);
                        sequence([literal("["), space.clone(), calls, space, literal("]")])
                    }
                    JsonShape::Objects(separator) if separator.trim().is_empty() => {
                        many(object, literal(&**separator))
                    }
                    JsonShape::Objects(separator) => {
                        many(object, sequence([literal(&**separator), space]))
                    }
                }
            }
            Body::Head(head) => {
                let call = self.head_call(head)?;
                many(call, literal(&*form.between))
            }
            Body::Python(python) => {
                let call = self.python_call()?;
                match python {
                    Python::Lines => many(call, literal("\n")),
                    Python::List => {
                        let comma = sequence([literal(","), self.space(Spelling::Python)]);
                        sequence([literal("["), many(call, comma), literal("]")])
                    }
                }
            }
            Body::Xml(xml) => self.xml_call(xml)?,
        };
        Ok(sequence([
            literal(format!("{open}{}", form.open)),
            calls,
            literal(format!("{}{close}", form.close)),
        ]))
    }

    /// Something of each tool.
    fn each_tool(
        &mut self,
        mut make: impl FnMut(&mut Self, &Tool) -> Result<Expr, GrammarError>,
    ) -> Result<Expr, GrammarError> {
        let tools = std::mem::take(&mut self.tools);
        let parts: Result<Vec<Expr>, _> = tools.iter().map(|tool| make(self, tool)).collect();
        self.tools = tools;
        parts.map(choice)
    }

    /// A call as a JSON object.
    fn json_call(&mut self, json: &Json) -> Result<Expr, GrammarError> {
        let form = self.dialect.calls.layout.clone();
        let space = self.space(Spelling::Json);
        let comma = sequence([literal(","), space.clone()]);
        let key = |builder: &Self, key: &str| {
            let key = builder.json(&Value::from(key));
            sequence([literal(key), literal(":"), space.clone()])
        };
        let name_key = json.name.first().map_or("name", |key| key);
        let args_key = json.args.first().map_or("args", |key| key);
        let mut parts = vec![literal("{"), space.clone()];
        if let Some(decision) = &json.decision {
            let thought = self.string(&super::shape::TextShape::default(), Spelling::Json);
            let call = self.json(&Value::from(&*decision.call));
            parts.extend([key(self, &decision.thought_key), thought, comma.clone()]);
            parts.extend([key(self, &decision.key), literal(call), comma.clone()]);
        }
        let id = json.id.as_deref().filter(|_| form.ids != Ids::None);
        let id = id.map(|id| {
            let digits = if let Ids::Count(digits) = form.ids { digits } else { 1 };
            let characters = class(&[('0', '9'), ('A', 'Z'), ('a', 'z')]);
            let value = repeat(characters, digits, Some(digits.max(9)));
            sequence([key(self, id), literal("\""), value, literal("\"")])
        });
        if let Some(id) = id.as_ref().filter(|_| form.id_first) {
            parts.extend([id.clone(), comma.clone()]);
        }
        let server = json.server.as_deref().map(|server| key(self, server));
        let [name_key, args_key] = [name_key, args_key].map(|name| key(self, name));
        parts.extend(server.clone());
        if server.is_none() {
            parts.push(name_key.clone());
        }
        let calls = self.each_tool(|builder, tool| {
            let (server_name, name) = tool.name.split_once('\0').unwrap_or(("local", &tool.name));
            let args = builder.value(tool.args, Spelling::Json);
            let mut parts = Vec::new();
            let name = if server.is_some() {
                parts.extend([literal(builder.json(&Value::from(server_name))), comma.clone()]);
                parts.push(name_key.clone());
                name
            } else {
                &tool.name
            };
            parts.push(literal(builder.json(&Value::from(name))));
            parts.extend([comma.clone(), args_key.clone(), args]);
            Ok(sequence(parts))
        })?;
        parts.push(calls);
        if let Some(id) = id.filter(|_| !form.id_first) {
            parts.extend([comma, id]);
        }
        parts.extend([space, literal("}")]);
        Ok(sequence(parts))
    }

    /// A call with its name in a head.
    fn head_call(&mut self, head: &Head) -> Result<Expr, GrammarError> {
        let form = self.dialect.calls.layout.clone();
        let calls = self.each_tool(|builder, tool| {
            let name = literal(builder.name(tool, matches!(head.form, HeadForm::Attributes(_)))?);
            let digits = || repeat(class(&[('0', '9')]), 1, Some(4));
            let name = match &head.form {
                HeadForm::Name => name,
                HeadForm::Numbered => {
                    sequence([literal("functions."), name, literal(":"), digits()])
                }
                HeadForm::Id(mark) => {
                    let id = class(&[('0', '9'), ('A', 'Z'), ('a', 'z')]);
                    let id = sequence([literal(&**mark), repeat(id, 9, Some(9))]);
                    sequence([name, optional(id)])
                }
                HeadForm::Behind(mark) => sequence([literal(&**mark), name]),
                HeadForm::Attributes(key) => {
                    let space = if head.open.ends_with(' ') { "" } else { " " };
                    let number = match &*form.number {
                        "" => literal("\""),
                        key => sequence([literal(format!("\" {key}=\"")), digits(), literal("\"")]),
                    };
                    sequence([literal(format!("{space}{key}=\"")), name, number])
                }
            };
            let begins = &**head.args.begin();
            let args = builder.arguments(head, tool)?;
            let end = head.ends.first().map_or("", |end| end);
            // Where the mark that ends the head begins the arguments too, and there are none, another mark has to end it.
            let end = if end == begins { "" } else { end };
            let behind = literal(format!("{}{end}{}", form.name.behind, form.head));
            let call = sequence([name, behind, args]);
            Ok(builder.rules.add("call", call))
        })?;
        Ok(sequence([
            literal(format!("{}{}", head.open, form.name.before)),
            calls,
            literal(&*head.close),
        ]))
    }

    /// The arguments of a call whose name is in a head.
    fn arguments(&mut self, head: &Head, tool: &Tool) -> Result<Expr, GrammarError> {
        let tail = self.dialect.calls.layout.tail.to_string();
        let parameter = self.dialect.calls.layout.parameter.to_string();
        let args = match &head.args {
            Args::Json | Args::Text(_) => self.value(tool.args, Spelling::Json),
            Args::Braces(_) => self.value(tool.args, Spelling::Braces),
            Args::Xml(_) => self.each_object(tool, |builder, object| {
                builder.element_arguments(object, &parameter, tool)
            })?,
            Args::Parameters(form) => {
                self.each_object(tool, |builder, object| builder.parameters(form, object, tool))?
            }
        };
        Ok(sequence([args, literal(tail)]))
    }

    /// Something of each object that the arguments may be.
    fn each_object(
        &mut self,
        tool: &Tool,
        mut make: impl FnMut(&mut Self, &ObjectShape) -> Result<Expr, GrammarError>,
    ) -> Result<Expr, GrammarError> {
        let mut parts = Vec::new();
        for id in self.shapes.each(tool.args) {
            if let Shape::Object(object) = self.shapes.get(id).clone() {
                parts.push(make(self, &object)?);
            }
        }
        Ok(choice(parts))
    }

    /// Arguments as elements.
    fn element_arguments(
        &mut self,
        object: &ObjectShape,
        layout: &str,
        tool: &Tool,
    ) -> Result<Expr, GrammarError> {
        let mut parts = Vec::new();
        for member in &object.members {
            if !super::values::is_element(&member.key) {
                let path = format!("{}.{}", tool.name, member.key);
                if member.is_required {
                    return Err(self.unwritable("the key", path));
                }
                self.shapes.widened.push(format!("{path}: the key, which cannot be written"));
                continue;
            }
            let value = self.value(member.value, Spelling::Elements);
            let element = self.element(&member.key, value);
            let element = sequence([element, literal(layout)]);
            parts.push(if member.is_required { element } else { optional(element) });
        }
        Ok(sequence(parts))
    }

    /// A call in Python.
    fn python_call(&mut self) -> Result<Expr, GrammarError> {
        self.each_tool(|builder, tool| {
            let name = builder.name(tool, false)?;
            let args = builder.each_object(tool, |builder, object| {
                let mut members = Vec::new();
                for member in &object.members {
                    if !is_identifier(&member.key) {
                        let path = format!("{}.{}", tool.name, member.key);
                        if member.is_required {
                            return Err(builder.unwritable("the key", path));
                        }
                        let note = format!("{path}: the key, which cannot be written");
                        builder.shapes.widened.push(note);
                        continue;
                    }
                    let value = builder.value(member.value, Spelling::Python);
                    let key = literal(format!("{}=", member.key));
                    members.push((sequence([key, value]), member.is_required));
                }
                let declared: Vec<&str> =
                    object.members.iter().map(|member| &*member.key).collect();
                let others = object.others.map(|others| {
                    let value = builder.value(others, Spelling::Python);
                    sequence([other_word(&declared), literal("="), value])
                });
                Ok(builder.members(&members, others, Spelling::Python))
            })?;
            let call = sequence([literal(name), literal("("), args, literal(")")]);
            Ok(builder.rules.add("call", call))
        })
    }

    /// A call as elements.
    fn xml_call(&mut self, xml: &Xml) -> Result<Expr, GrammarError> {
        let Some(parts) = &xml.parts else {
            return Err(self.uncovered("elements without one for the name"));
        };
        let layout = self.dialect.calls.layout.parameter.to_string();
        let args_tags = [
            format!("{}<{}>{layout}", xml.prefix, parts.args),
            format!("{}</{}>", xml.prefix, parts.args),
        ];
        self.each_tool(|builder, tool| {
            let (server, name) = tool.name.split_once('\0').unwrap_or(("local", &tool.name));
            let mut written = Vec::new();
            for (element, text) in [(&parts.server, server), (&parts.name, name)] {
                if !is_plain(text) && !builder.can_write(&tool.name, None) {
                    return Err(builder.unwritable("the name", &*tool.name));
                }
                let text = builder.constant(&Value::from(text), Spelling::Elements);
                written.push(builder.element(element, literal(text)));
                written.push(literal(&*layout));
            }
            let args = builder.each_object(tool, |builder, object| {
                builder.element_arguments(object, &layout, tool)
            })?;
            let [open, close] = args_tags.clone().map(literal);
            written.extend([open, args, close]);
            let call = sequence(written);
            Ok(builder.rules.add("call", call))
        })
    }

    /// Calls that are each a message, or are in one. The server may leave out the mark that ends the last message.
    ///
    /// # Errors
    /// The dialect cannot hold a name or a key.
    pub fn message(&mut self, heads: &MessageHeads) -> Result<Expr, GrammarError> {
        let frame = self.dialect.calls.layout.message.clone();
        let dialect = self.dialect.clone();
        let Some(body) = dialect.calls.bodies.first() else {
            return Err(self.uncovered("no body"));
        };
        self.each_tool(|builder, tool| {
            let name = builder.name(tool, false)?;
            let forms = head_forms(heads, &frame.before);
            let head = choice(forms.map(|form| literal(form.replace("{name}", &name))));
            let one = Tool { name: tool.name.clone(), args: tool.args };
            let call = match body {
                Body::Head(head) if heads.names_call => builder.arguments(head, &one)?,
                body => {
                    let others = std::mem::replace(&mut builder.tools, vec![one]);
                    let call = builder.block(body, true, Parallel::One);
                    builder.tools = others;
                    call?
                }
            };
            let call = sequence([head, call]);
            Ok(builder.rules.add("call", call))
        })
    }

    /// The name of a tool where there are no escapes.
    fn name(&self, tool: &Tool, is_attribute: bool) -> Result<String, GrammarError> {
        let name = &tool.name;
        if is_plain(name) {
            return Ok(name.clone());
        }
        if !self.can_write(name, None) {
            return Err(self.unwritable("the name", format!("{name:?}")));
        }
        let name = self.bare(name);
        Ok(if is_attribute { in_attribute(&name) } else { name })
    }
}

/// The heads of a message to a tool. A model may also name the tool after the channel, and leave out what the text is.
fn head_forms(heads: &MessageHeads, written: &str) -> impl Iterator<Item = String> + use<> {
    let turned = written.split_once(&*heads.channel).filter(|_| !heads.channel.is_empty());
    let turned = turned.and_then(|(recipient, rest)| {
        let (channel, rest) = rest.split_once(' ')?;
        let head = format!("{}{channel}{recipient}", heads.channel);
        Some([format!("{head} {rest}"), format!("{head}{}", heads.end)])
    });
    [written.to_owned()].into_iter().chain(turned.into_iter().flatten())
}
