//! Writes a template anew, so that what makes a value goes through our filters.
//!
//! The engine's own parser reads it and says what is wrong with it. What is printed has the same meaning and stands on the
//! same lines. Nothing is evaluated here: the engine would work out what is constant, however large it gets.

use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, UnaryOpKind};
use minijinja::machinery::{Span, parse, parse_expr};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind, Value};

use crate::trace::Traced;

mod sites;
mod statements;
mod tokens;

pub(crate) use sites::Site;
use sites::{Found, Turn};
pub(crate) use tokens::filter_line;
use tokens::look_over;

/// Writes a template anew that has a number, and returns the places in it that it refers to.
pub(crate) fn template(
    body: &Traced,
    number: usize,
    syntax: &SyntaxConfig,
) -> Result<(String, Vec<Site>), Error> {
    let source = body.text();
    look_over(source, false, syntax)?;
    let template = parse(source, "", syntax.clone())?;
    let mut printer = Printer::new(source, Some(number));
    printer.statement(&template)?;
    if printer.extends {
        printer.hook(&format!("{number}|callsheet.unmute"));
    }
    Ok((printer.out, sites::sites(body, printer.found)))
}

/// Writes an expression anew.
pub(crate) fn expression(source: &str) -> Result<String, Error> {
    look_over(source, true, &SyntaxConfig::default())?;
    let expression = parse_expr(source)?;
    let mut printer = Printer::new(source, None);
    printer.expression(&expression, Level::Condition)?;
    Ok(printer.out)
}

/// How tightly an expression binds, from loosely to tightly.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Condition,
    Or,
    And,
    Not,
    Compared,
    Sum,
    Product,
    Power,
    Filtered,
    Primary,
}

struct Printer<'s> {
    source: &'s str,
    /// The number of the template; an expression on its own has none, and prints nothing.
    number: Option<usize>,
    out: String,
    line: u16,
    found: Vec<Found>,
    /// Whether the template may extend another one.
    extends: bool,
    /// The loop that is printed, where its variable stands for an item of a field.
    turn: Option<Turn>,
}

impl<'s> Printer<'s> {
    fn new(source: &'s str, number: Option<usize>) -> Self {
        Self {
            source,
            number,
            out: String::new(),
            line: 1,
            found: Vec::new(),
            extends: false,
            turn: None,
        }
    }

    /// Prints a statement that does something and prints nothing itself.
    fn hook(&mut self, expression: &str) {
        self.push("{% if ");
        self.push(expression);
        self.push(" %}{% endif %}");
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Goes to the line that something stands on.
    fn go_to(&mut self, span: Span) {
        while self.line < span.start_line {
            self.line += 1;
            self.out.push('\n');
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push('"');
        for character in text.chars() {
            match character {
                '"' | '\\' => self.out.push('\\'),
                '\n' => self.line = self.line.saturating_add(1),
                _ => {}
            }
            self.out.push(character);
        }
        self.out.push('"');
    }

    fn expression(&mut self, expr: &Expr<'_>, wanted: Level) -> Result<(), Error> {
        let wrapped = level(expr) < wanted;
        if wrapped {
            self.push("(");
        }
        self.go_to(expr.span());
        self.bare(expr)?;
        if wrapped {
            self.push(")");
        }
        Ok(())
    }

    fn bare(&mut self, expr: &Expr<'_>) -> Result<(), Error> {
        match expr {
            Expr::Var(var) => self.push(var.id),
            Expr::Const(value) => self.printed_constant(&value.value, value.span()),
            Expr::UnaryOp(unary) => match unary.op {
                UnaryOpKind::Not => {
                    self.push("not ");
                    self.expression(&unary.expr, Level::Not)?;
                }
                UnaryOpKind::Neg => {
                    self.push("-");
                    self.expression(&unary.expr, Level::Primary)?;
                }
            },
            Expr::BinOp(binary) => self.binary(binary.op, &binary.left, &binary.right)?,
            Expr::Compare(compare) => {
                self.compared(&compare.expr)?;
                for next in &compare.ops {
                    self.push(comparison(next.op));
                    self.compared(&next.expr)?;
                }
            }
            Expr::IfExpr(condition) => {
                self.expression(&condition.true_expr, Level::Or)?;
                self.push(" if ");
                self.expression(&condition.test_expr, Level::Or)?;
                if let Some(other) = &condition.false_expr {
                    self.push(" else ");
                    self.expression(other, Level::Condition)?;
                }
            }
            Expr::Filter(filter) => {
                if let Some(value) = &filter.expr {
                    self.expression(value, Level::Filtered)?;
                    self.push("|");
                }
                self.filter(filter)?;
            }
            Expr::Test(test) => {
                self.expression(&test.expr, Level::Filtered)?;
                self.push("|callsheet.read is ");
                self.push(test.name);
                self.arguments(&test.args)?;
            }
            Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) => self.literal(expr)?,
            _ => self.part(expr)?,
        }
        Ok(())
    }

    /// Prints what is taken out of a value, or what a call makes of it.
    fn part(&mut self, expr: &Expr<'_>) -> Result<(), Error> {
        match expr {
            Expr::GetAttr(attribute) => {
                self.expression(&attribute.expr, Level::Primary)?;
                self.push(".");
                self.push(attribute.name);
            }
            Expr::GetItem(item) => {
                self.item(&item.expr, &item.subscript_expr)?;
            }
            Expr::Call(call) => self.captured_call(&call.expr, &call.args)?,
            Expr::Slice(slice) => {
                self.expression(&slice.expr, Level::Filtered)?;
                self.push("|callsheet.slice(");
                for (at, bound) in [&slice.start, &slice.stop, &slice.step].iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    match bound {
                        Some(bound) => self.expression(bound, Level::Condition)?,
                        None => self.push("none"),
                    }
                }
                self.push(")");
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints what is taken out of a value by a key.
    ///
    /// In the text that comes out of this, the engine finds the words for an undefined item: the value that it is not in, where
    /// that has a name, stands right before the last filter.
    fn item(&mut self, value: &Expr<'_>, key: &Expr<'_>) -> Result<(), Error> {
        let has_name = sites::chain(value, &mut Vec::new());
        if is_near(key) || has_name {
            self.expression(value, Level::Primary)?;
        } else {
            self.push("(");
            self.expression(value, Level::Filtered)?;
            self.push("|callsheet.look)");
        }
        self.push("[");
        if is_near(key) {
            self.bare_constant(key)?;
        } else {
            self.expression(key, Level::Filtered)?;
            self.push("|callsheet.key(");
            if has_name {
                self.expression(value, Level::Condition)?;
            }
            self.push(")");
        }
        self.push("]");
        Ok(())
    }

    fn literal(&mut self, expr: &Expr<'_>) -> Result<(), Error> {
        match expr {
            Expr::List(list) => {
                self.push("[");
                self.listed(&list.items)?;
                self.push("]");
            }
            Expr::Tuple(tuple) => {
                self.push("(");
                self.listed(&tuple.items)?;
                self.push(")");
            }
            Expr::Map(map) => {
                self.push("{");
                for (key, value) in map.keys.iter().zip(&map.values) {
                    self.expression(key, Level::Condition)?;
                    self.push(": ");
                    self.expression(value, Level::Condition)?;
                    self.push(", ");
                }
                self.push("}");
            }
            _ => {}
        }
        if !is_constant(expr) {
            self.push("|callsheet.keep");
        }
        Ok(())
    }

    fn listed(&mut self, items: &[Expr<'_>]) -> Result<(), Error> {
        for item in items {
            self.expression(item, Level::Condition)?;
            self.push(", ");
        }
        Ok(())
    }

    fn constant(&mut self, value: &Value) {
        if let Some(text) = value.as_str() {
            return self.text(text);
        }
        let printed = match f64::try_from(value.clone()) {
            Ok(number) if value.is_number() && !value.is_integer() => {
                if number.is_finite() {
                    format!("{number:?}")
                } else {
                    "1e999".to_owned()
                }
            }
            _ => value.to_string(),
        };
        self.push(&printed);
    }

    fn binary(&mut self, op: BinOpKind, left: &Expr<'_>, right: &Expr<'_>) -> Result<(), Error> {
        let counted = match op {
            BinOpKind::Add => "add",
            BinOpKind::Mul => "multiply",
            BinOpKind::Concat => "concat",
            _ => return self.uncounted(op, left, right),
        };
        self.expression(left, Level::Filtered)?;
        self.push("|callsheet.");
        self.push(counted);
        self.push("(");
        self.expression(right, Level::Condition)?;
        self.push(")");
        Ok(())
    }

    fn uncounted(&mut self, op: BinOpKind, left: &Expr<'_>, right: &Expr<'_>) -> Result<(), Error> {
        let (sign, first, second) = match op {
            BinOpKind::ScOr => (" or ", Level::Or, Level::And),
            BinOpKind::ScAnd => (" and ", Level::And, Level::Not),
            BinOpKind::Sub => (" - ", Level::Sum, Level::Product),
            BinOpKind::Div => (" / ", Level::Product, Level::Power),
            BinOpKind::FloorDiv => (" // ", Level::Product, Level::Power),
            BinOpKind::Rem => (" % ", Level::Product, Level::Power),
            BinOpKind::Pow => (" ** ", Level::Power, Level::Filtered),
            _ => {
                self.compared(left)?;
                self.push(compared_by(op));
                return self.compared(right);
            }
        };
        self.expression(left, first)?;
        self.push(sign);
        self.expression(right, second)
    }

    /// Prints one side of a comparison, which the engine goes all through.
    fn compared(&mut self, expr: &Expr<'_>) -> Result<(), Error> {
        if matches!(expr, Expr::Const(_)) {
            return self.bare_constant(expr);
        }
        self.expression(expr, Level::Filtered)?;
        self.push("|callsheet.read");
        Ok(())
    }

    /// Prints a constant that nobody prints or keeps.
    fn bare_constant(&mut self, expr: &Expr<'_>) -> Result<(), Error> {
        match expr {
            Expr::Const(constant) => {
                self.go_to(constant.span());
                self.constant(&constant.value);
                Ok(())
            }
            _ => self.expression(expr, Level::Condition),
        }
    }

    /// Prints a constant; a text leads to where it stands.
    fn printed_constant(&mut self, value: &Value, span: Span) {
        match (self.number, value.as_str()) {
            (Some(number), Some(text)) => {
                let site = self.constant_site(text, span);
                self.push(&format!("{number}|callsheet.own({site})"));
            }
            _ => self.constant(value),
        }
    }

    /// Prints a call that may print: what it prints is captured.
    fn captured_call(&mut self, callee: &Expr<'_>, args: &[CallArg<'_>]) -> Result<(), Error> {
        if self.number.is_none() {
            return self.call(callee, args);
        }
        self.push("none|callsheet.begin|callsheet.called(");
        self.call(callee, args)?;
        self.push(")");
        Ok(())
    }

    fn call(&mut self, callee: &Expr<'_>, args: &[CallArg<'_>]) -> Result<(), Error> {
        if let Expr::GetAttr(method) = callee
            && method.name == "cycle"
            && !args.iter().any(|arg| matches!(arg, CallArg::Pos(_)))
        {
            let detail = "`cycle` needs a value to begin with";
            return Err(Error::new(ErrorKind::SyntaxError, detail));
        }
        self.expression(callee, Level::Primary)?;
        self.arguments(args)
    }

    fn arguments(&mut self, args: &[CallArg<'_>]) -> Result<(), Error> {
        self.push("(");
        self.each_argument(args)?;
        self.push(")");
        Ok(())
    }

    fn each_argument(&mut self, args: &[CallArg<'_>]) -> Result<(), Error> {
        for arg in args {
            match arg {
                CallArg::Pos(value) => self.expression(value, Level::Condition)?,
                CallArg::Kwarg(name, value) => {
                    self.push(name);
                    self.push("=");
                    self.expression(value, Level::Condition)?;
                }
                CallArg::PosSplat(values) => {
                    self.push("*");
                    self.expression(values, Level::Filtered)?;
                    self.push("|callsheet.items");
                }
                CallArg::KwargSplat(fields) => {
                    self.push("**");
                    self.expression(fields, Level::Filtered)?;
                }
            }
            self.push(", ");
        }
        Ok(())
    }
}

fn is_constant(expr: &Expr<'_>) -> bool {
    let all = |items: &[Expr<'_>]| items.iter().all(is_plain_constant);
    match expr {
        Expr::List(list) => all(&list.items),
        Expr::Tuple(tuple) => all(&tuple.items),
        Expr::Map(map) => all(&map.keys) && all(&map.values),
        _ => false,
    }
}

fn is_plain_constant(expr: &Expr<'_>) -> bool {
    matches!(expr, Expr::Const(constant) if constant.value.as_str().is_none())
}

/// Tells whether a key is found without going far through a text: a name, or one of the first places.
fn is_near(key: &Expr<'_>) -> bool {
    const NEAR: usize = 1000;
    let Expr::Const(constant) = key else {
        return false;
    };
    let place = constant.value.as_usize();
    place.map_or(constant.value.as_str().is_some(), |place| place < NEAR)
}

fn comparison(op: CompareOpKind) -> &'static str {
    match op {
        CompareOpKind::Eq => " == ",
        CompareOpKind::Ne => " != ",
        CompareOpKind::Lt => " < ",
        CompareOpKind::Lte => " <= ",
        CompareOpKind::Gt => " > ",
        CompareOpKind::Gte => " >= ",
        CompareOpKind::In => " in ",
        CompareOpKind::NotIn => " not in ",
    }
}

fn compared_by(op: BinOpKind) -> &'static str {
    match op {
        BinOpKind::Ne => " != ",
        BinOpKind::Lt => " < ",
        BinOpKind::Lte => " <= ",
        BinOpKind::Gt => " > ",
        BinOpKind::Gte => " >= ",
        BinOpKind::In => " in ",
        _ => " == ",
    }
}

/// Returns how tightly an expression binds as it is printed.
fn level(expr: &Expr<'_>) -> Level {
    match expr {
        Expr::IfExpr(_) => Level::Condition,
        Expr::UnaryOp(unary) => match unary.op {
            UnaryOpKind::Not => Level::Not,
            UnaryOpKind::Neg => Level::Filtered,
        },
        Expr::Compare(_) => Level::Compared,
        Expr::BinOp(binary) => match binary.op {
            BinOpKind::ScOr => Level::Or,
            BinOpKind::ScAnd => Level::And,
            BinOpKind::Sub => Level::Sum,
            BinOpKind::Div | BinOpKind::FloorDiv | BinOpKind::Rem => Level::Product,
            BinOpKind::Pow => Level::Power,
            BinOpKind::Add | BinOpKind::Mul | BinOpKind::Concat => Level::Filtered,
            _ => Level::Compared,
        },
        Expr::Filter(_) | Expr::Test(_) | Expr::Slice(_) => Level::Filtered,
        Expr::List(_) | Expr::Tuple(_) | Expr::Map(_) if !is_constant(expr) => Level::Filtered,
        Expr::Const(value) if value.value.is_number() || value.value.as_str().is_some() => {
            Level::Filtered
        }
        Expr::Call(_) => Level::Filtered,
        _ => Level::Primary,
    }
}
