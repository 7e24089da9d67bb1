//! Our values in the form that travels to the server and back.

use std::error::Error;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::Value;

type Failed = Box<dyn Error + Sync + Send>;

impl ToSql for Value<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => match *ty {
                Type::INT2 => i16::try_from(*number)?.to_sql(ty, out),
                Type::INT4 => i32::try_from(*number)?.to_sql(ty, out),
                Type::INT8 => number.to_sql(ty, out),
                _ => Err(format!("a number does not fit `{ty}`").into()),
            },
            Value::Real(number) => match *ty {
                Type::FLOAT8 => number.to_sql(ty, out),
                _ => Err(format!("a fraction does not fit `{ty}`").into()),
            },
            Value::Text(text) if <&str as ToSql>::accepts(ty) => text.as_ref().to_sql(ty, out),
            Value::Text(_) => Err(format!("a text does not fit `{ty}`").into()),
            Value::Bytes(bytes) if *ty == Type::BYTEA => bytes.as_ref().to_sql(ty, out),
            Value::Bytes(_) => Err(format!("bytes do not fit `{ty}`").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value<'static> {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        Ok(match *ty {
            Type::INT2 => Self::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Self::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(ty, raw)?),
            Type::BOOL => Self::Int(bool::from_sql(ty, raw)?.into()),
            Type::FLOAT4 => Self::Real(f32::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Self::from(raw.to_vec()),
            Type::VOID => Self::Null,
            _ if <&str as FromSql<'_>>::accepts(ty) => Self::from(String::from_sql(ty, raw)?),
            _ => return Err(format!("a value of type `{ty}` is not expected").into()),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Self::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
