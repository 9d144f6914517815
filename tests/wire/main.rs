//! The wire's decoder against whole responses: every case, however its bytes are cut.

mod agreement;
mod bounds;
mod captures;
mod case;
mod cases;
mod differential;
mod invariants;
mod mutations;
mod replay;
mod sealed;
mod slow;
