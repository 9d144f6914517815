//! What this machine allows and what it is: CPUs, files, ports, locked memory, kernel, cgroup, read before a run; and what it
//! does beside one: steal, neighbours, packets dropped, the kernel's account of a thread.
//!
//! Also how files are read that others named or wrote. It must not judge any of it: plans do, and reports print it.

mod cgroup;
mod cpu_times;
mod facts;
mod files;
pub mod named_file;
mod neighbours;
mod pages;
mod route;
mod text;
mod thread;
mod topology;

pub use cpu_times::{Softnet, Steal, Unbusy};
pub use facts::{Facts, read};
pub use files::raise_files;
pub use neighbours::{Neighbours, Spent};
pub use pages::{keep_pages_small, leave_pages_to_the_kernel};
pub use route::Route;
pub use thread::{Switches, ThreadFiles};
pub use topology::Topology;
