//! The plot of a period: a bar per day, in three parts.

use serde::Serialize;

use crate::view::spent::Spending;

/// A day of the plot; lengths are in percent of its width, or in pixels of its height.
#[derive(Serialize)]
pub(super) struct Bar {
    pub(super) part: Spending,
    pub(super) x: f64,
    pub(super) middle: f64,
    pub(super) width: f64,
    pub(super) output: (f64, f64),
    pub(super) input: (f64, f64),
    pub(super) cached: (f64, f64),
    pub(super) top: f64,
    pub(super) is_labelled: bool,
}

/// A line of the plot, with its label.
#[derive(Serialize)]
pub(super) struct Grid {
    pub(super) y: f64,
    pub(super) tokens: i64,
}

/// Where the plot ends below, and how high its bars may be, in pixels.
const BASE: f64 = 196.0;
const HIGH: f64 = 168.0;

/// Lays out the days as bars.
#[expect(
    clippy::cast_precision_loss,
    reason = "it is drawn, some hundred pixels high"
)]
pub(super) fn plot(days: Vec<Spending>) -> (Vec<Bar>, Vec<Grid>) {
    let most = days.iter().map(|day| day.all).max().unwrap_or(0);
    let step = step(most);
    let scale = most.max(1) as f64 / HIGH;
    let lines = (1..=4)
        .map(|nth| nth * step)
        .filter(|tokens| step > 0 && *tokens <= most);
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let lines = lines.map(|tokens| Grid {
        y: round(BASE - tokens as f64 / scale),
        tokens,
    });
    let slot = 100.0 / days.len().max(1) as f64;
    let every = days.len().div_ceil(14);
    let last = days.len().saturating_sub(1);
    let bars = days.into_iter().enumerate().map(|(nth, part)| {
        let mut top = BASE;
        let mut bar = |tokens: i64| {
            let high = tokens as f64 / scale;
            top -= high;
            (round(top), round(high))
        };
        let (cached, input) = (bar(part.tokens.cached), bar(part.tokens.input));
        let output = bar(part.tokens.output);
        Bar {
            x: (slot * (nth as f64 + 0.18) * 100.0).round() / 100.0,
            middle: (slot * (nth as f64 + 0.5) * 100.0).round() / 100.0,
            width: (slot * 64.0).round() / 100.0,
            cached,
            input,
            output,
            top: round(top - 5.0),
            is_labelled: (last - nth).is_multiple_of(every),
            part,
        }
    });
    (bars.collect(), lines.collect())
}

/// Returns a round number of which about four fit below a number.
fn step(most: i64) -> i64 {
    let mut unit = 1;
    while unit * 10 <= most {
        unit *= 10;
    }
    let steps = [unit / 4, unit / 2, unit, unit * 2, unit * 5];
    let fits = steps.into_iter().find(|step| *step > 0 && most / step <= 4);
    fits.unwrap_or(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::line::Tokens;

    #[test]
    fn steps_are_round() {
        assert_eq!(
            [0, 3, 9, 43, 100, 812_345, 2_000_000].map(step),
            [1, 1, 2, 10, 25, 200_000, 500_000]
        );
    }

    #[test]
    fn bars_stand_on_each_other() {
        let day = |input, cached, output| Spending {
            tokens: Tokens {
                input,
                cached,
                output,
            },
            all: input + cached + output,
            ..Spending::default()
        };
        let (bars, lines) = plot(vec![day(30, 60, 10), day(0, 0, 0)]);
        assert_eq!(bars[0].cached, (95.2, 100.8));
        assert_eq!(bars[0].input, (44.8, 50.4));
        assert_eq!(bars[0].output, (28.0, 16.8));
        assert_eq!(bars[1].output, (196.0, 0.0));
        assert_eq!(
            (bars[1].x, bars[1].middle, bars[1].width),
            (59.0, 75.0, 32.0)
        );
        assert_eq!(lines.len(), 4);
    }
}
