//! The wire's decoder against whole responses: every case, however its bytes are cut.

mod bounds;
mod captures;
mod case;
mod cases;
mod replay;
