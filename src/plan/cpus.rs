//! Lists of CPUs as `0,2-5`; knows nothing of the machine's own.

use super::reading::{Given, Reading};

/// CPUs of a list that are all among `allowed`; an empty list beside a mistake.
pub(super) fn read(r: &mut Reading, given: Given<'_>, allowed: &[usize]) -> Vec<usize> {
    let cpus = r.parsed(given, "a list such as 0,2-5", parse_cpus).unwrap_or_default();
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        r.refuse(
            given,
            format_cpus(allowed),
            format!(
                "this process may not run on CPU {cpu}: see its affinity (taskset -p), cpuset or container"
            ),
        );
    }
    cpus
}

/// Reads `0,2-5`: numbers and ranges, in any order, each CPU once, sorted.
///
/// # Errors
/// Anything else, with the part that is wrong.
pub fn parse_cpus(text: &str) -> Result<Vec<usize>, String> {
    /// More than any kernel is built for.
    const MOST: usize = 8192;
    let number = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let cpu = part.parse::<usize>().ok().filter(|cpu| digits && *cpu < MOST);
        cpu.ok_or_else(|| format!("{part:?} is not the number of a CPU (0 to {})", MOST - 1))
    };
    let mut cpus = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first.trim())?, number(last.trim())?);
        if first > last {
            return Err(format!("{part:?} runs backwards: write {last}-{first}"));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    if let Some(twice) = cpus.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("CPU {} is named twice", twice[0]));
    }
    Ok(cpus)
}

/// The shortest text that [`parse_cpus`] reads as these CPUs, which are sorted and distinct.
#[must_use]
pub fn format_cpus(cpus: &[usize]) -> String {
    cpus.chunk_by(|a, b| a + 1 == *b)
        .map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => unreachable!("chunks are not empty"),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_and_ranges_are_read_in_any_order() {
        for (text, cpus) in
            [("0", vec![0]), ("0,2-5", vec![0, 2, 3, 4, 5]), ("4-5, 1", vec![1, 4, 5]), ("3-3", vec![3])]
        {
            assert_eq!(parse_cpus(text), Ok(cpus), "{text}");
        }
    }

    #[test]
    fn a_wrong_part_is_named() {
        for (text, part) in [
            ("", "\"\""),
            ("0,", "\"\""),
            ("a", "\"a\""),
            ("0-", "\"\""),
            ("-1", "\"\""),
            ("5-2", "write 2-5"),
            ("1,1", "twice"),
            ("0-3,2", "CPU 2 is named twice"),
            ("9000", "0 to 8191"),
            ("+1", "\"+1\""),
        ] {
            let why = parse_cpus(text).expect_err(text);
            assert!(why.contains(part), "{text}: {why}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(cpus in prop::collection::btree_set(0_usize..200, 1..40)) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            prop_assert_eq!(parse_cpus(&format_cpus(&cpus)), Ok(cpus));
        }
    }
}
