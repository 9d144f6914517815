//! The one line against the paper's misdiagnosis: whose the tail of TTFT is.

use super::page::{Look, Page};
use crate::report::Blame;
use std::fmt;

pub(super) fn write(blame: &Blame, page: &mut Page<'_>) -> fmt::Result {
    page.blank()?;
    page.paragraph(Look::Plain, "TTFT p99    ", &blame.sentence())
}
