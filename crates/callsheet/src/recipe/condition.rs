//! Conditions: minijinja expressions over the fields of an input.

use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Map, Value};

use crate::template::bounds;
use crate::template::numbers::{self, Digits};
use crate::{Error, ErrorKind};

/// An expression that is true or false for an input.
#[derive(Clone, Debug)]
pub struct Condition {
    expression: String,
    file: String,
    line: usize,
}

impl Condition {
    /// Compiles an expression; the place is named in errors.
    pub fn parse(expression: &str, file: &str, line: usize) -> Result<Self, Error> {
        let condition = Self {
            expression: expression.to_owned(),
            file: file.to_owned(),
            line,
        };
        bounds::expression(expression)
            .and_then(|bounded| environment().compile_expression_owned(bounded).map(drop))
            .map_err(|error| condition.bad(&error))?;
        Ok(condition)
    }

    /// Tells whether the expression is true; a name without a value is an error.
    pub fn holds(&self, fields: &Map<String, Value>) -> Result<bool, Error> {
        let environment = environment();
        let value = bounds::expression(&self.expression)
            .and_then(|bounded| environment.compile_expression_owned(bounded))
            .and_then(|compiled| compiled.eval(numbers::fields(fields, |_| Digits::Counted)))
            .map_err(|error| self.bad(&error))?;
        if value.is_undefined() {
            return Err(self.bad(&minijinja::ErrorKind::UndefinedError.into()));
        }
        Ok(value.is_true())
    }

    /// Returns the names that the expression asks for, sorted.
    pub fn names(&self) -> Vec<String> {
        self.asked(false)
    }

    /// Returns the dotted paths of the fields that the expression asks for, sorted.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked(true)
    }

    fn asked(&self, nested: bool) -> Vec<String> {
        let environment = environment();
        let compiled = bounds::expression(&self.expression)
            .and_then(|bounded| environment.compile_expression_owned(bounded));
        let mut names: Vec<String> = compiled
            .map(|compiled| compiled.undeclared_variables(nested).into_iter().collect())
            .unwrap_or_default();
        names.sort();
        names
    }

    /// Returns the expression as it was written.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// Returns the line of the recipe file it stands on.
    pub fn line(&self) -> usize {
        self.line
    }

    fn bad(&self, error: &minijinja::Error) -> Error {
        let cause = error
            .detail()
            .map_or_else(|| error.kind().to_string(), str::to_owned);
        Error::new(
            ErrorKind::BadRecipe,
            format!("bad condition `{}`: {cause}", self.expression),
        )
        .at(&self.file, self.line)
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(100_000));
    environment.remove_global("debug");
    bounds::install(&mut environment);
    environment
}

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
        let names = Condition::parse("a.b and c is defined", "r", 1)
            .unwrap()
            .names();
        assert_eq!(names, ["a", "c"]);
    }
}
