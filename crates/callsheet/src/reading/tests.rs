use proptest::prelude::*;

use super::*;
use crate::compose::Message;

fn json(contents: &[(Role, String)]) -> String {
    let messages: Vec<Message> = contents
        .iter()
        .map(|(role, content)| Message {
            role: *role,
            content: content.clone(),
        })
        .collect();
    serde_json::to_string(&messages).unwrap()
}

#[test]
fn what_is_no_list_of_messages_reads_as_it_is() {
    for prompt in [
        "",
        "a \"b\" \\n",
        "[",
        "[]]",
        "[] ",
        "[{\"role\":\"user\",\"content\":\"a\"}",
        "[{\"role\":\"user\",\"content\":\"a\"}] ",
        "[{\"role\":\"user\", \"content\":\"a\"}]",
        "[{\"role\":\"robot\",\"content\":\"a\"}]",
        "[{\"role\":\"user\",\"content\":\"a\nb\"}]",
        "[{\"role\":\"user\",\"content\":\"a\\qb\"}]",
        "[{\"role\":\"user\",\"content\":\"\\ud800\"}]",
        "[{\"role\":\"user\",\"content\":\"\\u+123\"}]",
        "[{\"role\":\"user\",\"content\":\"a\",\"x\":1}]",
    ] {
        let reading = Reading::of(prompt);
        assert_eq!(reading.text(), prompt);
        assert!(reading.messages().is_none(), "{prompt}");
        assert_eq!(reading.to_prompt(0..prompt.len()), 0..prompt.len());
        assert_eq!(reading.slice(0..prompt.len()), prompt);
    }
    assert_eq!(Reading::of("[]").messages().unwrap().count(), 0);
}

#[test]
fn escapes_of_other_writers_are_read_too() {
    let prompt = r#"[{"role":"assistant","content":"\u00e9\/\ud83d\ude00x"}]"#;
    let reading = Reading::of(prompt);
    let messages: Vec<_> = reading.messages().unwrap().collect();
    assert_eq!(messages, [(Role::Assistant, "é/😀x")]);
    let at = reading.text().find('😀').unwrap();
    assert_eq!(&prompt[reading.to_prompt(at..at + 4)], r"\ud83d\ude00");
}

#[test]
fn people_count_lines_in_a_message() {
    let prompt = json(&[
        (Role::System, "one\ntwo".to_owned()),
        (Role::User, "three\n\nfive".to_owned()),
    ]);
    let reading = Reading::of(&prompt);
    let told = |text: &str| reading.position(prompt.find(text).unwrap()).to_string();
    assert_eq!(told("[{"), "line 1 of message 1");
    assert_eq!(told("two"), "line 2 of message 1");
    assert_eq!(told("three"), "line 1 of message 2");
    assert_eq!(told("five"), "line 3 of message 2");
    assert_eq!(told("\"}]"), "line 3 of message 2");
    let plain = Reading::of("a\nb");
    assert_eq!(plain.position(2).to_string(), "line 2 of the prompt");
}

#[test]
fn tokens_are_those_of_the_contents() {
    let contents = [
        (Role::System, "one\n\"two\"".to_owned()),
        (Role::User, "three".to_owned()),
    ];
    let prompt = json(&contents);
    let reading = Reading::of(&prompt);
    let count = |text: &str| tokens::count(Encoding::O200k, text);
    assert_eq!(
        reading.all_tokens(Encoding::O200k),
        count("one\n\"two\"") + count("three")
    );
    let end = prompt.find("two").unwrap();
    assert_eq!(
        reading.tokens(Encoding::O200k, 0..end),
        count("one\n\""),
        "an escape counts as its character"
    );
}

fn any_contents() -> impl Strategy<Value = Vec<(Role, String)>> {
    let text = prop_oneof![
        any::<String>(),
        "[a-z\"\\\\\n\r\t/\u{1}\u{7f}\u{8}\u{c}é日😀]{0,40}",
    ];
    let role = prop::sample::select(vec![Role::System, Role::User, Role::Assistant]);
    prop::collection::vec((role, text), 0..5)
}

proptest! {
    #[test]
    fn a_list_reads_back_and_every_place_leads_there_and_back(contents in any_contents()) {
        let prompt = json(&contents);
        let reading = Reading::of(&prompt);
        let read: Vec<(Role, String)> = reading.messages().unwrap().map(|(role, text)| (role, text.to_owned())).collect();
        prop_assert_eq!(read, contents);
        let text = reading.text();
        prop_assert_eq!(reading.slice(0..prompt.len()), text);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let mut end = 0;
        for pair in places.windows(2) {
            let bytes = reading.to_prompt(pair[0]..pair[1]);
            prop_assert_eq!(bytes.start, end, "without gaps");
            end = bytes.end;
            for at in bytes.clone() {
                let back = reading.to_read(at);
                prop_assert!(pair[0] <= back && back < pair[1], "{} leads to {}", at, back);
            }
            prop_assert_eq!(reading.slice(bytes), &text[pair[0]..pair[1]]);
        }
        prop_assert_eq!(end, prompt.len());
    }

    #[test]
    fn reading_never_fails(prompt in any::<String>(), tail in any::<String>()) {
        Reading::of(&prompt);
        let prompt = format!("[{{\"role\":\"user\",\"content\":\"{tail}");
        Reading::of(&prompt);
    }
}
