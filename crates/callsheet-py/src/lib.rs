//! The native half of the Python package `callsheet`.
//!
//! It translates: values and errors of Python to those of the library and back. What a prompt is, the library decides; how
//! a call feels in Python (coroutines, `str()`, duck typing) is the business of `python/callsheet/`. Python runs on while
//! the library works.

mod builder;
mod compose;
mod composition;
mod error;
mod project;
mod value;

use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// Refuses a second interpreter: classes and what is kept for exceptions exist once in a process, and belong to the first.
fn refuse_another_interpreter(py: Python<'_>) -> PyResult<()> {
    static FIRST: AtomicUsize = AtomicUsize::new(0);
    // Every interpreter has a module `sys` of its own.
    let this = py.import("sys")?.as_ptr().addr();
    match FIRST.compare_exchange(0, this, Ordering::SeqCst, Ordering::SeqCst) {
        Err(first) if first != this => Err(PyImportError::new_err(
            "callsheet is in use in another interpreter of this process, and can be used in one only; \
             use threads or processes instead of subinterpreters",
        )),
        _ => Ok(()),
    }
}

/// The native half of `callsheet`; programs import `callsheet` instead.
#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::refuse_another_interpreter(module.py())
    }

    #[pymodule_export]
    use super::builder::{Builder, restored_builder};
    #[pymodule_export]
    use super::compose::{Draft, compose, draft};
    #[pymodule_export]
    use super::composition::{Composition, restored};

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python calls it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
