//! What the rewriter puts into the place of everything that a template prints or captures.

use std::sync::Arc;

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, Error, State, Value, filters};

use super::rendering::{Rendering, captured, field, is_unnamed, listed, name, pay, text_of};
use super::text::Text;
use crate::template::bounds::{Site, spend, text_cost};
use crate::trace::{Origin, OriginKind, Traced, Transform};

pub(super) fn install(environment: &mut Environment<'static>) {
    environment.add_filter("callsheet.print", print);
    environment.add_filter("callsheet.say", say);
    environment.add_filter("callsheet.own", own);
    environment.add_filter("callsheet.begin", |state: &mut State<'_, '_>, _: Value| {
        Rendering::of(state).begin();
        false
    });
    environment.add_filter("callsheet.mute", |state: &mut State<'_, '_>, _: Value| {
        Rendering::of(state).mute();
        false
    });
    environment.add_filter("callsheet.unmute", |state: &mut State<'_, '_>, _: Value| {
        Rendering::of(state).unmute();
        false
    });
    environment.add_filter("callsheet.end", |state: &mut State<'_, '_>, _: Value| {
        let text = Rendering::of(state).end().unwrap_or_default();
        captured(state, text)
    });
    environment.add_filter("callsheet.called", called);
    environment.add_filter("callsheet.pass", |state: &mut State<'_, '_>, _: Value| {
        let rendering = Rendering::of(state);
        let text = rendering.end().unwrap_or_default();
        rendering.put(&Arc::new(text)).map(|()| false)
    });
    environment.add_filter("callsheet.nothing", |_: Value| false);
}

/// Prints literal text of a template.
fn say(state: &mut State<'_, '_>, template: usize, site: usize) -> Result<bool, Error> {
    let rendering = Rendering::of(state);
    let Some(Site::Own(text)) = rendering.site(template, site) else {
        return Ok(false);
    };
    let text = Arc::clone(text);
    spend(state, text.len() as u64)?;
    Rendering::of(state).put(&text).map(|()| false)
}

/// Returns a constant that a template has.
fn own(state: &mut State<'_, '_>, template: usize, site: usize) -> Value {
    Rendering::of(state).constant(template, site)
}

/// Returns what a call made: what it printed, or else what it returned.
fn called(state: &mut State<'_, '_>, _: Value, returned: Value) -> Result<Value, Error> {
    match Rendering::of(state).end() {
        Some(text) if text.len() > 0 => captured(state, text),
        _ => Ok(returned),
    }
}

/// Prints the value of an expression; what it returns prints nothing.
fn print(
    state: &mut State<'_, '_>,
    value: &Value,
    template: usize,
    site: usize,
) -> Result<Value, Error> {
    const ESCAPED: u64 = 6;
    if value.is_undefined() {
        // Fails as the engine does, unless nothing is meant to be printed.
        filters::string(state, value)?;
        return Ok("".into());
    }
    let escapes = !matches!(state.auto_escape(), AutoEscape::None);
    let most = if escapes { ESCAPED } else { 1 };
    spend(state, text_cost(value)?.saturating_mul(most))?;
    Rendering::of(state).given.figures.check(value)?;
    let text = if escapes {
        escaped(state, value)?
    } else {
        plain(state, value, template, site)
    };
    pay(state)?;
    Rendering::of(state).put(&text)?;
    Ok("".into())
}

fn plain(state: &mut State<'_, '_>, value: &Value, template: usize, site: usize) -> Arc<Text> {
    let mut text = text_of(state, value);
    let name_of_field = field(state, (template, site), value);
    let rendering = Rendering::of(state);
    let Some(Site::Print { names, .. }) = rendering.site(template, site) else {
        return text;
    };
    if let Some(name) = name_of_field {
        let kind = rendering.given.safety.kind_of(&name);
        let traced = rendering.given.traces.get(&name);
        if let Some(traced) = traced.filter(|traced| traced.text() == text.as_str()) {
            return Arc::new(Text::new(traced.clone(), kind));
        }
        // The engine has words of its own for what is true and what is not.
        let written = text.as_str().to_ascii_lowercase();
        let body = if value.kind() == ValueKind::Bool && written != text.as_str() {
            let origin = Origin::new(OriginKind::Input, name, &written);
            Traced::transformed(text.as_str(), &origin, written.len(), Transform::Converted)
        } else {
            let origin = Origin::new(OriginKind::Input, name, text.as_str());
            Traced::whole(text.as_str(), &origin)
        };
        let text = Text::new(body, kind);
        rendering.owe(&text);
        return Arc::new(text);
    }
    if is_unnamed(&text) {
        let names = listed(names);
        name(Arc::make_mut(&mut text), &names);
        rendering.owe(&text);
    }
    text
}

/// Returns a value as a template prints it that asks for escapes of its own.
fn escaped(state: &mut State<'_, '_>, value: &Value) -> Result<Arc<Text>, Error> {
    let known = text_of(state, value);
    let printed = state.format(value.clone())?;
    if printed == known.as_str() {
        return Ok(known);
    }
    let text = super::rendering::derived(&printed, &[known]);
    Rendering::of(state).owe(&text);
    Ok(Arc::new(text))
}
