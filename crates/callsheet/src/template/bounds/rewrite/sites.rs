//! The places in a template that its rewritten form refers to by number.

use std::ops::Range;
use std::sync::Arc;

use minijinja::Error;
use minijinja::machinery::Span;
use minijinja::machinery::ast::{CallArg, Expr, Filter, ForLoop, Spanned};

use super::Printer;
use crate::template::traced::Text;
use crate::trace::{Traced, Transform};

/// How many names of an expression are kept.
const MOST_NAMES: usize = 16;

/// The filters that make texts harmless, and let pass what is no text.
const PASS: [&str; 5] = ["line", "block", "quote", "title", "neutralise"];

/// A place in a template.
#[derive(Debug)]
pub(crate) enum Site {
    /// Literal text, or a constant.
    Own(Arc<Text>),
    /// An expression that is printed.
    Print {
        /// The path of the field, where it is nothing but one.
        path: Vec<String>,
        /// The path of the list of which a loop has an item in the first step of the path; else nothing.
        list: Vec<String>,
        /// The names that it asks for.
        names: Vec<String>,
    },
}

/// A place as it was found.
pub(super) enum Found {
    /// A range of the body; a text with escapes in it has another form there.
    Own(Range<usize>, Option<String>),
    Print(Vec<String>, Vec<String>, Vec<String>),
}

/// A loop over a field.
pub(super) struct Turn {
    variable: String,
    list: Vec<String>,
}

impl Turn {
    /// Returns a loop whose turns are as many as the items of a field.
    pub(super) fn of(each: &ForLoop<'_>) -> Option<Self> {
        let Expr::Var(variable) = &each.target else {
            return None;
        };
        let mut list = Vec::new();
        let plain = chain(&each.iter, &mut list) && each.filter_expr.is_none() && !each.recursive;
        plain.then(|| Self {
            variable: variable.id.to_owned(),
            list,
        })
    }
}

/// Returns the places with their texts.
pub(super) fn sites(body: &Traced, found: Vec<Found>) -> Vec<Site> {
    let mut places: Vec<usize> = Vec::new();
    for one in &found {
        if let Found::Own(range, _) = one {
            places.extend([range.start, range.end]);
        }
    }
    places.sort_unstable();
    places.dedup();
    let pieces = body.cut(&places);
    let text = |range: &Range<usize>| {
        let piece = |place: usize| places.partition_point(|other| *other <= place);
        let mut out = Traced::with_capacity(range.len());
        for piece in &pieces[piece(range.start)..piece(range.end)] {
            out.push(piece);
        }
        out
    };
    let own = |body| Site::Own(Arc::new(Text::own(body)));
    let site = |one| match one {
        Found::Own(range, None) => own(text(&range)),
        Found::Own(range, Some(other)) => {
            let parts = [(0..range.len(), other)];
            own(text(&range).replaced(&parts, Transform::Converted))
        }
        Found::Print(path, list, names) => Site::Print { path, list, names },
    };
    found.into_iter().map(site).collect()
}

impl Printer<'_> {
    fn site(&mut self, found: Found) -> usize {
        self.found.push(found);
        self.found.len() - 1
    }

    /// Prints literal text, which is a part of the source.
    pub(super) fn literal_text(&mut self, number: usize, text: &str) {
        let start = text.as_ptr().addr() - self.source.as_ptr().addr();
        let site = self.site(Found::Own(start..start + text.len(), None));
        self.hook(&format!("{number}|callsheet.say({site})"));
    }

    pub(super) fn constant_site(&mut self, text: &str, span: Span) -> usize {
        let range = span.start_offset as usize..span.end_offset as usize;
        let written = self.source.get(range.clone());
        let inner = written.and_then(|written| written.get(1..written.len().saturating_sub(1)));
        match (written, inner) {
            (_, Some(inner)) if inner == text => {
                self.site(Found::Own(range.start + 1..range.end - 1, None))
            }
            (Some(_), _) => self.site(Found::Own(range, Some(text.to_owned()))),
            (None, _) => self.site(Found::Own(0..self.source.len(), Some(text.to_owned()))),
        }
    }

    /// Prints what prints an expression, behind the expression.
    pub(super) fn print_site(&mut self, number: usize, expr: &Expr<'_>) {
        let mut path = Vec::new();
        if !chain(printed(expr), &mut path) {
            path.clear();
        }
        let mut found = Vec::new();
        names(expr, &mut found);
        let turn = self.turn.as_ref();
        let turn = turn.filter(|turn| path.first() == Some(&turn.variable));
        let list = turn.map_or_else(Vec::new, |turn| turn.list.clone());
        let site = self.site(Found::Print(path, list, found));
        self.push(&format!("|callsheet.print({number}, {site})"));
    }

    /// Prints a filter; one that leaves something out is told of what.
    pub(super) fn filter(&mut self, filter: &Spanned<Filter<'_>>) -> Result<(), Error> {
        let mut found = Vec::new();
        match &filter.expr {
            Some(value) if filter.name == "cap" => names(value, &mut found),
            _ => {}
        }
        if found.is_empty() {
            self.push(filter.name);
            return self.arguments(&filter.args);
        }
        self.push("callsheet.cap(");
        self.text(&found.join(", "));
        self.push(", ");
        self.each_argument(&filter.args)?;
        self.push(")");
        Ok(())
    }
}

/// Returns what an expression prints if it is no text, which some filters let pass.
fn printed<'e, 's>(mut expr: &'e Expr<'s>) -> &'e Expr<'s> {
    while let Expr::Filter(filter) = expr
        && PASS.contains(&filter.name)
        && let Some(value) = &filter.expr
    {
        expr = value;
    }
    expr
}

/// Adds the steps of a path if the expression is nothing else.
pub(super) fn chain(expr: &Expr<'_>, path: &mut Vec<String>) -> bool {
    match expr {
        Expr::Var(var) => {
            path.push(var.id.to_owned());
            true
        }
        Expr::GetAttr(attribute) => {
            let is_chain = chain(&attribute.expr, path);
            path.push(attribute.name.to_owned());
            is_chain
        }
        _ => false,
    }
}

/// Adds the dotted names that an expression asks for, each once.
fn names(expr: &Expr<'_>, found: &mut Vec<String>) {
    let mut path = Vec::new();
    if chain(expr, &mut path) {
        let name = path.join(".");
        if found.len() < MOST_NAMES && !found.contains(&name) {
            found.push(name);
        }
        return;
    }
    let mut all = |list: &[Expr<'_>]| list.iter().for_each(|one| names(one, found));
    match expr {
        Expr::List(list) => all(&list.items),
        Expr::Tuple(tuple) => all(&tuple.items),
        Expr::Map(map) => all(&map.values),
        Expr::GetAttr(attribute) => names(&attribute.expr, found),
        Expr::GetItem(item) => names(&item.expr, found),
        Expr::Slice(slice) => names(&slice.expr, found),
        Expr::UnaryOp(unary) => names(&unary.expr, found),
        Expr::BinOp(binary) => {
            names(&binary.left, found);
            names(&binary.right, found);
        }
        Expr::IfExpr(condition) => {
            names(&condition.true_expr, found);
            condition
                .false_expr
                .iter()
                .for_each(|other| names(other, found));
        }
        Expr::Filter(filter) => {
            filter.expr.iter().for_each(|value| names(value, found));
            arguments(&filter.args, found);
        }
        Expr::Call(call) => arguments(&call.args, found),
        Expr::Compare(compare) => names(&compare.expr, found),
        Expr::Test(test) => names(&test.expr, found),
        Expr::Var(_) | Expr::Const(_) => {}
    }
}

fn arguments(args: &[CallArg<'_>], found: &mut Vec<String>) {
    for arg in args {
        match arg {
            CallArg::Pos(value)
            | CallArg::Kwarg(_, value)
            | CallArg::PosSplat(value)
            | CallArg::KwargSplat(value) => names(value, found),
        }
    }
}
