"""Templates: which files are one, what their headers say, what becomes of placeholders, and when they are read."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from conftest import Write

from callsheet import Error, PromptBuilder, TemplateWarning, compose


def body(write: Write, content: str | bytes, name: str = "stem") -> str | None:
    return PromptBuilder(prompts_dir=write({"stem.md": content})).get_template(name)


def render(write: Write, content: str, variables: dict[Any, Any] | None, **options: Any) -> str | None:
    return PromptBuilder(prompts_dir=write({"t.md": content}), **options).render_template("t", variables)


def test_only_markdown_files_at_the_top_are_templates(write: Write) -> None:
    folder = write({"UP.MD": "up", "n.txt": "n", ".h.md": "hidden", "README.md": "readme", "d.md/deep.md": "deep"})
    builder = PromptBuilder(prompts_dir=folder)
    assert builder.get_template(".h") == "hidden"
    assert builder.get_template("README") == "readme"
    for name in ("UP", "n", "d", "deep", "d.md/deep", "nothing", "", None, 5):
        assert builder.get_template(name) is None  # type: ignore[arg-type]
        assert builder.render_template(name, {"a": 1}) is None  # type: ignore[arg-type]


def test_a_folder_that_is_none_has_no_templates(write: Write) -> None:
    folder = write({"file": "x"})
    for place in (folder / "file", folder / "missing"):
        assert PromptBuilder(prompts_dir=place).get_template("a") is None


def test_a_bad_file_hides_no_other(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"a.md": "A", "bad.md": b"ok\xff", "z.md": "Z"}))
    with pytest.warns(TemplateWarning, match=r"/bad\.md: not valid UTF-8 at byte 2; the template is skipped$"):
        assert builder.get_template("a") == "A"
    assert (builder.get_template("bad"), builder.get_template("z")) == (None, "Z")
    assert [event["type"] for event in builder.compose().events] == ["template:diagnostic"]


def test_links_that_lead_out_are_reported(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("secret")
    (folder / "a.md").write_text("A")
    (folder / "inside.md").symlink_to("a.md")
    (folder / "out.md").symlink_to("../secret.md")
    (folder / "gone.md").symlink_to("nowhere")
    builder = PromptBuilder(prompts_dir=folder)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert builder.get_template("out") is None
        assert builder.get_template("inside") == "A"
        builder.set_identity("out")
    assert [(str(one.message), one.category, one.filename) for one in heard] == [
        (f"{folder}/gone.md: does not exist; the template is skipped", TemplateWarning, __file__),
        (f"{folder}/out.md: leads out of the root; the template is skipped", TemplateWarning, __file__),
    ]
    builder.reload()
    with pytest.warns(TemplateWarning) as again:
        builder.add_context_section("task_depth", {"depth": 0})
    assert [one.filename for one in again] == [__file__, __file__]
    assert "secret" not in builder.build_task_prompt()


def test_a_warning_that_is_an_error_is_raised_once(write: Write) -> None:
    folder = write({"a.md": "A"})
    (folder / "out.md").symlink_to("/etc/hostname")
    builder = PromptBuilder(prompts_dir=folder)
    with pytest.raises(TemplateWarning):
        builder.render_template("a")
    assert builder.render_template("a") == "A"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("---\nname: n\n---\nB\n", "B"),
        ("---\n---\nB", "B"),
        ("---\n# c\n---\nB", "B"),
        ("---\nname: stem\n---\n", ""),
        ("", ""),
        ("---\nname: t\nB", "---\nname: t\nB"),
        ("---\nname: [unclosed\n---\nB", "---\nname: [unclosed\n---\nB"),
        ("---\nHello\n---\nB", "---\nHello\n---\nB"),
        ("---\n- a\n---\nB", "---\n- a\n---\nB"),
        ("---\nname: stem\n---\nA\n\n---\n\nB", "A\n\n---\n\nB"),
        ("---\ndescription: a --- b\n---\nB", "B"),
        ("----\nname: t\n----\nB", "----\nname: t\n----\nB"),
        (" ---\nname: t\n---\nB", "---\nname: t\n---\nB"),
        ("---  \nname: stem\n---\t\nB", "B"),
        ("\ufeff---\nname: stem\n---\nB", "B"),
        ("---\r\nname: stem\r\n---\r\na\r\nb\rc", "a\nb\nc"),
    ],
)
def test_headers(write: Write, content: str, expected: str) -> None:
    assert body(write, content) == expected


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("name: 123", "123"),
        ("name: yes", "yes"),
        ("name: 2026-01-01", "2026-01-01"),
        ("name: 012", "012"),
        ("name: 1:30", "1:30"),
        ("name: on", "on"),
        ("name: 1.10", "1.10"),
        ('name: "a b"', "a b"),
        ("name: a\nname: b", "b"),
    ],
)
def test_a_declared_name_is_read_as_it_is_written(write: Write, line: str, name: str) -> None:
    header = f"---\n{line}\n---\nB"
    assert body(write, header, name) == "B"
    assert body(write, header, "stem") == "B", "the stem stays good"


@pytest.mark.parametrize("line", ["name:", "name: null", "name: ~", 'name: ""', "name: [a]", "name: {a: b}"])
def test_a_name_that_is_none_leaves_the_stem(write: Write, line: str) -> None:
    assert body(write, f"---\n{line}\n---\nB") == "B"


def test_a_declared_name_wins_over_a_stem(write: Write) -> None:
    files: dict[str, str | bytes] = {"a.md": "---\nname: b\n---\nfrom a", "b.md": "from b"}
    builder = PromptBuilder(prompts_dir=write(files))
    assert builder.get_template("b") == "from a"
    assert builder.get_template("B") is None, "case counts"


def test_of_equal_names_the_first_file_wins(write: Write) -> None:
    files: dict[str, str | bytes] = {"z.md": "---\nname: n\n---\nZ", "a.md": "---\nname: n\n---\nA"}
    builder = PromptBuilder(prompts_dir=write(files))
    assert builder.get_template("n") == "A"
    assert builder.get_template("z") == "Z", "the stem stays good"
    assert [event["type"] for event in builder.compose().events] == ["template:diagnostic"]


@pytest.mark.parametrize(
    ("content", "variables", "expected"),
    [
        ("a {{x}} b", {"x": "X"}, "a X b"),
        ("a {{ x }}{{\tx\u00a0}} b", {"x": "X"}, "a XX b"),
        ("{{x}}{{x}}{{y}}", {"x": "X", "y": "Y"}, "XXY"),
        ("{{x}} {{y}}", {"x": "{{y}}", "y": "Y"}, "{{y}} Y"),
        ("{{x}}", {"x": "\\1 \\g<0> \\n"}, "\\1 \\g<0> \\n"),
        ("[{{x}}]", {"x": ""}, "[]"),
        ("{{a.b}}", {"a.b": 1}, "1"),
        ("[{{a.b}}]", {"a": {"b": 1}}, "[]"),
        ("{{a b}}", {"a b": "v"}, "v"),
        ("[{{1}}]", {1: "v"}, "[]"),
        ("{x} {{x {{}} {{ }}", {"x": "X"}, "{x} {{x {{}} {{ }}"),
        ("{{x\n}}", {"x": "X"}, "{{x\n}}"),
        ("{{{x}}}", {"x": "X"}, "{{{x}}}"),
        ("{{}} {{x}}", {"x": "X"}, "{{}} X"),
        ("{{x}}}} {{y}}", {"x": "X", "y": "Y"}, "X}} Y"),
        ("a {{z}} b", {"x": "X"}, "a  b"),
        ("a {{z}} b", {"z": None}, "a  b"),
        ("a {{z}} b", {}, "a  b"),
        ("a {{z}} b", None, "a  b"),
    ],
)
def test_placeholders(write: Write, content: str, variables: dict[Any, Any] | None, expected: str) -> None:
    assert render(write, content, variables) == expected


def test_missing_values_can_be_kept(write: Write) -> None:
    assert render(write, "a {{z}} {{ z }} {{x}}", {"x": "X"}, missing="keep") == "a {{z}} {{ z }} X"


DECLARED = """---
name: declared
variables:
  - name: needed
    required: true
  - name: given
    default: by default
  - loose
---
{{needed}} {{given}} {{loose}}
"""


def test_defaults_stand_in(write: Write) -> None:
    assert render(write, DECLARED, {"needed": "N", "loose": "L"}) == "N by default L"
    assert render(write, DECLARED, {"needed": "N", "given": "G", "loose": ""}) == "N G "


def test_strict_names_everything_that_is_missing(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"t.md": DECLARED}), strict=True)
    with pytest.raises(ValueError) as caught:
        builder.render_template("t")
    message = "Required variable 'needed' not provided for template 'declared' (also missing: 'loose')"
    assert str(caught.value) == message
    assert isinstance(caught.value, Error)
    assert (caught.value.kind, caught.value.file, caught.value.line) == ("bad-template", "t.md", 10)
    with pytest.raises(ValueError) as caught:
        builder.set_identity("t", {"needed": "N", "loose": None})
    assert str(caught.value) == "Required variable 'loose' not provided for template 'declared'"
    assert builder.render_template("t", {"needed": "N", "loose": "L"}) == "N by default L"


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"missing": "keep"}])
def test_what_a_template_does_not_declare_is_prose(write: Write, options: dict[str, Any]) -> None:
    content = "---\nvariables: [who]\n---\n{{who}}: write {{event}} or {{ event }}"
    assert render(write, content, {"who": "W"}, **options) == "W: write {{event}} or {{ event }}"
    assert render(write, content, {"who": "W", "event": None}, **options) == "W: write {{event}} or {{ event }}"
    assert render(write, content, {"who": "W", "event": "E"}, **options) == "W: write E or E"


def test_strictness_can_be_chosen_for_one_call(write: Write) -> None:
    folder = write({"t.md": "[{{x}}]"})
    strict, lax = PromptBuilder(prompts_dir=folder, strict=True), PromptBuilder(prompts_dir=folder)
    assert strict.render_template("t", strict=False) == "[]"
    strict.set_identity("t", strict=False)
    assert strict.build_task_prompt() == "[]"
    for call in (lax.render_template, lax.set_identity):
        with pytest.raises(ValueError, match="^Required variable 'x' not provided for template 't'$"):
            call("t", strict=True)
    assert lax.render_template("t") == "[]"


def test_execution_rules_are_as_strict_as_the_builder(write: Write) -> None:
    folder = write({"plan-structure-guide.md": "[{{max_steps}} {{more}}]", "t.md": "{{x}}"})
    lax, strict = PromptBuilder(prompts_dir=folder), PromptBuilder(prompts_dir=folder, strict=True)
    with pytest.raises(ValueError):
        lax.render_template("t", strict=True)
    lax.add_context_section("task_depth", {"depth": 0})
    assert lax.build_task_prompt() == "[20 ]"
    strict.render_template("t", strict=False)
    with pytest.raises(ValueError, match="^Required variable 'more' not provided"):
        strict.add_context_section("task_depth", {"depth": 0})
    kept = PromptBuilder(prompts_dir=folder, missing="keep")
    kept.add_context_section("task_depth", {"depth": 0})
    assert kept.build_task_prompt() == "[20 {{more}}]"


def test_a_refused_identity_leaves_the_one_before(write: Write) -> None:
    builder = PromptBuilder(prompts_dir=write({"a.md": "A", "t.md": "{{x}}"}))
    builder.set_identity("a")
    with pytest.raises(ValueError):
        builder.set_identity("t", strict=True)
    assert builder.build_task_prompt() == "A"


@pytest.mark.parametrize("variables", [[("x", 1)], "x", 5])
def test_variables_that_are_no_mapping_are_refused(variables: Any) -> None:
    for call in (PromptBuilder().render_template, PromptBuilder().set_identity):
        with pytest.raises(TypeError, match="^variables must be a mapping, not a "):
            call("supervisor", variables)


def test_templates_are_a_snapshot_until_they_are_reloaded(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("one")
    builder = PromptBuilder(prompts_dir=tmp_path)
    assert builder.get_template("a") == "one"
    file.write_text("two")
    (tmp_path / "new.md").write_text("new")
    assert (builder.get_template("a"), builder.get_template("new")) == ("one", None)
    assert PromptBuilder(prompts_dir=tmp_path).get_template("a") == "two"
    builder.set_identity("a")
    assert builder.reload() is None  # type: ignore[func-returns-value]
    assert builder.build_task_prompt() == "one", "what was rendered stays"
    assert (builder.get_template("a"), builder.get_template("new")) == ("two", "new")
    file.unlink()
    assert builder.get_template("a") == "two"
    builder.reload()
    assert builder.get_template("a") is None


SUPERVISOR = ("supervisor", "supervisor-system", "supervisor_system", "chat-agent-system", "chat_agent_system")
HOOK = ("hook-executor", "hook_executor", "hook-context", "hook_context")


@pytest.mark.parametrize("names", [SUPERVISOR, HOOK])
@pytest.mark.parametrize("ending", ["", ".md"])
def test_every_name_of_an_identity_finds_the_packaged_template(names: tuple[str, ...], ending: str) -> None:
    expected = PromptBuilder().get_template(names[0])
    assert expected
    variables = {"workspace_dir": "/w", "hook_name": "h"}
    for name in names:
        builder = PromptBuilder()
        assert builder.get_template(name + ending) == expected
        rendered = builder.render_template(name + ending, variables)
        assert rendered is not None and ("`/w`" in rendered or "`h`" in rendered)
        builder.set_identity(name + ending, variables)
        assert builder.build_task_prompt() == rendered
        composed = compose("layers", {"identity": {"name": name + ending, "variables": variables}})
        assert composed.text == rendered


@pytest.mark.parametrize("name", ["task_agent", "plan_structure_guide", "controlled_splitting.md", "execution_focus"])
def test_packaged_templates_are_found_with_underscores(name: str) -> None:
    spelled = name.removesuffix(".md").replace("_", "-")
    assert PromptBuilder().get_template(name) == PromptBuilder().get_template(spelled) is not None


@pytest.mark.parametrize("names", [SUPERVISOR, HOOK])
@pytest.mark.parametrize("header", ["", "---\nname: {}\n---\n"])
def test_one_template_of_a_folder_is_found_by_every_name(tmp_path: Path, names: tuple[str, ...], header: str) -> None:
    for number, own in enumerate(names):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = f"{own}.md" if not header else "file.md"
        (folder / file).write_text(header.format(own) + "{{x}}: ours")
        builder = PromptBuilder(prompts_dir=folder)
        for name in names:
            assert builder.get_template(name) == "{{x}}: ours", (own, name)
            assert builder.render_template(name, {"x": 1}) == "1: ours", (own, name)


def test_a_template_of_the_very_name_wins_over_an_alias(tmp_path: Path) -> None:
    for name in SUPERVISOR:
        (tmp_path / f"{name}.md").write_text(name)
    builder = PromptBuilder(prompts_dir=tmp_path)
    assert [builder.get_template(name) for name in SUPERVISOR] == list(SUPERVISOR)
    for name in ("supervisor", "supervisor_system", "chat_agent_system", "chat-agent-system"):
        (tmp_path / f"{name}.md").unlink()
    builder.reload()
    assert {builder.get_template(name) for name in SUPERVISOR} == {"supervisor-system"}


def test_other_names_are_exact(tmp_path: Path) -> None:
    (tmp_path / "code_review.md").write_text("text")
    builder = PromptBuilder(prompts_dir=tmp_path)
    names = ["code_review", "code-review", "Code_review", "supervisor", "hook-context", "task_agent"]
    assert [builder.get_template(name) for name in names] == ["text", None, None, None, None, None]
