//! Trial outcomes to the next trial: the stability limit of a server, its capacity under service levels, its profile.
//!
//! Pure: it makes no trial and reads no clock. What follows from the same trials is always the same.

mod bracket;
mod budget;
mod collapse;
mod findings;
mod judge;
mod plan;
mod settings;
mod trial;
mod usl;

pub use bracket::{Bounds, Judged};
pub use budget::{Cost, reachable};
pub use collapse::Collapse;
pub use findings::{Findings, Limit};
pub use judge::{Judgement, judge, lost_from};
pub use plan::{End, Next, Search, Trial};
pub use settings::{GRID, Lengths, Settings};
pub use trial::{Ask, Ended, Offer, Outcome, Purpose, Shown, TermOutcome, Trust};
pub use usl::{Usl, fit};
