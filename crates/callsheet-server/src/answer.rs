//! The shapes of answers: one thing, or a page of many.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::error::ApiError;

/// One thing.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Data<T> {
    pub(crate) data: T,
}

/// Some of many things.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Many<T> {
    pub(crate) data: Vec<T>,
    pub(crate) pagination: Pagination,
}

/// How many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Pagination {
    /// How many there are in all.
    pub(crate) total: usize,
    /// Whether there are more after these.
    pub(crate) has_more: bool,
}

/// Which of many are asked for.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PageQuery {
    /// How many, 20 unless you say so, at most 100.
    #[param(minimum = 1, maximum = 100)]
    pub(crate) limit: Option<usize>,
    /// How many to leave out first.
    #[param(minimum = 0)]
    pub(crate) offset: Option<usize>,
}

impl PageQuery {
    /// Returns limit and offset, or says what is wrong with them.
    pub(crate) fn bounds(self) -> Result<(usize, usize), ApiError> {
        match self.limit.unwrap_or(20) {
            limit @ 1..=100 => Ok((limit, self.offset.unwrap_or(0))),
            limit => Err(ApiError::validation(format!(
                "`limit` is {limit}; it has to be from 1 to 100"
            ))),
        }
    }

    /// Returns the page of a whole list.
    pub(crate) fn of<T>(self, all: Vec<T>) -> Result<Many<T>, ApiError> {
        let (limit, offset) = self.bounds()?;
        let total = all.len();
        let data: Vec<T> = all.into_iter().skip(offset).take(limit).collect();
        let has_more = offset.saturating_add(data.len()) < total;
        let pagination = Pagination { total, has_more };
        Ok(Many { data, pagination })
    }
}

/// Answers with one thing.
pub(crate) fn data<T: Serialize>(data: T) -> Json<Data<T>> {
    Json(Data { data })
}

/// Answers that something was made.
pub(crate) fn created<T: Serialize>(made: T) -> Response {
    (StatusCode::CREATED, data(made)).into_response()
}

/// What a handler answers with.
pub(crate) type Answer<T> = Result<Json<Data<T>>, ApiError>;

/// What a handler of a list answers with.
pub(crate) type ManyAnswer<T> = Result<Json<Many<T>>, ApiError>;
