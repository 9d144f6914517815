//! The wire's decoder against whole responses: every case, however its bytes are cut.

mod captures;
mod case;
mod cases;
mod replay;
