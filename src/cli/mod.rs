//! The command line: arguments and files to a plan, a plan to deeds, deeds to an exit status. Measures nothing.

mod again;
mod args;
mod asked;
mod baseline;
mod card;
mod compare;
mod curl;
mod deeds;
mod dry_run;
mod elsewhere;
mod exchange;
mod exit;
mod floor;
mod init;
mod k6_script;
mod limits;
mod repeated;
mod shape;
mod sweeps;
mod words;

pub use asked::{Asked, Invocation, Refusal, read};
pub use compare::Compare;
pub use exchange::Export;
pub use exit::{Ending, Exit, Signal};
pub use k6_script::K6Script;
pub use limits::limits;

use crate::{host, run};
use std::io::{self, Write};
use std::process::ExitCode;

/// Does what the arguments of this process ask.
pub fn main() -> ExitCode {
    // Refused only by a sandbox: then memory is larger, and nothing else.
    let _ = host::keep_pages_small();
    // Where that is refused too, a full disk ends the program with its own signal.
    let _ = run::outlive_file_limits();
    let facts = host::read();
    let asked = match read(std::env::args_os(), &facts) {
        Ok(asked) => asked,
        Err(refusal) => return refusal.tell(),
    };
    let done = match asked {
        Asked::Init(init) => init::write(init.as_ref()).map(|()| Exit::Good),
        Asked::DryRun(plan, how) => {
            let (mut out, mut aside) = (io::stdout().lock(), io::stderr().lock());
            dry_run::print(&plan, how.prompts.as_deref(), &mut out, &mut aside).map(|()| Exit::Good)
        }
        Asked::Run(plan, how) => deeds::run(&plan, &how, &facts),
        Asked::Baseline(plan) => baseline::baseline(&plan, &facts),
        Asked::Floor(plan) => floor::floor(&plan, &facts),
        Asked::Sweep(plan, how) => sweeps::sweep(&plan, &how, &facts),
        Asked::Sim(plan, owner) => deeds::sim(&plan, owner),
        Asked::Report { dirs, forms, gpus } => again::report(&dirs, &forms, gpus.map(Into::into)),
        Asked::K6Script(plan, how, asked) => k6_script::write(&plan, &how, &asked),
        Asked::Compare(asked) => compare::compare(&asked),
        Asked::Export(asked) => exchange::export_run(&asked.dir, asked.format, asked.out.as_deref()),
        Asked::Import { words, out } => exchange::import(&words, out.as_deref(), &facts),
        Asked::Doctor { plan, json } => deeds::doctor(&facts, plan.as_deref(), json),
    };
    match done {
        Ok(exit) => exit.into(),
        // Whoever reads our output may have seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Good.into(),
        Err(error) => {
            // Nothing more can be done when stderr is closed too.
            let _ = writeln!(io::stderr(), "error: {error}");
            Exit::Failed.into()
        }
    }
}
