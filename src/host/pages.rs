//! The size of memory pages, of this process and of those that it starts.

/// Asks the kernel for small pages only, where it gives huge ones unasked. A program that needs 20 MB then holds twice that
/// resident, each 2 MB zeroed at once in the way of whatever touched it first. (The allocator is built to ask for none.)
///
/// # Errors
/// What the kernel says, which it does only where a sandbox forbids it: then nothing is gained or lost.
pub fn keep_pages_small() -> rustix::io::Result<()> {
    rustix::thread::disable_transparent_huge_pages(true)
}

/// Leaves the size of pages to the kernel again: processes that are started inherit what was asked here, and other programs are
/// to have what they would have without us.
///
/// # Errors
/// As [`keep_pages_small`].
pub fn leave_pages_to_the_kernel() -> rustix::io::Result<()> {
    rustix::thread::disable_transparent_huge_pages(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_off_once_asked_and_left_to_the_kernel_again() {
        keep_pages_small().expect("this test runs without a sandbox");
        assert_eq!(rustix::thread::transparent_huge_pages_are_disabled(), Ok(true));
        leave_pages_to_the_kernel().expect("this test runs without a sandbox");
        assert_eq!(rustix::thread::transparent_huge_pages_are_disabled(), Ok(false));
    }
}
