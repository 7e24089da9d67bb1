//! Conditions: minijinja expressions over the fields of an input.

use std::sync::{Arc, LazyLock};

use minijinja::{Environment, Expression, UndefinedBehavior};
use serde_json::{Map, Value};

use crate::template::numbers::{self, Digits};
use crate::template::{Shared, bounds};
use crate::{Error, ErrorKind};

/// An expression that is true or false for an input.
#[derive(Clone, Debug)]
pub struct Condition {
    expression: String,
    compiled: Arc<Expression<'static, 'static>>,
    /// The names that it asks for, sorted.
    names: Vec<String>,
    file: String,
    line: usize,
}

impl Condition {
    /// Compiles an expression; the place is named in errors.
    pub fn parse(expression: &str, file: &str, line: usize) -> Result<Self, Error> {
        let compiled = bounds::expression(expression)
            .and_then(|bounded| ENVIRONMENT.compile_expression_owned(bounded))
            .map_err(|error| bad(expression, &error).at(file, line))?;
        Ok(Self {
            expression: expression.to_owned(),
            names: asked(&compiled, false),
            compiled: Arc::new(compiled),
            file: file.to_owned(),
            line,
        })
    }

    /// Tells whether the expression is true; a name without a value is an error.
    pub fn holds(&self, fields: &Map<String, Value>) -> Result<bool, Error> {
        self.holds_with(fields, &Shared::default())
    }

    /// Tells the same, with the fields as templates have them already.
    pub(crate) fn holds_with(
        &self,
        fields: &Map<String, Value>,
        shared: &Shared,
    ) -> Result<bool, Error> {
        let bad = |error| bad(&self.expression, &error).at(&self.file, self.line);
        let named = || fields.iter().filter(|(name, _)| self.names.contains(name));
        let fields = shared.some(fields, &self.names);
        let fields = fields.unwrap_or_else(|| numbers::fields(named(), |_| Digits::Counted));
        let value = self.compiled.eval(fields).map_err(bad)?;
        if value.is_undefined() {
            return Err(bad(minijinja::ErrorKind::UndefinedError.into()));
        }
        Ok(value.is_true())
    }

    /// Returns the names that the expression asks for, sorted.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the dotted paths of the fields that the expression asks for, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        asked(&self.compiled, true)
    }

    /// Returns the expression as it was written.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Returns the line of the recipe file it stands on.
    pub fn line(&self) -> usize {
        self.line
    }
}

fn asked(compiled: &Expression<'_, '_>, nested: bool) -> Vec<String> {
    let names = compiled.undeclared_variables(nested).into_iter();
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn bad(expression: &str, error: &minijinja::Error) -> Error {
    let cause = error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned);
    let detail = format!("bad condition `{expression}`: {cause}");
    Error::new(ErrorKind::BadRecipe, detail)
}

/// What all conditions are compiled for and run in.
static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(100_000));
    environment.remove_global("debug");
    bounds::install(&mut environment);
    environment
});

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_are_strict() {
        let fields = json!({"mode": "run", "n": 0, "list": []});
        let fields = fields.as_object().unwrap();
        let holds = |text: &str| {
            Condition::parse(text, "recipe.toml", 4)
                .unwrap()
                .holds(fields)
        };
        assert!(holds("mode == 'run' and not list").unwrap());
        assert!(!holds("n").unwrap());
        assert!(!holds("other is defined").unwrap());
        let error = holds("other").unwrap_err().to_string();
        assert!(
            error.starts_with("recipe.toml:4: bad condition `other`:"),
            "{error}"
        );
        let error = Condition::parse("a ==", "recipe.toml", 4)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("recipe.toml:4: bad condition `a ==`:"),
            "{error}"
        );
        let condition = Condition::parse("a.b and c is defined", "r", 1).unwrap();
        assert_eq!(condition.names(), ["a", "c"]);
    }
}
