//! What runs the agent, and the profile that says so where the input does not.

use serde_json::{Map, Value};

use super::{Prepared, Surroundings};
use crate::{Error, ErrorKind};

/// What an environment says, and the profile under it.
const NAMES: [&str; 3] = ["runner", "model", "config"];

/// Fills the field `environment`: what the input says, else what the profile does, else nothing.
pub(super) fn environment(prepared: &mut Prepared, _: Surroundings<'_>) -> Result<(), Error> {
    let own = prepared.fields.get("environment");
    let mut environment = own.and_then(Value::as_object).cloned().unwrap_or_default();
    let profile = profile(&prepared.fields)?.cloned();
    for name in NAMES {
        if environment.get(name).is_some_and(|own| !own.is_null()) {
            continue;
        }
        let told = profile.as_ref().and_then(|profile| profile.get(name));
        if let Some(text) = told.and_then(Value::as_str) {
            let field = format!("profile.{name}");
            prepared.trace(format!("environment.{name}"), text, &field, text);
        }
        environment.insert(name.to_owned(), told.cloned().unwrap_or_default());
    }
    let environment = Value::Object(environment);
    prepared
        .fields
        .insert("environment".to_owned(), environment);
    Ok(())
}

/// Returns the profile of an input, where there is one.
pub(super) fn profile(fields: &Map<String, Value>) -> Result<Option<&Map<String, Value>>, Error> {
    match fields.get("profile") {
        Some(Value::String(name)) => {
            let detail = format!(
                "`profile`: the name `{name}` was not resolved; give the profile itself here"
            );
            Err(Error::new(ErrorKind::BadInput, detail))
        }
        profile => Ok(profile.and_then(Value::as_object)),
    }
}
