//! A template's syntax, with each operator as a call of a function of ours.
//!
//! The engine counts what its own operations do, but not all of it: `~` and `==` walk a list that holds another one many times
//! over in one step, and what it knows before it runs it computes uncounted. So none of its operators is left: each expression
//! that has one, or that makes a list, is rewritten to a call of a function in [`super::operations`], which counts.
//!
//! Invariant: no list, tuple or map of a template is made but by those functions.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{
    self, BinOpKind, CallArg, CompareOpKind, Expr, Spanned, Stmt, UnaryOpKind,
};

/// The functions that are called in place of operators; no template can use or assign these names, which are not identifiers.
pub mod named {
    /// A value as it was computed, with everything in it.
    pub const PLAIN: &str = "~plain";
    /// A value for a namespace.
    pub const KEPT: &str = "~kept";
    pub const LIST: &str = "~list";
    pub const TUPLE: &str = "~tuple";
    pub const MAP: &str = "~map";
    pub const ITEM: &str = "~item";
    pub const CONCAT: &str = "~concat";
    pub const EQ: &str = "~eq";
    pub const NE: &str = "~ne";
    pub const LT: &str = "~lt";
    pub const LE: &str = "~le";
    pub const GT: &str = "~gt";
    pub const GE: &str = "~ge";
    pub const IN: &str = "~in";
    pub const NOT_IN: &str = "~not in";
}

/// What a template uses that none may.
pub struct NotAllowed(pub &'static str);

type Bound<T> = Result<T, NotAllowed>;

/// The template with calls in place of its operators.
///
/// # Errors
/// It uses a statement or an argument that is not allowed.
pub fn bound<'a>(statement: &Stmt<'a>) -> Bound<Stmt<'a>> {
    Ok(match statement {
        Stmt::Template(it) => {
            spanned(Stmt::Template, it.span(), ast::Template { children: all(&it.children)? })
        }
        Stmt::EmitExpr(it) => {
            spanned(Stmt::EmitExpr, it.span(), ast::EmitExpr { expr: expr(&it.expr)? })
        }
        Stmt::EmitRaw(it) => spanned(Stmt::EmitRaw, it.span(), ast::EmitRaw { raw: it.raw }),
        Stmt::ForLoop(it) => {
            let of = ast::ForLoop {
                target: target(&it.target)?,
                iter: expr(&it.iter)?,
                filter_expr: it.filter_expr.as_ref().map(expr).transpose()?,
                recursive: it.recursive,
                body: all(&it.body)?,
                else_body: all(&it.else_body)?,
            };
            spanned(Stmt::ForLoop, it.span(), of)
        }
        Stmt::IfCond(it) => {
            let of = ast::IfCond {
                expr: expr(&it.expr)?,
                true_body: all(&it.true_body)?,
                false_body: all(&it.false_body)?,
            };
            spanned(Stmt::IfCond, it.span(), of)
        }
        Stmt::WithBlock(it) => {
            let assignments = it.assignments.iter().map(|(to, of)| assigned(to, of));
            let of = ast::WithBlock {
                assignments: assignments.collect::<Bound<_>>()?,
                body: all(&it.body)?,
            };
            spanned(Stmt::WithBlock, it.span(), of)
        }
        Stmt::Set(it) => {
            let (target, expr) = assigned(&it.target, &it.expr)?;
            spanned(Stmt::Set, it.span(), ast::Set { target, expr })
        }
        Stmt::SetBlock(it) => {
            let of = ast::SetBlock {
                target: target(&it.target)?,
                filter: it.filter.as_ref().map(expr).transpose()?,
                body: all(&it.body)?,
            };
            spanned(Stmt::SetBlock, it.span(), of)
        }
        Stmt::FilterBlock(it) => {
            let of = ast::FilterBlock {
                filter: expr(&it.filter)?,
                filter_span: it.filter_span,
                body: all(&it.body)?,
            };
            spanned(Stmt::FilterBlock, it.span(), of)
        }
        Stmt::Macro(it) => Stmt::Macro(declared(it)?),
        Stmt::CallBlock(it) => {
            let of = ast::CallBlock {
                call: called(&it.call)?,
                call_expr_span: it.call_expr_span,
                macro_decl: declared(&it.macro_decl)?,
            };
            spanned(Stmt::CallBlock, it.span(), of)
        }
        Stmt::Continue(it) => spanned(Stmt::Continue, it.span(), ast::Continue),
        Stmt::Break(it) => spanned(Stmt::Break, it.span(), ast::Break),
        Stmt::Do(it) => spanned(Stmt::Do, it.span(), ast::Do { call: called(&it.call)? }),
        Stmt::AutoEscape(_) => return Err(NotAllowed("autoescape")),
        // Another crate of the program may have the engine read more than one template.
        #[allow(unreachable_patterns)]
        _ => return Err(NotAllowed("another template")),
    })
}

fn all<'a>(statements: &[Stmt<'a>]) -> Bound<Vec<Stmt<'a>>> {
    statements.iter().map(bound).collect()
}

fn spanned<N, T>(of: impl Fn(Spanned<T>) -> N, span: Span, node: T) -> N {
    of(Spanned::new(node, span))
}

fn declared<'a>(it: &Spanned<ast::Macro<'a>>) -> Bound<Spanned<ast::Macro<'a>>> {
    let of = ast::Macro {
        name: it.name,
        args: it.args.iter().map(target).collect::<Bound<_>>()?,
        defaults: exprs(&it.defaults)?,
        body: all(&it.body)?,
    };
    Ok(Spanned::new(of, it.span()))
}

/// What is assigned to: a name, names, or an attribute of a namespace.
fn target<'a>(it: &Expr<'a>) -> Bound<Expr<'a>> {
    match it {
        Expr::List(list) => {
            let items = list.items.iter().map(target).collect::<Bound<_>>()?;
            Ok(spanned(Expr::List, list.span(), ast::List { items }))
        }
        other => expr(other),
    }
}

/// An assignment: a namespace keeps plain values only, so that nothing is in itself.
fn assigned<'a>(to: &Expr<'a>, of: &Expr<'a>) -> Bound<(Expr<'a>, Expr<'a>)> {
    let value = expr(of)?;
    let value = match to {
        Expr::Var(_) => value,
        _ => call(named::KEPT, of.span(), [value]),
    };
    Ok((target(to)?, value))
}

fn exprs<'a>(them: &[Expr<'a>]) -> Bound<Vec<Expr<'a>>> {
    them.iter().map(expr).collect()
}

fn expr<'a>(it: &Expr<'a>) -> Bound<Expr<'a>> {
    let optional = |of: &Option<Expr<'a>>| of.as_ref().map(expr).transpose();
    Ok(match it {
        Expr::Var(of) => spanned(Expr::Var, of.span(), ast::Var { id: of.id }),
        Expr::Const(of) => spanned(Expr::Const, of.span(), ast::Const { value: of.value.clone() }),
        Expr::Slice(of) => {
            let slice = ast::Slice {
                expr: expr(&of.expr)?,
                start: optional(&of.start)?,
                stop: optional(&of.stop)?,
                step: optional(&of.step)?,
            };
            call(named::PLAIN, of.span(), [spanned(Expr::Slice, of.span(), slice)])
        }
        Expr::UnaryOp(of) => {
            #[expect(clippy::needless_match, reason = "it cannot be copied")]
            let op = match of.op {
                UnaryOpKind::Not => UnaryOpKind::Not,
                UnaryOpKind::Neg => UnaryOpKind::Neg,
            };
            let unary = ast::UnaryOp { op, expr: expr(&of.expr)? };
            call(named::PLAIN, of.span(), [spanned(Expr::UnaryOp, of.span(), unary)])
        }
        Expr::BinOp(of) => {
            let (left, right) = (expr(&of.left)?, expr(&of.right)?);
            match in_place_of(of.op) {
                Some(name) => call(name, of.span(), [left, right]),
                None => {
                    let binary = ast::BinOp { op: of.op, left, right };
                    call(named::PLAIN, of.span(), [spanned(Expr::BinOp, of.span(), binary)])
                }
            }
        }
        Expr::Compare(of) => match &of.ops[..] {
            [only] => call(compared(only.op), of.span(), [expr(&of.expr)?, expr(&only.expr)?]),
            _ => return Err(NotAllowed("a chain of comparisons")),
        },
        Expr::IfExpr(of) => {
            let choice = ast::IfExpr {
                test_expr: expr(&of.test_expr)?,
                true_expr: expr(&of.true_expr)?,
                false_expr: optional(&of.false_expr)?,
            };
            spanned(Expr::IfExpr, of.span(), choice)
        }
        Expr::Filter(of) => {
            let filter =
                ast::Filter { name: of.name, expr: optional(&of.expr)?, args: args(&of.args)? };
            spanned(Expr::Filter, of.span(), filter)
        }
        Expr::Test(of) => {
            let test = ast::Test { name: of.name, expr: expr(&of.expr)?, args: args(&of.args)? };
            spanned(Expr::Test, of.span(), test)
        }
        Expr::GetAttr(of) => {
            let of_attr = ast::GetAttr { expr: expr(&of.expr)?, name: of.name };
            spanned(Expr::GetAttr, of.span(), of_attr)
        }
        Expr::GetItem(of) => {
            call(named::ITEM, of.span(), [expr(&of.expr)?, expr(&of.subscript_expr)?])
        }
        Expr::Call(of) => Expr::Call(called(of)?),
        Expr::List(of) => call(named::LIST, of.span(), exprs(&of.items)?),
        Expr::Tuple(of) => call(named::TUPLE, of.span(), exprs(&of.items)?),
        Expr::Map(of) => {
            let pairs = of.keys.iter().zip(&of.values).flat_map(|(key, value)| [key, value]);
            call(named::MAP, of.span(), pairs.map(expr).collect::<Bound<Vec<_>>>()?)
        }
    })
}

fn called<'a>(it: &Spanned<ast::Call<'a>>) -> Bound<Spanned<ast::Call<'a>>> {
    if let Expr::GetAttr(method) = &it.expr
        && method.name == "changed"
    {
        return Err(NotAllowed("the method changed"));
    }
    Ok(Spanned::new(ast::Call { expr: expr(&it.expr)?, args: args(&it.args)? }, it.span()))
}

fn args<'a>(them: &[CallArg<'a>]) -> Bound<Vec<CallArg<'a>>> {
    // The engine counts to 65,535 of them.
    if them.len() > MOST_ARGS {
        return Err(NotAllowed("so many arguments"));
    }
    let arg = |it: &CallArg<'a>| match it {
        CallArg::Pos(value) => expr(value).map(CallArg::Pos),
        CallArg::Kwarg(name, value) => Ok(CallArg::Kwarg(name, expr(value)?)),
        CallArg::PosSplat(_) | CallArg::KwargSplat(_) => Err(NotAllowed("arguments from a list")),
    };
    them.iter().map(arg).collect()
}

/// More than a tag of 16 kB has room for.
const MOST_ARGS: usize = 1 << 14;

fn call<'a>(name: &'static str, span: Span, of: impl IntoIterator<Item = Expr<'a>>) -> Expr<'a> {
    let function = spanned(Expr::Var, span, ast::Var { id: name });
    let args = of.into_iter().map(CallArg::Pos).collect();
    spanned(Expr::Call, span, ast::Call { expr: function, args })
}

/// The function in place of an operator that walks what it is given; `None` for one that only computes numbers, or makes a
/// list that is not walked before it is used.
fn in_place_of(op: BinOpKind) -> Option<&'static str> {
    Some(match op {
        BinOpKind::Eq => named::EQ,
        BinOpKind::Ne => named::NE,
        BinOpKind::Lt => named::LT,
        BinOpKind::Lte => named::LE,
        BinOpKind::Gt => named::GT,
        BinOpKind::Gte => named::GE,
        BinOpKind::Concat => named::CONCAT,
        BinOpKind::In => named::IN,
        BinOpKind::ScAnd
        | BinOpKind::ScOr
        | BinOpKind::Add
        | BinOpKind::Sub
        | BinOpKind::Mul
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Rem
        | BinOpKind::Pow => return None,
    })
}

fn compared(op: CompareOpKind) -> &'static str {
    match op {
        CompareOpKind::Eq => named::EQ,
        CompareOpKind::Ne => named::NE,
        CompareOpKind::Lt => named::LT,
        CompareOpKind::Lte => named::LE,
        CompareOpKind::Gt => named::GT,
        CompareOpKind::Gte => named::GE,
        CompareOpKind::In => named::IN,
        CompareOpKind::NotIn => named::NOT_IN,
    }
}
