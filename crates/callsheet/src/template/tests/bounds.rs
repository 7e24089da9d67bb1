//! What a jinja template can make is bounded, and means what it means without bounds.

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Value, json};

use super::{map, set, values};
use crate::template::*;

fn render(body: &str, given: Value) -> Result<String, String> {
    let set = set(&[
        ("t.md", &format!("---\nengine: jinja\n---\n{body}")),
        ("part.md", "---\nengine: jinja\n---\n{{ s ~ s }}"),
        (
            "tools.md",
            "---\nengine: jinja\n---\n{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{% set kept = [1] %}",
        ),
        (
            "base.md",
            "---\nengine: jinja\n---\n<{% block a %}base{% endblock %}|{% block b required %} {% endblock %}>",
        ),
    ]);
    let given = map(given);
    set.render(set.get("t").unwrap(), values(&given), Missing::Keep)
        .map(|rendered| rendered.body.text().to_owned())
        .map_err(|error| error.to_string())
}

fn refused(body: &str) -> String {
    let given = json!({"s": "x".repeat(1000), "list": [1, 2, 3], "map": {"a": 1}});
    match render(body, given) {
        Ok(text) => panic!("{body} printed {} bytes", text.len()),
        Err(error) => error,
    }
}

const TOO_MUCH: &str = "t.md:4: makes values of more than 268435456 bytes in all";
const TOO_DEEP: &str = "t.md:4: makes a value that is nested more than 32 levels deep";
const TOO_LONG: &str = "t.md:4: makes a list of more than 1000000 items";

/// Returns a body that does something again and again, with what the last turn left in `n.v`.
fn again(first: &str, next: &str) -> String {
    format!(
        "{{% set n = namespace(v={first}) %}}{{% for i in range(99999) %}}{{% set n.v = {next} %}}{{% endfor %}}"
    )
}

#[test]
fn a_number_in_a_filter_does_not_make_gigabytes() {
    for body in [
        "{{ [1]|batch(4000000000, 0)|length }}",
        "{{ [1]|slice(4000000000)|length }}",
        "{{ 'a\nb'|indent(4000000000) }}",
        "{{ 'a\nb'|indent(width=4000000000) }}",
        "{{ 'a'|indent(4000000000, true) }}",
        "{{ '%4000000000d'|format(1) }}",
        "{{ '%-+04000000000d'|format(1) }}",
        "{{ '%*d'|format(4000000000, 1) }}",
        "{{ '%.4000000000f'|format(1.5) }}",
        "{{ '%(a)4000000000s'|format(a=1) }}",
        "{{ [1]|tojson(4000000000) }}",
        "{{ [[1]]|tojson(indent=4000000000) }}",
        "{{ 'x' * 4000000000 }}",
        "{{ 4000000000 * s }}",
        "{{ [s]|map('indent', 4000000000, true)|list }}",
        "{{ 'a'|replace('', s * 1000)|replace('x', s * 1000) }}",
        "{% filter indent(4000000000, true) %}a{% endfilter %}",
        "{% set x | indent(4000000000, true) %}a{% endset %}",
    ] {
        let error = refused(body);
        assert!(
            error.ends_with("makes values of more than 268435456 bytes in all"),
            "{body}: {error}"
        );
    }
    assert_eq!(refused("{{ (1,) * 100000000 }}"), TOO_LONG);
    assert_eq!(refused("{{ ([1] * 100000000)|length }}"), TOO_LONG);
}

#[test]
fn what_grows_from_turn_to_turn_ends() {
    for (first, next) in [
        ("s", "n.v ~ n.v"),
        ("s", "n.v + n.v"),
        ("s", "n.v * 2"),
        ("s", "[n.v, n.v]|join"),
        ("s", "[n.v, n.v]|string"),
        ("s", "[n.v, n.v]|tojson"),
        ("s", "[n.v, n.v]|pprint"),
        ("s", "'%s%s'|format(n.v, n.v)"),
        ("s", "'%(a)s%(a)s'|format(a=n.v)"),
        ("s", "n.v|escape ~ n.v"),
        ("s", "[n.v, n.v]|sum(start='')"),
        ("s", "[n.v]|map('replace', 'xxxxxxxxxx', 'x' * 100)|first"),
        ("['']", "[n.v|join(s)]"),
        ("[]", "n.v + [s * 100 ~ i]"),
        ("{}", "dict(n.v, **{'k' ~ i: s * 100 ~ i})"),
    ] {
        let error = refused(&again(first, next));
        assert!(error == TOO_MUCH || error == TOO_LONG, "{next}: {error}");
    }
    assert_eq!(refused(&again("[1]", "n.v + n.v")), TOO_LONG);
    assert_eq!(refused(&again("[1]", "n.v * 2")), TOO_LONG);
    assert_eq!(refused(&again("(1,)", "n.v + n.v")), TOO_LONG);
    // No loop is needed, and no variable.
    assert_eq!(refused(&"{% set s = s ~ s %}".repeat(40)), TOO_MUCH);
    assert_eq!(
        refused("{{ (s * 90000 ~ s * 90000 ~ s * 90000 ~ s * 90000)|length }}"),
        TOO_MUCH
    );
    assert_eq!(
        refused("{% macro m(x) %}{{ m(x ~ x) }}{% endmacro %}{{ m(s) }}"),
        TOO_MUCH
    );
    assert_eq!(
        refused("{% for x in [[[]]] recursive %}{{ loop(x * 1000000 * 1000000) }}{% endfor %}"),
        TOO_LONG
    );
}

#[test]
fn what_is_printed_into_a_variable_is_counted() {
    let raw = "x".repeat(60_000);
    for body in [
        format!("{{% set t %}}{{% for i in range(99999) %}}{raw}{{% endfor %}}{{% endset %}}"),
        format!("{{% macro m() %}}{{% for i in range(99999) %}}{raw}{{% endfor %}}{{% endmacro %}}{{% set t = m() %}}"),
        format!("{{% filter upper %}}{{% for i in range(99999) %}}{raw}{{% endfor %}}{{% endfilter %}}"),
        format!("{{% macro m() %}}{{% for i in range(99999) %}}{{{{ caller() }}}}{{% endfor %}}{{% endmacro %}}{{% set t %}}{{% call m() %}}{raw}{{% endcall %}}{{% endset %}}"),
        format!("{{% set t %}}{{% for i in range(99999) %}}{{% raw %}}{raw}{{% endraw %}}{{% endfor %}}{{% endset %}}"),
        "{% set t %}{% for i in range(99999) %}{{ s * 60 }}{% endfor %}{% endset %}".to_owned(),
        "{% set t %}{% for i in range(99999) %}{{ [list, list, list, map]|tojson }}{{ s }}{{ s }}{{ s }}{% endfor %}{% endset %}".to_owned(),
        "{% autoescape 'html' %}{% set t %}{% for i in range(99999) %}{{ '<' * 9000 }}{% endfor %}{% endset %}{% endautoescape %}".to_owned(),
    ] {
        assert_eq!(refused(&body), TOO_MUCH, "{}", &body[..body.len().min(120)]);
    }
    let parts = "{% set t %}{% for i in range(99999) %}{% include 'part.md' %}{% include 'part.md' %}{% endfor %}{% endset %}";
    assert!(
        refused(parts).ends_with("part.md:4: makes values of more than 268435456 bytes in all")
    );
}

#[test]
fn nothing_is_nested_without_end() {
    for (first, next) in [
        ("[]", "[n.v]"),
        ("[]", "(n.v,)"),
        ("[]", "{'a': n.v}"),
        ("[]", "dict(a=n.v)"),
        ("[]", "[n.v] + []"),
        ("[1]", "n.v|batch(1)"),
        ("[1]", "n.v|slice(1)"),
        ("[1]", "n.v|zip([1])"),
        ("{'a': 1}", "dict(a=n.v|items)"),
        ("{'a': 1}", "{'a': n.v}|dictsort|first"),
        ("[{'a': 1}]", "[{'a': n.v}]|groupby('a')"),
        ("[1]", "[n.v]|map('list')"),
    ] {
        let error = refused(&again(first, next));
        assert!(error == TOO_DEEP || error == TOO_MUCH, "{next}: {error}");
    }
    for (first, next) in [
        ("[]", "namespace(v=n.v, w=n)"),
        ("[]", "n"),
        ("[]", "[n]"),
        ("[]", "{'a': namespace()}"),
    ] {
        assert_eq!(
            refused(&again(first, next)),
            "t.md:4: a namespace cannot hold a namespace",
            "{next}"
        );
    }
    assert_eq!(refused(&"{% set list = [list] %}".repeat(100)), TOO_DEEP);
    let kept = "{% set n = namespace() %}{% for x in list %}{% set n.v = [loop] %}{% endfor %}";
    assert_eq!(refused(kept), "t.md:4: `loop` cannot be kept in a value");
    // What finds its items anew each time is not stacked up either.
    for next in [
        "n.v[::1]",
        "n.v[0:2]",
        "n.v|reverse",
        "n.v * 1",
        "n.v|chain([])",
        "n.v + []",
        "n.v|list",
    ] {
        let body = again("[1, 2]", next).replace("99999", "9999") + "{{ n.v }}";
        let printed = render(&body, json!({})).unwrap();
        assert!(
            ["[1, 2]", "[2, 1]"].contains(&&*printed),
            "{next}: {printed}"
        );
    }
    let maps = again("{'a': 1}", "n.v|chain({'b': 2})").replace("99999", "9999") + "{{ n.v }}";
    assert_eq!(render(&maps, json!({})).unwrap(), "{'a': 1, 'b': 2}");
}

#[test]
fn a_long_expression_is_refused_before_it_is_read() {
    let parts = "t.md: syntax error: an expression has more than 1000 parts";
    for (first, next) in [
        ("1", "\n+1"),
        ("1", "\n- 1"),
        ("1", "\n** 1"),
        ("s", "\n~s"),
        ("s", ".a"),
        ("s", "[0]"),
        ("s", "\n[:]"),
        ("s", "()"),
        ("s", "|upper"),
        ("s", " is string"),
        ("s", "\nor s"),
        ("s", "\nif s else s"),
        ("1", "\n< 1"),
    ] {
        let chain = next.repeat(100_000).replace(".a.a.a.a", ".a\n.a.a.a");
        let chain = chain
            .replace("[0][0][0][0]", "[0]\n[0][0][0]")
            .replace("()()()()", "()\n()()()");
        let chain = chain
            .replace("|upper|upper", "|upper\n|upper")
            .replace(" is string is", " is string\n is");
        let error = refused(&format!("{{{{ {first}{chain} }}}}"));
        assert_eq!(error, parts, "{next}");
    }
    assert_eq!(
        refused(&format!("{{{{ {} s }}}}", "not\n".repeat(100_000))),
        parts
    );
    assert_eq!(
        refused(&format!("{{{{ {} 1 }}}}", "-\n".repeat(100_000))),
        parts
    );
    let elifs = "{% elif s %}\n".repeat(100_000);
    assert_eq!(refused(&format!("{{% if s %}}{elifs}{{% endif %}}")), parts);
    for open in ["[\n", "(\n", "{1:\n"] {
        let error = refused(&format!("{{{{ {} }}}}", open.repeat(100_000)));
        let brackets = "t.md: syntax error: more than 100 brackets are open at once";
        assert_eq!(error, brackets, "{open}");
    }
    let set = format!("{{% set {}a = 1 %}}", "(\n".repeat(100_000));
    assert!(refused(&set).ends_with("brackets are open at once"));
    let deep = format!(
        "{}x{}",
        "{% if s %}".repeat(1000),
        "{% endif %}".repeat(1000)
    );
    assert!(refused(&deep).ends_with("template exceeds maximum recursion limits"));
}

#[test]
fn what_the_engine_would_panic_at_is_an_error_or_fine() {
    assert_eq!(
        refused("{% for i in list %}{{ loop.cycle() }}{% endfor %}"),
        "t.md: syntax error: `cycle` needs a value to begin with"
    );
    assert!(refused("{% for i in list %}{{ loop.cycle(*[]) }}{% endfor %}").contains("`cycle`"));
    assert!(
        refused("{{ range(9223372036854775807, -9223372036854775807, -1) }}").contains("range")
    );
    for (body, expected) in [
        ("{{ ''[::-1] }}{{ [][::-1] }}", "[]"),
        (
            "{{ 'abc'[0:2:-1] }}|{{ 'abc'[::-1] }}|{{ 'abc'[2:0:-1] }}",
            "|cba|cb",
        ),
        (
            "{{ 'abcdef'[1:-1:2] }}{{ [1, 2, 3][-2:] }}{{ (1, 2, 3)[:2] }}",
            "bd[2, 3](1, 2)",
        ),
        (
            "{{ 'abc'[-9223372036854775807:9223372036854775807] }}",
            "abc",
        ),
    ] {
        assert_eq!(render(body, json!({})).unwrap(), expected, "{body}");
    }
}

/// Returns what the engine prints without any bounds of ours.
fn unbounded(body: &str, given: &Value) -> String {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.keep_trailing_newline(true).build().unwrap());
    for (name, text) in [
        ("part.md", "{{ s ~ s }}"),
        (
            "tools.md",
            "{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{% set kept = [1] %}",
        ),
        (
            "base.md",
            "<{% block a %}base{% endblock %}|{% block b required %} {% endblock %}>",
        ),
    ] {
        environment.add_template(name, text).unwrap();
    }
    let given = map(given.clone());
    let context = numbers::fields(&given, |_| numbers::Digits::Counted);
    environment.render_str(body, context).unwrap()
}

/// Bodies with everything that the language has.
const LANGUAGE: &[&str] = &[
    "{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 % 3 }} {{ 2 ** 3 ** 2 }} {{ (1 + 2) * 3 }} {{ 10 - (3 - 2) }} {{ -2 ** 2 }}",
    "{{ 1 ~ 2 is string }} {{ 5 - 2 - 1 + 3 - 2 * 2 }} {{ 'b' + 'a' ~ 1 }} {{ 'a' ~ 2 * 3 }} {{ ('a' ~ 'b') * 2 }} {{ -(1 + 2) }} {{ - 3|abs }}",
    "{{ 0.1 + 0.2 }} {{ 1e3 }} {{ 1.50 }} {{ 5 * 0.5 }} {{ 9223372036854775807 + 1 }} {{ 4294967296 * 4294967296 }} {{ 12345678901234567890123 + 1 }}",
    "{{ true + 1 }} {{ 1e999 }} {{ 0x1F + 0b11 }} {{ 1_000 }}",
    "{{ [1] + [2] }} {{ (1,) + (2, 3) }} {{ [1, 2] * 2 }} {{ 2 * (1, 2) }} {{ 'ab' * 3 }} {{ [] * 3 }} {{ 'a' + 'b' }}",
    "{{ 'a' if list else 'b' }} {{ ('x' if map.a == 2) }} {{ 1 if 0 else 3 if 4 else 5 }}{{ (1 if 2) if 3 else 4 }} {{ not list or map and 1 }} {{ not (1 and 0) }}",
    "{{ 1 < 2 < 3 }} {{ 1 < 2 == true }} {{ (1 < 2) == true }} {{ 2 not in list }} {{ 2 in list }} {{ not 2 in list }} {{ 'el' in 'hello' }} {{ 1 in 'a1' }}",
    "{{ list == [1, 2, 3] }} {{ list != [1] }} {{ [1, [2]] < [1, [3]] }} {{ 'a' >= 'b' }} {{ 1 == 1.0 }} {{ map == {'a': 1} }}",
    "{{ list is sequence and map is mapping }} {{ 3 is odd }} {{ 4 is divisibleby 2 }} {{ 'a' is in ['a'] }} {{ nope is defined }} {{ nope is not defined }} {{ 'abc' is startingwith('a') }} {{ 1 is eq(1) }} {{ list is sameas list }}",
    "{{ list[0] }}{{ list[-1] }}{{ list.1 }}{{ map.a }}{{ map['a'] }}{{ text[1:3] }}{{ list[1:] }}{{ list[:2] }}{{ list[::2] }}{{ list[::-1] }}{{ text[::-1] }}{{ (1, 2, 3)[1:] }}{{ [list, [4]][0][1] }}{{ none[1:] }}",
    "{{ {'a': 1, 'b': [1, 2, {'c': none}]} }} {{ ['a', \"b'c\", 1.5, true, none] }} {{ () }} {{ (1,) }} {{ {} }} {{ [list, map] }} {{ {'k': list} }}",
    "{{ 'a\\nb\\\\c\\u00e9\\'d' }} {{ \"q\\\"q\" }} {{ 'a' 'b' \"c\" }} {{ '{{ }} {% %}' }}",
    "{% for x in list %}{{ loop.index }}:{{ x }}{{ ', ' if not loop.last }}{{ loop.cycle('a', 'b') }}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }}{% else %}none{% endfor %}{% for x in [] %}{% else %}none{% endfor %}",
    "{% for k, v in map|items %}{{ k }}={{ v }}{% endfor %}{% for (a, (b, c)) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% for x in list if x > 1 %}{{ x }}{% if x == 2 %}{% continue %}{% endif %}{% break %}{% endfor %}",
    "{% for x in [[1, [2]], [3]] recursive %}{% if x is sequence %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{{ loop.depth }}{% endfor %}",
    "{% if list %}a{% elif map %}b{% else %}c{% endif %}{% if 0 %}a{% elif 0 %}b{% elif 1 %}{% if 0 %}x{% else %}y{% endif %}{% else %}c{% endif %}{% if 0 %}a{% else %}{% if 1 %}z{% endif %}{% endif %}",
    "{% set a = 1 %}{% set b, c = 2, 3 %}{% set (d, e) = (4, 5) %}{{ a }}{{ b }}{{ c }}{{ d }}{{ e }}{% set t = 1, 2 %}{{ t }}{% set z %} {{ a }} text {% endset %}[{{ z }}]{% set z | upper | trim %} low {% endset %}[{{ z }}]",
    "{% set n = namespace(x=1, y='a') %}{% for i in list %}{% set n.x = n.x + i %}{% set n.y = n.y ~ i %}{% set n.l = [i] %}{% endfor %}{{ n.x }}{{ n.y }}{{ n.l }}{% set n.a, n.b = 1, 2 %}{{ n.a + n.b }}{% set n.t %}cap{% endset %}{{ n.t }}",
    "{% macro m(a, b=2, c='x' ~ 'y') %}[{{ a }}{{ b }}{{ c }}{{ caller() if caller is defined }}]{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(*[1, 2, 3]) }}{{ m(**{'a': 9}) }}{% call m(1) %}in{% endcall %}{% macro o() %}{{ caller(1, 2) }}{% endmacro %}{% call(x, y=5) o() %}{{ x + y }}{% endcall %}{{ m.name }}",
    "{% with x = 1, y = x_ %}{{ x }}{{ y }}{% endwith %}{% with (a, b) = [1, 2] %}{{ a }}{{ b }}{% endwith %}{% with %}{% set q = 1 %}{{ q }}{% endwith %}",
    "a {%- if true -%} b {%- endif %} c\n  {#- gone -#}  d {{- 'e' -}} f {% raw -%} {{ x }} {% y %} {%- endraw %} g\n{%+ if true +%} h{% endif %}\n\n",
    "{% include 'part.md' %}{% include ['nope', 'part.md'] %}{% include 'nope' ignore missing %}{% import 'tools.md' as t %}{{ t.twice('x') }}{{ t.kept }}{% from 'tools.md' import twice, kept as k %}{{ twice(1) }}{{ k }}{% do twice(1) %}",
    "{% extends 'base.md' %}{% set x = 1 %}{% block a %}[{{ super() }}]{% endblock %}{% block b %}{{ text }}{{ self.a() }}{% endblock %}",
    "{% autoescape true %}{{ '<a>' }}{{ '<a>'|safe }}{{ ['<']|join('&') }}{% endautoescape %}{% autoescape 'json' %}{{ map }}{{ 'a' }}{% endautoescape %}{{ '<'|e }}{% filter upper %}a{{ text }}{% endfilter %}{% filter replace('a', 'b')|upper %}a{% endfilter %}",
    "{{ text|upper }}{{ text|lower }}{{ text|capitalize }}{{ text|replace('l', 'L') }}{{ text|replace('', '.') }}{{ ' a '|trim }}{{ 'xax'|trim('x') }}{{ text|length }}{{ list|count }}{{ text|reverse }}{{ list|reverse }}",
    "{{ list|join }}{{ list|join('-') }}{{ list|join(d='+') }}{{ [map]|join(',', attribute='a') }}{{ 'a,b'|split(',') }}{{ 'a b  c'|split }}{{ 'a b c'|split(' ', 1) }}{{ 'a\nb'|lines }}{{ 'a\n\nb'|indent }}{{ 'a\n\nb'|indent(2, true, true) }}{{ 'a\nb'|indent(width=1, first=true) }}",
    "{{ list|first }}{{ list|last }}{{ list|min }}{{ list|max }}{{ [3, 1]|sort }}{{ ['b', 'A']|sort }}{{ ['b', 'A']|sort(case_sensitive=true, reverse=true) }}{{ [map]|sort(attribute='a') }}{{ list|sum }}{{ [[1], [2]]|sum(start=[]) }}{{ 'ab'|list }}{{ map|list }}{{ [1, 1, 2]|unique }}",
    "{{ list|batch(2) }}{{ list|batch(2, 0) }}{{ list|slice(2) }}{{ list|slice(2, 0) }}{{ map|items|list }}{{ map|dictsort }}{{ [map, map]|groupby('a') }}{% for g in [map]|groupby('a') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}{{ list|zip([4, 5])|list }}{{ list|chain([4])|list }}{{ map|chain({'b': 2})|items|list }}",
    "{{ list|map('string')|join(',') }}{{ [map]|map(attribute='a')|list }}{{ [map]|map(attribute='z', default=0)|list }}{{ list|select('odd')|list }}{{ list|reject('odd')|list }}{{ [map]|selectattr('a', 'eq', 1)|list }}{{ [map]|rejectattr('a')|list }}",
    "{{ map|tojson }}{{ [map, 'a<']|tojson(2) }}{{ map|tojson(indent=true) }}{{ [map]|pprint }}{{ '%s-%05.1f-%x'|format('a', 1.25, 255) }}{{ '%(k)s 50%%'|format(k='v') }}{{ 3.7|round }}{{ 3.14159|round(2) }}{{ -3|abs }}{{ '3'|int }}{{ 'x'|int(0) }}{{ '1.5'|float }}{{ 1|bool }}{{ 5|string }}",
    "{{ range(3) }}{{ range(1, 7, 2)|list }}{{ range(3, 0, -1)|list }}{{ dict(a=1, b=2) }}{{ dict({'a': 1}, b=2) }}{{ namespace(a=1) }}{{ nope|default('d') }}{{ ''|default('d', true) }}{{ map|attr('a') }}{{ lipsum is defined }}",
    "{{ map.a|string ~ list[0] }}{{ (list|join(',')).a is defined }}{{ {'f': [1, 2]}.f[0] }}{{ 'abc'.x is defined }}{{ ('%s' ~ '!')|format(1)|upper }}{{ [1, 2][0] + [3][0] * 2 }}",
];

#[test]
fn bounds_do_not_change_what_a_template_means() {
    let given = json!({"list": [1, 2, 3], "map": {"a": 1}, "text": "hello", "s": "S", "x_": 7});
    for body in LANGUAGE {
        // A header is cut off with the white space after it, and a body has none around it.
        let body = format!("|{body}|");
        assert_eq!(
            render(&body, given.clone()).as_deref(),
            Ok(&*unbounded(&body, &given)),
            "{body}"
        );
    }
}

#[test]
fn errors_keep_their_lines_and_words() {
    for (body, expected) in [
        ("a\n{{ 'x' ~ nope }}", "t.md:5: `nope` is undefined"),
        ("a\n{{ nope + 1 }}", "t.md:5: `nope` is undefined"),
        ("a\n{{\n1\n+\nlist.x }}", "t.md:8: `list.x` is undefined"),
        (
            "{% if s -%}\n\n\n  a\n{%- endif %}\n{{ nope }}",
            "t.md:9: `nope` is undefined",
        ),
        (
            "{% raw %}\n\n{% endraw %}{# \n #}\n{{ 1 + 'a' }}",
            "t.md:8: invalid operation: tried to use + operator on unsupported types number and string",
        ),
        (
            "{{ [] * [] }}",
            "t.md:4: invalid operation: sequences and iterables can only be multiplied with integers",
        ),
        ("{{ nope[1:] }}", "t.md:4: `nope` is undefined"),
        ("{{ nope[1] }}", "t.md:4: `nope` is undefined"),
        ("{{ map.nope[1] }}", "t.md:4: `map.nope` is undefined"),
        ("{{ map[nope] }}", "t.md:4: `map[...]` is undefined"),
        ("{{ map[s] }}", "t.md:4: `map[...]` is undefined"),
        ("{{ map['b'] }}", "t.md:4: `map['b']` is undefined"),
        ("{{ list[7] }}", "t.md:4: `list[7]` is undefined"),
        ("{{ [list][-1].x }}", "t.md:4: `(...)[...].x` is undefined"),
        ("{{ list[-9].x }}", "t.md:4: `list[...]` is undefined"),
        (
            "{% for x in nope %}{% endfor %}",
            "t.md:4: `nope` is undefined",
        ),
        ("{{ s|upper(1) }}", "t.md:4: too many arguments"),
        (
            "\n{{ s|indent(wide=1) }}",
            "t.md:5: too many arguments: unknown keyword argument 'wide'",
        ),
    ] {
        assert_eq!(refused(body), expected, "{body}");
    }
}

#[test]
fn large_templates_that_do_honest_work_are_rendered() {
    let given = json!({"items": (0..5000).map(|n| json!({"id": n, "text": "x".repeat(200)})).collect::<Vec<_>>(), "long": "line of text\n".repeat(200_000)});
    let body = "{% set n = namespace(out=[], text='') %}{% for item in items if item.id % 2 == 0 %}{% set n.out = n.out + [item.id] %}{% if item.id in [1, 2, 3] %}{% endif %}{% endfor %}{{ n.out|length }} {{ items|map(attribute='text')|join('\n')|length }} {{ long|trim|indent(4)|length }} {{ items|tojson|length }} {{ long|lines|length }} {{ items|sort(attribute='id', reverse=true)|first|attr('id') }}";
    assert_eq!(
        render(body, given).unwrap(),
        "2500 1004999 3399995 1128890 200000 4999"
    );
    let chain = vec!["'a'"; 300].join(" ~ ");
    assert_eq!(
        render(&format!("{{{{ {chain} }}}}"), json!({})).unwrap(),
        "a".repeat(300)
    );
}

#[test]
fn what_is_known_of_texts_does_not_grow_from_turn_to_turn() {
    let given = json!({"s": "p", "t": "q"});
    let body = "{% set n = namespace(a=s, b=t) %}{% for i in range(99) %}{% set c = ([n.a, n.b]|string)[0:2] %}\
        {% set n.b = ([n.b, n.a]|string)[0:2] %}{% set n.a = c %}{% endfor %}{{ n.a }}";
    assert_eq!(render(body, given), Ok("['".to_owned()));
    // The path of a field stands in the map of each text that it has.
    let given = json!({"map": {"k".repeat(100_000): vec!["x"; 10_000]}});
    let body = "{% for list in map|items %}{% for x in list[1] %}{{ x }}{% endfor %}{% endfor %}";
    assert_eq!(render(body, given).unwrap_err(), TOO_MUCH);
    let long = "k".repeat(60_000);
    // Names of an expression are cut.
    let body = format!(
        "{{% set\n{long}\n= 1 %}}{{% for x in range(9999) %}}{{{{ x +\n{long}\n}}}}{{% endfor %}}"
    );
    assert!(render(&body, json!({})).is_ok());
}

#[test]
fn what_is_looked_through_is_paid_for() {
    for body in [
        "s|length",
        "s|count",
        "s|last",
        "s|first",
        "[s]|min",
        "[s]|max",
        "s[-1]",
        "s[:1]",
        "s[1:3:2]",
        "map[s] is defined",
        "s|int(0)",
        "s|float(0)",
    ] {
        let body =
            format!("{{% for x in range(99999) %}}{{% if {body} %}}{{% endif %}}{{% endfor %}}");
        let given = json!({"s": "x".repeat(100_000), "map": {}});
        assert_eq!(render(&body, given), Err(TOO_MUCH.to_owned()), "{body}");
    }
    let begun = "{% for x in range(99999) %}{% for c in s %}{% break %}{% endfor %}{% endfor %}";
    let given = json!({"s": "x".repeat(100_000)});
    assert_eq!(render(begun, given), Err(TOO_MUCH.to_owned()));
    let given = json!({"s": "äbc", "list": ["one", "two"], "map": {"k": "v"}});
    let body = "{{ s[0] }}{{ s[-1] }}{{ list[-1][1] }}{{ map['k'] }}{{ map[list[0]] is defined }}{% for c in s %}-{{ c }}{% endfor %}";
    assert_eq!(render(body, given), Ok("äcwvFalse-ä-b-c".to_owned()));
}

#[test]
fn a_text_of_very_many_parts_is_gone_through_once() {
    let captured = "{% set c %}{% for i in range(100000) %}{{ s }}\n{% endfor %}{% endset %}";
    for (filter, printed) in [
        ("lines|length", "100000"),
        ("split('\n')|length", "100001"),
        ("replace('x', 'yy')|length", "300000"),
        ("indent|length", "599995"),
    ] {
        let text = render(
            &format!("{captured}{{{{ c|{filter} }}}}"),
            json!({"s": "x"}),
        );
        assert_eq!(text.as_deref(), Ok(printed), "{filter}");
    }
}
