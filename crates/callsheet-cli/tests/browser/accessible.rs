//! Every page by the rules of axe-core, dark and light, narrow and wide.
//!
//! It is that of `scripts/axe`, whose file is in `CALLSHEET_TEST_AXE`. Without it, a line says that this is skipped, which is a
//! failure where `CI` is set.

use serde_json::Value;

use crate::project::skip;
use crate::stage::Stage;

#[test]
fn no_page_has_a_serious_obstacle() {
    let Ok(file) = std::env::var("CALLSHEET_TEST_AXE") else {
        skip("the rules of axe-core, because scripts/axe has not installed it");
        return;
    };
    let rules = std::fs::read_to_string(file).unwrap();
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let mut found = Vec::new();
    for (_, path) in stage.pages() {
        for (width, scheme) in [
            (1440, "light"),
            (1440, "dark"),
            (360, "light"),
            (360, "dark"),
        ] {
            page.size(width, 900);
            page.media(&[
                ("prefers-color-scheme", scheme),
                ("prefers-reduced-motion", "reduce"),
            ]);
            page.goto(&path);
            page.eval(&format!("{rules};0"));
            let findings = page.eval(
                "axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations
                    .filter((v) => ['serious', 'critical'].includes(v.impact))
                    .flatMap((v) => v.nodes.slice(0, 3).map((n) => `${v.id}: ${n.target.join(' ')} (${n.failureSummary.split('\\n').slice(1, 2).join('').trim().slice(0, 200)})`)))",
            );
            let findings = findings
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str);
            found.extend(findings.map(|finding| format!("{path} {width} {scheme}: {finding}")));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    page.close();
}
