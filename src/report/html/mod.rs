//! `report.html`: one file for the eye, with no network: what runs or sweeps found, in plots and tables.
//!
//! It shows what summaries, histograms and rows hold; the only figures it makes of its own are those between a curve's points.

mod audit;
mod axis;
mod busy;
mod chart;
mod course;
mod curves;
mod figure;
mod levels;
mod others;
mod page;
mod profile;
mod servers;
mod stages;
mod sweep_page;
mod tables;
#[cfg(test)]
mod tests;
mod told;
mod trials;

pub use figure::Figure;
pub use page::{figures, page};
pub use sweep_page::{sweep_figures, sweep_page};
pub use told::{Curve, Told, ToldSweep};
