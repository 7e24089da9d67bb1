//! How pages look: every one in every window, dark and light, with a screenshot of each.

use crate::page::Page;
use crate::stage::Stage;

/// A phone, a tablet, a desk.
const WINDOWS: [(u32, u32); 3] = [(360, 780), (768, 1024), (1440, 900)];

#[test]
fn every_page_fits_every_window_dark_and_light() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let mut wrong = Vec::new();
    for (name, path) in stage.pages() {
        page.goto(&path);
        for scheme in ["light", "dark"] {
            page.media(&[
                ("prefers-color-scheme", scheme),
                ("prefers-reduced-motion", "reduce"),
            ]);
            for (width, height) in WINDOWS {
                page.size(width, height);
                page.screenshot(&format!("{name}-{width}-{scheme}"));
                let found = misfits(&mut page);
                wrong.extend(found.map(|found| format!("{path}, {width}, {scheme}: {found}")));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    page.close();
}

/// Returns what is wrong about the form of a page.
fn misfits(page: &mut Page) -> Option<String> {
    let found = page.eval(
        "(() => {
            const root = document.documentElement;
            const found = [];
            if (root.scrollWidth > root.clientWidth) {
                const wide = [...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1 && e.checkVisibility());
                found.push(`${root.scrollWidth} wide: ${wide.slice(-3).map((e) => e.outerHTML.slice(0, 120)).join(' | ')}`);
            }
            const heads = document.querySelectorAll('h1').length;
            if (heads !== 1) found.push(`${heads} h1`);
            if (!document.title.endsWith('Callsheet')) found.push(`title ${document.title}`);
            return found.join(', ');
        })()",
    );
    found
        .as_str()
        .filter(|found| !found.is_empty())
        .map(str::to_owned)
}

#[test]
fn a_theme_that_was_chosen_stays() {
    let stage = Stage::set();
    let Some(mut page) = stage.page() else { return };
    let paper = "getComputedStyle(document.body).backgroundColor";
    page.media(&[("prefers-color-scheme", "light")]);
    page.goto("/settings");
    let light = page.text(paper);
    page.click("[data-theme-choice][value=dark]");
    page.until(&format!("{paper} !== '{light}'"));
    let dark = page.text(paper);
    page.goto("/");
    page.until(&format!("{paper} === '{dark}'"));
    page.close();
}
