use proptest::prelude::*;

use super::*;
use crate::compose::Message;
use crate::reading::Reading;

/// A piece of a section: its text, and whether it is frame, the bytes of a source, or made of them.
type Piece = (String, usize);

/// A message of sections of pieces.
type Drawn = (Role, Vec<Vec<Piece>>);

const SEPARATOR: &str = "\n\"-\"\n";

fn any_messages() -> impl Strategy<Value = Vec<Drawn>> {
    let text = prop_oneof![
        any::<String>(),
        "[a-z\"\\\\\n\r\t\u{1}\u{7f}\u{8}\u{c}é日😀]{0,24}",
    ];
    let section = prop::collection::vec((text, 0..3_usize), 0..4);
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant]);
    prop::collection::vec((role, prop::collection::vec(section, 0..3)), 0..5)
}

/// A text with its map, the text of the source that its spans point into, and the contents of its messages.
fn laid_out(drawn: &[Drawn]) -> (String, SourceMap, String, Vec<Message>) {
    let (mut text, mut source) = (String::new(), "head\n".to_owned());
    let (mut map, mut messages) = (SourceMap::default(), Vec::new());
    for (nth, (role, sections)) in drawn.iter().enumerate() {
        if nth > 0 {
            frame(&mut text, &mut map, SEPARATOR);
        }
        let from = text.len();
        for (nth, pieces) in sections.iter().enumerate() {
            if nth > 0 {
                frame(&mut text, &mut map, "|\n|");
            }
            let start = text.len();
            for piece in pieces {
                push(&mut text, &mut map, &mut source, piece);
            }
            let place = start..text.len();
            let (framed, body) = (place.clone(), place);
            map.places.push(SectionPlace { framed, body });
        }
        map.messages.push((*role, from..text.len()));
        messages.push(Message {
            role: *role,
            content: text[from..].to_owned(),
        });
    }
    (text, map, source, messages)
}

fn frame(text: &mut String, map: &mut SourceMap, frame: &str) {
    let start = text.len();
    text.push_str(frame);
    map.spans.push(MapSpan::frame(start..text.len()));
}

fn push(text: &mut String, map: &mut SourceMap, source: &mut String, (piece, kind): &Piece) {
    if piece.is_empty() {
        return;
    }
    let start = text.len();
    text.push_str(piece);
    let span = MapSpan::frame(start..text.len());
    let from = source.len();
    let line = Some(1 + source.matches('\n').count());
    let linked = MapSpan {
        layer: "a".to_owned(),
        section: Some("a".to_owned()),
        source: "file:a".to_owned(),
        source_start: Some(from),
        source_end: Some(from + piece.len()),
        line,
        ..span.clone()
    };
    map.spans.push(match kind {
        0 => span,
        1 => linked,
        _ => MapSpan {
            transform: Some(Transform::Converted),
            ..linked
        },
    });
    source.push_str(piece);
}

fn joined_messages(messages: &[Message]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    for message in messages {
        let first = out.iter_mut().find(|other| other.role == Role::System);
        match first {
            Some(first) if message.role == Role::System => {
                first.content = format!("{}{SEPARATOR}{}", first.content, message.content);
            }
            _ => out.push(message.clone()),
        }
    }
    out
}

proptest! {
    #[test]
    fn the_bytes_are_those_of_the_messages_and_lead_where_the_text_led(drawn in any_messages(), join in any::<bool>()) {
        let (text, map, source, messages) = laid_out(&drawn);
        let (json, moved) = as_messages(&text, &map, join.then_some(SEPARATOR));
        let expected = if join { joined_messages(&messages) } else { messages };
        prop_assert_eq!(&json, &serde_json::to_string(&expected).unwrap());

        prop_assert!(moved.covers(&json));
        prop_assert!(moved.spans.iter().all(|span| span.start < span.end), "none is empty");
        prop_assert_eq!(moved.messages.len(), expected.len());
        let reading = Reading::of(&json);
        for ((role, range), message) in moved.messages.iter().zip(&expected) {
            prop_assert_eq!(*role, message.role);
            prop_assert_eq!(reading.slice(range.clone()), &message.content);
        }

        for span in &moved.spans {
            let (Some(from), Some(to)) = (span.source_start, span.source_end) else {
                prop_assert_eq!(span.source.as_str(), FRAME);
                continue;
            };
            let bytes = &source[from..to];
            match span.transform {
                None => prop_assert_eq!(&json[span.start..span.end], bytes),
                Some(Transform::JsonString) => {
                    prop_assert_eq!(bytes.chars().count(), 1);
                    prop_assert_eq!(&json[span.start..span.end], json_escaped(bytes));
                }
                _ => {}
            }
            prop_assert_eq!(span.line, Some(1 + source[..from].matches('\n').count()));
        }

        let folded = moved.folded(&json);
        prop_assert!(folded.covers(&json));
        prop_assert_eq!(&folded.unfolded(&json).spans, &moved.spans);

        prop_assert_eq!(moved.places.len(), map.places.len());
        for (place, was) in moved.places.iter().zip(&map.places) {
            prop_assert_eq!(reading.slice(place.body.clone()), &text[was.body.clone()]);
            // Every byte of the section leads where the byte led that it stands for.
            let mut at = place.body.start;
            for (offset, c) in text[was.body.clone()].char_indices() {
                let (old, new) = (map.at(was.body.start + offset).unwrap(), moved.at(at).unwrap());
                prop_assert_eq!((&old.layer, &old.source), (&new.layer, &new.source));
                if let (Some(from), None) = (old.source_start, old.transform) {
                    let from = from + was.body.start + offset - old.start;
                    prop_assert_eq!(new.source_start.unwrap() + (at - new.start), from);
                }
                at += json_escaped(&c.to_string()).len();
            }
            prop_assert_eq!(at, place.body.end);
        }
    }
}
