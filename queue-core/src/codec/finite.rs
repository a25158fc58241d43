//! Finds floats that JSON has no number for.

use std::fmt;

use serde::{
    Serialize, Serializer,
    ser::{
        self, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

/// Serializes a value and writes nothing: an error names the first float that is no number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finite;

/// Why a value does not pass.
#[derive(Debug)]
pub(super) enum Unfit {
    /// A float that JSON writes as `null`.
    NoNumber(f64),
    /// The error of the value's own serialization.
    Said(String),
}

type Passed = Result<(), Unfit>;

fn check(float: f64) -> Passed {
    if float.is_finite() {
        Ok(())
    } else {
        Err(Unfit::NoNumber(float))
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNumber(float) => write!(
                f,
                "there is a float in it that is {float}, for which JSON has no number but null: \
                 use an Option, and None for it, or another codec"
            ),
            Self::Said(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Unfit {}

impl ser::Error for Unfit {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::Said(message.to_string())
    }
}

/// Methods for values without a float in them.
macro_rules! passes {
    ($($method:ident($($of:ty),*);)*) => {
        $(fn $method(self, $(_: $of),*) -> Passed {
            Ok(())
        })*
    };
}

/// Methods that begin a compound value.
macro_rules! opens {
    ($($method:ident($($of:ty),*);)*) => {
        $(fn $method(self, $(_: $of),*) -> Result<Self, Unfit> {
            Ok(self)
        })*
    };
}

impl Serializer for Finite {
    type Ok = ();
    type Error = Unfit;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    passes! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_i128(i128);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_u128(u128);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }

    opens! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_f32(self, float: f32) -> Passed {
        check(float.into())
    }

    fn serialize_f64(self, float: f64) -> Passed {
        check(float)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Passed {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Passed {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Passed {
        value.serialize(self)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Passed {
        Ok(())
    }
}

/// A compound value's parts: each is checked alone.
macro_rules! parts {
    ($($compound:ident: $method:ident($($name:ty)?);)*) => {
        $(impl $compound for Finite {
            type Ok = ();
            type Error = Unfit;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? part: &T) -> Passed {
                part.serialize(*self)
            }

            fn end(self) -> Passed {
                Ok(())
            }
        })*
    };
}

parts! {
    SerializeSeq: serialize_element();
    SerializeTuple: serialize_element();
    SerializeTupleStruct: serialize_field();
    SerializeTupleVariant: serialize_field();
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}

impl SerializeMap for Finite {
    type Ok = ();
    type Error = Unfit;

    /// JSON itself refuses a key that is such a float.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Passed {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Passed {
        value.serialize(*self)
    }

    fn end(self) -> Passed {
        Ok(())
    }
}
