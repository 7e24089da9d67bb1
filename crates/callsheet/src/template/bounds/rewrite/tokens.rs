//! What the tokens of a template tell, before it is parsed.

use minijinja::machinery::{Token, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::{Error, ErrorKind};

/// How many parts an expression may have that build on each other, and how many conditions may follow on each other.
///
/// The engine goes through them one inside the other, and every one takes room on the stack.
const MOST_PARTS: usize = 1_000;

/// How many brackets may be open at once.
const MOST_BRACKETS: usize = 100;

/// Returns the first line of a template that uses a filter.
pub(crate) fn filter_line(source: &str, filter: &str, syntax: &SyntaxConfig) -> Option<usize> {
    let mut before = [Token::BlockStart, Token::BlockStart];
    for token in tokenize(source, false, syntax.clone()) {
        let (token, span) = token.ok()?;
        let follows = matches!(
            before,
            [_, Token::Pipe] | [Token::BlockStart, Token::Ident("filter")]
        );
        if follows && matches!(token, Token::Ident(name) if name == filter) {
            return Some(usize::from(span.start_line));
        }
        let [_, last] = before;
        before = [last, token];
    }
    None
}

/// Refuses what the engine would go too deep for.
pub(super) fn look_over(source: &str, in_expr: bool, syntax: &SyntaxConfig) -> Result<(), Error> {
    let mut open = vec![0_usize];
    let mut conditions = Vec::new();
    let mut starts = false;
    for token in tokenize(source, in_expr, syntax.clone()) {
        // What is no token is told by the parser, with its place.
        let Ok((token, _)) = token else { break };
        match token {
            Token::VariableStart | Token::BlockStart => open = vec![0],
            Token::ParenOpen | Token::BracketOpen | Token::BraceOpen => open.push(0),
            Token::ParenClose | Token::BracketClose | Token::BraceClose => {
                open.pop();
            }
            Token::Comma => {
                open.pop();
                open.push(0);
            }
            Token::Ident("if") if starts => conditions.push(0),
            Token::Ident("elif") if starts => {
                let chained = conditions.pop().unwrap_or(0_usize);
                conditions.push(chained + 1);
            }
            Token::Ident("endif") if starts => {
                conditions.pop();
            }
            _ => {}
        }
        if let Some(parts) = open.last_mut() {
            *parts += 1;
        }
        if open.iter().sum::<usize>() + conditions.iter().sum::<usize>() > MOST_PARTS {
            let detail = format!("an expression has more than {MOST_PARTS} parts");
            return Err(Error::new(ErrorKind::SyntaxError, detail));
        }
        if open.len() > MOST_BRACKETS {
            let detail = format!("more than {MOST_BRACKETS} brackets are open at once");
            return Err(Error::new(ErrorKind::SyntaxError, detail));
        }
        starts = matches!(token, Token::BlockStart);
    }
    Ok(())
}
