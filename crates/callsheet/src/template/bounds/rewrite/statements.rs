//! The statements of a template, written anew.

use minijinja::Error;
use minijinja::machinery::ast::{Call, Expr, ForLoop, IfCond, Macro, Stmt};

use super::{Level, Printer, Turn};

/// Begins to capture what is printed.
const BEGIN: &str = "none|callsheet.begin";

impl Printer<'_> {
    pub(super) fn statement(&mut self, statement: &Stmt<'_>) -> Result<(), Error> {
        match statement {
            Stmt::Template(template) => self.all(&template.children),
            Stmt::EmitExpr(emit) => self.emit(&emit.expr),
            Stmt::EmitRaw(raw) => {
                if let Some(number) = self.number {
                    self.literal_text(number, raw.raw);
                }
                Ok(())
            }
            Stmt::ForLoop(each) => self.for_loop(each),
            Stmt::IfCond(condition) => self.condition(condition),
            Stmt::Set(set) => {
                self.push("{% set ");
                self.target(&set.target);
                self.push(" = ");
                if assigns_attribute(&set.target) {
                    self.expression(&set.expr, Level::Filtered)?;
                    self.push("|callsheet.hold");
                } else {
                    self.expression(&set.expr, Level::Condition)?;
                }
                self.push(" %}");
                Ok(())
            }
            _ => self.block_statement(statement),
        }
    }

    fn block_statement(&mut self, statement: &Stmt<'_>) -> Result<(), Error> {
        match statement {
            Stmt::WithBlock(with) => {
                self.push("{% with ");
                for (at, (target, value)) in with.assignments.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.target(target);
                    self.push(" = ");
                    self.expression(value, Level::Condition)?;
                }
                self.body(&with.body, "endwith")
            }
            Stmt::SetBlock(set) => {
                self.push("{% set ");
                self.target(&set.target);
                self.push(" | callsheet.end");
                if let Some(filter) = &set.filter {
                    self.push("|");
                    self.expression(filter, Level::Filtered)?;
                    if assigns_attribute(&set.target) {
                        self.push("|callsheet.hold");
                    }
                }
                self.captured_body(&set.body, "endset")
            }
            Stmt::AutoEscape(escape) => {
                self.push("{% autoescape ");
                self.expression(&escape.enabled, Level::Condition)?;
                self.body(&escape.body, "endautoescape")
            }
            Stmt::FilterBlock(block) => {
                self.push("{% filter callsheet.end|");
                self.expression(&block.filter, Level::Filtered)?;
                if let Some(number) = self.number {
                    self.print_site(number, &block.filter);
                }
                self.captured_body(&block.body, "endfilter")
            }
            Stmt::Block(block) => {
                self.push("{% block ");
                self.push(block.name);
                if block.required {
                    self.push(" required %}{% endblock %}");
                    return Ok(());
                }
                self.body_apart(&block.body, "endblock")
            }
            Stmt::Macro(declared) => {
                self.push("{% macro ");
                self.push(declared.name);
                self.parameters(declared)?;
                self.body_apart(&declared.body, "endmacro")
            }
            _ => self.capturing(statement),
        }
    }

    /// Prints a statement that captures what others print, or throws it away.
    fn capturing(&mut self, statement: &Stmt<'_>) -> Result<(), Error> {
        match statement {
            Stmt::CallBlock(block) => {
                self.hook(BEGIN);
                self.push("{% call");
                self.parameters(&block.macro_decl)?;
                self.push(" ");
                self.call(&block.call.expr, &block.call.args)?;
                self.body_apart(&block.macro_decl.body, "endcall")?;
                self.hook("none|callsheet.pass");
                Ok(())
            }
            Stmt::Do(call) => {
                self.push("{% if ");
                self.go_to(call.span());
                self.captured_call(&call.call.expr, &call.call.args)?;
                self.push("|callsheet.nothing %}{% endif %}");
                Ok(())
            }
            Stmt::Import(_) | Stmt::FromImport(_) => {
                self.hook("none|callsheet.mute");
                self.tag(statement)?;
                self.hook("none|callsheet.unmute");
                Ok(())
            }
            Stmt::Extends(_) => {
                self.extends = true;
                self.tag(statement)?;
                self.hook("none|callsheet.mute");
                Ok(())
            }
            _ => self.tag(statement),
        }
    }

    /// Prints a statement that has no body.
    fn tag(&mut self, statement: &Stmt<'_>) -> Result<(), Error> {
        self.push("{% ");
        match statement {
            Stmt::Extends(extends) => {
                self.push("extends ");
                self.expression(&extends.name, Level::Condition)?;
            }
            Stmt::Include(include) => {
                self.push("include ");
                self.expression(&include.name, Level::Condition)?;
                if include.ignore_missing {
                    self.push(" ignore missing");
                }
            }
            Stmt::Import(import) => {
                self.push("import ");
                self.expression(&import.expr, Level::Condition)?;
                self.push(" as ");
                self.expression(&import.name, Level::Condition)?;
            }
            Stmt::FromImport(import) => {
                self.push("from ");
                self.expression(&import.expr, Level::Condition)?;
                self.push(" import ");
                for (at, (name, alias)) in import.names.iter().enumerate() {
                    self.push(if at > 0 { ", " } else { "" });
                    self.target(name);
                    if let Some(alias) = alias {
                        self.push(" as ");
                        self.target(alias);
                    }
                }
            }
            Stmt::Continue(_) => self.push("continue"),
            Stmt::Break(_) => self.push("break"),
            // Every other statement has a body and was printed.
            _ => {}
        }
        self.push(" %}");
        Ok(())
    }

    /// Prints what prints an expression; calls that print to where they stand stay as they are.
    fn emit(&mut self, expr: &Expr<'_>) -> Result<(), Error> {
        if let Expr::Call(call) = expr
            && prints_itself(call)
        {
            self.push("{{ ");
            self.go_to(expr.span());
            self.call(&call.expr, &call.args)?;
            self.push(" }}");
            return Ok(());
        }
        self.push("{% if ");
        self.expression(expr, Level::Filtered)?;
        if let Some(number) = self.number {
            self.print_site(number, expr);
        }
        self.push(" %}{% endif %}");
        Ok(())
    }

    fn for_loop(&mut self, each: &ForLoop<'_>) -> Result<(), Error> {
        self.push("{% for ");
        self.target(&each.target);
        self.push(" in ");
        self.expression(&each.iter, Level::Filtered)?;
        self.push("|callsheet.look");
        if let Some(filter) = &each.filter_expr {
            self.push(" if ");
            self.expression(filter, Level::Condition)?;
        }
        if each.recursive {
            self.push(" recursive");
        }
        self.push(" %}");
        let outer = std::mem::replace(&mut self.turn, Turn::of(each));
        self.all(&each.body)?;
        self.turn = outer;
        if !each.else_body.is_empty() {
            self.push("{% else %}");
            self.all(&each.else_body)?;
        }
        self.push("{% endfor %}");
        Ok(())
    }

    fn condition(&mut self, first: &IfCond<'_>) -> Result<(), Error> {
        let mut condition = first;
        let mut word = "{% if ";
        loop {
            self.push(word);
            self.expression(&condition.expr, Level::Or)?;
            self.push(" %}");
            self.all(&condition.true_body)?;
            match &*condition.false_body {
                [] => break,
                [Stmt::IfCond(next)] => condition = next,
                others => {
                    self.push("{% else %}");
                    self.all(others)?;
                    break;
                }
            }
            word = "{% elif ";
        }
        self.push("{% endif %}");
        Ok(())
    }

    fn all(&mut self, statements: &[Stmt<'_>]) -> Result<(), Error> {
        statements.iter().try_for_each(|each| self.statement(each))
    }

    /// Does the same where what stands between is captured.
    fn captured_body(&mut self, statements: &[Stmt<'_>], end: &str) -> Result<(), Error> {
        self.push(" %}");
        self.hook(BEGIN);
        self.all(statements)?;
        self.push("{% ");
        self.push(end);
        self.push(" %}");
        Ok(())
    }

    /// Prints the end of a tag, what stands between it and the closing one, and that.
    fn body(&mut self, statements: &[Stmt<'_>], end: &str) -> Result<(), Error> {
        self.push(" %}");
        self.all(statements)?;
        self.push("{% ");
        self.push(end);
        self.push(" %}");
        Ok(())
    }

    /// Does the same where the loop around it is not the one that runs.
    fn body_apart(&mut self, statements: &[Stmt<'_>], end: &str) -> Result<(), Error> {
        let outer = self.turn.take();
        self.body(statements, end)?;
        self.turn = outer;
        Ok(())
    }

    fn parameters(&mut self, declared: &Macro<'_>) -> Result<(), Error> {
        let plain = declared.args.len() - declared.defaults.len();
        self.push("(");
        for (at, parameter) in declared.args.iter().enumerate() {
            self.target(parameter);
            if let Some(default) = at
                .checked_sub(plain)
                .and_then(|at| declared.defaults.get(at))
            {
                self.push("=");
                self.expression(default, Level::Condition)?;
            }
            self.push(", ");
        }
        self.push(")");
        Ok(())
    }

    /// Prints the names that something is assigned to.
    fn target(&mut self, target: &Expr<'_>) {
        self.go_to(target.span());
        match target {
            Expr::Var(var) => self.push(var.id),
            Expr::GetAttr(attribute) => {
                self.target(&attribute.expr);
                self.push(".");
                self.push(attribute.name);
            }
            Expr::List(list) => {
                self.push("(");
                for item in &list.items {
                    self.target(item);
                    self.push(", ");
                }
                self.push(")");
            }
            _ => {}
        }
    }
}

/// Tells whether the engine prints a call to where it stands, without a value in between.
fn prints_itself(call: &Call<'_>) -> bool {
    match &call.expr {
        Expr::Var(var) => match var.id {
            "super" => call.args.is_empty(),
            "loop" => call.args.len() == 1,
            _ => false,
        },
        Expr::GetAttr(attribute) => matches!(&attribute.expr, Expr::Var(var) if var.id == "self"),
        _ => false,
    }
}

/// Tells whether an assignment changes a namespace.
fn assigns_attribute(target: &Expr<'_>) -> bool {
    match target {
        Expr::GetAttr(_) => true,
        Expr::List(list) => list.items.iter().any(assigns_attribute),
        _ => false,
    }
}
