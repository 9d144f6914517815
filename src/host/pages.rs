//! The size of this process's memory pages.

/// Asks the kernel for small pages only. The allocator advises huge ones, and a program that needs 20 MB then holds twice
/// that resident, each 2 MB zeroed at once in the way of whatever touched it first.
///
/// # Errors
/// What the kernel says, which it does only where a sandbox forbids it: then nothing is gained or lost.
pub fn keep_pages_small() -> rustix::io::Result<()> {
    rustix::thread::disable_transparent_huge_pages(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_off_once_asked() {
        keep_pages_small().expect("this test runs without a sandbox");
        assert_eq!(rustix::thread::transparent_huge_pages_are_disabled(), Ok(true));
    }
}
