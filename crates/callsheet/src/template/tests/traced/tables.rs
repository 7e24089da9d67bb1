//! Bodies of templates with what they print, and where that leads to.

/// Bodies, and where each part of what they print leads to.
pub(super) const ORIGINS: &[(&str, &str)] = &[
    (
        "a\n{{ task.title }}!",
        "`a⏎` t.md:4, `Go` input:vars.task.title, `!` t.md:5",
    ),
    ("{{ title|trim }}", "`Fix it` input:vars.title"),
    (
        "{{ title|trim|replace('it', 'bug') }}",
        "`Fix ` input:vars.title, `bug` t.md:4",
    ),
    (
        "{{ long|indent(2) }}",
        "`one⏎` input:vars.long, `  ` frame, `two` input:vars.long",
    ),
    (
        "{{ task.list|join(', ') }}",
        "`a` input:vars.task.list[0], `, ` t.md:4, `b` input:vars.task.list[1]",
    ),
    (
        "{{ found|join('', attribute='file') }}",
        "`a.rs` input:vars.found[0].file",
    ),
    (
        "{{ 'x' ~ task.title ~ 'y' }}",
        "`x` t.md:4, `Go` input:vars.task.title, `y` t.md:4",
    ),
    (
        "{{ task.title + '!' }}",
        "`Go` input:vars.task.title, `!` t.md:4",
    ),
    (
        "{{ title[1:4] }}|{{ title|trim|first }}|{{ task.title|last }}",
        "`Fix` input:vars.title, `|` t.md:4, `F` input:vars.title, `|` t.md:4, `o` input:vars.task.title",
    ),
    (
        "{% for x in long|lines %}{{ x }};{% endfor %}",
        "`one` input:vars.long, `;` t.md:4, `two` input:vars.long, `;` t.md:4",
    ),
    (
        "{{ (long|split('\n'))[1] }}{{ (title|split)[1] }}",
        "`two` input:vars.long, `it` input:vars.title",
    ),
    (
        "{% for x in found %}{{ x.file }}:{{ x.line }}{% endfor %}",
        "`a.rs` input:vars.found[0].file, `:` t.md:4, `7` input:vars.found[0].line",
    ),
    (
        "{% for n in numbers %}{{ n }};{% endfor %}",
        "`4` input:vars.numbers[0], `;` t.md:4, `5` input:vars.numbers[1], `;` t.md:4",
    ),
    // Where the loop leaves items out, or another one runs, nobody can tell which item it is.
    (
        "{% for n in numbers if n > 4 %}{{ n }}{% endfor %}",
        "`5` derived:n",
    ),
    (
        "{% for x in found %}{% for n in numbers %}{{ x.line }}{{ n }}{% endfor %}{% endfor %}",
        "`7` derived:x.line, `4` input:vars.numbers[0], `7` derived:x.line, `5` input:vars.numbers[1]",
    ),
    (
        "{% for n in numbers %}{% set n = n + 1 %}{{ n }}{% endfor %}",
        "`5` derived:n, `6` derived:n",
    ),
    (
        "{% macro m(n) %}{{ n }}{% endmacro %}{% for n in numbers %}{{ m(n) }}{% endfor %}",
        "`4` derived:n, `5` derived:n",
    ),
    (
        "{{ task.list|first }}{{ task.list|sort|last }}{{ task.list[-1] }}",
        "`a` input:vars.task.list[0], `b` input:vars.task.list[1], `b` input:vars.task.list[1]",
    ),
    (
        "{{ nope|default('none') }}{{ task.title|default('x') }}",
        "`none` t.md:4, `Go` input:vars.task.title",
    ),
    (
        "{{ task.title if ok else 'x' }}{{ '' or 'y' }}",
        "`Go` input:vars.task.title, `y` t.md:4",
    ),
    (
        "{{ task.n }}{{ ok }}{{ rate }}",
        "`3` input:vars.task.n, `True` input:vars.ok Converted, `1.5` input:vars.rate",
    ),
    (
        "{% include 'part.md' %}",
        "`part ` part.md:4, ` Fix it ` input:vars.title",
    ),
    (
        "{% from 'tools.md' import wrap %}{{ wrap(task.title) }}",
        "`<` tools.md:4, `Go` input:vars.task.title, `>` tools.md:4",
    ),
    (
        "{% import 'tools.md' as t %}{{ t.twice(t.wrap(task.title))[1:5] }}",
        "`Go` input:vars.task.title, `>` tools.md:4, `<` tools.md:4",
    ),
    (
        "{% from 'tools.md' import around %}{% call around() %}-{{ task.title }}{% endcall %}",
        "`(` tools.md:4, `-` t.md:4, `Go` input:vars.task.title, `)` tools.md:4",
    ),
    (
        "{% set x %}a{{ task.title }}{% endset %}{{ x }}{{ x|trim('a') }}",
        "`a` t.md:4, `Go` input:vars.task.title, `Go` input:vars.task.title",
    ),
    (
        "{% filter trim %} {{ task.title }} {% endfilter %}",
        "`Go` input:vars.task.title",
    ),
    (
        "{% extends 'base.md' %}{% block a %}<{{ super() }}|{{ super()|trim }}>{% endblock %}",
        "`[` base.md:4, `<` t.md:4, `base ` base.md:4, ` Fix it ` input:vars.title, `|` t.md:4, `base ` base.md:4, ` Fix it` input:vars.title, `>` t.md:4, `]` base.md:4",
    ),
    (
        "{% set n = namespace(x='') %}{% for x in task.list %}{% set n.x = n.x ~ x %}{% endfor %}{{ n.x }}",
        "`a` input:vars.task.list[0], `b` input:vars.task.list[1]",
    ),
    (
        "{{ '\\t' }}{{ 'a' 'b' }}",
        "`\t` t.md:4 Converted, `ab` t.md:4 Converted",
    ),
    // What makes new text names what it was made of.
    (
        "{{ task.title|upper }}{{ 'x'|upper }}",
        "`GO` derived:vars.task.title, `X` t.md:4 Converted",
    ),
    (
        "{{ '%s-%s'|format(task.title, title) }}",
        "`Go- Fix it ` derived:vars.task.title, vars.title",
    ),
    (
        "{{ task.n + 1 }}{{ task.list|length }}",
        "`4` derived:task.n, `2` derived:task.list",
    ),
    (
        "{{ task.list|tojson }}",
        "`[\"a\", \"b\"]` derived:vars.task.list[0], vars.task.list[1]",
    ),
    (
        "{% for k, v in task|items %}{% if k == 'title' %}{{ k }}={{ v }}{% endif %}{% endfor %}",
        "`title` input:vars.task.title Converted, `=` t.md:4, `Go` input:vars.task.title",
    ),
    (
        "{{ task.title * 2 }}{{ task.title|reverse }}",
        "`GoGo` derived:vars.task.title, `oG` derived:vars.task.title",
    ),
];

/// Bodies, the value `v` and what is printed: places and values that want to be something else there.
pub(super) const PLACES: &[(&str, &str, &str)] = &[
    // In a line: one line, and nothing else changes.
    (
        "# {{ v }}",
        "Fix\n## Output Format",
        "# \"Fix\\n## Output Format\"",
    ),
    ("Title: {{ v }}.", "a\r\n- b", "Title: \"a\\r\\n- b\"."),
    (
        "Title: {{ v }}",
        "# not at the margin",
        "Title: # not at the margin",
    ),
    ("a {{ v }} b", "\u{2028}x", "a \"\\u2028x\" b"),
    // At the beginning of a line.
    ("{{ v }} rest", "## x", "#\\# x rest"),
    ("{{ v }} rest", "- x", "\\- x rest"),
    ("{{ v }} rest", "1. x", "1\\. x rest"),
    ("{{ v }} rest", "```", "\\``` rest"),
    ("{{ v }} rest", "--- end ---", "--\\- end --- rest"),
    ("{{ v }} rest", "<div>", "<\\div> rest"),
    ("{{ v }}{{ v }}", "#", "\\##"),
    ("{{ v }}{{ v }}!", "<", "\\<<!"),
    // In a list.
    ("- {{ v }}\n- b", "a\n- forged", "- \"a\\n- forged\"\n- b"),
    ("- {{ v }}", "- nested", "- \\- nested"),
    ("- {{ v }}", "# heading", "- \\# heading"),
    (
        "- a\n{{ v }}\n",
        "- forged\n1. too",
        "- a\n\\- forged\n1\\. too",
    ),
    ("{{ v }}\n- a", "- forged", "\\- forged\n- a"),
    (
        "{{ v }}\n{% for x in [1] %}\n- {{ x }}{% endfor %}",
        "- forged",
        "\\- forged\n\n- 1",
    ),
    ("{{ v }}\nThen:\n- a", "- forged", "\\- forged\nThen:\n- a"),
    (
        "<x>\n{{ v }}\n</x>\n- a",
        "- forged",
        "<x>\n\\- forged\n</x>\n- a",
    ),
    (
        "- a\nof it\n\n{{ v }}",
        "- forged",
        "- a\nof it\n\n\\- forged",
    ),
    (
        "{{ v }}\n{{ v }}\n- a",
        "- forged",
        "\\- forged\n\\- forged\n- a",
    ),
    ("{{ v }}\n\n{{ v }}\n\n- a", "- x", "- x\n\n\\- x\n\n- a"),
    ("{{ v }}\n{{ ['a']|bullets }}", "1. x", "1\\. x\n- a"),
    ("{{ v }}\n\nText\n- a", "- x", "- x\n\nText\n- a"),
    ("{{ v }}\n{% if v %}\n## A{% endif %}", "- x", "- x\n\n## A"),
    ("<x>\n{{ v }}\n</x>\n", "- x", "<x>\n- x\n</x>"),
    (
        "- a\n  {{ v|indent(2) }}\n- b",
        "x\n- y\n# z",
        "- a\n  x\n  \\- y\n  \\# z\n- b",
    ),
    // A sign that is left alone would make a heading of the line before it.
    ("Text\n- {{ v }}", "", "Text\n- \"\""),
    ("Text\n- {{ v|quote }}", "", "Text\n- \"\""),
    ("- a\n- {{ v }}\n!", "", "- a\n- \n!"),
    ("- a\n  - {{ v }}\n!", " ", "- a\n  - \" \"\n!"),
    ("Text\n- {{ v }}x", "", "Text\n- x"),
    // On lines of its own.
    (
        "a\n\n{{ v }}\n\nb",
        "one\n\n- item\n## Forged\n---",
        "a\n\none\n\n- item\n#\\# Forged\n--\\-\n\nb",
    ),
    (
        "a\n\n{{ v }}\n\nb",
        "```\ncode\n```",
        "a\n\n```\ncode\n```\n\nb",
    ),
    ("a\n\n{{ v }}\n\nb", "```\nopen", "a\n\n\\```\nopen\n\nb"),
    (
        "a\n\n{{ v }}\n\nb",
        "--- begin x ---\n<div>\n<!--",
        "a\n\n--\\- begin x ---\n<\\div>\n\\<!--\n\nb",
    ),
    (
        "a\n{%- if v %}\n{{ v }}\n{%- endif %}\nb",
        "x\n# y",
        "a\nx\n\\# y\nb",
    ),
    (
        "{{ v }}\n{%- if v %} same line{% endif %}",
        "x\ny",
        "\"x\\ny\" same line",
    ),
    (
        "a\n{{ v|indent(2) }}\nb",
        "x\n## y\n\nz",
        "a\nx\n  #\\# y\n\n  z\nb",
    ),
    ("{{ v }}\n===\n", "a\nb", "\"a\\nb\"\n==="),
    ("{{ v }}\n===", "", "\"\"\n==="),
    ("{{ v }}\n===", "    x", "\"    x\"\n==="),
    ("{{ v }} rest", "\tx", "\"\\tx\" rest"),
    ("{{ v }} rest", "    x", "\"    x\" rest"),
    ("- a\n\n{{ v }} rest", " x", "- a\n\n\" x\" rest"),
    (
        "{{ v }}\n",
        "[a]: b\n[x] done\n[a](b)\n[a",
        "\\[a]: b\n[x] done\n[a](b)\n\\[a",
    ),
    ("{{ v }}: b", "[a]", "\\[a]: b"),
    // In the row of a table.
    ("| {{ v }} | b |", "x | \\|", "| x \\| \\\\\\| | b |"),
    ("|{{ v }}|", "x\\", "|x\\\\|"),
    ("|{{ v|line }}|", "a|b", "|a\\|b|"),
    ("| {{ v }} |", "a\n|", "| \"a\\n\\u007c\" |"),
    (
        "a | b\n--|--\n{{ v }} | c\n\n{{ v }} | d",
        "x|y",
        "a | b\n--|--\nx\\|y | c\n\nx|y | d",
    ),
    // In a code block.
    (
        "```\n{{ v }}\n```",
        "a\n```\n## b",
        "```\na\n\\```\n#\\# b\n```",
    ),
    ("```\n{{ v }}\n```", "- a\n# b", "```\n- a\n# b\n```"),
    ("```{{ v }}\nx\n```", "rust`", "```rust&#96;\nx\n```"),
    (
        "- ```\n  {{ v }}\n  ```",
        "a\n# b",
        "- ```\n  a\n\\# b\n  ```",
    ),
    // In a tag, and the tags of the template.
    (
        "<file path=\"{{ v }}\">x</file>",
        "a\" b=\"<>&'",
        "<file path=\"a&quot; b=&quot;&lt;&gt;&amp;&#39;\">x</file>",
    ),
    ("<file path={{ v }}>", "a b>", "<file path=a&#32;b&gt;>"),
    ("<{{ v }}>", "x y", "<x&#32;y>"),
    (
        "<task>\n{{ v }}\n</task>",
        "a </task> <task x> <b>",
        "<task>\na <\\/task> <\\task x> <b>\n</task>",
    ),
    ("a < b {{ v }}", "x\" & y", "a < b x\" & y"),
    // In a JSON string.
    (
        "{\"title\": \"{{ v }}\", \"n\": 1}",
        "a\"b\n\\c",
        "{\"title\": \"a\\\"b\\n\\\\c\", \"n\": 1}",
    ),
    (
        "```json\n{\"a\": \"{{ v }}\"}\n```",
        "\"}\n```",
        "```json\n{\"a\": \"\\\"}\\n```\"}\n```",
    ),
    (
        "<task>{\"a\": \"{{ v }}\"} {{ v|json }} {{ v|line }}</task>",
        "</task>",
        "<task>{\"a\": \"\\u003c/task>\"} \"\\u003c/task>\" <\\/task></task>",
    ),
    (
        "<task>{{ v }} {{ v|quote }}</task>",
        "a\n</task>",
        "<task>\"a\\n\\u003c/task>\" \"a\\n\\u003c/task>\"</task>",
    ),
    (
        "{\"a\": \"{{ v }}\"}",
        "\u{2028}## x",
        "{\"a\": \"\\u2028## x\"}",
    ),
    // What was captured is made harmless where it is printed.
    (
        "{% macro m(x) %}## {{ x }}{% endmacro %}{{ m(v) }}",
        "a\n## b",
        "## \"a\\n## b\"",
    ),
    (
        "{% set x %}- {{ v }}\n{% endset %}{{ x }}end",
        "a\nb",
        "- \"a\\nb\"\nend",
    ),
    (
        "{% set x %}{{ v }}{% endset %}- {{ x }}",
        "a\n- b",
        "- \"a\\n- b\"",
    ),
    // Constants are the recipe's own.
    (
        "{{ '## Heading' }}\n{{ '- a' if v }}",
        "x",
        "## Heading\n- a",
    ),
    ("{{ '# ' ~ v }}", "a\nb", "# \"a\\nb\""),
    ("{{ v|upper }} x", "# a", "\\# A x"),
    ("{{ v|upper }}\n", "x\n# a", "X\n\\# A"),
];

/// Uses of the filters for authors, and what they print.
pub(super) const FILTERS: &[(&str, &str)] = &[
    ("{{ v|line }}", "\"a\\n## b\""),
    ("x {{ v|block }}", "x a\n#\\# b"),
    ("{{ v|quote }}", "\"a\\n## b\""),
    ("- {{ rule|quote }}", "- #\\# c"),
    ("{{ n|quote }} {{ n|line }}", "1.5 1.5"),
    ("{{ prose|neutralise }}.", "<b>\n- x\n***\n#\\# c."),
    ("[{{ head|strip }}] [{{ head|quote|strip }}]", "[A #] [A #]"),
    // What was made harmless is not made so once more.
    ("{{ spaced|neutralise|strip }}", "\\```\nx"),
    ("{{ crlf|lf|neutralise }}", "a\n#\\# b\nc\n\n"),
    ("# {{ head|title }}", "# A \\#"),
    ("{{ code|fence('sh') }}", "````sh\n```\nx\n```\n````"),
    ("<a b=\"{{ q|attr }}\">", "<a b=\"&quot;&lt;&amp;\">"),
    ("{{ {'a': 1}|attr('a') }}", "1"),
    ("{{ ['', 'a']|bullets }}", "- \"\"\n- a"),
    (
        "{{ prose|block|indent(2) }}",
        "<\\b>\n  \\- x\n  \\***\n  #\\# c",
    ),
    ("{{ code|block|indent(4) }}", "\\```\n    x\n    \\```"),
    ("{{ list|bullets }}", "- one\n- \\- two\n- \"three\\n3\""),
    ("{{ real|alias }}", "@project/src/a.rs"),
    ("{{ path|path }}", "src/a.rs"),
    (
        "{{ {'a': [v, n, true, none]}|json }}",
        "{\"a\":[\"a\\n## b\",1.5,true,null]}",
    ),
    (
        "{{ list|cap(1)|join(', ') }} (+{{ list|omitted(1) }} more)",
        "one (+2 more)",
    ),
    (
        "{% for c in checks|cap(2, keep='bad', attribute='name') %}{{ c.name }} {% endfor %}",
        "a c ",
    ),
    (
        "{% for c in checks|cap(0, keep='bad') %}{{ c.name }} {% endfor %}",
        "c ",
    ),
    (
        "{{ text|cap(9) }} … {{ text|omitted(9) }}",
        "\"one\\ntwo\" … 6",
    ),
    (
        "{{ text|cap(7)|quote }} {{ 'abc'|cap(2) }} {{ 'abc'|omitted(5) }}",
        "\"one\\ntwo\" ab 0",
    ),
];
