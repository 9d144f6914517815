//! The shape of the command: what is alike for many options is said here once, not on each. Reads no argument.

use super::args::Arguments;
use crate::plan::{BaselineOptions, FloorOptions, Raw, SIM_LISTEN, SWEEP_RECORDS};
use clap::builder::Styles;
use clap::{Arg, ArgAction, Command, CommandFactory};

/// The options that `-h` shows; `--help` shows all.
const USUAL: [&str; 31] = [
    "config",
    "dry_run",
    "url",
    "sim",
    "api",
    "model",
    "header",
    "api_key",
    "ca_cert",
    "insecure",
    "rate",
    "arrival",
    "concurrency",
    "max_concurrency",
    "duration",
    "requests",
    "warmup",
    "seed",
    "input_tokens",
    "output_tokens",
    "prompts",
    "shards",
    "cpus",
    "out",
    "tag",
    "json",
    "quiet",
    "dir",
    "require",
    "script",
    "expect_e2e",
];

/// What a sweep says itself: understood, so that it is refused in words, and not shown.
const NOT_A_SWEEPS: [&str; 3] = ["rate", "concurrency", "repeat"];

/// The whole command line; `all` = help shows the rare options too.
pub(super) fn command(all: bool) -> Command {
    let defaults = Raw::default_flags();
    let run = |command: Command| {
        command.mut_args(|arg| help_of(truth(negative(arg)), &defaults)).mut_args(|arg| rare(arg, all))
    };
    let listen = ("--sim-listen".to_owned(), SIM_LISTEN.to_owned());
    let records = ("--records".to_owned(), SWEEP_RECORDS.to_owned());
    let of_sweep: Vec<_> = std::iter::once(records).chain(Raw::default_flags()).collect();
    let of_sim: Vec<_> = std::iter::once(listen).chain(Raw::default_flags()).collect();
    Arguments::command()
        .styles(Styles::plain())
        .mut_subcommands(short_help)
        .mut_subcommand("run", run)
        .mut_subcommand("rerun", run)
        .mut_subcommand("doctor", run)
        .mut_subcommand("k6-script", run)
        .mut_subcommand("floor", |command| {
            let defaults = FloorOptions::default_flags();
            command.mut_args(|arg| help_of(truth(negative(arg)), &defaults))
        })
        .mut_subcommand("baseline", |command| {
            let defaults = BaselineOptions::default_flags();
            command.mut_args(|arg| help_of(truth(negative(arg)), &defaults))
        })
        .mut_subcommand("sweep", |command| {
            command
                .mut_args(|arg| help_of(truth(negative(arg)), &of_sweep))
                .mut_args(|arg| if is_sweeps(&arg) { arg } else { rare(arg, all) })
                .mut_args(
                    |arg| if NOT_A_SWEEPS.contains(&arg.get_id().as_str()) { arg.hide(true) } else { arg },
                )
        })
        .mut_subcommand("sim", |command| {
            command.mut_args(|arg| alone(help_of(truth(negative(arg)), &of_sim)))
        })
}

/// One line an option, in groups, for `--help` as for `-h`: sixty options would fill five screens otherwise.
fn short_help(command: Command) -> Command {
    let more = if matches!(command.get_name(), "run" | "rerun" | "doctor" | "sweep" | "k6-script") {
        "Print help; --help for all options"
    } else {
        "Print help"
    };
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help(more);
    command.disable_help_flag(true).arg(help.help_heading(None::<&str>))
}

/// So that `--rate -5` is refused with the range of a rate, not as an unknown flag.
fn negative(arg: Arg) -> Arg {
    if arg.is_positional() || !takes_value(&arg) || is_truth(&arg) {
        arg
    } else {
        arg.allow_negative_numbers(true)
    }
}

/// `--no-probe` is `--no-probe=true`; a flag can so take back what a file says.
fn truth(arg: Arg) -> Arg {
    if !is_truth(&arg) {
        return arg;
    }
    arg.num_args(0..=1).require_equals(true).default_missing_value("true").hide_possible_values(true)
}

fn is_truth(arg: &Arg) -> bool {
    arg.get_value_names().is_some_and(|names| names == ["BOOL"])
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// Help ends with the default, taken from where it is written.
fn help_of(arg: Arg, defaults: &[(String, String)]) -> Arg {
    let long = arg.get_long().unwrap_or_default();
    let Some((_, default)) = defaults.iter().find(|(flag, _)| flag.trim_start_matches("--") == long) else {
        return arg;
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    arg.help(format!("{help} [default: {default}]"))
}

/// Whether an option is the sweep's own: then it is never rare.
fn is_sweeps(arg: &Arg) -> bool {
    arg.get_help_heading() == Some("Sweep")
}

fn rare(arg: Arg, all: bool) -> Arg {
    let usual = USUAL.contains(&arg.get_id().as_str()) || arg.get_id() == "help";
    arg.hide(!all && !usual)
}

/// Of `lowrho sim`, the simulator's flags do not say whose they are.
fn alone(arg: Arg) -> Arg {
    match arg.get_long().and_then(|long| long.strip_prefix("sim-")).map(str::to_owned) {
        Some(long) => arg.long(long),
        None => arg,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn help(of: &str, all: bool) -> String {
        let mut command = command(all);
        command.build();
        command.find_subcommand_mut(of).expect(of).render_help().to_string()
    }

    #[test]
    fn the_command_is_sound() {
        command(true).debug_assert();
        command(false).debug_assert();
    }

    #[test]
    fn every_usual_option_exists() {
        let command = command(true);
        let run = command.find_subcommand("run").unwrap();
        let rerun = command.find_subcommand("rerun").unwrap();
        let script = command.find_subcommand("k6-script").unwrap();
        for id in USUAL {
            let all = run.get_arguments().chain(rerun.get_arguments()).chain(script.get_arguments());
            assert!({ all }.any(|arg| arg.get_id() == id), "{id}");
        }
    }

    #[test]
    fn every_key_is_a_flag_and_every_default_is_in_the_help() {
        let full = help("run", true);
        let sweep = help("sweep", true);
        for (section, keys) in Raw::keys().into_iter().filter(|(section, _)| section != "stage") {
            for key in keys {
                let prefix = if section == "sim" { "--sim-" } else { "--" };
                let full = if section == "sweep" { &sweep } else { &full };
                assert!(full.contains(&format!("{prefix}{key}")), "{section}.{key} in\n{full}");
            }
        }
        let command = command(true);
        let run = command.find_subcommand("run").unwrap();
        for (flag, default) in Raw::default_flags() {
            let arg = run.get_arguments().find(|arg| arg.get_long() == flag.strip_prefix("--")).expect(&flag);
            let help = arg.get_help().unwrap().to_string();
            assert!(help.ends_with(&format!("[default: {default}]")), "{flag}: {help}");
        }
    }

    #[test]
    fn the_short_help_leaves_out_the_rare() {
        let (short, full) = (help("run", false), help("run", true));
        assert!(short.contains("--rate") && !short.contains("--timeout-idle"), "{short}");
        assert!(full.contains("--timeout-idle") && short.lines().count() * 3 < full.lines().count() * 2);
    }

    #[test]
    fn a_sweep_does_not_show_what_it_refuses() {
        let sweep = help("sweep", true);
        for id in NOT_A_SWEEPS {
            let shown = |help: &str| help.contains(&format!("--{id} <"));
            assert!(shown(&help("run", true)) && !shown(&sweep), "{id}");
        }
        let sweep = sweep.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(sweep.contains("none, failed, all [default: failed]"), "{sweep}");
    }

    #[test]
    fn the_simulators_own_flags_have_no_prefix() {
        let sim = help("sim", true).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(sim.contains("--ttft <SPAN>") && sim.contains("[default: 127.0.0.1:8000]"), "{sim}");
        assert!(!sim.contains("--sim-"), "{sim}");
    }
}
