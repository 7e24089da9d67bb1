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
mod tools;
mod value;

use pyo3::prelude::*;

/// The native half of `callsheet`; programs import `callsheet` instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::builder::{Builder, restored_builder};
    #[pymodule_export]
    use super::compose::{compose, inject};
    #[pymodule_export]
    use super::composition::{Composition, restored};

    /// The version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python calls it so")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
