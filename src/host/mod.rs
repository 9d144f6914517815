//! What this machine allows and what it is: CPUs, files, ports, locked memory, kernel, cgroup; read once, before a run.
//!
//! It must not judge any of it: plans do, and reports print it.

mod cgroup;
mod facts;
mod files;
mod text;

pub use facts::{Facts, read};
pub use files::raise_files;
